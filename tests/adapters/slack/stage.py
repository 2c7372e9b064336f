"""One turn in a thread of Slack's fake, through the real client: what is posted is kept as the outbox keeps it."""

import re
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

from adapters.markdown.events import step_text
from adapters.slack.rendering.steps import EVERY_SECONDS
from adapters.slack.transport.api import SlackApi
from adapters.slack.turn_view import SlackThread
from agent.events import Answered, Drafted, Event, Reflected, Step, Thought, ToolCalled, ToolReturned
from bot.types import Audience, Claimed, Incoming, Place, StepsShown
from bot.waiting import Sleep
from retrieval.i18n import Language
from tests.adapters.staging import Hours, Rows, Skipping, play
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_world import Message

STREAMS = ("chat.startStream", "chat.appendStream", "chat.stopStream")
STATUS = "assistant.threads.setStatus"
SESSION, RENAME = "agents.sessions.setStatus", "agents.sessions.rename"

TURN: tuple[Step, ...] = (
    Thought("Look it up."),
    ToolCalled("1", "search_rag_knowledge_base", {"query": "refund"}),
    ToolReturned("1", "search_rag_knowledge_base", "Nothing relevant"),
    Thought("Other words."),
    ToolCalled("2", "search_rag_knowledge_base", {"query": "money back"}),
    ToolReturned("2", "search_rag_knowledge_base", "not reachable", failed=True),
    Drafted("30 days."),
    Reflected("keep", "Good."),
)
ANSWER = Answered("30 days.", turn="turn-1")


class Stage:
    def __init__(self, fake: FakeSlack, slack: SlackApi, rows: Rows, asked: str) -> None:
        self.fake, self.slack, self.rows, self.asked = fake, slack, rows, asked
        self.hours = Hours(EVERY_SECONDS)
        self.turn = "turn-1"

    def view(
        self,
        steps: StepsShown = "live",
        language: Language = "en",
        *,
        streams: bool = True,
        sleep: Sleep | None = None,
        turn: str = "",
        text: str = "?",
        **claim: Any,
    ) -> SlackThread:
        """`claim`: what else `Claimed` says."""
        place = Place("slack", "T0TEAM", "C1")
        message = Incoming(place, self.asked, self.asked, "U1", text, Audience("public"), language)
        return SlackThread(
            self.slack,
            self.rows.bot,
            Claimed(turn or self.turn, message, 1, 0, **claim),
            steps=steps,
            language=language,
            team=_team if streams else None,
            clock=self.hours,
            sleep=sleep or self.hours.sleep,
        )

    async def play(
        self, events: Iterable[Event], steps: StepsShown = "live", language: Language = "en", **how: Any
    ) -> None:
        """A whole turn, at once."""
        await play(self.view(steps, language, **how), events)

    async def step(self, view: SlackThread, event: Step, language: Language = "en") -> None:
        """A step, once it shows."""
        await view.step(event)
        either = [step_text(event, language, named=named) for named in (False, True)]
        await self.fake.wait_for(lambda: any(line in self.text for line in either))

    async def comes_to_show(self, text: str) -> None:
        """One reply, with this text."""
        await self.fake.wait_for(lambda: self.shown == [text])

    def calls(self, method: str) -> list[dict[str, Any]]:
        """The arguments of each such request that was not refused."""
        return [each.arguments for each in self.fake.journal.calls(method) if each.answer and each.answer.get("ok")]

    @property
    def replies(self) -> list[Message]:
        return self.fake.thread("C1", self.asked)

    @property
    def shown(self) -> list[str]:
        """The replies without the title of steps."""
        return [_TITLED.sub("", message.shown) for message in self.replies]

    @property
    def titles(self) -> list[str]:
        """What steps are called."""
        return [found[1] for message in self.replies if (found := _TITLED.match(message.shown))]

    @property
    def text(self) -> str:
        return "\n".join(self.shown)

    @property
    def status(self) -> str:
        return self.fake.world.status("C1", self.asked)


@asynccontextmanager
async def staged(
    *, without: Iterable[str] = (), rows: Rows | None = None, sessions: bool = False
) -> AsyncIterator[Stage]:
    """`sessions`: the app is an agent that is told when people press Stop."""
    absent = () if sessions else (SESSION, RENAME)
    told = ("agent_session_stopped",) if sessions else ()
    async with FakeSlack(without=(*without, *absent), limits=False, subscribed=told) as fake:
        asked = await fake.says("C1", "U1", "@kotae ?")
        time = Skipping()
        async with SlackApi(fake.bot_token, fake.api_url, clock=time, sleep=time.sleep, chance=lambda: 0.0) as slack:
            await slack.identify()
            yield Stage(fake, slack, rows or Rows(), asked)


@asynccontextmanager
async def again(stage: Stage) -> AsyncIterator[Stage]:
    """The next process on the same workspace and the same rows."""
    time = Skipping()
    async with SlackApi(
        stage.fake.bot_token, stage.fake.api_url, clock=time, sleep=time.sleep, chance=lambda: 0.0
    ) as slack:
        await slack.identify()
        yield Stage(stage.fake, slack, stage.rows, stage.asked)


def lines(events: Iterable[Event], language: Language = "en", *, named: bool = False) -> list[str]:
    """The steps as lines; a draft is none. `named`: as `verbose` steps, with the tools' names."""
    steps = (event for event in events if not isinstance(event, Answered))
    return [line for event in steps if (line := step_text(event, language, named=named))]


LINES = lines(TURN)
NAMED = lines(TURN, named=True)
TITLE, FOLDED = "Steps", "2 searches"  # of steps that grow, and of what they come to
_TITLED = re.compile(r"^(Steps|途中経過.*|\d+ (?:search|step).*|検索 \d+ 回.*)\n")


def steps_and_answer(stage: Stage) -> None:
    """Exactly these: all steps in their order, each once, folded; then the answer, once."""
    assert stage.titles == [FOLDED] and stage.shown[:-1] == ["\n".join(LINES)] and "30 days." in stage.shown[-1]


def votes(blocks: list[dict[str, Any]]) -> list[str]:
    """The values of all buttons in these blocks."""
    found = [element for block in blocks for element in block.get("elements", ())]
    pairs = [
        [each["positive_button"], each["negative_button"]] if "positive_button" in each else [each] for each in found
    ]
    return [button["value"] for pair in pairs for button in pair if "value" in button]


async def _team() -> str:
    return "T0TEAM"
