"""`/ingest`, `/kotae`, the message shortcut and the button in the App Home: acknowledged at once, worked on afterwards.

Source: product.md §5; reliability.md R3, R19 and R44.
"""

from slack_bolt.app.async_app import AsyncApp

from adapters.shared.ingestion import FAILED
from adapters.slack import expert_answers, feedback, home, ingestion
from adapters.slack.context import Office
from adapters.slack.events import readable
from adapters.slack.rendering.block_kit import INGEST, Json, card_blocks, respond
from adapters.slack.rendering.markdown import escaped
from adapters.slack.transport.acks import Ack, in_time, once
from bot.errors import StoreError
from bot.types import Command
from retrieval.types import RAGToolError

SHORTCUT = "add_to_knowledge"


def register(app: AsyncApp, office: Office) -> None:
    """All listeners of the app but the events, which the adapter's middleware takes."""
    app.use(once())
    expert_answers.register(app, office)
    feedback.register(app, office)

    @app.command("/ingest")
    async def ingest(ack: Ack, body: Json) -> None:
        text = readable(str(body.get("text") or ""), office.slack.me.user)
        if not text:
            await ack()
            office.tasks.start(ingestion.ask(office, body, body["channel_id"]), "slack-ingest")
            return

        async def late(said: str) -> None:
            await respond(office, body["response_url"], said)

        failed = FAILED.to(office.language)
        said = await in_time(office, ingestion.take_typed(office, body, text), late, failed, "slack-ingest")
        await ack(escaped(said or ""))

    @app.command("/kotae")
    async def kotae(ack: Ack, body: Json) -> None:
        await ack()
        office.tasks.start(_command(office, body), "slack-command")

    @app.shortcut({"type": "message_action", "callback_id": SHORTCUT})
    async def shortcut(ack: Ack, body: Json) -> None:
        await ack()
        used_on = ingestion.used_on(body["message"], office.slack.me.user)
        office.tasks.start(ingestion.ask(office, body, body["channel"]["id"], used_on), "slack-shortcut")

    @app.action(home.INGEST_BUTTON)
    async def pressed(ack: Ack, body: Json) -> None:
        await ack()
        office.tasks.start(ingestion.ask(office, body), "slack-ingest")

    @app.view(INGEST)
    async def submitted(ack: Ack, body: Json, view: Json) -> None:
        user = body["user"]["id"]

        async def late(errors: dict[str, str]) -> None:
            await ingestion.tell_late(office, user, view, errors)

        failed = ingestion.failed(office, view)
        errors = await in_time(office, ingestion.take_submitted(office, user, view), late, failed, "slack-ingest")
        await (ack(response_action="errors", errors=errors) if errors else ack())


async def _command(office: Office, body: Json) -> None:
    """`/kotae <name> <text>`, answered where only its author sees it."""
    name, *rest = readable(str(body.get("text") or ""), office.slack.me.user).split(maxsplit=1)[:2] or ["help"]
    user, channel = body["user_id"], body["channel_id"]
    language = await office.language_of(user)
    actor = await office.places.actor(user)
    audience = await office.places.audience(channel, user)
    command = Command(actor, office.place(channel), audience, name.lower(), " ".join(rest).strip(), language)
    try:
        card = await office.bot.commands(command)
    except (StoreError, RAGToolError) as error:
        await respond(office, body["response_url"], error.text(language))
    else:
        await respond(office, body["response_url"], *card_blocks(card))
