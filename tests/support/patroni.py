"""Three machines on loopback, each with etcd, Patroni and the PostgreSQL of the wheel."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
from tests.support.servers import (
    AGENT,
    DATABASE,
    SUPERUSER,
    add_role,
    free_port,
    own_folder,
    programs,
    system_user,
)
from tests.support.waiting import wait_until

from recollect.stores.postgres.schema import agent_role, migrate

if TYPE_CHECKING:
    from collections.abc import Sequence

SETTINGS = {"ttl": 20, "loop_wait": 5, "retry_timeout": 5, "synchronous_mode": True}
"""Patroni's, as the deployment guide has them: an acknowledged write is on two machines."""


class Node:
    """One machine."""

    def __init__(self, number: int) -> None:
        self.name = f"node{number}"
        self.folder = own_folder()
        self.port, self.api_port, self.etcd_port, self.peer_port = (free_port() for _ in range(4))
        self._processes: list[subprocess.Popen[bytes]] = []

    @property
    def peer(self) -> str:
        """How etcd's others reach it."""
        return f"http://127.0.0.1:{self.peer_port}"

    def start(self, nodes: Sequence[Node], *, etcd: Path, patroni: Path) -> None:
        """Start its programs."""
        own = f"http://127.0.0.1:{self.etcd_port}"
        state = "existing" if (self.folder / "etcd").exists() else "new"
        members = ",".join(f"{node.name}={node.peer}" for node in nodes)
        self._run(
            *(*_as_user(), etcd, "--name", self.name, "--data-dir", self.folder / "etcd"),
            *("--listen-client-urls", own, "--advertise-client-urls", own),
            *("--listen-peer-urls", self.peer, "--initial-advertise-peer-urls", self.peer),
            *("--initial-cluster", members, "--initial-cluster-state", state),
        )
        settings = self.folder / "patroni.json"  # JSON is YAML
        settings.write_text(json.dumps(self._settings(nodes)), encoding="utf-8")
        self._run(*_as_user("dac_read_search"), patroni, settings)

    def _settings(self, nodes: Sequence[Node]) -> dict[str, Any]:
        trusted = ["local all all trust", "host all all 127.0.0.1/32 trust"]
        return {
            "scope": "memories",
            "name": self.name,
            "restapi": {
                "listen": f"127.0.0.1:{self.api_port}",
                "connect_address": f"127.0.0.1:{self.api_port}",
            },
            "etcd3": {"hosts": [f"127.0.0.1:{node.etcd_port}" for node in nodes]},
            "bootstrap": {
                "dcs": {**SETTINGS, "postgresql": {"use_pg_rewind": True}},
                "initdb": [{"encoding": "UTF8"}, "data-checksums"],
            },
            "postgresql": {
                "listen": f"127.0.0.1:{self.port}",
                "connect_address": f"127.0.0.1:{self.port}",
                "data_dir": str(self.folder / "data"),
                "bin_dir": str(programs()),
                "pgpass": str(self.folder / "pgpass"),
                "authentication": {
                    "superuser": {"username": SUPERUSER},
                    "replication": {"username": SUPERUSER},
                    "rewind": {"username": SUPERUSER},
                },
                "pg_hba": [*trusted, "host replication all 127.0.0.1/32 trust"],
                "parameters": {
                    "unix_socket_directories": str(self.folder),
                    "shared_buffers": "64MB",
                },
            },
        }

    def _run(self, *command: object) -> None:
        with (self.folder / "log").open("ab") as log:
            self._processes.append(
                subprocess.Popen(
                    [str(part) for part in command], stdout=log, stderr=log, cwd=self.folder
                )
            )

    def kill(self) -> None:
        """End everything on it at once, as a power cut does."""
        postmaster = self.folder / "data" / "postmaster.pid"
        if self._processes and postmaster.exists():
            self._kill_server(int(postmaster.read_text("ascii").split()[0]))
        for process in self._processes:
            process.kill()
            process.wait()
        self._processes = []

    def _kill_server(self, pid: int) -> None:
        place = Path(f"/proc/{pid}")
        if not place.exists() or str(self.folder).encode() not in (place / "cmdline").read_bytes():
            return
        children = (place / "task" / place.name / "children").read_text("ascii").split()
        for each in (pid, *map(int, children)):
            if Path(f"/proc/{each}").exists():
                os.kill(each, signal.SIGKILL)
        wait_until(lambda: not place.exists())

    def close(self) -> None:
        """End it and remove its files."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def role(self) -> str:
        """Return what Patroni says it is: `leader`, `sync_standby`, `replica`, or nothing."""
        try:
            with urllib.request.urlopen(
                f"http://127.0.0.1:{self.api_port}/cluster", timeout=2
            ) as answer:
                members = json.load(answer)["members"]
        except OSError:
            return ""
        found = [member for member in members if member["name"] == self.name]
        return str(found[0]["role"]) if found and found[0]["state"] in _WORKING else ""


_WORKING = ("running", "streaming")


def _as_user(capability: str = "") -> tuple[str, ...]:
    """Return how a program is run: not by root, which PostgreSQL refuses, and only for this test.

    Args:
        capability: what it may do besides; Python may be installed where only root can read.

    """
    if not (user := system_user().get("user")):
        return ("setpriv", "--pdeathsig", "KILL")
    kept = (f"--inh-caps=+{capability}", f"--ambient-caps=+{capability}") if capability else ()
    own = (f"--reuid={user}", f"--regid={user}", "--clear-groups")
    return ("setpriv", "--pdeathsig", "KILL", *own, *kept)


class PatroniCluster:
    """Three nodes with one database that has our tables."""

    def __init__(self, *, etcd: Path, patroni: Path) -> None:
        self._programs = {"etcd": etcd, "patroni": patroni}
        self.nodes = [Node(number) for number in (1, 2, 3)]

    def start(self) -> None:
        """Start all nodes and create the tables."""
        for node in self.nodes:
            node.start(self.nodes, **self._programs)
        wait_until(self.is_complete)
        everywhere = psycopg.conninfo.make_conninfo(
            self.address(user=SUPERUSER, database="postgres")
        )
        with psycopg.connect(everywhere, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {DATABASE}".encode())
        with psycopg.connect(self.address(user=SUPERUSER), autocommit=True) as connection:
            migrate(connection)
            add_role(connection, AGENT, group=agent_role)

    def restart(self, node: Node) -> None:
        """Start a node that was killed."""
        node.start(self.nodes, **self._programs)

    def is_complete(self) -> bool:
        """Tell whether there is a leader, a replica that has everything it has, and a third."""
        return sorted(node.role() for node in self.nodes) == ["leader", "replica", "sync_standby"]

    def leader(self) -> Node:
        """Return the node that is written to."""
        return next(node for node in self.nodes if node.role() == "leader")

    def address(self, *, user: str = AGENT, database: str = DATABASE) -> str:
        """Return the address that finds the leader by itself."""
        hosts = ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)
        return f"postgresql://{user}@{hosts}/{database}?target_session_attrs=read-write"

    def close(self) -> None:
        """End all nodes and remove their files."""
        for node in self.nodes:
            node.close()
