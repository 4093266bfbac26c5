"""Draws the plots of bench/README.md; needs matplotlib, which `make bench` installs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib as mpl
from bench.speed.asks import ASKS
from bench.speed.report import BEFORE, NAMES, OWN, PARTS, Results, ask_of
from matplotlib import pyplot as plt

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

mpl.use("svg")
mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "recollect", "font.size": 9})
_SIZE = (6.4, 3.6)


def draw(results: Results, folder: Path) -> None:
    """Write every plot as an SVG."""
    for name, plot in (("legs", _legs), ("filters", _filters), ("peers", _peers)):
        figure, axes = plt.subplots(figsize=_SIZE, layout="constrained")
        plot(axes, results)
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
        plt.close(figure)


def _legs(axes: Axes, results: Results) -> None:
    for part, title in PARTS.items():
        points = []
        for chunks in results.sizes:
            parts = ((results.get(OWN, chunks) or {}).get("warm") or {}).get("parts") or {}
            if part in parts:
                points.append((chunks, parts[part]["cpu"]))
        if points:
            axes.plot(*zip(*points, strict=True), marker="o", label=title)
    bytes_per_ms = results.machine["read_gb_s"] * 1e6
    limits = [chunks * 384 / 8 / bytes_per_ms for chunks in results.sizes]
    axes.plot(results.sizes, limits, linestyle=":", color="grey", label="reading the codes once")
    _logarithmic(axes)


def _filters(axes: Axes, results: Results) -> None:
    names = [ask.name for ask in ASKS if ask.is_filtered]
    for chunks in results.sizes:
        run = results.get(OWN, chunks)
        plain = ask_of(run, "hybrid")
        if plain is None:
            continue
        costs = [(ask_of(run, name) or {}).get("cpu", 0) / plain["cpu"] for name in names]
        axes.plot(costs, range(len(names)), marker="o", linestyle="", label=f"{chunks:,}")
    axes.axvline(1, color="grey", linewidth=0.8)
    axes.axvline(2, color="grey", linewidth=0.8, linestyle=":")
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xlabel("CPU time, as a multiple of the search without a filter")
    axes.legend(title="chunks")


def _peers(axes: Axes, results: Results) -> None:
    for engine, title in NAMES.items():
        points = []
        for chunks in results.sizes:
            run = results.get(engine, chunks)
            asked = ask_of(run, "hybrid") or ask_of(run, "vector") or ask_of(run, "keyword")
            if asked is not None:
                points.append((chunks, asked["cpu"]))
        if points:
            style = "-" if engine in (OWN, BEFORE) else "--"
            axes.plot(*zip(*points, strict=True), style, marker="o", label=title)
    _logarithmic(axes)


def _logarithmic(axes: Axes) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("chunks")
    axes.set_ylabel("CPU ms")
    axes.grid(visible=True, which="major", linewidth=0.3)
    axes.legend(fontsize=8)
