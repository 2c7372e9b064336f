"""Tells the few messages that need no document: only courtesy, a sum, what the bot can do, or nothing at all. All else
is searched."""

import re
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from agent.routing.calculator import Computed, compute
from agent.routing.patterns import words
from retrieval.text import language_of, normalise, sentences

Kind = Literal["team", "greeting", "thanks", "farewell", "arithmetic", "help", "empty"]

_COURTESY: tuple[Kind, ...] = ("farewell", "thanks", "greeting")
_PING = re.compile(r"<@[^<>]*>|(?<!\w)@\w+")
_CALLED = re.compile(  # at its beginning everybody, at its end or in a sentence of its own who may like to know
    r"^(?:@(?:here|channel|everyone)(?!\w)[\s,:、：]*)+|(?<![\s(（])[\s(（]*(?<![a-z])(?:cc|fyi)[:：]?\s*@[^?？。!！]*$",
    re.IGNORECASE,
)
_ABOUT = re.compile(r"[のはがをにとへも]|って|から|より|まで|さん")  # what it follows is asked about
_EMOJI = re.compile(r":[\w+-]+:")  # as Slack writes them: ":bow:", ":+1::skin-tone-3:"
_NO_WORD = re.compile(r"[\W_]*")
_MARK = re.compile(r".\s*[,、。!?.~〜…]+|[,、。!?]")  # from the last character of what it sets off
_LONG = 200  # characters, from which a message has more than its question: of 420 questions in chat none has as many
_WAVES = re.compile(r"[👋😀-🙏]")


@dataclass(frozen=True, slots=True)
class Route:
    """The kind of a message."""

    kind: Kind

    @property
    def search(self) -> bool:
        """Whether the team's documents have to be looked into."""
        return self.kind == "team"


def route(message: str, *, opens: bool = False) -> Route:
    """The route of `message`. `opens`: nothing was said before it; else "help" or "What can you do?" may be about what
    was."""
    text = " ".join(_PING.sub(" ", _without_emoji(message)).split())
    if _NO_WORD.fullmatch(text):
        return Route("thanks" if "🙏" in text else "greeting" if _WAVES.search(text) else "empty")
    if _NO_WORD.fullmatch(_without(text, (*_COURTESY, "remark", "around"))):
        kind = next((kind for kind in _COURTESY if words(kind).search(text)), None)
        if kind or words("remark").search(text):
            return Route(kind or "thanks")
    if opens and _only(text, "help", *_COURTESY, "around"):
        return Route("help")
    return Route("arithmetic") if computed(message) else Route("team")


def approves(message: str) -> bool:
    """Whether a message is nothing but a word of courtesy that answers whether something may be done."""
    return _only(_without_emoji(message), "approves", "around")


def objects(message: str) -> bool:
    """Whether a message says that what was told is wrong, and nothing else."""
    return _says(message, "objects")


def comments(message: str) -> bool:
    """Whether a message asks for nothing but whether what was told is so, where it stands, or to have it in other
    words."""
    return _says(message, "comments", "please")


def puts_off(message: str) -> bool:
    """Whether a message says that its author knows no answer, or looks for one, and nothing else."""
    return _says(message, "puts_off")


def asks_what(message: str) -> bool:
    """Whether a message has a word that asks who, which, when or how much, and does not only ask for a yes."""
    text = normalise(message)
    return any(words(kind).search(text) for kind in ("asks_which", "asks_when", "asks_time", "asks_figure"))


def begins_asking(sentence: str) -> bool:
    """Whether the first word of a sentence asks."""
    return words("asks_first").match(normalise(sentence)) is not None


def requests(message: str) -> bool:
    """Whether a sentence of a message asks for something to be told, without a question mark, too."""
    return any(words("requests").match(normalise(_opened(one))) for one in sentences(message))


def question_in(message: str) -> str:
    """Without the sentences that are only courtesy, without a greeting or a hesitation in front, and without those who
    are called to look at it: their words would be searched for. As it is where there is nothing of that, or nothing
    else."""
    message = _CALLED.sub("", message) or message
    said = sentences(message)
    kept = [one for one in said if route(one).kind not in _COURTESY]
    if not kept:
        return message
    first = _opened(kept[0])
    return message if [first, *kept[1:]] == said else " ".join((first, *kept[1:]))


def uncalled(message: str, groups: Collection[str]) -> str:
    """Without the `groups`, by their names, that are called in front to look at it: 「@hr 申請フォームはどこ？」. As it
    is where one of them is what it asks about: 「@hr の連絡先は？」, "@hr handles what?"."""
    names = "|".join(map(re.escape, set(groups)))
    called = re.match(rf"(?:@(?:{names})[\s,:、：]+)+", message) if groups else None
    rest = message[called.end() :] if called else ""
    if not rest:
        return message
    asks = not _ABOUT.match(rest) if language_of(rest) == "ja" else begins_asking(rest)
    return rest if asks else message


def asked_in(message: str) -> tuple[str, str]:
    """The sentences of a long message that ask, and the end of all else in it: a mail that is passed on, a log that was
    pasted. All of a short one, of one that asks in each of its sentences, and of one that asks in none."""
    said = sentences(message) if len(message) > _LONG else []
    asks = [one for one in said if one.endswith(("?", "？")) or requests(one) or _asks_unmarked(one)]
    if not asks or len(asks) == len(said):
        return message, ""
    return " ".join(asks), " ".join(one for one in said if one not in asks)[-_LONG:]


def _asks_unmarked(sentence: str) -> bool:
    """Whether it is a question without its mark: "Which form do I need.", 「どこに出せばいいですか。」; "When I was
    there, it was closed." is none."""
    return begins_asking(sentence) and (asks_what(sentence) or sentence.endswith(("か。", "か")))


def _opened(sentence: str) -> str:
    """Without what is said before it and set off by a mark, however much; as it is where that is all."""
    while rest := _after_opening(sentence):
        sentence = rest
    return sentence


def _after_opening(sentence: str) -> str:
    """The rest after the first such word; "" where there is none, or nothing else."""
    text = unicodedata.normalize("NFKC", sentence)
    opening = words("greeting").match(text) or words("hesitates").match(text)
    if not opening or not opening.end():
        return ""
    end = opening.end()
    around = words("around").match(text, end + 1)  # "Hi there, …"
    mark = _MARK.match(text, end - 1) or (_MARK.match(text, around.end() - 1) if around else None)
    return text[mark.end() :].lstrip() if mark else ""


def computed(message: str) -> Computed | None:
    """The sum that a message is, greetings in front left out; None when it is none."""
    text = message.strip()
    if found := compute(text):
        return found
    rest = " ".join(_PING.sub(" ", normalise(text)).split())
    while (opening := words("greeting").match(rest) or words("around").match(rest)) and opening.end():
        rest = rest[opening.end() :].lstrip(" ,.!、。！~〜…")
    return compute(rest) if rest else None


def _without_emoji(message: str) -> str:
    return _EMOJI.sub(" ", normalise(message))


def _says(message: str, kind: str, *beside: str) -> bool:
    """Whether a short message is nothing but words of this kind, with or without courtesy and those `beside`."""
    text = _without_emoji(message)
    return len(text) <= _LONG and _only(text, kind, *_COURTESY, "remark", "around", *beside)


def _only(text: str, kind: str, *beside: str) -> bool:
    """Whether it has words of this kind, and else only of those that may stand beside them."""
    return words(kind).search(text) is not None and _NO_WORD.fullmatch(_without(text, (kind, *beside))) is not None


def _without(text: str, kinds: tuple[str, ...]) -> str:
    for kind in kinds:
        text = words(kind).sub(" ", text)
    return text
