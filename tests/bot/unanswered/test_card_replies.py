"""Which replies to a card are one answer, and what is asked about them."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from bot.store.outbox import Outbox
from bot.types import AnswerTaken, Place, Post
from bot.unanswered import card_replies
from bot.unanswered.card_replies import MOST, TOGETHER, CardMessage, Confirmation
from retrieval.i18n import Language

CARD = Post("digest:1", "card", 0, Place("slack", "T1", "C1"), data={"closed": False, "reference": 7})
DONE = Post("digest:1", "card", 0, Place("slack", "T1", "C1"), data={"closed": True, "reference": 7})
NEXT = Post("digest:1", "card", 0, Place("slack", "T1", "C1"), data={"closed": False, "reference": 8})


def written(message: str, text: str = "It is in the wiki.", author: str = "U1", at: float = 0.0) -> CardMessage:
    return CardMessage(message, author, text, at)


def asked(*replies: CardMessage, card: Post = CARD) -> list[Confirmation]:
    """The confirmations after these replies, the latest first."""
    found: list[Confirmation] = []
    for reply in replies:
        now = card_replies.asked(card, reply, found)
        if now is not None:
            found = [now, *(one for one in found if one["replies"][0] != now["replies"][0])]
    return found


def asked_on(reply: CardMessage, *earlier: Confirmation) -> list[Confirmation]:
    """The confirmation, if any, of a reply below an answered card; `earlier`: those before it, the latest first."""
    now = card_replies.asked(DONE, reply, earlier)
    return [] if now is None else [now]


def names(found: Sequence[Confirmation]) -> list[list[str]]:
    return [one["replies"] for one in found]


@pytest.mark.parametrize(
    ("second", "together"),
    [
        (written("2", "Limit is 40,000 yen.", at=TOGETHER), True),
        (written("2", "上限は4万円です。", at=1.0), True),
        (written("2", "Limit is 40,000 yen.", at=TOGETHER + 1), False),
        (written("2", "Limit is 40,000 yen.", author="U2"), False),
        (written("2", "Which hotel is it?"), False),
        (written("2", "どのホテルですか"), False),
        (written("2", "どのホテルですか。"), False),
        (written("2", "/kotae help"), False),
    ],
)
def test_what_belongs_to_an_answer(second: CardMessage, together: bool) -> None:
    assert names(asked(written("1"), second)) == ([["1", "2"]] if together else [["2"], ["1"]])


def test_what_follows_a_question_or_somebody_else_begins_anew() -> None:
    assert names(asked(written("1", "Is it 50,000?"), written("2", "It is 40,000."))) == [["2"], ["1"]]
    others = asked(written("1"), written("2", author="U2"), written("3"))
    assert names(others) == [["3"], ["2"], ["1"]]


def test_a_reply_that_comes_twice_is_asked_about_once() -> None:
    assert names(asked(written("1"), written("1"), written("2"), written("1"), written("2"))) == [["1", "2"]]


def test_an_answer_has_an_end() -> None:
    found = asked(*(written(str(number)) for number in range(MOST + 1)))
    assert [len(one["replies"]) for one in found] == [1, MOST]


def test_what_was_declined_is_left_out() -> None:
    (first,) = asked(written("1"))
    again = card_replies.asked(CARD, written("2"), [{**first, "discarded": True}])
    assert again is not None and again["replies"] == ["2"] and "answers" not in again
    assert card_replies.extended({**first, "discarded": True}, written("2")) is None


def test_what_was_saved_is_added_to_and_nothing_else() -> None:
    (first,) = asked(written("1"))
    saved = {**first, "saved": {"d1": "v1"}}
    for card in (DONE, CARD):  # the card may be redrawn a moment later
        adds = card_replies.asked(card, written("2"), [saved])
        assert adds is not None and (adds["replies"], adds["earlier"]) == (["2"], ["1"])
        assert adds["answers"] == {"d1": "v1"}
        more = card_replies.asked(DONE, written("3"), [adds, saved])
        assert more is not None and (more["replies"], more["earlier"]) == (["2", "3"], ["1"])
    after = {**(adds or {}), "saved": {"d1": "v2"}}
    third = card_replies.asked(DONE, written("3"), [after, saved])
    assert third is not None and (third["earlier"], third["answers"]) == (["1", "2"], {"d1": "v2"})
    for card in (DONE, CARD):
        theirs = card_replies.asked(card, written("2", author="U2"), [saved])  # may say it anew
        assert theirs is not None and (theirs["replies"], theirs["earlier"]) == (["2"], [])
        assert theirs["answers"] == {"d1": "v1"}
    later = card_replies.asked(DONE, written("2", at=10 * TOGETHER), [saved])
    assert later is not None and later["earlier"] == ["1"]
    assert card_replies.asked(DONE, written("2", "Is it?"), [saved]) is None
    assert card_replies.asked(DONE, written("2"), [first]) is None  # it was answered in the form
    assert card_replies.asked(DONE, written("2"), []) is None
    other = card_replies.asked(NEXT, written("2"), [saved])  # the card went on with another question
    assert other is not None and "answers" not in other and other["reference"] == 8


async def test_a_reply_that_comes_a_moment_after_the_answer_was_saved_is_asked_about_anew(engine: AsyncEngine) -> None:
    class Meanwhile(Outbox):
        async def amend(self, post: Post, change_data: Callable[[Confirmation], Confirmation | None]) -> Post | None:
            settled = partial(card_replies.saved, asked={"replies": ["1"]}, taken=AnswerTaken(documents={"d": "v"}))
            await super().amend(post, settled)  # in another process
            return await super().amend(post, change_data)

    posts, said = Meanwhile(engine), list[Confirmation]()

    async def say(post: Post) -> Post | None:
        await posts.reserve(post)
        said.append(post.data)
        return await posts.posted(replace(post, message=f"m{len(said)}"))

    async def change(post: Post) -> None:
        raise AssertionError(post)

    for reply in (written("1"), written("2", at=1.0)):
        await card_replies.confirm(posts, CARD, reply, "17.5", "C1", say, change)
    _, more = said
    assert (more["replies"], more["earlier"], more["answers"]) == (["2"], ["1"], {"d": "v"})


async def test_a_question_that_was_saved_in_part_goes_on_under_its_own_name(engine: AsyncEngine) -> None:
    posts, shown = Outbox(engine), list[Confirmation]()

    async def say(post: Post) -> Post | None:
        await posts.reserve(post)
        return await posts.posted(replace(post, message="m1"))

    async def change(post: Post) -> None:
        shown.append(post.data)

    for reply in (written("1"), written("2"), written("3")):
        if reply.message == "3":
            settled = partial(card_replies.saved, asked={"replies": ["1"]}, taken=AnswerTaken(documents={"d": "v"}))
            await posts.amend(Post("confirm:C1:1", "confirm", 0, CARD.place), settled)
        async with asyncio.timeout(5):
            await card_replies.confirm(posts, CARD, reply, "17.5", "C1", say, change)
    assert [one["replies"] for one in shown] == [["1", "2"], ["2", "3"]]
    assert (shown[1]["earlier"], shown[1]["answers"]) == (["1"], {"d": "v"})


def test_what_is_saved_is_not_declined_and_what_is_being_saved_stays_saved() -> None:
    (first,) = asked(written("1"))
    gone = card_replies.declined(first)
    assert gone is not None and "discarded" in gone
    saved = card_replies.saved(gone, first, AnswerTaken(told=2, left=1, documents={"d": "v"}))
    assert saved["saved"] == {"d": "v"} and "discarded" not in saved
    assert card_replies.taken(saved) == AnswerTaken(told=2, left=1) and card_replies.taken(gone) is None
    assert card_replies.declined(saved) is None
    both = {**first, "replies": ["1", "2"], "discarded": True}  # the second was declined, too
    assert "answers" not in card_replies.saved(both, first, AnswerTaken())


async def test_of_two_processes_that_show_it_the_later_word_stands(engine: AsyncEngine) -> None:
    """The first is slow: what it began to show comes after what the second, which has saved it, shows."""
    posts, platform = Outbox(engine), list[Confirmation]()
    (first,) = asked(written("1"))
    post = Post("confirm:C1:1", "confirm", 0, CARD.place, "17.5", "m1", first)
    await posts.reserve(post)
    await posts.confirm(post)
    begun, arrives = asyncio.Event(), asyncio.Event()

    async def slowly(now: Post) -> None:
        begun.set()
        await arrives.wait()
        platform.append(now.data)

    async def at_once(now: Post) -> None:
        platform.append(now.data)

    slow = asyncio.create_task(card_replies.show(posts, post, slowly))
    await begun.wait()
    await posts.amend(post, partial(card_replies.saved, asked=first, taken=AnswerTaken()))
    await card_replies.show(Outbox(engine), post, at_once)
    arrives.set()
    await slow
    assert ["saved" in one for one in platform] == [True, False, True]


def test_an_answer_is_in_the_order_in_which_it_was_written() -> None:
    """Of two processes that hear of one message each the second may be quicker."""
    for ids in (("999", "1000"), ("1700000000.000100", "1700000000.000200")):
        (later,) = asked(written(ids[1], at=1.0))
        both = card_replies.asked(CARD, written(ids[0]), [later])
        assert both is not None and card_replies.replies(both) == ([], [*ids])


def test_a_confirmation_of_an_earlier_version_is_left_as_it_is() -> None:
    older = {"card": ["digest:1", 0], "reply": "1", "reference": 7}
    assert names([card_replies.asked(CARD, written("2"), [older]) or {}]) == [["2"]]
    assert card_replies.replies(older) == ([], ["1"])
    assert card_replies.question(older, "When?", "en").startswith("Save this reply as")
    assert (card_replies.yes(older, "en"), card_replies.only(older, "en")) == ("Save as the answer", None)
    saved = card_replies.saved(older, older, AnswerTaken(documents={"d": "v"}))
    (more,) = asked_on(written("2"), saved)
    assert (more["replies"], more["answers"]) == (["2"], {"d": "v"}) and asked_on(written("1"), saved) == []
    assert card_replies.holding([saved], "1") == 0 and card_replies.changed(saved, "1", gone=True) is not None


TEAM_EN = "Everyone in the team will be able to find it."
TEAM_JA = "保存すると、チームの全員が検索できるようになります。"


@pytest.mark.parametrize(
    ("data", "language", "said", "buttons"),
    [
        ({}, "en", "Save this reply as the answer to “When?”?\n" + TEAM_EN, ("Save as the answer", None)),
        (
            {"replies": ["1", "2"]},
            "ja",
            "この 2 件の返信を、まとめて「When?」の回答として保存しますか？\n" + TEAM_JA,
            ("回答として保存", "最後の 1 件だけ保存"),
        ),
        (
            {"answers": {}, "earlier": ["0"]},
            "ja",
            "この返信を「When?」の回答に追加しますか？\n" + TEAM_JA,
            ("回答に追加", "回答を置き換える"),
        ),
        (
            {"answers": {}, "earlier": ["0"], "replies": ["1", "2"], "shared": False},
            "en",
            "Add these 2 replies to the answer to “When?”?\n"
            "Only members of the private places where this was asked will be able to find it.",
            ("Add to the answer", "Replace the answer"),
        ),
        (
            {"answers": {}, "earlier": [], "replies": ["1", "2"]},
            "en",
            "Are these 2 replies the answer to “When?” now?\n" + TEAM_EN,
            (None, "Replace the answer"),
        ),
    ],
)
def test_what_is_asked(
    data: dict[str, Any], language: Language, said: str, buttons: tuple[str | None, str | None]
) -> None:
    data = {"replies": ["1"]} | data
    assert card_replies.question(data, "When?", language) == said
    assert (card_replies.yes(data, language), card_replies.only(data, language)) == buttons


def test_what_was_saved_and_edited_is_the_answer_as_it_was_until_it_is_saved_again() -> None:
    (both,) = asked(written("1"), written("2"))
    saved = card_replies.saved(both, both, AnswerTaken(told=1, documents={"d": "v"}))
    again = card_replies.changed(saved, "2", gone=False)
    assert again is not None and not card_replies.is_settled(again)
    assert (again["replies"], again["answers"]) == (["1", "2"], {"d": "v"})
    left = card_replies.declined(again)
    assert left == {**saved, "differs": True}
    (more,) = asked_on(written("3"), left)
    assert (more["replies"], more["earlier"]) == (["3"], [])  # in its place: to add to it would lose its words
    done = card_replies.saved(again, card_replies.anew(again), AnswerTaken(documents={"d": "w"}))
    assert done["saved"] == {"d": "w"} and not {"before", "differs"} & done.keys()
    assert card_replies.changed(saved, "3", gone=True) is None and card_replies.changed(both, "1", gone=True) is None
    rest = card_replies.changed(saved, "1", gone=True)
    assert rest is not None and rest["replies"] == ["2"]
    (one,) = asked(written("1"))
    none = card_replies.changed(card_replies.saved(one, one, AnswerTaken(documents={"d": "v"})), "1", gone=True)
    assert none is not None and card_replies.replies(none) == ([], [])
    assert card_replies.question(none, "When?", "en").startswith("The reply was deleted. Take the answer")
    assert (card_replies.yes(none, "ja"), card_replies.only(none, "ja")) == (None, "回答を取り消す")
    (anew,) = asked_on(written("2"), none)  # one of its own: what asks whether to take it back still does
    assert (anew["replies"], anew["earlier"], anew["answers"]) == (["2"], [], {"d": "v"}) and "before" not in anew
    back = card_replies.taken_back(none)
    assert asked_on(written("2"), back) == [] and card_replies.declined(back) is None
    assert card_replies.holding([back, left], "2") is None


def test_what_was_saved_in_part_stays_saved_when_the_rest_is_declined() -> None:
    (first,) = asked(written("1"))
    saved = card_replies.saved(first, first, AnswerTaken(told=1, documents={"d": "v"}))
    again = card_replies.changed(saved, "1", gone=False) or {}
    for before in (first, again):
        meanwhile = card_replies.extended(before, written("2")) or {}
        more = card_replies.saved(meanwhile, before, AnswerTaken(told=2, documents={"d": "w"}))
        assert (more["replies"], more["earlier"], more["answers"]) == (["2"], ["1"], {"d": "w"})
        left = card_replies.declined(more)
        assert left is not None and (left["replies"], left["saved"], left["told"]) == (["1"], {"d": "w"}, 2)
        assert not {"before", "differs"} & left.keys()


def test_people_who_talk_below_an_answer_are_asked_once() -> None:
    (first,) = asked(written("1"))
    saved = {**first, "saved": {"d1": "v1"}}
    (theirs,) = asked_on(written("2", author="U2"), saved)
    for one in (theirs, {**theirs, "discarded": True}):
        assert asked_on(written("3", author="U3"), one, saved) == []
    assert asked_on(written("3", author="U2"), theirs, saved)[0]["replies"] == ["2", "3"]
    assert asked_on(written("3"), {**theirs, "discarded": True}, saved)[0]["earlier"] == ["1"]  # its author goes on
    anew = {**saved, "saved": {"d1": "v2"}}
    assert asked_on(written("3", author="U3"), {**theirs, "discarded": True}, anew)[0]["answers"] == {"d1": "v2"}


def test_what_a_later_answer_has_replaced_holds_no_reply_any_more() -> None:
    (first,) = asked(written("1"))
    saved = {**first, "saved": {"d1": "v1"}}
    for author in ("U1", "U2"):
        (theirs,) = asked_on(written("2", author=author), saved)
        replaced = card_replies.anew(theirs)
        done = card_replies.saved(theirs, replaced, AnswerTaken(documents={"d1": "v2"}))
        found = [done, saved]
        assert (card_replies.holding(found, "1"), card_replies.holding(found, "2")) == (None, 0)
        assert card_replies.holding([theirs, saved], "1") == 1  # while it is only asked about
        assert asked_on(written("3", author=author), *found)[0]["earlier"] == ["2"]
        assert card_replies.belongs(found, "1") and not card_replies.belongs(found, "3")
        again = card_replies.changed(done, "2", gone=True) or {}
        assert card_replies.holding([again, saved], "1") is None
        assert not card_replies.belongs([{**theirs, "discarded": True}], "2")


def test_what_is_said_anew_leaves_out_what_was_said_before() -> None:
    (both,) = asked(written("1"), written("2"))
    last = card_replies.anew(both)
    assert card_replies.replies(last) == ([], ["2"])
    saved = card_replies.saved(both, last, AnswerTaken(documents={"d": "v"}))
    assert (saved["replies"], saved["earlier"], saved["outdated"], saved["saved"]) == (["2"], [], ["1"], {"d": "v"})
    assert card_replies.asked(DONE, written("1"), [saved]) is None  # its event came late
    adds = card_replies.asked(DONE, written("3"), [saved])
    assert adds is not None and adds["earlier"] == ["2"]
    instead = card_replies.anew(adds)
    assert (instead["replies"], instead["earlier"], instead["outdated"]) == (["3"], [], ["2"])
    meanwhile = {**both, "replies": ["1", "2", "3"]}
    more = card_replies.saved(meanwhile, last, AnswerTaken(documents={"d": "v"}))
    assert (more["replies"], more["earlier"], more["answers"]) == (["3"], ["2"], {"d": "v"})
