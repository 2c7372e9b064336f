"""What experts and askers read about an answer, in both languages."""

from dataclasses import replace
from pathlib import Path

import pytest

from adapters.shared import expert_answers
from bot.access import readers
from bot.types import AnswerTaken, Audience, Incoming, Notice, Place, Post
from bot.unanswered.closing import Choice
from retrieval.i18n import Language
from tests.adapters.acting import Player, misses, process, settings

NOTICE = Notice(1, "1" * 32, Place("slack", "T1", "C1"), "1.0", "U1", "en", "When?", "Now.", "U2")


@pytest.mark.parametrize(
    ("language", "corrects", "who", "said"),
    [
        ("en", False, "Ann", "@U1 Your question “When?” has an answer now, from Ann:"),
        ("en", False, None, "@U1 Your question “When?” has an answer now:"),
        ("en", True, "Ann", "@U1 The answer to your question “When?” has been corrected by Ann:"),
        ("ja", True, "アン", "@U1 ご質問「When?」への回答が修正されました（アン さんが編集）:"),
        ("ja", True, None, "@U1 ご質問「When?」への回答が修正されました:"),
    ],
)
def test_what_an_asker_is_told(language: Language, corrects: bool, who: str | None, said: str) -> None:
    notice = replace(NOTICE, language=language, corrects=corrects)
    assert expert_answers.heading(notice, asker="@U1", question="When?", who=who) == said


def test_what_an_answer_will_do_is_said_before_and_what_it_did_after() -> None:
    choices = (Choice(2, "When is it?", True), *(Choice(n, f"Where {n}?", False) for n in range(3, 12)))
    opened = expert_answers.OpenedQuestion("When?", True, 1, choices)
    (read_by,) = opened.notes("en")  # all can be ticked
    assert read_by.startswith("Everyone in the team")
    closes, others, _ = opened.notes("en", listed=0)
    assert closes == "An answer also closes: “When is it?”"
    assert others.startswith("An answer leaves these open: “Where 3?”, ") and others.endswith(", and 5 more")
    assert expert_answers.OpenedQuestion("When?", False, 1).notes("ja") == [expert_answers.READ_THERE.ja]
    long = expert_answers.OpenedQuestion("?", True, 1, tuple(Choice(n, "長" * 900, n < 50) for n in range(99)))
    assert all(len(note) < 1_000 for note in long.notes("ja"))
    assert expert_answers.saved(AnswerTaken((1,), 2), "en") == "Saved as the answer. Threads that are told: 2."
    assert "3 件の質問は、未回答のまま" in expert_answers.saved(AnswerTaken((1,), 2, 3), "ja")


def test_a_form_remembers_which_question_it_was_opened_for() -> None:
    name = "digest:20261123T000000:7"
    assert expert_answers.without_reference(expert_answers.with_reference(name, 12)) == (name, 12)
    assert expert_answers.without_reference(name) == (name, None)  # opened by an earlier version
    assert len(f"kotae:answer:{expert_answers.with_reference(name, 10**9)}") <= 100  # of Discord's custom_id


def test_a_card_that_is_only_partly_done_says_so() -> None:
    card = Post("digest:1", "card", 0, NOTICE.place, data={"closed": False})
    assert (
        expert_answers.status(card, expert_answers.ANSWERED, "en", "Ann")
        == "✅ Ann settled other questions of this card"
    )
    assert "ほかの場所で" in expert_answers.status(card, expert_answers.SETTLED, "ja")
    done = replace(card, data={"closed": True})
    assert expert_answers.status(done, expert_answers.ANSWERED, "ja", "アン") == "✅ アン さんが回答しました"


@pytest.mark.parametrize(
    ("text", "may"),
    [
        ("Yes.", True),
        ("20", True),
        ("はい、大丈夫です", True),
        ("Yes, on B2. Does that help?", True),
        ("20日です。これで大丈夫でしょうか？", True),
        ("> How many days?\n20.", True),
        ("December 18 — is that what you were after?", True),
        ("12月18日からですが、これで答えになっていますか？", True),
        ("I think it is 20", True),
        ("京都か大阪か、どちらかにあります", True),
        ("Which office do you mean?", False),
        ("どのオフィスのことでしょうか", False),
        ("> How many days?", False),
        ("> How many days?\nThanks!", False),
        ("Since when? And for whom?", False),
        ("Thanks, which one?", False),
        ("Kyoto, no?", True),
        ("20日じゃないですか？", True),
        ("It is in the wiki, what else?", True),
        ("I don't know, maybe 3 days", True),
        ("確認します。たぶん3日です", True),
        ("田中さんに確認してください", True),
        (":eyes:", False),
        (":eyes: I'll check", False),
        ("時間:10:30", True),
        ("Sorry, not my area.", False),
        ("I'll check and get back to you tomorrow", False),
        ("わかりません。担当外です、すみません", False),
        ("調べておきます！", False),
        ("ありがとうございます！", False),
    ],
)
def test_what_may_be_an_answer(text: str, may: bool) -> None:
    for closed in (False, True):
        assert (
            expert_answers.may_answer(Post("digest:1", "card", 0, NOTICE.place, data={"closed": closed}), text) is may
        )


@pytest.mark.parametrize("text", ["OK!", "大丈夫です。"])
def test_what_is_courtesy_below_an_answer_may_be_one_where_there_is_none(text: str) -> None:
    for closed in (False, True):
        card = Post("digest:1", "card", 0, NOTICE.place, data={"closed": closed})
        assert expert_answers.may_answer(card, text) is not closed


async def test_who_will_find_an_answer_is_known_before(tmp_path: Path) -> None:
    async with process(settings(tmp_path), Player(misses).make) as (_, bot):
        general, leads = (Place("slack", "T1", channel) for channel in ("C1", "G1"))
        for place, visibility in ((general, Audience("public")), (leads, Audience("private"))):
            asked = Incoming(place, "1", "1", "U1", f"When, in {place.channel}?", visibility)
            assert [event async for event in bot.turns.reply(asked)]
        private = Audience("private")
        found = {one.scope: one.id for one in (await bot.experts.open(leads, private)).questions}
        assert set(found) == readers(leads, private).scopes - {"everyone"}
        team, theirs = found["team"], next(id for scope, id in found.items() if scope != "team")
        for questions, reference, shared in (
            ([team], team, True),
            ([theirs], theirs, False),
            ([team, theirs], theirs, False),
        ):
            data = {"questions": questions, "reference": reference}
            assert await expert_answers.is_shared(bot, Post("1", "card", 0, leads, data=data), private) is shared
