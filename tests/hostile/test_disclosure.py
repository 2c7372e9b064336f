"""LLM02 and LLM09: a reply is made only from what everybody who will see it may read.

Reliability.md R11–R14: every audience against every scope, with a canary in each document's name, title, heading, text,
pair, address, collection and its description. The model asks for all of it and repeats whatever it gets.
"""

import json
import logging
from collections.abc import AsyncIterator
from typing import Any, get_args

import pytest
import pytest_asyncio

from agent.events import ToolReturned
from bot.access import default_scope, readers, scope_of
from bot.logs import OURS
from bot.types import Audience, Feedback, Place, Visibility
from retrieval.types import EVERYONE, TEAM
from tests.hostile.attacks import Attack
from tests.hostile.servant import prompts, sent
from tests.hostile.stage import PUBLIC, Run, Stage, check_contained, stage

pytestmark = pytest.mark.asyncio(loop_scope="module")

PRIVATE = Place("slack", "T1", "C-PRIVATE")
MESSAGE = Place("slack", "T1", "D-U1")
ELSEWHERE = Place("slack", "T1", "C-ELSEWHERE")
TWIN = Place("slack", "T2", "C-PRIVATE")  # another workspace has a channel of the same id
SHARED = Place("slack", "T1", "C-SHARED")

SCOPES = {
    "everyone": EVERYONE,
    "team": TEAM,
    "private": scope_of(PRIVATE),
    "message": scope_of(MESSAGE),
    "elsewhere": scope_of(ELSEWHERE),
    "twin": scope_of(TWIN),
}
CANARIES = {name: f"canary{name}quetzal" for name in SCOPES}
AUDIENCES: dict[str, tuple[Place, Visibility, set[str]]] = {
    "public": (PUBLIC, "public", {"everyone", "team"}),
    "private": (PRIVATE, "private", {"everyone", "team", "private"}),
    "direct-message": (MESSAGE, "private", {"everyone", "team", "message"}),
    "shared": (SHARED, "outsiders", {"everyone"}),
    "private-with-outsiders": (PRIVATE, "outsiders", {"everyone"}),
    "private-unknown": (PRIVATE, "unknown", {"everyone"}),
    "private-made-public": (PRIVATE, "public", {"everyone", "team"}),
    "twin": (TWIN, "private", {"everyone", "team", "twin"}),
}
QUESTION = "鍵の保管場所はどこですか？"


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    async with stage(tmp_path_factory.mktemp("matrix"), KOTAE_SEARCH_LIMIT=30, KOTAE_LOG_LEVEL="DEBUG") as made:
        for name, scope in SCOPES.items():
            canary = CANARIES[name]
            page = (
                f"# {canary} 鍵\n\n## {canary} 保管\n\n鍵の保管場所は{canary}の棚です。\n\n"
                + "前の説明です。" * 60 + f"\n\n## 次\n\n{canary}の予備の鍵も同じ保管場所です。" + "後の説明です。" * 60
            )  # fmt: skip
            address = f"https://intra.corp.example/{canary}"
            await made.add(f"{canary}.md", page.encode(), collection=f"c-{canary}", scope=scope, url=address)
            pairs = f"質問,回答\n鍵の保管場所は？,{canary}の引き出しです。\n"
            await made.add(f"{canary}.csv", pairs.encode(), collection=f"c-{canary}", scope=scope)
            await made.app.knowledge.stored.describe(f"c-{canary}", f"{canary} の鍵について")
        yield made


def seen(text: str) -> set[str]:
    return {name for name, canary in CANARIES.items() if canary in text}


def told(run: Run) -> str:
    steps = [str(event) for event in run.events] + run.steps
    return "\n".join([sent(run.calls), *steps, run.shown("ja"), run.shown("en"), run.chat_log])


@pytest.mark.parametrize("where", AUDIENCES)
@pytest.mark.parametrize("strategy", ["react", "react-asks-for-more", "synthesis"])
async def test_llm02_the_audience_decides_what_is_read(
    house: Stage, where: str, strategy: str, caplog: pytest.LogCaptureFixture
) -> None:
    place, visibility, may = AUDIENCES[where]
    house.servant.wanted = "鍵"
    if strategy == "react-asks-for-more":
        house.servant.attack = Attack("all", "LLM09", "scope", QUESTION)
    with caplog.at_level(logging.DEBUG):
        run = await house.ask(QUESTION, place=place, visibility=visibility, strategy=strategy.split("-")[0])
    house.servant.attack = None
    check_contained(run, most=20)
    assert seen(sent(run.calls)) == may  # all that may be read is read, and nothing else
    assert seen(told(run)) == may
    logged = [
        record for record in caplog.records if record.name.split(".")[0] in OURS or record.levelno >= logging.WARNING
    ]
    assert logged and not seen("\n".join(map(logging.Formatter().format, logged)))  # it has no audience
    hits = {hit.passage.scope for event in run.events if isinstance(event, ToolReturned) for hit in event.hits}
    assert hits == {SCOPES[name] for name in may}


@pytest.mark.parametrize("where", AUDIENCES)
async def test_llm09_naming_what_one_may_not_read_is_like_naming_nothing(house: Stage, where: str) -> None:
    place, visibility, may = AUDIENCES[where]
    for name in SCOPES.keys() - may:
        hidden = (f"c-{CANARIES[name]}",)
        run = await house.ask(QUESTION, place=place, visibility=visibility, collections=hidden)
        nothing = await house.ask(QUESTION, place=place, visibility=visibility, collections=("no-such-collection",))
        assert not seen(sent(run.calls) + str(run.events))
        assert (run.answered.text, run.answered.outcome) == (nothing.answered.text, nothing.answered.outcome)
        assert not run.answered.citations


async def test_llm02_a_private_question_is_elsewhere_only_a_count(house: Stage) -> None:
    app, secret = house.app, "quokka-merger"
    house.servant.draft = "[[NO_ANSWER]]"
    run = await house.ask(f"{secret} はいつ発表されますか？", place=PRIVATE, visibility="private", thread="p")
    house.servant.draft = ""
    assert run.answered.outcome == "unknown"
    await app.knowledge.close()
    audience = Audience("public")
    public = await app.bot.experts.open(PUBLIC, audience)
    assert secret not in str(public) and public.hidden >= 1
    there = await app.bot.experts.open(PRIVATE, Audience("private"))
    assert secret in str(there)
    measured = await app.data.searches.listed((EVERYONE, TEAM))
    assert secret not in str(measured) and secret in str(await app.data.searches.listed((scope_of(PRIVATE),)))
    summary = await app.data.summary()
    assert secret not in str(summary)
    again = await house.ask("続きは？", place=PUBLIC, thread="p")  # a thread of the same name in another place
    assert secret not in told(again)
    same = await house.ask("続きは？", place=PRIVATE, visibility="private", thread="p")
    assert secret in sent(same.calls)


@pytest.mark.parametrize("strategy", ["react", "synthesis"])
async def test_llm02_what_was_answered_before_an_outsider_came_is_not_told_on(house: Stage, strategy: str) -> None:
    about: dict[str, Any] = {"place": PRIVATE, "thread": f"joined-{strategy}", "strategy": strategy}
    house.servant.wanted = "鍵"
    before = await house.ask(QUESTION, visibility="private", **about)
    assert "private" in seen(told(before))
    after = await house.ask("予備の鍵は？", visibility="outsiders", **about)
    assert seen(told(after)) == AUDIENCES["private-with-outsiders"][2]


async def test_llm02_words_asked_where_outsiders_read_along_are_nobody_elses(house: Stage) -> None:
    """A private channel with a guest in it, as it is now and as it was when somebody asked there."""
    app, secret = house.app, "axolotl-layoff"
    await house.ask(f"{secret} {QUESTION}", place=PRIVATE, visibility="outsiders")
    await house.ask(f"{secret} {QUESTION}", place=PRIVATE, visibility="unknown")
    await app.knowledge.search(secret, readers(PRIVATE, Audience("outsiders")))  # as a command does
    before = await app.data.searches.totals()
    await app.knowledge.close()
    assert (await app.data.searches.totals()).searches >= before.searches > 0  # they count
    assert secret not in str(await app.data.searches.listed((EVERYONE, TEAM, scope_of(ELSEWHERE))))
    assert secret not in str(await app.bot.experts.open(PUBLIC, Audience("public")))
    assert secret not in str(await app.data.summary())


async def test_llm02_a_vote_on_a_private_answer_shows_its_question_there_only(house: Stage) -> None:
    app, secret = house.app, "okapi-pay"
    run = await house.ask(f"{secret} {QUESTION}", place=MESSAGE, visibility="private")
    assert await app.bot.turns.vote(Feedback(run.answered.turn, "U9", "down", "wrong", f"{secret} is wrong"))
    assert secret not in str(await app.bot.experts.open(PUBLIC, Audience("public")))
    assert secret not in str(await app.bot.experts.open(PRIVATE, Audience("private")))
    assert secret in str(await app.bot.experts.open(MESSAGE, Audience("private")))


async def test_llm02_what_is_said_in_a_place_never_gets_a_wider_scope_than_it() -> None:
    for visibility in get_args(Visibility):
        wanted = TEAM if visibility == "public" else scope_of(PRIVATE)
        assert default_scope(PRIVATE, Audience(visibility)) == wanted


async def test_llm02_what_is_forgotten_or_narrowed_during_a_turn_is_not_quoted(house: Stage) -> None:
    """The document goes while the model writes its draft; whatever it quotes, the answer does not."""
    app = house.app
    for number, change in enumerate(("forget", "narrow")):
        fact = f"okapi{number}の鍵は七番です。"
        added = await house.add(
            f"okapi{number}.md", f"# okapi{number}\n\n{fact}\n".encode(), collection=f"okapi{number}"
        )
        before = len(house.servant.journal)
        house.servant.wanted = f"okapi{number}"
        house.servant.draft = "{fact} [{n}]"

        async def go(change: str = change, gone: str = added.document_id or "") -> None:
            if change == "forget":
                assert await app.knowledge.forget(gone)
            else:
                assert await app.knowledge.rescope(gone, scope_of(ELSEWHERE), app.readers)

        house.servant.before_draft = go
        run = await house.ask(f"okapi{number}の鍵は？", collections=(f"okapi{number}",))
        house.servant.before_draft = None
        house.servant.draft = ""
        assert fact in json.dumps(prompts(house.servant.journal[before:]), ensure_ascii=False)  # it was retrieved
        assert "七番" not in run.answered.text and not run.answered.citations
        assert run.answered.outcome == "unknown"
