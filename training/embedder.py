"""Tunes the embedder for notes: `python -m training.embedder BASE OUT`.

BASE is the folder of snowflake-arctic-embed-s (model.onnx, vocab.txt), OUT the ONNX file to write.
A question is compared with the notes of many questions, by the cosine of the texts and word by
word, with one bit per dimension of a note's words as the index stores them. Half-way weights are
kept: MIX of the way from the original ones, which forgets less. Needs torch, onnx and tokenizers.
"""

from __future__ import annotations

import argparse
import copy
import math
import random
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - as everywhere
from tokenizers import BertWordPieceTokenizer
from torch import nn
from training.bert import HIDDEN, arrays_of, export, load
from training.memories import best_part, informative_words, latin_part, read_all

if TYPE_CHECKING:
    from collections.abc import Sequence

    from training.memories import Memory, Question

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
QUERY_PREFIX = "Represent this sentence for searching relevant passages: "
MOST_TOKENS, MOST_WORDS = 384, 230
SEED = 3
MIX = 0.7
"""The share of the way from the original weights to the tuned ones."""
_TEXT_HEAT, _WORD_HEAT = 0.03, 0.02
_HARD = 3  # notes of the same memory that do not answer, per question
_WARM_UP = 0.1


class Embedder(nn.Module):
    """The embedder with its tokenizer."""

    def __init__(self, base: Path) -> None:
        super().__init__()
        self.encoder = load(arrays_of(base / "model.onnx"), prefix="")
        self.encoder.freeze(0)
        self._tokens = BertWordPieceTokenizer(str(base / "vocab.txt"), lowercase=True)
        self._start, self._end = (self._tokens.token_to_id(each) for each in ("[CLS]", "[SEP]"))
        self._prefix = self._ids(QUERY_PREFIX)
        self._is_telling = torch.tensor(
            [self._tells(number) for number in range(self._tokens.get_vocab_size())]
        ).to(DEVICE)
        self._known: dict[tuple[str, bool], list[int]] = {}

    def forward(
        self, texts: Sequence[str], *, is_query: bool
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return vectors, states of all tokens, and which of those are telling words."""
        rows = [self._row(text, is_query=is_query) for text in texts]
        width = max(map(len, rows))
        given = np.zeros((2, len(rows), width), np.int64)
        for place, ids in enumerate(rows):
            given[0, place, : len(ids)] = ids
            given[1, place, : len(ids)] = 1
        ids, mask = torch.from_numpy(given).to(DEVICE)
        with torch.autocast(DEVICE, dtype=torch.bfloat16):
            states = self.encoder(ids, torch.zeros_like(ids), mask.bool())
        states = F.normalize(states.float(), dim=-1)
        is_word = mask.bool().clone()
        is_word[:, : 1 + (len(self._prefix) if is_query else 0)] = False
        is_word[torch.arange(len(rows)), mask.sum(1) - 1] = False
        telling = is_word & self._is_telling[ids]
        nothing = ~telling.any(1)
        telling[nothing] = is_word[nothing]
        telling[~telling.any(1), 0] = True
        return states[:, 0], states, telling

    def vectors(self, texts: Sequence[str], *, is_query: bool, size: int = 256) -> torch.Tensor:
        """Return the vectors of many texts."""
        order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
        found = torch.zeros(len(texts), HIDDEN)
        self.eval()
        with torch.no_grad():
            for at in range(0, len(order), size):
                part = order[at : at + size]
                found[part] = self([texts[each] for each in part], is_query=is_query)[0].cpu()
        return found

    def _row(self, text: str, *, is_query: bool) -> list[int]:
        key = text, is_query
        if key not in self._known:
            lead = self._prefix if is_query else []
            self._known[key] = [self._start, *lead, *self._ids(text)[:MOST_TOKENS], self._end]
        return self._known[key]

    def _ids(self, text: str) -> list[int]:
        found: list[int] = self._tokens.encode(text, add_special_tokens=False).ids
        return found

    def _tells(self, number: int) -> bool:
        word = self._tokens.id_to_token(number).removeprefix("##")
        return bool(informative_words(word)) and not word.startswith("[")


def word_similarity(
    asked: torch.Tensor, asks: torch.Tensor, read: torch.Tensor, reads: torch.Tensor
) -> torch.Tensor:
    """Return for each question and note the mean of the best matches of the question's words."""
    codes = torch.sign(read) * math.sqrt(math.pi / (2 * HIDDEN))
    codes = read + (codes - read).detach()  # the gradient passes as if nothing were rounded
    weights = asks.float() / asks.sum(1, keepdim=True)
    rows = []
    for at in range(0, len(asked), 16):
        part = slice(at, at + 16)
        found = torch.einsum("qid,kjd->qkij", asked[part].bfloat16(), codes.bfloat16()).float()
        best = found.masked_fill(~reads[None, :, None, :], -1e4).amax(-1)
        rows.append((best * weights[part, None, :]).sum(-1))
    return torch.cat(rows)


def loss_of(scores: torch.Tensor, is_right: torch.Tensor, heat: float) -> torch.Tensor:
    """Return how unlikely the right notes are."""
    scores = scores / heat
    right = scores.masked_fill(~is_right, -1e9)
    return (torch.logsumexp(scores, 1) - torch.logsumexp(right, 1)).mean()


def note_text(memory: Memory, name: str, question: str) -> str:
    """Return a note, or of a long one the part that an index would have as one chunk."""
    return best_part(memory.notes[name], question, most_words=MOST_WORDS)


def train(
    model: Embedder, asked: list[tuple[Memory, Question]], *, epochs: int, rate: float, size: int
) -> None:
    """Compare each question with the notes of its batch and some more of its memory."""
    chance = random.Random(SEED)
    tuned = [each for each in model.parameters() if each.requires_grad]
    optimiser = torch.optim.AdamW(tuned, lr=rate, weight_decay=0.01)
    steps = epochs * (len(asked) // size)
    began = time.monotonic()
    model.train()
    step = 0
    for _ in range(epochs):
        chance.shuffle(asked)
        for start in range(0, len(asked) - size + 1, size):
            batch = asked[start : start + size]
            notes: dict[tuple[str, str], int] = {}
            texts: list[str] = []

            def placed(memory: Memory, name: str, question: str) -> int:
                key = memory.name, name
                if key not in notes:  # noqa: B023
                    notes[key] = len(texts)  # noqa: B023
                    texts.append(note_text(memory, name, question))  # noqa: B023
                return notes[key]  # noqa: B023

            right = [[placed(m, name, q.text) for name in q.notes] for m, q in batch]
            for memory, question in batch:
                for name in chance.sample(sorted(memory.notes), _HARD):
                    placed(memory, name, question.text)
            is_right = torch.zeros(size, len(texts), dtype=torch.bool)
            for row, places in enumerate(right):
                is_right[row, places] = True
            is_right = is_right.to(DEVICE)
            vectors, states, words = model([q.text for _, q in batch], is_query=True)
            read, read_states, read_words = model(texts, is_query=False)
            loss = loss_of(vectors @ read.T, is_right, _TEXT_HEAT) + loss_of(
                word_similarity(states, words, read_states, read_words), is_right, _WORD_HEAT
            )
            for each in optimiser.param_groups:
                share = step / steps
                each["lr"] = rate * min(1.0, (share + 1e-3) / _WARM_UP) * (1 - share)
            loss.backward()
            nn.utils.clip_grad_norm_(tuned, 1.0)
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
            if step % 50 == 0:
                print(
                    f"{step} of {steps}, {time.monotonic() - began:.0f} s, {loss.item():.3f}",
                    flush=True,
                )
            step += 1


def validate(model: Embedder, memories: Sequence[Memory]) -> str:
    """Return how often the right note is first and how near the top, by cosine and by words."""
    ranks: dict[str, list[int]] = {"cosine": [], "words": [], "both": []}
    model.eval()
    for memory in memories:
        names = list(memory.notes)
        asked = [question for question in memory.questions if question.notes]
        with torch.no_grad():
            read = model([note_text(memory, name, "") for name in names], is_query=False)
            for question in asked:
                vectors, states, words = model([question.text], is_query=True)
                cosine = (vectors @ read[0].T)[0]
                by_word = word_similarity(states, words, read[1], read[2])[0]
                both = standard(cosine) + 2 * standard(by_word)
                for kind, scores in (("cosine", cosine), ("words", by_word), ("both", both)):
                    order = [names[at] for at in scores.argsort(descending=True).tolist()]
                    ranks[kind].append(min(order.index(name) for name in question.notes))
    return ", ".join(
        f"{kind} first {100 * np.mean(np.array(found) == 0):.1f} %, MRR "
        f"{100 * np.mean(1 / (1 + np.array(found))):.1f}"
        for kind, found in ranks.items()
    )


def standard(scores: torch.Tensor) -> torch.Tensor:
    """Return scores with mean 0 and deviation 1."""
    return (scores - scores.mean()) / scores.std()


def mixed(original: Embedder, tuned: Embedder, share: float) -> Embedder:
    """Return weights on the way from one model to another."""
    found = copy.deepcopy(original)
    ends = tuned.state_dict()
    found.load_state_dict(
        {
            name: begin + share * (ends[name] - begin) if begin.is_floating_point() else begin
            for name, begin in original.state_dict().items()
        }
    )
    return found


def tune(base: Path, *, epochs: int, rate: float, size: int) -> Embedder:
    """Return the tuned embedder, with the mixed weights."""
    torch.manual_seed(SEED)
    memories = [part for each in read_all() if len((part := latin_part(each)).notes) > _HARD]
    held = [memory for memory in memories if memory.is_held_out]
    asked = [(m, q) for m in memories if not m.is_held_out for q in m.questions if q.notes]
    original = Embedder(base).to(DEVICE)
    print("original:", validate(original, held), flush=True)
    tuned = copy.deepcopy(original)
    train(tuned, asked, epochs=epochs, rate=rate, size=size)
    for share in (0.5, MIX, 1.0):
        print(share, validate(mixed(original, tuned, share), held), flush=True)
    return mixed(original, tuned, MIX)


def main() -> None:
    """Tune the embedder and write it."""
    parser = argparse.ArgumentParser(prog="python -m training.embedder")
    parser.add_argument("base", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--rate", type=float, default=3e-5)
    parser.add_argument("--batch", type=int, default=96)
    given = parser.parse_args()
    model = tune(given.base, epochs=given.epochs, rate=given.rate, size=given.batch).cpu()
    given.out.parent.mkdir(parents=True, exist_ok=True)
    export(model.encoder, given.base / "model.onnx", given.out, prefix="", more={})


if __name__ == "__main__":
    main()
