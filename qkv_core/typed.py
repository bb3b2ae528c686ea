"""What people type or paint, kept within bounds before anything is computed. Standard library only.

The splitting rule, in one place: words are what stands between spaces (tabs, line ends and no-break spaces are spaces
too), as written, with their punctuation. Chinese and Japanese characters, which use no spaces, and emoji are each a
token of their own, with the marks that belong to them.
"""
import base64
import binascii
import re
import unicodedata
from dataclasses import dataclass

LIMIT = 64
"""Tokens that are kept."""

SIDE = LIMIT + 8
"""The largest side of a mask that can be painted: as many tokens, and padding."""

CHARACTERS = 2_000
"""Characters that are kept, spaces included; a link must hold them."""

COUNTED = 200_000
"""Characters that are looked at to say how many tokens there were."""

# Marks that follow a character and belong to it: combining ones, variation selectors, skin tones, keycap, tags.
_MARKS = r"[\u0300-\u036f\u0483-\u0489\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff" \
         r"\u3099\u309a\ufe00-\ufe0f\ufe20-\ufe2f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f\U000e0100-\U000e01ef]"
_EMOJI = r"[\u231a\u231b\u23e9-\u23f3\u2600-\u27bf\u2b50\u2b55\u2b1b\u2b1c\U0001f000-\U0001f1e5\U0001f200-\U0001f3fa" \
         r"\U0001f400-\U0001faff]"
_FLAG = r"[\U0001f1e6-\U0001f1ff]{1,2}"
_KEYCAP = r"[0-9#*]\ufe0f?\u20e3"
# Han, kana, bopomofo and their full-width punctuation.
_CJK = r"[\u2e80-\u2fdf\u3001-\u303f\u3041-\u3096\u309b-\u312f\u3190-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff" \
       r"\uff01-\uff60\uff66-\uff9f\U0001b000-\U0001b16f\U00020000-\U0003ffff]"
_ALONE = rf"(?:{_FLAG}|{_KEYCAP}|{_EMOJI}{_MARKS}*(?:\u200d{_EMOJI}{_MARKS}*)*|{_CJK}{_MARKS}*)"
# The look-ahead stops a word where a token of its own begins. Spaces are the gaps between matches: a pattern for them
# would try every start of a long run of spaces again.
_TOKEN = re.compile(rf"{_ALONE}|(?:(?!{_ALONE})\S)+")


@dataclass(frozen=True)
class Typed:
    """A text as tokens.

    words: tuple of str, the tokens as written. spaces: tuple of str, what stands before each one. after: str, what
    stands after the last. found: int, how many tokens the text has (of its first COUNTED characters). limited: ""
    when all are kept, else why not: "tokens" (more than LIMIT) or "characters" (more than CHARACTERS).
    """
    words: tuple[str, ...]
    spaces: tuple[str, ...]
    after: str
    found: int
    limited: str

    @property
    def joined(self) -> str:
        """The kept text, exactly as typed."""
        return "".join(space + word for space, word in zip(self.spaces, self.words)) + self.after


def tokenise(text: str) -> Typed:
    """Return the tokens of a text, at most LIMIT of them, and how many there were.

    A token is what stands between spaces, as written; a Chinese or Japanese character and an emoji are each one token.
    Joined tokens give back the text, or the part of it that was kept.

    Args:
        text: str, anything.
    Returns:
        Typed(words, spaces, after, found, limited); 0 words for an empty text or one of spaces.
    """
    spans = [m.span() for m in _TOKEN.finditer(text[:COUNTED])]
    kept = [(start, end) for start, end in spans[:LIMIT] if end <= CHARACTERS]
    if spans and not kept and spans[0][0] < CHARACTERS:
        kept = [(spans[0][0], CHARACTERS)]                  # one endless word: its beginning stands for it
    words = tuple(text[start:end] for start, end in kept)
    ends = (0, *(end for _, end in kept))
    spaces = tuple(text[before:start] for before, (start, _) in zip(ends, kept))
    rest = text[ends[-1]:]
    if not rest or (rest.isspace() and len(text) <= CHARACTERS):
        return Typed(words, spaces, rest, len(spans), "")
    return Typed(words, spaces, "", len(spans), "tokens" if len(kept) == LIMIT < len(spans) else "characters")


def same_words(words: tuple[str, ...]) -> tuple[int, ...]:
    """Return a number for each word, equal for words that are the same, counted from 1 in order of appearance.

    Capitals and the punctuation at a word's ends make no difference; a token of nothing but signs is compared whole.

    Args:
        words: tuple of str.
    Returns:
        tuple of int, one a word.
    """
    numbers: dict[str, int] = {}
    return tuple(numbers.setdefault(_bare(word), len(numbers) + 1) for word in words)


def _bare(word: str) -> str:
    plain = unicodedata.normalize("NFC", word).casefold()
    letters = [i for i, c in enumerate(plain) if unicodedata.category(c)[0] in "LMN"]
    return plain[letters[0]:letters[-1] + 1] if letters else plain


def format_cells(cells, T: int) -> str:
    """Return the hidden cells of a T x T mask as one short token for a link; "" when nothing is hidden.

        "T." and then one bit a cell in reading order, in URL-safe base64, without the zeros at its end

    Args:
        cells: iterable of (i, j), row and column from 0; those outside T x T are left out.
        T: int, 1 to SIDE.
    Returns:
        str, at most about 870 characters of A-Z a-z 0-9 - _ and one dot.
    Raises:
        ValueError: for a T out of range.
    """
    bits = bytearray((_size(T) ** 2 + 7) // 8)
    for i, j in cells:
        if 0 <= i < T and 0 <= j < T:
            bits[(i * T + j) // 8] |= 128 >> (i * T + j) % 8
    packed = bytes(bits).rstrip(b"\0")
    return f"{T}.{base64.urlsafe_b64encode(packed).decode().rstrip('=')}" if packed else ""


def parse_cells(text: str, T: int) -> frozenset[tuple[int, int]]:
    """Return the hidden cells that a link's token names, those inside T x T.

    Args:
        text: str, anything; what `format_cells` never writes names no cell.
        T: int, 1 to SIDE, the size on screen; a token made for another size keeps its rows and columns.
    Returns:
        frozenset of (i, j). Nothing raises over the text.
    """
    _size(T)
    found = re.fullmatch(r"([1-9]\d?)\.([A-Za-z0-9_-]{1,864})", text, re.ASCII)
    if not found or int(found[1]) > SIDE:
        return frozenset()
    made = int(found[1])
    try:
        bits = base64.urlsafe_b64decode(found[2] + "=" * (-len(found[2]) % 4))
    except (binascii.Error, ValueError):
        return frozenset()
    places = (8 * at + bit for at, byte in enumerate(bits) for bit in range(8) if byte & 128 >> bit)
    cells = (divmod(place, made) for place in places)
    return frozenset((i, j) for i, j in cells if i < min(made, T) and j < T)


def _size(T: int) -> int:
    if not 1 <= T <= SIDE:
        raise ValueError(f"T must be from 1 to {SIDE}; got {T!r}")
    return T
