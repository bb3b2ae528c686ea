"""The tasks: every example obeys its rule, any batch can be drawn again, and a guess is as good as `chance` says."""
import math

import pytest
import torch

from qkv_core.tasks import BLOCK, NOTHING, TASKS, batches, task, words

KEYS = tuple(TASKS)


@pytest.mark.parametrize("key", KEYS)
def test_a_block_has_the_sizes_that_the_task_names(key):
    made = task(key)
    tokens, answers = batches(key, seed=3, block=0, batch=5)
    assert tokens.shape[:3] == (BLOCK, 5, made.T) and answers.shape == (BLOCK, 5, made.answers)
    assert tokens.dtype == answers.dtype == torch.int64
    assert tokens.min() >= NOTHING and tokens.max() < len(made.vocabulary)
    assert answers.min() >= 0 and answers.max() < len(made.vocabulary)


@pytest.mark.parametrize("key", KEYS)
def test_a_batch_can_be_drawn_again_without_those_before_it(key):
    first = [batches(key, 7, block) for block in range(3)]
    again = batches(key, 7, 2)
    assert torch.equal(first[2][0], again[0]) and torch.equal(first[2][1], again[1])


@pytest.mark.parametrize("key", KEYS)
def test_seeds_blocks_and_steps_have_different_examples(key):
    blocks = [batches(key, seed, block)[0] for seed in (0, 1, 2 ** 31 - 1) for block in (-1, 0, 1)]
    for i, a in enumerate(blocks):
        assert not any(torch.equal(a, b) for b in blocks[:i])
    assert not any(torch.equal(blocks[0][i], blocks[0][j]) for i in range(BLOCK) for j in range(i))


@pytest.mark.parametrize("key", KEYS)
def test_drawing_leaves_the_global_generator_alone(key):
    before = torch.get_rng_state()
    batches(key, 0, 0)
    assert torch.equal(before, torch.get_rng_state())


def examples(key):
    tokens, answers = batches(key, 0, 0, batch=32)
    return tokens.flatten(0, 1).tolist(), answers.flatten(0, 1).tolist()


def test_reverse_asks_for_the_letters_backwards():
    for tokens, answers in zip(*examples("reverse")):
        assert [symbol for symbol, in tokens][::-1] == answers


def test_key_value_asks_for_the_digit_that_stood_with_the_key():
    for tokens, (answer,) in zip(*examples("key_value")):
        slots, (asked, nothing) = dict(tokens[:-1]), tokens[-1]
        assert len(slots) == 6 and nothing == NOTHING
        assert slots[asked] == answer


def test_look_up_asks_for_the_letter_after_the_earlier_one():
    for tokens, (answer,) in zip(*examples("look_up")):
        *letters, last = [symbol for symbol, in tokens]
        assert len(set(letters)) == len(letters)
        assert letters[letters.index(last) + 1] == answer


def test_agreement_asks_for_the_verb_of_the_first_noun_whatever_the_second_says():
    vocabulary, seen = task("agreement").vocabulary, set()
    for tokens, (answer,) in zip(*examples("agreement")):
        determiner, noun, between, the, other, end = (vocabulary[symbol] for symbol, in tokens)
        many = {"keys": True, "cats": True, "dogs": True, "boxes": True, "key": False, "cat": False, "dog": False, "box": False}
        assert determiner == ("these" if many[noun] else "this")
        assert between in ("of", "near", "behind") and (the, end) == ("the", "…")
        assert vocabulary[answer] == ("are" if many[noun] else "is")
        seen.add((many[noun], many[other]))
    assert len(seen) == 4
    assert [vocabulary[tokens[i][0]] for i in task("agreement").subject] == [determiner, noun]


@pytest.mark.parametrize("key", KEYS)
def test_every_answer_is_about_as_frequent_as_chance_says(key):
    # n is 8,192 answers or eight times that; 5 standard errors of a share.
    made = task(key)
    answers = torch.cat([batches(key, seed, 0, batch=64)[1].flatten() for seed in range(8)])
    shares = torch.bincount(answers, minlength=len(made.vocabulary)) / len(answers)
    error = math.sqrt(made.chance * (1 - made.chance) / len(answers))
    assert (shares.max() - made.chance).abs() < 5 * error


def test_words_are_what_stands_on_screen():
    assert words("key_value", torch.tensor([[2, 8 + 7], [2, NOTHING]])) == ("C:7", "C")
    assert words("look_up", torch.tensor([[0], [1], [0]])) == ("A", "B", "A")


def test_an_unknown_task_is_named_with_those_there_are():
    with pytest.raises(ValueError, match="task must be one of reverse, key_value, look_up.*got 'sort'"):
        task("sort")
