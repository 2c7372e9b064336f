"""The context that all gestures in the browser share: the board, the bot's services, the files that wait, and
tasks."""

from dataclasses import dataclass, field

from adapters.shared.tasks import Tasks
from adapters.web.channel.messages import Board
from adapters.web.channel.rooms import member
from adapters.web.channel.uploads import Uploads
from bot.bot import Bot
from retrieval.i18n import Language


@dataclass(frozen=True, slots=True)
class WebContext:
    board: Board
    bot: Bot
    held: Uploads
    language: Language  # of what everybody in a room reads
    address: str  # of the pages, without a slash at its end; empty: none that others could open
    tasks: Tasks = field(default_factory=Tasks)


def name_of(person: str, language: Language) -> str:
    """A name for people; the id of somebody who is no member here."""
    known = member(person)
    return person if known is None else known.name.to(language)
