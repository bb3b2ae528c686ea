"""Masks, against their definition by loops: True may attend, rows are queries, columns are keys."""
import pytest
import torch

from qkv_core.masks import MASKS, build_mask, causal_mask, padding_mask, prefix_mask, whole, window_mask


def by_rule(T_q, T_k, rule):
    return torch.tensor([[rule(i, j) for j in range(T_k)] for i in range(T_q)])


@pytest.mark.parametrize("T_q, T_k", [(1, 1), (1, 5), (5, 5), (3, 7), (7, 3), (5, 1)])
def test_causal_is_aligned_to_the_last_key(T_q, T_k):
    assert torch.equal(causal_mask(T_q, T_k), by_rule(T_q, T_k, lambda i, j: j <= i + T_k - T_q))


def test_causal_by_hand():
    assert causal_mask(3).tolist() == [[True, False, False], [True, True, False], [True, True, True]]
    assert causal_mask(1, 5).all()
    assert causal_mask(2, 3).tolist() == [[True, True, False], [True, True, True]]
    assert causal_mask(5, 2).any(-1).tolist() == [False, False, False, True, True]


@pytest.mark.parametrize("lengths", [[5, 2, 0], (5, 2, 0), torch.tensor([5, 2, 0]), torch.tensor([5, 2, 0]).short()])
def test_padding_hides_the_keys_from_each_length_on(lengths):
    mask = padding_mask(lengths, 5)
    assert mask.shape == (3, 1, 1, 5) and mask.dtype == torch.bool
    assert mask[:, 0, 0].tolist() == [[True] * 5, [True, True, False, False, False], [False] * 5]


@pytest.mark.parametrize("bad, message", [
    ([6], r"lengths\[0\] must be a whole number from 0 to 5; got 6"),
    ([5, -1], r"lengths\[1\] must be a whole number from 0 to 5; got -1"),
    ([2.0], r"lengths\[0\] must be a whole number from 0 to 5; got 2.0"),
    ([True], r"lengths\[0\] must be a whole number from 0 to 5; got True"),
    (torch.tensor([1.5]), r"lengths\[0\] must be"),
    (torch.tensor([True]), r"lengths\[0\] must be"),
    ([[1, 2]], r"lengths\[0\] must be"),
    (torch.tensor(3), "lengths must be a flat list"),
    (3, "lengths must be a flat list"),
    ([], "lengths must be a flat list"),
])
def test_bad_lengths_are_refused(bad, message):
    with pytest.raises(ValueError, match=message):
        padding_mask(bad, 5)


@pytest.mark.parametrize("radius", [0, 1, 3, 7, 100])
def test_window_sees_both_sides_up_to_its_radius(radius):
    assert torch.equal(window_mask(7, radius), by_rule(7, 7, lambda i, j: abs(i - j) <= radius))


@pytest.mark.parametrize("prefix", [0, 1, 3, 7])
def test_prefix_is_causal_with_the_first_keys_seen_by_all(prefix):
    assert torch.equal(prefix_mask(7, prefix), by_rule(7, 7, lambda i, j: j <= i or j < prefix))


@pytest.mark.parametrize("make, message", [
    (lambda: causal_mask(0), "T_q must be a whole number >= 1; got 0"),
    (lambda: causal_mask(3, 0), "T_k must be a whole number >= 1; got 0"),
    (lambda: causal_mask(2.0), "T_q must be"),
    (lambda: padding_mask([1], 0), "T must be a whole number >= 1; got 0"),
    (lambda: window_mask(-1, 1), "T must be"),
    (lambda: window_mask(3, -1), "radius must be a whole number >= 0; got -1"),
    (lambda: window_mask(3, True), "radius must be"),
    (lambda: prefix_mask(3, 4), "prefix must be a whole number from 0 to 3; got 4"),
    (lambda: prefix_mask(3, -1), "prefix must be"),
    (lambda: build_mask("causal", 0), "T must be"),
    (lambda: build_mask("none", "3"), "T must be a whole number >= 1; got '3'"),
    (lambda: build_mask("padding", 3, padding=4), "padding must be a whole number from 0 to 3; got 4"),
    (lambda: build_mask("full", 3), "mask must be one of none, causal, padding, window, prefix; got 'full'"),
])
def test_bad_sizes_and_names_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_each_name_builds_its_mask():
    T = 5
    expected = {
        "none": None,
        "causal": causal_mask(T),
        "padding": by_rule(T, T, lambda i, j: j < 3),
        "window": window_mask(T, 2),
        "prefix": prefix_mask(T, 4),
    }
    for name in MASKS:
        mask = build_mask(name, T, padding=2, radius=2, prefix=4)
        if expected[name] is None:
            assert mask is None
        else:
            assert mask.shape == (T, T) and mask.dtype == torch.bool and torch.equal(mask, expected[name]), name


@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("T", [1, 2, 7])
def test_every_name_works_with_its_defaults_at_any_length(name, T):
    mask = build_mask(name, T)
    assert mask is None or mask.shape == (T, T)


def test_a_built_mask_can_be_changed_without_changing_the_next():
    build_mask("padding", 3)[0] = False
    assert build_mask("padding", 3)[0].tolist() == [True, True, False]


def test_whole_takes_numpys_integers():
    numpy = pytest.importorskip("numpy")
    assert whole("T", numpy.int64(3)) == 3
