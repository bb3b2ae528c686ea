"""What the small attention nets learn: tasks whose rule is known, made up batch by batch without end.

A sequence is T tokens, a token is one or two symbols of the task's vocabulary (key-value recall puts a key and its
value into one token). Batches come in blocks of BLOCK steps from a seed and the block's number alone, so any step can
be drawn again without the ones before it; nothing is ever shown twice on purpose, and accuracy on the next batch is
accuracy on new examples.
"""
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Generator, Tensor

BLOCK = 16
"""Steps whose batches are drawn together."""

NOTHING = -1
"""The second symbol of a token that has only one."""

_LETTERS = tuple("ABCDEFGHIJKLMNOP")


@dataclass(frozen=True)
class Task:
    """One task, and the net that suits it.

    key: its name in settings and links. vocabulary: the symbols, tuple of str. T: tokens a sequence.
    answers: how many of the last tokens are asked for an answer: T (every one) or 1 (the last alone).
    chance: float, the accuracy of guessing. width: C, channels of the net. layers: attention layers it needs.
    causal: True where a token may only see itself and those before it.
    lr: float, a rate for Adam that works. draw: (Generator, n) -> tokens (n, T, 1 or 2), answers (n, answers).
    subject: the places of the tokens that hold the answer, where they are the same in every example; else ().
    """
    key: str
    vocabulary: tuple[str, ...]
    T: int
    answers: int
    chance: float
    width: int
    layers: int
    causal: bool
    lr: float
    draw: Callable[[Generator, int], tuple[Tensor, Tensor]]
    subject: tuple[int, ...] = ()


def task(key: str) -> Task:
    """Return the task of a name.

    Raises:
        ValueError: for a name not in TASKS.
    """
    if key not in TASKS:
        raise ValueError(f"task must be one of {', '.join(TASKS)}; got {key!r}")
    return TASKS[key]


def batches(key: str, seed: int, block: int, batch: int = 32) -> tuple[Tensor, Tensor]:
    """Return the examples of steps BLOCK * block to BLOCK * (block + 1) - 1.

    Args:
        key: str, one of TASKS. seed: int >= 0. block: int; training takes 0, 1, 2, ...; -1 is never trained on.
        batch: int >= 1, examples a step.
    Returns:
        tokens: int64 tensor (BLOCK, batch, T, 1 or 2) of indices into the vocabulary, NOTHING for no symbol.
        answers: int64 tensor (BLOCK, batch, answers), what the last `answers` tokens should be answered with.
    """
    made = task(key)
    tokens, answers = made.draw(_generator(seed, block), BLOCK * batch)
    return tokens.view(BLOCK, batch, made.T, -1), answers.view(BLOCK, batch, made.answers)


def words(key: str, tokens: Tensor) -> tuple[str, ...]:
    """Return the tokens of one sequence as they are written on screen, e.g. ("A", "B", "A") or ("c:7", "c").

    Args:
        tokens: int64 tensor (T, 1 or 2).
    """
    vocabulary = task(key).vocabulary
    return tuple(":".join(vocabulary[s] for s in token if s != NOTHING) for token in tokens.tolist())


def _generator(seed: int, block: int) -> Generator:
    # Far apart for neighbouring seeds and blocks alike; the weights of a seed are drawn from the seed itself.
    return Generator().manual_seed((seed * 0x9E3779B97F4A7C15 + (block + 2) * 0xBF58476D1CE4E5B9) % 2 ** 63)


def _reverse(g: Generator, n: int) -> tuple[Tensor, Tensor]:
    """Eight letters; the answer at place i is the letter at place 7 - i."""
    tokens = torch.randint(8, (n, 8), generator=g)
    return tokens[..., None], tokens.flip(-1)


def _key_value(g: Generator, n: int) -> tuple[Tensor, Tensor]:
    """Six slots, each a different key with a digit, then one of the keys: which digit stood with it?"""
    keys = torch.rand(n, 8, generator=g).argsort(-1)[:, :6]
    digits = torch.randint(10, (n, 6), generator=g)
    asked = torch.randint(6, (n, 1), generator=g)
    slots = torch.stack((keys, 8 + digits), -1)                                          # (n, 6, 2)
    query = torch.stack((keys.gather(1, asked), torch.full((n, 1), NOTHING)), -1)        # (n, 1, 2)
    return torch.cat((slots, query), 1), 8 + digits.gather(1, asked)


def _look_up(g: Generator, n: int) -> tuple[Tensor, Tensor]:
    """Different letters, then one of them again (never the last): which letter came after it?"""
    letters = torch.rand(n, 16, generator=g).argsort(-1)[:, :LOOK_UP_LENGTH - 1]
    asked = torch.randint(LOOK_UP_LENGTH - 2, (n, 1), generator=g)
    return torch.cat((letters, letters.gather(1, asked)), 1)[..., None], letters.gather(1, asked + 1)


LOOK_UP_LENGTH = 10

_NOUNS = ("key", "cat", "dog", "box", "keys", "cats", "dogs", "boxes")
_WORDS = (*_NOUNS, "this", "these", "of", "near", "behind", "the", "is", "are", "…")


def _agreement(g: Generator, n: int) -> tuple[Tensor, Tensor]:
    """This key near the cats …: is or are? The verb follows the first noun, and the second may say otherwise."""
    nouns = torch.randint(8, (n, 2), generator=g)
    between = torch.randint(3, (n,), generator=g)
    many = (nouns[:, 0] >= 4).long()
    the, rest = (torch.full((n,), _WORDS.index(word)) for word in ("the", "…"))
    tokens = torch.stack((8 + many, nouns[:, 0], 10 + between, the, nouns[:, 1], rest), 1)
    return tokens[..., None], 14 + many[:, None]


TASKS = {made.key: made for made in (
    Task("reverse", _LETTERS[:8], 8, 8, 1 / 8, 32, 1, False, 1e-2, _reverse),
    Task("key_value", (*_LETTERS[:8], *"0123456789"), 7, 1, 1 / 10, 32, 1, False, 1e-2, _key_value),
    Task("look_up", _LETTERS, LOOK_UP_LENGTH, 1, 1 / 16, 48, 2, True, 3e-3, _look_up),
    Task("agreement", _WORDS, 6, 1, 1 / 2, 32, 1, False, 1e-3, _agreement, subject=(0, 1)),
)}
