"""Finds characters that only look like ASCII, or that are invisible; documents, chats and keyboards bring them in."""

import unicodedata
from collections.abc import Iterator

_LETTERS = {  # Unicode's names of letters, each followed by its look-alike
    "CYRILLIC CAPITAL LETTER": "A A, VE B, IE E, KA K, EM M, EN H, O O, ER P, ES C, TE T, U Y, HA X, JE J, DZE S, "
    "BYELORUSSIAN-UKRAINIAN I I",
    "CYRILLIC SMALL LETTER": "A a, VE b, IE e, KA k, EM m, EN h, O o, ER p, ES c, TE t, U y, HA x, JE j, DZE s, "
    "BYELORUSSIAN-UKRAINIAN I i, SHHA h, PALOCHKA l, KOMI DE d, QA q, WE w",
    "GREEK CAPITAL LETTER": "ALPHA A, BETA B, EPSILON E, ZETA Z, ETA H, IOTA I, KAPPA K, MU M, NU N, OMICRON O, RHO P, "
    "TAU T, UPSILON Y, CHI X",
    "GREEK SMALL LETTER": "ALPHA a, IOTA i, KAPPA k, NU v, OMICRON o, RHO p",
    "LATIN SMALL LETTER": "DOTLESS I i, ALPHA a, SCRIPT G g",
}
_SIGNS = {  # code points, by the character that they look like
    '"': (0x201C, 0x201D, 0x201E, 0x201F, 0x2033),
    "'": (0x2018, 0x2019, 0x201A, 0x201B, 0x2032, 0x00B4),
    "-": (0x2010, 0x2011, 0x2012, 0x2013, 0x2014, 0x2015, 0x2212),
    ":": (0x2236, 0xA789),
    "/": (0x2044, 0x2215),
    "": (0x00AD, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF),
}
_KNOWN = {chr(point): plain for plain, points in _SIGNS.items() for point in points} | {
    unicodedata.lookup(f"{kind} {each[:-2]}"): each[-1]
    for kind, names in _LETTERS.items()
    for each in names.split(", ")
}


def look_alikes(text: str) -> Iterator[tuple[str, str]]:
    """Yield each such character once, by its code and name, with the fix."""
    for character in dict.fromkeys(text):
        plain = _plain(character)
        if plain is not None:
            name = unicodedata.name(character, "without a name").capitalize()
            fix = "delete it" if plain == "" else "type a space" if plain == " " else f"type {plain!r}"
            yield f"U+{ord(character):04X} ({name})", fix


def _plain(character: str) -> str | None:
    """Return the ASCII character that it looks like, "" for an invisible one; None = it looks like no other."""
    if character.isascii():
        return None
    if character in _KNOWN:
        return _KNOWN[character]
    wide = unicodedata.normalize("NFKC", character)  # full-width and mathematical letters, all kinds of blanks
    return wide if len(wide) == 1 and wide.isascii() else " " if unicodedata.category(character) == "Zs" else None
