"""Curated sentences, each word written by hand as 64 readable coordinates that are 0 or 1.

Standard library only. A word's row names the coordinates that are 1; its position and "every" are added by
`Sentence.rows`. The first token of every sentence is START, which the hand-written heads read when nothing matches.
A sentence has the same name in both languages, after the language: "en_tired" and "es_tired".
"""
from dataclasses import dataclass
from types import MappingProxyType

START = "<s>"
PAD = "<pad>"
POSITIONS = 20                                              # the longest sentence and the most padding fit
MOST_PADDING = 8

GROUPS = MappingProxyType({
    "token": ("start", "every", "padding"),
    "position": tuple(f"position_{i}" for i in range(1, POSITIONS + 1)),
    "class": ("determiner", "noun", "verb", "pronoun", "adjective", "adverb", "preposition", "conjunction",
              "particle"),
    "gender": ("masculine", "feminine", "neuter"),
    "number": ("singular", "plural"),
    "animacy": ("living", "thing"),
    "role": ("subject", "object", "predicate"),             # predicate: what a clause says of its pronoun
    "clause": ("clause_1", "clause_2", "verb_1", "verb_2"),  # verb_1: the verb of clause 1
    "phrase": ("phrase_1", "phrase_2", "phrase_3", "modifies_1", "modifies_2", "modifies_3"),
    "looks": ("looks", "looks_1", "looks_2"),               # stands for a noun; looks_1: in clause 1
    "asks": ("asks_masculine", "asks_feminine", "asks_neuter", "asks_singular", "asks_plural"),
    "fits": ("fits_living", "fits_thing"),                  # of whom the predicate can be said
    "read": ("asks_living", "asks_thing"),                  # empty at first: the first layer writes them
})
FEATURES = tuple(name for names in GROUPS.values() for name in names)
"""The 64 coordinates of a token, in order."""


@dataclass(frozen=True)
class Sentence:
    """One curated sentence.

    id: str, "en_cat". lang: "en" or "es". table: str, a line a word: the word, then the coordinates that are 1.
    """
    id: str
    lang: str
    table: str

    @property
    def words(self) -> tuple[str, ...]:
        """The words as they are written, without START."""
        return tuple(line.split()[0] for line in self._lines())

    @property
    def text(self) -> str:
        """The words with spaces between them."""
        return " ".join(self.words)

    @property
    def tokens(self) -> tuple[str, ...]:
        """START and the words: the labels of rows and columns."""
        return (START, *self.words)

    def rows(self, padding: int = 0) -> tuple[frozenset[str], ...]:
        """The coordinates that are 1, of START, of each word, and of `padding` PAD tokens."""
        given = [line.split()[1:] for line in self._lines()] + [["padding"]] * padding
        placed = [frozenset((*names, "every", f"position_{i}")) for i, names in enumerate(given, 1)]
        return (frozenset(("start", "every")), *placed)

    def _lines(self) -> list[str]:
        return self.table.strip().splitlines()


_TABLES = {
    "en_cat": """
        The        determiner clause_1 phrase_1 modifies_1
        cat        noun singular neuter living subject clause_1 phrase_1
        sat        verb clause_1 verb_1
        """,
    "en_tired": """
        The        determiner clause_1 phrase_1 modifies_1
        animal     noun singular neuter living subject clause_1 phrase_1
        didn't     particle clause_1
        cross      verb clause_1 verb_1
        the        determiner clause_1 phrase_2 modifies_2
        street     noun singular neuter thing object clause_1 phrase_2
        because    conjunction clause_2
        it         pronoun subject clause_2 looks looks_2 asks_neuter asks_singular
        was        verb clause_2 verb_2
        too        adverb clause_2
        tired      adjective predicate clause_2 fits_living
        """,
    "en_wide": """
        The        determiner clause_1 phrase_1 modifies_1
        animal     noun singular neuter living subject clause_1 phrase_1
        didn't     particle clause_1
        cross      verb clause_1 verb_1
        the        determiner clause_1 phrase_2 modifies_2
        street     noun singular neuter thing object clause_1 phrase_2
        because    conjunction clause_2
        it         pronoun subject clause_2 looks looks_2 asks_neuter asks_singular
        was        verb clause_2 verb_2
        too        adverb clause_2
        wide       adjective predicate clause_2 fits_thing
        """,
    "en_she": """
        The        determiner clause_1 phrase_1 modifies_1
        girl       noun singular feminine living subject clause_1 phrase_1
        saw        verb clause_1 verb_1
        the        determiner clause_1 phrase_2 modifies_2
        boy        noun singular masculine living object clause_1 phrase_2
        and        conjunction clause_2
        she        pronoun subject clause_2 looks looks_2 asks_feminine asks_singular
        smiled     verb predicate clause_2 verb_2 fits_living
        """,
    "en_he": """
        The        determiner clause_1 phrase_1 modifies_1
        girl       noun singular feminine living subject clause_1 phrase_1
        hugged     verb clause_1 verb_1
        the        determiner clause_1 phrase_2 modifies_2
        boy        noun singular masculine living object clause_1 phrase_2
        because    conjunction clause_2
        he         pronoun subject clause_2 looks looks_2 asks_masculine asks_singular
        helped     verb predicate clause_2 verb_2 fits_living
        her        pronoun object clause_2 looks looks_2 asks_feminine asks_singular
        """,
    "en_they": """
        The        determiner clause_1 phrase_1 modifies_1
        boys       noun plural masculine living subject clause_1 phrase_1
        chased     verb clause_1 verb_1
        the        determiner clause_1 phrase_2 modifies_2
        ball       noun singular neuter thing object clause_1 phrase_2
        because    conjunction clause_2
        they       pronoun subject clause_2 looks looks_2 asks_plural
        were       verb clause_2 verb_2
        happy      adjective predicate clause_2 fits_living
        """,
    "en_chase": """
        The        determiner clause_1 phrase_1 modifies_1
        black      adjective clause_1 phrase_1 modifies_1
        cat        noun singular neuter living subject clause_1 phrase_1
        chased     verb clause_1 verb_1
        the        determiner clause_1 phrase_2 modifies_2
        small      adjective clause_1 phrase_2 modifies_2
        mouse      noun singular neuter living object clause_1 phrase_2
        """,
    "en_book": """
        Maria      noun singular feminine living subject clause_1 phrase_1
        read       verb clause_1 verb_1
        a          determiner singular clause_1 phrase_2 modifies_2
        long       adjective clause_1 phrase_2 modifies_2
        book       noun singular neuter thing object clause_1 phrase_2
        in         preposition clause_1
        the        determiner clause_1 phrase_3 modifies_3
        garden     noun singular neuter thing clause_1 phrase_3
        """,
    "en_relative": """
        The        determiner clause_1 phrase_1 modifies_1
        cat        noun singular neuter living subject clause_1 phrase_1
        that       pronoun object clause_2
        the        determiner clause_2 phrase_2 modifies_2
        dog        noun singular neuter living subject clause_2 phrase_2
        chased     verb clause_2 verb_2
        ran        verb clause_1 verb_1
        """,
    "en_trophy": """
        The        determiner clause_1 phrase_1 modifies_1
        trophy     noun singular neuter thing subject clause_1 phrase_1
        didn't     particle clause_1
        fit        verb clause_1 verb_1
        in         preposition clause_1
        the        determiner clause_1 phrase_2 modifies_2
        suitcase   noun singular neuter thing clause_1 phrase_2
        because    conjunction clause_2
        it         pronoun subject clause_2 looks looks_2 asks_neuter asks_singular
        was        verb clause_2 verb_2
        too        adverb clause_2
        big        adjective predicate clause_2 fits_thing
        """,
    "es_cat": """
        El         determiner singular masculine clause_1 phrase_1 modifies_1
        gato       noun singular masculine living subject clause_1 phrase_1
        se         pronoun clause_1 looks looks_1 asks_singular
        sentó      verb predicate singular clause_1 verb_1 fits_living
        """,
    "es_tired": """
        El         determiner singular masculine clause_1 phrase_1 modifies_1
        animal     noun singular masculine living subject clause_1 phrase_1
        no         particle clause_1
        cruzó      verb singular clause_1 verb_1
        el         determiner singular masculine clause_1 phrase_2 modifies_2
        camino     noun singular masculine thing object clause_1 phrase_2
        porque     conjunction clause_2
        parecía    verb singular clause_2 verb_2 looks looks_2 asks_singular
        demasiado  adverb clause_2
        cansado    adjective singular masculine predicate clause_2 fits_living
        """,
    "es_wide": """
        El         determiner singular masculine clause_1 phrase_1 modifies_1
        animal     noun singular masculine living subject clause_1 phrase_1
        no         particle clause_1
        cruzó      verb singular clause_1 verb_1
        el         determiner singular masculine clause_1 phrase_2 modifies_2
        camino     noun singular masculine thing object clause_1 phrase_2
        porque     conjunction clause_2
        parecía    verb singular clause_2 verb_2 looks looks_2 asks_singular
        demasiado  adverb clause_2
        ancho      adjective singular masculine predicate clause_2 fits_thing
        """,
    "es_she": """
        La         determiner singular feminine clause_1 phrase_1 modifies_1
        niña       noun singular feminine living subject clause_1 phrase_1
        vio        verb singular clause_1 verb_1
        al         determiner singular masculine clause_1 phrase_2 modifies_2
        niño       noun singular masculine living object clause_1 phrase_2
        y          conjunction clause_2
        ella       pronoun subject clause_2 looks looks_2 asks_feminine asks_singular
        sonrió     verb predicate singular clause_2 verb_2 fits_living
        """,
    "es_he": """
        La         determiner singular feminine clause_1 phrase_1 modifies_1
        niña       noun singular feminine living subject clause_1 phrase_1
        abrazó     verb singular clause_1 verb_1
        al         determiner singular masculine clause_1 phrase_2 modifies_2
        niño       noun singular masculine living object clause_1 phrase_2
        porque     conjunction clause_2
        él         pronoun subject clause_2 looks looks_2 asks_masculine asks_singular
        la         pronoun object clause_2 looks looks_2 asks_feminine asks_singular
        ayudó      verb predicate singular clause_2 verb_2 fits_living
        """,
    "es_they": """
        Los        determiner plural masculine clause_1 phrase_1 modifies_1
        niños      noun plural masculine living subject clause_1 phrase_1
        siguieron  verb plural clause_1 verb_1
        la         determiner singular feminine clause_1 phrase_2 modifies_2
        pelota     noun singular feminine thing object clause_1 phrase_2
        porque     conjunction clause_2
        ellos      pronoun subject clause_2 looks looks_2 asks_masculine asks_plural
        estaban    verb plural clause_2 verb_2
        contentos  adjective plural masculine predicate clause_2 fits_living
        """,
    "es_chase": """
        El         determiner singular masculine clause_1 phrase_1 modifies_1
        gato       noun singular masculine living subject clause_1 phrase_1
        negro      adjective singular masculine clause_1 phrase_1 modifies_1
        persiguió  verb singular clause_1 verb_1
        al         determiner singular masculine clause_1 phrase_2 modifies_2
        ratón      noun singular masculine living object clause_1 phrase_2
        pequeño    adjective singular masculine clause_1 phrase_2 modifies_2
        """,
    "es_book": """
        María      noun singular feminine living subject clause_1 phrase_1
        leyó       verb singular clause_1 verb_1
        un         determiner singular masculine clause_1 phrase_2 modifies_2
        libro      noun singular masculine thing object clause_1 phrase_2
        largo      adjective singular masculine clause_1 phrase_2 modifies_2
        en         preposition clause_1
        el         determiner singular masculine clause_1 phrase_3 modifies_3
        jardín     noun singular masculine thing clause_1 phrase_3
        """,
    "es_relative": """
        El         determiner singular masculine clause_1 phrase_1 modifies_1
        gato       noun singular masculine living subject clause_1 phrase_1
        que        pronoun object clause_2
        el         determiner singular masculine clause_2 phrase_2 modifies_2
        perro      noun singular masculine living subject clause_2 phrase_2
        persiguió  verb singular clause_2 verb_2
        huyó       verb singular clause_1 verb_1
        """,
    "es_trophy": """
        El         determiner singular masculine clause_1 phrase_1 modifies_1
        trofeo     noun singular masculine thing subject clause_1 phrase_1
        no         particle clause_1
        cabía      verb singular clause_1 verb_1
        en         preposition clause_1
        el         determiner singular masculine clause_1 phrase_2 modifies_2
        maletín    noun singular masculine thing clause_1 phrase_2
        porque     conjunction clause_2
        era        verb singular clause_2 verb_2 looks looks_2 asks_singular
        demasiado  adverb clause_2
        grande     adjective singular predicate clause_2 fits_thing
        """,
}

SENTENCES = MappingProxyType({name: Sentence(name, name[:2], table) for name, table in _TABLES.items()})
"""The curated sentences by id: ten in English and the same ten in Spanish."""


@dataclass(frozen=True)
class Pair:
    """What a head is written to find: from the query at row `i` the strongest key is `j` (rows of Sentence.tokens).

    keys: the positions that share the first place; two where the sentence does not say which.
    """
    sentence: str
    head: str
    i: int
    keys: tuple[int, ...]


# sentence: "query>key" by position, after the head. A bar joins keys that are equally strong.
_PAIRS = {
    "en_cat": "modifier 1>2, subject 3>2",
    "en_tired": "modifier 1>2 5>6, subject 4>2 9>8, object 4>6, predicate 8>11, coreference 8>2",
    "en_wide": "modifier 1>2 5>6, subject 4>2 9>8, object 4>6, predicate 8>11, coreference 8>6",
    "en_she": "modifier 1>2 4>5, subject 3>2 8>7, object 3>5, predicate 7>8, coreference 7>2",
    "en_he": "modifier 1>2 4>5, subject 3>2 8>7, object 3>5 8>9, predicate 7>8 9>8, coreference 7>5 9>2",
    "en_they": "modifier 1>2 4>5, subject 3>2 8>7, object 3>5, predicate 7>9, coreference 7>2",
    "en_chase": "modifier 1>3 2>3 5>7 6>7, subject 4>3, object 4>7",
    "en_book": "modifier 3>5 4>5 7>8, subject 2>1, object 2>5",
    "en_relative": "modifier 1>2 4>5, subject 6>5 7>2, object 6>3",
    "en_trophy": "modifier 1>2 6>7, subject 4>2 10>9, predicate 9>12, coreference 9>2|7",
    "es_cat": "modifier 1>2, subject 4>2, predicate 3>4, coreference 3>2",
    "es_tired": "modifier 1>2 5>6, subject 4>2, object 4>6, predicate 8>10, coreference 8>2",
    "es_wide": "modifier 1>2 5>6, subject 4>2, object 4>6, predicate 8>10, coreference 8>6",
    "es_she": "modifier 1>2 4>5, subject 3>2 8>7, object 3>5, predicate 7>8, coreference 7>2",
    "es_he": "modifier 1>2 4>5, subject 3>2 9>7, object 3>5 9>8, predicate 7>9 8>9, coreference 7>5 8>2",
    "es_they": "modifier 1>2 4>5, subject 3>2 8>7, object 3>5, predicate 7>9, coreference 7>2",
    "es_chase": "modifier 1>2 3>2 5>6 7>6, subject 4>2, object 4>6",
    "es_book": "modifier 3>4 5>4 7>8, subject 2>1, object 2>4",
    "es_relative": "modifier 1>2 4>5, subject 6>5 7>2, object 6>3",
    "es_trophy": "modifier 1>2 6>7, subject 4>2, predicate 9>11, coreference 9>2|7",
}


def pairs(sentence_id: str | None = None) -> tuple[Pair, ...]:
    """Return what the meaning heads are written to find, in one curated sentence or in all.

    Args:
        sentence_id: str, one of SENTENCES, or None for all.
    Returns:
        tuple of Pair(sentence, head, i, keys), positions counted with START as 0.
    """
    found = []
    for name in SENTENCES if sentence_id is None else (sentence_id,):
        for group in _PAIRS[name].split(", "):
            head, *arrows = group.split()
            for i, keys in (arrow.split(">") for arrow in arrows):
                found.append(Pair(name, head, int(i), tuple(map(int, keys.split("|")))))
    return tuple(found)
