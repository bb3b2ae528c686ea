"""The anatomy of a tensor: what the page says of each step against the tensors themselves.

Expected values are closed forms, a second implementation written out here without the core's code strings
(`_attention_in_loops`, gradients for what an element reaches), or the anatomy notebook (REFERENCE, section 2).
"""

import math
import re
import subprocess
import sys
from itertools import product

import pytest
import torch

from qkv_core import shapes
from qkv_core.attention import MultiHeadAttention
from qkv_core.shapes import (
    MAX_B, MAX_BYTES, MAX_C, MAX_H, MAX_T, NOTES, PROPERTIES, ROLES, STEP_KEYS, STEP_NAMES, audit, check_sizes,
    chunk_equals_slicing, compare, follow, fused_vs_separate, head_error, legal_heads, merge_error, nearest_legal,
    script, shape_walkthrough, total_bytes, walkthrough_checks, walkthrough_numbers, walkthrough_tensors, wrong_merge,
    wrong_view,
)

SMALL = [(B, T, 3 * H, H) for B, T, H in product((1, 2, 3), (1, 2, 7), (1, 2, 4))]  # d_head = 3, case M06
ODD = [(1, 1, 1, 1), (2, 5, 12, 3), (3, 4, 4, 4), (1, 6, 7, 7), (2, 3, 10, 5), (5, 3, 14, 2)]
SETTINGS = SMALL + ODD


def _attention_in_loops(x, W_qkv, W_o, H):
    """Multi-head attention with plain indexing: no view, no transpose, no batched product."""
    B, T, C = x.shape
    D = C // H
    weights, concat = torch.zeros(B, H, T, T), torch.zeros(B, T, C)
    for b, h in product(range(B), range(H)):
        q, k, v = (x[b] @ W_qkv[n * C + h * D:n * C + (h + 1) * D].T for n in range(3))
        exponents = torch.tensor([[sum(q[i] * k[j]) / math.sqrt(D) for j in range(T)] for i in range(T)]).exp()
        weights[b, h] = exponents / exponents.sum(1, keepdim=True)
        concat[b, :, h * D:(h + 1) * D] = weights[b, h] @ v
    return weights, concat, concat @ W_o.T


def _assert_close(got, expected, tolerance=2e-6):
    difference = (got - expected).abs()
    assert difference.max() <= tolerance, f"largest {difference.max():.3g}, mean {difference.mean():.3g}"


# The walkthrough

@pytest.mark.parametrize("sizes", SETTINGS)
def test_the_printed_layout_is_that_of_the_real_tensor_at_every_step(sizes):
    tensors = walkthrough_tensors(*sizes, seed=3)
    for step in shape_walkthrough(*sizes, seed=3):
        tensor = tensors[step.tensor]
        assert step.shape == tuple(tensor.shape)
        assert step.stride == tensor.stride()
        assert step.contiguous == tensor.is_contiguous()
        assert step.numel == tensor.numel() == math.prod(step.shape)
        assert step.bytes == 4 * tensor.numel()
        assert step.storage_offset == tensor.storage_offset()
        assert step.storage_bytes == tensor.untyped_storage().nbytes()


@pytest.mark.parametrize("sizes", SETTINGS)
def test_the_shapes_are_the_ones_the_axes_name(sizes):
    B, T, C, H = sizes
    length = {"B": B, "T": T, "C": C, "H": H, "D": C // H, "3C": 3 * C}
    steps = shape_walkthrough(*sizes)
    assert tuple(step.key for step in steps) == STEP_KEYS
    for step in steps:
        assert step.shape == tuple(length[axis] for axis in step.axes), step.key
    assert steps[0].axes == steps[-1].axes == ("B", "T", "C")


@pytest.mark.parametrize("sizes", SETTINGS)
def test_running_all_the_code_on_show_makes_the_tensors_of_the_walkthrough(sizes):
    steps, tensors = shape_walkthrough(*sizes, seed=11), walkthrough_tensors(*sizes, seed=11)
    namespace = {}
    exec("import torch", namespace)
    for step in steps:
        exec(step.code, namespace)
        made = namespace[step.tensor]
        assert (tuple(made.shape), made.stride(), made.is_contiguous()) == (step.shape, step.stride, step.contiguous)
    for name, tensor in tensors.items():
        assert torch.equal(namespace[name], tensor), name


@pytest.mark.parametrize("sizes", [(2, 5, 12, 3), (1, 1, 1, 1)])
def test_the_script_runs_in_a_fresh_interpreter_and_prints_the_layouts_on_show(sizes):
    done = subprocess.run(
        [sys.executable, "-c", script(*sizes, seed=42) + 'print(repr(output.flatten().tolist()))'],
        capture_output=True, text=True, timeout=120,
    )
    assert done.returncode == 0, done.stderr
    *lines, values = done.stdout.splitlines()
    assert lines == [
        f"{step.tensor}\t{step.shape}\t{step.stride}\t{step.contiguous}" for step in shape_walkthrough(*sizes, seed=42)
    ]
    assert eval(values) == walkthrough_tensors(*sizes, seed=42)["output"].flatten().tolist()


def test_the_script_holds_the_code_of_every_step_and_imports_only_torch():
    program = script(2, 5, 12, 3)
    for step in shape_walkthrough(2, 5, 12, 3):
        assert f"\n{step.code}\n" in program
    assert re.findall(r"^(?:import|from) .*", program, re.MULTILINE) == ["import torch"]


@pytest.mark.parametrize("sizes", SETTINGS)
def test_the_walkthrough_computes_multi_head_attention(sizes):
    tensors = walkthrough_tensors(*sizes, seed=5)
    weights, concat, output = _attention_in_loops(tensors["x"], tensors["W_qkv"], tensors["W_o"], sizes[-1])
    _assert_close(tensors["weights"], weights)
    _assert_close(tensors["concat"], concat)
    _assert_close(tensors["output"], output)


@pytest.mark.parametrize("sizes", SETTINGS)
def test_the_walkthrough_agrees_with_the_core_layer_given_the_same_weights(sizes):
    B, T, C, H = sizes
    tensors = walkthrough_tensors(*sizes, seed=5)
    layer = MultiHeadAttention(C, H)
    with torch.no_grad():
        layer.W_qkv.weight.copy_(tensors["W_qkv"])
        layer.W_o.weight.copy_(tensors["W_o"])
        output, weights = layer(tensors["x"])
    _assert_close(tensors["weights"], weights)
    _assert_close(tensors["output"], output)


@pytest.mark.parametrize("sizes", SETTINGS)
def test_the_live_checks_hold_at_every_size(sizes):
    checks = walkthrough_checks(*sizes, seed=1)
    assert checks.sdpa_difference < 1e-6 and checks.row_sum_difference < 1e-6 and checks.merge_identity


def test_seed_42_is_the_anatomy_notebook():
    B, T, C, H = 2, 5, 12, 3
    tensors = walkthrough_tensors(B, T, C, H, seed=42)
    _assert_close(tensors["weights"][0, 0, 0], torch.tensor([.1805, .1116, .1736, .2821, .2523]), 5e-5)
    strides = {step.key: step.stride for step in shape_walkthrough(B, T, C, H, seed=42)}
    assert strides["chunk"] == (180, 36, 1)
    assert strides["split"] == (180, 36, 4, 1)
    assert strides["transpose"] == (180, 4, 36, 1)


def test_the_private_draws_are_those_of_linear_layers_on_the_global_stream():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(42)
        x, fused, last = torch.randn(2, 5, 12), torch.nn.Linear(12, 36, bias=False), torch.nn.Linear(12, 12, bias=False)
    tensors = walkthrough_tensors(2, 5, 12, 3, seed=42)
    assert torch.equal(tensors["x"], x)
    assert torch.equal(tensors["W_qkv"], fused.weight)
    assert torch.equal(tensors["W_o"], last.weight)


def test_the_same_seed_gives_the_same_bits_another_seed_others_and_the_global_stream_is_left_alone():
    before = torch.get_rng_state()
    one, two = walkthrough_tensors(2, 5, 12, 3, seed=7), walkthrough_tensors(2, 5, 12, 3, seed=7)
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert not torch.equal(one["x"], walkthrough_tensors(2, 5, 12, 3, seed=8)["x"])
    fused_vs_separate(12), follow(2, 5, 12, 3), wrong_view(2, 5, 12, 3), audit(2, 5, 12, 3)
    assert torch.equal(torch.get_rng_state(), before)


def test_only_the_projections_use_parameters():
    used = {step.key: step.parameters for step in shape_walkthrough(2, 5, 14, 7)}
    assert used.pop("qkv") == 3 * 14 * 14 and used.pop("output") == 14 * 14
    assert set(used.values()) == {0}


def test_views_share_memory_and_computed_steps_do_not():
    shared = {step.key for step in shape_walkthrough(2, 5, 12, 3) if step.shares_memory_with_previous}
    assert shared == {"chunk", "split", "transpose", "back", "concat"}
    steps = {step.key: step for step in shape_walkthrough(2, 5, 12, 3)}
    assert steps["chunk"].storage_bytes == steps["qkv"].storage_bytes == 3 * steps["chunk"].bytes


def test_what_changed_and_what_was_preserved_are_the_textbook_answers():
    steps = {step.key: step for step in shape_walkthrough(2, 5, 12, 3)}
    for step in steps.values():
        assert set(step.changed) | set(step.preserved) == (set() if step.key == "x" else set(PROPERTIES))
        assert not set(step.changed) & set(step.preserved)
    assert set(steps["split"].changed) == set(steps["concat"].changed) == {"shape", "stride"}
    assert set(steps["transpose"].changed) == {"shape", "stride", "order"}
    assert set(steps["back"].changed) == {"shape", "stride", "contiguity", "order"}
    assert set(steps["contiguous"].changed) == {"stride", "contiguity", "storage"}
    assert set(steps["scaled"].changed) == set(steps["weights"].changed) == {"values", "order", "storage"}
    assert {"values", "storage"} <= set(steps["chunk"].preserved)


def test_compare_sees_each_property_change_on_its_own():
    a = torch.arange(6.).view(2, 3)
    assert compare(a, a) == ((), PROPERTIES)
    assert compare(a, a.clone())[0] == ("storage",)
    assert compare(a, a.view(3, 2))[0] == ("shape", "stride")
    assert compare(a, a.flip(0))[0] == ("order", "storage")
    assert compare(a, a + 10)[0] == ("values", "order", "storage")


@pytest.mark.parametrize("sizes", SETTINGS)
def test_the_sentence_of_each_step_is_true_at_sizes_of_one_too(sizes):
    B, T, C, H = sizes
    notes = {step.key: step.note_key for step in shape_walkthrough(*sizes)}
    assert notes["chunk"] == ("chunk.contiguous" if B * T == 1 else "chunk.strided")
    assert notes["transpose"] == ("transpose.same" if 1 in (T, H) else "transpose.reordered")
    assert notes["scaled"] == ("scaled.same" if C == H else "scaled.divided")
    free = 1 in (T, H)
    assert notes["back"] == ("back.contiguous" if free else "back.viewable" if C == H else "back.strided")
    assert notes["contiguous"] == ("contiguous.free" if free else "contiguous.copied")


def test_every_note_is_reachable_and_is_filled_with_the_current_numbers():
    seen = {}
    for sizes in SETTINGS:
        for step in shape_walkthrough(*sizes):
            assert step.note == NOTES[step.note_key].format(**walkthrough_numbers(*sizes))
            assert step.name == STEP_NAMES[step.key]
            seen[step.note_key] = step.note
    assert set(seen) == set(NOTES)
    assert not any("{" in note for note in seen.values())


# Sizes that are refused

@pytest.mark.parametrize("C, H, nearest", [(24, 16, 12), (1600, 48, 50), (10, 3, 2), (7, 20, 7)])
def test_a_bad_pair_is_refused_with_both_numbers_and_the_nearest_legal_h(C, H, nearest):
    with pytest.raises(ValueError) as caught:
        shape_walkthrough(1, 2, C, H)
    for part in (f"C = {C} ", f"H = {H} ", f"nearest legal H is {nearest};", f"{C} = {H} x {C // H} + {C % H}"):
        assert part in str(caught.value)
    assert C % nearest == 0


@pytest.mark.parametrize("name, at", [("B", 0), ("T", 1), ("C", 2), ("H", 3)])
@pytest.mark.parametrize("bad", [0, -1, 2.0, "2", None, True, float("nan"), 10**9])
def test_a_size_that_is_no_positive_int_within_its_limit_is_refused_by_name(name, at, bad):
    sizes = [2, 5, 12, 3]
    sizes[at] = bad
    for function in (shape_walkthrough, script, follow, wrong_view, wrong_merge, audit, head_error, merge_error,
                     chunk_equals_slicing, walkthrough_checks, walkthrough_numbers):
        with pytest.raises(ValueError, match=f"^{name}: expected an int.*got {re.escape(repr(bad))}"):
            function(*sizes)


@pytest.mark.parametrize("bad", [-1, 2**63, 0.5, "1; import os", None])
def test_a_bad_seed_is_refused_and_never_reaches_the_code(bad):
    with pytest.raises(ValueError, match="^seed: expected an int"):
        shape_walkthrough(2, 5, 12, 3, seed=bad)


def test_the_whole_cost_is_bounded_before_anything_is_drawn():
    with pytest.raises(ValueError, match=r"need \d+\.\d MiB, expected at most 64 MiB"):
        shape_walkthrough(MAX_B, MAX_T, MAX_C, MAX_H)
    assert check_sizes(1, 4, 1600, 50) == (1, 4, 1600, 50)


@pytest.mark.parametrize("sizes", [(2, 5, 12, 3), (4, 128, 64, 8), (1, 2, 256, 4)])
def test_the_announced_bytes_cover_the_bytes_really_held(sizes):
    tensors = walkthrough_tensors(*sizes)
    storages = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors.values()}
    copies = 3 * 4 * sizes[0] * sizes[1] * sizes[2]  # q, k, v, which matmul makes contiguous for itself
    assert sum(storages.values()) <= total_bytes(*sizes) <= sum(storages.values()) + 2 * copies
    assert total_bytes(*sizes) <= MAX_BYTES


@pytest.mark.parametrize("C", [1, 2, 7, 12, 97, 1600])
def test_the_legal_heads_are_exactly_the_divisors(C):
    assert [H for H in range(1, C + 1) if H in legal_heads(C)] == [H for H in range(1, C + 1) if C / H == C // H]


def test_of_two_equally_near_legal_heads_the_smaller_is_named():
    assert nearest_legal(12, 5) == 4  # 4 and 6
    assert nearest_legal(9, 2) == 1  # 1 and 3
    assert nearest_legal(12, 3) == 3
    assert nearest_legal(12, 100) == 12


def test_a_bad_h_shows_the_text_torch_raises_and_the_reason_in_numbers():
    error = head_error(2, 5, 10, 3)
    assert error.message == "shape '[2, 5, 3, -1]' is invalid for input of size 100"
    assert error.floor_message == "shape '[2, 5, 3, 3]' is invalid for input of size 100"
    assert (error.quotient, error.remainder) == (3, 1)
    assert (error.row_elements, error.row_used, error.numel, error.numel_used) == (10, 9, 100, 90)
    assert (error.legal, error.nearest) == ((1, 2, 5, 10), 2)


@pytest.mark.parametrize("C, H", list(product((1, 6, 7, 10, 24), (1, 2, 3, 5, 16, 30))))
def test_torch_refuses_exactly_the_heads_that_do_not_divide(C, H):
    error = head_error(3, 2, C, H)
    assert (error.message is None) == (error.floor_message is None) == (C % H == 0)
    with_q = {"q": torch.zeros(3, 2, C)}
    for code, message in ((error.code, error.message), (error.floor_code, error.floor_message)):
        if message is None:
            eval(code, with_q)
        else:
            with pytest.raises(RuntimeError, match=re.escape(message)):
                eval(code, with_q)


# An element followed

@pytest.mark.parametrize("which", ["q", "k", "v"])
@pytest.mark.parametrize("sizes", ODD + [(2, 7, 12, 4)])
def test_a_followed_element_is_read_back_from_raw_memory_at_every_step(sizes, which):
    B, T, C, H = sizes
    tensors = walkthrough_tensors(*sizes, seed=2)
    for b, t, c in {(0, 0, 0), (B - 1, T - 1, C - 1), (B // 2, T // 2, C // 2)}:
        steps = follow(*sizes, seed=2, b=b, t=t, c=c, which=which)
        assert tuple(step.key for step in steps) == STEP_KEYS
        for step in steps:
            tensor = tensors[step.tensor]
            assert step.verified
            assert step.role in ROLES
            assert step.value == tensor[step.index].item()
            flat = torch.empty(0).set_(tensor.untyped_storage())  # the memory as one long row
            assert flat[step.offset].item() == step.value
            assert step.byte_offset == 4 * step.offset
        elements = [step for step in steps if step.role == "element"]
        assert {step.value for step in elements} == {tensors[which][b, t, c].item()}
        assert {step.offset for step in elements} == {(b * T + t) * 3 * C + "qkv".index(which) * C + c}


def test_the_address_stays_through_the_views_and_moves_only_where_numbers_are_copied_or_made():
    steps = {step.key: step for step in follow(2, 5, 12, 3, seed=42, b=1, t=2, c=7, which="k")}
    assert steps["qkv"].index == (1, 2, 19) and steps["qkv"].offset == 180 + 72 + 19
    assert steps["chunk"].index == (1, 2, 7)
    assert steps["split"].index == (1, 2, 1, 3)
    assert steps["transpose"].index == (1, 1, 2, 3)
    assert steps["scores"].index == steps["weights"].index == (1, 1, 2, 2)
    assert steps["concat"].index == steps["output"].index == (1, 2, 7)
    kept = {key for key, step in steps.items() if step.same_storage}
    assert kept == {"chunk", "split", "transpose", "back", "concat"}


@pytest.mark.parametrize("which", ["q", "k", "v"])
def test_an_element_reaches_exactly_the_numbers_that_move_when_it_moves(which):
    B, T, C, H = 2, 3, 10, 5
    D, (b, t, c) = C // H, (1, 2, 7)
    tensors = walkthrough_tensors(B, T, C, H, seed=4)

    def run(parts):
        q, k, v = (parts[name].view(B, T, H, D).transpose(1, 2) for name in "qkv")
        scores = q @ k.transpose(-2, -1)
        weights = torch.softmax(scores / D ** 0.5, dim=-1)
        heads = weights @ v
        back = heads.transpose(1, 2)
        concat = back.reshape(B, T, C)
        return dict(scores=scores, scaled=scores / D ** 0.5, weights=weights, heads=heads, back=back, packed=back,
                    concat=concat, output=concat @ tensors["W_o"].T)

    moved = {name: tensors[name].clone().double() for name in "qkv"}
    tensors["W_o"] = tensors["W_o"].double()
    still = run(moved)
    moved[which][b, t, c] += 0.1
    after = run(moved)
    for step in follow(B, T, C, H, seed=4, b=b, t=t, c=c, which=which)[5:]:
        touched = (after[step.tensor] - still[step.tensor]).abs() > 1e-12
        reach = torch.zeros_like(touched)
        if step.reach:
            eval(step.reach, {step.tensor: reach}).fill_(True)
        assert torch.equal(touched, reach), f"{step.key}: {step.reach} against {touched.nonzero().tolist()}"
        assert step.reach_size == int(reach.sum())


def test_the_input_row_is_what_makes_the_element():
    first = follow(2, 3, 10, 5, b=1, t=2, c=7)[0]
    assert (first.role, first.reach, first.reach_size) == ("source", "x[1, 2, :]", 10)
    tensors = walkthrough_tensors(2, 3, 10, 5)
    _assert_close(tensors["q"][1, 2, 7], tensors["x"][1, 2, :] @ tensors["W_qkv"][7])


@pytest.mark.parametrize("choice, message", [
    ({"b": 2}, "b: expected an int from 0 to 1, got 2"), ({"t": -1}, "t: expected an int from 0 to 4, got -1"),
    ({"c": 12}, "c: expected an int from 0 to 11, got 12"), ({"c": 1.0}, "c: expected an int, got 1.0"),
    ({"which": "z"}, "which: expected 'q', 'k' or 'v', got 'z'"),
])
def test_an_element_that_does_not_exist_is_refused(choice, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        follow(2, 5, 12, 3, **choice)


# Chunk and slicing, right and wrong order, fused and separate

@pytest.mark.parametrize("sizes", ODD)
def test_chunk_gives_the_slices_and_copies_nothing(sizes):
    B, T, C, H = sizes
    qkv = walkthrough_tensors(*sizes, seed=6)["qkv"]
    parts = chunk_equals_slicing(*sizes, seed=6)
    assert [part.part for part in parts] == ["q", "k", "v"]
    for n, part in enumerate(parts):
        assert part.largest_difference == 0 and part.shares_memory
        assert part.storage_offset == n * C
        namespace = {"qkv": qkv}
        exec(part.slice_code, namespace)
        sliced = namespace[part.part]
        exec(part.chunk_code, namespace)
        assert torch.equal(namespace[part.part], sliced) and sliced.stride() == part.stride


@pytest.mark.parametrize("sizes", SETTINGS)
def test_splitting_and_merging_the_heads_in_the_right_order_is_the_identity(sizes):
    check = wrong_merge(*sizes, seed=9)
    assert check.round_trip
    assert torch.equal(check.right, walkthrough_tensors(*sizes, seed=9)["q"])


@pytest.mark.parametrize("check_order", [wrong_view, wrong_merge])
@pytest.mark.parametrize("sizes", SETTINGS)
def test_the_wrong_order_scrambles_the_share_a_closed_form_gives(sizes, check_order):
    B, T, C, H = sizes
    check = check_order(*sizes, seed=9)
    in_place = H * T if 1 in (H, T) else math.gcd(T - 1, H - 1) + 1
    assert check.misplaced_share == pytest.approx(1 - in_place / (H * T))
    assert check.misplaced_count == int(check.misplaced.sum())
    assert check.equal == (1 in (H, T)) == torch.equal(check.right, check.wrong) == (check.first is None)
    assert check.right.shape == check.wrong.shape


@pytest.mark.parametrize("check_order", [wrong_view, wrong_merge])
@pytest.mark.parametrize("sizes", ODD)
def test_each_wrong_entry_is_traced_to_the_token_and_channel_it_came_from(sizes, check_order):
    q = walkthrough_tensors(*sizes, seed=9)["q"]
    check = check_order(*sizes, seed=9)
    for index in product(*map(range, check.wrong.shape)):
        assert check.wrong[index] == q[(index[0], *check.source[index].tolist())]
        assert check.right[index] == q[(index[0], *check.expected[index].tolist())]
    if check.first:
        assert check.wrong[check.first.index].item() == check.first.value
        assert check.right[check.first.index].item() == check.first.right_value
        assert check.first.came_from != check.first.belongs
        before = [i for i in product(*map(range, check.wrong.shape)) if i < check.first.index]
        assert not any(check.misplaced[i] for i in before)


@pytest.mark.parametrize("check_order", [wrong_view, wrong_merge])
@pytest.mark.parametrize("sizes", [(2, 5, 12, 3), (1, 2, 3, 1), (2, 3, 12, 3)])
def test_the_code_of_both_orders_makes_the_tensors_on_show(sizes, check_order):
    tensors, check = walkthrough_tensors(*sizes), check_order(*sizes)
    assert torch.equal(eval(check.right_code, dict(tensors)), check.right)
    assert torch.equal(eval(check.wrong_code, dict(tensors)), check.wrong)


def test_the_wrong_split_follows_its_formula():
    B, T, C, H = 2, 5, 12, 3
    D, source = C // H, wrong_view(B, T, C, H).source
    for h, t, d in product(range(H), range(T), range(D)):
        assert source[0, h, t, d].tolist() == [(h * T + t) // H, (h * T + t) % H * D + d]


def test_a_bare_view_usually_refuses_the_wrong_split_but_lets_it_through_when_t_equals_h():
    assert "view size is not compatible" in wrong_view(2, 5, 12, 3).view_error
    silent = wrong_view(2, 3, 12, 3)
    assert silent.view_error is None and not silent.equal


def test_two_wrong_orders_cancel_so_a_round_trip_alone_does_not_show_them():
    assert wrong_merge(2, 5, 12, 3).wrong_round_trip
    assert not wrong_merge(2, 5, 12, 3).equal


def test_merging_without_contiguous_shows_the_text_torch_raises():
    error = merge_error()
    assert error.message.startswith("view size is not compatible with input tensor's size and stride")
    assert (error.shape, error.stride, error.contiguous) == ((2, 5, 3, 4), (60, 4, 20, 1), False)
    with pytest.raises(RuntimeError, match=re.escape(error.message)):
        eval(error.code, walkthrough_tensors(2, 5, 12, 3))


@pytest.mark.parametrize("sizes", SETTINGS)
def test_merging_without_contiguous_goes_through_only_where_an_axis_has_size_one(sizes):
    B, T, C, H = sizes
    assert (merge_error(*sizes).message is None) == (1 in (T, H, C // H))


@pytest.mark.parametrize("C", [1, 3, 12, 64, 257])
def test_the_fused_projection_has_the_parameters_and_the_outputs_of_three_separate_ones(C):
    check = fused_vs_separate(C, seed=1)
    assert check.fused_parameters == 3 * C * C and check.separate_parameters == (C * C,) * 3
    assert check.equal_parameters
    assert check.largest_difference == max(check.difference_q, check.difference_k, check.difference_v) < 2e-6


# The audit

@pytest.mark.parametrize("sizes", ODD)
def test_the_audit_lists_every_object_with_its_real_size(sizes):
    tensors = walkthrough_tensors(*sizes)
    rows = audit(*sizes)
    assert [row.symbol for row in rows] == "X W_qkv Q K V scores weights heads concat W_o output".split()
    for row in rows:
        tensor = tensors[row.tensor]
        assert row.shape == str(tuple(tensor.shape))
        assert (row.numel, row.bytes) == (tensor.numel(), 4 * tensor.numel())
        assert row.space_numbers.endswith("^{" + "×".join(map(str, tensor.shape)) + "}")
    used = sum(step.parameters for step in shape_walkthrough(*sizes))
    assert sum(row.parameters for row in rows) == used == 4 * sizes[2] ** 2
    spaces = {row.symbol: row.space for row in rows}
    assert spaces["X"] == "R^{B×T×C}" and spaces["weights"] == "[0, 1]^{B×H×T×T}"


def test_names_and_codes_are_ascii_tokens():
    for token in (*STEP_KEYS, *PROPERTIES, *ROLES, *(row.purpose for row in audit(2, 5, 12, 3))):
        assert re.fullmatch("[a-z]+", token)
    assert all(re.fullmatch("[a-z]+([.][a-z]+)?", key) for key in NOTES)
    assert set(STEP_NAMES) == set(STEP_KEYS)
    assert shapes.__doc__


# What the page draws

@pytest.mark.parametrize("sizes", SETTINGS)
def test_the_memory_picture_marks_exactly_the_numbers_that_the_tensor_reaches(sizes):
    B, T, C, H = sizes
    b, t, c = B - 1, T // 2, C - 1
    for which in "qkv":
        tensors = walkthrough_tensors(*sizes, seed=3)
        for step, here in zip(shape_walkthrough(*sizes, seed=3), follow(*sizes, seed=3, b=b, t=t, c=c, which=which)):
            tensor = tensors[here.tensor]
            storage = step.storage_bytes // 4
            flat = torch.zeros(storage, dtype=torch.int64)
            mine = flat.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())
            mine.fill_(1)
            mine[*here.index[:-2], :, here.index[-1]] = 2
            mine[*here.index[:-1], :] = 3
            mine[here.index] = 4
            window = shapes.memory_window(
                tuple(tensor.shape), tensor.stride(), tensor.storage_offset(), storage, here.index, 10**6, 10**6
            )
            codes = {"other": 0, "tensor": 1, "column": 2, "row": 3, "element": 4}
            assert [position for position, _ in window.parts] == list(range(storage))
            assert [codes[part] for _, part in window.parts] == flat.tolist(), (which, step.key)


@pytest.mark.parametrize("sizes", SETTINGS)
def test_a_small_window_holds_the_element_and_stays_inside_memory(sizes):
    for step, here in zip(shape_walkthrough(*sizes), follow(*sizes)):
        storage = step.storage_bytes // 4
        window = shapes.memory_window(step.shape, step.stride, step.storage_offset, storage, here.index, 3, 5)
        parts = dict(window.parts)
        assert parts[here.offset] == "element"
        assert len(window.parts) <= window.lines * window.places <= 15
        assert all(0 <= position < storage for position in parts)
        assert window.first_line * window.line_length <= here.offset


def test_the_axes_flow_from_step_to_step_and_none_is_lost():
    steps = shape_walkthrough(2, 5, 12, 3)
    flows = {now.key: shapes.axis_flow(was.axes, now.axes) for was, now in zip(steps, steps[1:])}
    same3, same4 = ((0, 0), (1, 1), (2, 2)), ((0, 0), (1, 1), (2, 2), (3, 3))
    crossed = ((0, 0), (1, 2), (2, 1), (3, 3))
    assert flows == {
        "qkv": same3,
        "chunk": same3,
        "split": (*same3, (2, 3)),
        "transpose": crossed,
        "scores": (*same3, (3, None), (None, 3)),  # D is summed away, the keys come in
        "scaled": same4,
        "weights": same4,
        "heads": (*same3, (3, None), (None, 3)),  # the keys are summed away, D comes in with v
        "back": crossed,
        "contiguous": same4,
        "concat": (*same3, (3, 2)),
        "output": same3,
    }


@pytest.mark.parametrize("sizes", [(64, 512, 16, 1), (2, 5, 2048, 4), (1, 512, 512, 64), (64, 512, 2048, 2048)])
def test_the_sizes_offered_instead_fit_and_the_next_larger_ones_do_not(sizes):
    assert total_bytes(*sizes) > MAX_BYTES
    offered = shapes.fitting(*sizes)
    for name, size in offered.items():
        tried = {**dict(zip("BTCH", sizes)), name: size}
        check_sizes(**tried)
        larger = (s for s in range(size + 1, dict(zip("BTCH", sizes))[name]))
        for s in larger:
            with pytest.raises(ValueError):
                check_sizes(**{**tried, name: s})
    assert offered or sizes == (64, 512, 2048, 2048)  # there no single size is enough


@pytest.mark.parametrize("key", STEP_KEYS)
def test_a_window_of_long_lines_still_shows_the_numbers_above_and_below(key):
    steps = dict(zip(STEP_KEYS, zip(shape_walkthrough(1, 60, 256, 4), follow(1, 60, 256, 4, t=30, c=70))))
    step, here = steps[key]
    window = shapes.memory_window(step.shape, step.stride, 0, step.storage_bytes // 4, here.index, 8, 36)
    assert {"element", "row", "column"} <= {part for _, part in window.parts}
    assert window.line_length == max(step.stride[1:]) or window.line_length == step.stride[-2]
