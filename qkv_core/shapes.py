"""Anatomy of a tensor: where each axis of multi-head attention goes, step by step, every step really executed.

    (B, T, C) -> W_qkv -> (B, T, 3C) -> chunk -> q, k, v (B, T, C) -> view (B, T, H, D) -> transpose (B, H, T, D)
    -> scores (B, H, T, T) -> / sqrt(D) -> softmax -> @ v (B, H, T, D)
    -> transpose (B, T, H, D) -> contiguous -> view (B, T, C) -> W_o -> (B, T, C)

Symbols: B batch, T tokens, C width (d_model), H heads, D = C / H width of one head.

The lines of code on show are the lines that run: `_plan` writes them with the current numbers, `walkthrough_tensors`
executes exactly these strings, and every shape, stride and byte count is then read off the tensors they made.

Randomness: one private generator a seed draws x, then W_qkv, then W_o, each weight as `torch.nn.Linear` would
(kaiming_uniform_ with a = sqrt(5), no bias). That is the order of the anatomy notebook, so
`shape_walkthrough(2, 5, 12, 3, seed=42)` shows the notebook's own numbers without touching the global stream.
"""

import operator
import struct
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

MAX_B = 64
MAX_T = 512
MAX_C = 2048
MAX_H = 2048
MAX_BYTES = 64 * 2**20  # every tensor of one walkthrough together

STEP_KEYS = (
    "x", "qkv", "chunk", "split", "transpose", "scores", "scaled", "weights", "heads",
    "back", "contiguous", "concat", "output",
)
PROPERTIES = ("shape", "stride", "contiguity", "numel", "values", "order", "storage")
ROLES = ("source", "element", "term", "scaled", "normalised", "waiting", "mixed", "carried", "spread")
MEMORY_PARTS = ("element", "row", "column", "tensor", "other")

STEP_NAMES = {
    "x": "Input",
    "qkv": "One projection for all three",
    "chunk": "Cut into q, k and v",
    "split": "Split the channels into heads",
    "transpose": "Bring the heads forward",
    "scores": "Every query meets every key",
    "scaled": "Divide by sqrt(D)",
    "weights": "Softmax over the keys",
    "heads": "Mix the values",
    "back": "Bring the tokens forward again",
    "contiguous": "Rewrite memory in reading order",
    "concat": "Merge the heads",
    "output": "Output projection",
}

# One sentence a note key. Which one holds depends on the sizes, so `note_key` is chosen from the executed tensors.
NOTES = {
    "x": "{B} sequences of {T} tokens, each token a row of {C} numbers.",
    "qkv": "One weight of {three_C} x {C} turns each row of {C} numbers into {three_C}: q, k and v side by side.",
    "chunk.strided": "Nothing is copied: q, k and v look into the same memory, where one row still starts {three_C} "
                     "numbers after the one before, so none of them is contiguous.",
    "chunk.contiguous": "Nothing is copied: q, k and v look into the same memory, and with a single row there is no "
                        "gap to jump over, so each counts as contiguous.",
    "split": "The {C} channels of a token are read as {H} heads of {D}; no number moves.",
    "transpose.reordered": "Axes 1 and 2 change places by swapping two strides; the memory stays as it was, but "
                           "reading along the shape now meets the numbers in another order.",
    "transpose.same": "Axes 1 and 2 change places, but one of them has size 1, so even the reading order stays.",
    "scores": "In each head, every query row meets every key row: a dot product of {D} terms for each of the "
              "{T} x {T} pairs.",
    "scaled.divided": "Every score is divided by sqrt({D}) = {root:.4g}; the shape stays.",
    "scaled.same": "sqrt(1) = 1, so with heads one number wide the division changes nothing.",
    "weights": "Each row of {T} scores becomes {T} weights that are not negative and add up to 1.",
    "heads": "Each output row is the weighted mean of the {T} value rows of its head: the key axis is summed away.",
    "back.strided": "The token axis returns to place 1 by swapping strides again; a head's numbers now lie apart from "
                    "the next head's, and view refuses to merge them.",
    "back.viewable": "The token axis returns to place 1 by swapping strides again; the result is not contiguous, yet "
                     "each head is one number wide, so view could still merge the heads.",
    "back.contiguous": "The token axis returns to place 1; one of the two axes has size 1, so the result is still "
                       "contiguous.",
    "contiguous.copied": "The only step that copies without computing: the same numbers, written out in reading order.",
    "contiguous.free": "The numbers already lie in reading order, so nothing is copied.",
    "concat": "The {H} heads of {D} are read as {C} channels again; no number moves.",
    "output": "A matrix of {C} x {C} mixes the heads; the shape is that of the input, so layers can be stacked.",
}


@dataclass(frozen=True)
class ShapeStep:
    """One executed step: what ran, and what the resulting tensor is like.

    name, note : English; translate by `key` and `note_key` (see `STEP_NAMES`, `NOTES`, `walkthrough_numbers`)
    code : the exact lines that were executed
    shape, stride : tuples of int, stride in elements
    contiguous : bool, `Tensor.is_contiguous()`
    key : one of `STEP_KEYS`
    note_key : one of `NOTES`; the step's key, with a case after a dot where the sentence depends on the sizes
    tensor : the variable of `code` that is described (q stands for q, k and v)
    axes : the names of its axes, such as ("B", "T", "H", "D")
    numel, bytes : elements of this tensor, and what they take
    storage_bytes, storage_offset : size of the memory it looks into (bytes), and where it begins (elements)
    parameters : learned numbers this step uses, 0 for none
    shares_memory_with_previous : bool, the same storage as the step before
    changed, preserved : `PROPERTIES`, by comparison with the step before; see `compare`
    """

    name: str
    code: str
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    contiguous: bool
    note: str
    key: str
    note_key: str
    tensor: str
    axes: tuple[str, ...]
    numel: int
    bytes: int
    storage_bytes: int
    storage_offset: int
    parameters: int
    shares_memory_with_previous: bool
    changed: tuple[str, ...]
    preserved: tuple[str, ...]


@dataclass(frozen=True)
class FollowStep:
    """Where the chosen element is at one step.

    key, tensor, axes : as in `ShapeStep`, with k or v in place of q where that one is followed
    index : the position in that tensor
    offset, byte_offset : storage_offset + sum(index * stride), in elements and in bytes
    value : the number there
    role : one of `ROLES`; see `follow`
    reach, reach_size : the part of the tensor the element touches, as code, and how many numbers that is
    same_storage : bool, the same memory as the step before
    verified : bool, the four bytes read from the raw storage at `byte_offset` are `value`
    """

    key: str
    tensor: str
    axes: tuple[str, ...]
    index: tuple[int, ...]
    offset: int
    byte_offset: int
    value: float
    role: str
    reach: str
    reach_size: int
    same_storage: bool
    verified: bool


@dataclass(frozen=True)
class MemoryWindow:
    """A part of a tensor's flat memory, written in lines.

    start : position of the tensor's first element
    line_length : numbers a line holds: the largest stride inside one sequence, so that the axis with that stride runs
        straight down; where such a line is too long for the window, the stride of the axis before the last
    total_lines : lines the whole memory fills
    first_line, lines : the lines in the window
    first_place, places : the places of a line in the window
    parts : for each (line, place) of the window in reading order, its position in memory, and one of `MEMORY_PARTS`:
        the element; its row (along the last axis); its column (along the axis before); else of the tensor; or memory
        that the tensor does not reach
    """

    start: int
    line_length: int
    total_lines: int
    first_line: int
    lines: int
    first_place: int
    places: int
    parts: tuple[tuple[int, str], ...]


@dataclass(frozen=True)
class HeadError:
    """Why C channels do, or do not, split into H heads, with the text torch really raised (None if it did not).

    code, message : the view with -1 for the width of a head
    floor_code, floor_message : the same with C // H written out
    quotient, remainder : C // H and C % H
    row_elements, row_used : C, and H * (C // H), the channels of a token that would find a place
    numel, numel_used : the same for the whole tensor, B * T * C and B * T * H * (C // H)
    legal, nearest : every legal H, and the nearest
    """

    B: int
    T: int
    C: int
    H: int
    code: str
    message: str | None
    floor_code: str
    floor_message: str | None
    quotient: int
    remainder: int
    row_elements: int
    row_used: int
    numel: int
    numel_used: int
    legal: tuple[int, ...]
    nearest: int


@dataclass(frozen=True)
class ChunkPart:
    """One of q, k, v made by chunk, beside the same made by slicing.

    largest_difference : float, between the two
    shares_memory : bool, both look into the memory of qkv and begin at the same place
    storage_offset : int, where the chunk begins, in elements
    """

    part: str
    chunk_code: str
    slice_code: str
    largest_difference: float
    shares_memory: bool
    storage_offset: int
    stride: tuple[int, ...]


@dataclass(frozen=True)
class Misplaced:
    """One element in the wrong place: at `index` lies (token, channel) `came_from` where `belongs` should be."""

    index: tuple[int, ...]
    came_from: tuple[int, int]
    belongs: tuple[int, int]
    value: float
    right_value: float


@dataclass(frozen=True, eq=False)
class OrderCheck:
    """The right order of operations beside the wrong one.

    right, wrong : tensors of one shape, (B, H, T, D) for a split and (B, T, C) for a merge
    source : int64, that shape + (2,), the (token, channel) of q that each entry of `wrong` really holds
    expected : the same for `right`
    misplaced : bool, that shape, True where the two differ
    misplaced_count, misplaced_share : int, and float in [0, 1]
    first : the first misplaced element in reading order, or None
    equal : bool, nothing is misplaced (for a split or a merge: H = 1 or T = 1)
    view_error : what torch raises for the wrong step written as a bare `view`, or None where it goes through
    round_trip : bool, for a merge, split then merge in the right order gives back q bit for bit; None for a split
    wrong_round_trip : bool, for a merge, wrong split then wrong merge gives back q: the two mistakes cancel, so a
        round trip alone does not show them; None for a split
    """

    right_code: str
    wrong_code: str
    right: Tensor
    wrong: Tensor
    source: Tensor
    expected: Tensor
    misplaced: Tensor
    misplaced_count: int
    misplaced_share: float
    first: Misplaced | None
    equal: bool
    view_error: str | None
    round_trip: bool | None = None
    wrong_round_trip: bool | None = None


@dataclass(frozen=True)
class MergeError:
    """What torch says to `view` on the transposed heads: `message`, or None where it goes through."""

    code: str
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    contiguous: bool
    message: str | None


@dataclass(frozen=True)
class FusedCheck:
    """One Linear(C, 3C) beside three Linear(C, C) made of its rows; differences are the largest, of each output."""

    C: int
    fused_parameters: int
    separate_parameters: tuple[int, int, int]
    equal_parameters: bool
    difference_q: float
    difference_k: float
    difference_v: float
    largest_difference: float


@dataclass(frozen=True)
class AuditRow:
    """One object of the layer: `space` in symbols, `space_numbers` and `shape` with the sizes, `purpose` a code."""

    symbol: str
    tensor: str
    space: str
    space_numbers: str
    shape: str
    numel: int
    bytes: int
    parameters: int
    purpose: str


@dataclass(frozen=True)
class WalkthroughChecks:
    """Largest differences between the walkthrough and independent references.

    sdpa_difference : `heads` against `torch.nn.functional.scaled_dot_product_attention`
    row_sum_difference : the sums of the weights' rows against 1
    merge_identity : bool, split then merge gives back q bit for bit
    """

    sdpa_difference: float
    row_sum_difference: float
    merge_identity: bool


@dataclass(frozen=True)
class _Line:
    key: str
    tensor: str
    axes: tuple[str, ...]
    code: str
    parameter: str | None = None


def legal_heads(C: int) -> tuple[int, ...]:
    """Every H that divides C, ascending.

    Args: C : int, 1 to MAX_C.
    Raises: ValueError for any other C.
    """
    C = _size("C", C, MAX_C)
    return tuple(H for H in range(1, C + 1) if C % H == 0)


def nearest_legal(C: int, H: int) -> int:
    """The divisor of C nearest to H; of two equally near, the smaller (the wider heads).

    Args: C : int, 1 to MAX_C; H : int, any.
    Raises: ValueError if either is not an int, or C is out of range.
    """
    H = _integer("H", H)
    return min(legal_heads(C), key=lambda legal: (abs(legal - H), legal))


def total_bytes(B: int, T: int, C: int, H: int) -> int:
    """The memory one walkthrough takes, in bytes: its tensors, and the copies matmul makes of q, k and v.

    4 * (4 C^2 + 10 B T C + 3 B H T^2)
    """
    return 4 * (4 * C * C + 10 * B * T * C + 3 * B * H * T * T)


def check_sizes(B: int, T: int, C: int, H: int) -> tuple[int, int, int, int]:
    """(B, T, C, H) as plain ints, if one can split C into H heads within the limits.

    Raises: ValueError naming the size that is no positive int or above its limit; C, H and the nearest legal H where
        H does not divide C; the bytes needed and `MAX_BYTES` where the whole is too large.
    """
    B, T, C, H = _sizes(B, T, C, H)
    if C % H:
        raise ValueError(
            f"C = {C} channels do not split into H = {H} heads: {C} = {H} x {C // H} + {C % H}. "
            f"The nearest legal H is {nearest_legal(C, H)}; legal: {', '.join(map(str, legal_heads(C)))}."
        )
    needed = total_bytes(B, T, C, H)
    if needed > MAX_BYTES:
        raise ValueError(
            f"B = {B}, T = {T}, C = {C}, H = {H} need {needed / 2**20:.1f} MiB, "
            f"expected at most {MAX_BYTES / 2**20:.0f} MiB: make one of them smaller."
        )
    return B, T, C, H


def fitting(B: int, T: int, C: int, H: int) -> dict[str, int]:
    """For each size that alone can bring the whole under `MAX_BYTES`: the largest smaller value that does.

    C keeps dividing by H where it did, and H stays a divisor of C where it was one; a size with no such value is
    absent.

    Args: B, T, C, H : int, up to MAX_B, MAX_T, MAX_C, MAX_H.
    Raises: ValueError for other sizes.
    """
    sizes = dict(zip("BTCH", _sizes(B, T, C, H)))
    divides = C % H == 0
    found = {}
    for name, size in sizes.items():
        for smaller in range(size - 1, 0, -1):
            tried = {**sizes, name: smaller}
            if total_bytes(**tried) <= MAX_BYTES and (not divides or tried["C"] % tried["H"] == 0):
                found[name] = smaller
                break
    return found


def axis_flow(before: tuple[str, ...], after: tuple[str, ...]) -> tuple[tuple[int | None, int | None], ...]:
    """Where each axis of one step goes in the next: pairs (place before, place after).

    C becomes 3C and back, C splits into H and D, H and D merge into C. (place, None) is an axis that is summed away,
    (None, place) one that comes in with the other factor of a product.

    Args: before, after : the `axes` of two steps that follow each other.
    """
    parts = {"3C": ("C", "3C"), "C": ("C", "3C", "H", "D"), "H": ("H", "C"), "D": ("D", "C")}
    pairs = []
    for i, name in enumerate(before):
        # a second T (the keys) is its own axis: it meets the second T of the other step, not the first
        order = before[:i].count(name)
        same = [j for j, other in enumerate(after) if other == name and after[:j].count(name) == order]
        wider = [j for j, other in enumerate(after) if other in parts.get(name, ())]
        pairs += [(i, j) for j in same or wider] or [(i, None)]
    reached = {j for _, j in pairs}
    return (*pairs, *((None, j) for j in range(len(after)) if j not in reached))


def memory_window(
    shape: tuple[int, ...], stride: tuple[int, ...], start: int, storage: int, index: tuple[int, ...],
    lines: int = 8, places: int = 40,
) -> MemoryWindow:
    """The memory around one element of a tensor, and what each number there is to it.

    Args:
        shape, stride, start : of the tensor (start = storage_offset), all in elements; no two indices at one position
        storage : elements of its memory
        index : the element
        lines, places : at most so many are kept, around the element
    """
    at = start + sum(i * step for i, step in zip(index, stride))
    inner = [step for size, step in zip(shape[1:-1], stride[1:-1]) if size > 1]
    length = max([*inner, shape[-1] * stride[-1]])
    if length > places and shape[-2] > 1 and stride[-2] >= shape[-1] * stride[-1]:
        length = stride[-2]
    total = -(-storage // length)
    first_line, lines = _around(at // length, total, lines)
    first_place, places = _around(at % length, length, places)
    row = {at + (i - index[-1]) * stride[-1] for i in range(shape[-1])}
    column = {at + (i - index[-2]) * stride[-2] for i in range(shape[-2])}

    def part(position: int) -> str:
        if position == at:
            return "element"
        if position in row:
            return "row"
        if position in column:
            return "column"
        return "tensor" if _reaches(shape, stride, position - start) else "other"

    window = (
        line * length + place
        for line in range(first_line, first_line + lines)
        for place in range(first_place, first_place + places)
    )
    cells = tuple((position, part(position)) for position in window if position < storage)
    return MemoryWindow(start, length, total, first_line, lines, first_place, places, cells)


def walkthrough_numbers(B: int, T: int, C: int, H: int) -> dict[str, int | float]:
    """The numbers that the sentences of `NOTES` name: B, T, C, H, D, three_C and root = sqrt(D).

    Raises: ValueError as `check_sizes`.
    """
    B, T, C, H = check_sizes(B, T, C, H)
    return {"B": B, "T": T, "C": C, "H": H, "D": C // H, "three_C": 3 * C, "root": (C // H) ** 0.5}


def walkthrough_tensors(B: int, T: int, C: int, H: int, seed: int = 0) -> dict[str, Tensor]:
    """Every tensor of the walkthrough by the name it has in the code.

    Args:
        B, T, C, H : int, up to MAX_B, MAX_T, MAX_C, MAX_H, H dividing C, `total_bytes` up to MAX_BYTES
        seed : int, 0 to 2**63 - 1
    Returns: x, W_qkv (3C, C), qkv, q, k, v, q_split, k_split, v_split, q_heads, k_heads, v_heads, scores, scaled,
        weights, heads, back, packed, concat, W_o (C, C), output; float32 on the CPU.
    Raises: ValueError as `check_sizes`, or for the seed.
    """
    return _run(_plan(B, T, C, H, seed))


def shape_walkthrough(B: int, T: int, C: int, H: int, seed: int = 0) -> tuple[ShapeStep, ...]:
    """The thirteen steps from (B, T, C) to (B, T, C), each executed and then described from its real tensor.

    Q = X W_q, K = X W_k, V = X W_v, heads = softmax(Q K^T / sqrt(D)) V, output = concat(heads) W_o

    Args: as `walkthrough_tensors`.
    Returns: one `ShapeStep` for each of `STEP_KEYS`.
    Raises: ValueError as `walkthrough_tensors`.
    Source: Vaswani et al. 2017, section 3.2.2.
    """
    plan = _plan(B, T, C, H, seed)
    numbers = walkthrough_numbers(B, T, C, H)
    tensors = _run(plan)
    previous = (None, *(tensors[line.tensor] for line in plan[:-1]))
    return tuple(_describe(line, tensors, before, numbers) for line, before in zip(plan, previous))


def script(B: int, T: int, C: int, H: int, seed: int = 0) -> str:
    """The walkthrough as one program that runs anywhere torch does and prints each step's shape and stride.

    Returns: str; each printed line is: tensor, shape, stride, is_contiguous, separated by a tab.
    Raises: ValueError as `walkthrough_tensors`.
    """
    blocks = ["import torch"]
    for number, line in enumerate(_plan(B, T, C, H, seed), start=1):
        name = line.tensor
        blocks.append(
            f"# {number}. {line.key}: ({', '.join(line.axes)})\n{line.code}\n"
            f'print("{name}", tuple({name}.shape), {name}.stride(), {name}.is_contiguous(), sep="\\t")'
        )
    return "\n\n".join(blocks) + "\n"


def compare(before: Tensor, after: Tensor) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(changed, preserved): each of `PROPERTIES`, found by comparing two tensors.

    shape, stride, contiguity, numel : equal or not
    values : preserved if every number of `after` is found in `before`
    order : preserved if reading both from start to end gives the same numbers one by one
    storage : preserved if both look into the same memory
    """
    was, now = before.reshape(-1), after.reshape(-1)
    same = {
        "shape": before.shape == after.shape,
        "stride": before.stride() == after.stride(),
        "contiguity": before.is_contiguous() == after.is_contiguous(),
        "numel": before.numel() == after.numel(),
        "values": torch.equal(was, now) or _found(now, was),
        "order": torch.equal(was, now),
        "storage": _shares_storage(before, after),
    }
    return tuple(p for p in PROPERTIES if not same[p]), tuple(p for p in PROPERTIES if same[p])


def follow(
    B: int, T: int, C: int, H: int, seed: int = 0, b: int = 0, t: int = 0, c: int = 0, which: str = "q"
) -> tuple[FollowStep, ...]:
    """Where q[b, t, c] (or k, or v) is at each step: index, memory offset, value; read back from raw memory.

    Head h = c // D, place in the head d = c % D. The role says what the index means:
        source      x: the whole row x[b, t, :] makes the element; the index is (b, t, c)
        element     qkv, chunk, split, transpose: the number itself, the same bits each time
        term        scores: one of the D terms in each score of row t (q) or of column t (k)
        scaled      scaled: the same cells, divided
        normalised  weights: softmax couples a row, so q reaches row t and k all rows of its head
        waiting     scores, scaled, weights when following v, which is not part of them; reach is empty
        mixed       heads: q reaches the row of its token, k all of its head, v its column d
        carried     back, contiguous, concat: the mixed numbers, unchanged
        spread      output: W_o spreads each reached token over its whole row
    Once the element is no longer a number of its own, the index is its token's own cell: (b, h, t, t), token t
    reading itself, in the scores and weights, and the place (b, t, c) it came from again after the merge.

    Args:
        B, T, C, H, seed : as `walkthrough_tensors`
        b, t, c : int, 0 to B-1, T-1, C-1
        which : "q", "k" or "v"
    Returns: one `FollowStep` for each of `STEP_KEYS`.
    Raises: ValueError as `walkthrough_tensors`, or naming the index or `which` and what was expected.
    """
    plan = _plan(B, T, C, H, seed)
    B, T, C, H = check_sizes(B, T, C, H)
    b, t, c = (_index(*pair) for pair in (("b", b, B), ("t", t, T), ("c", c, C)))
    if which not in ("q", "k", "v"):
        raise ValueError(f"which: expected 'q', 'k' or 'v', got {which!r}")
    tensors = _run(plan)
    places = _places(C, H, b, t, c, which)
    steps, before = [], None
    for line in plan:
        name = which + line.tensor[1:] if line.key in ("chunk", "split", "transpose") else line.tensor
        steps.append(_locate(line, name, tensors, before, *places[line.key]))
        before = tensors[name]
    return tuple(steps)


def head_error(B: int, T: int, C: int, H: int) -> HeadError:
    """What torch says when (B, T, C) is viewed as H heads, executed now, and the reason in numbers.

    C must be H * D for a whole D: C % H = 0.

    Args: B, T, C, H : int, up to MAX_B, MAX_T, MAX_C, MAX_H; H need not divide C; B * T * C * 4 up to MAX_BYTES.
    Raises: ValueError for other sizes.
    """
    B, T, C, H = _sizes(B, T, C, H)
    if 4 * B * T * C > MAX_BYTES:
        raise ValueError(f"B * T * C = {B * T * C} numbers, expected at most {MAX_BYTES // 4}")
    q = torch.zeros(B, T, C)
    quotient, remainder = divmod(C, H)
    return HeadError(
        B, T, C, H,
        code=f"q.view({B}, {T}, {H}, -1)",
        message=_view_error(q, B, T, H, -1),
        floor_code=f"q.view({B}, {T}, {H}, {quotient})",
        floor_message=_view_error(q, B, T, H, quotient),
        quotient=quotient,
        remainder=remainder,
        row_elements=C,
        row_used=H * quotient,
        numel=q.numel(),
        numel_used=B * T * H * quotient,
        legal=legal_heads(C),
        nearest=nearest_legal(C, H),
    )


def chunk_equals_slicing(B: int, T: int, C: int, H: int, seed: int = 0) -> tuple[ChunkPart, ChunkPart, ChunkPart]:
    """chunk(3, dim=-1) beside the three slices [..., :C], [..., C:2C], [..., 2C:], for q, k and v.

    Args, Raises: as `walkthrough_tensors`.
    """
    tensors = walkthrough_tensors(B, T, C, H, seed)
    qkv = tensors["qkv"]
    return tuple(_chunk_part(part, qkv, tensors[part], n * C) for n, part in enumerate("qkv"))


def wrong_view(B: int, T: int, C: int, H: int, seed: int = 0) -> OrderCheck:
    """The right split (view, then transpose) beside the wrong one (straight to (B, H, T, D)), with what it scrambles.

    Both have shape (B, H, T, D). Right: entry (h, t, d) is channel h D + d of token t. Wrong: it is number
    h T D + t D + d of the sequence, that is token (h T + t) // H, channel ((h T + t) % H) D + d. They agree where
    h (T - 1) = t (H - 1): gcd(T - 1, H - 1) + 1 of the H T rows of a sequence, or all if H = 1 or T = 1.

    q comes out of chunk non-contiguous, so a bare `view` usually raises (`view_error`); `contiguous()` or `reshape`,
    the "fix", lets the mistake through in silence.

    Args, Raises: as `walkthrough_tensors`.
    """
    q = walkthrough_tensors(B, T, C, H, seed)["q"]
    D = C // H
    return _order_check(
        q,
        right=lambda z: z.view(B, T, H, D).transpose(1, 2),
        wrong=lambda z: z.contiguous().view(B, H, T, D),
        right_code=f"q.view({B}, {T}, {H}, {D}).transpose(1, 2)",
        wrong_code=f"q.contiguous().view({B}, {H}, {T}, {D})",
        view_error=_view_error(q, B, H, T, D),
    )


def wrong_merge(B: int, T: int, C: int, H: int, seed: int = 0) -> OrderCheck:
    """The right merge of q's heads (transpose back, contiguous, view) beside reshaping without transposing.

    Both have shape (B, T, C). The right one gives back q exactly.

    Args, Raises: as `walkthrough_tensors`.
    """
    tensors = walkthrough_tensors(B, T, C, H, seed)
    q, D = tensors["q"], C // H

    def split(z):
        return z.view(B, T, H, D).transpose(1, 2)

    def merge(z):
        return z.transpose(1, 2).contiguous().view(B, T, C)

    return _order_check(
        q,
        right=lambda z: merge(split(z)),
        wrong=lambda z: split(z).reshape(B, T, C),
        right_code=f"q_heads.transpose(1, 2).contiguous().view({B}, {T}, {C})",
        wrong_code=f"q_heads.reshape({B}, {T}, {C})",
        view_error=_view_error(tensors["q_heads"], B, T, C),
        round_trip=torch.equal(merge(split(q)), q),
        wrong_round_trip=torch.equal(q.reshape(B, H, T, D).reshape(B, T, C), q),
    )


def merge_error(B: int = 2, T: int = 5, C: int = 12, H: int = 3, seed: int = 42) -> MergeError:
    """What torch says when the transposed heads are merged by `view` without `contiguous()`, executed now.

    It raises unless H = 1, T = 1 or D = 1.

    Args, Raises: as `walkthrough_tensors`; the defaults are the anatomy notebook's.
    """
    back = walkthrough_tensors(B, T, C, H, seed)["back"]
    return MergeError(
        f"back.view({B}, {T}, {C})", tuple(back.shape), back.stride(), back.is_contiguous(), _view_error(back, B, T, C)
    )


def fused_vs_separate(C: int, seed: int = 0, B: int = 2, T: int = 5) -> FusedCheck:
    """One Linear(C, 3C) against three Linear(C, C) made of its rows: parameters, and the outputs' differences.

    3 C^2 = C^2 + C^2 + C^2; the outputs are the same up to the order of the sums.

    Args: C, B, T : int, as `walkthrough_tensors` with H = 1; seed : int.
    Raises: ValueError as `walkthrough_tensors`.
    """
    tensors = walkthrough_tensors(B, T, C, 1, seed)
    fused = _linear(tensors["W_qkv"])
    separate = [_linear(rows) for rows in tensors["W_qkv"].chunk(3, dim=0)]
    with torch.no_grad():
        pairs = zip(fused(tensors["x"]).chunk(3, dim=-1), (layer(tensors["x"]) for layer in separate))
        differences = [_largest_difference(one, other) for one, other in pairs]
    counts = tuple(_count(layer) for layer in separate)
    return FusedCheck(C, _count(fused), counts, _count(fused) == sum(counts), *differences, max(differences))


def audit(B: int, T: int, C: int, H: int, seed: int = 0) -> tuple[AuditRow, ...]:
    """The objects of the layer in order of use, their space, size and purpose; sizes read off the executed tensors.

    Args, Raises: as `walkthrough_tensors`.
    Returns: rows for X, W_qkv, Q, K, V, scores, weights, heads, concat, W_o, output; `shape` is text, and `purpose`
        one of input, project, ask, offer, carry, compare, share, mix, join, recombine, result.
    """
    tensors = walkthrough_tensors(B, T, C, H, seed)
    rows = (
        ("X", "x", ("B", "T", "C"), "input"),
        ("W_qkv", "W_qkv", ("3C", "C"), "project"),
        ("Q", "q_heads", ("B", "H", "T", "D"), "ask"),
        ("K", "k_heads", ("B", "H", "T", "D"), "offer"),
        ("V", "v_heads", ("B", "H", "T", "D"), "carry"),
        ("scores", "scaled", ("B", "H", "T", "T"), "compare"),
        ("weights", "weights", ("B", "H", "T", "T"), "share"),
        ("heads", "heads", ("B", "H", "T", "D"), "mix"),
        ("concat", "concat", ("B", "T", "C"), "join"),
        ("W_o", "W_o", ("C", "C"), "recombine"),
        ("output", "output", ("B", "T", "C"), "result"),
    )
    return tuple(_audit_row(symbol, name, tensors[name], axes, purpose) for symbol, name, axes, purpose in rows)


def walkthrough_checks(B: int, T: int, C: int, H: int, seed: int = 0) -> WalkthroughChecks:
    """How far the walkthrough is from torch's own attention, from rows that add up to 1, and from a clean merge.

    Args, Raises: as `walkthrough_tensors`.
    """
    tensors = walkthrough_tensors(B, T, C, H, seed)
    q, k, v = (tensors[f"{part}_heads"] for part in "qkv")
    sums = tensors["weights"].sum(dim=-1)
    return WalkthroughChecks(
        sdpa_difference=_largest_difference(tensors["heads"], F.scaled_dot_product_attention(q, k, v)),
        row_sum_difference=_largest_difference(sums, torch.ones_like(sums)),
        merge_identity=torch.equal(q.transpose(1, 2).contiguous().view(B, T, C), tensors["q"]),
    )


def _plan(B: int, T: int, C: int, H: int, seed: int) -> tuple[_Line, ...]:
    """The lines to run, with the numbers written in."""
    B, T, C, H = check_sizes(B, T, C, H)
    seed = _integer("seed", seed)
    if not 0 <= seed < 2**63:
        raise ValueError(f"seed: expected an int from 0 to 2**63 - 1, got {seed}")
    D = C // H
    rows, split, by_head = ("B", "T", "C"), ("B", "T", "H", "D"), ("B", "H", "T", "D")
    pairs = ("B", "H", "T", "T")

    def draw(height):
        return f"torch.nn.init.kaiming_uniform_(torch.empty({height}, {C}), a=5 ** 0.5, generator=generator)"

    def each(pattern):
        return "\n".join(pattern.format(part) for part in "qkv")

    return (
        _Line("x", "x", rows, f"generator = torch.Generator().manual_seed({seed})\n"
                              f"x = torch.randn({B}, {T}, {C}, generator=generator)"),
        _Line("qkv", "qkv", ("B", "T", "3C"), f"W_qkv = {draw(3 * C)}\n"
                                              "qkv = torch.nn.functional.linear(x, W_qkv)", "W_qkv"),
        _Line("chunk", "q", rows, "q, k, v = qkv.chunk(3, dim=-1)"),
        _Line("split", "q_split", split, each(f"{{0}}_split = {{0}}.view({B}, {T}, {H}, {D})")),
        _Line("transpose", "q_heads", by_head, each("{0}_heads = {0}_split.transpose(1, 2)")),
        _Line("scores", "scores", pairs, "scores = q_heads @ k_heads.transpose(-2, -1)"),
        _Line("scaled", "scaled", pairs, f"scaled = scores / {D} ** 0.5"),
        _Line("weights", "weights", pairs, "weights = torch.softmax(scaled, dim=-1)"),
        _Line("heads", "heads", by_head, "heads = weights @ v_heads"),
        _Line("back", "back", split, "back = heads.transpose(1, 2)"),
        _Line("contiguous", "packed", split, "packed = back.contiguous()"),
        _Line("concat", "concat", rows, f"concat = packed.view({B}, {T}, {C})"),
        _Line("output", "output", rows, f"W_o = {draw(C)}\noutput = torch.nn.functional.linear(concat, W_o)", "W_o"),
    )


def _run(plan: tuple[_Line, ...]) -> dict[str, Tensor]:
    """Every tensor the lines make.

    exec, so that the code on show can't drift from the code that ran. The lines are written above; all that enters
    them from outside are ints that `check_sizes` has checked.
    """
    namespace = {"torch": torch}
    for line in plan:
        exec(line.code, namespace)
    return {name: value for name, value in namespace.items() if isinstance(value, Tensor)}


def _describe(line: _Line, tensors: dict[str, Tensor], before: Tensor | None, numbers: dict) -> ShapeStep:
    tensor = tensors[line.tensor]
    changed, preserved = ((), ()) if before is None else compare(before, tensor)
    note_key = _note_key(line.key, tensor, preserved)
    return ShapeStep(
        name=STEP_NAMES[line.key],
        code=line.code,
        shape=tuple(tensor.shape),
        stride=tensor.stride(),
        contiguous=tensor.is_contiguous(),
        note=NOTES[note_key].format(**numbers),
        key=line.key,
        note_key=note_key,
        tensor=line.tensor,
        axes=line.axes,
        numel=tensor.numel(),
        bytes=tensor.numel() * tensor.element_size(),
        storage_bytes=tensor.untyped_storage().nbytes(),
        storage_offset=tensor.storage_offset(),
        parameters=tensors[line.parameter].numel() if line.parameter else 0,
        shares_memory_with_previous="storage" in preserved,
        changed=changed,
        preserved=preserved,
    )


def _note_key(key: str, tensor: Tensor, preserved: tuple[str, ...]) -> str:
    """The step's sentence that is true of these tensors: axes of size 1 make several of them harmless."""
    match key:
        case "chunk":
            case = "contiguous" if tensor.is_contiguous() else "strided"
        case "transpose":
            case = "same" if "order" in preserved else "reordered"
        case "scaled":
            case = "same" if "order" in preserved else "divided"
        case "back" if tensor.is_contiguous():
            case = "contiguous"
        case "back":
            case = "strided" if _view_error(tensor, *tensor.shape[:2], -1) else "viewable"
        case "contiguous":
            case = "free" if "storage" in preserved else "copied"
        case _:
            return key
    return f"{key}.{case}"


def _places(C: int, H: int, b: int, t: int, c: int, which: str) -> dict[str, tuple[tuple[int, ...], str, str]]:
    """For each step the followed element's index, its role, and what it reaches as an index expression ('' none)."""
    D = C // H
    h, d = divmod(c, D)
    head = f"{h * D}:{h * D + D}"
    in_qkv = (b, t, "qkv".index(which) * C + c)
    pair, by_head, split, row = (b, h, t, t), (b, h, t, d), (b, t, h, d), (b, t, c)
    # what the element touches, in each layout it passes through
    touched = {
        "q": (f"{b}, {h}, {t}, :", f"{b}, {h}, {t}, :", f"{b}, {h}, {t}, :", f"{b}, {t}, {h}, :", f"{b}, {t}, {head}"),
        "k": (f"{b}, {h}, :, {t}", f"{b}, {h}, :, :", f"{b}, {h}, :, :", f"{b}, :, {h}, :", f"{b}, :, {head}"),
        "v": ("", "", f"{b}, {h}, :, {d}", f"{b}, :, {h}, {d}", f"{b}, :, {c}"),
    }
    scores, weights, heads, back, concat = touched[which]
    before = ("waiting",) * 3 if which == "v" else ("term", "scaled", "normalised")
    return {
        "x": (row, "source", f"{b}, {t}, :"),
        "qkv": (in_qkv, "element", _comma(in_qkv)),
        "chunk": (row, "element", _comma(row)),
        "split": (split, "element", _comma(split)),
        "transpose": (by_head, "element", _comma(by_head)),
        "scores": (pair, before[0], scores),
        "scaled": (pair, before[1], scores),
        "weights": (pair, before[2], weights),
        "heads": (by_head, "mixed", heads),
        "back": (split, "carried", back),
        "contiguous": (split, "carried", back),
        "concat": (row, "carried", concat),
        "output": (row, "spread", f"{b}, {t}, :" if which == "q" else f"{b}, :, :"),
    }


def _locate(line: _Line, name: str, tensors: dict, before: Tensor | None, index, role: str, reach: str) -> FollowStep:
    tensor = tensors[name]
    size = tensor.element_size()
    offset = tensor.storage_offset() + sum(i * stride for i, stride in zip(index, tensor.stride()))
    value = tensor[index].item()
    storage = tensor.untyped_storage()
    raw = bytes(storage[position] for position in range(offset * size, (offset + 1) * size))
    return FollowStep(
        key=line.key,
        tensor=name,
        axes=line.axes,
        index=index,
        offset=offset,
        byte_offset=offset * size,
        value=value,
        role=role,
        reach=f"{name}[{reach}]" if reach else "",
        reach_size=_reach_size(tensor, reach),
        same_storage=before is not None and _shares_storage(before, tensor),
        verified=struct.unpack("=f", raw)[0] == value,
    )


def _reach_size(tensor: Tensor, reach: str) -> int:
    if not reach:
        return 0
    sizes = 1
    for part, length in zip(reach.split(", "), tensor.shape):
        if ":" in part:
            start, stop = (int(end) if end else None for end in part.split(":"))
            sizes *= len(range(length)[start:stop])
    return sizes


def _around(centre: int, size: int, most: int) -> tuple[int, int]:
    """(first, count) of at most `most` of `size` places, with `centre` near the middle."""
    count = min(size, most)
    return min(max(centre - count // 2, 0), size - count), count


def _reaches(shape: tuple[int, ...], stride: tuple[int, ...], distance: int) -> bool:
    """Does some index lie `distance` after the first element? By taking the largest strides first."""
    for step, size in sorted(zip(stride, shape), reverse=True):
        if size > 1:
            i = min(distance // step, size - 1)
            distance -= i * step
        if distance < 0:
            return False
    return distance == 0


def _order_check(q: Tensor, right, wrong, right_code: str, wrong_code: str, **rest) -> OrderCheck:
    B, T, C = q.shape
    # Positions, not values, go through both orders: two numbers that happen to be equal can't hide a swap.
    position = torch.arange(B * T * C).view(B, T, C)
    belongs, came_from = right(position), wrong(position)
    misplaced = belongs != came_from
    expected, source = _token_channel(belongs, T, C), _token_channel(came_from, T, C)
    count = int(misplaced.sum())
    good, bad = right(q), wrong(q)
    first = None
    if count:
        index = tuple(misplaced.nonzero()[0].tolist())
        first = Misplaced(
            index, tuple(source[index].tolist()), tuple(expected[index].tolist()), bad[index].item(), good[index].item()
        )
    return OrderCheck(
        right_code, wrong_code, good, bad, source, expected, misplaced, count, count / q.numel(), first, count == 0,
        **rest,
    )


def _token_channel(position: Tensor, T: int, C: int) -> Tensor:
    return torch.stack((position // C % T, position % C), dim=-1)


def _chunk_part(part: str, qkv: Tensor, chunk: Tensor, start: int) -> ChunkPart:
    C = chunk.shape[-1]
    piece = qkv[..., start:start + C]
    return ChunkPart(
        part=part,
        chunk_code="q, k, v = qkv.chunk(3, dim=-1)",
        slice_code=f"{part} = qkv[..., {start}:{start + C}]",
        largest_difference=_largest_difference(chunk, piece),
        shares_memory=_shares_storage(qkv, chunk) and chunk.data_ptr() == piece.data_ptr(),
        storage_offset=chunk.storage_offset(),
        stride=chunk.stride(),
    )


def _audit_row(symbol: str, name: str, tensor: Tensor, axes: tuple[str, ...], purpose: str) -> AuditRow:
    base = "[0, 1]" if symbol == "weights" else "R"
    learned = symbol.startswith("W_")
    return AuditRow(
        symbol=symbol,
        tensor=name,
        space=f"{base}^{{{'×'.join(axes)}}}",
        space_numbers=f"{base}^{{{'×'.join(map(str, tensor.shape))}}}",
        shape=str(tuple(tensor.shape)),
        numel=tensor.numel(),
        bytes=tensor.numel() * tensor.element_size(),
        parameters=tensor.numel() if learned else 0,
        purpose=purpose,
    )


def _linear(weight: Tensor) -> torch.nn.Linear:
    # skip_init: an ordinary Linear would draw from the global stream, which all viewers share.
    layer = torch.nn.utils.skip_init(torch.nn.Linear, weight.shape[1], weight.shape[0], bias=False)
    with torch.no_grad():
        layer.weight.copy_(weight)
    return layer


def _count(layer: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in layer.parameters())


def _view_error(tensor: Tensor, *shape: int) -> str | None:
    try:
        tensor.view(*shape)
    except RuntimeError as error:
        return str(error)
    return None


def _found(numbers: Tensor, among: Tensor) -> bool:
    # Not torch.isin: it is 20 times slower on large tensors, and raises on some layouts, such as chunks of (2, 1, 9).
    if not (among == numbers[0]).any():
        return False  # settles nearly every step that computes something, without a sort
    ordered = among.sort().values
    place = torch.searchsorted(ordered, numbers.contiguous()).clamp_(max=ordered.numel() - 1)
    return torch.equal(ordered[place], numbers)


def _shares_storage(one: Tensor, other: Tensor) -> bool:
    return one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()


def _largest_difference(one: Tensor, other: Tensor) -> float:
    return (one - other).abs().max().item()


def _comma(index: tuple[int, ...]) -> str:
    return ", ".join(map(str, index))


def _integer(name: str, value: int) -> int:
    if isinstance(value, bool):
        raise ValueError(f"{name}: expected an int, got {value!r}")
    try:
        return operator.index(value)
    except TypeError:
        raise ValueError(f"{name}: expected an int, got {value!r}") from None


def _size(name: str, value: int, limit: int) -> int:
    value = _integer(name, value)
    if not 1 <= value <= limit:
        raise ValueError(f"{name}: expected an int from 1 to {limit}, got {value}")
    return value


def _sizes(B: int, T: int, C: int, H: int) -> tuple[int, int, int, int]:
    return _size("B", B, MAX_B), _size("T", T, MAX_T), _size("C", C, MAX_C), _size("H", H, MAX_H)


def _index(name: str, value: int, size: int) -> int:
    value = _integer(name, value)
    if not 0 <= value < size:
        raise ValueError(f"{name}: expected an int from 0 to {size - 1}, got {value}")
    return value
