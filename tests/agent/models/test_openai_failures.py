"""What may go wrong with an OpenAI-compatible server, as our errors; and where the key never shows."""

import asyncio
import logging
import socket
import traceback
from contextlib import aclosing
from typing import Any

import pytest
from pydantic import SecretStr

from agent.models.base import (
    ModelBlocked,
    ModelBusy,
    ModelProtocolError,
    ModelUnavailable,
    TextPart,
    ToolMessage,
    ToolResult,
    UserMessage,
)
from agent.models.openai import OpenAIModel
from agent.models.retry import RetryingModel
from agent.outcomes import failed
from agent.strategies.react import Agent
from tests.agent.models.gemini_calls import ASKED, SYSTEM, last, tool
from tests.agent.models.openai_calls import MODEL, failure, model, parts
from tests.agent.turning import Searches, answer_of, asking
from tests.fakes.openai import FakeOpenAI, Order, Refuse, Reply, busy, call, reasoning, text


def of_a_provider(raw: str) -> dict[str, Any]:
    """OpenRouter's body, with what the provider behind it has said."""
    return {"error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": raw}}}


@pytest.mark.parametrize(
    "order",
    [
        Reply(text("I sh"), "content_filter"),
        Reply(({"refusal": "I cannot help with that."},)),
        Reply(({"content": [{"type": "refusal", "refusal": "I cannot help with that."}]},)),
        Refuse(400, "The response was filtered.", word="content_filter"),
        Refuse(403, body={"error": {"code": 403, "message": "Your input was flagged.", "metadata": {}}}),  # OpenRouter
        Refuse(400, "Rejected by our safety system.", word="content_policy_violation"),
    ],
)
async def test_a_refusal_for_safety(order: Order) -> None:
    assert isinstance(await failure(order), ModelBlocked)


@pytest.mark.parametrize(
    "reply",
    [
        Reply(),
        Reply((reasoning("Only thinking."),)),
        Reply(text("<think>Only thinking.")),
        Reply((), "solar_flare"),
        Reply(call("search", '{"query": '), "solar_flare"),
        Reply(({"content": [{"type": "text", "text": 7}]},)),
        Reply(call("search", '{"query": '), "tool_calls"),
        Reply(call("search", "[1]"), "tool_calls"),
        Reply(call("", {"query": "a"}), "tool_calls"),
        Reply(call("search", "[" * 100_000), "tool_calls"),
        Reply(({"content": 7},)),
        Reply(({"tool_calls": ["x"]},)),
    ],
)
async def test_a_reply_without_use(reply: Reply) -> None:
    assert isinstance(await failure(reply), ModelProtocolError)


@pytest.mark.parametrize(
    ("refusal", "seconds"),
    [
        (busy(), None),
        (busy(**{"Retry-After": "3"}), 3.0),
        (busy(**{"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}), 0.0),
        (Refuse(429, page="<html>slow down</html>"), None),
        (Refuse(429, "You exceeded your current quota.", word="insufficient_quota"), 3600.0),
        (Refuse(402, "Insufficient Balance"), 3600.0),
        (Refuse(429, body=[{"error": {"message": "Quota.", "details": [{"retryDelay": "17s"}]}}]), 17.0),  # Gemini's
        (Refuse(529, "Overloaded", "overloaded_error"), None),
        (Reply(text("30"), None, "error", error={"message": "Slow down.", "code": "rate_limit_exceeded"}), None),
        (Reply(text("30"), None, "error", error={"message": "Slow down.", "code": 429}), None),
    ],
)
async def test_busy_says_how_long_to_wait_and_is_not_retried_here(refusal: Order, seconds: float | None) -> None:
    async with FakeOpenAI(refusal) as server:
        with pytest.raises(ModelBusy) as caught:
            await parts(server)
    assert caught.value.retry_after == seconds
    assert len(server.journal) == 1


@pytest.mark.parametrize(
    ("order", "why"),
    [
        (Refuse(500, "Internal error.", "server_error"), "down"),
        (Refuse(503, body={"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}), "down"),
        (Refuse(502, page="<html><h1>Bad gateway</h1></html>"), "down"),
        (Refuse(200, page="<!doctype html><html>Sign in</html>"), "down"),
        (Refuse(302, page="<html></html>", headers={"Location": "http://127.0.0.1:1/"}), "down"),
        (Refuse(408, "Request timeout."), "timeout"),
        (Refuse(504, page="<html>Gateway timeout</html>"), "timeout"),
        (Refuse(401, "Unauthorized."), "key"),
        (Refuse(403, "Country, region, or territory not supported."), "key"),
        (Refuse(404, page="404 page not found"), "model"),
        (Refuse(404, body={"error": 'model "qwen9" not found, try pulling it first'}), "model"),
        (Refuse(400, "Invalid model name passed in model=x.", word="model_not_found"), "model"),
        (Refuse(400, "Invalid model name passed in model=x. Call `/v1/models` to view available models."), "model"),
        (Refuse(400, "Model Not Exist"), "model"),  # DeepSeek
        (Refuse(400, "qwen/qwen9 is not a valid model ID"), "model"),  # OpenRouter
        (
            Refuse(400, body={"object": "error", "message": "No such name.", "type": "invalid_model"}),
            "model",
        ),  # Mistral
        (Refuse(400, "No models loaded. Please load a model in the developer page."), "model"),  # LM Studio
        (Refuse(400, body=[{"error": {"code": 400, "message": "API key not valid."}}]), "key"),  # Gemini's endpoint
        (Refuse(400, body=[{"error": {"message": "No.", "details": [{"reason": "API_KEY_INVALID"}]}}]), "key"),
        (Refuse(400, body=[{"error": {"message": "Not from here.", "status": "FAILED_PRECONDITION"}}]), "key"),
        (Reply(text("30 da"), ending="cut"), "down"),
        (Reply(text(" "), None), "down"),
        (Reply(text("30 da"), None, "error"), "down"),
        (Reply(text("30 da"), "abort"), "down"),
    ],
)
async def test_out_of_order(order: Order, why: str) -> None:
    error = await failure(order)
    assert isinstance(error, ModelUnavailable) and error.why == why
    assert "<" not in str(error)


@pytest.mark.parametrize(
    "order",
    [
        Refuse(
            400,
            "This model's maximum context length is 8192 tokens. However, your messages resulted in 9100 tokens.",
            word="context_length_exceeded",
        ),
        Refuse(400, "the request exceeds the available context size, try increasing it", "exceed_context_size_error"),
        Refuse(500, "Context size has been exceeded.", "server_error"),  # llama.cpp
        Refuse(400, "prompt is too long: 210000 tokens > 200000 maximum"),
        Refuse(400, "Please reduce the length of the messages or completion.", word="context_length_exceeded"),  # Groq
        Refuse(400, "The input (9000 tokens) is longer than the model's context length (8192 tokens)."),  # SGLang
        Refuse(400, "The decoder prompt (length 9000) is longer than the maximum model length of 8192."),  # vLLM
        Refuse(400, "Range of input length should be [1, 8192]"),  # Alibaba
        Refuse(422, body={"error": "Input validation error: `inputs` must have less than 4095 tokens. Given: 9000"}),
        Refuse(400, body={"error": "This model's maximum prompt length is 8192 but the request contains 9000 tokens."}),
        Refuse(400, "Invalid request: Your request exceeded model token limit: 8192"),  # Kimi
        Refuse(400, "invalid params, context window exceeds limit"),  # MiniMax
        Refuse(
            400, body=of_a_provider('{"message": "Input length 9000 exceeds the maximum allowed input length"}')
        ),  # OpenRouter
        Refuse(413, page="<html>Request Entity Too Large</html>"),
        Reply((), None, "error", error={"message": "The model is loaded with context length of only 4096 tokens"}),
    ],
)
async def test_what_is_too_long_to_read_is_not_asked_again_and_said(order: Order) -> None:
    async with FakeOpenAI(order, order) as server:
        using = model(server)
        agent = Agent(RetryingModel(using), Searches())
        answer = answer_of([event async for event in agent.run(asking("返金はいつ？"))])
        await using.close()
    assert answer.outcome == "failed" and "読める長さを超えた" in answer.text
    limits = [sent.body.get("max_tokens") for sent in server.journal]
    assert limits == [8192, None][: len(limits)]  # asked again at most where the answer's length may have been too much


async def test_a_request_refused_within_the_stream_is_made_simpler_unless_the_reply_has_begun() -> None:
    error = {"message": "gemma:2b does not support tools", "code": 400}
    async with FakeOpenAI(Reply((), None, "error", error=error), Reply(text("Yes."))) as server:
        assert last(await parts(server)).text == "Yes."
    assert ["tools" in sent.body for sent in server.journal] == [True, False]
    async with FakeOpenAI(Reply(text("30"), None, "error", error=error)) as server:
        with pytest.raises(ModelProtocolError):
            await parts(server)
    assert len(server.journal) == 1


async def test_a_wrong_model() -> None:
    error = await failure(model="gpt-9")
    assert isinstance(error, ModelUnavailable) and error.why == "model" and "gpt-9" in str(error)
    assert "gpt-9" not in failed(error, "en") and "利用できない" in failed(error, "ja")


@pytest.mark.parametrize(
    "refusal",
    [
        Refuse(400, body={"error": {"message": "registry.ollama.ai/library/gemma:2b does not support tools"}}),
        Refuse(400, body={"object": "error", "message": '"auto" tool choice requires --enable-auto-tool-choice'}),
        Refuse(500, body={"error": {"message": "tools param requires --jinja flag", "type": "server_error"}}),
        Refuse(404, body={"error": {"message": "No endpoints found that support tool use.", "code": 404}}),
        Refuse(400, "`tool calling` is not supported with this model"),
        Refuse(400, "tools is not supported in this model. For a list of supported models, refer to the docs."),
        Refuse(400, "Unrecognized request argument supplied: tools"),
        Refuse(422, body={"detail": [{"loc": ["body", "tools"], "msg": "Extra inputs are not permitted"}]}),
        Refuse(400, "deepseek-reasoner does not support Function Calling"),
        Refuse(400, body=of_a_provider('{"error": {"message": "This model does not support tools."}}')),
    ],
)
async def test_a_model_without_tools_answers_without_them_and_is_known_to_have_none(refusal: Refuse) -> None:
    async with FakeOpenAI(refusal, Reply(text("Yes.")), Reply(text("No."))) as server:
        using = model(server)
        before = using.tools
        said = [last([part async for part in using.converse((SYSTEM, ASKED), (tool(),))]).text for _ in range(2)]
        assert (said, before, using.tools) == (["Yes.", "No."], None, False)
        await using.close()
    assert ["tools" in sent.body for sent in server.journal] == [True, False, False]


async def test_calls_that_were_made_are_told_as_text_to_a_model_that_turns_out_to_have_no_tools() -> None:
    called = call("search_rag_knowledge_base", {"query": "返金"})
    async with FakeOpenAI(Reply(called, "tool_calls")) as server:
        using = model(server)
        message = last([part async for part in using.converse((SYSTEM, ASKED), (tool(),))])
        assert using.tools
        server.order(Refuse(400, "gemma:2b does not support tools"), Reply(text("30 days.")))
        results = ToolMessage(((message.calls[0], ToolResult("Refunds take 30 days.", "")),))
        assert [part async for part in using.converse((SYSTEM, ASKED, message, results), (tool(),))]
        await using.close()
    assert "Refunds take 30 days." in server.journal[-1].body["messages"][-1]["content"]


async def test_a_turn_of_a_model_whose_thinking_eats_its_output_ends_after_two_calls_in_words() -> None:
    async with FakeOpenAI(*[Reply((reasoning("…"),), "length")] * 3) as server:
        using = model(server)
        agent = Agent(RetryingModel(using), Searches())
        answer = answer_of([event async for event in agent.run(asking("How long do refunds take?"))])
        await using.close()
    assert answer.outcome == "failed" and "nothing was left for an answer" in answer.text and len(server.journal) == 2


async def test_silence_ends_at_the_time_limit() -> None:
    error = await failure(Reply(text("30"), None, "hang"), timeout=0.2)
    assert isinstance(error, ModelUnavailable) and error.why == "timeout"


async def test_a_whole_reply_is_used_though_its_stream_does_not_end() -> None:
    async with FakeOpenAI(Reply(text("30 days."), ending="linger")) as server:
        assert last(await parts(server, timeout=1.5)).text == "30 days."


async def test_nobody_listens() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        error = await failure(base_url=f"http://127.0.0.1:{held.getsockname()[1]}")
    assert isinstance(error, ModelUnavailable) and error.why == "down"


async def test_the_connect_may_take_five_seconds_of_the_sixty() -> None:
    using = OpenAIModel(MODEL)
    limits = using._http.timeout
    address = str(using._url)
    await using.close()
    assert (limits.connect, limits.read) == (5.0, 60.0)
    assert address == "https://api.openai.com/v1/chat/completions"


async def test_who_reads_slowly_is_not_timed_out() -> None:
    async with FakeOpenAI(Reply(text("one two three four", 2))) as server:
        using = model(server, timeout=1.0)
        read = 0
        async for _ in using.converse((SYSTEM, ASKED), (tool(),)):
            read += 1
            if read == 1:
                await asyncio.sleep(1.2)  # what is under test is time itself
        await using.close()
    assert read > 2


async def test_a_turn_that_is_given_up_leaves_nothing_open() -> None:
    async with FakeOpenAI(Reply(text("one two three", 2), ending="hang")) as server:
        using = model(server)
        conversation: Any = using.converse((SYSTEM, ASKED), (tool(),))
        async with aclosing(conversation) as stream:
            async for part in stream:
                assert isinstance(part, TextPart)
                break
        await using.close()


# -- the key --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["sk-Wrong-abcdefghijklmnopqrstuvwxyz", "sk\nbroken", "鍵sk-Wrong", "sk\x00broken"])
async def test_the_key_is_in_no_error_log_or_representation(key: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with FakeOpenAI() as server:
        using = model(server, key=SecretStr(key))
        with pytest.raises(ModelUnavailable) as caught:
            async for _ in using.converse((SYSTEM, ASKED), (tool(),)):
                pass
        await using.close()
    assert caught.value.why == "key"
    logging.getLogger("test").exception("turn failed", exc_info=caught.value)
    shown = "".join(traceback.format_exception(caught.value)) + repr(using) + str(vars(using)) + caplog.text
    assert key not in shown and repr(key)[1:-1] not in shown


@pytest.mark.parametrize(
    ("words", "context", "said"),
    [
        ("How long do refunds take when the customer pays by card? " * 600, 4_096, 1),
        ("How long do refunds take when the customer pays by card? " * 600, 100_000, 0),
        ("カードで払ったときの返金には何日かかりますか。" * 800, 4_096, 1),
        ("Как долго ждать возврата, если покупатель платит картой? " * 400, 5_700, 0),  # 4 characters a token
    ],
)
async def test_a_server_that_reads_less_than_it_is_sent_is_told_of_once(
    words: str, context: int, said: int, caplog: pytest.LogCaptureFixture
) -> None:
    long = UserMessage(words)
    async with FakeOpenAI(*[Reply(text("Yes."), context=context)] * 2) as server:
        using = model(server)
        for _ in range(2):
            async for _ in using.converse((SYSTEM, long)):
                pass
        await using.close()
    assert sum("OLLAMA_CONTEXT_LENGTH" in record.getMessage() for record in caplog.records) == said
