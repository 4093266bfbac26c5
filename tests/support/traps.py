"""Makes the traps of a hostile clone, and the harmless workspace that they are set in.

Every trap is a function of the path to put it at and of the user's home, to which links lead. Every
file of that home has a canary in it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import socket
import stat
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator

CANARY = "qzxcanary"
_NS = 10**9
_YEAR_NS = 31_556_952 * _NS


def make_user(user: Path) -> None:
    """Make a home with a canary in every file that a trap may lead to."""
    for name in (
        "diary.md",
        "preference.md",
        "settings.toml",
        "cases.jsonl",
        "deep/er/note.md",
        ".bashrc",
    ):
        file = user / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"- {CANARY} lamp {name}\n# {CANARY}\n", encoding="utf-8")
    (user / "empty").mkdir()
    (user / "facts").mkdir()
    (user / "facts/preference.md").write_text(f"- {CANARY} is dark\n", encoding="utf-8")


def make_harmless(workspace: Path) -> None:
    """Make a workspace with one of everything that is read."""
    for name, text in {
        "MEMORY.md": "# Memory\n\n- The lamp is green.\n",
        "USER.md": "- Ada likes tea.\n",
        "memory/a.md": "---\ndate: 2026-02-01\n---\n# A\n\nThe lamp is green.\n",
        "memory/2026-02-03.md": "# Day\n\nWe repaired the lamp.\n",
        "memory/facts/preference.md": "- Ada prefers dark mode\n",
        "notes/n.md": "# Note\n\nThe green lamp stands in the hall.\n",
        "docs/d.md": "# Docs\n",
        "skills/one/SKILL.md": "# Skill\n",
        "TOOLS.md": "# Tools\n",
        "recollect.toml": 'extra_paths = ["notes"]\n',
        ".recollectignore": "drafts/\n",
        "memory-cases.jsonl": '{"query": "green lamp", "expected": ["memory/a.md"]}\n',
        "facts.jsonl": '{"id": "f-0000000000001", "text": "Tea", "validFrom": "0001-01-01"}\n',
    }.items():
        file = workspace / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


PLACES = [
    "MEMORY.md", "USER.md", "memory", "memory/a.md", "memory/b.md", "memory/sub", "memory/.hidden",
    "memory/sub/c.md", "memory/facts", "memory/facts/preference.md", "memory/facts/other.md",
    "memory/facts/.lock", "memory/facts/.forgotten", "memory/facts/sub", "memory/facts/sub/x.md",
    "notes", "notes/n.md", "notes/sub", "docs", "docs/d.md", "skills", "skills/one/SKILL.md",
    "TOOLS.md", "AGENTS.md", ".recollectignore", "notes/.recollectignore", "memory-cases.jsonl",
    "c.jsonl", "facts.jsonl", ".gitattributes", ".git", ".mcp.json", ".claude",
    ".claude/settings.json", ".codex", ".codex/config.toml", ".cursor/mcp.json", ".vscode",
    ".vscode/mcp.json", "sessions", "sessions/s.jsonl", "sessions/sessions.json", ".recollect-off",
    "memory/facts/.preference.md.1-1.tmp", ".env", "recollect", "recollect.py", "click.py",
]  # fmt: skip


def links_to(target: str) -> Callable[[Path, Path], None]:
    """Return a trap that is a link; `~` is the user's home, `..` climbs out of the clone."""

    def make(file: Path, user: Path) -> None:
        named = target.replace("~", str(user))
        if named.startswith("../"):
            named = os.path.relpath(user.parent / named.removeprefix("../"), file.parent)
        file.symlink_to(named)

    make.__name__ = f"link to {target}"
    return make


def pipe(file: Path, _user: Path) -> None:
    os.mkfifo(file)


def device(file: Path, user: Path) -> None:
    try:
        os.mknod(file, stat.S_IFCHR | 0o666, os.makedev(1, 5))  # /dev/zero
    except OSError:  # not root, or not permitted
        links_to("/dev/zero")(file, user)


def unix_socket(file: Path, _user: Path) -> None:
    here = Path.cwd()
    os.chdir(file.parent)  # the name of a socket is at most a hundred bytes long
    try:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(file.name)
    finally:
        os.chdir(here)


def sparse(file: Path, _user: Path) -> None:
    with file.open("wb") as stream:
        stream.truncate(2**40)


def large(file: Path, _user: Path) -> None:
    file.write_bytes(b"- a lamp that is green and green\n" * 600_000)


def folder(file: Path, _user: Path) -> None:
    file.mkdir()
    (file / "inner.md").write_text("# Inner\n", encoding="utf-8")


def plain_file(file: Path, _user: Path) -> None:
    file.write_text("- a plain file\n", encoding="utf-8")


def chain(file: Path, user: Path) -> None:
    """Make a link to a link to the user's home."""
    middle = file.with_name(file.name + ".link")
    remove(middle)
    middle.symlink_to(user)
    file.symlink_to(middle.name)


def nested_json(file: Path, _user: Path) -> None:
    file.write_text("[" * 30_000, encoding="utf-8")


def binary(file: Path, _user: Path) -> None:
    file.write_bytes(b"\xff\xfe\x00\x01" * 100)


def wrote(text: str) -> Callable[[Path, Path], None]:
    """Return a trap that is a text; `~` in it stays."""

    def make(file: Path, user: Path) -> None:
        file.write_text(text.replace("{user}", str(user)), encoding="utf-8")

    make.__name__ = f"text {text[:40]!r}"
    return make


TRAPS: list[Callable[[Path, Path], None]] = [
    *map(links_to, [
        "~", "~/diary.md", "~/preference.md", "~/empty", "~/deep", "~/missing", "~/.bashrc", "/",
        "/etc/passwd", "/dev/zero", "/dev/stdin", "/dev/tty", "/proc/self/environ",
        "/proc/self/fd/0", "/proc/self/cwd", "/proc/self/root", "../user", "../user/diary.md",
        "../user/settings.toml", "loop", "..", ".", "~/diary.md/nothing", "~/facts",
    ]),
    pipe, device, unix_socket, sparse, large, folder, plain_file, chain, nested_json, binary,
]  # fmt: skip

SETTINGS = [
    'extra_paths = "{user}"', 'extra_paths = ["{user}/*.md"]', 'extra_paths = "~"',
    'extra_paths = ["../user"]', 'extraPaths = "{user}"', 'extra_paths = "$HOME,${HOME}"',
    'extra_paths = ["notes", "memory", "docs", "**/*.md", "*", "."]',
    'ingest.paths = ["/", "../*"]',
    'exclude = ["' + "*a" * 200 + '"]', 'extra_paths = ["' + "**/" * 500 + '*.md"]',
    "\n".join(f"setting{number} = {number}" for number in range(1_000)),
    "\n".join(f"s{number} = {number}" for number in range(10_000)),
    "x = " + "[" * 8_000, ".".join("a" * 4_000) + " = 1", "chunk.tokens = " + "9" * 4_000,
    "chunk.tokens = 1", "chunk.tokens = 100000", 'store = "ram:"', "max_results = 1_000_000",
    'extra_paths = ["[", "[!", "a[b-a]", "\\u0000"]', "extra_paths = 0001-01-01", "x = 0000-01-01",
    'index = "{user}"', 'provider = "openai"', 'remote.base_url = "http://127.0.0.1:9"',
    'sessions.paths = ["{user}"]', 'local.model_path = "{user}"', "[extra_paths]\nx = 1",
    'vector.engine = "sqlite-vec"', "\ufeffmax_results = 3", "sync.on_search = true",
]  # fmt: skip


ODD_NAMES = [
    b"\x1b]0;x\x07.md", b"a\nb.md", b"\xff\xfe.md", b"\xed\xa0\x80.md", b"n" * 252 + b".md",
    b"a\\b.md", b"-rf.md", b" .md", b"\xe2\x80\xae.md", b"CON.md", b"..md", b"\xff",
]  # fmt: skip


def odd_names(workspace: Path, choose: random.Random) -> None:
    """Add names of control characters, of no encoding, of the longest kind."""
    folder = real_folder(workspace, "memory")
    places = (folder, folder / "facts", workspace / "notes", workspace / "sessions")
    for name in ODD_NAMES:
        for place in [each for each in places if not each.is_symlink()]:
            if choose.random() < 0.6:
                odd = os.fsencode(place) + b"/" + name
                with contextlib.suppress(OSError), open(odd, "wb") as stream:  # noqa: PTH123 - bytes
                    stream.write(b"- a green lamp\n")


def odd_times(workspace: Path, choose: random.Random) -> None:
    """Give every file a time between the years 1 and 9999."""
    for file in regular_files(workspace):
        when = choose.choice([-1969, -400, -1, 0, 68, 292, 293, 400, 476, 8029]) * _YEAR_NS
        with contextlib.suppress(OSError, OverflowError):
            os.utime(file, ns=(when, when))


def odd_dates(workspace: Path, _choose: random.Random) -> None:
    """Add notes and facts that speak of days that calendars do not have."""
    folder = real_folder(workspace, "memory")
    days = [
        "0000-00-00",
        "0001-01-01",
        "9999-12-31",
        "10000-01-01",
        "2026-02-30",
        "-0001-01-01",
        "1677-09-21",
    ]
    for number, day in enumerate(days):
        text = f"---\ndate: {day}\ncreated: {day}T99:99:99+99:99\n---\nA lamp of {day}.\n"
        with contextlib.suppress(OSError):
            (folder / f"dated-{number}.md").write_text(text, encoding="utf-8")
            (folder / f"{day}.md").write_text("A green lamp.\n", encoding="utf-8")
    lines = [
        {"id": f"f-{number:013d}", "text": f"Lamp {day}", "validFrom": day, "expires": day}
        for number, day in enumerate(days)
    ]
    facts = workspace / "facts.jsonl"
    if facts.is_file() and not facts.is_symlink():  # a link may lead to a file of the system
        facts.write_text("\n".join(map(json.dumps, [lines[1], lines[2]])), encoding="utf-8")


def deep_folders(workspace: Path, _choose: random.Random) -> None:
    """Nest folders as deep as a path can be."""
    folder = real_folder(workspace, "memory")
    for name in ("", "facts"):
        with contextlib.suppress(OSError):
            at = os.open(folder / name, os.O_RDONLY)
            for _ in range(1200):
                os.mkdir("d", dir_fd=at)
                inner = os.open("d", os.O_RDONLY, dir_fd=at)
                os.close(at)
                at = inner
            os.close(os.open("x.md", os.O_WRONLY | os.O_CREAT, dir_fd=at))
            os.close(at)


def many_files(workspace: Path, _choose: random.Random) -> None:
    """Add a thousand notes and a thousand links."""
    folder = real_folder(workspace, "memory") / "many"
    with contextlib.suppress(OSError):
        folder.mkdir()
        for number in range(300):
            (folder / f"{number}.md").write_text(f"- lamp {number}\n", encoding="utf-8")
            (folder / f"l{number}.md").symlink_to(workspace.parent / "user/diary.md")
            (folder / f"f{number}").symlink_to(workspace.parent / "user")


def slow_rules(workspace: Path, _choose: random.Random) -> None:
    """Write rules and patterns that a backtracking matcher never finishes."""
    file = workspace / ".recollectignore"
    remove(file)
    file.write_text(
        "*a" * 100 + "b\n" + "**/a/" * 200 + "b\n" + "[!a]*" * 100 + "\n", encoding="utf-8"
    )
    with contextlib.suppress(OSError):
        (real_folder(workspace, "memory") / ("a" * 250 + ".md")).write_text(
            "# A\n", encoding="utf-8"
        )


DECORATIONS = [odd_names, odd_times, odd_dates, deep_folders, many_files, slow_rules]


def real_folder(workspace: Path, name: str) -> Path:
    """Return a folder of the clone, or one that nobody reads if a trap is there."""
    folder = workspace / name
    if folder.is_symlink() or not folder.is_dir():
        folder = workspace / f"{name}-unused"
        folder.mkdir(exist_ok=True)
    return folder


def remove(file: Path) -> None:
    """Remove whatever is at a path."""
    if file.is_dir() and not file.is_symlink():
        subprocess.run(["rm", "-rf", "--", file], check=True)
    elif os.path.lexists(file):
        file.unlink()


def entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    """Yield everything below a folder without following a link; `os.walk` fails on deep ones."""
    folders = [str(folder)]
    while folders:
        with contextlib.suppress(OSError), os.scandir(folders.pop()) as found:
            for entry in found:
                yield entry
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)


def regular_files(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder without following a link."""
    return (Path(each.path) for each in entries(folder) if each.is_file(follow_symlinks=False))


def snapshot(folder: Path) -> dict[str, tuple[object, ...]]:
    """Return what is below a folder: names, times and contents."""
    found: dict[str, tuple[object, ...]] = {}
    for entry in entries(folder):
        status = entry.stat(follow_symlinks=False)
        content = Path(entry.path).read_bytes() if stat.S_ISREG(status.st_mode) else b""
        digest = hashlib.sha256(content).hexdigest()
        found[entry.path] = (status.st_mode, status.st_mtime_ns, digest)
    return found
