"""OpenClaw's file: where it is looked for, which forms are read, how a wrong one is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.config.openclaw import default_file, translate
from recollect.errors import ConfigError


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"HOME": "/h"}, "/h/.openclaw/openclaw.json"),
        ({"HOME": "/h", "OPENCLAW_HOME": "/o"}, "/o/.openclaw/openclaw.json"),
        ({"HOME": "/h", "OPENCLAW_STATE_DIR": "/s"}, "/s/openclaw.json"),
        ({"HOME": "/h", "OPENCLAW_STATE_DIR": "~/s"}, "/h/s/openclaw.json"),
        (
            {"HOME": "/h", "OPENCLAW_STATE_DIR": "/s", "OPENCLAW_CONFIG_PATH": "~/c.json5"},
            "/h/c.json5",
        ),
        ({"HOME": "/h", "OPENCLAW_CONFIG_PATH": "  "}, "/h/.openclaw/openclaw.json"),
    ],
)
def test_the_file_is_looked_for_where_openclaw_does(environ: dict[str, str], expected: str) -> None:
    assert Path(expected) == default_file(environ)


def read(file: Path) -> dict[str, object]:
    return dict(translate(file, agent=None, environ={"HOME": "/h"}).changes)


def test_json5_is_read_as_openclaw_reads_it(tmp_path: Path) -> None:
    file = tmp_path / "openclaw.json"
    file.write_text(
        "\ufeff// comment\n{ agents: {defaults: {'memorySearch': { /* block */\n"
        "  query: {maxResults: +8, minScore: .25,}, extraPaths: ['a', \"b\",'one \\\nline'],\n"
        "  }}}}\n",
        encoding="utf-8",
    )

    assert {"max_results": 8, "extra_paths": ["a", "b", "one line"]} == read(file)


def test_a_file_that_includes_others_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "openclaw.json"
    file.write_text('{"agents": {"list": [{"$include": "a.json5"}]}}', encoding="utf-8")

    with pytest.raises(ConfigError, match="includes other files, which are not read"):
        read(file)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (
            "{\n  memory: {search: {apiKey: 'sk-live-1234'\n  provider: 'x'}}}",
            "is not JSON5 (line 3",
        ),
        ("{memory: ", "is not JSON5 (line 1"),
        ("", " is not JSON5"),
        ("[1, 2]", " does not hold a table of settings"),
        ("[" * 20_000, "nested too deeply"),
    ],
)
def test_a_malformed_file_is_reported_with_its_line_and_without_its_secrets(
    tmp_path: Path, text: str, place: str
) -> None:
    file = tmp_path / "openclaw.json"
    file.write_text(text, encoding="utf-8")

    with pytest.raises(ConfigError) as caught:
        read(file)

    assert place in caught.value.message
    assert str(file) in caught.value.message
    assert "sk-live" not in caught.value.message
    assert caught.value.__cause__ is None or "sk-live" not in str(caught.value.__cause__)


def test_a_missing_file_or_one_that_is_not_text_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        read(tmp_path / "openclaw.json")
    assert "import-openclaw FILE" in caught.value.action

    binary = tmp_path / "binary.json"
    binary.write_bytes(b"\xff\xfe{")
    with pytest.raises(ConfigError, match="not UTF-8"):
        read(binary)
