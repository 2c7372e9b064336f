"""What tests of the client begin with: a question in a channel, what the bot has said under it, and payloads."""

from typing import Any

from adapters.slack.transport.api import SlackApi
from adapters.slack.transport.idempotency import Mark
from tests.adapters.slack.clocks import Time
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_gate import Fault
from tests.fakes.slack_world import Message

Json = dict[str, Any]

MARK = Mark("turn-1", "answer", 0)
SECTION: Json = {"type": "section", "text": {"type": "plain_text", "text": "Hello."}}
HOME: Json = {"type": "home", "blocks": [SECTION]}
MODAL: Json = {"type": "modal", "title": {"type": "plain_text", "text": "Add"}, "blocks": [SECTION]}


def named(fault: Fault) -> str:
    return f"{fault.kind} {fault.error or fault.status}"


class Scene:
    """A question, a message of the bot and an open stream under it, and fresh triggers."""

    def __init__(self, fake: FakeSlack, root: str, message: str, stream: str) -> None:
        self.fake, self.root, self.message, self.stream = fake, root, message, stream

    @property
    def trigger(self) -> str:
        return self.fake.world.new_trigger("U1")

    def of_bot(self, *, thread: bool = True) -> list[Message]:
        return self.fake.replies(self.root) if thread else self.fake.posted("C1")


def said(text: str) -> Json:
    """A chunk of a stream."""
    return {"type": "markdown_text", "text": text}


async def scene(slack: SlackApi, fake: FakeSlack) -> Scene:
    root = await fake.says("C1", "U1", "How long do refunds take?")
    message = await slack.post("C1", text="Looking.", thread=root)
    stream = await slack.start_stream("C1", root, recipient="U1", recipient_team=slack.me.team)
    return Scene(fake, root, message, stream)


def gone_quiet(fake: FakeSlack, time: Time) -> None:
    """Forget what was asked so far."""
    fake.journal.entries.clear()
    time.waits.clear()
