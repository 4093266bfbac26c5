"""Trains the reader, a cross-encoder: does this passage answer this question?

usage: python -m training.reader BASE OUT [options]; --help lists them

BASE is the folder of ms-marco-MiniLM-L-12-v2 (model.onnx and vocab.txt; README.md says where to
get it). For each question its note is compared with others of the same memory (listwise), and every
pair is judged yes or no: `near` notes of absent questions, notes of other memories and questions
about somebody else are no. Then a smaller reader with some of the layers learns from the same
questions and from the first one's logits for many more pairs, its weights rounded as in the file.
OUT is a folder: teacher.onnx and model.onnx. Needs torch, onnx and tokenizers.
"""

from __future__ import annotations

import argparse
import copy
import random
import re
import time
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - as everywhere
from tokenizers import BertWordPieceTokenizer
from torch import nn
from training.bert import HIDDEN, Linear, arrays_of, export, load, tensor_of
from training.memories import best_part, latin_part, read_all

if TYPE_CHECKING:
    from collections.abc import Sequence

    from training.memories import Memory, Question

    Pair = tuple[str, str]
    """A question and a passage."""

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
PREFIX = "bert."
MOST_QUESTION_TOKENS, MOST_PASSAGE_TOKENS = 64, 140
SEED = 5
KEPT = (0, 1, 3, 4, 6, 7, 9, 11)
"""Layers of the smaller reader."""
_WARM_UP = 0.06  # share of the steps in which the rate rises
_HARD = 8  # rivals with the most words of the question, from which hard ones are drawn
_HARD_EACH = 3
_VALIDATED = 500  # questions of held-out memories
_SCORED = 10  # notes per question that the teacher scores for the smaller reader
_SWAPPED = 0.25  # share of questions that are also asked about somebody else
_FOREIGN = 0.5  # share of groups with notes of another memory
_NAME = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]{2,}\b")


class Reader(nn.Module):
    """The cross-encoder."""

    def __init__(self, base: Path) -> None:
        super().__init__()
        arrays = arrays_of(base / "model.onnx")
        self.encoder = load(arrays, prefix=PREFIX)
        self.pooler, self.judge = Linear(HIDDEN, HIDDEN), Linear(HIDDEN, 1)
        for name, part in self.head.items():
            part.weight.data = tensor_of(arrays[f"{name}.weight"].T)
            part.bias.data = tensor_of(arrays[f"{name}.bias"])
        self._tokens = BertWordPieceTokenizer(str(base / "vocab.txt"), lowercase=True)
        self._known: dict[str, list[int]] = {}

    @property
    def head(self) -> dict[str, nn.Linear]:
        """Return the parts behind the encoder, by their names in the file."""
        return {"bert.pooler.dense": self.pooler, "classifier": self.judge}

    def with_layers(self, kept: Sequence[int]) -> Reader:
        """Return a copy with some of the layers."""
        smaller = copy.deepcopy(self)
        smaller.encoder.layers = nn.ModuleList(smaller.encoder.layers[each] for each in kept)
        return smaller

    def forward(self, pairs: Sequence[Pair]) -> torch.Tensor:
        """Return one logit per pair."""
        rows = [self._ids(*pair) for pair in pairs]
        width = max(len(ids) for ids, _ in rows)
        given = np.zeros((3, len(rows), width), np.int64)
        for place, (ids, second_from) in enumerate(rows):
            given[0, place, : len(ids)] = ids
            given[1, place, second_from : len(ids)] = 1
            given[2, place, : len(ids)] = 1
        ids, kinds, mask = torch.from_numpy(given).to(DEVICE)
        with torch.autocast(DEVICE, dtype=torch.bfloat16):
            states = self.encoder(ids, kinds, mask.bool())[:, 0]
            found = self.judge(torch.tanh(self.pooler(states)))
        return found.float()[:, 0]

    def length(self, pair: Pair) -> int:
        """Return how many tokens a pair has."""
        return len(self._ids(*pair)[0])

    def _ids(self, question: str, passage: str) -> tuple[list[int], int]:
        """Return the tokens of a pair, and where those of the passage begin."""
        start, end = self._tokens.token_to_id("[CLS]"), self._tokens.token_to_id("[SEP]")
        asked = self._encoded(question)[:MOST_QUESTION_TOKENS]
        read = self._encoded(passage)[:MOST_PASSAGE_TOKENS]
        return [start, *asked, end, *read, end], len(asked) + 2

    def _encoded(self, text: str) -> list[int]:
        if text not in self._known:
            self._known[text] = self._tokens.encode(text, add_special_tokens=False).ids
        return self._known[text]


@dataclass(frozen=True)
class Group:
    """Passages of one question; the first answers it, or none does."""

    is_answered: bool
    pairs: tuple[Pair, ...]
    logits: tuple[float, ...] = ()
    """What another reader says of them."""


class Groups:
    """Draws groups from memories."""

    def __init__(self, memories: Sequence[Memory], chance: random.Random) -> None:
        self._memories, self._chance = memories, chance
        self._rivals = {
            (memory.name, question): memory.rivals(question)
            for memory in memories
            for question in memory.questions
        }
        self._names = {memory.name: names_in(memory) for memory in memories}

    def draw(self, negatives: int) -> list[Group]:
        """Return a group for each question, and some for others made of them."""
        found = []
        for memory in self._memories:
            for question in memory.questions:
                found.append(self._group(memory, question, negatives))
                if question.notes and self._chance.random() < _SWAPPED:
                    found += self._about_another(memory, question)
        return [group for group in found if group.pairs]

    def many(self, count: int) -> list[list[Pair]]:
        """Return for each question pairs with many notes, not judged."""
        found = []
        for memory in self._memories:
            for question in memory.questions:
                rivals = self._rivals[memory.name, question]
                hard = rivals[: count // 2]
                rest = rivals[count // 2 :]
                names = [*question.notes[:2], *question.near[:2], *hard]
                names += self._chance.sample(rest, min(count - len(hard), len(rest)))
                found.append([pair_of(memory, question.text, name) for name in names])
        return found

    def _group(self, memory: Memory, question: Question, negatives: int) -> Group:
        chance = self._chance
        rivals = [n for n in self._rivals[memory.name, question] if n not in question.near]
        hard = chance.sample(rivals[:_HARD], min(_HARD_EACH, len(rivals[:_HARD])))
        others = [n for n in chance.sample(rivals, min(negatives, len(rivals))) if n not in hard]
        wrong = [*hard, *others][:negatives]
        if question.notes:
            names = [chance.choice(question.notes), *wrong]
        else:
            names = [*question.near[:2], *wrong[:2]]
        pairs = [pair_of(memory, question.text, name) for name in names]
        if chance.random() < _FOREIGN:
            other = chance.choice(self._memories)
            if other is not memory:
                foreign = other.rivals(question)[:3]
                pairs.append(pair_of(other, question.text, chance.choice(foreign)))
        return Group(bool(question.notes), tuple(pairs))

    def _about_another(self, memory: Memory, question: Question) -> list[Group]:
        """Return the question about another person of the memory, whom its notes do not name."""
        names = self._names[memory.name]
        asked = [name for name in names if re.search(rf"\b{name}\b", question.text)]
        text = "\n".join(memory.notes[name] for name in question.notes)
        others = [name for name in names if name not in text]
        if not asked or not others:
            return []
        swapped = re.sub(rf"\b{asked[0]}\b", self._chance.choice(others), question.text)
        return [Group(False, tuple(pair_of(memory, swapped, n) for n in question.notes[:2]))]


def names_in(memory: Memory) -> list[str]:
    """Return the words that are capitalised within sentences, in more than one note."""
    counts: Counter[str] = Counter()
    for text in memory.notes.values():
        counts.update(set(_NAME.findall(text)))
    small = {word for text in memory.notes.values() for word in re.findall(r"\b[a-z]+\b", text)}
    return [name for name, count in counts.items() if count > 1 and name.lower() not in small]


@cache
def _part(text: str, question: str) -> str:
    return best_part(text, question)


def pair_of(memory: Memory, question: str, name: str) -> Pair:
    """Return a question with the part of a note that may answer it."""
    return question, _part(memory.notes[name], question)


def loss_of(logits: torch.Tensor, groups: Sequence[Group]) -> torch.Tensor:
    """Return the loss of the pairs of some groups: yes or no, and the first above the others."""
    wanted = torch.zeros(len(logits), device=logits.device)
    listwise = []
    at = 0
    for group in groups:
        if group.is_answered:
            wanted[at] = 1
            listwise.append(-F.log_softmax(logits[at : at + len(group.pairs)], 0)[0])
        at += len(group.pairs)
    loss = F.binary_cross_entropy_with_logits(logits, wanted, weight=1 + wanted)
    return loss + torch.stack(listwise).mean() if listwise else loss


def taught_loss_of(logits: torch.Tensor, groups: Sequence[Group]) -> torch.Tensor:
    """Return how far the logits are from those of another reader, each and within a group."""
    taught = torch.tensor([x for group in groups for x in group.logits], device=logits.device)
    loss = F.mse_loss(logits, taught) * 0.2
    at = 0
    listwise = []
    for group in groups:
        part = slice(at, at + len(group.pairs))
        listwise.append(
            F.kl_div(F.log_softmax(logits[part], 0), F.softmax(taught[part], 0), reduction="sum")
        )
        at += len(group.pairs)
    return loss + torch.stack(listwise).mean()


def train(
    model: Reader, epochs: Sequence[list[Group]], *, rate: float, size: int, rounds_from: float
) -> None:
    """Read the groups; those of like length share a batch, so that little is padding."""
    batches = []
    for number, groups in enumerate(epochs):
        groups.sort(key=lambda group: max(map(model.length, group.pairs)))
        own = [groups[at : at + size] for at in range(0, len(groups), size)]
        random.Random(SEED + number).shuffle(own)
        batches += own
    tuned = [each for each in model.parameters() if each.requires_grad]
    optimiser = torch.optim.AdamW(tuned, lr=rate, weight_decay=0.01)
    began = time.monotonic()
    model.train()
    for step, batch in enumerate(batches):
        share = step / len(batches)
        Linear.rounds = share >= rounds_from
        for each in optimiser.param_groups:
            each["lr"] = rate * min(1.0, (share + 1e-3) / _WARM_UP) * (1 - share)
        logits = model([pair for group in batch for pair in group.pairs])
        is_taught = bool(batch[0].logits)
        loss = (taught_loss_of if is_taught else loss_of)(logits, batch)
        loss.backward()
        nn.utils.clip_grad_norm_(tuned, 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        if step % 100 == 0:
            print(
                f"{step} of {len(batches)}, {time.monotonic() - began:.0f} s, {loss.item():.3f}",
                flush=True,
            )
    Linear.rounds = False


def scored(model: Reader, pairs: list[list[Pair]]) -> list[Group]:
    """Return the pairs with the model's logits."""
    flat = [(at, number, pair) for at, row in enumerate(pairs) for number, pair in enumerate(row)]
    flat.sort(key=lambda each: model.length(each[2]))
    found = [[0.0] * len(row) for row in pairs]
    model.eval()
    with torch.no_grad():
        for start in range(0, len(flat), 1024):
            part = flat[start : start + 1024]
            for (at, number, _), logit in zip(
                part, model([p for *_, p in part]).tolist(), strict=True
            ):
                found[at][number] = logit
    return [
        Group(False, tuple(row), tuple(logits))
        for row, logits in zip(pairs, found, strict=True)
        if row
    ]


def validate(model: Reader, memories: Sequence[Memory]) -> str:
    """Return how often the right note is first of seven, and the AUROC of answered questions."""
    asked = [(memory, question) for memory in memories for question in memory.questions]
    first: list[bool] = []
    best: dict[bool, list[float]] = {True: [], False: []}
    model.eval()
    for memory, question in random.Random(SEED).sample(asked, min(_VALIDATED, len(asked))):
        wrong = dict.fromkeys([*question.near, *memory.rivals(question)])
        names = [*question.notes[:1], *wrong][:7]
        with torch.no_grad():
            logits = model([pair_of(memory, question.text, name) for name in names])
        best[bool(question.notes)].append(float(logits.max()))
        if question.notes:
            first.append(int(logits.argmax()) == 0)
    pairs = [(yes > no) + 0.5 * (yes == no) for yes in best[True] for no in best[False]]
    return f"right first {100 * np.mean(first):.1f} %, AUROC {np.mean(pairs):.3f}"


def main() -> None:
    """Train on the memories in Latin script that are not held out, and write both models."""
    parser = argparse.ArgumentParser(prog="python -m training.reader")
    parser.add_argument("base", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--rate", type=float, default=4e-5)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--taught-epochs", type=int, default=4)
    parser.add_argument("--negatives", type=int, default=7)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--questions", type=int, help="for a trial")
    given = parser.parse_args()
    torch.manual_seed(SEED)
    chance = random.Random(SEED)
    memories = [part for each in read_all() if len((part := latin_part(each)).notes) > _HARD]
    if given.questions:
        memories = memories[:: max(1, 12_000 // given.questions)]
    held = [memory for memory in memories if memory.is_held_out]
    tuned = [memory for memory in memories if not memory.is_held_out]
    groups = Groups(tuned, chance)
    model = Reader(given.base).to(DEVICE)
    print("before:", validate(model, held), flush=True)
    epochs = [groups.draw(given.negatives) for _ in range(given.epochs)]
    train(model, epochs, rate=given.rate, size=given.batch, rounds_from=0.75)
    print("teacher:", validate(model, held), flush=True)
    given.out.mkdir(parents=True, exist_ok=True)
    source = given.base / "model.onnx"
    write(model, source, given.out / "teacher.onnx")
    smaller = model.with_layers(KEPT)
    print("with fewer layers, untrained:", validate(smaller, held), flush=True)
    judged = [[list(group.pairs) for group in epoch] for epoch in epochs]
    drawn = [
        scored(model, [*groups.many(_SCORED), *judged[number % len(judged)]])
        for number in range((given.taught_epochs + 1) // 2)
    ]
    rows = [list(each) for each in drawn for _ in range(2)][: given.taught_epochs]
    train(smaller, rows, rate=given.rate * 1.5, size=given.batch, rounds_from=0.75)
    print("taught:", validate(smaller, held), flush=True)
    write(smaller, source, given.out / "model.onnx")


def write(model: Reader, source: Path, target: Path) -> None:
    """Write a model as ONNX."""
    model = copy.deepcopy(model).cpu()
    export(model.encoder, source, target, prefix=PREFIX, more=model.head)


if __name__ == "__main__":
    main()
