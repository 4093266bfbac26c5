from __future__ import annotations

import pytest

from recollect.text.redact import HIDDEN, redact

ALNUM = "abcdefghijklmnopqrstuvwxyz0123456789ABCD"

# Pieced together, so that no scanner takes this file for a leak.
KEYS = [
    "sk-" + ALNUM,
    "sk-" + "proj-" + ALNUM,
    "sk-" + "ant-api03-" + ALNUM + "_-" + ALNUM,
    "sk-" + "or-v1-" + "0123456789abcdef" * 4,
    "ghp" + "_" + ALNUM,
    "gho" + "_" + ALNUM,
    "github" + "_pat_" + ALNUM + "_" + ALNUM,
    "glpat" + "-" + ALNUM[:20],
    "xoxb" + "-123456789012-" + ALNUM,
    "xoxp" + "-123456789012-" + ALNUM,
    "xapp" + "-1-A0-" + ALNUM,
    "AKIA" + "IOSFODNN7EXAMPLE",
    "AIza" + "Sy" + ALNUM[:33],
    "hf" + "_" + ALNUM[:34],
    "npm" + "_" + ALNUM[:36],
    "sk" + "_live_" + ALNUM[:24],
    "ya29" + "." + ALNUM,
    "eyJ" + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0." + ALNUM,
    "SG" + "." + ALNUM[:22] + "." + ALNUM,
    "1234567890" + ":AA" + ALNUM,
]


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("around", ["{}", "it is {}.", "x{}", '"{}",', "{}{}", "?k={}&b", "（{}）"])
def test_a_key_of_a_known_shape_is_hidden_whatever_is_around_it(key: str, around: str) -> None:
    hidden = redact(around.replace("{}", key))

    assert key not in hidden
    assert key[8:20] not in hidden
    assert hidden == redact(hidden)


def test_a_long_key_keeps_its_ends() -> None:
    assert "use sk-abc…ABCD." == redact(f"use sk-{ALNUM}.")
    assert "OPENAI_API_KEY=sk-abc…ABCD" == redact(f"OPENAI_API_KEY=sk-{ALNUM}")
    assert f"Bearer {'ghp_ab'}…ABCD" == redact(f"Bearer ghp_{ALNUM}")


def test_a_short_key_keeps_nothing() -> None:
    assert f"use {HIDDEN} now" == redact("use sk-abc123def456 now")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("password=hunter2", "password=***"),
        ("password=hunter", "password=***"),
        ("password: hunter2", "password: ***"),
        ("Password : Winter2026!", "Password : ***!"),
        ("PGPASSWORD=abc", "PGPASSWORD=***"),
        ('"password": "correct horse battery"', '"password": "***"'),
        ("password='it'", "password='it'"),
        ("password=$ecret1", "password=***"),
        ("api_key: s3cr3tvalue", "api_key: ***"),
        ("apiKey=abcdef123", "apiKey=***"),
        ("x-api-key: 0a1b2c3d4e", "x-api-key: ***"),
        ("client_secret = abc123def", "client_secret = ***"),
        ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfi", "AWS_SECRET_ACCESS_KEY=***"),
        ("SERVICE_KEY=0123abcd", "SERVICE_KEY=***"),
        ("token: abcdef0123456789", "token: ***"),
        ("?token=abc123&page=2", "?token=***"),
        ("login --password hunter2 --user me", "login --password *** --user me"),
        ("--api-key abc123def", "--api-key ***"),
        ("Authorization: Bearer abc123def456", "Authorization: Bearer ***"),
        ("authorization: Basic dXNlcjpwYXNz1", "authorization: Basic ***"),
        ("curl -H 'Bearer abcdefghijklmnop1234'", "curl -H 'Bearer ***'"),
        ("postgres://me:pa55@db.example/x", "postgres://me:***@db.example/x"),
        ("redis://:pa55@db", "redis://:***@db"),
        ("https://me:p@ss:word@host/x", "https://me:***@host/x"),
        ("https://hooks.slack.com/services/T000/B000/abcdefghij", "https://hooks.slack.com/services/***"),
        ("密码：hunter2", "密码：***"),
        ("Passwort: geheim12", "Passwort: ***"),
        ("token: pwd=abc", "token: pwd=***"),
    ],
)  # fmt: skip
def test_what_is_named_a_secret_is_hidden_whole(text: str, expected: str) -> None:
    assert expected == redact(text)
    assert expected == redact(expected)


def test_a_private_key_is_hidden_to_its_end() -> None:
    body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC /+abcDEF0123456789== "
    begin, end = "-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----"

    assert f"a {begin}***{end} b" == redact(f"a {begin} {body}{end} b")


def test_a_private_key_without_its_end_is_hidden_as_far_as_it_goes() -> None:
    begin = "-----BEGIN OPENSSH PRIVATE KEY-----"
    lines = " ".join(["b3BlbnNzaC1rZXktdjEAAAAABG5vbmU"] * 3)

    assert f"{begin}*** is what I pasted" == redact(f"{begin} {lines} YWJj= is what I pasted")


@pytest.mark.parametrize(
    "text",
    [
        "The password must be long, and the token: it expires.",
        "Password: required. Token: expired. Secret: keep it.",
        "password: str, token: str | None = None, secret = os.environ",
        "password=password, token=$token, key_password=registry_password, pwd=$PWD",
        "api_key=config.api_key, password=%s, password=%DB_PASS%, password={password}",
        "self._token = uuid.uuid4().hex, secret=keys[0], token = await client.v2.token(id7)",
        "password=getpass(), password=<your password>, api_key=${KEY}, key=value",
        "max_tokens=1000 tokens: 128000 token_count=512 sort_key=created_at",
        "task-management-system-2026, risk-averse-investor-profile, disk-usage-analyzer",
        "commit 3f2a9cd41b6f0e1d2c3b4a5968778695a4b3c2d1",
        "id 550e8400-e29b-41d4-a716-446655440000, ticket TCK-82152, v2.3.1",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "/usr/lib/python3.11/site-packages/recollect/sessions/redact.py:12",
        "see https://example.com:8443/a/b?page=2#c and mail me@example.com",
        "the bearer of good news, a bearer token, Authorization: required",
        "scikit-learn is imported as sklearn; locale sk-SK; sk-learn-contrib",
        "-----BEGIN PRIVATE KEY----- is the first line of such a file",
        "-----BEGIN PUBLIC KEY----- MIIBIjANBgkqhkiG9w0BAQ -----END PUBLIC KEY-----",
        "Forgot your password: https://example.com/reset/2026",
        "密码必须很长",
    ],
)
def test_ordinary_words_stay(text: str) -> None:
    assert text == redact(text)
