"""Errors of settings, the database and a lease, for whoever catches them. Loads nothing of the database."""

from retrieval.i18n import Language, Text, TextError


class StoreError(TextError):
    """The database could not do what was asked, and nothing of it was stored."""


class ContentLostError(Exception):
    """The kept Markdown of a document is not there as it was kept."""


class LostError(Exception):
    """The thing held by a lease is no longer this owner's: the lease passed and another took it, or it is done
    or gone."""


class SettingsError(Exception):
    """Settings that cannot work; `problems` are sentences for people, each names its variable and holds no secret."""

    def __init__(self, *problems: Text) -> None:
        super().__init__("\n".join(problem.en for problem in problems))
        self.problems = problems

    def text(self, language: Language) -> str:
        """One line a problem."""
        return "\n".join(problem.to(language) for problem in self.problems)
