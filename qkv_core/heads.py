"""What heads can look at: heads written by hand as rules, with real q, k and v behind every weight.

A token is 64 coordinates that are 0 or 1 (qkv_core.sentences). A rule gives points to a query with one feature for a
key with another, and the matrices are the rules, written out:

    W_q[query feature, key feature] = points,    W_k[key feature, key feature] = sqrt(64) = 8
    q.k / sqrt(64) = sum of the points of the rules that match                    (exactly: every number is whole)

The pronoun needs two layers. In the first it reads its predicate, which writes into it whom that can be said of; in
the second it finds its noun. A mask holds in both layers; tau and scale only in the head on screen.
"""
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple

import torch
from torch import Tensor

from qkv_core.attention import AttentionTrace, attention_trace, scaled_dot_product_attention
from qkv_core.masks import padding_mask, whole
from qkv_core.sentences import FEATURES, GROUPS, MOST_PADDING, PAD, SENTENCES, pairs
from qkv_core.typed import LIMIT, Typed, same_words, tokenise

D_K = 64
PLACES = tuple(f"place_{i}" for i in range(1, LIMIT + 1))
WORDS = tuple(f"word_{i}" for i in range(1, LIMIT + 1))


class Rule(NamedTuple):
    """`points` for a query with feature `query` from a key with feature `key`."""
    query: str
    key: str
    points: float


class Fired(NamedTuple):
    """A rule that matched in one cell, and the points it gave there: rule.points times the two features."""
    rule: Rule
    points: float


@dataclass(frozen=True)
class Head:
    """A hand-written head.

    id: str. layer: 1, or 2 when it reads what the layer-1 head `predicate` wrote. rules: for curated sentences.
    features: the names of the 64 coordinates it reads. writes: pairs (from, to) of coordinates its W_v copies; None
    copies all. typed: True when it also works on any typed text.
    """
    id: str
    layer: int
    rules: tuple[Rule, ...]
    features: tuple[str, ...] = FEATURES
    writes: tuple[tuple[str, str], ...] | None = None
    typed: bool = False


def _by_clause(role: str) -> tuple[Rule, ...]:
    # Either match alone (8) stays below the start (12); only the right role in the right clause (16) beats it.
    return (Rule("verb", role, 8), Rule("verb_1", "clause_1", 8), Rule("verb_2", "clause_2", 8), _start(12))


def _start(points: float) -> Rule:
    return Rule("every", "start", points)


_POSITIONS = GROUPS["position"]

HEADS: Mapping[str, Head] = MappingProxyType({head.id: head for head in (
    Head("previous", 1, (*(Rule(after, before, 12) for before, after in pairwise(_POSITIONS)), _start(8)),
         typed=True),
    Head("next", 1, (*(Rule(before, after, 12) for before, after in pairwise(_POSITIONS)), _start(8)),
         typed=True),
    Head("same_word", 1, tuple(Rule(word, word, 12) for word in WORDS), features=WORDS, typed=True),
    Head("subject", 1, _by_clause("subject")),
    Head("object", 1, _by_clause("object")),
    Head("modifier", 1, (*(Rule(f"modifies_{i}", key, 8) for i in (1, 2, 3) for key in ("noun", f"phrase_{i}")),
                         _start(12))),
    Head("predicate", 1, (Rule("looks", "predicate", 8), Rule("looks_1", "clause_1", 8),
                          Rule("looks_2", "clause_2", 8), _start(12)),
         writes=(("fits_living", "asks_living"), ("fits_thing", "asks_thing"))),
    Head("coreference", 2, (Rule("looks", "noun", 8),
                            *(Rule(f"asks_{gender}", gender, 4) for gender in ("masculine", "feminine", "neuter")),
                            *(Rule(f"asks_{number}", number, 2) for number in ("singular", "plural")),
                            Rule("asks_living", "living", 4), Rule("asks_thing", "thing", 4), _start(8))),
)})
"""The eight hand-written heads by id: h = 8, as in the paper."""


@dataclass(frozen=True, eq=False)
class HeadTrace:
    """One head on one sentence, with all that its weights were computed from.

    tokens: tuple of T str, the labels of rows (queries) and columns (keys).
    trace: AttentionTrace, every step of softmax(q k^T / (divisor * tau)) v.
    origin: str, who made the matrices: "hand", "minilm" for downloaded weights, "trained" for those trained here.
    head: str. layer: int, counted from 1 for hand-written heads and those trained here, and from 0 for MiniLM's.
    X: tensor (T, C), what the head reads. W_q, W_k: tensors (C, d_k). W_v: tensor (C, d_v). q = X W_q (+ bias).
    biases: (b_q, b_k, b_v), or None when the head has none.
    features: tuple of C str, the names of X's coordinates; () when nobody named them.
    rules: tuple of Rule; () for a head that was not written by rules.
    mask: bool tensor (T, T) or None, the one that held.
    below: HeadTrace of the layer-1 head whose output was added to X, or None.
    notes: tuple of str, codes of what a page should say: "empty_rows" (the mask leaves a row nothing),
        "predicate_hidden" (the mask hides from a pronoun what is said of it), "start_hidden" (a row cannot see the
        start, so where nothing matches its weight is spread), "undecided" (two nouns fit equally),
        "ends_stay" (typed text: where no neighbour can be seen a token stays with itself).
    """
    tokens: tuple[str, ...]
    trace: AttentionTrace
    origin: str
    head: str = ""
    layer: int = 1
    X: Tensor | None = None
    W_q: Tensor | None = None
    W_k: Tensor | None = None
    W_v: Tensor | None = None
    biases: tuple[Tensor, Tensor, Tensor] | None = None
    features: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    mask: Tensor | None = None
    below: "HeadTrace | None" = None
    notes: tuple[str, ...] = ()


def head_trace(sentence_id: str, head_id: str, mask: Tensor | None = None, tau: float = 1.0,
               scale: bool | float = True, padding: int = 0) -> HeadTrace:
    """Return one hand-written head on one curated sentence: its weights and everything behind them.

        q = X W_q,  k = X W_k,  v = X W_v,  weights = softmax(q k^T / (divisor * tau)),  output = weights v

    Args:
        sentence_id: str, one of SENTENCES.
        head_id: str, one of HEADS.
        mask: bool tensor (T, T), True may attend; T = 1 + words + padding, since the first token is START. It holds
            in both layers of `coreference`.
        tau: float > 0. scale: True divides by sqrt(64) = 8, False by 1, a number > 0 by itself. Both act on this
            head only, not on the layer below it.
        padding: int, 0 to MOST_PADDING; so many PAD tokens are added at the end.
    Returns:
        HeadTrace(tokens, trace, origin="hand", ...), float32.
    Raises:
        ValueError: for an unknown sentence or head, and as `attention_trace`.
    Source: Vaswani et al. 2017, section 3.2; the rules are ours, after the kinds of heads that Clark et al. 2019,
        "What Does BERT Look At?", found in trained models.
    """
    X, tokens = embed(sentence_id, head_id, padding)
    head = _head_on(X, HEADS[head_id], tokens, mask, tau, scale)
    return replace(head, notes=_notes(head, sentence_id))


def embed(sentence_id: str, head_id: str = "subject", padding: int = 0) -> tuple[Tensor, tuple[str, ...]]:
    """Return the tokens of a curated sentence as a head reads them: before any layer, in 64 coordinates.

    Args:
        sentence_id, head_id, padding: as for `head_trace`. `same_word` has coordinates of its own, WORDS, one for each
            different word; every other head reads FEATURES.
    Returns:
        X: tensor (T, 64) of 0 and 1, fresh at every call.
        tokens: tuple of T str.
    Raises:
        ValueError: for an unknown sentence or head, or a padding out of range.
    """
    sentence, head = _known("sentence", SENTENCES, sentence_id), _known("head", HEADS, head_id)
    padding = whole("padding", padding, 0, MOST_PADDING)
    tokens = (*sentence.tokens, *[PAD] * padding)
    if head.features is WORDS:
        return _one_hot([number - 1 for number in same_words(tokens)]), tokens
    index = _index(FEATURES)
    X = torch.zeros(len(tokens), len(FEATURES))
    for row, names in enumerate(sentence.rows(padding)):
        X[row, [index[name] for name in names]] = 1.0
    return X, tokens


def fired(head: HeadTrace, i: int, j: int) -> tuple[Fired, ...]:
    """Return the rules that matched for query i and key j, with the points each gave.

        q_i.k_j / sqrt(64) = sum of the points        (the score at tau = 1 with the scale on)

    Points are whole where features are 0 or 1. Where the first layer wrote a feature, it is a share of 1, and so are
    the points.

    Args:
        head: HeadTrace of a hand-written head (curated or typed).
        i, j: int, query row and key column, 0 to T - 1.
    Returns:
        tuple of Fired(rule, points), the largest first; empty when nothing matched.
    Raises:
        ValueError: for a row or column out of range, or a head that was not written by rules.
    """
    if not head.rules:
        raise ValueError(f"only hand-written heads have rules; got a head with origin {head.origin!r}")
    i, j = (whole(name, value, 0, len(head.tokens) - 1) for name, value in (("i", i), ("j", j)))
    index, x_i, x_j = _index(head.features), head.X[i].tolist(), head.X[j].tolist()
    found = (Fired(rule, rule.points * x_i[index[rule.query]] * x_j[index[rule.key]]) for rule in head.rules)
    return tuple(sorted((f for f in found if f.points), key=lambda f: -f.points))


class TypedHead(NamedTuple):
    """A head on typed text. tokens: Typed, what was kept. head: HeadTrace, or None with a `reason`.

    reason: "" when there is a head; "no_words" for a text without any; "needs_features" for a head that reads word
    class, gender or role, which nobody wrote for these words (and nothing is invented).
    """
    tokens: Typed
    head: HeadTrace | None
    reason: str


def typed_trace(text: str, head_id: str, mask: Tensor | None = None, tau: float = 1.0,
                scale: bool | float = True) -> TypedHead:
    """Return a position head (previous, next, same_word) on any text, or why there is none.

    A token is one coordinate: its place (or, for same_word, its word's number). There is no START here: where no
    neighbour can be seen, a token stays with itself (12 points for the neighbour, 8 for itself).

    Args:
        text: str; at most LIMIT = 64 tokens of it are used, and `tokens.found` says how many there were.
        head_id: str, one of HEADS.
        mask: bool tensor (T, T) over the T tokens that are kept, True may attend. tau, scale: as for `head_trace`.
    Returns:
        TypedHead(tokens, head, reason).
    Raises:
        ValueError: for an unknown head, and as `attention_trace`.
    """
    known, tokens = _known("head", HEADS, head_id), tokenise(text)
    if not known.typed:
        return TypedHead(tokens, None, "needs_features")
    if not tokens.words:
        return TypedHead(tokens, None, "no_words")
    if head_id == "same_word":
        X, known = _one_hot([number - 1 for number in same_words(tokens.words)]), HEADS["same_word"]
    else:
        X, known = _one_hot(range(len(tokens.words))), _neighbour(head_id)
    head = _head_on(X, known, tokens.words, mask, tau, scale)
    return TypedHead(tokens, replace(head, notes=_notes(head)), "")


class Together(NamedTuple):
    """Heads put together.

    concat: tensor (T, h * d_v), the heads' outputs side by side. W_o: tensor (h * d_v, d_model).
    output: tensor (T, d_model) = concat W_o. parts: tensor (h, T, d_model), part i = head_i W_o[rows of head i].
    difference: float, the largest |output - sum of the parts|: a check, float32 rounding when it holds.
    origin: str, where W_o came from.
    """
    concat: Tensor
    W_o: Tensor
    output: Tensor
    parts: Tensor
    difference: float
    origin: str


def concat_parts(outputs: Sequence[Tensor], W_o: Tensor, origin: str = "given") -> Together:
    """Return the heads put together, and the output as a sum of one part a head.

        MultiHead = Concat(head_1, ..., head_h) W_o = sum_i head_i W_o[i]

    Args:
        outputs: h tensors (T, d_v_i), a head's output each.
        W_o: tensor (sum of d_v_i, d_model).
        origin: str, where W_o came from.
    Returns:
        Together(concat, W_o, output, parts, difference, origin).
    Raises:
        ValueError: for no heads, heads of different T, or a W_o whose rows are not the heads' widths together.
    Source: Vaswani et al. 2017, section 3.2.2.
    """
    shapes = [tuple(output.shape) for output in outputs]
    if not shapes or any(len(shape) != 2 or shape[0] != shapes[0][0] for shape in shapes):
        raise ValueError(f"the heads must be h tensors (T, d_v) with one T; got {shapes}")
    widths = [shape[1] for shape in shapes]
    if W_o.dim() != 2 or len(W_o) != sum(widths):
        raise ValueError(f"W_o must have a row for each of the heads' {sum(widths)} channels; got {tuple(W_o.shape)}")
    concat = torch.cat(list(outputs), dim=-1)                                            # (T, h * d_v)
    output = concat @ W_o
    parts = torch.stack([out @ rows for out, rows in zip(outputs, W_o.split(widths))])   # (h, T, d_model)
    return Together(concat, W_o, output, parts, (output - parts.sum(0)).abs().max().item(), origin)


def together(sentence_id: str, mask: Tensor | None = None, tau: float = 1.0, scale: bool | float = True,
             seed: int = 0, d_model: int = 512, padding: int = 0) -> Together:
    """Return all eight hand-written heads on a sentence, put together: the paper's d_model = 512, h = 8, d_v = 64.

        W_o ~ N(0, 1 / d_model): drawn, since nobody trained it

    Args:
        sentence_id, mask, tau, scale, padding: as for `head_trace`. (`coreference` is a head of the second layer;
            here it stands beside the others.)
        seed: int, of W_o's own generator. d_model: int >= 1, the width of the output.
    Returns:
        Together, heads in the order of HEADS, origin "seed:<n>".
    Raises:
        ValueError: as `head_trace`.
    Source: Vaswani et al. 2017, section 3.2.2.
    """
    outputs = [head_trace(sentence_id, head_id, mask, tau, scale, padding).trace.output for head_id in HEADS]
    return concat_parts(outputs, drawn_W_o(len(HEADS), seed, d_model), f"seed:{seed}")


def drawn_W_o(heads: int, seed: int = 0, d_model: int = 512) -> Tensor:
    """Return a W_o that nobody trained, for heads of d_v = 64: entries ~ N(0, 1 / d_model).

    Args:
        heads: int >= 1. seed: int, of its own generator. d_model: int >= 1.
    Returns:
        tensor (heads * 64, d_model), float32.
    Raises:
        ValueError: for a size below 1.
    """
    heads, d_model = whole("heads", heads), whole("d_model", d_model)
    return torch.randn(D_K * heads, d_model, generator=torch.Generator().manual_seed(seed)) / math.sqrt(d_model)


class Reach(NamedTuple):
    """Which inputs can change which outputs.

    norms: tensor (rows, T), entry (i, j) = Frobenius norm of d output_i / d x_j. rows: tuple of int, the outputs.
    allowed: bool tensor (rows, T), what the mask lets through (and each token's own query).
    leak: float, the largest norm where it is not allowed: exactly 0, or the mask does not hold.
    """
    norms: Tensor
    rows: tuple[int, ...]
    allowed: Tensor
    leak: float


def jacobian_reach(sentence_id: str, head_id: str, mask: Tensor | None = None, tau: float = 1.0,
                   scale: bool | float = True, rows: Sequence[int] | None = None, padding: int = 0) -> Reach:
    """Return which tokens of a sentence can change which outputs of a head, by autograd.

        norm[i, j] = || d output_i / d x_j ||

    An output always depends on its own token, whose query it is. With two layers (`coreference`) an output reaches
    what its keys reached: a window of radius r becomes one of 2 r; a causal mask stays causal.

    Args:
        sentence_id, head_id, mask, tau, scale, padding: as for `head_trace`.
        rows: the outputs to take, each 0 to T - 1; all when None.
    Returns:
        Reach(norms, rows, allowed, leak).
    Raises:
        ValueError: as `head_trace`, and for a row out of range.
    """
    X, tokens = embed(sentence_id, head_id, padding)
    return _reach(HEADS[head_id], X, tokens, mask, tau, scale, rows)


def typed_reach(text: str, head_id: str, row: int, mask: Tensor | None = None, tau: float = 1.0,
                scale: bool | float = True) -> Reach:
    """Return which tokens of typed text can change output `row` of a position head; one row, to bound the work.

    Args:
        text, head_id, mask, tau, scale: as for `typed_trace`, whose `reason` must be "". row: int, 0 to T - 1.
    Returns:
        Reach(norms (1, T), rows, allowed (1, T), leak).
    Raises:
        ValueError: for a text or head that `typed_trace` has no head for, or a row out of range.
    """
    typed = typed_trace(text, head_id, mask, tau, scale)
    if typed.head is None:
        raise ValueError(f"no head to differentiate: {typed.reason}")
    known = HEADS[head_id] if head_id == "same_word" else _neighbour(head_id)
    return _reach(known, typed.head.X, typed.head.tokens, mask, tau, scale, (row,))


def layer_reach(known: HeadTrace, row: int, tau: float = 1.0, scale: bool | float = True) -> Reach:
    """Return which inputs of its layer can change output `row` of a trained head, by autograd.

        norm[j] = || d output_row / d x_j ||,    x: what the layer reads

    Args:
        known: HeadTrace with X, W_q, W_k, W_v and its biases, if it has any. row: int, 0 to T - 1.
        tau, scale: those it was made with.
    Returns:
        Reach(norms (1, T), rows, allowed (1, T), leak).
    Raises:
        ValueError: for a row out of range.
    """
    b_q, b_k, b_v = known.biases or (0.0, 0.0, 0.0)

    def output(x: Tensor) -> Tensor:
        q, k, v = x @ known.W_q + b_q, x @ known.W_k + b_k, x @ known.W_v + b_v
        return scaled_dot_product_attention(q, k, v, known.mask, tau, scale)[0]

    norms, rows = reach_of(output, known.X, (row,))
    own = torch.eye(len(known.tokens), dtype=torch.bool)
    allowed = (own | (True if known.mask is None else known.mask))[list(rows)]
    return Reach(norms, rows, allowed, norms.masked_fill(allowed, 0.0).max().item())


def reach_of(function: Callable[[Tensor], Tensor], X: Tensor, rows: Sequence[int] | None = None) \
        -> tuple[Tensor, tuple[int, ...]]:
    """Return how strongly each output row of `function` depends on each input row: the core of `jacobian_reach`.

    Args:
        function: takes (n, T, C), returns (n, T, d), each of the n apart; differentiable.
        X: tensor (T, C), where the derivative is taken.
        rows: outputs to take, each 0 to T - 1; all when None.
    Returns:
        norms: tensor (rows, T). rows: tuple of int.
    Raises:
        ValueError: for a row out of range.
    """
    rows = tuple(whole("row", i, 0, len(X) - 1) for i in (range(len(X)) if rows is None else rows))
    d = function(X[None]).shape[-1]
    # A copy of the input for each output entry, so that one pass backward gives every derivative.
    x = X.detach().repeat(len(rows) * d, 1, 1).requires_grad_()                          # (rows * d, T, C)
    entries = function(x).view(len(rows), d, len(X), d)
    picked = sum(entries[at, :, row].diagonal().sum() for at, row in enumerate(rows))
    slopes, = torch.autograd.grad(picked, x)
    return slopes.view(len(rows), d, len(X), -1).square().sum((1, 3)).sqrt(), rows


class Steal(NamedTuple):
    """What padding takes from a head when no mask hides it.

    tokens: tuple of str, the real ones. share: tensor (T,), each real row's weight on PAD tokens. mean: float, over
    the rows. masked: float, the largest share under a padding mask: exactly 0.
    """
    tokens: tuple[str, ...]
    share: Tensor
    mean: float
    masked: float


def steal(sentence_id: str, head_id: str, padding: int, tau: float = 1.0, scale: bool | float = True) -> Steal:
    """Return the share of the weights that goes to `padding` PAD tokens, without a mask and with one: measured.

    Args:
        sentence_id, head_id, tau, scale: as for `head_trace`. padding: int, 1 to MOST_PADDING.
    Returns:
        Steal(tokens, share, mean, masked).
    Raises:
        ValueError: as `head_trace`.
    """
    padding = whole("padding", padding, 1, MOST_PADDING)
    bare = head_trace(sentence_id, head_id, None, tau, scale, padding)
    T = len(bare.tokens)
    mask = padding_mask([T - padding], T)[0, 0].repeat(T, 1)
    hidden = head_trace(sentence_id, head_id, mask, tau, scale, padding)
    share, masked = (t.trace.weights[:-padding, -padding:].sum(-1) for t in (bare, hidden))
    return Steal(bare.tokens[:-padding], share, share.mean().item(), masked.max().item())


class Difference(NamedTuple):
    """Two matrices of weights compared cell by cell.

    matrix: tensor (T, T) = second - first, -1 to 1. largest: float, the largest |difference|. cell: (i, j), where.
    changed: tuple of int, positions where the two sentences have different tokens.
    """
    matrix: Tensor
    largest: float
    cell: tuple[int, int]
    changed: tuple[int, ...]


def difference(first: HeadTrace, second: HeadTrace) -> Difference:
    """Return how two heads, or one head at two settings, differ on the same number of tokens.

    Args:
        first, second: HeadTrace with the same T.
    Returns:
        Difference(matrix, largest, cell, changed).
    Raises:
        ValueError: for different numbers of tokens.
    """
    n, m = len(first.tokens), len(second.tokens)
    if n != m:
        raise ValueError(f"only equal numbers of tokens can be compared; got {n} and {m}")
    matrix = second.trace.weights - first.trace.weights
    cell = divmod(int(matrix.abs().argmax()), n)
    changed = tuple(i for i, (a, b) in enumerate(zip(first.tokens, second.tokens)) if a != b)
    return Difference(matrix, matrix.abs().max().item(), cell, changed)


def hide(T: int, cells, mask: Tensor | None = None) -> Tensor | None:
    """Return `mask` (all may attend when None) with the painted cells hidden; None when nothing is hidden at all.

    Args:
        T: int >= 1. cells: iterable of (i, j), 0 to T - 1. mask: bool tensor (T, T) or None.
    Returns:
        bool tensor (T, T), fresh, or None.
    """
    cells = list(cells)
    if not cells:
        return mask
    keep = torch.ones(T, T, dtype=torch.bool) if mask is None else mask.clone()
    keep[tuple(zip(*cells))] = False
    return keep


class Polarity(NamedTuple):
    """One mask in PyTorch's two spellings.

    keep: the code that makes it, True may attend. sdpa: the call that takes it as it is. mha: the call that takes it
    inverted. empty_rows: tuple of int, rows with nothing to attend to: 0 here and in sdpa, NaN in mha.
    """
    keep: str
    sdpa: str
    mha: str
    empty_rows: tuple[int, ...]


def polarity_example(mask: Tensor | None) -> Polarity:
    """Return the mask on screen as code for PyTorch's two functions, which disagree about what True means.

        F.scaled_dot_product_attention: True takes part       nn.MultiheadAttention: True is left out

    Args:
        mask: bool tensor (T, T), True may attend; None for no mask.
    Returns:
        Polarity(keep, sdpa, mha, empty_rows). The code runs where torch, F, q, k, v, x and an nn.MultiheadAttention
        called mha are defined.
    Raises:
        ValueError: for a mask that is not a square bool tensor.
    """
    if mask is None:
        return Polarity("", "output = F.scaled_dot_product_attention(q, k, v)", "output, weights = mha(x, x, x)", ())
    if mask.dtype != torch.bool or mask.dim() != 2 or mask.shape[0] != mask.shape[1]:
        raise ValueError(f"the mask must be a bool tensor (T, T); got {mask.dtype}, {tuple(mask.shape)}")
    rows = ",\n".join("    [" + ", ".join(str(int(cell)) for cell in row) + "]" for row in mask.tolist())
    return Polarity(
        keep=f"keep = torch.tensor([\n{rows},\n]).bool()",
        sdpa="output = F.scaled_dot_product_attention(q, k, v, attn_mask=keep)",
        mha="output, weights = mha(x, x, x, attn_mask=~keep)",
        empty_rows=tuple((~mask.any(-1)).nonzero().flatten().tolist()),
    )


def matrices(head: Head) -> tuple[Tensor, Tensor, Tensor]:
    """Return W_q, W_k and W_v of a hand-written head, each (64, 64): its rules written out.

        W_q[query, key] = points,    W_k[key, key] = 8,    W_v copies every coordinate, or those of `head.writes`

    Args:
        head: Head; its features name the rows and the columns.
    Returns:
        W_q, W_k, W_v: float32, fresh at every call.
    """
    index = _index(head.features)
    W_q, W_k = torch.zeros(D_K, D_K), torch.zeros(D_K, D_K)
    queries, keys = [index[rule.query] for rule in head.rules], [index[rule.key] for rule in head.rules]
    W_q[queries, keys] = torch.tensor([float(rule.points) for rule in head.rules])
    W_k[keys, keys] = math.sqrt(D_K)
    if head.writes is None:
        return W_q, W_k, torch.eye(D_K)
    W_v = torch.zeros(D_K, D_K)
    for source, target in head.writes:
        W_v[index[source], index[target]] = 1.0
    return W_q, W_k, W_v


def _head_on(X: Tensor, head: Head, tokens: tuple[str, ...], mask: Tensor | None, tau: float,
             scale: bool | float) -> HeadTrace:
    """Return `head` on the tokens X, after the layer below where it has one."""
    below = _head_on(X, HEADS["predicate"], tokens, mask, 1.0, True) if head.layer == 2 else None
    X = X if below is None else X + below.trace.output
    W_q, W_k, W_v = matrices(head)
    trace = attention_trace(X @ W_q, X @ W_k, X @ W_v, mask, tau, scale)
    return HeadTrace(tokens, trace, "hand", head.id, head.layer, X, W_q, W_k, W_v, None, head.features, head.rules,
                     mask, below)


def _reach(head: Head, X: Tensor, tokens: tuple[str, ...], mask: Tensor | None, tau: float, scale: bool | float,
           rows: Sequence[int] | None) -> Reach:
    norms, rows = reach_of(lambda x: _head_on(x, head, tokens, mask, tau, scale).trace.output, X, rows)
    step = torch.eye(len(tokens), dtype=torch.bool) | (True if mask is None else mask)
    allowed = (step.float() @ step.float() > 0 if head.layer == 2 else step)[list(rows)]
    return Reach(norms, rows, allowed, norms.masked_fill(allowed, 0.0).max().item())


def _neighbour(head_id: str) -> Head:
    steps = [(after, before) if head_id == "previous" else (before, after) for before, after in pairwise(PLACES)]
    return Head(head_id, 1, (*(Rule(query, key, 12) for query, key in steps),
                             *(Rule(place, place, 8) for place in PLACES)), PLACES, typed=True)


def _notes(head: HeadTrace, sentence_id: str | None = None) -> tuple[str, ...]:
    weights, mask = head.trace.weights, head.mask
    found = {"empty_rows": mask is not None and not mask.any(-1).all()}
    if sentence_id is None:
        found["ends_stay"] = head.head != "same_word"
    else:
        expected = [pair for pair in pairs(sentence_id) if pair.head in ("predicate", "coreference")]
        found["predicate_hidden"] = (head.head in ("predicate", "coreference") and mask is not None and any(
            not mask[pair.i, pair.keys[0]] for pair in expected if pair.head == "predicate"))
        found["undecided"] = any(_tied(weights[pair.i], head) for pair in expected
                                 if pair.head == head.head == "coreference")
        found["start_hidden"] = head.head != "same_word" and mask is not None and not mask[:, 0].all().item()
    return tuple(code for code, true in found.items() if true)


def _tied(row: Tensor, head: HeadTrace) -> bool:
    nouns = row[head.X[:, head.features.index("noun")] == 1]
    return bool(nouns.max() > 0) and int((nouns >= nouns.max() - 1e-6).sum()) > 1


def _one_hot(numbers: Iterable[int]) -> Tensor:
    return torch.eye(D_K)[list(numbers)]


def _index(features: tuple[str, ...]) -> dict[str, int]:
    return {name: i for i, name in enumerate(features)}


def _known(kind: str, table: Mapping, name: str):
    if name not in table:
        raise ValueError(f"{kind} must be one of {', '.join(table)}; got {name!r}")
    return table[name]
