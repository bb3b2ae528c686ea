"""Devices: what is absent is named with its reason, and nothing but a passed probe is ever used."""
import pytest
import torch

from qkv_core import device
from qkv_core.device import DeviceStatus, available, choose, resolve


@pytest.fixture(autouse=True)
def fresh_probe():
    device._status.cache_clear()
    yield
    device._status.cache_clear()


@pytest.fixture
def pretend(monkeypatch):
    """Make a GPU appear whose probe gives a fixed difference, or raises."""
    def install(name, result):
        backend = {"cuda": torch.backends.cuda, "mps": torch.backends.mps}[name]
        monkeypatch.setattr(backend, "is_built", lambda: True)
        monkeypatch.setattr(torch.cuda if name == "cuda" else torch.backends.mps, "is_available", lambda: True)
        monkeypatch.setattr(torch.cuda, "get_device_name", lambda *a: "Pretend 9000")
        real = device._probe

        def probe(where):
            if where.type != name:
                return real(where)
            if isinstance(result, Exception):
                raise result
            return result
        monkeypatch.setattr(device, "_probe", probe)
    return install


def absent(monkeypatch, name, built):
    backend = {"cuda": torch.backends.cuda, "mps": torch.backends.mps}[name]
    monkeypatch.setattr(backend, "is_built", lambda: built)
    monkeypatch.setattr(torch.cuda if name == "cuda" else torch.backends.mps, "is_available", lambda: False)


def test_the_cpu_is_always_usable_and_all_three_are_listed():
    statuses = available()
    assert [s.name for s in statuses] == ["cpu", "cuda", "mps"]
    assert statuses[0] == DeviceStatus("cpu", True, "ok")
    assert all(s.usable == (s.reason == "ok") for s in statuses)


@pytest.mark.parametrize("name", ["cuda", "mps"])
@pytest.mark.parametrize("built, reason", [(False, "not_built"), (True, "not_found")])
def test_an_absent_gpu_falls_back_to_the_cpu_and_says_why(monkeypatch, name, built, reason):
    absent(monkeypatch, "cuda", built)
    absent(monkeypatch, "mps", built)
    chosen, why = choose(name)
    assert chosen == torch.device("cpu") and (why.name, why.usable, why.reason) == (name, False, reason)
    assert resolve(name) == torch.device("cpu")
    assert choose("auto") == (torch.device("cpu"), None), "a machine without a GPU is no news"


@pytest.mark.parametrize("name", ["cuda", "mps"])
def test_a_gpu_that_passes_its_probe_is_used(monkeypatch, pretend, name):
    absent(monkeypatch, "cuda", False)
    absent(monkeypatch, "mps", False)
    pretend(name, 0.0)
    assert choose("auto") == choose(name) == (torch.device(name), None)
    assert resolve() == torch.device(name)
    assert choose("cpu") == (torch.device("cpu"), None)


@pytest.mark.parametrize("name", ["cuda", "mps"])
@pytest.mark.parametrize("result, reason, detail", [
    (RuntimeError("no kernel image is available\nand more"), "failed", "RuntimeError: no kernel image is available"),
    (RuntimeError(), "failed", "RuntimeError"),
    (1e-3, "inexact", "1.0e-03"),                          # what TF32 gives
    (float("nan"), "inexact", "nan"),
])
def test_a_gpu_that_fails_its_probe_is_passed_over_with_the_reason(monkeypatch, pretend, name, result, reason, detail):
    absent(monkeypatch, "cuda", False)
    absent(monkeypatch, "mps", False)
    pretend(name, result)
    for asked in ("auto", name):
        chosen, why = choose(asked)
        assert chosen == torch.device("cpu")
        assert (why.name, why.usable, why.reason) == (name, False, reason) and why.detail.startswith(detail)


def test_auto_goes_on_to_the_next_gpu_when_one_fails(pretend):
    pretend("cuda", RuntimeError("broken"))
    pretend("mps", 0.0)
    assert choose("auto") == (torch.device("mps"), None)


@pytest.mark.parametrize("bad", ["gpu", "cuda:1", "", None, "CPU"])
def test_an_unknown_name_is_refused(bad):
    for f in (choose, resolve):
        with pytest.raises(ValueError, match="device must be one of auto, cpu, cuda, mps; got"):
            f(bad)


def test_the_probe_computes_and_would_notice_coarse_matrix_products():
    assert device._probe(torch.device("cpu")) == 0
    x = torch.sin(torch.arange(64.0)).view(8, 8)
    coarse = (x.view(torch.int32) & -0x2000).view(torch.float32)          # ten bits of mantissa, as TF32 keeps
    assert (coarse @ coarse.T - x @ x.T).abs().max() > 1e-4


def test_the_probe_runs_once(monkeypatch):
    calls = []
    monkeypatch.setattr(device, "_probe", lambda where: calls.append(where) or 0.0)
    available(), available(), resolve("cpu")
    assert calls.count(torch.device("cpu")) == 1


def test_nothing_global_is_changed():
    before = torch.get_float32_matmul_precision(), torch.get_default_dtype(), torch.random.get_rng_state()
    available()
    after = torch.get_float32_matmul_precision(), torch.get_default_dtype(), torch.random.get_rng_state()
    assert before[:2] == after[:2] and torch.equal(before[2], after[2])


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")
def test_a_real_gpu_passes():
    assert resolve("auto").type == "cuda" and available()[1].detail
