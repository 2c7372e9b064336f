"""The browser's channel with the real bot: questions in threads, changed and taken back, over crashes; files, votes,
commands and the digest's cards; and what is said in a private room stays there."""

import asyncio
from contextlib import aclosing
from datetime import timedelta
from pathlib import Path

import pytest

from adapters.runner import digest_target
from adapters.shared import expert_answers
from adapters.shared.ingestion import NotTakenError
from adapters.web.channel.adapter import web_adapter
from adapters.web.channel.digest import row_of
from adapters.web.channel.events import Typed, addressed, command, question
from adapters.web.channel.uploads import Uploads
from agent.events import Answered, Citation, Thought, ToolCalled
from bot.app import running
from bot.errors import SettingsError, StoreError
from bot.knowledge.held_files import HeldFolder
from bot.logs import Redactor
from bot.records import RoomMessage
from bot.store.erasure import Erasure
from bot.types import Actor, Audience, Card, CardRow, FileRef, IngestionRequest, Place, Preferences
from bot.unanswered.digest_card import offers
from retrieval.i18n import Text
from retrieval.types import TEAM, UnreadableError
from tests.adapters.acting import UNKNOWN, answers, until
from tests.adapters.acting import Held as HeldAct
from tests.adapters.web.spots import spot
from tests.adapters.web.stage import ADDRESS, AKI, BEN, GENERAL, LEADS, Stage, channel
from tests.bot.acting import says
from tests.bot.program import dies
from tests.bot.sample_turns import begun

ASK = "@kotae How long do refunds take?"
SECRET = "place:web:local:leads"


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("@kotae How long?", "How long?"),
        ("Hey @Kotae, how long?", "Hey how long?"),
        ("＠kotae出張の日当は？", "出張の日当は？"),
        ("教えて@ｋｏｔａｅさん、締切は？", "教えて締切は？"),
        ("@kotae", ""),
        ("kotae, how long?", None),
        ("mail me@kotae.example", None),
        ("@kotae.example is a domain", None),
        ("@kotaeru", None),
    ],
)
def test_a_mention_makes_a_question(text: str, asked: str | None) -> None:
    assert addressed(text) is (asked is not None)
    assert asked is None or question(text) == asked


def test_a_command_is_typed_by_its_name() -> None:
    assert command("/kotae search paid leave ") == Typed("kotae", "search", "paid leave")
    assert command("／kotae　設定") == Typed("kotae", "設定", "")
    assert command("/kotae") == Typed("kotae", "", "")
    assert command("/ingest Some\ntext") == Typed("ingest", "", "Some\ntext")
    assert command("@kotae /kotae help") == Typed("kotae", "help", "")
    assert command("＠kotae、／ingest 本文") == Typed("ingest", "", "本文")
    assert command("@kotae what does /kotae help list?") is None and command("@aki /kotae help") is None
    assert command("/kotaeru") is None and command("see /ingest") is None


# -- questions -------------------------------------------------------------------------------------------------------


async def test_a_mention_is_answered_in_its_thread_after_its_steps(tmp_path: Path) -> None:
    held = HeldAct("締切は毎月25日です。[1]")
    cited = Answered(
        "30 days. [1]", (Citation(1, "refunds.md", "docs", 0, "30 days."),), confidence=0.9, searched=("docs",)
    )
    steps = (Thought("Look it up."), ToolCalled("1", "search_rag_knowledge_base", {"query": "refunds"}))
    async with channel(tmp_path, says(*steps, cited), held, says(*steps, cited)) as here:
        with here.board.subscribe(BEN) as changes:
            answer = await here.ask(ASK, BEN, model="gemini:x", strategy="synthesis", collections=["docs"])
            seen = [(await asyncio.wait_for(anext(changes), 30)).message for _ in range(3)]
        root = await here.board.get(AKI, answer.root)
        shown = await here.thread(root)
        assert [each.kind for each in shown] == ["steps", "answer"] and seen == [root.id, *(one.id for one in shown)]
        assert shown[0].text.splitlines()[0] == "🧠 Thought: Look it up." and "🛠️ Tool call" in shown[0].text
        assert not shown[0].data["thinking"] and len(shown[0].data["lines"]) == 2
        assert shown[0].data["summary"].startswith("1 search")
        assert answer.text == "30 days. [1]" and answer.data["outcome"] == "answered" and answer.author == "kotae"
        (asked,) = here.player.messages
        assert (asked.model, asked.strategy, asked.collections) == ("gemini:x", "synthesis", ("docs",))
        assert asked.link == f"{ADDRESS}/app/?room=general&thread={root.id}&message={root.id}#m{root.id}"
        assert here.player.readers[0].scopes == {"everyone", TEAM, f"thread:web:local:general:{root.id}"}

        # Japanese, while it goes on; then the others' words and the conversation are the next question's context.
        asked_ja = await here.said("@kotae経費の締切は？", AKI)
        await asyncio.wait_for(held.begun.wait(), 30)
        (growing,) = await until(lambda: here.thread(asked_ja, "steps"), lambda found: found[0].data["lines"])
        assert growing.data["thinking"] and growing.text == "🧠 思考: Waiting."
        assert (await here.said("経理部の話です。", BEN, thread=asked_ja.id)).thread == asked_ja.id
        held.go_on.set()
        await here.answers(asked_ja)
        await here.ask("それはいつから？ @kotae", BEN, thread=asked_ja.id)
        ask = here.player.asks[-1]
        assert [one.question for one in ask.history] == ["経費の締切は？"] and ask.language == "ja"
        assert [(one.author, one.text) for one in ask.overheard] == [("ベン", "経理部の話です。")]
        assert len(await here.thread(asked_ja, "answer")) == 2 and len(here.player.asks) == 3


async def test_steps_show_as_the_room_has_chosen(tmp_path: Path) -> None:
    async with channel(tmp_path, says(Thought("One."), Thought("Two."), UNKNOWN)) as here:
        found = []
        for steps in ("verbose", "off"):
            await here.adapter.prefer(AKI, GENERAL, Preferences(steps=steps))
            answer = await here.ask(ASK)
            found.append([each.text for each in await here.thread(await here.board.get(AKI, answer.root), "steps")])
        assert found == [["🧠 Thought: One.", "🧠 Thought: Two."], []]
        assert (await here.adapter.preferences(BEN, GENERAL)).steps == "off"
        assert (await here.adapter.preferences(AKI, LEADS)).steps == "live"
        with pytest.raises(SettingsError):
            await here.adapter.prefer(BEN, GENERAL, Preferences(strategy="guessing"))


async def test_two_questions_in_a_thread_are_answered_in_order_and_what_waits_can_be_changed(tmp_path: Path) -> None:
    first = HeldAct("First.")
    async with channel(tmp_path, first, answers("Second."), answers("Third.")) as here:
        root = await here.said("@kotae One?")
        await asyncio.wait_for(first.begun.wait(), 30)
        second = await here.said("@kotae Two?", BEN, thread=root.id)
        gone = await here.said("@kotae Never mind?", BEN, thread=root.id)
        plain = await here.said("Just talking", BEN, thread=root.id)
        await until(lambda: here.thread(root, "steps"), lambda found: len(found) == 3)  # a sign of life each
        edited = await here.adapter.edit(BEN, second.id, "@kotae Two, in other words?")
        await here.adapter.delete(BEN, gone.id)
        assert edited.edited_at is not None and len(await here.thread(root, "steps")) == 2
        with pytest.raises(PermissionError):
            await here.adapter.edit(AKI, second.id, "@kotae Mine?")
        first.go_on.set()
        shown = await until(lambda: here.thread(root), lambda all: all[-1].text == "Second.")
        assert [each.text for each in shown if each.kind in ("steps", "answer")][1::2] == ["First.", "Second."]
        assert [ask.question for ask in here.player.asks] == ["One?", "Two, in other words?"]
        await here.adapter.edit(BEN, plain.id, "@kotae Asking after all?")  # now it is one
        await until(lambda: here.thread(root), lambda all: all[-1].text == "Third.")
        assert len(here.player.asks) == 3


async def test_a_question_that_is_changed_or_taken_back_while_it_runs_ends_as_it_stands(tmp_path: Path) -> None:
    acts = [HeldAct(), HeldAct(), HeldAct()]
    async with channel(tmp_path, acts[0], answers("About pears."), acts[1], acts[2]) as here:
        asked = await here.said("@kotae What about apples?")
        await asyncio.wait_for(acts[0].begun.wait(), 30)
        await here.adapter.edit(AKI, asked.id, "@kotae What about pears?")
        assert [each.text for each in await here.answers(asked)] == ["About pears."]
        assert [each.kind for each in await here.thread(asked)] == ["steps", "answer"]

        silent = await here.said("@kotae Who is there?")
        await asyncio.wait_for(acts[1].begun.wait(), 30)
        await here.adapter.edit(AKI, silent.id, "Who is there?")  # for the others
        taken = await here.said("@kotae Forget it?")
        await asyncio.wait_for(acts[2].begun.wait(), 30)
        await here.adapter.delete(AKI, taken.id)
        await here.quiet()
        assert await here.thread(silent) == [] and await here.thread(taken) == []
        assert await here.bot.turns.unfinished("web") == []
        with pytest.raises(LookupError):
            await here.board.get(AKI, taken.id)


async def test_a_process_killed_between_answer_and_commit_leaves_one_answer(tmp_path: Path) -> None:
    """The answer stands there, and nobody knows that it does."""
    await asyncio.to_thread(dies, "tests.adapters.web.stage", tmp_path)
    async with channel(tmp_path) as here:
        await until(lambda: here.bot.turns.unfinished("web"), lambda found: not found)
        (asked,) = await here.board.messages(GENERAL, AKI)
        (answer,) = await here.answers(asked)
        (steps,) = await here.thread(asked, "steps")
        assert answer.text == "Refunds take 30 days." and not steps.data["thinking"] and not here.player.asks


async def test_what_a_process_left_goes_on_when_it_is_back(tmp_path: Path) -> None:
    held = HeldAct()
    async with channel(tmp_path, held, look_every=60) as here:
        asked = await here.said(ASK)
        await asyncio.wait_for(held.begun.wait(), 30)
        for task in asyncio.all_tasks():
            if task.get_name() == "web-turn":
                task.cancel()  # as a process that is shut down does in the end
        await here.quiet()
        assert (await here.thread(asked, "steps"))[0].data["thinking"]
        written = await here.board.post(GENERAL, BEN, "@kotae Who?")  # and the process ended before it was claimed
        place = (await here.adapter.find("general")).place
        refs = await Uploads(HeldFolder(here.held)).keep([("plan.md", b"# Plan\n\nThe harbour.")])
        intake = IngestionRequest("i1", place, None, "ben", "docs", TEAM, "en", (FileRef("plan.md", refs[0]),))
        assert await here.bot.ingestion.accept("claim", intake) is not None

        async def never(file: FileRef) -> bytes:
            raise AssertionError("nothing is read yet")

        async with aclosing(here.bot.ingestion.process(intake, never)) as states:
            await anext(states)
    with pytest.raises(ConnectionError):
        await here.adapter.say(AKI, GENERAL, ASK)
    async with channel(tmp_path) as here:
        for question in (asked, written):
            await here.answers(question)
            assert [each.kind for each in await here.thread(question)] == ["steps", "answer"]
        assert (await here.thread(asked, "steps"))[0].text == "🧠 Thought: Looking it up."
        (shown,) = [each for each in await here.board.messages(GENERAL, AKI) if each.kind == "intake"]
        assert shown.text.startswith("📥 Done") and "plan.md: added to docs" in shown.text
        assert list(here.held.iterdir()) == [] and await here.bot.ingestion.unfinished("web") == []


async def test_what_another_process_wrote_down_and_did_not_live_to_claim_is_answered(
    tmp_path: Path, shared_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adapters.web.channel.turns.LOOK_AGAIN", 0.0)
    async with channel(tmp_path, DATABASE_URL=shared_database) as here:
        await here.ask(ASK)
        written = await here.board.post(GENERAL, BEN, "@kotae Who?")
        await here.answers(written)
        assert [each.kind for each in await here.thread(written)] == ["steps", "answer"]


async def test_what_the_database_does_not_take_is_asked_later(tmp_path: Path) -> None:
    async with channel(tmp_path) as here:
        claim, broken = here.bot.turns.claim, asyncio.Event()

        async def refuses(message: object) -> None:
            broken.set()
            raise StoreError(Text(en="Busy.", ja="混雑しています。"))

        vars(here.bot.turns)["claim"] = refuses
        asked = await here.said(ASK)
        assert broken.is_set() and await here.thread(asked) == []
        vars(here.bot.turns)["claim"] = claim
        await here.answers(asked)


# -- a private room --------------------------------------------------------------------------------------------------


async def test_a_private_room_stays_private(tmp_path: Path) -> None:
    async with channel(tmp_path, says(Thought("Hm."), UNKNOWN)) as here:
        adapter = here.adapter
        talk = await here.said("We buy the harbour.", AKI, LEADS)
        asked = await here.said("@kotae What does the harbour cost?", AKI, LEADS, thread=talk.id)
        (answer,) = await here.answers(asked)
        assert here.player.readers[0].scopes >= {SECRET, TEAM}
        assert [one.text for one in here.player.asks[0].overheard] == ["We buy the harbour."]
        (miss,) = (await here.bot.experts.open(*spot("leads"))).questions
        assert miss.scope == SECRET and (await here.bot.experts.open(*spot("general"))).shown == 0
        await adapter.announce("leads", _card((miss.id, miss.question)), about="digest:1")
        card = (await here.board.messages(LEADS, AKI))[-1]
        tries = (
            lambda: adapter.say(BEN, LEADS, "Hello"),
            lambda: adapter.say(BEN, LEADS, "@kotae What is said here?"),
            lambda: adapter.say(BEN, LEADS, "/kotae unanswered"),
            lambda: adapter.say(BEN, LEADS, "/ingest Some text"),
            lambda: adapter.say(BEN, GENERAL, "@kotae And here?", talk.id),
            lambda: adapter.edit(BEN, talk.id, "Nothing"),
            lambda: adapter.delete(BEN, talk.id),
            lambda: adapter.vote(BEN, answer.id, "down"),
            lambda: adapter.votes(BEN, [answer.id]),
            lambda: adapter.add_files(BEN, LEADS, [("a.md", b"# A\n\nWords.")]),
            lambda: adapter.add_files(BEN, GENERAL, [("a.md", b"# A\n\nWords.")], thread=talk.id),
            lambda: adapter.add_text(BEN, LEADS, "Words."),
            lambda: adapter.scopes(BEN, LEADS),
            lambda: adapter.collections(BEN, LEADS),
            lambda: adapter.preferences(BEN, LEADS),
            lambda: adapter.prefer(BEN, LEADS, Preferences(steps="off")),
            lambda: adapter.opened(BEN, card.id),
            lambda: adapter.teach(BEN, card.id, "Nothing."),
            lambda: adapter.dismiss(BEN, card.id),
            lambda: adapter.save(BEN, card.id),
            lambda: adapter.discard(BEN, card.id),
            lambda: adapter.board.messages(LEADS, BEN, talk.id),
        )
        for attempt in tries:
            with pytest.raises(LookupError) as refused:
                await attempt()
            assert "harbour" not in str(refused.value)
        assert len(here.player.asks) == 1 and (await here.library.documents.listed()) == []
        assert await adapter.votes(AKI, [answer.id]) == {} and not here.held.exists()
        assert [each.text for each in await here.board.messages(GENERAL, BEN)] == []
        assert await adapter.scopes(AKI, LEADS) == (SECRET, TEAM, "everyone")
        assert await adapter.scopes(BEN, GENERAL) == (TEAM,)

        # What is asked in the open knows nothing of it.
        await here.ask("@kotae What does the harbour cost?", BEN)
        ask = here.player.asks[-1]
        assert SECRET not in here.player.readers[-1].scopes and ask.overheard == () and ask.history == ()


# -- votes, commands, files ------------------------------------------------------------------------------------------


async def test_votes_are_the_members_own_and_can_be_changed(tmp_path: Path) -> None:
    async with channel(tmp_path) as here:
        answer = await here.ask(ASK)
        with here.board.subscribe(BEN) as changes:
            assert await here.adapter.vote(BEN, answer.id, "down")
            assert (await asyncio.wait_for(anext(changes), 30)).message == answer.id
        assert await here.adapter.vote(BEN, answer.id, "down", "outdated", "It is 14 now.")
        assert await here.adapter.vote(AKI, answer.id, "up")
        mine = (await here.adapter.votes(BEN, [answer.id]))[answer.id]
        assert (mine.vote, mine.reason, mine.text) == ("down", "outdated", "It is 14 now.")
        (miss,) = (await here.bot.experts.open(*spot("general"))).questions
        assert (miss.reason, miss.detail) == ("reported", "outdated: It is 14 now.")
        assert await here.adapter.vote(BEN, answer.id, None)
        assert await here.adapter.votes(BEN, [answer.id]) == {}
        with pytest.raises(LookupError):
            await here.adapter.vote(BEN, answer.root, "up")


async def test_commands_are_answered_to_who_typed_them_alone(tmp_path: Path) -> None:
    async with channel(tmp_path) as here:
        for typed, language, title in (("/kotae help", "en", "What I can do"), ("/kotae 設定", "ja", None)):
            card = await here.adapter.say(BEN, GENERAL, typed, language=language)  # type: ignore[arg-type]
            assert isinstance(card, Card) and (title is None or card.title == title) and card.lines
        assert await here.board.messages(GENERAL, AKI) == []
        with pytest.raises(NotTakenError) as refused:
            await here.adapter.say(BEN, GENERAL, "/ingest")
        assert refused.value.text("ja").startswith("ファイル、テキスト")
        shown = await here.said("/ingest Refund rules\n\nRefunds take 30 days.", BEN, language="ja")
        await here.quiet()
        done = await here.board.get(AKI, shown.id)
        assert done.kind == "intake" and done.text.startswith("📥 完了しました") and "追加した人: ベン" in done.text
        (document,) = await here.library.documents.listed()
        assert (document.name, document.scope, document.author) == ("Refund rules.md", TEAM, "ben")
        with pytest.raises(ValueError):
            await here.adapter.say(BEN, GENERAL, "  ")
        with pytest.raises(ValueError):
            await here.adapter.say(BEN, GENERAL, "no question", files=[("a.md", b"A")])


async def test_files_get_a_verdict_each_and_are_not_kept(tmp_path: Path) -> None:
    async with channel(tmp_path) as here:
        root = await here.said("Some files", AKI, LEADS)
        files = [("plan.md", b"# Plan\n\nThe harbour."), ("note.msg", b"x"), ("big.bin", bytes(26 * 1024 * 1024))]
        shown = await here.adapter.add_files(AKI, LEADS, files, "plans", SECRET, root.id)
        assert (shown.thread, shown.kind, shown.data["done"], shown.data["total"]) == (root.id, "intake", 0, 3)
        await here.quiet()
        done = await here.board.get(AKI, shown.id)
        assert [one["status"] for one in done.data["verdicts"]] == ["added", "refused", "refused"]
        assert "✅ plan.md: added to plans" in done.text and "larger than 25 MiB" in done.text
        assert "Mail files cannot be read" in done.text and list(here.held.iterdir()) == []
        (document,) = await here.library.documents.listed()
        assert (document.collection, document.scope) == ("plans", SECRET)
        assert await here.adapter.collections(AKI, LEADS) == ("documents", "plans")
        assert await here.adapter.collections(BEN, GENERAL) == ("documents",)
        with pytest.raises(NotTakenError, match="Possible: team"):
            await here.adapter.add_files(BEN, GENERAL, [("a.md", b"# A")], scope="everyone")
        assert list(here.held.iterdir()) == [] and len(await here.thread(root)) == 1

        # What comes with a question is the turn's, and nobody's afterwards.
        await here.ask("@kotae What is in it?", files=[("more.md", b"# More\n\nWords."), *[("x.md", b"x")] * 5])
        (asked,) = here.player.messages
        assert [file.name for file in asked.files] == ["more.md", *["x.md"] * 5]
        assert asked.files[0].data == b"# More\n\nWords." and "only 5 files" in asked.files[5].problem
        await here.quiet()
        assert list(here.held.iterdir()) == []


async def test_files_that_wait_are_bounded(tmp_path: Path) -> None:
    held = Uploads(HeldFolder(tmp_path / "uploads"), most=100)
    kept = await held.keep([("a", b"x" * 60)])
    with pytest.raises(NotTakenError, match="waiting"):
        await held.keep([("b", b"x" * 60)])
    assert await held.read(kept[0]) == b"x" * 60 and (tmp_path / "uploads").stat().st_mode & 0o077 == 0
    for ref in ({"held": "../../secret"}, {"held": "0" * 32}, {}):
        with pytest.raises(UnreadableError):
            await held.read(ref)


async def test_a_dropped_file_makes_the_next_question_answerable(tmp_path: Path) -> None:
    """The whole application, with its own model and search."""
    async with running(begun(tmp_path / "home", KOTAE_LANGUAGE="ja"), Redactor()) as app:
        web = web_adapter(app)
        task = asyncio.create_task(web.run(app.bot))
        await web.ready.wait()
        try:
            here = Stage(web, web.board, app.bot, app.data, None, None, tmp_path, task)  # type: ignore[arg-type]
            before = await here.ask("@kotae返金には何日かかりますか？", BEN)
            assert before.data["outcome"] == "unknown"
            page = "# 返金\n\n返金の手続きには30日かかります。\n"
            shown = await web.add_files(BEN, GENERAL, [("返金.md", page.encode())])
            await here.quiet()
            assert (await web.board.get(BEN, shown.id)).text.startswith("📥 完了しました: 追加・更新 1 件")
            after = await here.ask("@kotae返金には何日かかりますか？", AKI)
            assert after.data["outcome"] == "answered" and "30日" in after.text
            passage = await web.board.passage(BEN, after.id, after.data["citations"][0]["n"])
            assert passage is not None and "30日" in passage.text
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


# -- the digest ------------------------------------------------------------------------------------------------------


def _card(*questions: tuple[int, str]) -> Card:
    rows = tuple(
        CardRow(f"{n}. {text}", ("asked once",), (), offers((one,), one, "en"))
        for n, (one, text) in enumerate(questions, 1)
    )
    return Card("Unanswered questions", ("2 asked",), rows, ("and 1 asked in private places",))


async def _missed(here: Stage, *questions: str) -> tuple[list[RoomMessage], Card]:
    """Questions nobody could answer, and the card of them."""
    asked = [await here.board.get(AKI, (await here.ask(f"@kotae {text}", BEN)).root) for text in questions]
    found = (await here.bot.experts.open(*spot("general"))).questions
    return asked, _card(*((one.id, one.question) for one in reversed(found)))


async def test_a_card_that_is_answered_tells_the_asker(tmp_path: Path) -> None:
    async with channel(tmp_path, says(UNKNOWN)) as here:
        (ships, key), card = await _missed(here, "Where do ships moor?", "鍵はどこ？")
        adapter, target = digest_target([here.adapter], "web:general")
        assert adapter is here.adapter
        for _ in range(2):  # the same digest, said once
            await adapter.announce(target, card, about="digest:20261123T000000")
        with pytest.raises(LookupError):
            await adapter.announce("nowhere", card, about="digest:20261123T000000")
        head, first, second = (await here.board.messages(GENERAL, BEN))[2:]
        assert head.kind == "system" and head.data["title"] == "Unanswered questions"
        assert [action.kind for action in row_of(first).actions] == ["answer", "dismiss"]
        form = await here.adapter.opened(AKI, first.id)
        assert (
            isinstance(form, expert_answers.OpenedQuestion) and form.question == "Where do ships moor?" and form.shared
        )

        taught = await here.adapter.teach(AKI, first.id, "They moor at pier seven.")
        assert (len(taught.closed), taught.told, taught.refusal) == (1, 1, None)
        (told,) = await until(lambda: here.thread(ships, "notice"))
        assert told.text == (
            "@Ben Your question “Where do ships moor?” has an answer now, from Aki:\n\nThey moor at pier seven."
        )
        await here.quiet()
        closed = await here.board.get(BEN, first.id)
        assert closed.data["status"] == "✅ Answered by Aki" and row_of(closed).actions == ()
        assert row_of(await here.board.get(BEN, second.id)).actions
        assert await here.adapter.opened(AKI, first.id) is expert_answers.GONE
        assert (await here.adapter.teach(BEN, first.id, "Elsewhere.")).refusal is not None
        (document,) = await here.library.documents.listed()
        assert document.url == f"{ADDRESS}/app/?room=general&thread={first.id}&message={first.id}#m{first.id}"

        # A reply in a card's thread is the answer after one confirmation.
        no = await here.said("In the drawer.", BEN, thread=second.id)
        (confirm,) = await here.thread(second, "confirm")
        assert "“鍵はどこ？”" in confirm.text and confirm.thread == second.id and no.thread == second.id
        await here.adapter.discard(AKI, confirm.id)
        gone = await here.said("Under the mat.", AKI, thread=second.id)
        (_, confirm) = await here.thread(second, "confirm")
        await here.adapter.delete(AKI, gone.id)
        assert (await here.adapter.save(BEN, confirm.id)).refusal is expert_answers.DELETED
        assert [(one.text, one.data["done"]) for one in await here.thread(second, "confirm")] == [
            ("Not saved.", True)
        ] * 2
        await here.said("受付にあります。", AKI, thread=second.id)
        (*_, confirm) = await here.thread(second, "confirm")
        assert (await here.adapter.save(BEN, confirm.id)).told == 1
        assert (await here.adapter.save(BEN, confirm.id)).refusal is not None
        (told,) = await until(lambda: here.thread(key, "notice"))
        assert told.text == "@ベン ご質問「鍵はどこ？」に回答が付きました（アキ さんより）:\n\n受付にあります。"
        await here.quiet()
        assert (await here.board.get(BEN, confirm.id)).text == "Saved as the answer. Threads that are told: 1."
        await here.said("At the gate.", BEN, thread=second.id)  # the answer is somebody else's
        *_, anew = await here.thread(second, "confirm")
        assert anew.text.startswith("Is this reply the answer to “鍵はどこ？” now?")
        assert await here.bot.experts.notices("web") == []


async def test_a_card_whose_questions_are_closed_elsewhere_offers_them_no_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.unanswered.expert_answers.SETTLED", timedelta(0))
    async with channel(tmp_path, says(UNKNOWN)) as here:
        _, card = await _missed(here, "Where do ships moor?", "Who has the key?")
        await here.adapter.announce("general", card, about="digest:1")
        first, second = (await here.board.messages(GENERAL, BEN))[-2:]
        expert, there = Actor("slack", "T1", "U1"), Place("slack", "T1", "C1")
        with here.board.subscribe(BEN) as changes:
            taught = await here.bot.experts.dismiss(expert, first.data["questions"], there, Audience("public"))
            assert taught.refusal is None and (await asyncio.wait_for(anext(changes), 30)).message == first.id
        closed = await here.board.get(BEN, first.id)
        assert closed.data["status"] == "✅ Answered or dismissed elsewhere" and row_of(closed).actions == ()
        assert row_of(await here.board.get(BEN, second.id)).actions


async def test_a_card_can_be_dismissed(tmp_path: Path) -> None:
    async with channel(tmp_path, says(UNKNOWN), KOTAE_LANGUAGE="ja") as here:
        (asked,), card = await _missed(here, "Where do ships moor?")
        await here.adapter.announce("general", card, about="digest:1")
        shown = (await here.board.messages(GENERAL, BEN))[-1]
        assert (await here.adapter.dismiss(BEN, shown.id)).refusal is None
        await here.quiet()
        assert (await here.board.get(AKI, shown.id)).data["status"] == "➖ ベン さんが回答せずに閉じました"
        assert await here.thread(asked, "notice") == []
        await here.said("Where the ships are, Ben.", AKI, thread=asked.id)
        await Erasure(here.data.engine).forget("web", "ben")  # his question stood on the card, too
        left = await here.board.messages(GENERAL, AKI) + await here.board.messages(GENERAL, AKI, asked.id)
        assert [each.text for each in left if each.author != "kotae"] == ["", "", "Where the ships are, Ben."]
        assert [each.kind for each in left if each.author == "kotae"] == ["system"]
