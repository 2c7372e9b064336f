"""Questions to begin with: what people of the team have really asked in public places, and got a sure answer to.

Source: product.md §1; docs.slack.dev assistant.threads.setSuggestedPrompts."""

from collections.abc import Sequence
from dataclasses import dataclass

from retrieval.i18n import Language
from retrieval.text import language_of, normalise

LONGEST = 75  # characters: a line of a button


@dataclass(frozen=True, slots=True)
class AskedBy:
    """A question and who asked it."""

    text: str
    author: str


def suggested(asked: Sequence[AskedBy], language: Language, most: int) -> list[str]:
    """At most so many in a language, those first that most people asked, then the latest. `asked`: the latest
    first."""
    people: dict[str, set[str]] = {}
    wordings: dict[str, str] = {}
    for one in asked:
        text = " ".join(one.text.split())
        if len(text) <= LONGEST and language_of(text) == language and len(text) > 3:
            key = normalise(text).rstrip(" ?？。.!！")
            wordings.setdefault(key, text)
            people.setdefault(key, set()).add(one.author)
    best = sorted(wordings, key=lambda key: -len(people[key]))  # stable: the latest first
    return [wordings[key] for key in best[:most]]
