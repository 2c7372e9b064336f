"""Words of office life and their meanings, in English and Japanese, from `words.toml`."""

import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import resources

from retrieval.i18n import Language

_WORDS = tomllib.loads(resources.files(__package__).joinpath("words.toml").read_text("utf-8"))

PEOPLE = frozenset[str](_WORDS["people"])
PLACES = frozenset[str](_WORDS["places"])
RELATIONS = frozenset[str](_WORDS["relations"])


class Lexicon:
    """The words of one language. `lemmas` reads a form as questions are read; `inflected` makes the forms of a verb."""

    def __init__(
        self,
        language: Language,
        lemmas: Callable[[str], Sequence[str]],
        inflected: Callable[[str], Iterable[str]],
    ) -> None:
        self._known: dict[str, list[tuple[tuple[str, ...], str]]] = {}
        self.verbs: set[str] = set()
        for meaning, entry in _meanings():
            for form in entry[language]:
                for one in inflected(form[:-1]) if form.endswith("*") else (form,):
                    words = tuple(lemmas(one))
                    self._known.setdefault(words[0], []).append((words, meaning))
            if any(form.endswith("*") for form in entry["en"]):
                self.verbs.add(meaning)
        for forms in self._known.values():
            forms.sort(key=lambda form: -len(form[0]))

    def at(self, words: Sequence[str], start: int) -> tuple[str, int] | None:
        """The meaning of the longest form that stands at a place, and how many words it has."""
        for form, meaning in self.beginning(words[start]) if start < len(words) else ():
            if tuple(words[start : start + len(form)]) == form:
                return meaning, len(form)
        return None

    def counted(self, words: Sequence[str], start: int) -> tuple[str, int] | None:
        """The same of what can be counted."""
        known = self.at(words, start)
        return None if known is None or known[0] in RELATIONS or known[0][0] in "?+-" else known

    def beginning(self, word: str) -> Sequence[tuple[tuple[str, ...], str]]:
        """The forms that begin with a word, the longest first, and their meanings."""
        return self._known.get(word, ())


def _meanings() -> Iterator[tuple[str, dict[str, list[str]]]]:
    """Each meaning by its name: an entry of the file's lists by its first English word."""
    for entry in _WORDS["alike"]:
        yield entry["en"][0].removesuffix("*"), entry
    yield from _WORDS["asked"].items()
    yield from _WORDS["relations"].items()
