"""Lists every place where text leaves the program: to a terminal, a model, a page or the network.

A new one fails here until it goes through the function that makes its text safe, and is listed.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import recollect

PACKAGE = Path(recollect.__file__).parent
WEB = PACKAGE / "shells" / "web"
PLUGIN = PACKAGE.parent.parent / "integrations" / "openclaw"

TERMINAL = {
    # The functions that all commands print with, behind the streams that `main` replaces.
    "shells/cli/output.py: click.confirm": 1,
    "shells/cli/output.py: click.echo": 3,
    "shells/cli/output.py: rich.Console": 1,
    "shells/cli/output.py: sys.stderr": 3,
    "shells/cli/output.py: sys.stdout": 3,
    # Through the guarded streams: the parser's own errors.
    "shells/cli/__init__.py: error.show": 1,
    # No texts: the version, whether it is a terminal, a flush, the address that is served.
    "__main__.py: sys.stderr": 1,  # flushed
    "__main__.py: sys.stdout": 2,
    "shells/cli/__init__.py: sys.stdout": 1,
    "shells/cli/consent.py: sys.stderr": 1,
    "shells/cli/shared.py: sys.stderr": 2,
    # The protocol's own pipe: JSON, whose texts are neutralised where results are made.
}
"""What writes to a terminal or a pipe."""
PROMPTS = {
    "browse/recall.py: fenced": 1,
    "shells/cli/hook.py: fenced": 1,
    "shells/mcp/render.py: fenced": 2,
}
"""What puts remembered text into a block for a model."""
NETWORK = {
    "shells/http/errors.py: super().__init__": 1,  # JsonResponse
    "shells/http/oauth.py: HTMLResponse": 2,  # the page of a sign-in: nothing remembered, escaped
    "shells/http/search.py: Response": 1,  # a picture, by its first bytes
    "shells/http/status.py: Response": 2,  # metrics: numbers; files of the page
    "shells/mcp/server.py: MCPError": 1,
    "shells/mcp/server.py: CallToolResult": 1,  # of a ToolResult
}
"""What answers a request."""
PAGE = {
    "dom.js: createElement": 2,
    "dom.js: setAttribute": 2,
    "dom.js: textContent": 1,
    "text.js: createElement": 3,
    "text.js: createTextNode": 2,
    "text.js: textContent": 3,
    # Fixed words, numbers, and `plain`.
    "health.js: textContent": 1,
    "hits.js: setAttribute": 1,
    "main.js: setAttribute": 2,
    "main.js: textContent": 1,
    "map.js: setAttribute": 2,
    "map.js: textContent": 2,
    "search.js: setAttribute": 1,
}
"""What becomes part of the page."""
_WRITERS = {"print", "confirm", "prompt", "secho", "echo", "echo_via_pager", "edit"}


def name_of(node: ast.AST) -> str:
    return ast.unparse(node) if isinstance(node, (ast.Attribute, ast.Name, ast.Call)) else ""


def terminal_sink(node: ast.AST) -> str | None:
    if isinstance(node, ast.Attribute):
        name = ast.unparse(node)
        if re.fullmatch(r"sys\.(__)?std(out|err)(__)?", name):
            return name
    if isinstance(node, ast.Call):
        name = name_of(node.func)
        first, _, last = name.rpartition(".")
        is_click = first == "click" and last in _WRITERS
        if name in {"print", "input", "os.write", "warnings.warn"} or is_click:
            return name
        if last in {"Console", "rprint"}:
            return f"rich.{last}"
        if name == "error.show" or last in {"print_exc", "print_exception"}:
            return name
    return None


def found(sink_of: object, folder: Path = PACKAGE) -> Counter[str]:
    counted: Counter[str] = Counter()
    for file in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            sink = sink_of(node)  # type: ignore[operator]  # a function
            if sink:
                counted[f"{file.relative_to(folder).as_posix()}: {sink}"] += 1
    return counted


def test_every_way_to_a_terminal_is_listed() -> None:
    shown = {name: count for name, count in found(terminal_sink).items() if ".print" not in name}

    assert TERMINAL == shown


def test_every_block_for_a_model_is_made_by_one_function() -> None:
    def sink(node: ast.AST) -> str | None:
        is_fence = isinstance(node, ast.Call) and name_of(node.func) == "fenced"
        return "fenced" if is_fence else None

    assert PROMPTS == found(sink)
    tags = [
        file.relative_to(PACKAGE).as_posix()
        for file in PACKAGE.rglob("*.py")
        if re.search(r"OWN_BLOCK\b|</?recollect-memory", file.read_text(encoding="utf-8"))
    ]
    assert ["sessions/clean.py", "text/safe.py"] == sorted(tags)


def test_every_answer_to_a_request_is_listed() -> None:
    def sink(node: ast.AST) -> str | None:
        if not isinstance(node, ast.Call):
            return None
        last = name_of(node.func).rpartition(".")[2]
        if name_of(node.func) == "super().__init__" and "terminal_json" in ast.unparse(node):
            return "super().__init__"
        kinds = {"Response", "PlainTextResponse", "HTMLResponse", "StreamingResponse", "MCPError"}
        return last if last in kinds | {"CallToolResult"} else None

    assert NETWORK == found(sink)


def test_every_way_into_the_page_is_listed() -> None:
    words = "createElement(?:NS)?|createTextNode|setAttribute|textContent = "
    counted: Counter[str] = Counter()
    for file in sorted(WEB.glob("*.js")):
        for each in re.findall(rf"\.({words})", file.read_text(encoding="utf-8")):
            counted[f"{file.name}: {each.removesuffix(' = ').removesuffix('NS')}"] += 1

    assert PAGE == counted


def test_the_plugin_prints_through_one_function() -> None:
    written = [
        file.name
        for file in sorted(PLUGIN.glob("*.js"))
        if re.search(r"(?:stdout|stderr|stream)\.write|console\.", file.read_text(encoding="utf-8"))
    ]

    assert ["terminal.js"] == written
