"""Twelve services that a platform is given, each the class that does the work."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bot.channel_settings import Channels, Models
from bot.config.settings import Settings
from bot.database import Database
from bot.knowledge.documents import KnowledgeBase
from bot.knowledge.ingestion import Ingestion
from bot.operations.holding import Holding
from bot.slash_commands import SlashCommands
from bot.sources.sources import Sources
from bot.store.audit import Audit
from bot.store.channel_settings import ChannelSettings
from bot.store.exclusive import Leases
from bot.store.homes import Homes
from bot.store.ingestions import IngestionStore
from bot.store.notifications import Notices
from bot.store.outbox import Outbox
from bot.store.rates import Rates
from bot.turns.turns import Turns
from bot.unanswered.asking import Asking
from bot.unanswered.corrections import ExpertAnswers
from bot.unanswered.digest import Digest
from bot.unanswered.expert_answers import Experts
from retrieval.types import Readers


@dataclass(frozen=True, slots=True)
class Bot:
    """All of it raises StoreError when the database does not work."""

    turns: Turns  # questions, from their claim to their answer, and votes on it
    outbox: Outbox  # what was posted, written down before it is sent
    ingestion: Ingestion  # files into the knowledge
    experts: Experts  # open questions, their answers and who is told
    answers: ExpertAnswers  # what they answered: listed, edited, taken back
    asking: Asking  # a question brought to a person at once
    channels: Channels  # what was chosen for a channel
    commands: SlashCommands  # /kotae …
    sources: Sources  # what documents follow, channels of the platform too
    holding: Holding  # what one process of several does at a time
    rates: Rates  # limits of a platform that they keep together
    homes: Homes  # whose members are the team, where a platform has several workspaces


def make_bot(
    settings: Settings,
    data: Database,
    knowledge: KnowledgeBase,
    turns: Turns,
    answers: ExpertAnswers,
    asking: Asking,
    sources: Sources,
    *,
    models: Models,
    make_digest: Callable[[Readers], Awaitable[Digest]],
    owner: str,
) -> Bot:
    """`models` raises SettingsError for a name it does not know; `owner` names this process in the leases."""
    audit, outbox = Audit(data.engine), Outbox(data.engine)
    channels = Channels(ChannelSettings(data.engine), audit, settings, knowledge, models)
    return Bot(
        turns=turns,
        outbox=outbox,
        ingestion=Ingestion(IngestionStore(data.engine), knowledge, settings, owner=owner),
        experts=Experts(settings, knowledge, data.questions, Notices(data.engine), data.documents, outbox, owner=owner),
        answers=answers,
        asking=asking,
        channels=channels,
        commands=SlashCommands(settings, data, knowledge, channels, answers, asking, sources, audit, make_digest),
        sources=sources,
        holding=Holding(Leases(data.engine), owner=owner),
        rates=Rates(data.engine),
        homes=Homes(data.engine),
    )
