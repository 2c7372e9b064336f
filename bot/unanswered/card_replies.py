"""Replies to a card, and the question whether they are its answer: one person's messages in a row are one answer,
also those that follow once the first of them was saved. What is written below an answer that was saved may add to it,
if its author goes on, or say it anew, whoever wrote it; of several replies the last may be meant alone: "15, not 10".

Kept of a confirmation are its `card`, the `replies` it asks about, `by` whom they are, the last of them `at` what time,
which question they answer (`reference`), whether the team may read it (`shared`), and whether it stays `alone`. Once
they are the answer, `saved` has its documents, by their ids, and their versions, `told` and `left` how many threads are
told and questions stay open; one that asks whether to add to these has them in `answers`, and in `earlier` the replies
that they consist of, if the answer is its author's. `outdated` are replies that are no part of it any more. A saved one
of which a reply was edited or deleted asks again, and has in `before` what it was, which then `differs` from what its
replies say; without any reply, whether to take the answer back. So has one of which a part is saved, and the rest asked
about. One that was declined is `discarded`, one that is saved never. Several processes may change and show it
at the same time: its row says what holds, and whoever has shown it looks again whether it still does. Source:
product.md §4.
"""

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

from bot.store.outbox import Outbox
from bot.types import AnswerTaken, Post
from retrieval.i18n import Language, Text

TOGETHER = 600.0  # seconds between two messages of one answer, at most
MOST = 20  # messages of one answer

QUESTION = re.compile(r"(?:[?？]|(?:です|ます|ません|でしょう|でした|ました|んだ)か[。.]?)\s*$")  # a sentence
_COMMAND = re.compile(r"[/!]\w")

_SAVE = Text(
    en="Save this reply as the answer to “{question}”?", ja="この返信を「{question}」の回答として保存しますか？"
)
_SAVE_ALL = Text(
    en="Save these {n} replies together as the answer to “{question}”?",
    ja="この {n} 件の返信を、まとめて「{question}」の回答として保存しますか？",
)
_ADD = Text(en="Add this reply to the answer to “{question}”?", ja="この返信を「{question}」の回答に追加しますか？")
_ANEW = Text(
    en="Is this reply the answer to “{question}” now?", ja="「{question}」の回答を、この返信に置き換えますか？"
)
_ANEW_ALL = Text(
    en="Are these {n} replies the answer to “{question}” now?",
    ja="「{question}」の回答を、この {n} 件の返信に置き換えますか？",
)
_ADD_ALL = Text(
    en="Add these {n} replies to the answer to “{question}”?",
    ja="この {n} 件の返信を「{question}」の回答に追加しますか？",
)
_YES = Text(en="Save as the answer", ja="回答として保存")
_YES_ADD = Text(en="Add to the answer", ja="回答に追加")
_ONLY_LAST = Text(en="Only the last one", ja="最後の 1 件だけ保存")
_REPLACE = Text(en="Replace the answer", ja="回答を置き換える")
_TAKE_BACK = Text(
    en="The reply was deleted. Take the answer to “{question}” back, too? Its questions are open again then.",
    ja="返信が削除されました。「{question}」の回答も取り消しますか？取り消すと、質問は未回答に戻ります。",
)
_YES_TAKE_BACK = Text(en="Take the answer back", ja="回答を取り消す")
_SHARED = Text(
    en="Everyone in the team will be able to find it.", ja="保存すると、チームの全員が検索できるようになります。"
)
_THERE = Text(
    en="Only members of the private places where this was asked will be able to find it.",
    ja="検索できるのは、質問があった非公開の場所のメンバーだけです。",
)

_PASSING = frozenset({"discarded", "before", "differs"})  # of a confirmation: no more once it is saved

Confirmation = Mapping[str, Any]
Say = Callable[[Post], Awaitable[Post | None]]


@dataclass(frozen=True, slots=True)
class CardMessage:
    """A reply to a card as it was written. `at`: POSIX seconds."""

    message: str
    author: str
    text: str
    at: float
    shared: bool = True  # the team may read the answer


def asked(card: Post, reply: CardMessage, earlier: Sequence[Confirmation]) -> Confirmation | None:
    """The confirmation that a reply to a card takes: one of its own, or the one that asks about what its author wrote
    just before, with this reply too. None: nothing is asked. `earlier`: the card's, the latest first."""
    if any(reply.message in _all_of(one) for one in earlier):
        return None
    closed, reference = bool(card.data["closed"]), card.data.get("reference")
    new = {"card": [card.about, card.part], "replies": [reply.message], "by": reply.author, "at": reply.at}
    new["shared"] = reply.shared
    before = _before(reply, earlier)
    if before and "saved" not in before and ("answers" in before if closed else before["reference"] == reference):
        return extended(before, reply)
    answer = next((one for _, one in standing(earlier) if closed or one["reference"] == reference), None)
    if answer is None:
        return None if closed else {**new, "reference": reference, "alone": stands_alone(reply.text)}
    if stands_alone(reply.text) or (answer.get("by") != reply.author and _talk(answer, earlier)):
        return None
    return _on(answer, new)


def standing(found: Sequence[Confirmation]) -> Iterator[tuple[int, Confirmation]]:
    """The answers that were saved, each by the place of its confirmation among those `found`, the latest first; not
    those that a later one has changed, nor those that were taken back."""
    changed = set[str]()
    for place, one in enumerate(found):
        answer = one.get("before", one)
        documents = answer.get("saved", {}).keys()
        if documents and "discarded" not in one and not changed & documents:
            yield place, answer
        changed |= documents


def _talk(answer: Confirmation, earlier: Sequence[Confirmation]) -> bool:
    """Whether it was asked already if others than its author say the answer anew: then they talk about it."""
    return any(one.get("answers") == answer["saved"] and one.get("by") != answer.get("by") for one in earlier)


def _on(answer: Confirmation, new: Confirmation) -> Confirmation:
    """The question about a `new` reply below an answer that was saved: its own author may go on with it."""
    so_far = [*chain(*replies(answer))]
    goes_on = answer.get("by") == new["by"] and "differs" not in answer
    return {**new, "reference": answer["reference"], "answers": answer["saved"], "earlier": so_far if goes_on else []}


def extended(before: Confirmation, reply: CardMessage) -> Confirmation | None:
    """A confirmation that asks about one more reply; None: it is settled by now."""
    if is_settled(before):
        return None
    more = {"replies": [*before["replies"], reply.message], "at": max(before["at"], reply.at)}
    return {**before, **more, "shared": reply.shared}


def saved(now: Confirmation, asked: Confirmation, taken: AnswerTaken) -> Confirmation:
    """The confirmation once the replies it `asked` about are the answer: saved, or, where it asks about more by `now`,
    the question whether to add these."""
    known = _all_of(asked)
    more = [one for one in now.get("replies", ()) if one not in known]
    kept = {name: some[name] for some in (now, asked) for name in some if name not in _PASSING}
    done = {**kept, "saved": dict(taken.documents), "told": taken.told, "left": taken.left}
    if not more or "discarded" in now:
        return done
    earlier = [*asked.get("earlier", ()), *asked["replies"]]
    return {**kept, "replies": more, "answers": dict(taken.documents), "earlier": earlier, "before": done}


def anew(data: Confirmation) -> Confirmation:
    """A confirmation of the last of its replies alone; or, where it asks whether to add to an answer, of all of them in
    the place of that."""
    earlier, asked = replies(data)
    kept = asked if "answers" in data else asked[-1:]
    outdated = [one for one in (*data.get("outdated", ()), *earlier, *asked) if one not in kept]
    return {**data, "replies": kept, "earlier": [], "outdated": outdated}


def _all_of(data: Confirmation) -> tuple[str, ...]:
    earlier, asked = replies(data)
    return (*earlier, *asked, *data.get("outdated", ()))


def holding(found: Sequence[Confirmation], reply: str) -> int | None:
    """The place, among those `found`, of the confirmation of the answer that a reply is a part of."""
    holds = (place for place, one in standing(found) if any(reply in some for some in replies(one)))
    return next(holds, None)


def up_to_date(data: Confirmation, found: Sequence[Confirmation]) -> Confirmation:
    """A confirmation that asks whether to add to an answer, of which the replies may have been saved anew meanwhile."""
    added_to = {*data.get("earlier", ())}
    for _, answer in standing(found):
        if answer["saved"].keys() == data.get("answers", {}).keys() and added_to.issuperset(chain(*replies(answer))):
            return {**data, "answers": answer["saved"]}
    return data


def belongs(found: Sequence[Confirmation], reply: str) -> bool:
    """Whether a reply is, was or may become a part of an answer."""
    return any(reply in _all_of(one) for one in found if "discarded" not in one)


def changed(data: Confirmation, reply: str, *, gone: bool) -> Confirmation | None:
    """A saved confirmation that asks whether its replies are the answer as they are now: one of them has new words, or
    is `gone`. None: it has no such reply, or is not saved."""
    earlier, asked = replies(data)
    if "saved" not in data or reply not in (*earlier, *asked):
        return None
    left = [one for one in (*earlier, *asked) if not gone or one != reply]
    kept = {name: value for name, value in data.items() if name != "saved"}
    return {**kept, "replies": left, "earlier": [], "answers": data["saved"], "before": {**data, "differs": True}}


def taken_back(now: Confirmation) -> Confirmation:
    """The confirmation once its answer was taken back."""
    return {**now, "discarded": True}


def declined(now: Confirmation) -> Confirmation | None:
    """The confirmation once its replies are let be no answer, or the answer stays as it was; None: they are the answer
    by now, or it is settled."""
    if is_settled(now):
        return None
    before: Confirmation = now.get("before", taken_back(now))
    return before


def _before(reply: CardMessage, earlier: Sequence[Confirmation]) -> Confirmation | None:
    """The confirmation of what a reply goes on from, if it does: its author wrote that just before, and nobody else has
    written since."""
    for one in () if stands_alone(reply.text) else earlier:
        if one.get("by") != reply.author or abs(reply.at - one["at"]) > TOGETHER:
            return None
        if not 0 < len(one["replies"]) < MOST:  # none are left, or it has an end
            return None
        if "discarded" not in one:
            return None if one.get("alone") else one
    return None


def stands_alone(text: str) -> bool:
    """Whether a reply is no part of an answer in several messages: a question, or a command."""
    return bool(QUESTION.search(text) or _COMMAND.match(text.lstrip()))


async def confirm(
    outbox: Outbox,
    card: Post,
    reply: CardMessage,
    thread: str | None,
    channel: str,
    say: Say,
    change: Callable[[Post], Awaitable[None]],
) -> None:
    """Ask once about a reply to a card, or about more with the question that is there already. `channel`: in which the
    reply stands; `say`: posts the question, and returns it with what is known of it then, or None if it is posted
    already; `change`: puts its words in the place of older ones, again if there is more by then. Raises StoreError,
    and what these do."""
    named = [card.about, card.part]
    new, now = False, None
    while not new and now is None:  # what it would have gone on from may be settled a moment before
        found = [one for one in await outbox.confirms(card.place, thread) if one.data.get("card") == named]
        data = asked(card, reply, [one.data for one in found])
        if data is None:
            return
        new = data["replies"] == [reply.message]
        if new:
            post = Post(f"confirm:{channel}:{reply.message}", "confirm", 0, card.place, thread, data=data)
            now = await say(post)
        else:
            post = next(one for one in found if one.data.get("replies") == data["replies"][:-1])
            now = await outbox.amend(post, partial(extended, reply=reply))
    if now is not None:
        await show(outbox, post, change, shown=post.data if new else None)


async def show(
    outbox: Outbox, confirm: Post, change: Callable[[Post], Awaitable[None]], *, shown: Confirmation | None = None
) -> None:
    """Bring what people see of a confirmation, perhaps `shown` already, in line with what is kept of it. Whoever else
    does so at the same time may come later with what is older, and then does it once more. Raises StoreError, and what
    `change` raises."""
    while (now := await _kept(outbox, confirm)) is not None:
        message = now.message or confirm.message  # it was pressed, and may not be written down yet
        if message is None or now.data == shown or "discarded" in now.data:
            return
        await change(replace(now, message=message))
        shown = now.data


async def _kept(outbox: Outbox, confirm: Post) -> Post | None:
    return next((one for one in await outbox.of(confirm.about) if one.kind == "confirm"), None)


def is_settled(data: Confirmation) -> bool:
    return "saved" in data or "discarded" in data


def taken(data: Confirmation) -> AnswerTaken | None:
    """The outcome of the answer that a confirmation's replies have become; None: they have not, or not yet."""
    return AnswerTaken(told=data.get("told", 0), left=data.get("left", 0)) if "saved" in data else None


def question(data: Confirmation, about: str, language: Language) -> str:
    """Its words, `about` the question of the card."""
    n = len(replies(data)[1])
    if not n:
        return _TAKE_BACK.to(language, question=about)
    one, several = (
        (_SAVE, _SAVE_ALL) if "answers" not in data else (_ADD, _ADD_ALL) if _adds(data) else (_ANEW, _ANEW_ALL)
    )
    said = (one if n == 1 else several).to(language, question=about, n=n)
    return f"{said}\n{(_SHARED if data.get('shared', True) else _THERE).to(language)}"


def yes(data: Confirmation, language: Language) -> str | None:
    """The label of the button that takes all there is; None: below somebody else's answer there is none."""
    return _YES.to(language) if "answers" not in data else _YES_ADD.to(language) if _adds(data) else None


def only(data: Confirmation, language: Language) -> str | None:
    """The label of the button for `anew`; None: it would be the same."""
    _, asked = replies(data)
    if "answers" in data:
        return (_REPLACE if asked else _YES_TAKE_BACK).to(language)
    return _ONLY_LAST.to(language) if len(asked) > 1 else None


def _adds(data: Confirmation) -> bool:
    return bool(data.get("earlier"))


def replies(data: Confirmation) -> tuple[list[str], list[str]]:
    """The messages that the answer consists of so far, and those that it asks about: by their ids, which grow, in the
    order in which they were written."""
    found = data.get("earlier", ()), data["replies"] if "replies" in data else [str(data["reply"])]
    earlier, asked = (sorted(some, key=lambda id: (len(id), id)) for some in found)
    return earlier, asked
