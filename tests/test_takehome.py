"""What can be taken home: each page's program prints the page's digits, and its files hold what was on the screen."""

from __future__ import annotations

import ast
import contextlib
import io
import itertools
import json
import math
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
import zipfile
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest
import torch
from nbclient import NotebookClient

from qkv_core import complexity, handout, scripts, settings
from qkv_core import plan as plans
from qkv_core.notebook import Cell, notebook, program
from qkv_core.text import number
from qkv_core.text import saturation as saturation_words
from qkv_core.text import take_home as words
from qkv_core.text import training as training_words
from qkv_core.text import triad as triad_words
from qkv_core.text import variance as variance_words
from qkv_core.typed import format_cells
from qkv_core.ui import lessons, take_home
from qkv_core.ui.cached import heads as heads_cached
from qkv_core.ui.cached import home as home_cached
from qkv_core.ui.cached import saturation as saturation_cached
from qkv_core.ui.cached import shapes as shapes_cached
from qkv_core.ui.cached import training as training_cached
from qkv_core.ui.cached import triad as triad_cached
from qkv_core.ui.cached import variance as variance_cached
from qkv_core.ui.player import Player
from qkv_core.ui.screen import Screen
from tests.app import assert_healthy, open_page

EDITED = {"t_x": ((1, 0.5, 0.2, -3), (0.1, 2, 0.8, 0.2), (0.2, 0.1, 1.5, 1.8)), "t_wv": ((0, 0, 0, 1),) * 4}
TOKENS = {"tr_opt": "adam", "tr_lr": 0.01, "tr_seeds": 2, "d_k": 16}


def planned(*rows: tuple[float, ...]) -> tuple[tuple[float, ...], ...]:
    """Changes of the learning rate as a link holds them."""
    return rows + ((0, 0, 0, 0),) * (8 - len(rows))


CHANGES: dict[str, tuple[dict[str, Any], ...]] = {
    "home": ({}, {"tau": 0.5, "mask": "causal", "scale": "none"}, {"mask": "padding", "scale": "dk", "tau": 2.5}),
    "triad": (
        {},
        {**EDITED, "t_row": 2, "t_col": 0, "tau": 0.35, "scale": "none", "mask": "window", "t_n": 1},
        {"t_in": "random", "t_len": 6, "t_c": 5, "d_k": 32, "t_dv": 3, "seed": 7, "mask": "causal", "t_row": 4, "t_col": 2},
        {"mask": "padding", "t_n": 3, "t_row": 1, "t_col": 1, "scale": "sqrt_dmodel"},
        {"mask": "prefix", "t_n": 2, "scale": "dk", "t_row": 0, "t_col": 1},
    ),
    "variance": (
        {},
        {"d_k": 8, "v_ds": (1, 3, 70), "v_n": 100_000, "seed": 3},
        {"v_dist": "heavy", "v_mu": 0.5, "v_rho": -0.3, "v_n": 1000},
        {"v_dist": "uniform", "v_rho": 0.5, "v_n": 20_000, "v_ds": (2, 20)},
        {"v_dist": "sign", "v_n": 100, "v_mu": -1.0},
        {"v_lin": True, "v_c": 128, "v_n": 1000, "v_bias": False, "v_ds": (5, 100)},
        {"v_n": 1},
    ),
    "saturation": ({}, {"scale": "dk", "tau": 0.3, "s_keys": 17, "d_k": 8}, {"scale": "sqrt_dmodel", "seed": 5, "d_k": 512, "heads": 2}),
    "shapes": ({}, {"B": 3, "T": 7, "C": 20, "H": 5, "seed": 1}, {"C": 12, "H": 5}),
    "training": (
        {"tr_until": 60, "tr_seeds": 8},
        {"tr_kind": "lr", "mask": "causal", "tr_until": 40, "d_k": 16, "tr_seeds": 4},
        {"tr_opt": "adam", "tr_lr": 0.01, "tr_heads": 2, "tr_until": 40, "tr_seeds": 8, "tr_target": ((0, 1, 0, 0.5),) * 3},
        {"tr_kind": "heads", "scale": "sqrt_dmodel", "mask": "window", "tr_until": 40, "tr_seeds": 8},
        {"tr_lr": 5.0, "tr_until": 42, "tr_seeds": 4, "mask": "padding"},
        {"tr_start": "lesson", "d_k": 4, "tr_seeds": 1, "tr_lr": 0.1, "tr_until": 201},
        {"tr_start": "lesson", "d_k": 4, "tr_lr": 0.1, "tr_until": 40, "tr_kind": "init", "tr_init": 0.5, "tr_opt": "adam"},
        {"tr_beat": True, "tr_c_lr": 0.05, "tr_until": 60, "tr_seeds": 4, "tr_rates": planned((40, 0.1, 0.5, 2.0), (20, 0.3, 0.3, 0.1))},
        {**TOKENS, "tr_task": "reverse", "tr_until": 40},
        {**TOKENS, "tr_task": "reverse", "tr_heads": 4, "tr_kind": "tau", "mask": "causal", "tr_layers": 2, "tr_until": 20},
        {**TOKENS, "tr_task": "key_value", "tr_beat": True, "tr_c_lr": 0.005, "tr_until": 40},
        {**TOKENS, "tr_task": "key_value", "tr_opt": "sgd", "tr_lr": 0.5, "tr_kind": "lr", "tr_b_lr": 50.0, "mask": "padding", "tr_until": 30},
        {**TOKENS, "tr_task": "look_up", "tr_lr": 0.002, "tr_kind": "layers", "mask": "prefix", "tr_until": 30},
        {**TOKENS, "tr_task": "look_up", "tr_kind": "heads", "tr_heads": 2, "tr_until": 20, "tr_rates": planned((7, 0.001, 0.02, 0))},
        {**TOKENS, "tr_task": "look_up", "tr_kind": "init", "tr_layers": 3, "scale": "sqrt_dmodel", "d_k": 8, "tr_until": 20, "seed": 0},
        {**TOKENS, "tr_task": "reverse", "tr_seeds": 1, "tr_until": 1},
        {**TOKENS, "tr_task": "reverse", "d_k": 8, "tr_until": 21, "tr_lr": 0.02},
        {**TOKENS, "tr_task": "agreement", "tr_lr": 0.001, "tr_until": 40},
    ),
    "complexity": ({}, {"x_n": 65536, "x_k": 1, "x_r": 4}, {"x_n": 1}, {"x_n": 27, "x_k": 3, "d_k": 8, "heads": 2, "x_r": 64}),
    "heads": (
        {},
        {"h_head": "same_word", "h_src": "typed", "h_text": 'the "cat" saw\n# the \\ cat', "mask": "window", "h_win": 2, "tau": 0.5},
        {"h_head": "subject", "mask": "causal", "h_pad": 2, "h_paint": True, "h_cells": format_cells({(1, 0), (3, 3)}, 13), "h_row": 3},
        {"h_head": "previous", "h_src": "typed", "h_text": "uno dos tres", "mask": "padding", "h_pad": 1, "scale": "none", "h_row": 2},
    ),
}
CASES = [(page, n) for page, changes in CHANGES.items() for n in range(len(changes))]


def values(page: str, n: int) -> dict[str, Any]:
    return {**settings.defaults(), **CHANGES[page][n]}


def printed(source: str) -> list[str]:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(source, "<program>", "exec"), {"__name__": "__main__"})
    return out.getvalue().splitlines()


def blocks(lines: list[str]) -> dict[str, list[list[str]]]:
    """Name of a matrix -> its rows of printed numbers."""
    found: dict[str, list[list[str]]] = {}
    for line in lines:
        if re.fullmatch(r"[A-Za-z_]+", line):
            found[line] = rows = []
        elif found:
            rows.append(line.split())
    return found


def home_says(v: dict[str, Any], lines: list[str]) -> None:
    e = home_cached.example(v["tau"], v["mask"], v["scale"])
    shown = blocks(lines)
    assert [row[1:] for row in shown["weights"]] == [[number(x, ".1%", "en") for x in row] for row in e.weights]
    for name, matrix in {"Q": e.q, "raw": e.raw, "scaled": e.scaled, "masked": e.masked, "output": e.output}.items():
        assert shown[name] == [[f"{x:.2f}" for x in row] for row in matrix], name


def triad_says(v: dict[str, Any], lines: list[str]) -> None:
    given = ("cat", *(v[k] for k in triad_words.GRIDS)) if v["t_in"] == "cat" else (
        "random", v["t_len"], v["t_c"], v["d_k"], v["t_dv"], v["seed"])
    T = 3 if v["t_in"] == "cat" else v["t_len"]
    run = triad_cached.lesson(given, v["tau"], v["mask"], min(v["t_n"], T), v["scale"])
    shown = blocks(lines)
    for name in ("X", "Q", "K", "V", "raw", "scaled", "masked", "weights", "sums", "output"):
        made = torch.tensor([[float(x) for x in row] for row in shown[name][:len(run.matrix(name))]], dtype=torch.float64)
        want = run.matrix(name)
        assert made.shape == want.shape and torch.equal(made.isinf(), want.isinf()), name
        assert bool(((made - want)[want.isfinite()].abs() <= 0.500001e-4).all()), name
    cell = triad_cached.row_arithmetic(run, v["t_row"])[v["t_col"]]
    told = dict(line.rsplit(" ", 1) for line in lines if line.startswith(("raw ", "scaled ", "exp ", "sum of", "weight ")))
    assert told["raw"] == f"{cell.raw:.6f}" and told["scaled"] == f"{cell.scaled:.6f}"
    assert told["weight"] == f"{cell.weight:.6f}"
    if not cell.masked:
        assert told["exp"] == f"{cell.exp:.6f}" and told["sum of the row"] == f"{cell.denominator:.6f}"
    assert next(line for line in lines if line.startswith("terms")).split()[1:] == [f"{x:.6f}" for x in cell.terms.tolist()]


def variance_says(v: dict[str, Any], lines: list[str]) -> None:
    a = variance_cached.assumptions(v["v_dist"], v["v_mu"], v["v_rho"], v["v_lin"], v["v_c"], v["v_bias"])
    run = variance_cached.study(v["v_n"], v["seed"], a, "cpu")
    table = variance_cached.table(run, tuple(sorted({*v["v_ds"], v["d_k"]})))
    rows = [[cell.strip("*") for cell in row] for row in variance_words.rows(table, v["d_k"], "en")]
    shown = [line.split() for line in lines[1:]]
    assert [[x.replace("nan", "–") for x in line] for line in shown] == [[d, theory, one, two] for d, theory, one, _, two in rows]


def saturation_says(v: dict[str, Any], lines: list[str]) -> None:
    row = saturation_cached.row(v["d_k"], v["heads"], v["s_keys"], v["seed"], v["tau"], v["scale"])
    names = {"unscaled": "unscaled", "scaled": "scaled", "other": v["scale"]}
    told: dict[str, dict[str, str]] = {}
    for line in lines:
        if line.startswith("  "):
            key, rest = re.match(r"  (weights|peak|entropy|effective keys|Jacobian norm)\s+(.*)", line).groups()
            told[name][key] = rest
        else:
            name, told[line.split()[0]] = line.split()[0], {}
    assert set(told) == {names[arm.code] for arm in row.arms}
    for arm in row.arms:
        shown = told[names[arm.code]]
        assert shown["weights"].split() == [f"{w:.4f}" for w in arm.weights]
        assert shown["peak"] == f"{arm.peak:.4f}, key {arm.key + 1}"
        for name, value in (("entropy", arm.entropy), ("effective keys", arm.effective), ("Jacobian norm", arm.norm)):
            page = saturation_words.cell(value, "en")
            assert shown[name] == page or (shown[name] == "0.0000" and "<" in page), name


def shapes_says(v: dict[str, Any], lines: list[str]) -> None:
    sizes = tuple(v[name] for name in "BTCH")
    if v["C"] % v["H"]:
        assert lines == [shapes_cached.head_error(*sizes).message]
        return
    steps = shapes_cached.walk(*sizes, v["seed"]).steps
    assert lines == ["\t".join(map(str, (s.tensor, s.shape, s.stride, s.contiguous))) for s in steps]


def training_says(v: dict[str, Any], lines: list[str]) -> None:
    """The program against the page's own run, and in one place digit for digit what the page writes."""
    shown = plans.plan(v)
    arms, steps = len(shown.config.arms), min(v["tr_until"], shown.config.max_steps)
    play = Player()
    play.trainer, play.plan = training_cached.build(shown.config), plans.rate_changes(v, arms)
    play._advance(play.trainer, math.inf, steps)
    records, counts = play.trainer.records(), play.trainer.counts()
    assert play.step == steps
    for line, (arm, at) in zip(lines, itertools.product(range(arms), sorted({0, steps - 1})), strict=True):
        frame = play.trainer.records(0, at + 1).summary(training_cached.POINTS)
        loss, decided, right = (training_cached.now(frame, name)[arm] for name in ("loss", "frozen", "accuracy"))
        accuracy = "" if v["tr_task"] == "cat_sat" else f"right {right:.0%}  "
        lost = sum(name == counts[arm].arm and step <= at for name, _, step in play.trainer.diverged())
        solved = int(records.solved[at, arm].sum())
        assert line == (
            f"{'ABC'[arm]}  step {at + 1}  loss {loss:.4g}  decided rows {decided:.0%}  {accuracy}"
            f"solved {solved} of {counts[arm].seeds}  diverged {lost}"
        )
    if math.isfinite(loss):
        assert line.split("  ")[2] == training_words.LOSS_PART("en", who="loss", loss=loss)


def complexity_says(v: dict[str, Any], lines: list[str]) -> None:
    table = complexity.table_1(v["x_n"], v["heads"] * v["d_k"], v["x_k"], v["x_r"])
    want = [f"{r.layer}  {r.operations:,d}  {r.sequential:,d}  {r.path:g}" for r in table.itertuples()]
    shown = [re.sub(r"\S+$", lambda m: f"{float(m[0]):g}", line) for line in lines[: len(want)]]
    assert shown == want
    assert lines[len(want)].endswith(f"{complexity.crossover(v['x_n'], v['heads'] * v['d_k']).ratio:g}")


def heads_says(v: dict[str, Any], lines: list[str], lang: str = "en") -> None:
    shared = settings.Shared(**{s.key: v[s.key] for s in settings.SHARED} | {"lang": lang})
    run = heads_cached.shown(heads_cached.asked(shared, v.get))
    assert lines[0] == "weights"
    for line, row, token in zip(lines[1:-1], run.weights.tolist(), run.labels, strict=True):
        assert line == "  ".join(f"{x:.4f}" for x in row) + f" {token!r}"


SAYS = {"training": training_says, "complexity": complexity_says, "heads": heads_says, "home": home_says, "triad": triad_says, "variance": variance_says, "saturation": saturation_says, "shapes": shapes_says}


@pytest.mark.parametrize(("page", "n"), CASES)
def test_the_program_prints_the_digits_of_its_page(page: str, n: int) -> None:
    v = values(page, n)
    SAYS[page](v, printed(scripts.script(page, v, "es" if n % 2 and page != "heads" else "en")))


@pytest.mark.parametrize("page", CHANGES)
def test_a_plain_interpreter_runs_it_with_nothing_but_torch(page: str, tmp_path: Path) -> None:
    source = scripts.script(page, values(page, 1), "en")
    asked = {a.name for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Import) for a in node.names}
    assert asked <= {"math", "os", "torch"} and "from " not in re.sub(r"#.*|\".*\"|yield from", "", source)
    file = tmp_path / "program.py"
    file.write_text(source, encoding="utf-8")
    done = subprocess.run([sys.executable, "-I", str(file)], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and not done.stderr.strip(), done.stderr
    SAYS[page](values(page, 1), done.stdout.splitlines())


@pytest.mark.parametrize("page", CHANGES)
def test_the_program_speaks_the_viewers_language(page: str) -> None:
    english, spanish = (scripts.script(page, values(page, 0), lang) for lang in ("en", "es"))
    assert english != spanish
    if page != "heads":  # whose sentences are in the viewer's language too
        assert ast.dump(ast.parse(english)) == ast.dump(ast.parse(spanish))
    assert max(map(len, english.splitlines())) <= 130


@pytest.mark.parametrize("page", lessons.ORDER)
def test_every_lesson_has_a_program(page: str) -> None:
    assert len(scripts.parts(page, settings.defaults(), "en")) >= 3


def test_a_page_without_a_program_has_none() -> None:
    assert scripts.parts("nowhere", {}, "en") == ()
    assert scripts.parts("shapes", {**settings.defaults(), "B": 64, "T": 512, "C": 2048, "H": 1}, "en") == ()


# the page as files


def screen_of(page: str, **link: str) -> Screen:
    at = open_page(page, **link)
    assert_healthy(at)
    return at.session_state["_screen"]


@pytest.mark.parametrize("lang", ["en", "es"])
@pytest.mark.parametrize("page", [p for p in CHANGES if p != "training"])
def test_the_notebook_is_valid_and_its_program_runs(page: str, lang: str) -> None:
    cells = take_home.cells(screen_of(page, lang=lang))
    book = nbformat.reads(notebook(cells), as_version=4)
    nbformat.validate(book)
    assert (book.nbformat, book.nbformat_minor) == (4, 5) and len({c.id for c in book.cells}) == len(book.cells)
    text = "\n".join(c.source for c in book.cells if c.cell_type == "markdown")
    assert lessons.texts(page).QUESTION(lang) in text and words.NOTICE(lang) in text
    assert not re.search(r":(blue|orange|green|violet|yellow|material)\b", text)
    lines = printed("\n".join(c.source for c in book.cells if c.cell_type == "code"))
    assert lines == printed(program(cells)) == printed(scripts.script(page, settings.defaults(), lang))
    SAYS[page](values(page, 0), lines, **({"lang": lang} if page == "heads" else {}))


def test_a_notebook_runs_from_top_to_bottom_in_a_kernel() -> None:
    book = nbformat.reads(notebook(take_home.cells(screen_of("saturation", lang="es", d_k="16"))), as_version=4)
    NotebookClient(book, timeout=120, kernel_name="python3").execute()
    lines = "".join(o.text for c in book.cells if c.cell_type == "code" for o in c.outputs if o.output_type == "stream").splitlines()
    saturation_says({**settings.defaults(), "d_k": 16}, lines)


@pytest.mark.parametrize(("lang", "n"), [("en", 7), ("es", 9), ("en", 13)])
def test_the_notebook_of_a_training_prints_what_the_page_shows(lang: str, n: int) -> None:
    link = settings.format(values("training", n), "training")
    cells = take_home.cells(screen_of("training", **{**link, "lang": lang}))
    nbformat.validate(nbformat.reads(notebook(cells), as_version=4))
    lines = printed("\n".join(c.text for c in cells if c.kind == "code"))
    assert lines == printed(program(cells))
    assert ("changes = {" in program(cells)) == (n != 9)
    training_says(values("training", n), lines)


@pytest.mark.parametrize("n", [4, 16])
def test_of_the_runs_that_programs_are_tested_on_some_end_and_some_do_not(n: int) -> None:
    """A count of 0 or of all would be right by chance."""
    v = values("training", n)
    trainer = training_cached.build(plans.plan(v).config)
    trainer.advance(v["tr_until"])
    ended = [c.diverged if n == 4 else c.solved for c in trainer.counts()]
    assert 0 < sum(ended) < len(ended) * trainer.counts()[0].seeds


def test_a_notebook_is_written_with_the_standard_library_and_keeps_every_sign() -> None:
    cells = [Cell("markdown", "# «ñ» $x$\n\n<b>"), Cell("code", 'print("</script>")\n')]
    assert [("".join(c["source"])) for c in json.loads(notebook(cells))["cells"]] == [c.text for c in cells]


@pytest.mark.parametrize("lang", ["en", "es"])
@pytest.mark.parametrize("page", lessons.ORDER)
def test_the_handout_holds_the_page_and_asks_for_nothing(page: str, lang: str) -> None:
    screen = screen_of(page, lang=lang)
    screen.url = "http://127.0.0.1:8501/" + page
    made = take_home.page_as_html(screen)
    assert "default-src 'none'" in made and "@page { size: A4" in made and "<script" not in made
    outside = re.findall(r"""\s(?:src|href|xlink:href|action)\s*=\s*["']?(?!#|data:)([^"'\s>]+)""", made)
    assert set(outside) == {take_home.link(screen).replace("&", "&amp;")}
    assert "url(http" not in made and "@import" not in made
    charts = [e for e, _ in screen_elements(screen) if e.WhichOneof("type") == "vega_lite_chart"]
    assert made.count("<figure>") == len(charts) > 0
    ids = re.findall(r'\bid="([^"]+)"', made)
    assert len(ids) == len(set(ids))
    text = re.sub(r"<[^>]+>", "", made)
    for element, _ in screen_elements(screen):
        kind = element.WhichOneof("type")
        if kind == "metric":
            assert handout.html.escape(element.metric.body) in text
        if kind in ("table", "dataframe"):
            for cell in (c for row in take_home.screens.table(element)[1] for c in row):
                assert not re.fullmatch(r"[\d.,\u202f%\u2212]+", cell) or cell in text


def screen_elements(screen: Screen) -> list:
    return take_home.screens.blocks(screen, frozenset())


def test_what_a_handout_shows_is_escaped_and_its_markup_is_the_labs_own() -> None:
    bad = '<img src=x onerror="alert(1)"> **bold** :blue[Q] `a<b` $d_k$ [x](javascript:alert(1))'
    made = handout.document(bad, [handout.Prose(bad), handout.Plain(bad), handout.Heading(bad),
                                  handout.Table(("<b>",), (("<i>",),), total=3), handout.Note(bad)], lang="en",
                            lead=[("<k>", "<v>")], link=("x", "javascript:alert(1)"), left_out=lambda n: f"<{n}>")  # fmt: skip
    assert "<img" not in made and "javascript:alert(1)\"" not in made and 'href="javascript' not in made
    assert "<b>bold</b>" in made and '<span style="color:#3965a2">Q</span>' in made and "<code>a&lt;b</code>" in made
    assert "<math" in made and "&lt;2&gt;" in made and "&lt;k&gt;" in made


def test_a_formula_that_cannot_be_read_is_shown_as_it_is_written() -> None:
    assert handout.mathml(r"\sqrt{d_k}").startswith("<math")
    assert handout.mathml(r"\frac{1}{").startswith(("<code>", "<math"))


@pytest.mark.parametrize("page", lessons.ORDER)
def test_pictures_come_as_svg_and_png_in_the_light_theme_with_the_languages_numbers(page: str) -> None:
    screen = screen_of(page, lang="es")
    with zipfile.ZipFile(io.BytesIO(take_home.charts_as(screen, "svg"))) as made:
        names = made.namelist()
        assert names and len(set(names)) == len(names)
        for name in names:
            root = ET.fromstring(made.read(name))
            assert root.tag.endswith("svg") and root.get("viewBox")
            numbers = [t for e in root.iter() if (t := e.text) and re.fullmatch(r"\d+[.,]\d+", t)]
            assert not [t for t in numbers if "." in t], (name, numbers)
    with zipfile.ZipFile(io.BytesIO(take_home.charts_as(screen, "png"))) as made:
        assert len(made.namelist()) == len(names)
        assert all(made.read(name).startswith(b"\x89PNG") for name in made.namelist())


@pytest.mark.parametrize(("page", "name"), [("home", "weights"), ("triad", "weights"), ("saturation", "scaled_weights"), ("shapes", "weights")])
def test_the_matrices_are_those_of_the_page(page: str, name: str) -> None:
    screen = screen_of(page)
    want = take_home.tensors(screen)
    with np.load(io.BytesIO(take_home.as_npz(screen)), allow_pickle=False) as arrays:
        assert set(arrays) == set(want) and len(want) > 5
        for key, tensor in want.items():
            assert np.array_equal(arrays[key], tensor.numpy())
    loaded = torch.load(io.BytesIO(take_home.as_pt(screen)), weights_only=True)
    assert all(torch.equal(loaded[key], want[key]) for key in want)
    assert torch.allclose(want[name].sum(-1), torch.ones((), dtype=want[name].dtype), atol=1e-5)


@pytest.mark.parametrize("page", lessons.ORDER)
def test_a_closed_box_holds_nothing_and_an_open_one_the_program_of_the_screen(page: str) -> None:
    at = open_page(page)
    assert not [b for b in at.get("download_button") if "take_" in b.proto.id]
    at.session_state["take_home"] = True
    at.run()
    assert_healthy(at)
    assert scripts.script(page, at.session_state["_values"], "en").strip() in [c.value.strip() for c in at.code]
    assert [b for b in at.get("download_button") if "take_html" in b.proto.id]
    screen = at.session_state["_screen"]
    assert screen.code
    assert take_home.show.source(screen.code[0]).strip() in [c.value.strip() for c in at.code]
