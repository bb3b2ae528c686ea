"""Somebody's own q, k, v: every format gives the same tensors, and no file runs anything, lies about its size or crashes."""

from __future__ import annotations

import io
import json
import pickle
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

from qkv_core import bring
from qkv_core.bring import Brought, Refused, read, read_json

B, H, T_Q, T_K, D_K, D_V = 2, 3, 5, 7, 11, 13


def tensors(lead: tuple[int, ...] = (B, H), T_k: int = T_K) -> dict[str, torch.Tensor]:
    g = torch.Generator().manual_seed(1)
    sizes = {"q": (T_Q, D_K), "k": (T_k, D_K), "v": (T_k, D_V)}
    return {name: torch.randn(*lead, *size, generator=g) for name, size in sizes.items()}


def npz(arrays: dict, packed: bool = False) -> bytes:
    out = io.BytesIO()
    (np.savez_compressed if packed else np.savez)(out, **{n: np.asarray(x) for n, x in arrays.items()})
    return out.getvalue()


def npy(array) -> bytes:
    out = io.BytesIO()
    np.save(out, np.asarray(array), allow_pickle=True)
    return out.getvalue()


def pt(held) -> bytes:
    out = io.BytesIO()
    torch.save(held, out)
    return out.getvalue()


def safe(arrays: dict, **changes) -> bytes:
    """A .safetensors file, by its specification."""
    names = {torch.float32: "F32", torch.float64: "F64", torch.bfloat16: "BF16", torch.int64: "I64"}
    header, body = {"__metadata__": {"by": "a test"}}, b""
    for name, x in arrays.items():
        raw = x.contiguous().view(torch.uint8).numpy().tobytes()
        header[name] = {"dtype": names[x.dtype], "shape": list(x.shape), "data_offsets": [len(body), len(body) + len(raw)]}
        header[name] |= changes
        body += raw
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + body


def as_json(arrays: dict) -> str:
    return json.dumps({name: x.tolist() for name, x in arrays.items()})


FILES = {
    "own.npz": npz,
    "packed.NPZ": lambda arrays: npz(arrays, packed=True),
    "own.pt": pt,
    "own.safetensors": safe,
}


def refused(code: str, name: str, data: bytes) -> Refused:
    with pytest.raises(Refused) as caught:
        read(name, data)
    assert caught.value.code == code, str(caught.value)
    assert isinstance(caught.value, ValueError) and "{" not in str(caught.value)
    return caught.value


def same(got: Brought, arrays: dict) -> None:
    for name, x in arrays.items():
        mine = getattr(got, name)
        assert mine.dtype == torch.float32 and mine.dim() == 4 and mine.is_contiguous()
        assert torch.equal(mine, x.float().reshape(mine.shape)), name


# what is taken


@pytest.mark.parametrize("lead", [(), (H,), (B, H)])
@pytest.mark.parametrize("name", FILES)
def test_every_format_gives_the_same_tensors_in_every_shape(name: str, lead: tuple[int, ...]) -> None:
    arrays = tensors(lead)
    got = read(name, FILES[name](arrays))
    same(got, arrays)
    assert got.q.shape == ((1, 1), (1, H), (B, H))[len(lead)] + (T_Q, D_K) and got.v.shape[-1] == D_V
    assert got.notes == (("leading",) if len(lead) < 2 else ()) and not got.square


@pytest.mark.parametrize("lead", [(), (H,), (B, H)])
def test_pasted_json_gives_them_too(lead: tuple[int, ...]) -> None:
    arrays = tensors(lead, T_k=T_Q)
    got = read_json(as_json(arrays))
    same(got, arrays)
    assert got.square and "converted" in got.notes


def test_one_array_is_q_k_and_v_at_once() -> None:
    x = torch.randn(4, 3, generator=torch.Generator().manual_seed(2))
    for got in (read("x.npy", npy(x)), read("x.pt", pt(x)), read("a.npz", npz({"a": x})), read("a.safetensors", safe({"a": x})),
                read_json(json.dumps(x.tolist())), read_json(as_json({"x": x}))):  # fmt: skip
        same(got, {"q": x, "k": x, "v": x})
        assert "alike" in got.notes


def test_capitals_three_in_a_tuple_and_further_arrays_are_fine() -> None:
    arrays = tensors()
    same(read("a.npz", npz({name.upper(): x for name, x in arrays.items()} | {"mask": torch.ones(2)})), arrays)
    same(read("a.pt", pt(tuple(arrays.values()))), arrays)


@pytest.mark.parametrize("dtype", ["<f8", ">f4", ">f8", "<f2", "<i8", ">i4", "u1", "<u4", "<u8"])
def test_other_real_numbers_and_byte_orders_become_the_same_float32(dtype: str) -> None:
    x = np.arange(12).reshape(4, 3)
    for order in ("C", "F"):
        got = read("x.npy", npy(np.asarray(x, dtype, order=order)))
        same(got, {"q": torch.from_numpy(x)})
    assert dtype == ">f4" or "converted" in got.notes or dtype == "<f2"


def test_bfloat16_and_integers_of_torch_are_taken() -> None:
    for x in (torch.arange(6.0).reshape(2, 3).bfloat16(), torch.arange(6).reshape(2, 3)):
        for got in (read("x.pt", pt(x)), read("x.safetensors", safe({"x": x}))):
            same(got, {"v": x})
            assert "converted" in got.notes


# what is refused


class Trap:
    """Unpickled, it writes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return (Path.write_text, (self.path, "run"))


def test_no_pickle_is_ever_run(tmp_path: Path) -> None:
    sprung = tmp_path / "sprung"
    trap = Trap(sprung)
    refused("pickle", "a.pt", pt({"q": trap}))
    refused("pickle", "a.pt", pickle.dumps(trap))
    refused("pickle", "a.npy", npy(np.array([trap, trap], dtype=object)))
    refused("pickle", "a.npz", npz({"q": np.array([[trap]], dtype=object)}))
    for name in ("a.npz", "a.safetensors", "a.npy"):
        refused("unreadable", name, pickle.dumps(trap))
    out = io.BytesIO()
    torch.save({"q": trap}, out, _use_new_zipfile_serialization=False)
    refused("pickle", "a.pt", out.getvalue())
    assert not sprung.exists()
    pickle.loads(pickle.dumps(trap))
    assert sprung.exists(), "the trap works"


def test_a_zip_that_unpacks_to_more_than_the_limit_is_refused_by_its_directory() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("q.npy", b"\0" * (bring.MAX_UNPACKED + 1))
    assert len(out.getvalue()) < 50_000
    refused("unpacked", "a.npz", out.getvalue())
    refused("unreadable", "a.pt", out.getvalue())


def test_a_directory_that_lies_gets_no_more_than_it_says() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("q.npy", b"\0" * 30_000_000)
    lie = out.getvalue().replace(struct.pack("<I", 30_000_000), struct.pack("<I", 100))
    refused("unreadable", "a.npz", lie)
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("q.npy", npy(np.ones((2, 2))))
    refused("unreadable", "a.npz", bomb.getvalue())


def header_of(shape: tuple, dtype: str = "<f4") -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, {"descr": dtype, "fortran_order": False, "shape": shape})
    return out.getvalue()


def test_a_header_that_promises_more_than_there_is_allocates_nothing() -> None:
    refused("too_long", "a.npy", header_of((10**9, 10**9)))
    refused("unreadable", "a.npy", header_of((64, 1024)) + b"\0" * 12)
    wide = torch.zeros(1).expand(64, 64, 64, 1024)
    refused("numbers", "a.pt", pt(wide))
    x = torch.ones(2, 3)
    refused("unreadable", "a.safetensors", safe({"x": x}, shape=[64, 1024]))
    refused("unreadable", "a.safetensors", safe({"x": x}, data_offsets=[-24, 0]))
    refused("unreadable", "a.safetensors", struct.pack("<Q", 2**63) + b"{}")


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("cut", [0, 1, 7, 9, 60, 200, -1, -30])
def test_a_file_cut_short_is_refused_and_nothing_else_happens(name: str, cut: int) -> None:
    data = FILES[name](tensors())[:cut]
    with pytest.raises(Refused) as caught:
        read(name, data)
    assert caught.value.code in ("unreadable", "pickle", "missing")


def test_bytes_turned_over_anywhere_give_tensors_or_a_plain_refusal() -> None:
    g = torch.Generator().manual_seed(3)
    for name, make in FILES.items():
        data = make(tensors((), T_k=2))
        for _ in range(150):
            broken = bytearray(data)
            for at in torch.randint(len(data), (3,), generator=g).tolist():
                broken[at] = int(torch.randint(256, (1,), generator=g))
            try:
                assert read(name, bytes(broken)).q.isfinite().all()
            except Refused:
                pass


@pytest.mark.parametrize("array, code", [
    (np.array(3.0), "axes"), (np.ones(4), "axes"), (np.ones((1, 1, 1, 2, 2)), "axes"), (np.ones((0, 4)), "empty"),
    (np.ones((65, 2)), "too_long"), (np.ones((2, 1025)), "too_long"), (np.ones((65, 2, 2)), "too_long"),
    (np.ones((2, 2), complex), "dtype"), (np.array([["a", "b"]]), "dtype"), (np.ones((2, 2), bool), "dtype"),
    (np.ones((2, 2), "M8[s]"), "dtype"), (np.zeros((2, 2), [("a", "f4")]), "dtype"), (np.ones((2, 2), np.longdouble), "dtype"),
    (np.array([[1.0, np.nan]]), "not_finite"), (np.array([[np.inf, 1.0]]), "not_finite"), (np.array([[1e300, 1.0]]), "not_finite"),
])  # fmt: skip
def test_wrong_shapes_dtypes_and_values_are_named(array: np.ndarray, code: str) -> None:
    refused(code, "x.npy", npy(array))
    refused(code, "x.npz", npz({"q": array, "k": array, "v": array}))


@pytest.mark.parametrize("held, code", [
    ({"q": torch.ones(2, 2), "k": torch.ones(2, 2)}, "missing"), ({}, "missing"), ("text", "missing"), ([1, 2], "missing"),
    ({"q": torch.ones(2, 2), "k": torch.ones(2, 3), "v": torch.ones(2, 2)}, "d_k"),
    ({"q": torch.ones(2, 2), "k": torch.ones(3, 2), "v": torch.ones(2, 2)}, "T_k"),
    ({"q": torch.ones(2, 2, 2), "k": torch.ones(2, 2), "v": torch.ones(2, 2)}, "leading"),
    (torch.ones(2, 2).to_sparse(), "dtype"), (torch.ones(2, 2, dtype=torch.complex64), "dtype"), (torch.ones(2, 2, device="meta"), "dtype"),
    (torch.ones(2, 2) > 0, "dtype"), (torch.tensor(1.0), "axes"),
])  # fmt: skip
def test_tensors_that_do_not_fit_are_named(held, code: str) -> None:
    refused(code, "x.pt", pt(held))


def test_too_large_a_file_or_another_kind_is_refused_before_it_is_read() -> None:
    refused("file_size", "x.npy", b"\0" * (bring.MAX_BYTES + 1))
    for name in ("x.pkl", "x", "npz", "x.npz.exe", "x.csv"):
        refused("kind", name, b"")
    refused("numbers", "x.pt", pt({name: torch.ones(8, 16, 64, 64).bfloat16() for name in "qkv"}))


@pytest.mark.parametrize("text, code", [
    ("", "json"), ("{", "json"), ("[" * 100_000, "json"), ("1" * 5000, "json"), ("nonsense", "json"),
    ('"text"', "axes"), ("3", "axes"), ("[1, 2]", "axes"), ("[[]]", "empty"), ("[[1, 2], [3]]", "ragged"), ("[[1], 2]", "ragged"),
    ('[["1"]]', "ragged"), ("[[true]]", "ragged"), ("[[null]]", "ragged"), ("[[[[[1]]]]]", "axes"), ("[[NaN]]", "not_finite"),
    ("[[1e999]]", "not_finite"), ("[[" + "9" * 400 + "]]", "not_finite"), ("[[1e300]]", "not_finite"),
    ('{"q": [[1]]}', "missing"), ('{"a": [[1]]}', "missing"), ("{}", "missing"), ("null", "axes"),
])  # fmt: skip
def test_json_that_is_something_else_is_refused_plainly(text: str, code: str) -> None:
    with pytest.raises(Refused) as caught:
        read_json(text)
    assert caught.value.code == code, str(caught.value)
