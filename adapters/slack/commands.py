"""`/ingest`, `/kotae`, the message shortcut and the button in the App Home: acknowledged at once, worked on afterwards.

Source: product.md §5; reliability.md R3, R19 and R44.
"""

import re

from slack_bolt.app.async_app import AsyncApp

from adapters.shared.ingestion import FAILED
from adapters.slack import asking, expert_answers, feedback, home, ingestion
from adapters.slack.context import SlackContext
from adapters.slack.events import readable
from adapters.slack.rendering.block_kit import INGEST, Json, card_blocks, respond
from adapters.slack.rendering.mrkdwn import escaped
from adapters.slack.transport.acks import Ack, fits, in_time, once
from bot.errors import StoreError
from bot.types import Command
from retrieval.types import RAGToolError

SHORTCUT = "add_to_knowledge"
_PERSON = re.compile(r"<@([UW][A-Z0-9]+)(?:\|[^>]*)?>")


def register(app: AsyncApp, context: SlackContext) -> None:
    """All listeners of the app but the events, which the adapter's middleware takes."""
    app.use(once())
    asking.register(app, context)
    expert_answers.register(app, context)
    feedback.register(app, context)

    @app.command("/ingest")
    async def ingest(ack: Ack, body: Json) -> None:
        text = readable(str(body.get("text") or ""), context.slack.me.user)
        if not text:
            await ack()
            context.tasks.start(ingestion.ask(context, body, body["channel_id"]), "slack-ingest")
            return

        async def late(said: str) -> None:
            await respond(context, body["response_url"], body["channel_id"], body["user_id"], said)

        failed = FAILED.to(context.language)
        said = await in_time(context, ingestion.take_typed(context, body, text), late, failed, "slack-ingest")
        acked = escaped(said or "")
        if fits(acked):
            await ack(acked)
        else:
            await ack()
            await late(said or "")

    @app.command("/kotae")
    async def kotae(ack: Ack, body: Json) -> None:
        await ack()
        context.tasks.start(_command(context, body), "slack-command")

    @app.shortcut({"type": "message_action", "callback_id": SHORTCUT})
    async def shortcut(ack: Ack, body: Json) -> None:
        await ack()
        used_on = ingestion.used_on(body["message"], context.slack.me.user)
        context.tasks.start(ingestion.ask(context, body, body["channel"]["id"], used_on), "slack-shortcut")

    @app.action(home.INGEST_BUTTON)
    async def pressed(ack: Ack, body: Json) -> None:
        await ack()
        context.tasks.start(ingestion.ask(context, body), "slack-ingest")

    @app.view(INGEST)
    async def submitted(ack: Ack, body: Json, view: Json) -> None:
        user = body["user"]["id"]

        async def late(errors: dict[str, str]) -> None:
            await ingestion.tell_late(context, user, view, errors)

        failed = ingestion.failed(context, view)
        errors = await in_time(context, ingestion.take_submitted(context, user, view), late, failed, "slack-ingest")
        await (ack(response_action="errors", errors=errors) if errors else ack())


async def _command(context: SlackContext, body: Json) -> None:
    """`/kotae <name> <text>`, answered where only its author sees it."""
    typed = str(body.get("text") or "")
    mentioned = _PERSON.search(typed) if typed.lstrip().startswith(("owner", "担当")) else None
    if mentioned is not None:
        typed = typed.replace(mentioned[0], "")
    name, *rest = readable(typed, context.slack.me.user).split(maxsplit=1)[:2] or ["help"]
    user, channel = body["user_id"], body["channel_id"]
    language, actor, audience = await context.author(channel, user)
    person = mentioned[1] if mentioned else ""
    command = Command(actor, context.place(channel), audience, name.lower(), " ".join(rest).strip(), language, person)
    try:
        said, blocks = card_blocks(await context.bot.commands(command))
    except (StoreError, RAGToolError) as error:
        said, blocks = error.text(language), []
    await respond(context, body["response_url"], channel, user, said, blocks)
