"""Who may ask: every way a browser or a stranger could come in, as plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from recollect.errors import UsageError
from recollect.shells.guard import (
    TOKEN_VARIABLE,
    Guard,
    RequestOrigin,
    is_loopback,
    is_same_origin,
    is_token,
    read_token,
    require_token,
)

if TYPE_CHECKING:
    from pathlib import Path

LOCAL = Guard("127.0.0.1", 7717)
TOKEN = "0123456789abcdef-secret"  # noqa: S105 - of no server


def outcome(guard: Guard, asked: RequestOrigin) -> tuple[int, str] | None:
    refused = guard.refusal(asked)
    return None if refused is None else (refused.status, refused.kind)


@pytest.mark.parametrize(
    "host", ["127.0.0.1:7717", "localhost:7717", "LOCALHOST:7717", "[::1]:7717"]
)
def test_our_own_names_are_let_in(host: str) -> None:
    assert outcome(LOCAL, RequestOrigin(host)) is None


@pytest.mark.parametrize(
    "host",
    [
        None,
        "",
        "evil.example:7717",
        "127.0.0.1.evil.example:7717",
        "localhost.evil.example:7717",
        "127.0.0.1",
        "127.0.0.1:7718",
        "127.0.0.1:7717, evil.example",
        "127.0.0.1:7717@evil.example",
        "user@127.0.0.1:7717",
        "192.168.1.5:7717",
        "127.0.0.1:7717\n",
        "[::1:7717",
    ],
)
def test_a_host_that_is_not_ours_is_refused(host: str | None) -> None:
    assert (403, "host") == outcome(LOCAL, RequestOrigin(host))


def test_on_port_80_no_port_has_to_be_named() -> None:
    assert outcome(Guard("127.0.0.1", 80), RequestOrigin("localhost")) is None


def test_a_name_that_is_allowed_may_have_any_port_or_the_one_that_was_named() -> None:
    any_port = Guard("127.0.0.1", 7717, names=("memory.example.org",))
    one_port = Guard("127.0.0.1", 7717, names=("memory.example.org:8443",))

    assert outcome(any_port, RequestOrigin("memory.example.org")) is None
    assert outcome(any_port, RequestOrigin("memory.example.org:8443")) is None
    assert outcome(one_port, RequestOrigin("memory.example.org:8443")) is None
    assert (403, "host") == outcome(one_port, RequestOrigin("memory.example.org"))
    assert (403, "host") == outcome(any_port, RequestOrigin("other.example.org"))


@pytest.mark.parametrize("name", ["https://memory.example.org", "memory.example.org/x", "", "*"])
def test_a_name_that_no_request_could_bring_is_refused_at_once(name: str) -> None:
    with pytest.raises(UsageError, match="is not a host name"):
        Guard("127.0.0.1", 7717, names=(name,))


def test_bound_to_every_address_it_answers_to_addresses_but_to_no_strange_name() -> None:
    everywhere = Guard("0.0.0.0", 7717, token=TOKEN)  # noqa: S104 - the case that is tested
    bearer = f"Bearer {TOKEN}"

    assert outcome(everywhere, RequestOrigin("192.168.1.5:7717", authorization=bearer)) is None
    assert outcome(everywhere, RequestOrigin("[fe80::1]:7717", authorization=bearer)) is None
    assert (403, "host") == outcome(
        everywhere, RequestOrigin("evil.example:7717", authorization=bearer)
    )


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        (None, "127.0.0.1:7717"),
        ("http://127.0.0.1:7717", "127.0.0.1:7717"),
        ("http://LOCALHOST:7717", "localhost:7717"),
        ("https://memory.example.org", "memory.example.org"),
        ("https://memory.example.org:443", "memory.example.org"),
        ("http://[::1]:7717", "[::1]:7717"),
    ],
)
def test_our_own_page_may_ask(origin: str | None, host: str) -> None:
    assert is_same_origin(origin, host=host)


@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "",
        "http://evil.example",
        "http://127.0.0.1:3000",
        "http://localhost:7717",
        "http://127.0.0.1:7717.evil.example",
        "http://127.0.0.1:7717@evil.example",
        "file://",
        "chrome-extension://abcdef",
        "http://127.0.0.1:7717, http://evil.example",
    ],
)
def test_any_other_page_is_refused(origin: str) -> None:
    assert (403, "origin") == outcome(LOCAL, RequestOrigin("127.0.0.1:7717", origin))


@pytest.mark.parametrize("site", ["cross-site", "same-site", "anything"])
def test_another_site_is_refused_but_may_link_to_the_page(site: str) -> None:
    asked = RequestOrigin("127.0.0.1:7717", fetch_site=site)
    opened = RequestOrigin("127.0.0.1:7717", fetch_site=site, is_navigation=True)

    assert (403, "origin") == outcome(LOCAL, asked)
    assert outcome(LOCAL, opened) is None


@pytest.mark.parametrize("site", [None, "same-origin", "none"])
def test_our_site_and_the_address_bar_are_let_in(site: str | None) -> None:
    assert outcome(LOCAL, RequestOrigin("127.0.0.1:7717", fetch_site=site)) is None


@pytest.mark.parametrize(
    ("authorization", "is_right"),
    [
        (f"Bearer {TOKEN}", True),
        (f"bearer {TOKEN} ", True),
        (f"Bearer {TOKEN}x", False),
        (f"Bearer {TOKEN[:-1]}", False),
        (f"Basic {TOKEN}", False),
        (f"Bearer {TOKEN}, Bearer {TOKEN}", False),
        ("Bearer \udcff", False),
        (TOKEN, False),
        ("", False),
        (None, False),
    ],
)
def test_the_token_has_to_be_the_very_one(authorization: str | None, is_right: bool) -> None:  # noqa: FBT001
    assert is_right == is_token(authorization, TOKEN)


def test_without_the_token_only_what_is_open_is_answered() -> None:
    guard = Guard("127.0.0.1", 7717, token=TOKEN)

    assert (401, "token") == outcome(guard, RequestOrigin("127.0.0.1:7717"))
    assert outcome(guard, RequestOrigin("127.0.0.1:7717", is_open=True)) is None
    assert outcome(guard, RequestOrigin("127.0.0.1:7717", authorization=f"Bearer {TOKEN}")) is None


def test_a_token_does_not_make_up_for_a_strange_host() -> None:
    guard = Guard("127.0.0.1", 7717, token=TOKEN)

    asked = RequestOrigin("evil.example:7717", authorization=f"Bearer {TOKEN}")

    assert (403, "host") == outcome(guard, asked)


def test_a_guard_does_not_show_its_token() -> None:
    assert TOKEN not in repr(Guard("127.0.0.1", 7717, token=TOKEN))


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),  # noqa: S104 - the case that is tested
        ("::", False),
        ("", False),
        ("192.168.1.5", False),
        ("example.org", False),
    ],
)
def test_loopback_is_known(host: str, expected: bool) -> None:  # noqa: FBT001
    assert expected == is_loopback(host)


def test_beyond_loopback_a_token_is_required() -> None:
    require_token("127.0.0.1", token=None)
    require_token("192.168.1.5", token=TOKEN)

    with pytest.raises(UsageError, match="anyone on the network"):
        require_token("192.168.1.5", token=None)


def test_the_file_wins_over_the_variable(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n", encoding="utf-8")
    file.chmod(0o600)

    assert TOKEN == read_token({TOKEN_VARIABLE: "another-token-of-ours"}, file=file)
    assert "another-token-of-ours" == read_token(
        {TOKEN_VARIABLE: "another-token-of-ours"}, file=None
    )
    assert read_token({}, file=None) is None


@pytest.mark.parametrize("token", ["", "short", "has blanks in between it", "ümläute-sind-keine"])
def test_a_token_that_could_be_guessed_or_not_be_sent_is_refused(token: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_token({TOKEN_VARIABLE: token}, file=None)

    assert not token or token not in caught.value.message


def test_a_token_file_that_others_may_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(TOKEN, encoding="utf-8")
    file.chmod(0o644)

    with pytest.raises(UsageError, match="Other users"):
        read_token({}, file=file)


def test_a_token_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read_token({}, file=tmp_path / "none")
