"""Bring your own q, k, v: tensors from a file or from pasted JSON, never by running anything that stands in them.

Sizes are read from a file's own directory or header and held to the limits before its numbers are. A pickle is never
loaded: NumPy's object arrays are refused, and a `.pt` file goes through torch's restricted reader (weights_only=True).
"""
import io
import json
import math
import pickle
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

MAX_BYTES = 5 * 1024 * 1024
"""Of a file or of pasted text."""

MAX_UNPACKED = 12 * 1024 * 1024
"""Of all arrays of a file together, before any is read: a small zip may say that it holds terabytes."""

MAX_T, MAX_D, MAX_HEADS, MAX_NUMBERS = 64, 1024, 64, 1_500_000
"""Tokens; the last axis; B and h, each; and the numbers of q, k and v together."""

KINDS = ("npz", "npy", "pt", "safetensors")
NAMES = ("q", "k", "v")
ALONE = "x"
"""The name of one array that is q, k and v at once."""

_HEADER = 100_000                                           # bytes that the header of a .safetensors may have
_SAFE = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "I64": torch.int64,
         "I32": torch.int32, "I16": torch.int16, "I8": torch.int8, "U8": torch.uint8}

MESSAGES = {
    "kind": "a file must be one of .npz, .npy, .pt, .safetensors; got {name!r}",
    "file_size": "a file may have {most:,} bytes, got {got:,}",
    "unpacked": "the arrays of a file may take {most:,} bytes unpacked, this one says {got:,}",
    "unreadable": "this is no readable .{kind} file",
    "pickle": "this file holds Python objects (a pickle), and these are never loaded; save plain tensors",
    "json": "this is no JSON: line {line}, column {column}",
    "ragged": "{name} must be nested lists of numbers, all rows of one length",
    "missing": "needs q, k and v (or one array alone, named x); found {found}",
    "dtype": "{name} must be of real numbers (float or int), got {got}",
    "axes": "{name} must be (T, d), (h, T, d) or (B, h, T, d), got {got}",
    "empty": "{name} has no numbers: its shape is {got}",
    "too_long": "{name}: {axis} may be at most {most}, got {got}",
    "numbers": "q, k and v may have {most:,} numbers together, got {got:,}",
    "not_finite": "{name} holds {got} entries that are NaN or infinite in float32",
    "leading": "q, k and v need the same B and h, got {q}, {k} and {v}",
    "d_k": "q and k need the same last axis d_k, got {q} and {k}",
    "T_k": "k and v need the same number of tokens, got {k} and {v}",
}


class Refused(ValueError):
    """Why something can't be taken: `code` is a key of MESSAGES, `values` fill its fields."""

    def __init__(self, code: str, **values: Any):
        super().__init__(MESSAGES[code].format(**values))
        self.code, self.values = code, values


@dataclass(frozen=True, eq=False)
class Brought:
    """Somebody's own tensors.

    q: tensor (B, h, T_q, d_k), k: (B, h, T_k, d_k), v: (B, h, T_k, d_v), float32 on the CPU, every entry finite.
    notes: tuple of str, what was done to them: "alike" (one array stands for all three), "converted" (another dtype
        became float32), "leading" (axes of size 1 were put before).
    """
    q: Tensor
    k: Tensor
    v: Tensor
    notes: tuple[str, ...] = ()

    @property
    def square(self) -> bool:
        """Are there as many queries as keys?"""
        return self.q.shape[-2] == self.k.shape[-2]


def read(name: str, data: bytes) -> Brought:
    """Return the q, k, v of a file.

    Args:
        name: str, the file's name; its ending tells the kind.
        data: bytes, at most MAX_BYTES. It holds arrays named q, k, v (capitals are fine), or a single array, which
            is then q, k and v at once. A `.pt` may also hold a tensor, or a tuple of three.
    Returns:
        Brought.
    Raises:
        Refused: for anything that can't be taken, whatever the bytes are. Nothing in the file is run.
    """
    kind = name.rsplit(".", 1)[-1].lower() if "." in name else ""
    if kind not in KINDS:
        raise Refused("kind", name=name[-40:])
    _within("file_size", len(data), MAX_BYTES)
    readers: dict[str, Callable[[bytes], Mapping[str, Tensor]]] = {
        "npz": _npz, "npy": lambda held: {ALONE: _npy(ALONE, held)}, "pt": _pt, "safetensors": _safetensors}
    try:
        arrays = readers[kind](data)
    except Refused:
        raise
    except Exception as fault:                              # the readers meet bytes that anybody may have written
        raise Refused("unreadable", kind=kind) from fault
    return _taken(arrays)


def read_json(text: str) -> Brought:
    """Return the q, k, v of pasted JSON: {"q": [[1, 0], [0, 1]], "k": ..., "v": ...}, or one array alone.

    Args:
        text: str, at most MAX_BYTES.
    Returns:
        Brought.
    Raises:
        Refused: for anything else.
    """
    _within("file_size", len(text), MAX_BYTES)
    try:
        given = json.loads(text)
    except json.JSONDecodeError as fault:
        raise Refused("json", line=fault.lineno, column=fault.colno) from fault
    except (RecursionError, ValueError) as fault:           # endlessly nested, or a number of thousands of digits
        raise Refused("json", line=1, column=1) from fault
    named = given if isinstance(given, dict) else {ALONE: given}
    return _taken({name: _nested(name, rows) for name, rows in named.items() if name.lower() in (*NAMES, ALONE)}, named)


def _within(code: str, got: int, most: int, **values: Any) -> None:
    if got > most:
        raise Refused(code, got=got, most=most, **values)


# the formats, each to named tensors


def _npz(data: bytes) -> dict[str, Tensor]:
    arrays = {}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = [e for e in archive.infolist() if e.filename.endswith(".npy")]
        _within("unpacked", sum(e.file_size for e in entries), MAX_UNPACKED)
        for entry in entries[:16]:
            # bzip2 and lzma may unpack more at once than the directory says
            if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise Refused("unreadable", kind="npz")
            name = entry.filename.removesuffix(".npy")
            if len(entries) == 1 or name.lower() in (*NAMES, ALONE):
                with archive.open(entry) as member:
                    arrays[name] = _npy(name, member.read(MAX_UNPACKED + 1))
    return arrays


def _npy(name: str, data: bytes) -> Tensor:
    import numpy

    file = io.BytesIO(data)
    readers = {(1, 0): numpy.lib.format.read_array_header_1_0, (2, 0): numpy.lib.format.read_array_header_2_0}
    shape, columns_first, dtype = readers[numpy.lib.format.read_magic(file)](file)
    if dtype.hasobject:
        raise Refused("pickle")
    if dtype.kind not in "fiu" or dtype.itemsize > 8:
        raise Refused("dtype", name=name, got=str(dtype)[:40])
    _sized(name, shape)
    count = math.prod(shape)
    array = numpy.frombuffer(data, dtype, count, file.tell())
    array = array.reshape(shape, order="F" if columns_first else "C")
    # torch knows neither foreign byte orders nor every unsigned integer
    return torch.from_numpy(array.astype("f8" if dtype.kind in "iu" or dtype.itemsize == 8 else "f4"))


def _pt(data: bytes) -> dict[str, Tensor]:
    if not zipfile.is_zipfile(io.BytesIO(data)):            # torch's format before 1.6 is a bare pickle
        raise Refused("pickle")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = archive.infolist()
    if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
        raise Refused("unreadable", kind="pt")
    _within("unpacked", sum(entry.file_size for entry in entries), MAX_UNPACKED)
    try:
        held = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as fault:
        raise Refused("pickle") from fault
    if isinstance(held, Tensor):
        return {ALONE: held}
    if isinstance(held, (tuple, list)) and len(held) == 3:
        held = dict(zip(NAMES, held))
    if not isinstance(held, Mapping):
        raise Refused("missing", found=type(held).__name__)
    return {name: x for name, x in held.items() if isinstance(name, str) and isinstance(x, Tensor)}


def _safetensors(data: bytes) -> dict[str, Tensor]:
    length = int.from_bytes(data[:8], "little")
    if length > min(len(data) - 8, _HEADER):
        raise Refused("unreadable", kind="safetensors")
    header, body = json.loads(data[8:8 + length].decode()), data[8 + length:]
    header.pop("__metadata__", None)
    arrays = {}
    for name, entry in header.items():
        if len(header) > 1 and name.lower() not in (*NAMES, ALONE):
            continue
        if entry["dtype"] not in _SAFE:
            raise Refused("dtype", name=name[:40], got=str(entry["dtype"])[:40])
        dtype, shape, (begin, end) = _SAFE[entry["dtype"]], tuple(entry["shape"]), entry["data_offsets"]
        _sized(name, shape)
        if not 0 <= begin <= end <= len(body) or end - begin != math.prod(shape) * dtype.itemsize:
            raise Refused("unreadable", kind="safetensors")
        arrays[name] = torch.frombuffer(bytearray(body[begin:end]), dtype=dtype).reshape(shape)
    return arrays


def _nested(name: str, rows: Any) -> Tensor:
    shape, level = [], rows
    while isinstance(level, list) and len(shape) < 5:
        shape.append(len(level))
        level = level[0] if level else None
    _sized(name, tuple(shape))
    flat = rows
    for size in shape[1:]:
        if not all(isinstance(row, list) and len(row) == size for row in flat):
            raise Refused("ragged", name=name)
        flat = [x for row in flat for x in row]
    if not all(type(x) in (int, float) for x in flat):      # not bool, which is an int to isinstance
        raise Refused("ragged", name=name)
    try:
        return torch.tensor([float(x) for x in flat], dtype=torch.float64).reshape(shape)
    except OverflowError as fault:
        raise Refused("not_finite", name=name, got=1) from fault


# what all formats share


def _sized(name: str, shape: tuple[int, ...]) -> None:
    """Hold a shape to the limits, before its numbers are read."""
    if not 2 <= len(shape) <= 4:
        raise Refused("axes", name=name[:40], got=_written(shape))
    if min(shape) < 1:
        raise Refused("empty", name=name[:40], got=_written(shape))
    limits = zip(("B", "h", "T", "d")[-len(shape):], (MAX_HEADS, MAX_HEADS, MAX_T, MAX_D)[-len(shape):], shape)
    for axis, most, size in limits:
        _within("too_long", size, most, name=name[:40], axis=axis)
    _within("numbers", math.prod(shape), MAX_NUMBERS)


def _written(shape: tuple[int, ...]) -> str:
    text = f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"
    return text if len(text) <= 80 else text[:79] + "…"


def _taken(arrays: Mapping[str, Tensor], found: Any = None) -> Brought:
    named = {name.lower(): x for name, x in arrays.items()}
    notes = []
    if not all(name in named for name in NAMES):
        if len(arrays) != 1 or named.keys() & {*NAMES}:
            names = ", ".join(sorted(str(name)[:20] for name in (arrays if found is None else found))[:8])
            raise Refused("missing", found=names or "nothing")
        notes.append("alike")
        named = dict.fromkeys(NAMES, *named.values())
    given = [named[name] for name in NAMES]
    for name, x in zip((ALONE,) * 3 if notes else NAMES, given):
        _checked(name, x)
    _within("numbers", sum(x.numel() for x in given), MAX_NUMBERS)
    if any(x.dtype != torch.float32 for x in given):
        notes.append("converted")
    if any(x.dim() < 4 for x in given):
        notes.append("leading")
    q, k, v = (x.to(torch.float32).reshape((1,) * (4 - x.dim()) + x.shape).contiguous() for x in given)
    for name, x in zip(NAMES, (q, k, v)):
        bad = int((~x.isfinite()).sum())
        if bad:
            raise Refused("not_finite", name=ALONE if "alike" in notes else name, got=bad)
    if not q.shape[:2] == k.shape[:2] == v.shape[:2]:
        raise Refused("leading", **{name: _written(tuple(x.shape[:2])) for name, x in zip(NAMES, (q, k, v))})
    if q.shape[-1] != k.shape[-1]:
        raise Refused("d_k", q=q.shape[-1], k=k.shape[-1])
    if k.shape[-2] != v.shape[-2]:
        raise Refused("T_k", k=k.shape[-2], v=v.shape[-2])
    return Brought(q, k, v, tuple(notes))


def _checked(name: str, x: Tensor) -> None:
    """Refuse what is no plain tensor of real numbers; a view may say a shape of more numbers than it holds."""
    plain = x.layout == torch.strided and x.device.type == "cpu" and not x.is_quantized
    if not plain or x.is_complex() or x.dtype == torch.bool or x.dtype.itemsize < 1:
        raise Refused("dtype", name=name, got=str(x.dtype).removeprefix("torch."))
    _sized(name, tuple(x.shape))
