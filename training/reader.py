"""Trains the reader, a cross-encoder: does this passage answer this question?

usage: python -m training.reader BASE OUT [options]; --help lists them

BASE is the folder of ms-marco-MiniLM-L-12-v2 (model.onnx and vocab.txt; `recollect config path`
shows where models are), OUT the ONNX file to write. For each question its note is compared with
others of the same memory (listwise), and every pair is judged yes or no, the `near` notes of absent
questions with no. Needs torch, onnx and tokenizers.
"""

from __future__ import annotations

import argparse
import random
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - as everywhere
from tokenizers import BertWordPieceTokenizer
from torch import nn
from training.bert import HIDDEN, arrays_of, export, load, tensor_of
from training.memories import ENGLISH, best_part, read_all

if TYPE_CHECKING:
    from collections.abc import Sequence

    from training.memories import Memory, Question

    Pair = tuple[str, str]
    """A question and a passage."""

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
PREFIX = "bert."
MOST_QUESTION_TOKENS, MOST_PASSAGE_TOKENS = 64, 190
SEED = 5
_WARM_UP = 0.06  # share of the steps in which the rate rises
_HARD = 6  # rivals with the most words of the question, of which two are read
_VALIDATED = 400  # questions of held-out memories


class Reader(nn.Module):
    """The cross-encoder."""

    def __init__(self, base: Path) -> None:
        super().__init__()
        arrays = arrays_of(base / "model.onnx")
        self.encoder = load(arrays, prefix=PREFIX)
        self.pooler, self.judge = nn.Linear(HIDDEN, HIDDEN), nn.Linear(HIDDEN, 1)
        for name, part in self.head.items():
            part.weight.data = tensor_of(arrays[f"{name}.weight"].T)
            part.bias.data = tensor_of(arrays[f"{name}.bias"])
        self._tokens = BertWordPieceTokenizer(str(base / "vocab.txt"), lowercase=True)
        self._known: dict[str, list[int]] = {}

    @property
    def head(self) -> dict[str, nn.Linear]:
        """Return the parts behind the encoder, by their names in the file."""
        return {"bert.pooler.dense": self.pooler, "classifier": self.judge}

    def forward(self, pairs: Sequence[Pair]) -> torch.Tensor:
        """Return one logit per pair."""
        rows = [self._ids(*pair) for pair in pairs]
        width = max(len(ids) for ids, _ in rows)
        given = torch.zeros(3, len(rows), width, dtype=torch.long)
        for place, (ids, second_from) in enumerate(rows):
            given[0, place, : len(ids)] = torch.tensor(ids)
            given[1, place, second_from : len(ids)] = 1
            given[2, place, : len(ids)] = 1
        ids, kinds, mask = given.to(DEVICE)
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


def group_of(
    memory: Memory, question: Question, *, negatives: int, chance: random.Random
) -> list[Pair]:
    """Return the pairs of a question: the note that answers first, if one does."""
    rivals = [name for name in memory.rivals(question) if name not in question.near]
    hard = chance.sample(rivals[:_HARD], min(2, len(rivals[:_HARD])))
    others = [n for n in chance.sample(rivals, min(negatives, len(rivals))) if n not in hard]
    wrong = [*hard, *others][:negatives]
    if question.notes:
        names = [chance.choice(question.notes), *wrong]
    else:
        names = [*question.near[:2], *wrong[:1]]
    return [(question.text, best_part(memory.notes[name], question.text)) for name in names]


def loss_of(logits: torch.Tensor, groups: Sequence[tuple[bool, int]]) -> torch.Tensor:
    """Return the loss of the pairs of some questions: whether each is answered, and its pairs."""
    wanted = torch.zeros(len(logits), device=logits.device)
    listwise = []
    at = 0
    for is_answered, size in groups:
        if is_answered:
            wanted[at] = 1
            listwise.append(-F.log_softmax(logits[at : at + size], 0)[0])
        at += size
    judged = F.binary_cross_entropy_with_logits(logits, wanted, weight=1 + wanted)
    return judged + torch.stack(listwise).mean() if listwise else judged


def train(model: Reader, rows: list[tuple[bool, list[Pair]]], *, rate: float, size: int) -> None:
    """Read every question once; those of like length share a batch, so that little is padding."""
    rows.sort(key=lambda row: max(map(model.length, row[1])))
    batches = [rows[at : at + size] for at in range(0, len(rows), size)]
    random.Random(SEED).shuffle(batches)
    tuned = [each for each in model.parameters() if each.requires_grad]
    optimiser = torch.optim.AdamW(tuned, lr=rate, weight_decay=0.01)
    began = time.monotonic()
    model.train()
    for step, batch in enumerate(batches):
        share = step / len(batches)
        for each in optimiser.param_groups:
            each["lr"] = rate * min(1.0, (share + 1e-3) / _WARM_UP) * (1 - share)
        logits = model([pair for _, pairs in batch for pair in pairs])
        loss = loss_of(logits, [(is_answered, len(pairs)) for is_answered, pairs in batch])
        loss.backward()
        nn.utils.clip_grad_norm_(tuned, 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        if step % 25 == 0:
            print(f"{step} of {len(batches)}, {time.monotonic() - began:.0f} s, {loss.item():.2f}")


def validate(model: Reader, memories: Sequence[Memory]) -> str:
    """Return how often the right note is first of seven, and the AUROC of answered questions."""
    asked = [(memory, question) for memory in memories for question in memory.questions]
    first: list[bool] = []
    best: dict[bool, list[float]] = {True: [], False: []}
    model.eval()
    for memory, question in random.Random(SEED).sample(asked, min(_VALIDATED, len(asked))):
        wrong = dict.fromkeys([*question.near, *memory.rivals(question)])
        names = [*question.notes[:1], *wrong][:7]
        parts = [best_part(memory.notes[name], question.text) for name in names]
        with torch.no_grad():
            logits = model([(question.text, part) for part in parts])
        best[bool(question.notes)].append(float(logits.max()))
        if question.notes:
            first.append(int(logits.argmax()) == 0)
    pairs = [(yes > no) + 0.5 * (yes == no) for yes in best[True] for no in best[False]]
    return f"right first {100 * np.mean(first):.1f} %, AUROC {np.mean(pairs):.3f}"


def main() -> None:
    """Train on the memories in English that are not held out, and write the model."""
    parser = argparse.ArgumentParser(prog="python -m training.reader")
    parser.add_argument("base", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--questions", type=int)
    parser.add_argument("--rate", type=float, default=4e-5)
    parser.add_argument("--negatives", type=int, default=2)
    parser.add_argument("--frozen", type=int, default=4)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--threads", type=int)
    given = parser.parse_args()
    if given.threads:
        torch.set_num_threads(given.threads)
    torch.manual_seed(SEED)
    chance = random.Random(SEED)
    memories = [memory for memory in read_all() if memory.name[0] in ENGLISH]
    held = [memory for memory in memories if memory.is_held_out]
    asked = [(m, q) for m in memories if m not in held for q in m.questions if q.notes or q.near]
    chance.shuffle(asked)
    rows = [
        (bool(q.notes), group_of(m, q, negatives=given.negatives, chance=chance))
        for m, q in asked[: given.questions]
    ]
    model = Reader(given.base).to(DEVICE)
    model.encoder.freeze(given.frozen)
    print("before:", validate(model, held))
    train(model, rows, rate=given.rate, size=given.batch)
    print("after:", validate(model, held))
    model = model.cpu()
    export(model.encoder, given.base / "model.onnx", given.out, prefix=PREFIX, more=model.head)


if __name__ == "__main__":
    main()
