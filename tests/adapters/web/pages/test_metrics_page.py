"""The page of metrics: what it counts adds up, and each share says of what it is one."""

from datetime import UTC, datetime

from adapters.terminal.channel import AUDIENCE, AUTHOR, PASSING
from adapters.terminal.channel import PLACE as TERMINAL
from adapters.web.api.routes import PLACE as HTTP
from adapters.web.channel.rooms import MEMBERS, ROOMS
from adapters.web.visitor import Site
from agent.events import Cost
from bot.programs.programs import PLACE as MCP
from bot.records import RoomMessage
from bot.store.usage import Usage
from bot.types import Incoming
from tests.adapters.acting import until
from tests.adapters.web.pages.conftest import Visit
from tests.adapters.web.pages.waiting import sees

AKI, BEN = MEMBERS
GENERAL, LEADS = ROOMS


async def test_each_question_is_one_outcome_and_at_most_one_miss(visit: Visit, site: Site) -> None:
    async def answered(asked: object) -> RoomMessage:
        assert isinstance(asked, RoomMessage)
        room = next(room for room in ROOMS if room.id == asked.room)

        async def answers() -> list[RoomMessage]:
            return [one for one in await site.web.board.messages(room, AKI, asked.id) if one.kind == "answer"]

        return (await until(answers))[0]

    known = await answered(await site.web.say(AKI, GENERAL, "@kotae How many reviews does a change need?"))
    unknown = await answered(await site.web.say(AKI, LEADS, "@kotae 社員食堂のカレーの辛さは選べますか？"))
    await answered(await site.web.say(AKI, GENERAL, "@kotae 出張の日当はいくらですか？"))
    for one in (known, unknown):
        await site.web.vote(AKI, one.id, "down", "wrong")
    ended = (await site.app.metrics(7, site.app.readers)).outcomes
    assert ended == {"answered": 2, "unknown": 1}

    user = visit("ben")
    await user.open("/app/metrics")
    for text in (
        "2 of 3 (67%)",
        "1 of 3 (33%)",
        "Time of 3 answers, p50 / p95",
        "Votes in these days, 👍 / 👎",
        "0 / 2",
    ):
        await sees(user, text)
    await user.should_see("private places you are not in")
    cost = Cost(calls=2, input_tokens=1_000, output_tokens=200, thought_tokens=34)
    await Usage(site.app.data.engine).add({(datetime.now(UTC).date(), "gemini:gemini-3.8-flash"): cost})
    user = visit("ben", "ja")
    await user.open("/app/metrics")
    for text in (
        "3 件中 2 件（67%）",
        "3 件中 1 件（33%）",
        "回答 3 件の時間 p50 / p95",
        "1 つの質問を 1 件と数えます。",
        "トークン（モデル別）",
        "有料モデルのトークン数です。",
    ):
        await sees(user, text)


async def test_what_was_asked_elsewhere_stands_under_words_and_not_under_our_names(visit: Visit, site: Site) -> None:
    for place in (TERMINAL, PASSING, HTTP, MCP):
        message = Incoming(place, "thread", place.channel, AUTHOR, "1 + 1?", AUDIENCE)
        assert [event async for event in site.app.bot.turns.reply(message)]
    user = visit("ben")
    await user.open("/app/metrics")
    for name in ("Terminal", "Terminal (single questions)", "HTTP API", "Coding assistants (MCP)"):
        await sees(user, name)
    user = visit("ben", "ja")
    await user.open("/app/metrics")
    for name in ("ターミナル", "ターミナル（単発の質問）", "HTTP API", "コーディングアシスタント（MCP）"):
        await sees(user, name)
    await user.should_not_see("api: http")
