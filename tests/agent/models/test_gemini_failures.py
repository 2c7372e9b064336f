"""What may go wrong between google-genai and its server, as our errors; and where the key never shows."""

import asyncio
import logging
import socket
import traceback
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest
from google.genai import types
from pydantic import SecretStr

from agent.models.base import (
    ModelBlocked,
    ModelBusy,
    ModelOverlong,
    ModelProtocolError,
    ModelUnavailable,
    TextPart,
)
from agent.models.gemini import GeminiModel
from agent.strategies.react import Agent
from tests.agent.models.gemini_calls import ASKED, MODEL, SYSTEM, VERDICT, failure, last, model, parts, tool
from tests.agent.turning import Searches, answer_of, asking
from tests.fakes.gemini import Block, FakeGemini, Order, Refuse, Reply, busy, call, text, thought

# -- failures -------------------------------------------------------------------------------------------------------


BLOCKED = (
    *("SAFETY", "PROHIBITED_CONTENT", "SPII", "BLOCKLIST", "RECITATION", "LANGUAGE"),
    *("IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"),
    *("ESCALATION", "PUP_LIMITED_DISABLED", "MODEL_ARMOR"),
)
USELESS = (
    *("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE", "TOO_MANY_TOOL_CALLS"),
    *("MISSING_THOUGHT_SIGNATURE", "OTHER", "FINISH_REASON_UNSPECIFIED", "IMAGE_OTHER", "NO_IMAGE"),
)
CUT = ("MAX_TOKENS", "CONTINUATION")


def test_every_finish_reason_has_its_place() -> None:
    assert sorted((*BLOCKED, *USELESS, *CUT, "STOP")) == sorted(reason.value for reason in types.FinishReason)


@pytest.mark.parametrize("finish", BLOCKED)
async def test_a_blocked_reply(finish: str) -> None:
    assert isinstance(await failure(Reply((text("I sh"),), finish=finish)), ModelBlocked)


@pytest.mark.parametrize("reason", [reason.value for reason in types.BlockedReason])
async def test_a_blocked_prompt(reason: str) -> None:
    assert isinstance(await failure(Block(reason)), ModelBlocked)


@pytest.mark.parametrize(
    "reply",
    [
        *(Reply((text("Half"),), finish=finish) for finish in USELESS),
        *(Reply(finish=finish) for finish in USELESS),
        Reply(finish="STOP"),
        Reply((thought("Only thinking."),)),
    ],
)
async def test_a_reply_without_use(reply: Reply) -> None:
    async with FakeGemini(reply) as gemini:
        with pytest.raises(ModelProtocolError):
            await parts(gemini)
    assert gemini.finished  # once: asking again is the caller's


@pytest.mark.parametrize("finish", CUT)
async def test_a_reply_that_was_cut(finish: str) -> None:
    async with FakeGemini(Reply((text("30 da"),), finish=finish), Reply((thought("Hm."),), finish=finish)) as gemini:
        assert last(await parts(gemini)).cut
        gemini.order(Reply((text("30 days."),)))
        assert last(await parts(gemini)).text == "30 days."  # nothing but thinking: once more, with more room
    assert [sent.body["generationConfig"]["maxOutputTokens"] for sent in gemini.journal] == [8_192, 8_192, 32_768]


@pytest.mark.filterwarnings("ignore:.* is not a valid FinishReason")
async def test_with_a_finish_reason_nobody_knows_what_came_counts() -> None:
    search = call("search_rag_knowledge_base", {"query": "x"})
    async with FakeGemini(*(Reply(said, finish="SOLAR_FLARE") for said in ((text("x"),), (search,), ()))) as gemini:
        assert last(await parts(gemini)).text == "x"
        assert last(await parts(gemini)).calls[0].arguments == {"query": "x"}
        with pytest.raises(ModelProtocolError):
            await parts(gemini)


async def test_neither_candidates_nor_a_reason() -> None:
    error = await failure(Reply(finish=None))
    assert isinstance(error, ModelUnavailable) and error.why == "down"


@pytest.mark.parametrize("finish", ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE"])
async def test_a_malformed_call_is_asked_for_three_times_and_then_for_an_answer_without_tools(finish: str) -> None:
    async with FakeGemini(*[Reply(finish=finish)] * 3, Reply((text("Hello!"),))) as gemini:
        using = model(gemini)
        answer = answer_of([event async for event in Agent(using, Searches()).run(asking("Hello!"))])
        await using.close()
    assert ["tools" in sent.body for sent in gemini.journal] == [True] * 3 + [False]
    assert (answer.text, answer.outcome) == ("Hello!", "answered")


@pytest.mark.parametrize("order", [Reply((text("I sh"),), finish="SAFETY"), Block("JAILBREAK")])
async def test_what_is_blocked_is_declined_without_another_call(order: Order) -> None:
    async with FakeGemini(order) as gemini:
        using = model(gemini)
        answer = answer_of([event async for event in Agent(using, Searches()).run(asking("Hello!"))])
        await using.close()
    assert (answer.outcome, len(gemini.journal)) == ("declined", 1)


@pytest.mark.parametrize(
    ("refusal", "seconds"),
    [
        (busy("2s"), 2.0),
        (busy("1.5s", **{"Retry-After": "4"}), 4.0),
        (Refuse(429, "Slow down.", "RESOURCE_EXHAUSTED", headers={"Retry-After": "3"}), 3.0),
        (Refuse(429, "x", headers={"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}), 0.0),
        (Refuse(429, "x", headers={"Retry-After": "soon"}), None),
        (Refuse(429, page="<html>slow down</html>"), None),
        (
            Refuse(429, "x", details=({"violations": [{"quotaId": "GenerateRequestsPerDayPerProject"}]},)),
            3600.0,
        ),
    ],
)
async def test_busy_says_how_long_to_wait_and_is_not_retried_here(refusal: Refuse, seconds: float | None) -> None:
    async with FakeGemini(refusal) as gemini:
        with pytest.raises(ModelBusy) as caught:
            await parts(gemini)
    assert caught.value.retry_after == seconds
    assert len(gemini.journal) == 1


@pytest.mark.parametrize(
    ("order", "why"),
    [
        (Refuse(500, "Internal error.", "INTERNAL"), "down"),
        (Refuse(503, "Overloaded.", "UNAVAILABLE"), "down"),
        (Refuse(502, page="<html><h1>Bad gateway</h1></html>"), "down"),
        (Refuse(200, page="<!doctype html><html>Sign in</html>"), "down"),
        (Refuse(302, page="<html></html>", headers={"Location": "http://127.0.0.1:1/"}), "down"),
        (Refuse(408, "Request timeout.", "UNKNOWN"), "timeout"),
        (Refuse(504, "Deadline exceeded.", "DEADLINE_EXCEEDED"), "timeout"),
        (Refuse(401, "Unauthenticated.", "UNAUTHENTICATED"), "key"),
        (Refuse(403, "Forbidden.", "PERMISSION_DENIED"), "key"),
        (Refuse(400, "User location is not supported for the API use.", "FAILED_PRECONDITION"), "key"),
        (Reply((text("30 da"),), ending="cut"), "down"),
        (Reply((text("30 days."),), finish=None), "down"),
        (Reply((text("30 da"),), finish=None, ending="error"), "down"),
    ],
)
async def test_out_of_order(order: Order, why: str) -> None:
    error = await failure(order)
    assert isinstance(error, ModelUnavailable) and error.why == why


async def test_what_is_too_long_to_read_is_not_sent_again_in_another_form() -> None:
    said = "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
    async with FakeGemini(Refuse(400, said)) as gemini:
        with pytest.raises(ModelOverlong):
            await parts(gemini, schema=VERDICT, effort="low")
    assert len(gemini.journal) == 1


async def test_a_model_that_has_been_shut_down() -> None:
    error = await failure(model="gemini-2.0-flash")
    assert isinstance(error, ModelUnavailable) and error.why == "model"


async def test_silence_ends_at_the_time_limit() -> None:
    error = await failure(Reply((text("30"),), finish=None, ending="hang"), timeout=0.2)
    assert isinstance(error, ModelUnavailable) and error.why == "timeout"


async def test_nobody_listens() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        error = await failure(base_url=f"http://127.0.0.1:{held.getsockname()[1]}")
    assert isinstance(error, ModelUnavailable) and error.why == "down"


async def test_the_connect_may_take_five_seconds_of_the_sixty() -> None:
    using = GeminiModel(MODEL, key="k")
    request = using._http.build_request("POST", "http://127.0.0.1", timeout=60)
    for hook in using._http.event_hooks["request"]:
        await hook(request)
    await using.close()
    assert request.extensions["timeout"] == {"connect": 5.0, "read": 60, "write": 60, "pool": 60}


async def test_who_reads_slowly_is_not_timed_out() -> None:
    async with FakeGemini(Reply((text("one two three four"),), piece=2)) as gemini:
        using = model(gemini, timeout=1.0)
        read = 0
        async for _ in using.converse((SYSTEM, ASKED), (tool(),)):
            read += 1
            if read == 1:
                await asyncio.sleep(1.2)  # what is under test is time itself
        await using.close()
    assert read > 2


async def test_a_turn_that_is_given_up_leaves_nothing_open() -> None:
    async with FakeGemini(Reply((text("one two three"),), piece=2, ending="hang")) as gemini:
        using = model(gemini)
        conversation = using.converse((SYSTEM, ASKED), (tool(),))
        assert isinstance(conversation, AsyncIterator)
        async with aclosing(conversation) as stream:  # type: ignore[type-var]
            async for part in stream:
                assert isinstance(part, TextPart)
                break
        await using.close()


# -- the key --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "key", ["AIzaWrong-abcdefghijklmnopqrstuvwxyz", "AIza\nbroken", "鍵AIzaWrong", "AIza\x00broken"]
)
async def test_the_key_is_in_no_error_log_or_representation(key: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    echo = Refuse(400, f"API key {key} not valid", details=({"reason": "API_KEY_INVALID", "key": key},))
    for orders in ((), (echo,)):
        async with FakeGemini(*orders) as gemini:
            if orders:
                gemini.key = key
            using = model(gemini, key=SecretStr(key))
            with pytest.raises(ModelUnavailable) as caught:
                async for _ in using.converse((SYSTEM, ASKED), (tool(),)):
                    pass
            await using.close()
        assert caught.value.why == "key"
        logging.getLogger("test").exception("turn failed", exc_info=caught.value)
        shown = "".join(traceback.format_exception(caught.value)) + repr(using) + str(vars(using)) + caplog.text
        assert key not in shown and repr(key)[1:-1] not in shown


def test_an_empty_key_is_not_replaced_by_one_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", "from-the-environment")
    with pytest.raises(ValueError, match="key"):
        GeminiModel(MODEL, key=" ")


async def test_what_is_passed_wins_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "GOOGLE_API_KEY": "from-the-environment",
        "GEMINI_API_KEY": "from-the-environment-too",
        "GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:1",
        "GOOGLE_GENAI_API_VERSION": "beta",
        "GOOGLE_GENAI_USE_VERTEXAI": "true",
        "GOOGLE_GENAI_USE_ENTERPRISE": "true",
        "GOOGLE_CLOUD_PROJECT": "somebody",
        "GOOGLE_CLOUD_LOCATION": "asia-northeast1",
    }.items():
        monkeypatch.setenv(name, value)
    async with FakeGemini(Reply((text("Yes."),))) as gemini:
        await parts(gemini)
    assert gemini.journal[0].version == "v1"
    assert gemini.journal[0].headers["x-goog-api-key"] == gemini.key
    without = GeminiModel(MODEL, key="k")
    url = without._client._api_client._http_options.base_url
    await without.close()
    assert url == "https://generativelanguage.googleapis.com/"


# -- versions of the API --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("paged", [False, True], ids=["a new model", "a stand-in without the other paths"])
async def test_what_only_the_beta_version_has_is_asked_for_there_from_then_on(paged: bool) -> None:
    async with FakeGemini(Reply((text("Yes."),)), Reply((text("No."),)), versions=["v1beta"], paged=paged) as gemini:
        using = model(gemini)
        for said in ("Yes.", "No."):
            found = [part async for part in using.converse((SYSTEM, ASKED), (tool(),))]
            assert last(found).text == said
        await using.close()
    assert [call.version for call in gemini.journal] == ["v1", "v1beta", "v1beta"]
    assert "thinkingConfig" in gemini.journal[-1].body["generationConfig"]


async def test_a_word_that_the_stable_version_does_not_know_is_said_in_the_beta_version() -> None:
    async with FakeGemini(Reply((text("Yes."),)), beta=["systemInstruction"]) as gemini:
        await parts(gemini)
    assert [call.version for call in gemini.journal] == ["v1", "v1beta"] and gemini.finished


async def test_what_no_version_has_is_refused_by_the_stable_one() -> None:
    async with FakeGemini() as gemini:
        using = model(gemini, model="gemini-3.8-flahs")
        for _ in range(2):
            with pytest.raises(ModelUnavailable, match=r"is not found for API version v1$"):
                [part async for part in using.converse((SYSTEM, ASKED))]
        await using.close()
    assert [call.version for call in gemini.journal] == ["v1", "v1beta", "v1", "v1"]


async def test_the_version_that_somebody_wishes_for_is_the_only_one() -> None:
    async with FakeGemini(versions=["v1beta"]) as gemini:
        with pytest.raises(ModelUnavailable):
            await parts(gemini, api_version="v1")
    assert [call.version for call in gemini.journal] == ["v1"]


async def test_two_questions_at_once_change_the_version_once() -> None:
    async with FakeGemini(Reply((text("Yes."),)), Reply((text("Yes."),)), versions=["v1beta"]) as gemini:
        using = model(gemini)

        async def ask() -> None:
            [part async for part in using.converse((SYSTEM, ASKED))]

        await asyncio.gather(ask(), ask())
        await using.close()
    assert sorted(call.version for call in gemini.journal) == ["v1", "v1", "v1beta", "v1beta"]
