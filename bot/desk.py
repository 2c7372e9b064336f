"""What the application offers a platform (`adapters.port.Desk`), each part by who does it."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Collection
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from agent.events import Events
from bot.access import readers, scopes
from bot.chat_commands import ChatCommands
from bot.choices import Choices, Models
from bot.database import Database
from bot.digest import Digest
from bot.expert_answers import ExpertAnswers
from bot.intake import Fetch, Intakes
from bot.knowledge import Knowledge
from bot.notices import Due
from bot.settings import Settings
from bot.store.audit import Audit
from bot.store.intakes import IntakeRows
from bot.store.notices import Notices
from bot.store.places import Places
from bot.store.posts import Posts
from bot.teaching import Teaching
from bot.turns import Turns
from bot.types import (
    Actor,
    Audience,
    Card,
    Claimed,
    Command,
    Feedback,
    Incoming,
    Intake,
    Lesson,
    Notice,
    OpenQuestions,
    Place,
    Post,
    Preferences,
    Question,
    Taught,
    Upload,
    Verdict,
)
from retrieval.text import Language
from retrieval.types import Readers

SETTLED = timedelta(seconds=10)  # by then whoever closed a card's questions has redrawn it, and said who it was


class FrontDesk:
    """The `Desk` that platforms are given."""

    def __init__(
        self,
        settings: Settings,
        data: Database,
        knowledge: Knowledge,
        turns: Turns,
        *,
        models: Models,
        make_digest: Callable[[Readers], Awaitable[Digest]],
        owner: str,
    ) -> None:
        """`models` raises SettingsError for a name it does not know; `owner` names this process in the leases."""
        self._settings = settings
        self._data = data
        self._knowledge = knowledge
        self._turns = turns
        engine = data.engine
        audit = Audit(engine)
        self._posts = Posts(engine)
        notices = Notices(engine)
        self._notices = Due(notices, owner=owner)
        self._intakes = Intakes(IntakeRows(engine), knowledge, owner=owner)
        self._choices = Choices(Places(engine), audit, settings, knowledge, models)
        self._teaching = Teaching(settings, knowledge, data.questions, notices, data.documents)
        self.answers = ExpertAnswers(settings, knowledge, data.questions, notices, data.documents, audit)
        self._commands = ChatCommands(settings, data, knowledge, self._choices, self.answers, audit, make_digest)

    # -- questions --------------------------------------------------------------------------------------------------

    def reply(self, message: Incoming) -> Events:
        return self._turns.reply(message)

    async def unfinished(self, platform: str) -> list[Incoming]:
        return await self._turns.unfinished(platform)

    async def withdraw(self, message: Incoming) -> None:
        await self._turns.withdraw(message)

    async def ingest(self, upload: Upload) -> Verdict:
        return await self._knowledge.add(upload, self._settings.language)

    async def vote(self, feedback: Feedback) -> bool:
        return await self._turns.vote(feedback)

    async def unanswered(self, place: Place, audience: Audience) -> OpenQuestions:
        return await self._data.questions.open(readers(place, audience).scopes)

    async def claim(self, message: Incoming) -> Claimed | None:
        return await self._turns.claim(message)

    async def known(self, claimed: Claimed, message: Incoming) -> Claimed:
        return await self._turns.known(claimed, message)

    def run(self, claimed: Claimed) -> Events:
        return self._turns.run(claimed)

    async def release(self, claimed: Claimed) -> None:
        await self._turns.release(claimed)

    async def amend(self, message: Incoming) -> bool:
        return await self._turns.amend(message)

    def language(self, message: Incoming) -> Language:
        return self._turns.language(message)

    # -- what was posted --------------------------------------------------------------------------------------------

    async def intend(self, post: Post) -> Post | None:
        return await self._posts.intend(post)

    async def placed(self, post: Post) -> None:
        await self._posts.placed(post)

    async def posts(self, about: str) -> list[Post]:
        return await self._posts.of(about)

    async def post_at(self, place: Place, message: str) -> Post | None:
        return await self._posts.at(place, message)

    async def spoken_in(self, platform: str, workspace: str, *, limit: int) -> list[str]:
        return await self._posts.channels(platform, workspace, limit=limit)

    # -- knowledge --------------------------------------------------------------------------------------------------

    async def take_in(self, claim: str, intake: Intake) -> Intake | None:
        return await self._intakes.take_in(claim, intake)

    def work_off(self, intake: Intake, fetch: Fetch) -> AsyncGenerator[Intake]:
        return self._intakes.work_off(intake, fetch)

    async def intakes(self, platform: str) -> list[Intake]:
        return await self._intakes.unfinished(platform)

    async def scopes(self, actor: Actor, place: Place, audience: Audience) -> tuple[str, ...]:
        return scopes(actor, place, audience, self._settings)

    async def collections(self, place: Place, audience: Audience) -> tuple[str, ...]:
        infos = await self._knowledge.collections(readers(place, audience))
        return tuple(dict.fromkeys((self._settings.default_collection, *(info.name for info in infos))))

    # -- misses -----------------------------------------------------------------------------------------------------

    async def questions(self, ids: Collection[int], place: Place, audience: Audience) -> list[Question]:
        return await self._data.questions.get(ids, readers(place, audience).scopes)

    async def teach(self, lesson: Lesson) -> Taught:
        return await self._teaching.teach(lesson)

    async def dismiss(self, actor: Actor, ids: Collection[int], place: Place, audience: Audience) -> Taught:
        return await self._teaching.dismiss(actor, ids, place, audience)

    async def cards(self, ids: Collection[int]) -> list[Post]:
        return await self._posts.cards(ids)

    async def settled(self, platform: str) -> list[Post]:
        found = [card for card in await self._posts.open_cards(platform) if card.data.get("questions")]
        ids = {question for card in found for question in card.data["questions"]}
        closed = await self._data.questions.closed(ids, before=datetime.now(UTC) - SETTLED)
        over = [card for card in found if closed.issuperset(card.data["questions"])]
        partly = [card for card in found if card not in over and card.data.get("reference") in closed]
        return [*(replace(card, data={**card.data, "closed": True}) for card in over), *partly]

    async def notices(self, platform: str) -> list[Notice]:
        return await self._notices(platform)

    async def said(self, notice: Notice) -> None:
        await self._notices.said(notice)

    # -- the rest ---------------------------------------------------------------------------------------------------

    async def command(self, command: Command) -> Card:
        return await self._commands(command)

    async def preferences(self, place: Place) -> Preferences:
        chosen = await self._choices.of(place)
        return replace(chosen, steps=chosen.steps or self._settings.steps)

    async def prefer(self, actor: Actor, place: Place, chosen: Preferences) -> None:
        await self._choices.put(actor, place, chosen)
