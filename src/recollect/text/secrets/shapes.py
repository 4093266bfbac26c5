"""Keys that are recognised by their own format, wherever they are; the match extends to their end.

Formats without fixed letters (32 hexadecimal digits, UUIDs) count only behind a name, see `names`.
Most prefixes end with one of `_ - .`: those are looked for, and the letters in front looked up,
which takes the same time for ten prefixes as for two hundred.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from recollect.text.secrets.values import Secret

if TYPE_CHECKING:
    from collections.abc import Iterator

_ANY = "[A-Za-z0-9_-]"
_ALNUM = "[A-Za-z0-9]"
_LOWER = "[a-z0-9]"
_HEX = "[a-f0-9]"
_UUID = f"{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}"
_MIXED = "(?=[A-Za-z]{0,19}[0-9])(?=[a-z0-9]{0,19}[A-Z])(?=[A-Z0-9]{0,19}[a-z])[A-Za-z0-9]{20}"
_SK = (
    "(?<![A-Za-z]sk-)(?=[A-Za-z0-9_-]{8})(?:[A-Za-z_-]{0,64}[0-9]|[A-Za-z0-9]{16})"
    # After a letter (task-, disk-) only what cannot be a word.
    "|(?:[a-z0-9]{2,8}-){0,3}(?:[A-Za-z0-9]{40}|(?=[A-Za-z]{0,31}[0-9])[A-Za-z0-9]{32}"
    f"|{_MIXED})"
)


class _Shape(NamedTuple):
    """A format of keys."""

    kind: str
    prefixes: str
    """Separated by spaces."""
    body: str
    """What has to follow for a match; the match may go on."""
    is_word: bool = False
    """True if a prefix counts only where a word starts."""


DELIMITED = (
    _Shape("API key (sk-…)", "sk-", _SK),
    _Shape("Stripe key", "sk_live_ rk_live_ sk_test_ rk_test_", f"{_ALNUM}{{16}}"),
    _Shape("webhook signing secret", "whsec_", f"{_ALNUM}{{16}}"),
    _Shape("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", f"{_ALNUM}{{20}}"),
    _Shape("GitHub token", "github_pat_", "[A-Za-z0-9_]{20}"),
    _Shape(
        "GitLab token",
        "glpat- gldt- glrt- glptt- glcbt- glsoat- glft- glimt- glagent- glffct- gloas- glwt-",
        f"{_ANY}{{16}}",
    ),
    _Shape(
        "Slack token",
        "xoxa- xoxb- xoxc- xoxd- xoxe- xoxe. xoxo- xoxp- xoxr- xoxs-",
        f"{_ANY}{{10}}",
    ),
    _Shape("Slack token", "xapp- xwfp-", "[0-9][A-Za-z0-9-]{9}"),
    _Shape("AWS Bedrock key", "bedrock-api-key-", f"{_ALNUM}{{40}}"),
    _Shape("Google OAuth token", "ya29.", f"{_ANY}{{20}}"),
    _Shape("Google OAuth client secret", "GOCSPX-", f"{_ANY}{{20}}"),
    _Shape("Hugging Face token", "hf_ api_org_", f"{_ALNUM}{{20}}"),
    _Shape("npm token", "npm_", f"{_ALNUM}{{20}}"),
    _Shape("RubyGems key", "rubygems_", f"{_HEX}{{32}}"),
    _Shape("PyPI token", "pypi-", f"AgE{_ANY}{{20}}"),
    _Shape("Docker token", "dckr_pat_ dckr_oat_", f"{_ANY}{{20}}"),
    _Shape("Clojars token", "CLOJARS_", f"{_HEX}{{40}}"),
    _Shape("Packagist token", "packagist_uut_ packagist_out_ packagist_ust_", f"{_HEX}{{40}}"),
    _Shape("Vault token", "hvs. hvb. hvr.", f"{_ANY}{{20}}"),
    _Shape("Doppler token", "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.", "[A-Za-z0-9_.-]{30}"),
    _Shape("1Password token", "ops_", f"eyJ{_ANY}{{20}}"),
    _Shape(
        "1Password secret key", "A3-", "(?:[A-Z0-9]{5,11}-){4}[A-Z0-9]{5}-[A-Z0-9]{5}", is_word=True
    ),
    _Shape("Pulumi token", "pul-", f"{_HEX}{{40}}"),
    _Shape("Replicate token", "r8_", f"{_ALNUM}{{20}}"),
    _Shape("Groq key", "gsk_", f"{_ALNUM}{{20}}"),
    _Shape("Perplexity key", "pplx-", f"{_ALNUM}{{20}}"),
    _Shape("xAI key", "xai-", f"{_ALNUM}{{20}}"),
    _Shape("Cerebras key", "csk-", f"{_LOWER}{{40}}"),
    _Shape("Fireworks key", "fw_", f"(?=[A-Za-z]{{0,19}}[0-9]){_ALNUM}{{20}}", is_word=True),
    _Shape("Voyage key", "pa-", f"(?=[A-Za-z_-]{{0,39}}[0-9]){_ANY}{{40}}", is_word=True),
    _Shape("Jina key", "jina_", f"{_HEX}{{32}}"),
    _Shape("NVIDIA key", "nvapi-", f"{_ANY}{{40}}"),
    _Shape("LangSmith key", "lsv2_pt_ lsv2_sk_", f"{_HEX}{{32}}"),
    _Shape("Pinecone key", "pcsk_", "[A-Za-z0-9_]{20}"),
    _Shape("ElevenLabs key", "sk_", f"{_HEX}{{40}}", is_word=True),
    _Shape("Tavily key", "tvly-", f"(?=[A-Za-z-]{{0,31}}[0-9]){_ANY}{{20}}"),
    _Shape("Firecrawl key", "fc-", f"{_HEX}{{32}}", is_word=True),
    _Shape("E2B key", "e2b_", f"{_HEX}{{32}}"),
    _Shape("Weights & Biases key", "wandb_v1_", "[A-Za-z0-9_]{20}"),
    _Shape("Supabase key", "sbp_ sb_secret_", f"{_ALNUM}{{20}}"),
    _Shape("PlanetScale token", "pscale_tkn_ pscale_oauth_ pscale_pw_", "[A-Za-z0-9_.-]{20}"),
    _Shape("Neon key", "napi_", f"{_LOWER}{{40}}"),
    _Shape("MongoDB Atlas secret", "mdb_sa_sk_", f"{_ANY}{{20}}"),
    _Shape("Contentful token", "CFPAT-", f"{_ANY}{{20}}"),
    _Shape("Notion token", "ntn_", f"{_ALNUM}{{30}}"),
    _Shape("Notion token", "secret_", f"{_ALNUM}{{40}}"),
    _Shape("Linear key", "lin_api_ lin_oauth_", f"{_ALNUM}{{20}}"),
    _Shape("Figma token", "figd_ figr_ figu_", f"{_ANY}{{20}}"),
    _Shape("ClickUp token", "pk_", "[0-9]{4,12}_[A-Z0-9]{20}"),
    _Shape("HubSpot token", "pat-", f"[a-z]{{2,3}}[0-9]-{_UUID}", is_word=True),
    _Shape("Dropbox token", "sl.", rf"(?:u\.)?{_ANY}{{80}}", is_word=True),
    _Shape("Square token", "sq0atp- sq0csp-", f"{_ANY}{{20}}"),
    _Shape("Shopify token", "shpat_ shpca_ shppa_ shpss_", "[A-Fa-f0-9]{30}"),
    _Shape("Plaid token", "access-sandbox- access-development- access-production-", _UUID),
    _Shape("Razorpay key", "rzp_live_ rzp_test_", f"{_ALNUM}{{12}}"),
    _Shape("Flutterwave key", "FLWSECK- FLWSECK_TEST-", f"{_ALNUM}{{12}}"),
    _Shape("DigitalOcean token", "dop_v1_ doo_v1_ dor_v1_", f"{_HEX}{{32}}"),
    _Shape("Cloudflare token", "cfk_ cfut_ cfat_", f"{_ALNUM}{{30}}"),
    _Shape("Cloudflare token", "v1.0-", f"{_HEX}{{24}}-{_HEX}{{40}}"),
    _Shape("Heroku key", "HRKU-", f"{_ANY}{{20}}"),
    _Shape("Fly.io token", "fm1_ fm2_ fm1a_ fm1r_", "[A-Za-z0-9+/]{20}"),
    _Shape("Vercel token", "vcp_ vcc_ vci_ vca_ vcr_ vck_", f"{_ALNUM}{{20}}", is_word=True),
    _Shape("Netlify token", "nfp_ nfc_ nfo_ nfu_ nfb_", f"{_ALNUM}{{20}}", is_word=True),
    _Shape("Render key", "rnd_", f"{_ALNUM}{{20}}", is_word=True),
    _Shape("Yandex token", "y0_", f"{_ANY}{{30}}", is_word=True),
    _Shape("Yandex token", "t1.", "9eu[A-Za-z0-9_.-]{30}", is_word=True),
    _Shape("Grafana token", "glc_ glsa_", "[A-Za-z0-9+/]{20}"),
    _Shape("New Relic key", "NRAK- NRII- NRJS- NRIQ- NRSP-", f"{_ANY}{{16}}"),
    _Shape("Sentry token", "sntrys_ sntryu_", f"{_ALNUM}{{20}}"),
    _Shape("Honeycomb key", "hcaik_ hcbik_ hcxik_", f"{_LOWER}{{20}}"),
    _Shape("Dynatrace token", "dt0c01. dt0s01. dt0s02. dt0s16.", "[A-Z0-9]{20}"),
    _Shape("LaunchDarkly key", "sdk- api- mob-", _UUID, is_word=True),
    _Shape("PostHog key", "phx_ phs_", f"{_ALNUM}{{30}}"),
    _Shape("Postman key", "PMAK-", f"{_HEX}{{20}}"),
    _Shape("ReadMe key", "rdme_", f"{_LOWER}{{40}}"),
    _Shape("Prefect key", "pnu_ pnb_", f"{_ALNUM}{{30}}"),
    _Shape("Tailscale key", "tskey-", f"{_ANY}{{16}}"),
    _Shape("Typeform token", "tfp_", f"{_ANY}{{30}}"),
    _Shape("Shippo token", "shippo_live_ shippo_test_", f"{_HEX}{{32}}"),
    _Shape("Duffel token", "duffel_live_ duffel_test_", f"{_ANY}{{20}}"),
    _Shape("CircleCI token", "CCIPAT_ CCIPRJ_", "[A-Za-z0-9_]{20}"),
    _Shape("Buildkite token", "bkua_ bkat_ bkct_", f"{_LOWER}{{30}}"),
    _Shape("SonarQube token", "squ_ sqp_ sqa_", f"{_HEX}{{32}}"),
    _Shape("Sourcegraph token", "sgp_", "[a-f0-9_]{32}"),
    _Shape("SendGrid key", "SG.", rf"{_ANY}{{16,64}}\.{_ANY}{{16}}"),
    _Shape("Mailgun key", "key-", f"{_HEX}{{32}}", is_word=True),
    _Shape("Brevo key", "xkeysib- xsmtpsib-", f"{_HEX}{{40}}"),
    _Shape("Resend key", "re_", f"{_ALNUM}{{8}}_{_ALNUM}{{20}}", is_word=True),
    _Shape("age key", "AGE-SECRET-KEY-", "1[A-Z0-9]{20}"),
)

_END = f"(?!{_ALNUM})"
UNDELIMITED = (
    _Shape("AWS access key", "AKIA ASIA", "[A-Z0-9]{16}"),
    _Shape("AWS access key", "ABIA ACCA", "(?=[A-Z]{0,15}[0-9])[A-Z0-9]{16}"),
    _Shape("AWS session token", "IQoJb3JpZ2lu FwoGZXIvYXdz FQoGZXIvYXdz", "[A-Za-z0-9/+=]{20,}"),
    _Shape("AWS Bedrock key", "ABSK", f"{_ALNUM}{{40}}"),
    _Shape("Google API key", "AIza", f"{_ANY}{{20}}"),
    _Shape("JSON Web Token", "eyJ", f"{_ANY}{{17}}"),  # JSON in base64
    _Shape("GitLab token", "GR1348941", f"{_ANY}{{20}}"),
    _Shape(
        "crates.io token", "cio", f"(?=[A-Za-z]{{0,31}}[0-9]){_ALNUM}{{32}}{_END}", is_word=True
    ),
    _Shape("NuGet key", "oy2", f"{_LOWER}{{43}}{_END}", is_word=True),
    _Shape("Artifactory key", "AKCp cmVmdGtu", f"{_ALNUM}{{40}}"),
    _Shape("Databricks token", "dapi dkea dose", f"{_HEX}{{32}}", is_word=True),
    _Shape("Airtable token", "pat", rf"{_ALNUM}{{14}}\.{_HEX}{{64}}", is_word=True),
    _Shape("Atlassian token", "ATATT3 ATCTT3 ATSTT3 ATBB", f"{_ANY}{{20}}"),
    _Shape("Discord token", "M N O", rf"{_ANY}{{22,27}}\.{_ANY}{{6}}\.{_ANY}{{25}}", is_word=True),
    _Shape(
        "Facebook or Square token", "EAA", f"(?=[A-Za-z_-]{{0,49}}[0-9]){_ANY}{{50}}", is_word=True
    ),
    _Shape("Twitter token", "AAAAAAAAAAAAAAAAAAAAA", "[A-Za-z0-9%]{40}", is_word=True),
    _Shape("Alibaba Cloud key", "LTAI", f"{_ALNUM}{{12,20}}{_END}", is_word=True),
    _Shape("Tencent Cloud key", "AKID", f"{_ALNUM}{{28}}", is_word=True),
    _Shape("Yandex token", "AQVN", f"{_ANY}{{30}}", is_word=True),
    _Shape("EasyPost key", "EZAK EZTK", f"{_ALNUM}{{40}}", is_word=True),
    _Shape("Twilio key", "SK", f"{_HEX}{{32}}{_END}", is_word=True),
    _Shape("Nostr key", "nsec1", f"{_LOWER}{{58}}{_END}", is_word=True),
    _Shape("wallet key", "xprv yprv zprv", f"{_ALNUM}{{100}}", is_word=True),
    _Shape("Mailchimp key", "", f"{_HEX}{{32}}-us[0-9]", is_word=True),
    _Shape("Azure DevOps token", "", f"{_ALNUM}{{76}}AZDO{_ALNUM}{{4}}", is_word=True),
    _Shape("Azure key", "", f"(?:{_ANY}{{44}}AzFu|{_ALNUM}{{42}}AzSe){_ANY}{{6}}", is_word=True),
)

_HASH = (
    r"\$(?:2[abxy]\$[0-9]{2}\$[A-Za-z0-9./]{50,60}"
    r"|(?:1|5|6|y|apr1)\$(?:[A-Za-z0-9./=,]{1,24}\$){1,2}[A-Za-z0-9./]{20,90}"
    r"|argon2i?d?\$[A-Za-z0-9$=,+/]{30,200})"
)
PATTERNS = (
    ("Telegram bot token", ":AA", rf"[0-9]{{8,10}}:AA{_ANY}{{30,}}"),
    ("Azure client secret", "Q~", r"[A-Za-z0-9_.-]{3}[0-9]Q~[A-Za-z0-9_.~-]{30,}"),
    ("Terraform Cloud token", ".atlasv1.", rf"{_ALNUM}{{14}}\.atlasv1\.{_ANY}{{40,}}"),
    ("Salesforce token", "!A", rf"\b00D{_ALNUM}{{12,15}}!A[A-Za-z0-9_.]{{20,}}"),
    ("Firebase key", ":APA91b", rf"{_ANY}{{11}}:APA91b{_ANY}{{60,}}"),
    ("Google refresh token", "1//0", rf"(?<![A-Za-z0-9/:])1//0{_ANY}{{30,}}"),
    ("JetBrains token", "perm:", r"\bperm:[A-Za-z0-9+/=._-]{30,}"),
    ("Braintree token", "$", r"access_token\$[a-z]{4,12}\$[a-z0-9$]{20,}"),
    (
        "password hash",
        "$",
        _HASH,
    ),
)
"""Formats that are not a prefix and a body: kind, characters that are in each, and the format."""

_REST = re.compile(r"(?:[A-Za-z0-9_-]|\.(?=[A-Za-z0-9_-])|:(?=AA[A-Za-z0-9_-]{30}))*")
"""The rest of anything a key could be part of, without the full stop of a sentence."""
_DELIMITER = re.compile(r"[_.-](?=[A-Za-z0-9_.-]{8})")
_TAIL_CHARS = 3
_LONG = re.compile("[A-Za-z0-9_-]{16,}")
"""Anything long enough to be a key without a delimiter."""


def _by_tail() -> dict[str, list[tuple[str, _Shape]]]:
    found: dict[str, list[tuple[str, _Shape]]] = {}
    for shape in DELIMITED:
        for prefix in shape.prefixes.split():
            found.setdefault(prefix[-_TAIL_CHARS:], []).append((prefix, shape))
    # `csk-` is another key than `sk-`.
    return {tail: sorted(each, key=lambda pair: -len(pair[0])) for tail, each in found.items()}


_BY_TAIL = _by_tail()
"""Prefixes by their last characters, the delimiter included."""
_compiled = cache(re.compile)
"""Patterns are compiled when a prefix of theirs is met, which most processes never do."""


@cache
def _undelimited(*, is_word: bool) -> tuple[re.Pattern[str], tuple[str, ...]]:
    """Return a pattern with a group for each shape, and the kinds of the groups."""
    shapes = [shape for shape in UNDELIMITED if shape.is_word is is_word]
    starts = ("|".join(shape.prefixes.split()) for shape in shapes)
    groups = (f"((?:{start}){shape.body})" for start, shape in zip(starts, shapes, strict=True))
    return re.compile("|".join(groups)), tuple(shape.kind for shape in shapes)


def find_shapes(text: str) -> list[Secret]:
    """Return the keys of a known format."""
    irregular = [
        Secret(found.start(), _rest(text, found.end()), kind, is_key=True)
        for kind, letters, pattern in PATTERNS
        if letters in text
        for found in _compiled(pattern).finditer(text)
    ]
    return [*_find_delimited(text), *_find_undelimited(text), *irregular]


def _find_delimited(text: str) -> Iterator[Secret]:
    reached = 0
    for delimiter in _DELIMITER.finditer(text):
        body = delimiter.end()
        shapes = _BY_TAIL.get(text[body - _TAIL_CHARS : body])
        if shapes is not None and body > reached:
            for prefix, shape in shapes:
                if text.endswith(prefix, 0, body) and _has_body(text, body, prefix, shape):
                    reached = _rest(text, body)
                    yield Secret(body - len(prefix), reached, shape.kind, is_key=True)
                    break


def _has_body(text: str, body: int, prefix: str, shape: _Shape) -> bool:
    before = text[body - len(prefix) - 1 : body - len(prefix)]
    if shape.is_word and (before.isalnum() or before in ("_", "-")):
        return False
    return _compiled(shape.body).match(text, body) is not None


def _find_undelimited(text: str) -> Iterator[Secret]:
    of_words, word_kinds = _undelimited(is_word=True)
    of_any, any_kinds = _undelimited(is_word=False)
    reached = 0
    for run in _LONG.finditer(text):
        start, end = run.span()
        if start < reached:
            continue
        found, kinds = of_any.search(text, start, end), any_kinds
        if found is None:
            found, kinds = of_words.match(text, start), word_kinds
        else:
            found = of_any.match(text, found.start())  # it may go on behind the run
        if found is not None:
            reached = _rest(text, found.end())
            kind = kinds[(found.lastindex or 1) - 1]
            yield Secret(found.start(), reached, kind, is_key=True)


def _rest(text: str, start: int) -> int:
    found = _REST.match(text, start)
    return found.end() if found else start
