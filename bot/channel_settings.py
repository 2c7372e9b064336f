"""Settings that people choose for a channel: model, strategy, steps, collections and whom it follows, checked before
it is kept.

Source: product.md §1; reliability.md R19.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import get_args

from bot.access import role, scope_of
from bot.config.settings import Settings, Strategy
from bot.errors import SettingsError
from bot.knowledge.documents import KnowledgeBase
from bot.store.audit import Audit
from bot.store.channel_settings import ChannelSettings
from bot.types import Actor, Follow, Place, Preferences, StepsShown
from retrieval.i18n import Text, filled
from retrieval.types import EVERYONE, TEAM, RAGToolError, Readers

Models = Callable[[str], object]
"""A model by its id. Raises SettingsError for one that these settings do not offer."""

_MODEL = re.compile(r"extractive|[a-z]+:\S{1,100}")
_BAD_MODEL = Text(
    en="A model is extractive, gemini:<model> or openai:<model>.",
    ja="モデルは extractive、gemini:<モデル名>、openai:<モデル名> のいずれかです。",
)
_NOT_YOURS = Text(
    en="Only members of the team can change settings.",
    ja="設定を変更できるのはチームのメンバーだけです。",
)
_ONE_OF = Text(
    en="There is no “{value}” here. Use one of: {values}.", ja="「{value}」はありません。使えるのは {values} です。"
)


class Channels:
    """Preferences of channels."""

    def __init__(
        self, places: ChannelSettings, audit: Audit, settings: Settings, knowledge: KnowledgeBase, models: Models
    ) -> None:
        self._places = places
        self._audit = audit
        self._settings = settings
        self._knowledge = knowledge
        self._models = models

    async def chosen(self, place: Place) -> Preferences:
        """The settings chosen there. Raises StoreError."""
        return await self._places.get(place)

    async def preferences(self, place: Place) -> Preferences:
        """The settings that hold there: what was chosen over the settings; `steps` and `follow` are never None. Raises
        StoreError."""
        chosen = await self.chosen(place)
        return replace(chosen, steps=chosen.steps or self._settings.steps, follow=chosen.follow or "thread")

    async def prefer(self, actor: Actor, place: Place, chosen: Preferences) -> None:
        """Choose for a place. Raises SettingsError for what does not exist or is not this person's to choose;
        StoreError."""
        if role(actor, self._settings) == "outsider":
            raise SettingsError(_NOT_YOURS)
        if chosen.model is not None:
            if not _MODEL.fullmatch(chosen.model):
                raise SettingsError(_BAD_MODEL)
            self._models(chosen.model)
        _check(chosen.strategy, get_args(Strategy))
        _check(chosen.steps, get_args(StepsShown))
        _check(chosen.follow, get_args(Follow))
        try:
            # A choice narrows what is searched; what may be read is asked at every search.
            here = Readers(frozenset({EVERYONE, TEAM, scope_of(place)}))
            await self._knowledge.check(chosen.collections, here, self._settings.language)
        except RAGToolError as error:
            raise SettingsError(error.said) from error
        chosen = replace(chosen, collections=chosen.collections or None)
        await self._places.put(place, chosen)
        await self._audit.note(actor.full_id, "settings", scope_of(place), _words(chosen))


def _words(chosen: Preferences) -> str:
    collections = None if chosen.collections is None else ",".join(chosen.collections)
    values = {
        "model": chosen.model,
        "strategy": chosen.strategy,
        "steps": chosen.steps,
        "collections": collections,
        "follow": chosen.follow,
    }
    return " ".join(f"{name}={value}" for name, value in values.items() if value is not None) or "as everywhere"


def _check(value: str | None, values: tuple[str, ...]) -> None:
    if value is not None and value not in values:
        raise SettingsError(filled(_ONE_OF, value=value[:60], values=", ".join(values)))
