"""Operations of the commands on a home, by name and with JSON going in and out: in this process, or in the one that
owns the home and is asked over its socket (`bot/cli/remote.py`). So a command shows the same both ways."""

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import unquote_to_bytes

from pydantic import validate_call

from bot import views
from bot.types import Actor, Upload
from bot.views import Json
from retrieval.i18n import Language
from retrieval.types import TEAM, Mode, Readers

if TYPE_CHECKING:  # `kotae documents` needs the database only, and neither where another process does the work
    from bot.app import Application
    from bot.database import Database
    from bot.turns.turns import Turns

LOOKING = frozenset({"documents", "collections", "unanswered", "metrics", "searches", "clear_metrics"})
WORKING = LOOKING | {
    "check",
    "troubles",
    "search",
    "of_folder",
    "prune",
    "forget",
    "describe",
    "merge",
    "delete",
    "digest",
    "backup",
}
WORKING |= {"answers", "edit_answer", "take_back_answer"}
WORKING |= {"tokens", "add_token", "revoke_token", "program"}
WORKING |= {"sources", "add_source", "sync_source", "pause_source", "resume_source", "remove_source"}
_ANSWERS = 1_000  # of experts that are listed
_TERMINAL = Actor("terminal", "", "terminal", "editor")  # whoever has the home may change all that is in it


def _author(folder: str | None) -> str:
    """Documents are known by it as those of a folder, until somebody else replaces them."""
    return f"folder:{folder}" if folder else "terminal"


class ReadOperations:
    """The commands that need the database only. All raise StoreError, those that name a collection
    CollectionNotFoundError; `language` is that of reasons."""

    names = LOOKING

    def __init__(self, data: "Database", language: Language) -> None:
        self._data = data
        self._language = language

    async def __call__(self, command: str, **arguments: Any) -> Json:
        """Raises KeyError for a command that is not offered here, pydantic.ValidationError for wrong arguments."""
        if command not in self.names:
            raise KeyError(command)
        checked: Callable[..., Awaitable[Json]] = validate_call(getattr(self, command))
        return await checked(**arguments)

    async def documents(self, collection: str | None = None) -> Json:
        if collection is not None:
            await self._data.collections.require((collection,), self._data.readers, self._language)
        return views.documents_json(await self._data.documents.listed(self._data.readers, collection=collection))

    async def collections(self) -> Json:
        return views.collections_json(await self._data.collections.listed(self._data.readers))

    async def unanswered(self) -> Json:
        return views.unanswered_json(await self._data.questions.open(self._data.readers.scopes))

    async def metrics(self) -> Json:
        return views.metrics_json(await self._data.summary())

    async def searches(self) -> Json:
        """Every measurement, for an export."""
        rows = await self._data.searches.listed(self._data.readers.scopes)
        return {"searches": [views.search_metrics_json(row) for row in rows]}

    async def clear_metrics(self) -> Json:
        return {"cleared": await self._data.searches.clear()}


class Operations(ReadOperations):
    """All commands, on the open application. These raise RAGToolError and SettingsError too."""

    names = WORKING

    def __init__(self, app: "Application", language: Language) -> None:
        super().__init__(app.data, language)
        self._app = app

    @property
    def turns(self) -> "Turns":
        return self._app.bot.turns

    async def ingest(
        self,
        name: str,
        data: bytes,
        collection: str | None,
        scope: str,
        changed_at: str | None = None,
        folder: str | None = None,
    ) -> Json:
        """Add a document; `collection` None: the default one; `changed_at`: the day of the file's last change, ISO;
        `folder`: the identity of the folder that it was found in."""
        into = collection or self._app.settings.default_collection
        upload = Upload(name, data, into, scope, author=_author(folder), changed_at=changed_at)
        return dict((await self._app.knowledge.add(upload, self._language)).as_json())

    async def of_folder(self, folder: str, collection: str | None = None, scope: str = TEAM) -> Json:
        """The documents that an ingest of this folder wrote last into a collection, for these readers."""
        into = collection or self._app.settings.default_collection
        rows = await self._app.knowledge.documents(Readers(frozenset({scope})), into)
        theirs = [row for row in rows if row.author == _author(folder)]
        return {"documents": [{"id": row.id, "name": row.name, "collection": row.collection} for row in theirs]}

    async def prune(self, folder: str, ids: list[str]) -> Json:
        """Forget those of these documents that are still the folder's. They went from their source: answers that rest
        on them say so."""
        forgotten = []
        for id in ids:
            row = await self._app.data.documents.get(id)
            if row is not None and row.author == _author(folder):
                await self._app.knowledge.forget(id, at_source=True)
                forgotten.append(id)
        return {"forgotten": forgotten}

    async def check(
        self, model: str | None = None, strategy: str | None = None, collections: tuple[str, ...] | None = None
    ) -> Json:
        """Refuse what was chosen for a question before it is asked."""
        await self._app.check(model, strategy, collections, self._language)
        return {}

    async def troubles(self) -> Json:
        """The parts that do not work now, and why."""
        found = await self._app.troubles()
        return {"troubles": {part: trouble.what.to(self._language) for part, trouble in found.items()}}

    async def search(
        self, query: str, collections: tuple[str, ...] | None = None, mode: Mode = "hybrid", limit: int = 10
    ) -> Json:
        await self._app.knowledge.check(collections, self._app.readers, self._language)
        found = await self._app.knowledge.search(query, self._app.readers, collections, mode=mode, limit=limit)
        return views.search_json(found)

    async def forget(self, name: str, collection: str | None = None) -> Json:
        """Forget the documents of that name or id, or whose id begins so."""
        await self._app.knowledge.check((collection,) if collection else None, self._app.readers, self._language)
        matching = await self._app.knowledge.named(name, self._app.readers, collection)
        for row in matching:
            await self._app.knowledge.forget(row.id)
        return {"forgotten": [{"id": row.id, "name": row.name, "collection": row.collection} for row in matching]}

    async def describe(self, name: str, description: str) -> Json:
        await self._app.knowledge.stored.describe(name, description)
        return {}

    async def merge(self, source: str, into: str) -> Json:
        from bot.knowledge.curation import leaves

        leaves(source)
        return {"moved": await self._app.knowledge.stored.merge(source, into, self._app.readers, self._language)}

    async def delete(self, name: str) -> Json:
        return {"forgotten": await self._app.knowledge.stored.drop_collection(name, self._app.readers, self._language)}

    async def answers(self) -> Json:
        """Experts' answers, the latest first."""
        found, _ = await self._app.answers.listed(self._app.readers, limit=_ANSWERS)
        return {"answers": [views.answer_json(one) for one in found]}

    async def edit_answer(self, id: str, answer: str) -> Json:
        """By its id, or by the first characters of it."""
        changed = await self._app.answers.edit(_TERMINAL, self._app.readers, id, answer)
        return views.changed_json(changed, self._language)

    async def take_back_answer(self, id: str) -> Json:
        changed = await self._app.answers.take_back(_TERMINAL, self._app.readers, id)
        return views.changed_json(changed, self._language)

    async def sources(self) -> Json:
        """Folders, repositories and sites that documents follow, by name."""
        found = await self._app.sources.listed(self._app.readers)
        return {"sources": [views.source_json(one, self._language) for one in found]}

    async def add_source(
        self, kind: Literal["folder", "git", "website", "channel"], location: str, name: str = "", collection: str = "",
        scope: str = TEAM, every: int | None = None, branch: str = "", folder: str = "", globs: tuple[str, ...] = (),
    ) -> Json:  # fmt: skip
        """Follow a source; it is synced in its time: see `sync_source`."""
        from bot.sources.sources import NewSource

        new = NewSource(kind, location, name, collection, scope, every, branch, folder, globs)
        added = await self._app.sources.add(_TERMINAL, new)
        return views.source_json(await self._app.sources.get(added.name, None), self._language)

    async def sync_source(self, name: str) -> Json:
        """Look at a source now, and say what has become of its pages."""
        report = await self._app.sources.sync(_TERMINAL, name, None)
        source = (await self._app.sources.get(name, None)).source
        return views.sync_json(source, report, self._language)

    async def pause_source(self, name: str) -> Json:
        await self._app.sources.pause(_TERMINAL, name, None)
        return {}

    async def resume_source(self, name: str, gone: Literal["forget", "keep", ""] = "") -> Json:
        await self._app.sources.resume(_TERMINAL, name, None, gone)
        return {}

    async def remove_source(self, name: str, keep: bool = False) -> Json:
        """Follow a source no more; its documents are forgotten, or stay."""
        documents = await self._app.sources.remove(_TERMINAL, name, None, keep=keep)
        return {"documents": documents, "kept": keep}

    async def tokens(self) -> Json:
        """Programs that may ask; never their secrets."""
        return {"tokens": [views.token_json(one) for one in await self._app.programs.listed()]}

    async def add_token(
        self, name: str, audience: Literal["team", "everyone"] = "team", per_minute: int = 30, per_day: int = 2_000
    ) -> Json:
        """A token for a program. Its secret is told this once."""
        return {"name": name, "token": await self._app.programs.add(_TERMINAL, name, audience, per_minute, per_day)}

    async def revoke_token(self, name: str) -> Json:
        await self._app.programs.revoke(_TERMINAL, name)
        return {}

    async def program(self, tool: Literal["search", "ask", "read", "report_miss"], arguments: dict[str, Any]) -> Json:
        """A tool of programs, for one that whoever has the home has started."""
        call: Callable[..., Awaitable[Json]] = getattr(self._app.programs, tool)
        return await call(None, **arguments)

    async def digest(self) -> Json:
        """The misses since the last digest that was sent, or since it would have been, as JSON and in words."""
        from bot.unanswered.digest_card import as_json, card, plain

        made = await self._app.digest(self._app.readers)
        return {"digest": as_json(made), "text": plain(card(made, self._language, self._app.settings.timezone))}

    async def backup(self, path: str) -> Json:
        """`path`: percent-encoded, since a file's name need not be text."""
        from bot.operations.backup import back_up

        made = await back_up(self._app.settings, Path(os.fsdecode(unquote_to_bytes(path))), index=self._app.index)
        return made.as_json(self._language)
