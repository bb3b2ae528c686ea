"""A page as one file of HTML that asks for nothing: its text, tables and pictures, to print or to send.

Blocks in, a document out. Everything that stands in a block is escaped; of markup only the subset that the lab's own
texts use is read. The document carries a policy that forbids every request, so even a fault here could make none.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

MAX_ROWS = 40
"""Rows of a long table that are printed; the rest is told as a number."""

WIDE = 84
"""Signs of a table's longest cells together, above which it is set smaller and its cells may break."""

SHORT = 20
"""Rows up to which a table stays on one page."""

SMALL = 345
"""Pixels: the width of a picture that shares its line."""

COLOURS = {
    "blue": "#3965a2", "orange": "#672719", "green": "#136846", "violet": "#5a2552", "yellow": "#865d1b", "red": "#a3161f",
    "gray": "#5d5548",
}  # fmt: skip
"""The light theme's colour of each name of markup; paper is light whatever the screen is."""


@dataclass(frozen=True)
class Heading:
    text: str
    level: int = 2


@dataclass(frozen=True)
class Prose:
    """Our own words, as markup; small ones are captions."""

    text: str
    small: bool = False


@dataclass(frozen=True)
class Plain:
    """Text without markup, which a person may have typed."""

    text: str
    code: bool = False


@dataclass(frozen=True)
class Formula:
    tex: str


@dataclass(frozen=True)
class Note:
    """A message or a badge. kind: info, good, bad."""

    text: str
    kind: str = "info"


@dataclass(frozen=True)
class Metric:
    label: str
    value: str


@dataclass(frozen=True)
class Question:
    text: str
    answers: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """Cells as they are read on the screen; markup where `markup` says so. right: columns of numbers."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: frozenset[int] = frozenset()
    markup: bool = False
    total: int = 0


@dataclass(frozen=True)
class Figure:
    """A picture (the text of an SVG) and the sentence that describes it; "" where the text around it does."""

    svg: str
    says: str
    alt: str
    name: str


Block = Heading | Prose | Plain | Formula | Note | Metric | Question | Table | Figure


def document(
    title: str,
    blocks: Sequence[Block],
    *,
    lang: str,
    lead: Sequence[tuple[str, str]] = (),
    settings_title: str = "",
    footer: Sequence[str] = (),
    link: tuple[str, str] = ("", ""),
    left_out: Callable[[int], str] = str,
) -> str:
    """The whole file.

    Args:
        lead: the settings, name and value each. footer: lines of markup. link: what it says and the address.
        left_out: how many rows of a table are not printed -> a sentence.
    """
    body = "\n".join(_grouped(_filled(blocks), left_out))
    said, address = link
    safe = html.escape(address, quote=True)
    settings = "".join(f"<div><dt>{html.escape(k)}</dt><dd>{html.escape(v)}</dd></div>" for k, v in lead)
    listed = f'<section aria-label="{html.escape(settings_title, quote=True)}"><dl class="settings">{settings}</dl></section>' if settings else ""
    back = f'<p class="link">{html.escape(said)} <a href="{safe}">{safe}</a></p>' if address.startswith(("http://", "https://")) else ""
    return f"""<!doctype html>
<html lang="{html.escape(lang, quote=True)}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<title>{html.escape(title)}</title>
<style>{_css()}</style>
</head>
<body>
<header><p class="lab">QKV Lab</p><h1>{html.escape(title)}</h1></header>
{listed}
<main>
{body}
</main>
<footer>{"".join(f"<p>{inline(line)}</p>" for line in footer)}{back}</footer>
</body>
</html>
"""


def _filled(blocks: Sequence[Block]) -> list[Block]:
    """Without headings that have nothing below them: a part of the page that holds only buttons."""

    def empty(block: Block, following: Block | None) -> bool:
        return isinstance(block, Heading) and (following is None or isinstance(following, Heading) and following.level <= block.level)

    return [block for block, following in zip(blocks, [*blocks[1:], None]) if not empty(block, following)]


def _grouped(blocks: Sequence[Block], left_out: Callable[[int], str]) -> list[str]:
    """Each block's HTML. Numbers and badges that follow one another share a line, and so do small pictures, each with the
    line above it."""
    out: list[str] = []
    row: list[str] = []
    kind = ""

    def close() -> None:
        nonlocal kind
        if row:
            out.append(f'<div class="{kind}">{"".join(row)}</div>')
        row.clear()
        kind = ""

    i = 0
    while i < len(blocks):
        block, following = blocks[i], blocks[i + 1] if i + 1 < len(blocks) else None
        if isinstance(block, Metric) or (isinstance(block, Note) and len(block.text) < 160):
            wanted, taken = "row", 1
        elif _small(block):
            wanted, taken = "panels", 1
        elif isinstance(block, Prose) and len(block.text) < 120 and _small(following):
            wanted, taken = "panels", 2
        else:
            wanted, taken = "", 1
        if wanted != kind:
            close()
            kind = wanted
        made = "".join(_block(blocks[n], n, left_out) for n in range(i, i + taken))
        if wanted:
            row.append(f'<div class="panel">{made}</div>' if wanted == "panels" else made)
        else:
            out.append(made)
        i += taken
    close()
    return out


def _small(block: Block | None) -> bool:
    """Is this a picture that leaves room for another beside it?"""
    width = re.search(r'<svg [^>]*\bwidth="([\d.]+)', block.svg) if isinstance(block, Figure) else None
    return width is not None and float(width[1]) < SMALL


def _block(block: Block, i: int, left_out: Callable[[int], str]) -> str:
    match block:
        case Heading(text, level):
            return f"<h{level}>{inline(text)}</h{level}>"
        case Prose(text, small):
            return f'<div class="small">{prose(text)}</div>' if small else prose(text)
        case Plain(text, code):
            return f"<pre>{html.escape(text)}</pre>" if code else f"<p>{html.escape(text)}</p>"
        case Formula(tex):
            return f'<p class="formula">{mathml(tex, display=True)}</p>'
        case Note(text, kind):
            return f'<p class="note {kind}">{inline(text)}</p>'
        case Metric(label, value):
            return f'<div class="metric"><span>{inline(label)}</span><b>{html.escape(value)}</b></div>'
        case Question(text, answers):
            items = "".join(f"<li>{inline(answer)}</li>" for answer in answers)
            return f'<div class="question"><p>{inline(text)}</p><ul>{items}</ul></div>'
        case Table():
            return _table(block, left_out)
        case Figure(svg, says, alt, _):
            caption = f"<figcaption>{inline(says)}</figcaption>" if says else ""
            return f"<figure>{_svg(svg, f'f{i}', alt)}{caption}</figure>"


def _table(table: Table, left_out: Callable[[int], str]) -> str:
    signs = sum(max((len(bare(row[c])) for row in table.rows), default=0) for c in range(len(table.head)))
    wide = signs > WIDE

    def write(text: str) -> str:
        text = text.replace("\u00a0", " ") if wide else text  # on paper nothing scrolls: long cells take two lines
        return inline(text) if table.markup else html.escape(text)

    right = ["right" if c in table.right else "" for c in range(len(table.head))]
    head = "".join(f'<th scope="col" class="{r}">{write(text)}</th>' for text, r in zip(table.head, right))
    rows = "".join(
        "<tr>" + "".join(f'<td class="{r}">{write(text)}</td>' for text, r in zip(row, right)) + "</tr>" for row in table.rows
    )
    left = table.total - len(table.rows)
    more = f'<p class="small">{html.escape(left_out(left))}</p>' if left > 0 else ""
    small = ' class="wide"' if wide else ""
    short = " short" if len(table.rows) <= SHORT else ""
    return f'<div class="table{short}"><table{small}><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{more}</div>'


def _svg(svg: str, prefix: str, alt: str) -> str:
    """The picture to stand in the file: names of its own, since two pictures of one file may not share them."""
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', svg)
    svg = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", svg)
    svg = re.sub(r'href="#([^"]+)"', rf'href="#{prefix}-\1"', svg)
    return svg.replace("<svg ", f'<svg role="img" aria-label="{html.escape(alt, quote=True)}" ', 1)


def prose(text: str) -> str:
    """Markup of several lines: paragraphs and lists."""
    out: list[str] = []
    for chunk in re.split(r"\n\s*\n", text.strip()):
        lines = chunk.split("\n")
        if all(re.match(r"\s*[-*] ", line) for line in lines):
            out.append(_list("ul", lines))
        elif all(re.match(r"\s*\d+\. ", line) for line in lines):
            out.append(_list("ol", lines))
        else:
            out.append(f"<p>{inline(' '.join(lines))}</p>")
    return "\n".join(out)


def _list(tag: str, lines: Sequence[str]) -> str:
    items = (re.sub(r"^\s*([-*]|\d+\.) ", "", line) for line in lines)
    return f"<{tag}>" + "".join(f"<li>{inline(item)}</li>" for item in items) + f"</{tag}>"


def inline(text: str) -> str:
    """Markup of one line as HTML: bold, italics, code, colour, links and formulas; everything else is escaped."""
    kept: list[str] = []

    def keep(made: str) -> str:
        kept.append(made)
        return f"\x00{len(kept) - 1}\x00"

    text = text.replace("\x00", "")
    text = re.sub(r"`([^`]+)`", lambda m: keep(f"<code>{html.escape(m[1])}</code>"), text)
    text = re.sub(r"\$([^$\n]+)\$", lambda m: keep(mathml(m[1])), text)
    text = re.sub(r"\\([\\*_{}\[\]()#+.!$:<>|~-])", lambda m: keep(html.escape(m[1])), text)
    text = re.sub(r":material/\w+:\s*", "", text)
    text = html.escape(text, quote=False)
    before = ""
    while before != text:
        before = text
        text = re.sub(r":([a-z]+)(?:-badge|-background)?\[([^\[\]]*)\]", _coloured, text)
        text = re.sub(r"(?<!!)\[([^\[\]]*)\]\((https?://[^)\s]+)\)", lambda m: f'<a href="{keep(html.escape(m[2], quote=True))}">{m[1]}</a>', text)
    text = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", text)
    text = re.sub(r"(?<![\w*])\*([^*\s][^*]*?)\*(?![\w*])", r"<i>\1</i>", text)
    while "\x00" in text:
        text = re.sub(r"\x00(\d+)\x00", lambda m: kept[int(m[1])], text)
    return text


def _coloured(found: re.Match[str]) -> str:
    colour = COLOURS.get(found[1])
    return f'<span style="color:{colour}">{found[2]}</span>' if colour else found[2]


def plain(text: str) -> str:
    """Markup as a sentence without any, for a notebook's or a program's comments; formulas keep their TeX."""
    text = re.sub(r":material/\w+:\s*", "", text)
    text = re.sub(r":[a-z]+(?:-badge|-background)?\[([^\[\]]*)\]", r"\1", text)
    return text


def bare(text: str) -> str:
    """A sentence without markup of any kind."""
    return re.sub(r"[*`$]", "", plain(text))


def mathml(tex: str, display: bool = False) -> str:
    """A formula as MathML, which browsers draw by themselves; as its own text where it can't be read."""
    from latex2mathml.converter import convert

    tex = re.sub(r"\\fcolorbox\{[^{}]*\}\{[^{}]*\}\{\$((?:[^$])*)\$\}", r"{\1}", tex)
    tex = tex.replace(r"\begin{gathered}", r"\begin{array}{c}").replace(r"\end{gathered}", r"\end{array}")
    tex = re.sub(r"\\(?:Large|large|Huge|huge|displaystyle|textstyle)\b|\\!|\\mkern-?\d+mu", "", tex)
    tex = re.sub(r"\\mathbb\s+([A-Z])", r"\\mathbb{\1}", tex)
    tex = re.sub(r"\\mathrm\{([A-Za-z]{2,})\}", r"\\text{\1}", tex)
    tex = tex.replace("{,}", r"\text{,}")
    try:
        made = convert(tex, display="block" if display else "inline")
    except Exception:  # the library raises a dozen kinds of its own for what it can't read
        return f"<code>{html.escape(tex)}</code>"
    return made.replace('<mi mathvariant="double-struck">E</mi>', "<mi>𝔼</mi>")


def _css() -> str:
    return """
@page { size: A4; margin: 16mm 15mm 18mm }
:root { color-scheme: light; --ink: #1c1812; --soft: #5d5548; --line: #d9ccb0; --panel: #f7f0e1 }
* { box-sizing: border-box }
html { background: #fff; color: var(--ink); font: 11pt/1.5 "Source Sans 3", "Source Sans Pro", system-ui, "Segoe UI", "Noto Sans", Arial, sans-serif }
body { max-width: 180mm; margin: 0 auto; padding: 8mm 4mm }
h1, h2, h3, h4 { font-family: Georgia, "Source Serif 4", "Noto Serif", serif; line-height: 1.2; break-after: avoid; margin: 1.4em 0 .4em }
h1 { font-size: 22pt; margin-top: 0 } h2 { font-size: 15pt } h3 { font-size: 13pt }
p { margin: .4em 0; orphans: 3; widows: 3 } .lab { color: var(--soft); margin: 0 }
.small, figcaption { font-size: 9.5pt; color: #3b342a } .formula { overflow-x: auto; text-align: left }
math { font-size: 1.05em }
.settings { display: flex; flex-wrap: wrap; gap: 2pt 14pt; margin: .6em 0 1em; padding: 6pt 10pt; background: var(--panel); border: 1px solid var(--line); border-radius: 4pt; font-size: 10pt }
.settings div { display: flex; gap: 5pt } dt { color: var(--soft) } dd { margin: 0; font-weight: 600; font-variant-numeric: tabular-nums }
.small, figcaption { break-inside: avoid } :is(p, pre, .small):not(figure + *, .table + *):has(+ :is(figure, .question, .panels, .table, .formula, pre)) { break-after: avoid }
figure + .small, .table + .small { break-before: avoid } :is(h2, h3) + :is(p, .small) { break-after: avoid }
figure { margin: .8em 0; break-inside: avoid } figure svg { max-width: 100%; height: auto; display: block }
.table { overflow-x: auto; margin: .8em 0 } table { border-collapse: collapse; font-size: 10pt; font-variant-numeric: tabular-nums }
table.wide { font-size: 8.5pt } table.wide td.right { white-space: normal } th, td { text-align: left; padding: 2pt 8pt 2pt 0; border-bottom: 1px solid var(--line); vertical-align: top }
th { color: var(--soft); font-weight: 600 } .right { text-align: right; white-space: pre } thead { display: table-header-group } tr, .short { break-inside: avoid }
.row { display: flex; flex-wrap: wrap; gap: 4pt 8pt; align-items: center; margin: .6em 0; break-inside: avoid }
.panels { display: flex; flex-wrap: wrap; gap: 6pt 14pt; align-items: flex-start } .panel { break-inside: avoid; max-width: 100% } .panel figure { margin: .2em 0 } .panel figcaption { width: 0; min-width: 100% }
.metric { display: flex; flex-direction: column; margin-right: 14pt } .metric span { font-size: 9.5pt; color: var(--soft) } .metric b { font-size: 16pt }
.note { margin: 0; padding: 2pt 7pt; border: 1px solid var(--line); border-radius: 4pt; font-size: 9.5pt }
.note.good { border-color: #136846; color: #136846 } .note.good::before { content: "✓ " } .note.bad { border-color: #a3161f; color: #a3161f } .note.bad::before { content: "✗ " }
.question { border: 1px solid var(--line); border-radius: 4pt; padding: 4pt 10pt; margin: .8em 0; break-inside: avoid } .question ul { list-style: "☐  "; padding-left: 1.4em; margin: .3em 0 }
pre { background: var(--panel); padding: 6pt 8pt; font: 9pt/1.4 ui-monospace, "DejaVu Sans Mono", monospace; white-space: pre-wrap; overflow-wrap: anywhere; break-inside: avoid }
code { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: .92em }
footer { margin-top: 2em; padding-top: .6em; border-top: 1px solid var(--line); font-size: 9.5pt; color: var(--soft); break-inside: avoid } .link { overflow-wrap: anywhere } a { color: #2f568c }
@media print { body { max-width: none; padding: 0 } .table, .formula { overflow: visible } }
"""
