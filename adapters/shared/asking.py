"""*Ask a person* under an answer that the bot is not sure of, on any platform: where it stands, and what pressing it
says. Source: product.md §4.
"""

import logging

from agent.events import Answered
from bot.access import reaches_team
from bot.bot import Bot
from bot.errors import StoreError
from bot.types import Actor, Audience, Incoming, Place
from bot.unanswered.asking import AskReply
from retrieval.i18n import Text
from retrieval.types import RAGToolError

log = logging.getLogger(__name__)

LABEL = Text(en="Ask a person", ja="担当者に聞く")


def offered(answered: Answered, message: Incoming) -> bool:
    """Whether the button stands under this answer: not where outsiders read along."""
    doubtful = answered.outcome == "unknown" or (answered.outcome == "answered" and answered.unsure)
    return doubtful and reaches_team(message.audience)


async def press(bot: Bot, turn: str, actor: Actor, place: Place, audience: Audience, choice: str = "") -> AskReply:
    """The button under a turn's answer, or the one that an earlier reply offered as `choice`. Never raises: what fails
    is said."""
    try:
        return await bot.asking.ask(turn, actor, place, audience, choice)
    except (StoreError, RAGToolError) as error:
        log.warning("nobody could be asked", exc_info=True)
        return AskReply(error.said)
