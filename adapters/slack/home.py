"""The App Home: what waits for an answer, what was added last, and a button to add more; and what is suggested where
somebody begins to write to the bot.

It is one person's page, but not a private place: it shows what the whole team may read. Source: product.md §3.
"""

import logging
from contextlib import suppress

from adapters.shared import ingestion
from adapters.slack.context import SlackContext
from adapters.slack.rendering.block_kit import Json, button, card_blocks, section
from adapters.slack.transport.errors import SlackError, UnsupportedError
from bot.errors import StoreError
from bot.types import PUBLIC, Command
from retrieval.i18n import Text
from retrieval.types import RAGToolError

log = logging.getLogger(__name__)

INGEST_BUTTON = "kotae_home_ingest"
_HELLO = Text(
    en="Mention me in a channel, or write to me in Messages: I answer from your team's documents, with the sources.",
    ja="チャンネルでメンションするか、「メッセージ」タブで質問してください。チームの文書から、出典を添えてお答えします。",
)


_SUGGESTED = Text(en="What can you do?", ja="何ができますか？")
_PROMPTS = 4  # that Slack shows


async def welcome(context: SlackContext, user: str, channel: str) -> None:
    """Suggest questions in somebody's conversation with the bot: to members what others of the team have asked. Where
    Slack shows none, nothing happens."""
    language = await context.language_of(user)
    asked: list[str] = []
    if (await context.places.actor(user)).role != "outsider":
        with suppress(StoreError):
            asked = await context.bot.turns.suggestions(language, most=_PROMPTS - 1)
    try:
        await context.slack.suggest(channel, [*asked, _SUGGESTED.to(language)])
    except SlackError as error:
        log.info("no questions are suggested: %s", error.code)


async def publish(context: SlackContext, user: str, channel: str) -> None:
    """Draw it anew for somebody who has opened it, or answered a question of it; `channel` is their conversation with
    the bot, in which they are told what came of a button. Where there is no App Home, nothing happens."""
    language = await context.language_of(user)
    actor = await context.places.actor(user)
    blocks: list[Json] = [section(_HELLO.to(language))]
    if actor.role != "outsider":
        add = button(ingestion.TITLE.to(language), INGEST_BUTTON, "home", style="primary")
        blocks.append({"type": "actions", "elements": [add]})
        for name in ("unanswered", "documents"):
            try:
                card = await context.bot.commands(Command(actor, context.place(""), PUBLIC, name, "", language))
                shown = card_blocks(card)[1]
            except (StoreError, RAGToolError) as error:
                shown = [section(error.text(language))]
            blocks += [{"type": "divider"}, *shown]
    try:
        await context.slack.publish_home(user, {"type": "home", "private_metadata": channel, "blocks": blocks})
    except UnsupportedError:
        pass  # the client has said so once
    except SlackError as error:
        log.info("the App Home could not be drawn: %s", error.code)
