"""Encodings, rotations and shuffles: closed forms, second implementations, and checks that must be able to fail.

Everything is exact but for float32 rounding. The two identities of the lesson (R_k and RoPE) are held to 1e-5 for
1,000 random pairs of position and offset, each written here a second time.
"""
import math

import pandas as pd
import pytest
import torch

from qkv_core import positions as core
from qkv_core.attention import scaled_dot_product_attention
from qkv_core.masks import causal_mask
from qkv_core.positions import (clock_hands, dot_by_offset, dot_theory, draw_permutation, frequencies, nearest_position,
                                offset_check, pattern, random_rotation_check, rope, rope_check, rope_scores, rotation,
                                rotation_check, shuffle_check, sinusoidal_encoding, wavelength_table, wavelengths, waves)
from qkv_core.triad import cat_sat, project, random_triad
from tests.reference import assert_close

N, C = 13, 22


def by_hand(pos, dim, d_model):
    """The paper's formula, one entry at a time, with Python's own floats."""
    angle = pos / 10_000 ** (2 * (dim // 2) / d_model)
    return math.cos(angle) if dim % 2 else math.sin(angle)


def pairs(count, n, seed=0):
    return torch.randint(0, n, (2, count), generator=torch.Generator().manual_seed(seed)).tolist()


# the encoding

@pytest.mark.parametrize("n, d_model", [(N, C), (1, 2), (512, 512), (3, 4)])
def test_the_encoding_is_the_papers_formula_entry_by_entry(n, d_model):
    encoding = sinusoidal_encoding(n, d_model)
    rows = [[by_hand(pos, dim, d_model) for dim in range(d_model)] for pos in range(n)]
    expected = torch.tensor(rows, dtype=torch.float64)
    assert encoding.shape == (n, d_model) and encoding.dtype == torch.float32
    assert_close(encoding, expected, 6e-8, "encoding")                     # half a unit in the last place of float32


def test_the_encoding_has_the_digits_that_a_calculator_gives():
    assert_close(sinusoidal_encoding(2, 4), [[0, 1, 0, 1], [.841470985, .540302306, .009999833, .999950000]], 1e-7)


def test_every_encoding_has_the_same_length():
    assert_close(sinusoidal_encoding(512, C).norm(dim=1), [math.sqrt(C / 2)] * 512, 1e-6, "lengths")


def test_more_positions_do_not_change_the_first_ones():
    assert torch.equal(sinusoidal_encoding(512, C)[:N], sinusoidal_encoding(N, C))


def test_wavelengths_run_from_two_pi_to_almost_ten_thousand_times_that():
    got = wavelengths(C)
    assert got.dtype == torch.float64
    assert_close(got, [2 * math.pi * 10_000 ** (2 * i / C) for i in range(C // 2)], 1e-9, "wavelengths")
    assert got[-1] < 10_000 * 2 * math.pi
    ratios = got[1:] / got[:-1]
    assert_close(ratios, [10_000 ** (2 / C)] * (C // 2 - 1), 1e-12, "a geometric progression")


def test_a_channel_repeats_after_its_wavelength():
    # With base 10000 no wavelength is a whole number of positions; base (8 / 2 pi)^2 gives the second pair one of 8.
    omega = frequencies(4, base=(8 / (2 * math.pi)) ** 2)
    assert 2 * math.pi / omega[1].item() == pytest.approx(8)
    turned = rope(torch.tensor([[0., 0., 1., 0.]]).expand(17, 4), range(17), base=(8 / (2 * math.pi)) ** 2)
    assert_close(turned[:9], turned[8:], 1e-6, "one turn on")


@pytest.mark.parametrize("d_model", [1, 7, 511])
def test_an_odd_width_is_refused_with_its_even_neighbours(d_model):
    with pytest.raises(ValueError, match="d_model must be"):
        sinusoidal_encoding(N, d_model)
    with pytest.raises(ValueError, match="d_model must be even.*got 7, nearest: 6 or 8"):
        rotation(1, 7)


@pytest.mark.parametrize("call, message", [
    (lambda: sinusoidal_encoding(0, C), "n must be a whole number from 1 to 4096; got 0"),
    (lambda: sinusoidal_encoding(4097, C), "n must be .*4096; got 4097"),
    (lambda: sinusoidal_encoding(N, 1026), "d_model must be .*from 2 to 1024; got 1026"),
    (lambda: sinusoidal_encoding(2.0, C), "n must be a whole number"),
    (lambda: rotation(4097, C), "offset must be a whole number from -4096 to 4096"),
    (lambda: rotation_check(4096, C, 1), "n must be a whole number from 1 to 4095"),
    (lambda: random_rotation_check(C, 0), "count must be"),
    (lambda: dot_by_offset(1025, C), "n must be a whole number from 1 to 1024"),
    (lambda: pattern(1025, C), "n must be a whole number from 1 to 1024"),
    (lambda: waves(N, C, [C]), r"dims\[0\] must be a whole number from 0 to 21; got 22"),
    (lambda: waves(N, C, []), "dims must name 1 to 16 channels; got 0"),
    (lambda: clock_hands(-1, C), "pos must be"),
    (lambda: nearest_position(N, C, N), "offset must be a whole number from -12 to 12"),
    (lambda: nearest_position(N, C, noise=-1), "noise must be a finite number >= 0; got -1"),
    (lambda: nearest_position(N, C, noise=math.nan), "noise must be"),
    (lambda: draw_permutation(0, 0), "T must be"),
    (lambda: frequencies(C, 1), "base must be a finite number > 1; got 1"),
    (lambda: rope_check(7), "d_k must be even"),
    (lambda: rope_scores(0, 4), "n must be"),
])
def test_sizes_out_of_range_are_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# the rotation

@pytest.mark.parametrize("d_model", [2, C, 512])
def test_r_k_moves_any_position_by_k_for_1000_random_pairs(d_model):
    encoding = sinusoidal_encoding(1023, d_model)
    for pos, k in zip(*pairs(1_000, 512)):
        assert_close(encoding[pos] @ rotation(k, d_model).T, encoding[pos + k], 1e-5, f"pos {pos}, k {k}")


def test_r_k_is_the_block_matrix_of_the_angle_sums():
    k, d_model = 3, 4
    expected = torch.zeros(4, 4)
    for i in range(2):
        a = k / 10_000 ** (2 * i / d_model)
        block = torch.tensor([[math.cos(a), math.sin(a)], [-math.sin(a), math.cos(a)]])
        expected[2 * i:2 * i + 2, 2 * i:2 * i + 2] = block
    assert_close(rotation(k, d_model), expected, 1e-7, "R_3")
    assert torch.equal(rotation(0, C), torch.eye(C))


def test_going_back_is_the_transpose_and_two_steps_are_one_longer_step():
    assert torch.equal(rotation(-5, C), rotation(5, C).T)
    assert_close(rotation(5, C) @ rotation(37, C), rotation(42, C), 1e-6, "R_5 R_37")
    assert_close(rotation(5, C) @ rotation(5, C).T, torch.eye(C), 1e-6, "R R^T")


@pytest.mark.parametrize("offset", [0, 1, 500, -1, -37])
def test_the_rotation_check_agrees_with_itself_written_out(offset):
    check = rotation_check(N, C, offset)
    places = range(max(0, -offset), max(0, -offset) + N)
    moved = [[by_hand(pos + offset, dim, C) for dim in range(C)] for pos in places]
    got = sinusoidal_encoding(600, C)[list(places)] @ rotation(offset, C).T
    assert_close(got, moved, 1e-6, "moved")
    assert check.pairs == N and check.worst in places
    assert check.difference <= 1e-6 and check.stretch <= 1e-6


def test_the_rotation_checks_see_a_matrix_that_turns_the_wrong_way(monkeypatch):
    right = rotation
    monkeypatch.setattr(core, "rotation", lambda offset, d_model: right(-offset, d_model))
    assert rotation_check(N, C, 1).difference > 0.5 and rotation_check(N, C, 1).stretch < 1e-6
    assert random_rotation_check(C, 50).difference > 0.5
    monkeypatch.setattr(core, "rotation", lambda offset, d_model: 1.01 * right(offset, d_model))
    assert rotation_check(N, C, 1).stretch == pytest.approx(0.01, abs=1e-5)


def test_the_random_check_is_within_its_promise_and_repeats_by_seed():
    one = random_rotation_check(C)
    assert one.pairs == 1_000 and one.offset is None
    assert one.difference <= 1e-5 and one.stretch <= 1e-5
    assert random_rotation_check(C) == one


# the pictures' frames

def test_the_pattern_has_a_row_a_cell_in_reading_order():
    frame = pattern(N, C)
    assert list(frame.columns) == ["pos", "dim", "value"] and len(frame) == N * C
    assert_close(frame.pivot(index="pos", columns="dim", values="value").to_numpy().copy(), sinusoidal_encoding(N, C), 0)
    assert frame.loc[C + 1].tolist()[:2] == [1, 1]


def test_the_waves_are_columns_of_the_encoding_with_their_wavelengths():
    frame = waves(N, C, [0, 5, 5, 21])
    assert list(frame.columns) == ["dim", "pair", "kind", "wavelength", "pos", "value"] and len(frame) == 3 * N
    for dim, wave in frame.groupby("dim"):
        assert_close(wave["value"].to_numpy().copy(), sinusoidal_encoding(N, C)[:, dim], 0)
        assert wave["kind"].unique().tolist() == [["sin", "cos"][dim % 2]]
        assert wave["wavelength"].unique().tolist() == [wavelengths(C)[dim // 2].item()]


def test_the_wavelength_table_names_each_pair_of_channels():
    table = wavelength_table(C)
    assert list(table.columns) == ["pair", "sin_dim", "cos_dim", "frequency", "wavelength"] and len(table) == C // 2
    assert table.loc[3, ["pair", "sin_dim", "cos_dim"]].tolist() == [3, 6, 7]
    assert_close((table["frequency"] * table["wavelength"]).to_numpy().copy(), [2 * math.pi] * (C // 2), 1e-12)


def test_the_hands_start_at_twelve_and_turn_clockwise():
    start, later = clock_hands(0, C), clock_hands(1, C)
    assert start["x"].eq(0).all() and start["y"].eq(1).all() and start["degrees"].eq(0).all()
    assert later["x"].gt(0).all() and later["y"].gt(0).all(), "one step turns no hand further than a quarter"
    hands = clock_hands(500, C)
    assert_close((hands["x"] ** 2 + hands["y"] ** 2).tolist(), [1.0] * (C // 2), 1e-6, "each on its circle")
    angle = torch.tensor(hands["degrees"].tolist(), dtype=torch.float64).deg2rad()
    assert_close(angle.sin(), hands["x"].to_numpy().copy(), 1e-6)
    assert_close(angle.cos(), hands["y"].to_numpy().copy(), 1e-6)
    assert_close(hands["turns"].to_numpy().copy(), 500 / wavelengths(C), 1e-9)
    assert hands["turns"].is_monotonic_decreasing


# dot products

def test_a_dot_product_of_two_encodings_is_the_sum_of_the_cosines_of_their_distance():
    encoding = sinusoidal_encoding(N, C).double()
    for a in range(N):
        for b in range(N):
            expected = sum(math.cos((a - b) / 10_000 ** (2 * i / C)) for i in range(C // 2))
            assert (encoding[a] @ encoding[b]).item() == pytest.approx(expected, abs=1e-6)
            assert dot_theory(torch.tensor(a - b), C).item() == pytest.approx(expected, abs=1e-12)


def test_dot_products_depend_on_the_offset_only():
    frame = dot_by_offset(N, C)
    assert list(frame.columns) == ["offset", "pairs", "low", "high", "mean", "theory", "cosine"]
    assert frame["offset"].tolist() == list(range(N)) and frame["pairs"].tolist() == list(range(N, 0, -1))
    assert frame.loc[0, "cosine"] == pytest.approx(1)
    check = offset_check(frame)
    assert check.spread < 1e-6 and check.difference < 1e-6 and check.range > 5


def test_the_offset_check_sees_an_encoding_that_is_not_a_rotation(monkeypatch):
    def sines_only(n, d_model):
        return sinusoidal_encoding(n, d_model) * torch.tensor([1.0, 0.0]).repeat(d_model // 2)

    monkeypatch.setattr(core, "sinusoidal_encoding", sines_only)
    check = offset_check(dot_by_offset(N, C))
    assert check.spread > 0.1 and check.difference > 0.1


@pytest.mark.parametrize("offset", [0, 3, -3])
@pytest.mark.parametrize("d_model", [2, 4, 64])
def test_the_right_position_is_always_found_without_noise(d_model, offset):
    test = nearest_position(40, d_model, offset)
    assert test.right == 1 and test.largest_error == 0 and test.margin > 0
    assert (test.frame["wanted"] == test.frame["pos"] + offset).all() and len(test.frame) == 40 - abs(offset)
    encoding = sinusoidal_encoding(40, d_model).double()
    for row in test.frame.itertuples():
        others = {j: (encoding[row.wanted] @ encoding[j]).item() for j in range(40) if j != row.wanted}
        assert row.runner_up_dot == pytest.approx(max(others.values()), abs=1e-5)
        assert others[row.runner_up] == pytest.approx(max(others.values()), abs=1e-5)


def test_one_clock_hand_mistakes_a_whole_turn_for_a_neighbour_and_many_do_not():
    # One hand goes round in 6.28 steps: 19 steps are three turns (cos 19 = .989), 25 are four (cos 25 = .991), and both
    # look nearer than one step (cos 1 = .540).
    one, many = nearest_position(40, 2), nearest_position(40, 64)
    assert one.neighbours == 0 and many.neighbours == 1
    assert set((one.frame["runner_up"] - one.frame["pos"]).abs()) == {19, 25}


def test_noise_ends_the_certainty_and_repeats_by_seed():
    quiet, loud = nearest_position(64, 8, noise=0.01), nearest_position(64, 8, noise=2.0)
    other = nearest_position(64, 8, noise=2.0, seed=1)
    assert quiet.right > loud.right and loud.largest_error > 0
    pd.testing.assert_frame_equal(loud.frame, nearest_position(64, 8, noise=2.0).frame)
    assert not loud.frame["dot"].equals(other.frame["dot"])


# shuffles

LESSONS = [cat_sat(), random_triad(7, 6, 5, 3, seed=11)]


@pytest.mark.parametrize("lesson", LESSONS, ids=["cat", "random"])
@pytest.mark.parametrize("seed", range(3))
def test_without_positions_a_shuffle_shuffles_the_outputs_and_nothing_else(lesson, seed):
    order = draw_permutation(len(lesson.X), seed)
    check = shuffle_check(lesson, order, positions=False)
    assert check.difference <= 1e-6 and check.weights_difference <= 1e-6
    P = torch.eye(len(order))[list(order)]
    output, weights = scaled_dot_product_attention(*project(P @ lesson.X, *lesson[1:4]))
    assert_close(check.after.output, output, 1e-6), assert_close(check.after.weights, weights, 1e-6)
    assert_close(check.expected, P @ scaled_dot_product_attention(*project(*lesson[:4]))[0], 1e-6)


@pytest.mark.parametrize("lesson", LESSONS, ids=["cat", "random"])
def test_with_positions_a_shuffle_changes_the_outputs(lesson):
    check = shuffle_check(lesson, draw_permutation(len(lesson.X), 0), positions=True)
    assert check.difference > 0.1 and check.weights_difference > 0.1
    T, width = lesson.X.shape
    placed = lesson.X[list(check.permutation)] + sinusoidal_encoding(T, width)
    assert_close(check.after.output, scaled_dot_product_attention(*project(placed, *lesson[1:4]))[0], 1e-6)


def test_a_causal_mask_is_knowledge_of_the_place_too():
    assert shuffle_check(cat_sat(), (2, 0, 1), False, causal_mask(3)).difference > 0.1


def test_an_order_that_changes_nothing_says_so():
    assert shuffle_check(cat_sat(), (0, 1, 2), positions=True).difference == 0


def test_temperature_and_scale_reach_the_attention():
    hot = shuffle_check(cat_sat(), (1, 0, 2), False, tau=5.0)
    cold = shuffle_check(cat_sat(), (1, 0, 2), False, tau=0.2, scale=False)
    assert cold.before.weights.max() > 0.99 > 0.5 > hot.before.weights.max()


@pytest.mark.parametrize("order", [(0, 1), (0, 1, 1), (1, 2, 3)])
def test_what_is_not_a_permutation_is_refused(order):
    with pytest.raises(ValueError, match="permutation must hold each of 0 to 2 once; got"):
        shuffle_check(cat_sat(), order, False)


def test_odd_tokens_can_be_shuffled_but_not_placed():
    lesson = random_triad(3, 5, 2, 2, 0)
    assert shuffle_check(lesson, (1, 0, 2), False).difference < 1e-6
    with pytest.raises(ValueError, match="d_model must be even"):
        shuffle_check(lesson, (1, 0, 2), True)


def test_a_drawn_order_is_never_the_order_that_was():
    for seed in range(20):
        assert sorted(draw_permutation(2, seed)) == [0, 1] != list(draw_permutation(2, seed))
    assert draw_permutation(1, 0) == (0,) and draw_permutation(9, 4) == draw_permutation(9, 4)


# RoPE

def some(*shape, seed=0, dtype=torch.float32):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def test_rope_multiplies_each_pair_as_a_complex_number():
    x, places = some(3, 5, 7, 10), [4, 0, 511, 1, 1, 2, 300]
    angle = torch.tensor(places, dtype=torch.float64)[:, None] * torch.tensor(
        [500.0 ** (-2 * i / 10) for i in range(5)], dtype=torch.float64)
    expected = torch.view_as_complex(x.double().unflatten(-1, (5, 2))) * torch.polar(torch.ones_like(angle), angle)
    assert_close(rope(x, places, base=500), torch.view_as_real(expected).flatten(-2), 1e-6, "rope")


def test_rope_turns_by_the_papers_own_angles_the_other_way_round():
    x = some(1, C)
    assert_close(rope(x, [37]), x @ rotation(37, C), 1e-6, "rope and R_37")


@pytest.mark.parametrize("d_k", [2, 64, 512])
def test_after_rope_the_score_depends_on_the_offset_only_for_1000_random_pairs(d_k):
    q, k = some(2, 1_000, d_k)
    pos, offset = torch.tensor(pairs(1_000, 512, seed=d_k))
    there = (rope(q, pos + offset) * rope(k, pos)).sum(-1) / math.sqrt(d_k)
    here = (rope(q, offset) * rope(k, torch.zeros(1_000))).sum(-1) / math.sqrt(d_k)
    assert_close(there, here, 1e-5, "scores")
    assert (there - (q * k).sum(-1) / math.sqrt(d_k)).abs().max() > 1, "and it does depend on it"
    assert_close(rope(q, pos).norm(dim=1) / q.norm(dim=1), [1.0] * 1_000, 1e-6, "lengths")


@pytest.mark.parametrize("d_k", [2, 64, 1024])
def test_the_rope_check_is_within_its_promise_and_sees_what_added_sinusoids_do(d_k):
    check = rope_check(d_k)
    assert check.count == 1_000 and check.difference <= 1e-5 and check.norm_difference <= 1e-6
    assert check.added_difference > 1 and check.moved > 1
    assert rope_check(d_k) == check


def test_the_rope_check_sees_a_turn_that_is_not_one(monkeypatch):
    right = rope

    def stretching(x, positions, base=1e4):
        return right(x, positions, base) * (1 + 0.1 * (torch.as_tensor(positions) > 9)[:, None])

    def slowing(x, positions, base=1e4):
        return right(x, torch.as_tensor(positions).double().sqrt(), base)

    monkeypatch.setattr(core, "rope", stretching)
    assert rope_check(C).difference > 0.1 and rope_check(C).norm_difference == pytest.approx(0.1, abs=1e-4)
    monkeypatch.setattr(core, "rope", slowing)
    assert rope_check(C).difference > 0.1


def test_rope_scores_gather_every_pair_by_its_offset():
    frame = rope_scores(N, C, seed=3)
    q, k = torch.randn(2, 1, C, generator=torch.Generator().manual_seed(3))
    places = range(N)
    full = (rope(q.expand(N, C), places) @ rope(k.expand(N, C), places).T) / math.sqrt(C)
    turned = frame[frame["arm"] == "rope"].set_index("offset")
    for offset in range(N):
        same = [full[m + offset, m].item() for m in range(N - offset)]
        assert turned.loc[offset, "pairs"] == len(same)
        assert turned.loc[offset, ["low", "high"]].tolist() == [min(same), max(same)]
    gap = (frame["high"] - frame["low"]).groupby(frame["arm"]).max()
    assert gap["none"] == 0 and gap["rope"] < 1e-5 and gap["added"] > 0.5


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_rope_keeps_the_dtype_and_turns_halves_in_float32(dtype):
    x = some(N, C, dtype=dtype)
    got = rope(x, range(N))
    assert got.dtype == dtype
    assert_close(got, rope(x.double(), range(N)), torch.finfo(dtype).eps * 4, str(dtype))


@pytest.mark.parametrize("x, places, message", [
    (torch.ones(3, 5), range(3), "d must be even.*got 5"),
    (torch.ones(3, 4), range(4), r"positions must be 3 finite numbers, one a row of x; got shape \(4,\)"),
    (torch.ones(3, 4), [0, 1, math.inf], "a number that is not finite"),
    (torch.ones(4), [0], r"x must hold real numbers, \(..., T, d\); got \(4,\)"),
    (torch.ones(3, 4, dtype=torch.bool), range(3), "got .*torch.bool"),
    (torch.ones(3, 4), torch.zeros(3, 1), r"got shape \(3, 1\)"),
])
def test_rope_refuses_what_it_cannot_place(x, places, message):
    with pytest.raises(ValueError, match=message):
        rope(x, places)


def test_nothing_here_touches_the_global_generator():
    state = torch.random.get_rng_state()
    random_rotation_check(4, 9), nearest_position(N, 4, noise=1.0), draw_permutation(N, 0)
    rope_check(4, 9), rope_scores(N, 4)
    assert torch.equal(torch.random.get_rng_state(), state)
