"""Which secrets are found, of which kind, and which ordinary texts are left alone."""

from __future__ import annotations

import random
import string

import pytest

from recollect.text.redact import redact
from recollect.text.secrets import find_secrets
from recollect.text.secrets.shapes import DELIMITED, PATTERNS, UNDELIMITED

_chance = random.Random(14)


def alnum(length: int) -> str:
    return "".join(_chance.choices(string.ascii_letters + string.digits, k=length - 3)) + "aB3"


def lower(length: int) -> str:
    return "".join(_chance.choices(string.ascii_lowercase + string.digits, k=length - 2)) + "a3"


def upper(length: int) -> str:
    return "".join(_chance.choices(string.ascii_uppercase + string.digits, k=length - 2)) + "A3"


def hexed(length: int) -> str:
    return "".join(_chance.choices("0123456789abcdef", k=length - 2)) + "a3"


UUID = f"{hexed(8)}-{hexed(4)}-{hexed(4)}-{hexed(4)}-{hexed(12)}"

# Made by joining, so that no scanner takes this file for a leak.
KEYS = {
    "AWS access key": ["AKI" + "A" + upper(16), "ASI" + "A" + upper(16)],
    "AWS session token": ["IQoJb3JpZ2lu" + alnum(30) + "/+" + alnum(60)],
    "AWS Bedrock key": ["ABS" + "K" + alnum(110), "bedrock-api" + "-key-" + alnum(60)],
    "Google API key": ["AIz" + "aSy" + alnum(33)],
    "Google OAuth token": ["ya2" + "9." + alnum(60)],
    "Google OAuth client secret": ["GOCS" + "PX-" + alnum(28)],
    "Google refresh token": ["1/" + "/0" + alnum(50)],
    "Azure client secret": ["aB3" + "8Q~" + alnum(34)],
    "Azure DevOps token": [alnum(76) + "AZ" + "DO" + alnum(4)],
    "Azure key": [alnum(44) + "Az" + "Fu" + alnum(8), alnum(42) + "Az" + "Se" + alnum(6)],
    "GitHub token": [
        *(f"gh{kind}_" + alnum(36) for kind in "pousr"),
        "github" + "_pat_" + alnum(22) + "_" + alnum(59),
    ],
    "GitLab token": [
        *(f"gl{kind}-" + alnum(20) for kind in ("pat", "dt", "rt", "ptt", "cbt", "soat", "agent")),
        "GR13" + "48941" + alnum(20),
    ],
    "Slack token": ["xox" + f"{kind}-123456789012-" + alnum(24) for kind in "abprs"]
    + ["xap" + "p-1-A0-" + alnum(24), "xox" + "e.xoxp-1-" + alnum(40)],
    "Stripe key": [f"{kind}_" + alnum(24) for kind in ("sk_live", "rk_live", "sk_test")],
    "webhook signing secret": ["whs" + "ec_" + alnum(32)],
    "Twilio key": ["S" + "K" + hexed(32)],
    "SendGrid key": ["SG" + "." + alnum(22) + "." + alnum(43)],
    "Mailgun key": ["ke" + "y-" + hexed(32)],
    "Mailchimp key": [hexed(32) + "-u" + "s12"],
    "Brevo key": ["xkey" + "sib-" + hexed(64) + "-" + alnum(16)],
    "Resend key": ["r" + "e_" + alnum(8) + "_" + alnum(24)],
    "npm token": ["np" + "m_" + alnum(36)],
    "PyPI token": ["pyp" + "i-AgE" + alnum(80)],
    "RubyGems key": ["ruby" + "gems_" + hexed(48)],
    "crates.io token": ["ci" + "o" + alnum(32)],
    "NuGet key": ["oy" + "2" + lower(43)],
    "Docker token": ["dckr" + "_pat_" + alnum(27), "dckr" + "_oat_" + alnum(32)],
    "Clojars token": ["CLOJ" + "ARS_" + hexed(60)],
    "Packagist token": ["packa" + "gist_uut_" + hexed(40)],
    "Artifactory key": ["AKC" + "p" + alnum(69)],
    "Vault token": ["hv" + "s." + alnum(90), "hv" + "b." + alnum(130)],
    "Doppler token": ["dp" + ".pt." + alnum(43), "dp" + ".st.prod." + alnum(40)],
    "1Password token": ["op" + "s_eyJ" + alnum(200)],
    "1Password secret key": ["A" + "3-ASWWYB-798JRY-LJVD4-23DC2-86TVM-H43EB"],
    "Terraform Cloud token": [alnum(14) + ".atla" + "sv1." + alnum(67)],
    "Pulumi token": ["pu" + "l-" + hexed(40)],
    "Hugging Face token": ["h" + "f_" + alnum(34), "api" + "_org_" + alnum(34)],
    "API key (sk-…)": [
        "s" + "k-" + alnum(48),
        "s" + "k-proj-" + alnum(40) + "_" + alnum(40),
        "s" + "k-ant-api03-" + alnum(80),
        "s" + "k-or-v1-" + hexed(64),
        "s" + "k-lf-" + UUID,
    ],
    "Groq key": ["gs" + "k_" + alnum(52)],
    "Perplexity key": ["ppl" + "x-" + alnum(48)],
    "xAI key": ["xa" + "i-" + alnum(80)],
    "Replicate token": ["r" + "8_" + alnum(37)],
    "Cerebras key": ["cs" + "k-" + lower(48)],
    "Fireworks key": ["f" + "w_" + alnum(24)],
    "Voyage key": ["p" + "a-" + alnum(43)],
    "Jina key": ["jin" + "a_" + hexed(32) + alnum(28)],
    "NVIDIA key": ["nva" + "pi-" + alnum(64)],
    "LangSmith key": ["lsv2" + "_pt_" + hexed(32) + "_" + hexed(10)],
    "Pinecone key": ["pcs" + "k_" + alnum(6) + "_" + alnum(60)],
    "ElevenLabs key": ["s" + "k_" + hexed(48)],
    "Tavily key": ["tvl" + "y-dev-" + alnum(32)],
    "Firecrawl key": ["f" + "c-" + hexed(32)],
    "E2B key": ["e2" + "b_" + hexed(40)],
    "Weights & Biases key": ["wandb" + "_v1_" + alnum(60)],
    "Databricks token": ["dap" + "i" + hexed(32)],
    "Supabase key": ["sb" + "p_" + hexed(40), "sb_sec" + "ret_" + alnum(31)],
    "PlanetScale token": ["pscale" + "_tkn_" + alnum(43)],
    "Neon key": ["nap" + "i_" + lower(64)],
    "MongoDB Atlas secret": ["mdb_sa" + "_sk_" + alnum(40)],
    "Contentful token": ["CFP" + "AT-" + alnum(43)],
    "Airtable token": ["pa" + "t" + alnum(14) + "." + hexed(64)],
    "Notion token": ["nt" + "n_" + alnum(46), "secr" + "et_" + alnum(43)],
    "Linear key": ["lin" + "_api_" + alnum(40)],
    "Figma token": ["fig" + "d_" + alnum(40)],
    "Atlassian token": ["ATA" + "TT3xFf" + alnum(180), "ATB" + "B" + alnum(32)],
    "ClickUp token": ["p" + "k_12345678_" + upper(32)],
    "HubSpot token": ["pa" + "t-na1-" + UUID],
    "Salesforce token": ["00" + "D" + alnum(12) + "!A" + alnum(96)],
    "Dropbox token": ["s" + "l.u." + alnum(130)],
    "Discord token": ["MT" + alnum(22) + "." + alnum(6) + "." + alnum(38)],
    "Telegram bot token": ["1234567890" + ":AA" + alnum(33)],
    "Facebook or Square token": ["EA" + "A" + alnum(180)],
    "Square token": ["sq0" + "atp-" + alnum(22)],
    "Twitter token": ["A" * 22 + alnum(80)],
    "Firebase key": [alnum(11) + ":APA" + "91b" + alnum(134)],
    "Shopify token": [f"shp{kind}_" + hexed(32) for kind in ("at", "ca", "pa", "ss")],
    "Plaid token": ["access-" + "sandbox-" + UUID],
    "Razorpay key": ["rzp" + "_live_" + alnum(14)],
    "Flutterwave key": ["FLWS" + "ECK-" + alnum(32) + "-X"],
    "DigitalOcean token": [f"do{kind}_v1_" + hexed(64) for kind in "opr"],
    "Cloudflare token": ["cfu" + "t_" + alnum(48), "v1" + ".0-" + hexed(24) + "-" + hexed(146)],
    "Heroku key": ["HRK" + "U-AA" + alnum(58)],
    "Fly.io token": ["fm" + "2_" + alnum(80)],
    "Vercel token": ["vc" + "p_" + alnum(56)],
    "Netlify token": ["nf" + "p_" + alnum(36)],
    "Render key": ["rn" + "d_" + alnum(28)],
    "Alibaba Cloud key": ["LT" + "AI" + alnum(20)],
    "Tencent Cloud key": ["AK" + "ID" + alnum(32)],
    "Yandex token": ["y" + "0_" + alnum(55), "AQ" + "VN" + alnum(36), "t1" + ".9eu" + alnum(100)],
    "Grafana token": ["gl" + "c_" + alnum(60), "gl" + "sa_" + alnum(32) + "_" + hexed(8)],
    "New Relic key": ["NRA" + "K-" + upper(27)],
    "Sentry token": ["sntr" + "ys_" + alnum(100)],
    "Honeycomb key": ["hca" + "ik_" + lower(58)],
    "Dynatrace token": ["dt0" + "c01." + upper(24) + "." + upper(64)],
    "LaunchDarkly key": ["sd" + "k-" + UUID],
    "PostHog key": ["ph" + "x_" + alnum(43)],
    "Postman key": ["PMA" + "K-" + hexed(24) + "-" + hexed(34)],
    "ReadMe key": ["rdm" + "e_" + lower(70)],
    "Prefect key": ["pn" + "u_" + alnum(36)],
    "Tailscale key": ["tske" + "y-auth-" + alnum(12) + "-" + alnum(32)],
    "Typeform token": ["tf" + "p_" + alnum(44)],
    "EasyPost key": ["EZ" + "AK" + alnum(54)],
    "Shippo token": ["shippo" + "_live_" + hexed(40)],
    "Duffel token": ["duffel" + "_live_" + alnum(43)],
    "CircleCI token": ["CCIP" + "AT_" + alnum(22) + "_" + hexed(40)],
    "Buildkite token": ["bku" + "a_" + lower(40)],
    "SonarQube token": ["sq" + "u_" + hexed(40)],
    "Sourcegraph token": ["sg" + "p_" + hexed(40)],
    "JetBrains token": ["per" + "m:" + alnum(30) + "." + alnum(10) + "." + alnum(30)],
    "Braintree token": ["access_to" + "ken$production$" + lower(16) + "$" + hexed(32)],
    "JSON Web Token": ["eyJ" + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0." + alnum(43)],
    "age key": ["AGE-SEC" + "RET-KEY-1" + upper(58)],
    "Nostr key": ["nse" + "c1" + lower(58)],
    "wallet key": ["xpr" + "v" + alnum(107)],
    "password hash": ["$2" + "b$12$" + alnum(53), "$6" + "$saltsalt$" + alnum(86)],
}  # fmt: skip


def test_every_format_has_an_example() -> None:
    kinds = {shape.kind for shape in (*DELIMITED, *UNDELIMITED)} | {kind for kind, _, _ in PATTERNS}

    assert kinds == {*KEYS}


@pytest.mark.parametrize(
    ("kind", "key"), [(kind, key) for kind, keys in KEYS.items() for key in keys]
)
@pytest.mark.parametrize("around", ["{}", "use {} for it.", 'k = "{}",', "KEY={}\n", '{"a": "{}"}'])
def test_a_key_is_found_by_its_format(kind: str, key: str, around: str) -> None:
    text = around.replace("{}", key, 1) if around != '{"a": "{}"}' else f'{{"a": "{key}"}}'
    [found] = find_secrets(text)

    assert (kind, key) == (found.kind, text[found.start : found.end])
    assert key[8:-6] not in redact(text)


S = "hunter2" + "X9"
WORDS = [
    "abandon",
    "ability",
    "able",
    "about",
    "above",
    "absent",
    "absorb",
    "abstract",
    "absurd",
    "abuse",
    "access",
    "ant",
]
NAMED = [
    f"my password is {S}",
    f"My password was {S}, change it",
    f"the wifi password is {S}.",
    f"the password for the router is: {S}",
    "the password is 'swordfish'",
    f"Password’s {S}",
    f'{{"password": "{S}"}}',
    f'{{\\"password\\": \\"{S}\\"}}',
    f'{{\\\\\\"password\\\\\\": \\\\\\"{S}\\\\\\"}}',
    f"{{'db_password': '{S}'}}",
    f"password: {S}",
    f"**Password:** {S}",
    f"- **password**: `{S}`",
    f"| Password | {S} |",
    f"password → {S}",
    f"DB_PASS={S}",
    f"export SMTP_PASS='{S}'",
    f"smtpPass: {S}",
    f"pw: {S}",
    f"Server=db;User Id=sa;Password={S};",
    f"Data Source=x;Pwd={S}",
    f"jdbc:postgresql://db/x?user=a&password={S}",
    f"password: str = '{S}'",
    f'let password: &str = "{S}";',
    f"setPassword('{S}')",
    f"<password>{S}</password>",
    f'<add key="DbPassword" value="{S}" />',
    f'{{"name": "DB_PASSWORD", "value": "{S}"}}',
    f"- name: DB_PASSWORD\n  value: {S}",
    f"curl -u admin:{S} https://example.com",
    f'curl --user "admin:{S}" https://example.com',
    f"curl -s https://example.com -u admin:{S}",
    f"mysql -h db -u root -p{S} app",
    f"sshpass -p {S} ssh me@host",
    f"redis-cli -h db -a {S} ping",
    f"docker login -u me -p {S} registry.example",
    f"openssl rsa -passin pass:{S}",
    f"mongosh --host db -u me -p {S}",
    f"CREATE USER me IDENTIFIED BY '{S}';",
    f"ALTER ROLE me WITH PASSWORD '{S}';",
    f'ConvertTo-SecureString "{S}" -AsPlainText',
    f"machine example.com login me password {S}",
    f"db.example.com:5432:app:me:{S}",
    f"login --password {S} --user me",
    f"tool --db-password={S}",
    f"postgres://me:{S}@db.example/x",
    f"mongodb+srv://me:{S}@db.example/x",
    f"amqp://me:{S}@mq:5672/",
    f"mein Passwort ist {S}",
    f"das Kennwort lautet {S}",
    f"mi contraseña es {S}",
    f"mon mot de passe est {S}",
    f"пароль: {S}",
    f"密码是{S}",
    f"パスワードは{S}",
    f"비밀번호는 {S}",
    f"DefaultEndpointsProtocol=https;AccountName=a;AccountKey={alnum(40)}/+{alnum(44)}==",
    f"Endpoint=sb://x/;SharedAccessKeyName=R;SharedAccessKey={alnum(43)}=",
    f"https://a.blob.core.windows.net/c?sv=2024&sig={alnum(40)}%3D",
    f"https://s3.amazonaws.com/b/k?X-Amz-Signature={hexed(64)}",
    f"aws_secret_access_key = {alnum(40)}",
    f"{'AKI'}A{upper(16)}, {alnum(20)}/{alnum(19)}",
    f"TWILIO_AUTH_TOKEN={hexed(32)}",
    f"DD_API_KEY={hexed(32)}",
    f"CLOUDFLARE_API_TOKEN: {alnum(40)}",
    f"X-Auth-Key: {hexed(37)}",
    f"Ocp-Apim-Subscription-Key: {hexed(32)}",
    f"X-Vault-Token: {alnum(26)}",
    f"WANDB_API_KEY={hexed(40)}",
    f"cohere_api_key = '{alnum(40)}'",
    f"//registry.npmjs.org/:_authToken={UUID}",
    f'"auth": "{alnum(24)}=="',
    f"client-key-data: {alnum(60)}",
    f"SECRET_KEY_BASE={hexed(128)}",
    f"PrivateKey = {alnum(43)}=",
    f"the api key for staging is {alnum(32)}",
    f"use the token for staging {alnum(40)}",
    f"here is the token: {alnum(24)}",
    f"Authorization: Bearer {alnum(24)}",
    f"Authorization: Basic {alnum(16)}==",
    f'\\"Authorization\\": \\"Bearer {alnum(24)}\\"',
    f"Authorization: SSWS {alnum(42)}",
    f"Authorization: token {hexed(40)}",
    f"Cookie: session={alnum(40)}; theme=dark",
    f"Set-Cookie: sid={alnum(40)}; HttpOnly",
    f"https://{hexed(40)}@github.com/a/b.git",
    f"https://hooks.slack.com/services/T0000/B0000/{alnum(24)}",
    f"https://discord.com/api/webhooks/123456789012345678/{alnum(68)}",
    f"https://x.webhook.office.com/webhookb2/{UUID}@{UUID}/IncomingWebhook/{hexed(32)}/{UUID}",
    f"https://hooks.zapier.com/hooks/catch/123456/{lower(12)}/",
    f"https://maker.ifttt.com/trigger/x/with/key/{alnum(22)}",
    f"https://api.telegram.org/bot123456789{':AA'}{alnum(33)}/getMe",
    f"my seed phrase is: {' '.join(WORDS)}",
    f"recovery phrase: {' '.join(f'{number}. {word}' for number, word in enumerate(WORDS, 1))}",
    f"-----BEGIN RSA PRIVATE KEY-----\n{alnum(64)}\n{alnum(64)}\n-----END RSA PRIVATE KEY-----",
    f"-----BEGIN OPENSSH PRIVATE KEY-----\n{alnum(70)}\n-----END OPENSSH PRIVATE KEY-----",
    f"-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{alnum(64)}\n-----END PGP PRIVATE KEY BLOCK-----",
    f'"private_key": "-----BEGIN PRIVATE KEY-----\\n{alnum(64)}\\n-----END PRIVATE KEY-----\\n"',
    f"PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-Lines: 1\n{alnum(48)}",
]


@pytest.mark.parametrize("text", NAMED)
def test_a_secret_is_found_by_its_name_or_place(text: str) -> None:
    hidden = redact(text)
    flat = redact(" ".join(text.split()))

    assert [] != find_secrets(text), text
    for shown in (hidden, flat):
        longest = max(text.replace("\\n", " ").replace("=", " ").split(), key=len)
        assert "hunter2" not in shown
        assert "swordfish" not in shown
        assert "aburd" not in shown
        assert longest not in shown or not any(map(str.isdigit, longest)), shown
        assert shown == redact(shown)


@pytest.mark.parametrize(
    "text",
    [
        "My password is wrong, the token is expired and my key is lost.",
        "The password is stored in the keyring. What is the password for the router?",
        "My train pass for the commute is 20,000 yen; pass `query` as an argument.",
        "password: SecretStr, private_key: Ed25519PrivateKey | Ed448PrivateKey, pwd: ModuleType",
        "raise InvalidToken('Supplied TOTP value does not match.')",
        '"password": "string?", verify_token="...", token=config.token, api_key="your-api-key"',
        "docker run -u 1000:1000 image; chown -R me:me . ; git push -u origin main",
        "curl -s https://example.com/a | head; mysql -u root -p app; mkdir -p a/b",
        "src/a.py:1234:5: E501 line too long; see host:8080:/srv/data",
        "Set-Cookie: theme=dark; Path=/ and the cookie: oreo=doublestuff",
        "| Token | Meaning |\n| --- | --- |\n| access_token | the token |",
        "https://user:password@example.com and scheme://<user>:<password>@host",
        "token count: 128000, primary key: id, sort_key=created_at, key: value, public_key",
        "Behind `password=` nearly everything is one; behind `token:` only what looks random.",
        "the secret of good bread is time; a key insight for 2026-01-02T03:04:05Z",
        "the recovery phrase has twelve words that you write down and never show to anyone at all",
        f"sha256:{'0123456789abcdef' * 4} commit {'0123456789' * 4} id {UUID}",
        "gh_pages sk-learn api_org hf_hub npm_config_registry glpat- xoxb- AKIA eyJ",
        "TTATCGTCGAAATCTACGGACCGGAATCTTCCGGTAAAACCACGCTGACGCTGCAGGTGATCGCCGCA",
        "x-amz-request-id, key-value-store-for-everything-2026, fc-bayern-2025-spieltag",
    ],
)  # fmt: skip
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert [] == find_secrets(text)


@pytest.mark.parametrize("name", ["password", "Passphrase", "Passwort", "wifi password"])
def test_a_passphrase_joined_by_hyphens_is_found_behind_a_name(name: str) -> None:
    text = f"{name}: correct-horse-battery"

    assert ["password"] == [each.kind for each in find_secrets(text)]


@pytest.mark.parametrize(
    "text",
    [
        "password: see 1Password",
        "password: required",
        "password is on the fridge",
        "password: one-time-only",
        "password: not-yet-set",
        "password: case-sensitive",
        "Passwort: up-to-date",
        "the password is company-wide-policy material",
    ],
)
def test_what_is_said_about_a_password_is_no_passphrase(text: str) -> None:
    assert [] == find_secrets(text)
