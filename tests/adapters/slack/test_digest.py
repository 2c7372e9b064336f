"""The digest in a channel: posted once, answered, confirmed or dismissed by members, and the askers are told."""

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import select

from adapters.runner import announcing, digest_target, posting
from adapters.shared.expert_answers import NOT_HERE
from adapters.slack.rendering.block_kit import card_blocks
from adapters.slack.transport.api import SlackApi
from adapters.slack.transport.directory import MEMBERS_SECONDS
from bot.errors import SettingsError, StoreError
from bot.records import Period
from bot.store.audit import Audit
from bot.store.digests import Digests
from bot.store.engine import rows
from bot.store.schema import notices
from bot.types import Actor, Audience, Card, CardRow, Incoming, Link, Place, Question
from bot.unanswered.digest_card import offers
from bot.unanswered.digest_schedule import DigestClock
from retrieval.i18n import Text
from tests.adapters.acting import misses, until
from tests.adapters.slack.service import Service, taught, whole
from tests.bot.broken import without
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_gate import Hold, error, held, ratelimited
from tests.fakes.slack_world import Message, View

ANSWER, DISMISS, SAVE, DISCARD = "kotae_answer", "kotae_dismiss", "kotae_save", "kotae_discard"
ABOUT = "digest:20261123T000000"
OF_OUR_PAGES = "/app/?room=general&thread=1&message=1#m1"
PIER = "They moor at pier seven."


async def asks(here: Service, text: str, channel: str = "C1", user: str = "U1") -> tuple[str, Question]:
    """Somebody has asked what nobody can answer; the thread and the open question."""
    ts = await here.slack.says(channel, user, text)
    audience = Audience("private" if channel.startswith("G") else "public")
    link = f"{here.slack.url}/archives/{channel}/p{ts.replace('.', '')}"
    asked = Incoming(Place("slack", "T0TEAM", channel), ts, ts, user, text, audience, link=link)
    assert [event async for event in here.bot.turns.reply(asked)]
    open_ones = (await here.bot.experts.open(asked.place, audience)).questions
    return ts, next(one for one in open_ones if one.link == link)


def row(number: int, *questions: Question) -> CardRow:
    links = tuple(Link(f"thread {n}", one.link or "") for n, one in enumerate(questions, 1))
    ids = tuple(one.id for one in questions)
    return CardRow(f"{number}. {questions[0].question}", ("asked once",), links, offers(ids, ids[0], "en"))


def card(*groups: tuple[Question, ...]) -> Card:
    rows = tuple(row(number, *group) for number, group in enumerate(groups, 1))
    return Card("Unanswered questions", ("2 asked",), rows, ("and 1 asked in private places",))


def cards(slack: FakeSlack, channel: str = "C1") -> list[Message]:
    """Without the head."""
    return [message for message in slack.posted(channel) if not message.shown.startswith("Unanswered")]


async def opened(slack: FakeSlack, user: str) -> View:
    def look() -> View | None:
        try:
            return slack.modal(user)
        except LookupError:
            return None

    view = await slack.wait_for(look)
    assert view is not None
    return view


def told(slack: FakeSlack, thread: str, words: str) -> Callable[[], list[Message]]:
    return lambda: [reply for reply in slack.replies(thread) if words in reply.shown]


# -- from the question to the answer -----------------------------------------------------------------------------------


async def test_a_weeks_digest_is_answered_and_the_next_question_is_answered_from_it(tmp_path: Path) -> None:
    asked_ja, secret = "社員食堂のカレーの辛さは選べますか？", "秘密プロジェクト「くじら」の開始日はいつですか？"
    async with FakeSlack(limits=False) as slack:
        slack.world.users["U2"].locale = "ja-JP"
        slack.world.add_channel("G1", "secret", kind="private", members=("U1", slack.bot_user))
        slack.world.add_channel("C2", "digest", members=("U2", slack.bot_user))
        async with whole(slack, tmp_path, KOTAE_LANGUAGE="ja") as (app, adapter):
            threads = [
                await slack.says(channel, "U1", f"@kotae {text}")
                for channel, text in (("C1", asked_ja), ("G1", secret))
            ]
            for thread in threads:
                await slack.wait_for(told(slack, thread, "見つかりません"), timeout=30)
            digests, announce = Digests(app.data.engine), announcing(adapter, "C2", app.digest_card)
            await digests.begin(datetime.now(UTC) - timedelta(days=9))
            clock = DigestClock(
                digests, app.schedule, announce, owner="me", clock=lambda: datetime.now(UTC) + timedelta(days=7)
            )
            assert await clock.look() and not await clock.look()
            head, shown = slack.posted("C2")
            assert head.shown.startswith("未回答の質問") and "ほかに非公開の場所で 1 件" in head.shown
            assert asked_ja in shown.shown and "くじら" not in head.shown + shown.shown
            assert shown.actions == [ANSWER, DISMISS, "kotae_link:1"] and threads[0].replace(".", "") in shown.urls[0]

            await slack.presses("U2", shown, ANSWER)
            view = await opened(slack, "U2")
            assert view.body["title"]["text"] == "回答する" and "チームの全員" in str(view.body["blocks"])
            await slack.submits("U2", {"answer": "はい、甘口・中辛・辛口から選べます。"})
            (notice,) = await slack.wait_for(told(slack, threads[0], "甘口"))
            assert notice.mentions == ["U1"] and "回答が付きました（ben さんより）" in notice.shown
            await slack.wait_for(lambda: "✅ ben さんが回答しました" in shown.shown)
            assert shown.actions == ["kotae_link:1"]

            again = await slack.says("C2", "U2", f"@kotae {asked_ja}")
            (answer,) = await slack.wait_for(told(slack, again, "甘口・中辛・辛口"), timeout=30)
            assert (
                "（answers、" in answer.shown
                and not (await app.bot.experts.open(Place("slack", "T0TEAM", "C2"), Audience("public"))).shown
            )


async def test_an_editor_has_the_digest_posted_now_in_its_channel(tmp_path: Path) -> None:
    async with FakeSlack(limits=False) as slack:
        slack.world.add_channel("C2", "digest", members=("U2", slack.bot_user))
        slack.world.add_channel("C3", "elsewhere", members=("U2",))
        async with whole(slack, tmp_path, KOTAE_EDITORS="slack:U2") as (app, adapter):
            asked = await slack.says("C1", "U1", "@kotae Which curry does the canteen serve?")
            await slack.wait_for(lambda: slack.replies(asked), timeout=30)
            await slack.wait_for_idle()
            app.bot.commands.post_digest = posting([adapter], "C3", app.digest_card, app.clock)
            await slack.command("/kotae", "digest post", "U2", "C1")
            await slack.wait_for(lambda: [one for one in slack.whispers("U2") if "could not be posted" in one.shown])
            app.bot.commands.post_digest = posting([adapter], "#digest", app.digest_card, app.clock)
            await slack.command("/kotae", "digest post", "U2", "C1")
            await slack.wait_for(lambda: [one for one in slack.whispers("U2") if "is posted" in one.shown])
            head, shown = slack.posted("C2")
            assert "Which curry" in shown.shown and ANSWER in shown.actions and not slack.posted("C3")
            await slack.command("/kotae", "digest post", "U2", "C1")
            await slack.wait_for(lambda: [one for one in slack.whispers("U2") if "less than a minute" in one.shown])
            assert slack.posted("C2") == [head, shown] and not slack.journal.errors()


async def test_the_digest_goes_to_a_channel_by_its_name(tmp_path: Path) -> None:
    async with FakeSlack(limits=False) as slack, taught(slack, tmp_path, misses) as here:
        slack.world.add_channel("G1", "leads", kind="private", members=("U1", "U2", slack.bot_user))
        slack.fail("conversations.list", ratelimited(0), calls=[1])
        (_, question) = await asks(here, "Where do ships moor?")
        period = Period(datetime.now(UTC) - timedelta(days=7), datetime.now(UTC))

        async def made(period: Period, place: Place, audience: Audience) -> Card:
            assert (place.channel, audience.visibility) == ("G1", "private")
            return card((question,))

        adapter, channel = digest_target([here.adapter], "#leads")
        await announcing(adapter, channel, made)(period)
        assert len(cards(slack, "G1")) == 1 and not cards(slack)
        for wrong in ("#lead", "web:leads", "discord:leads"):
            with pytest.raises((LookupError, SettingsError)):
                adapter, channel = digest_target([here.adapter], wrong)
                await adapter.find(channel)


async def test_a_digest_waits_while_nobody_can_tell_who_would_read_it(tmp_path: Path) -> None:
    async with FakeSlack(limits=False) as slack, taught(slack, tmp_path, misses) as here:
        slack.world.add_channel("C2", "digest", members=("U2", slack.bot_user))
        (_, question) = await asks(here, "Where do ships moor?")
        period = Period(datetime.now(UTC) - timedelta(days=7), datetime.now(UTC))

        async def made(period: Period, place: Place, audience: Audience) -> Card:
            return card((question,)) if audience.visibility == "public" else card()

        announce = announcing(*digest_target([here.adapter], "#digest"), made)
        slack.fail("conversations.members", error("access_denied"))
        with pytest.raises(ConnectionError, match="who reads #"):
            await announce(period)
        assert not slack.posted("C2")
        slack.heal("conversations.members")
        await announce(period)
        assert [ANSWER in one.actions for one in cards(slack, "C2")] == [True]


async def test_a_digest_that_was_cut_short_goes_on_where_it_was(tmp_path: Path) -> None:
    async with FakeSlack(limits=False) as slack, taught(slack, tmp_path, misses) as here:
        first, second, third = [(await asks(here, f"Question {number}?"))[1] for number in range(3)]
        slack.fail("chat.postMessage", error("restricted_action"), calls=[3])  # the head and one card arrive
        with pytest.raises(LookupError):
            await here.adapter.announce("C1", card((first,), (second,), (third,)), about=ABOUT)
        posts = await here.bot.outbox.of(ABOUT)
        assert [bool(post.message) for post in posts] == [True, False, True]
        await here.bot.outbox.confirm(
            replace(posts[0], message=None)
        )  # it arrived, and the process ended before it knew
        for _ in range(2):  # without the first, which was answered meanwhile, and in another order
            await here.adapter.announce("C1", card((third,), (second,)), about=ABOUT)
        heads = [message for message in slack.posted("C1") if message.shown.startswith("Unanswered")]
        texts = [message.shown.splitlines()[0].partition(". ")[2] for message in cards(slack)]
        assert len(heads) == 1 and sorted(texts) == [f"Question {number}?" for number in range(3)]


# -- who answers what ------------------------------------------------------------------------------------------------


async def test_an_answer_closes_its_cards_and_only_the_askers_are_called(tmp_path: Path) -> None:
    async with FakeSlack(limits=False) as slack, taught(slack, tmp_path, misses) as here:
        slack.world.users["U2"].name = "<!channel> https://evil.example"
        slack.world.add_channel("C2", "more", members=("U2", slack.bot_user))
        hostile = "Where do <!here> ships moor, <@U2>? https://evil.example/x"
        (thread, one), (_, two) = await asks(here, hostile), await asks(here, hostile, user="U2")
        await here.adapter.announce("C1", card((one, two)), about=ABOUT)
        await here.adapter.announce("C2", card((one,), (two,)), about="digest:before")
        (shown,) = cards(slack)
        assert not shown.mentions and all(url.startswith(slack.url) for url in shown.urls) and len(shown.urls) == 2
        assert shown.actions == [ANSWER, DISMISS, "kotae_link:1", "kotae_link:2"]

        await slack.presses("U1", shown, ANSWER)
        await slack.presses("U2", shown, ANSWER)
        await opened(slack, "U1")
        empty = (await slack.submits("U1", {"answer": "…"})).payload
        assert empty is not None and empty["errors"] == {"answer": "The answer is empty."}
        words = f"{PIER} <!channel> https://evil.example/y " + "long " * 590
        assert (await slack.submits("U1", {"answer": words, "question": "Where do ships moor?"})).payload is None
        await opened(slack, "U2")
        second = (await slack.submits("U2", {"answer": "At pier eight."})).payload
        assert second is not None and "answered or dismissed already" in second["errors"]["answer"]

        (notice,) = await slack.wait_for(told(slack, thread, PIER))
        assert notice.mentions == ["U1"] and not notice.urls and "from ann" in notice.shown
        assert notice.shown.count("long") == 590
        await slack.wait_for(
            lambda: all("Answered by ann" in each.shown for each in (*cards(slack), *cards(slack, "C2")))
        )
        for each in (*cards(slack), *cards(slack, "C2")):
            assert ANSWER not in each.actions and "kotae_link:1" in each.actions and not each.mentions
        (document,) = await here.data.documents.listed()
        assert (document.collection, document.scope, document.author) == ("answers", "team", "U1")
        await slack.wait_for_idle()
        assert len([m for m in slack.whispers("U1") if "Threads that are told: 2" in m.shown]) == 1
        assert not slack.journal.errors()


async def test_a_card_goes_on_with_what_an_answer_leaves_open(tmp_path: Path) -> None:
    async with FakeSlack(limits=False) as slack, taught(slack, tmp_path, misses, KOTAE_LANGUAGE="ja") as here:
        texts = (
            "有給は入社1年目で何日もらえますか？",
            "入社一年目の有給って何日もらえる？",
            "パートの有給は何日ですか？",
        )
        asked = [await asks(here, text) for text in texts]
        await here.adapter.announce("C1", card(tuple(one for _, one in asked)), about=ABOUT)
        (shown,) = cards(slack)
        await slack.presses("U2", shown, ANSWER)
        view = await opened(slack, "U2")
        boxes = view.body["blocks"][2]["element"]
        assert [option["text"]["text"] for option in boxes["options"]] == [texts[1], texts[2]]
        assert [option["text"]["text"] for option in boxes["initial_options"]] == [texts[1]]
        reply = await slack.says("C1", "U2", "11日です。", thread=shown.ts)
        (confirm,) = await slack.wait_for(lambda: [one for one in slack.replies(shown.ts) if SAVE in one.actions])
        assert (await slack.submits("U2", {"answer": "10日です。"})).payload is None
        await slack.wait_for(lambda: "ben さんが対応しました" in shown.shown)
        assert shown.shown.splitlines()[:2] == [f"1. {texts[2]}", "未回答の質問が 1 件残っています。"]
        assert shown.actions == [ANSWER, DISMISS, "kotae_link:1"] and texts[0] not in shown.shown
        await slack.wait_for(lambda: [one for one in slack.whispers("U2") if "stay open: 1" in one.shown])
        for thread, _ in asked[:2]:
            await slack.wait_for(told(slack, thread, "10日です。"))
        await slack.presses("U2", confirm, SAVE)  # it was asked about the first question, which is closed
        await slack.wait_for(lambda: [one for one in slack.whispers("U2") if "answered or dismissed" in one.shown])
        assert reply and not slack.replies(asked[2][0])

        await slack.presses("U2", shown, ANSWER)
        view = await opened(slack, "U2")
        assert view.body["blocks"][0]["element"]["initial_value"] == texts[2]
        await slack.submits("U2", {"answer": "7日です。"})
        await slack.wait_for(told(slack, asked[2][0], "7日です。"))
        await slack.wait_for(lambda: "✅ ben さんが回答しました" in shown.shown and ANSWER not in shown.actions)
        assert not slack.journal.errors()


async def test_what_an_answer_closes_is_chosen_by_hand(tmp_path: Path) -> None:
    async with FakeSlack(limits=False) as slack, taught(slack, tmp_path, misses) as here:
        texts = ("Where do ships moor?", "Where do ships moor, please?", "Who pays the pilot?", "When is low tide?")
        asked = [await asks(here, text) for text in texts]
        first, same, other, left = (one.id for _, one in asked)
        await here.adapter.announce("C1", card(tuple(one for _, one in asked)), about=ABOUT)
        (shown,) = cards(slack)
        await slack.presses("U2", shown, ANSWER)
        view = await opened(slack, "U2")
        boxes = view.body["blocks"][2]["element"]
        assert [option["value"] for option in boxes["initial_options"]] == [str(same)]
        assert (await slack.submits("U2", {"answer": PIER, "closes": [str(other)]})).payload is None
        for thread in (asked[0][0], asked[2][0]):
            await slack.wait_for(told(slack, thread, PIER))
        open_ones = await here.bot.experts.open(Place("slack", "T0TEAM", "C1"), Audience("public"))
        assert {one.id for one in open_ones.questions} == {same, left}
        assert not slack.replies(asked[1][0]) and not slack.journal.errors() and first


async def test_a_question_is_answered_from_wherever_it_is_listed(tmp_path: Path) -> None:
    """From what a command lists, and from the App Home; in a private channel also what was asked there."""
    async with FakeSlack(limits=False) as slack, taught(slack, tmp_path, misses) as here:
        slack.world.add_user("U7", "gast", kind="guest")
        slack.world.add_channel("G1", "secret", kind="private", members=("U1", "U2", slack.bot_user))
        thread, question = await asks(here, "Where do ships moor?")
        same, _ = await asks(here, "Where do ships moor, please?")
        hidden, private = await asks(here, "When does the whale start?", "G1")
        await here.adapter.announce("C1", card((question,)), about=ABOUT)
        (shown,) = cards(slack)

        await slack.command("/kotae", "unanswered", "U2", "C1")
        (listed,) = await slack.wait_for(lambda: slack.whispers("U2"))
        assert listed.actions == [ANSWER, ANSWER]
        await slack.presses("U2", listed, ANSWER)  # the newest
        view = await opened(slack, "U2")
        assert view.body["blocks"][0]["element"]["initial_value"] == "Where do ships moor, please?"
        boxes = view.body["blocks"][2]["element"]
        assert [option["text"]["text"] for option in boxes["initial_options"]] == ["Where do ships moor?"]
        assert (await slack.submits("U2", {"answer": PIER})).payload is None
        for each in (thread, same):
            await slack.wait_for(told(slack, each, PIER))
        await slack.wait_for(lambda: "Answered by ben" in shown.shown)
        await slack.presses("U2", listed, ANSWER)
        await slack.wait_for(lambda: [v for v in slack.world.views.values() if "dismissed meanwhile" in str(v.body)])

        await asks(here, "When is low tide?")
        await slack.opens_home("U2")
        page = await slack.wait_for(lambda: slack.world.homes.get((slack.app.id, "U2")))
        assert page and "whale" not in str(page.body)
        await slack.presses("U2", page, ANSWER)
        await slack.wait_for(lambda: "low tide" in str(slack.modal("U2").body))
        assert (await slack.submits("U2", {"answer": "At six."})).payload is None
        await slack.wait_for(lambda: ANSWER not in str(slack.home("U2").body))
        await slack.wait_for(lambda: [one for one in slack.whispers("U2") if "Threads that are told: 1" in one.shown])

        slack.world.add_channel("C9", "fair", members=("U1", "U7", slack.bot_user))
        _, pilot = await asks(here, "Who pays the pilot?")
        for channel, user, value in (
            *(("C1", "U1", str(private.id)), ("G1", "U7", str(private.id)), ("C1", "U1", "x")),
            ("C9", "U1", str(pilot.id)),  # where guests read along
        ):
            gesture = {"user": {"id": user}, "channel": {"id": channel}, "message": {"ts": "1.0"}}
            button = {"type": "button", "action_id": ANSWER, "block_id": "b", "value": f"listed:{value}"}
            container = {"type": "message", "message_ts": "1.0", "channel_id": channel}
            pressed = {"type": "block_actions", "actions": [button | {"action_ts": "1.0"}], "container": container}
            await slack.gesture(pressed | gesture)
        await slack.wait_for_idle()
        forms = str([view.body for view in slack.world.views.values()])
        assert "whale" not in forms and "pilot" not in forms and not slack.replies(hidden)
        assert not slack.journal.errors()


async def test_a_reply_under_a_card_is_the_answer_once_somebody_confirms_it(tmp_path: Path) -> None:
    async with FakeSlack(limits=False, copies=2) as slack, taught(slack, tmp_path, misses) as here:
        slack.world.add_user("U7", "gast", kind="guest")
        slack.world.add_channel("C2", "harbour", members=("U1", slack.bot_user))
        thread, question = await asks(here, "Where do ships moor?", "C2")
        await here.adapter.announce("C1", card((question,)), about=ABOUT)
        (shown,) = cards(slack)

        def confirms() -> list[Message]:
            return [reply for reply in slack.replies(shown.ts) if SAVE in reply.actions]

        first = await slack.says("C1", "U2", "Nowhere, <!channel>.", thread=shown.ts)
        (confirm,) = await slack.wait_for(confirms)
        assert "“Where do ships moor?”" in confirm.shown and not confirm.mentions
        await slack.presses("U2", confirm, DISCARD)
        await slack.wait_for(lambda: not confirms())
        await slack.deletes(first)

        gone = await slack.says("C1", "U2", "At pier nine.", thread=shown.ts)
        (confirm,) = await slack.wait_for(confirms)
        await slack.deletes(gone)
        await slack.presses("U1", confirm, SAVE)
        await slack.wait_for(lambda: [m for m in slack.whispers("U1") if "no longer there" in m.shown])
        slack.world.channels["C1"].members.add("U7")
        await slack.says("C1", "U7", "At pier ten.", thread=shown.ts)
        await slack.wait_for_idle()
        assert not confirms()  # a guest teaches nothing
        slack.world.channels["C1"].members.remove("U7")

        await slack.says("C1", "U2", f"{PIER} Ask <@U1>. {'x' * 3_500}", thread=shown.ts)
        (confirm,) = await slack.wait_for(confirms)
        await slack.presses("U1", confirm, SAVE, copies=2)
        (notice,) = await slack.wait_for(told(slack, thread, PIER))
        assert "Ask @ann." in notice.shown and notice.mentions == ["U1"] and notice.shown.count("x") == 3_500
        await slack.wait_for(lambda: "Saved as the answer" in confirm.shown and not confirm.actions)
        await slack.wait_for(lambda: "Answered by ben" in shown.shown)  # who wrote it, whoever saved it
        assert "from ben" in notice.shown
        (document,) = await here.data.documents.listed()
        (trace,) = await Audit(here.data.engine).listed()
        assert document.author == "U2" and trace.actor == "slack:U1" and "slack:U2" in trace.result
        await slack.says("C1", "U2", "Thanks!", thread=shown.ts)
        await slack.wait_for_idle()
        assert not confirms() and [m.shown for m in slack.whispers("U1")] == ["That reply is no longer there."]


async def test_a_reply_that_mentions_the_bot_is_an_answer_as_well(tmp_path: Path) -> None:
    async with FakeSlack(limits=False, copies=2) as slack, taught(slack, tmp_path, misses) as here:
        slack.world.add_user("U7", "gast", kind="guest")
        thread, question = await asks(here, "Where do ships moor?", "C1")
        await here.adapter.announce("C1", card((question,)), about=ABOUT)
        (shown,) = cards(slack)
        asked = len(here.player.asks)

        def confirms() -> list[Message]:
            return [reply for reply in slack.replies(shown.ts) if SAVE in reply.actions]

        reply = await slack.says("C1", "U2", "@kotae At pier six.", thread=shown.ts)
        (confirm,) = await slack.wait_for(confirms)
        await slack.edits(reply, f"@kotae {PIER} Right, @kotae?")
        await slack.wait_for_idle()
        assert confirms() == [confirm] and len(here.player.asks) == asked

        slack.world.channels["C1"].members.add("U7")  # a guest teaches nothing, and is answered
        asks_too = await slack.says("C1", "U7", "@kotae Where is the toilet?", thread=shown.ts)
        await slack.wait_for(lambda: here.player.messages[-1].message == asks_too)
        slack.world.channels["C1"].members.remove("U7")

        await slack.presses("U1", confirm, SAVE)
        (notice,) = await slack.wait_for(told(slack, thread, PIER))
        assert "kotae" not in notice.shown and "Right, ?" in notice.shown
        await slack.wait_for(lambda: "Answered by ben" in shown.shown)
        later = await slack.says("C1", "U2", "@kotae And the ferries?", thread=shown.ts)
        await slack.wait_for(lambda: here.player.messages[-1].message == later)  # nothing is left to be answered
        await slack.wait_for_idle()
        assert not confirms() and [one.text for one in here.player.messages[asked:]] == [
            "Where is the toilet?",
            "And the ferries?",
        ]


async def test_that_nobody_knows_an_answer_is_heard_once_and_in_time(tmp_path: Path) -> None:
    async with FakeSlack(limits=False, copies=2) as slack, taught(slack, tmp_path, misses) as here:
        _, question = await asks(here, "Where do ships moor?", "C1")
        await here.adapter.announce("C1", card((question,)), about=ABOUT)
        (shown,) = cards(slack)
        slack.world.add_user("U7", "kim")
        slack.world.channels["C1"].members.add("U7")
        hold = Hold()
        slack.fail("users.info", held(hold), where=lambda sent: sent["user"] == "U7")
        await slack.says("C1", "U7", "@kotae I don't know, sorry", thread=shown.ts)
        await asyncio.wait_for(hold.reached.wait(), 30)
        await slack.wait_for(lambda: all(each.acked for each in slack.journal.deliveries))
        hold.released.set()
        await slack.wait_for(lambda: slack.whispers("U7"))
        await slack.wait_for_idle()
        assert len(slack.whispers("U7")) == 1 and slack.journal.acked_within(2.5)


async def test_dismissing_tells_nobody_and_is_not_done_twice(tmp_path: Path) -> None:
    async with FakeSlack(limits=False) as slack, taught(slack, tmp_path, misses) as here:
        thread, question = await asks(here, "Where do ships moor?")
        await here.adapter.announce("C1", card((question,)), about=ABOUT)
        (shown,) = cards(slack)
        blocks = list(shown.blocks)
        await slack.presses("U2", shown, DISMISS, copies=2)
        await slack.wait_for(lambda: "➖ Dismissed by ben" in shown.shown)
        shown.blocks = blocks  # somebody whose screen is old
        await slack.presses("U1", shown, DISMISS)
        await slack.wait_for(lambda: slack.whispers("U1"))
        await slack.presses("U1", shown, ANSWER)
        view = await opened(slack, "U1")
        assert "meanwhile" in str(view.body) and not view.body.get("submit")
        await slack.wait_for_idle()
        assert not slack.whispers("U2") and not slack.replies(thread)
        assert not await here.bot.experts.notices("slack") and not await here.data.documents.listed()


async def test_a_card_whose_questions_are_closed_elsewhere_offers_them_no_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.unanswered.expert_answers.SETTLED", timedelta(0))
    async with FakeSlack(limits=False) as slack, taught(slack, tmp_path, misses, look_every=0.1) as here:
        (_, one), (_, two) = [await asks(here, text) for text in ("Where do ships moor?", "Who has the key?")]
        await here.adapter.announce("C1", card((one,), (two,)), about=ABOUT)
        first, second = cards(slack)
        expert, there = Actor("discord", "9", "7"), Place("discord", "9", "8")
        assert (await here.bot.experts.dismiss(expert, (one.id,), there, Audience("public"))).refusal is None
        await slack.wait_for(lambda: "✅ Answered or dismissed elsewhere" in first.shown)
        assert first.actions == ["kotae_link:1"] and ANSWER in second.actions
        await slack.wait_for_idle()
        assert len(slack.journal.calls("chat.update")) == 1


async def test_a_card_is_not_closed_because_nobody_can_tell_who_reads_it(tmp_path: Path) -> None:
    async with FakeSlack(limits=False) as slack, taught(slack, tmp_path, misses, look_every=0.1) as here:
        (_, kept), (thread, gone) = [await asks(here, "Where do ships moor?", user=user) for user in ("U1", "U2")]
        await here.adapter.announce("C1", card((kept, gone)), about=ABOUT)
        (shown,) = cards(slack)
        slack.fail("conversations.members", error("access_denied"))
        asked = Incoming(Place("slack", "T0TEAM", "C1"), thread, thread, "U2", "", Audience("public"))
        assert await here.bot.turns.delete(asked) is not None
        before = len(slack.journal.calls("conversations.members"))
        await slack.wait_for(lambda: len(slack.journal.calls("conversations.members")) > before + 1)
        assert ANSWER in shown.actions
        slack.heal("conversations.members")
        await slack.wait_for(lambda: "still open" in shown.shown)
        assert ANSWER in shown.actions


async def test_what_was_asked_in_a_private_place_stays_there(tmp_path: Path) -> None:
    async with FakeSlack(limits=False) as slack, taught(slack, tmp_path, misses) as here:
        slack.world.add_channel("G1", "secret", kind="private", members=("U1", "U2", slack.bot_user))
        (thread, private), (_, public) = (
            await asks(here, "When does the whale start?", "G1"),
            await asks(here, "And tea?"),
        )
        await here.adapter.announce("G1", card((private,), (public, private)), about=ABOUT)
        one, both = cards(slack, "G1")
        await slack.presses("U2", both, ANSWER)
        view = await opened(slack, "U2")
        assert (
            "Everyone in the team" in str(view.body)
            and view.body["blocks"][0]["element"]["initial_value"] == "And tea?"
        )
        assert "When does the whale start?" in str(view.body["blocks"][2])  # here it may be read, and chosen
        await slack.closes("U2")
        await slack.presses("U2", one, ANSWER)
        view = await opened(slack, "U2")
        assert "Only members of the private places" in str(view.body) and "whale" in str(view.body)
        await slack.submits("U2", {"answer": "On April 1."})
        await slack.wait_for(told(slack, thread, "On April 1."))
        assert [row.scope for row in await here.data.documents.listed()] == ["place:slack:T0TEAM:G1"]
        # A card of it in a place that others read is worth nothing there.
        thread, other = await asks(here, "Who is the whale?", "G1")
        await here.adapter.announce("C1", card((other,)), about="digest:leak")
        (leaked,) = cards(slack)
        for action in (ANSWER, DISMISS):
            await slack.presses("U2", leaked, action)
        await slack.wait_for(lambda: [m for m in slack.whispers("U2") if m.channel == "C1"])
        (still,) = await here.bot.experts.questions([other.id], Place("slack", "T0TEAM", "G1"), Audience("private"))
        assert still.resolved_at is None


async def test_who_has_left_a_private_place_answers_nothing_there_from_a_form_that_is_still_open(
    tmp_path: Path,
) -> None:
    ahead = [0.0]
    api = partial(SlackApi, clock=lambda: time.monotonic() + ahead[0])
    async with FakeSlack(limits=False) as slack, taught(slack, tmp_path, misses, api=api) as here:
        slack.world.users["U2"].locale = "ja-JP"
        private = slack.world.add_channel("G1", "secret", kind="private", members=("U1", "U2", slack.bot_user))
        _, question = await asks(here, "When does the whale start?", "G1")
        await here.adapter.announce("G1", card((question,)), about=ABOUT)
        (shown,) = cards(slack, "G1")
        await slack.presses("U2", shown, ANSWER)
        await opened(slack, "U2")
        private.members.remove("U2")
        ahead[0] += MEMBERS_SECONDS
        refused = (await slack.submits("U2", {"answer": "Never."})).payload
        assert refused is not None and "参加していない" in refused["errors"]["answer"]
        form = slack.modal("U2")
        form.closed = True
        await slack.presses("U2", shown, ANSWER)  # of what is still on their screen
        notice = await opened(slack, "U2")
        assert "参加していない" in str(notice.body) and "whale" not in str(notice.body)
        notice.closed, form.closed = True, False
        (still,) = await here.bot.experts.questions([question.id], Place("slack", "T0TEAM", "G1"), Audience("private"))
        assert still.resolved_at is None and not await here.data.documents.listed()
        private.members.add("U2")
        assert (await slack.submits("U2", {"answer": "On April 1."})).payload is None
        await slack.wait_for(lambda: "Answered by ben" in shown.shown)


async def until_written(here: Service, about: str) -> None:
    async def written() -> bool:
        return any(post.message for post in await here.bot.outbox.of(about))

    await until(written)


async def test_guests_and_forged_buttons_close_nothing(tmp_path: Path) -> None:
    async with FakeSlack(limits=False) as slack, taught(slack, tmp_path, misses) as here:
        slack.world.add_user("U7", "gast", kind="guest")
        slack.world.add_channel("C2", "elsewhere", members=("U1", "U2", slack.bot_user))
        _, question = await asks(here, "Where do ships moor?")
        await here.adapter.announce("C1", card((question,)), about=ABOUT)
        (shown,) = cards(slack)

        async def press(action: str, value: str, message: str, channel: str, user: str) -> None:
            button = {"type": "button", "action_id": action, "block_id": "b", "value": value, "action_ts": "1.0"}
            container = {"type": "message", "message_ts": message, "channel_id": channel}
            told = {"user": {"id": user}, "channel": {"id": channel}, "container": container, "actions": [button]}
            await slack.gesture({"type": "block_actions", "message": {"ts": message}} | told)

        for action in (ANSWER, DISMISS):
            await press(action, f"{ABOUT}:0", shown.ts, "C2", "U1")  # a card of another channel
            await press(action, "nonsense", shown.ts, "C1", "U1")
        reply = await slack.says("C1", "U2", PIER, thread=shown.ts)
        (confirm,) = await slack.wait_for(lambda: slack.replies(shown.ts))
        await until_written(here, f"confirm:C1:{reply}")  # before that, any message of the channel may be it
        for action in (SAVE, DISCARD):
            await press(action, f"{ABOUT}:0", shown.ts, "C1", "U1")  # on what is no confirmation
            await press(action, f"confirm:C1:{reply}", shown.ts, "C1", "U1")
            await press(action, f"confirm:C1:{reply}", confirm.ts, "C2", "U1")
        await slack.wait_for_idle()
        assert {m.shown.partition(" been")[0] for m in slack.whispers("U1")} == {"These questions have"}  # never silent
        slack.world.channels["C1"].members.add("U7")
        for action in (ANSWER, DISMISS):
            await press(action, f"{ABOUT}:0", shown.ts, "C1", "U7")
        await press(DISCARD, f"confirm:C1:{reply}", confirm.ts, "C1", "U7")
        await slack.wait_for(lambda: len([m for m in slack.whispers("U7") if "Only members" in m.shown]) == 2)
        await slack.wait_for_idle()
        views = [str(view.body) for view in slack.world.views.values()]
        assert sum("Only members of the team" in view for view in views) == 1 and not any("submit" in v for v in views)
        (still,) = await here.bot.experts.questions([question.id], Place("slack", "T0TEAM", "C1"), Audience("public"))
        assert still.resolved_at is None and not confirm.deleted and ANSWER in shown.actions


async def test_a_button_that_cannot_be_obeyed_says_so(tmp_path: Path) -> None:
    async with FakeSlack(limits=False) as slack, taught(slack, tmp_path, misses) as here:
        _, question = await asks(here, "Where do ships moor?")
        await here.adapter.announce("C1", card((question,)), about=ABOUT)
        (shown,) = cards(slack)
        await slack.says("C1", "U2", PIER, thread=shown.ts)
        (confirm,) = await slack.wait_for(lambda: [one for one in slack.replies(shown.ts) if SAVE in one.actions])
        async with without(here.data.engine, "questions"):
            await slack.presses("U2", shown, DISMISS)
            await slack.wait_for(lambda: [one for one in slack.whispers("U2") if not one.thread])
            await slack.presses("U2", confirm, SAVE)
            await slack.wait_for(lambda: [one for one in slack.whispers("U2") if one.thread == shown.ts])
        assert all("could not be stored" in one.shown for one in slack.whispers("U2")) and SAVE in confirm.actions


async def test_a_link_that_no_button_takes_is_left_out(tmp_path: Path) -> None:
    async with FakeSlack(limits=False) as slack, taught(slack, tmp_path, misses) as here:
        links = (
            Link("long", f"https://a.example/{'x' * 3_000}"),
            Link("thread", f"{slack.url}/archives/C1/p1"),
            Link("our pages only", OF_OUR_PAGES),
        )
        card = Card("Unanswered", (), (CardRow("1. Tea?", (), links),))
        await here.adapter.announce("C1", card, about=ABOUT)
        assert slack.posted("C1")[1].urls == [links[1].url] and not slack.journal.errors()
        said = json.dumps(card_blocks(Card("Unanswered", (), (CardRow("1. Tea?", (), links[1:]),))))
        assert links[1].url in said and "/app/" not in said


async def test_an_answer_that_cannot_be_stored_is_not_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adapters.slack.transport.acks.ACK_SECONDS", 0.2)
    async with FakeSlack(limits=False) as slack, taught(slack, tmp_path, misses) as here:
        _, question = await asks(here, "Where do ships moor?")
        await here.adapter.announce("C1", card((question,)), about=ABOUT)
        teach, go_on = here.bot.experts.answer, asyncio.Event()

        class Full:
            """The disk."""

            async def __call__(self, lesson: object) -> object:
                if go_on.is_set():
                    await asyncio.sleep(0.3)  # longer than the acknowledgement waits
                raise StoreError(Text(en="full", ja="満杯"))

        here.bot.experts.answer = Full()  # type: ignore[method-assign, assignment]
        (shown,) = cards(slack)
        await slack.presses("U2", shown, ANSWER)
        await opened(slack, "U2")
        failed = (await slack.submits("U2", {"answer": PIER})).payload
        assert failed is not None and "could not be stored" in failed["errors"]["answer"]
        go_on.set()
        slow = await slack.submits("U2", {"answer": f"{PIER} <!channel>"})
        assert slow.payload is None  # the modal is gone now
        (kept,) = await slack.wait_for(lambda: [m for m in slack.whispers("U2") if PIER in m.shown])
        assert "could not be stored" in kept.shown and "<!channel>" in kept.shown and not kept.mentions
        here.bot.experts.answer = teach  # type: ignore[method-assign]
        await slack.presses("U2", shown, ANSWER)
        await opened(slack, "U2")
        assert (await slack.submits("U2", {"answer": PIER})).payload is None
        await slack.wait_for(lambda: "Answered by ben" in shown.shown)


async def test_an_answer_is_told_where_its_readers_read_by_then_and_nowhere_else(tmp_path: Path) -> None:
    """Guests may have joined a channel since somebody asked there, and leave it again."""
    async with FakeSlack(limits=False) as slack, taught(slack, tmp_path, misses) as here:
        slack.world.add_user("U7", "gast", kind="guest")
        slack.world.add_channel("C2", "digest", members=("U1", "U2", slack.bot_user))
        slack.world.add_channel("C3", "ships", members=("U1", "U2", slack.bot_user))
        (thread, moor), (other, tea) = await asks(here, "Where do ships moor?"), await asks(here, "And tea?", "C3")
        await here.adapter.announce("C2", card((moor,), (tea,)), about=ABOUT)
        slack.world.channels["C1"].members.add("U7")
        for shown, said in zip(cards(slack, "C2"), (PIER, "At four."), strict=True):
            await slack.presses("U2", shown, ANSWER)
            await opened(slack, "U2")
            await slack.submits("U2", {"answer": said})
        assert await slack.wait_for(told(slack, other, "At four."))
        await slack.wait_for(lambda: not any(ANSWER in each.actions for each in cards(slack, "C2")))

        async def waiting() -> int:
            return len(await rows(here.data.engine, select(notices)))

        await until(waiting, lambda left: not left)
        assert not told(slack, thread, PIER)()
        assert told(slack, thread, NOT_HERE.en)() and not told(slack, thread, ", from ")()
