"""A channel by the name that people know it by, where `KOTAE_DIGEST_CHANNEL` has no id: exactly one, or why not, in
words.

Source: docs.slack.dev conversations.list; discord.com/developers/docs/resources/guild (several channels may share a
name)."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from retrieval.i18n import Text, filled

CANDIDATES = 5  # that are named

_UNKNOWN = Text(
    en="KOTAE_DIGEST_CHANNEL is “{channel}”: the bot sees no channel of that name.{near}",
    ja="KOTAE_DIGEST_CHANNEL の「{channel}」という名前のチャンネルは、ボットから見えません。{near}",
)
_NEAR = Text(en=" It could be one of: {names}.", ja="候補: {names}。")
_SEVERAL = Text(
    en="KOTAE_DIGEST_CHANNEL is “{channel}”, and several channels have that name: {names}. Set the id of one of them.",
    ja="KOTAE_DIGEST_CHANNEL の「{channel}」という名前のチャンネルが複数あります: {names}。どれか 1 つの ID "
    "を設定してください。",
)


@dataclass(frozen=True, slots=True)
class Named:
    """`inside`: the bot could post there. `where`: the server, on a platform that has several."""

    id: str
    name: str
    inside: bool = True
    where: str = ""

    @property
    def shown(self) -> str:
        return f"#{self.name} ({', '.join(filter(None, (self.where, self.id)))})"


class UnclearError(LookupError):
    """A name that is no channel's, or several channels'; says so in words, with candidates."""

    def __init__(self, why: Text) -> None:
        super().__init__(why.en)
        self.why = why


def find(wanted: str, channels: Sequence[Named]) -> Named:
    """The channel that a name means: `#general` or `general`. Of several that share it, the only one that the bot is
    in. Raises UnclearError."""
    name = _plain(wanted)
    same = [channel for channel in channels if _plain(channel.name) == name]
    inside = [channel for channel in same if channel.inside]
    if len(same) == 1 or len(inside) == 1:
        return (inside or same)[0]
    if same:
        raise UnclearError(filled(_SEVERAL, channel=wanted, names=_listed(inside or same)))
    open_ones = [channel for channel in channels if channel.inside]
    alike = get_close_matches(name, [_plain(channel.name) for channel in channels], CANDIDATES)
    near = [channel for channel in channels if _plain(channel.name) in alike] or open_ones
    names = filled(_NEAR, names=_listed(near)) if near else Text(en="", ja="")
    raise UnclearError(filled(_UNKNOWN, channel=wanted, near=names))


def _plain(name: str) -> str:
    return unicodedata.normalize("NFKC", name).strip().removeprefix("#").casefold()


def _listed(channels: Sequence[Named]) -> Text:
    shown = [channel.shown for channel in channels[:CANDIDATES]]
    shown += [f"+{len(channels) - CANDIDATES}"] if len(channels) > CANDIDATES else []
    return Text(en=", ".join(shown), ja="、".join(shown))
