"""The programs by name, imported only in the process that measures them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.peers.programs.base import Place, Program

PROGRAMS = {
    "recollect": "recollect:Recollect",
    "openclaw": "openclaw:OpenClaw",
    "openclaw-without-decay": "openclaw:OpenClawWithoutDecay",
    "memsearch": "memsearch_program:MemSearch",
    "qmd": "qmd:Qmd",
    "basic-memory": "basic_memory_program:BasicMemory",
    "mem0": "mem0_program:Mem0",
    "agentcairn": "agentcairn_program:AgentCairn",
}
WITHOUT_VECTORS = ("qmd",)
"""Programs that cannot take vectors from a server."""
NOTES = {
    "recollect": "embeds by itself; the CPU of a search is without embedding the question",
    "openclaw": "hybrid; minimum score 0; a note with a date in its name loses half of its score in"
    " 30 days, which no setting changes",
    "openclaw-without-decay": "the same with the decay switched off inside the running program",
    "memsearch": "hybrid",
    "qmd": "keywords only, `qmd search`: its vectors need 2 GB of models",
    "basic-memory": "hybrid; minimum similarity 0",
    "mem0": "`infer=False`, so no language model is asked: a file is one memory; minimum score 0",
    "agentcairn": "hybrid, without its reranker, whose model comes from a hub",
}


def environment_of(name: str) -> str:
    """Return the folder of a program's environment, below that of all peers."""
    return name.removesuffix("-without-decay")


def open_program(name: str, place: Place) -> Program:
    """Return a program, not opened."""
    module, _, kind = PROGRAMS[name].partition(":")
    made: Program = getattr(import_module(f"bench.peers.programs.{module}"), kind)(place)
    return made
