"""Words of office life that keep two questions on one subject apart, from `clustering.toml`."""

import re
import tomllib
from collections.abc import Sequence
from importlib import resources

from retrieval.text import normalise

_WORDS = tomllib.loads(resources.files(__package__).joinpath("clustering.toml").read_text("utf-8"))
_MAY = frozenset({"permission"})
_TROUBLE = re.compile("|".join([*_WORDS["trouble"]["ja"], rf"(?<![a-z])(?:{'|'.join(_WORDS['trouble']['en'])})"]))


def _pattern(ja: Sequence[str], en: Sequence[str]) -> re.Pattern[str]:
    return re.compile("|".join([*ja, *map(_english, en)]))


def _english(word: str) -> str:
    words = word.removesuffix("$").replace("_", r"[\s_-]+")
    return rf"(?<![a-z0-9]){words}" + ("(?![a-z0-9])" if word.endswith("$") else "")


_PATTERNS = {
    family: {member: _pattern(**said) for member, said in members.items()} for family, members in _WORDS["said"].items()
}
FAMILIES = tuple(_PATTERNS)


def named(text: str) -> dict[str, frozenset[str]]:
    """Family → the members that a question names; families it does not touch are left out."""
    plain = normalise(text).replace("\u2019", "'")
    found = {
        family: frozenset(member for member, pattern in members.items() if pattern.search(plain))
        for family, members in _PATTERNS.items()
    }
    if found["asked"] != _MAY:  # "how can I" asks for the way
        found["asked"] -= _MAY
    return {family: members for family, members in found.items() if members}


def trouble(text: str) -> bool:
    """Whether something is said not to work, to be lost or to hurt."""
    return bool(_TROUBLE.search(normalise(text).replace("\u2019", "'")))


def opposite(ours: frozenset[str], theirs: frozenset[str]) -> bool:
    """Whether the one does what the other undoes, and the other does not: to book, and to cancel a booking; of members
    of the family `done`."""
    return any((a in ours and b in theirs - ours) or (b in ours - theirs and a in theirs) for a, b in _WORDS["undone"])
