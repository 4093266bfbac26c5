"""BERT as the shipped models have it, in plain PyTorch: read from an int8 ONNX file and back.

The tuned weights go back into the graph that they came from, with one scale per column: weights
that came from int8 move by less than half a step, and one scale per matrix would round them back.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import onnx
import torch
import torch.nn.functional as F  # noqa: N812 - as everywhere
from onnx import numpy_helper
from torch import nn

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    Arrays = Mapping[str, np.ndarray]

HIDDEN, HEADS, INNER, POSITIONS, PIECES = 384, 12, 1536, 512, 30522
_MATRICES = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "out": "attention.output.dense",
    "up": "intermediate.dense",
    "down": "output.dense",
}
"""Our names and those of the file, in the order in which it numbers its matrices."""
_NORMS = {"norm_attention": "attention.output.LayerNorm", "norm_output": "output.LayerNorm"}
_EMBEDDINGS = {
    "words.weight": "word_embeddings.weight",
    "positions.weight": "position_embeddings.weight",
    "kinds.weight": "token_type_embeddings.weight",
    "norm.weight": "LayerNorm.weight",
    "norm.bias": "LayerNorm.bias",
}
_RESULT = re.compile(r"encoder/layer\.\d+/output/LayerNorm/Add_1_output_0$")
_QUANTIZED, _NUMBERED = "_quantized", "onnx::MatMul_"
_MOST = 127


class Linear(nn.Linear):
    """A matrix that can be trained as it will be rounded: to int8, one scale per column."""

    rounds = False
    """Whether the weights are rounded; the gradient passes as if they were not."""

    def forward(self, given: torch.Tensor) -> torch.Tensor:
        """Return the product."""
        weight = self.weight
        if Linear.rounds:
            scale = weight.detach().abs().amax(dim=1, keepdim=True).clamp_min(1e-8) / _MOST
            rounded = (weight.detach() / scale).round().clamp(-_MOST, _MOST) * scale
            weight = weight + (rounded - weight).detach()
        return F.linear(given, weight, self.bias)


class Layer(nn.Module):
    """One layer of the encoder."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value, self.out = (Linear(HIDDEN, HIDDEN) for _ in range(4))
        self.up, self.down = Linear(HIDDEN, INNER), Linear(INNER, HIDDEN)
        self.norm_attention = nn.LayerNorm(HIDDEN, eps=1e-12)
        self.norm_output = nn.LayerNorm(HIDDEN, eps=1e-12)

    def forward(self, states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return the states after this layer."""
        rows, length, _ = states.shape

        def by_head(each: torch.Tensor) -> torch.Tensor:
            return each.view(rows, length, HEADS, HIDDEN // HEADS).transpose(1, 2)

        projected = (by_head(part(states)) for part in (self.query, self.key, self.value))
        seen = F.scaled_dot_product_attention(*projected, attn_mask=mask)
        seen = seen.transpose(1, 2).reshape(rows, length, HIDDEN)
        states = self.norm_attention(states + self.out(seen))
        return self.norm_output(states + self.down(F.gelu(self.up(states))))


class Bert(nn.Module):
    """The encoder."""

    def __init__(self, layers: int, pieces: int = PIECES) -> None:
        super().__init__()
        self.words = nn.Embedding(pieces, HIDDEN)
        self.positions = nn.Embedding(POSITIONS, HIDDEN)
        self.kinds = nn.Embedding(2, HIDDEN)
        self.norm = nn.LayerNorm(HIDDEN, eps=1e-12)
        self.layers = nn.ModuleList(Layer() for _ in range(layers))

    def forward(self, ids: torch.Tensor, kinds: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return the last states."""
        places = torch.arange(ids.shape[1], device=ids.device)
        states = self.norm(self.words(ids) + self.positions(places)[None] + self.kinds(kinds))
        for layer in self.layers:
            states = layer(states, mask[:, None, None, :])
        return states

    def freeze(self, layers: int) -> None:
        """Leave the embeddings and the first layers as they are."""
        for part in (self.words, self.positions, self.kinds, self.norm, *self.layers[:layers]):
            part.requires_grad_(requires_grad=False)


def arrays_of(file: Path) -> Arrays:
    """Return the arrays of an ONNX file by name, int8 ones as the floats they stand for."""
    stored = {
        each.name: numpy_helper.to_array(each) for each in onnx.load(str(file)).graph.initializer
    }
    found = {}
    for name, array in stored.items():
        base = name.removesuffix(_QUANTIZED)
        if base != name:
            zero = stored[f"{base}_zero_point"].astype(np.float32)
            found[base] = (array.astype(np.float32) - zero) * stored[f"{base}_scale"]
        elif array.dtype == np.float32 and not name.endswith("_scale"):
            found[name] = array
    return found


def numbered_matrices(names: Mapping[str, object]) -> list[str]:
    """Return the names of the encoder's matrices, layer by layer."""
    return sorted(
        (name for name in names if name.startswith(_NUMBERED)),
        key=lambda name: int(name.removeprefix(_NUMBERED)),
    )


def load(arrays: Arrays, *, prefix: str) -> Bert:
    """Return the encoder of a file."""
    matrices = numbered_matrices(arrays)
    model = Bert(len(matrices) // len(_MATRICES))
    state = {own: arrays[f"{prefix}embeddings.{name}"] for own, name in _EMBEDDINGS.items()}
    for layer in range(len(model.layers)):
        stored = f"{prefix}encoder.layer.{layer}."
        for place, (own, name) in enumerate(_MATRICES.items()):
            matrix = matrices[len(_MATRICES) * layer + place]
            state[f"layers.{layer}.{own}.weight"] = arrays[matrix].T
            state[f"layers.{layer}.{own}.bias"] = arrays[f"{stored}{name}.bias"]
        for own, name in _NORMS.items():
            for part in ("weight", "bias"):
                state[f"layers.{layer}.{own}.{part}"] = arrays[f"{stored}{name}.{part}"]
    model.load_state_dict({name: tensor_of(array) for name, array in state.items()})
    return model


def tensor_of(array: np.ndarray) -> torch.Tensor:
    """Return a tensor with its own memory."""
    return torch.tensor(np.ascontiguousarray(array))


def export(
    model: Bert, source: Path, target: Path, *, prefix: str, more: Mapping[str, nn.Linear]
) -> None:
    """Write the graph of a file with the weights of a model, as int8 with a scale per column.

    Args:
        model: the encoder.
        source: the file that it was loaded from.
        target: the file to write.
        prefix: of the names in the file.
        more: further parts, by their names in the file.

    """
    graph = onnx.load(str(source))
    stored = {each.name: each for each in graph.graph.initializer}

    def put(name: str, array: np.ndarray) -> None:
        stored[name].CopyFrom(numpy_helper.from_array(np.ascontiguousarray(array), name))

    def put_matrix(name: str, part: nn.Linear) -> None:
        weight = part.weight.detach().float().cpu().numpy().T
        scale = np.maximum(np.abs(weight).max(axis=0), 1e-8).astype(np.float32) / _MOST
        put(f"{name}{_QUANTIZED}", np.clip(np.round(weight / scale), -_MOST, _MOST).astype(np.int8))
        put(f"{name}_scale", scale)
        put(f"{name}_zero_point", np.zeros(len(scale), np.int8))

    bases = {name.removesuffix(_QUANTIZED): name for name in stored if name.endswith(_QUANTIZED)}
    matrices = numbered_matrices(bases)
    for number, layer in enumerate(model.layers):
        names = f"{prefix}encoder.layer.{number}."
        for place, (own, name) in enumerate(_MATRICES.items()):
            part = getattr(layer, own)
            put_matrix(matrices[len(_MATRICES) * number + place], part)
            put(f"{names}{name}.bias", part.bias.detach().numpy())
        for own, name in _NORMS.items():
            for kind in ("weight", "bias"):
                put(f"{names}{name}.{kind}", getattr(getattr(layer, own), kind).detach().numpy())
    for name, part in more.items():
        put_matrix(f"{name}.weight", part)
        put(f"{name}.bias", part.bias.detach().numpy())
    if len(model.layers) * len(_MATRICES) < len(matrices):
        _keep_layers(graph.graph, len(model.layers))
    onnx.save(graph, str(target))


def _keep_layers(graph: onnx.GraphProto, count: int) -> None:
    """Let the results be those of the first layers, and drop what nothing needs then."""
    results = [
        name for node in graph.node for name in node.output if _RESULT.search(name)
    ]  # one per layer
    old, new = results[-1], results[count - 1]
    needed = {each.name for each in graph.output}
    nodes = []
    for node in reversed(graph.node):
        if needed.intersection(node.output) and (old == new or old not in node.output):
            for place, name in enumerate(node.input):
                node.input[place] = new if name == old else name
            needed.update(node.input)
            nodes.append(node)
    stored = [each for each in graph.initializer if each.name in needed]
    del graph.node[:], graph.initializer[:]
    graph.node.extend(reversed(nodes))
    graph.initializer.extend(stored)
