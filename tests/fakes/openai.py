"""An OpenAI-compatible server on loopback: it refuses what OpenAI, vLLM, llama.cpp or Ollama refuse, and fails on
order.

Replies come from a queue, or from the same small obedient model as Gemini's fake. Every request is in the journal.
"""

import asyncio
import json
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, Self

from aiohttp import web

from tests.fakes.obedient import obey
from tests.fakes.openai_rules import Resizes, Rules
from tests.fakes.streaming import write
from tests.fakes.vectors import bag_of_trigrams

Json = dict[str, Any]
KEY = "sk-fake-0123456789-loopback"


# -- what can be ordered --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reply:
    """A streamed reply, a delta a chunk, then `ending`; `finish` in a chunk of its own (None: none ever comes).

    `ending` "cut" drops the connection in the middle of the last chunk, "hang" leaves it open in silence, "error"
    sends an error chunk, "linger" hangs after the finish reason and before the usage, "whole" is a server that does
    not stream; "end" is the ordinary one: usage if it was asked for, and [DONE].
    """

    deltas: tuple[Json, ...] = ()
    finish: str | None = "stop"
    ending: Literal["end", "cut", "hang", "error", "linger", "whole"] = "end"
    thoughts: int = 0  # tokens
    context: int = 100_000  # tokens that it reads, as Ollama without a word of what it leaves out
    kind: str = "text/event-stream; charset=utf-8"  # of the answer
    pace: float = 0.0  # seconds before each chunk
    error: Mapping[str, Any] = field(default_factory=lambda: {"message": "Engine died.", "code": 500})
    usage: Json | None = None  # in place of what was counted


@dataclass(frozen=True)
class Refuse:
    """An error status as OpenAI words it; or a body of its own, JSON (`body`) or a proxy's HTML (`page`)."""

    code: int
    message: str = "Something went wrong."
    kind: str = "invalid_request_error"
    word: str | None = None  # OpenAI's `code`
    headers: Mapping[str, str] = field(default_factory=dict)
    page: str = ""
    body: Any = None


@dataclass(frozen=True)
class Vectors:
    """An answer to an embedding request, as it is; None: silence."""

    body: Any = None


Order = Reply | Refuse


def text(said: str, piece: int = 0) -> tuple[Json, ...]:
    """Content, in pieces of `piece` characters (0: whole)."""
    size = piece or max(1, len(said))
    return tuple({"content": said[at : at + size]} for at in range(0, len(said), size))


def reasoning(said: str, name: str = "reasoning_content") -> Json:
    return {name: said, "content": ""}


def call(name: str, arguments: Json | str, *, id: str | None = "call_1", index: int | None = 0, piece: int = 0) -> Any:
    """A call as OpenAI streams it: id and name first, then the arguments in pieces. Without `id`, `index` or `piece`
    as lesser servers do, down to a single delta."""
    written = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    numbered: Json = {} if index is None else {"index": index}
    named: Json = {"type": "function"} | ({"id": id} if id else {}) | numbered
    if not piece:
        return ({"tool_calls": [named | {"function": {"name": name, "arguments": written}}]},)
    pieces = [written[at : at + piece] for at in range(0, len(written), piece)]
    first = {"tool_calls": [named | {"function": {"name": name, "arguments": ""}}]}
    return (first, *({"tool_calls": [numbered | {"function": {"arguments": part}}]} for part in pieces))


def busy(message: str = "Rate limit reached.", **headers: str) -> Refuse:
    return Refuse(429, message, "requests", "rate_limit_exceeded", headers)


# -- the server -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Call:
    """One request. `path` is as it was asked for."""

    path: str
    body: Json
    headers: Mapping[str, str]


class FakeOpenAI:
    """`async with FakeOpenAI(Reply(…), Refuse(…)) as server:` or `FakeOpenAI(obedient=True)`; then `.url`, `.key`.

    `url` ends in /v1. `key` None: a local server that asks for none. `without` names what this server does not take:
    "usage" (stream_options), "stream" (to an organisation that was not verified), "max_tokens" (only
    max_completion_tokens), "limit" (either: its window is small), "schema" (a reply's form), "effort"
    (reasoning_effort), "thinking" (tools with any effort but "none"), "none" (that effort), "tools", "system" (that
    role, as Gemma's first templates), "results" (calls and their results, which Gemma's templates have no role for). `alternates`: its template wants user and assistant in turn.
    `embedders` are the models with their sizes; `resizes` says what a wish for `dimensions` does: made, refused, or
    ignored. `at_once` are the texts that it embeds in one request (Alibaba's 10), `reads` the characters of one text,
    over which it says `overlong`."""

    def __init__(
        self,
        *orders: Order,
        obedient: bool = False,
        key: str | None = KEY,
        models: Sequence[str] = ("qwen3:8b", "gpt-5-mini"),
        embedders: Mapping[str, int] | None = None,
        without: Sequence[str] = (),
        alternates: bool = True,
        resizes: Resizes = "makes",
        at_once: int = 32,
        reads: int = 20_000,
        overlong: Refuse = Refuse(400, "the input length exceeds the context length"),
    ) -> None:
        self.key = key
        self.url = ""
        self.journal: list[Call] = []
        self.refused: list[str] = []
        self._orders = deque(orders)
        self._embedding_orders: deque[Refuse | Vectors] = deque()
        self._obedient = obedient
        self._rules = Rules(frozenset(without), alternates, resizes, at_once)
        self._reads, self._overlong = reads, overlong
        self._models = set(models)
        self._embedders = {"text-embedding-3-small": 1536, "bge-m3": 1024} if embedders is None else embedders
        self._reasoning: set[str] = set()  # fields of thinking that were sent
        self._over = asyncio.Event()

    def order(self, *orders: Order) -> None:
        self._orders.extend(orders)

    def order_embedding(self, *orders: Refuse | Vectors) -> None:
        """For the next requests for embeddings, which are served as they come when nothing is ordered."""
        self._embedding_orders.extend(orders)

    @property
    def finished(self) -> bool:
        return not self._orders and not self._embedding_orders

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=20 * 2**20)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_post("/inference/chat/completions", self._chat)  # GitHub's has no version
        app.router.add_post("/v1/embeddings", self._embed)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        await self._runner.cleanup()

    async def _heard(self, request: web.Request) -> Json:
        body: Json = await request.json()
        self.journal.append(Call(request.path, body, request.headers.copy()))
        return body

    def _stranger(self, request: web.Request) -> Refuse | None:
        given = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if self.key is None or given == self.key:
            return None
        if not given:
            return Refuse(401, "You didn't provide an API key.")
        return Refuse(401, f"Incorrect API key provided: {given}.", word="invalid_api_key")

    # -- chat -------------------------------------------------------------------------------------------------------

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body = await self._heard(request)
        refusal = self._stranger(request)
        if not refusal and body.get("model") not in self._models:
            missing = f"The model `{body.get('model')}` does not exist or you do not have access to it."
            refusal = Refuse(404, missing, word="model_not_found")
        if not refusal and (wrong := next(self._rules.wrong(body, self._reasoning), None)):
            refusal = Refuse(400, wrong)
        if refusal:
            self.refused.append(refusal.message)
            return _refused(refusal)
        if not self._orders and not self._obedient:
            return _refused(Refuse(500, "the test has ordered no reply for this request", "server_error"))
        order = self._orders.popleft() if self._orders else self._obeyed(body)
        if isinstance(order, Refuse):
            return _refused(order)
        self._reasoning |= {name for delta in order.deltas for name in delta if name.startswith("reasoning")}
        if order.ending == "whole":
            return web.json_response(_merged(order, body))
        return await self._send(request, order, body)

    async def _send(self, request: web.Request, reply: Reply, body: Json) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": reply.kind})
        await response.prepare(request)
        await response.write(b": keep-alive\n\n")
        chunks = [_chunk({"role": "assistant", "content": ""}), *map(_chunk, reply.deltas)]
        if reply.finish:
            chunks.append(_chunk({}, reply.finish))
        lines = [_line(chunk) for chunk in chunks]
        if reply.ending == "cut":
            lines[-1] = lines[-1][: len(lines[-1]) // 2]
        for line in lines if reply.pace else ():
            await asyncio.sleep(reply.pace)
            await response.write(line)
        if not reply.pace:
            await write(response, b"".join(lines))
        match reply.ending:
            case "cut":
                assert request.transport is not None
                request.transport.close()
                return response
            case "hang" | "linger":
                await self._over.wait()
            case "error":
                await response.write(_line({"error": dict(reply.error)}))
            case _:
                if body.get("stream_options", {}).get("include_usage"):
                    await response.write(_line({**_chunk({}), "choices": [], "usage": _usage(reply, body)}))
                await response.write(b"data: [DONE]\n\n")
        return response

    def _obeyed(self, body: Json) -> Reply:
        deltas: list[Json] = []
        finish = "stop"
        for count, part in enumerate(obey(_as_gemini(body))):
            if "call" in part:
                made = part["call"]
                deltas += call(made["name"], made["args"], id=f"call_{len(self.journal)}_{count}", piece=12)
                finish = "tool_calls"
            elif part.get("thought"):
                deltas.append(reasoning(part["text"]))
            else:
                deltas += text(part["text"], 12)
        return Reply(tuple(deltas), finish)

    # -- embeddings -------------------------------------------------------------------------------------------------

    async def _embed(self, request: web.Request) -> web.StreamResponse:
        body = await self._heard(request)
        refusal = self._stranger(request)
        size = self._embedders.get(body.get("model", ""))
        if not refusal and size is None:
            refusal = Refuse(404, f'model "{body.get("model")}" not found, try pulling it first', "not_found_error")
        wished = body.get("dimensions")
        if not refusal and size is not None and (wrong := next(self._rules.wrong_embedding(body, size), None)):
            refusal = Refuse(400, wrong)
        if not refusal and any(len(each) > self._reads for each in body["input"]):
            refusal = self._overlong
        if refusal:
            self.refused.append(refusal.message)
            return _refused(refusal)
        if self._embedding_orders:
            order = self._embedding_orders.popleft()
            if isinstance(order, Refuse):
                return _refused(order)
            if order.body is None:
                await self._over.wait()
            return web.json_response(order.body)
        made = wished if wished and self._rules.resizes == "makes" else size
        rows = [
            {"object": "embedding", "index": at, "embedding": bag_of_trigrams(each, made or 0)}
            for at, each in enumerate(body["input"])
        ]
        return web.json_response({"object": "list", "data": rows[::-1], "model": body["model"]})


# -- shapes ---------------------------------------------------------------------------------------------------------


def _chunk(delta: Json, finish: str | None = None) -> Json:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "fake", "choices": [choice]}


def _line(chunk: Json) -> bytes:
    return f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode()


def _usage(reply: Reply, body: Json) -> Json:
    if reply.usage is not None:
        return reply.usage
    written = len(reply.deltas) + reply.thoughts
    usage: Json = {
        "prompt_tokens": min(len(json.dumps(body)) // 4, reply.context),
        "completion_tokens": written,
    }
    if reply.thoughts:
        usage["completion_tokens_details"] = {"reasoning_tokens": reply.thoughts}
    return usage


def _merged(reply: Reply, body: Json) -> Json:
    written = [delta.get("content", "") for delta in reply.deltas]
    content = written[0] if written and isinstance(written[0], list | dict) else "".join(written)
    calls = [each for delta in reply.deltas for each in delta.get("tool_calls", ())]
    message = {"role": "assistant", "content": content} | ({"tool_calls": calls} if calls else {})
    choice = {"index": 0, "message": message, "finish_reason": reply.finish}
    return {"object": "chat.completion", "choices": [choice], "usage": _usage(reply, body)}


def _refused(refusal: Refuse) -> web.Response:
    headers = dict(refusal.headers)
    if refusal.page:
        return web.Response(status=refusal.code, text=refusal.page, content_type="text/html", headers=headers)
    error = {"message": refusal.message, "type": refusal.kind, "param": None, "code": refusal.word}
    body = {"error": error} if refusal.body is None else refusal.body
    return web.json_response(body, status=refusal.code, headers=headers)


def _as_gemini(body: Json) -> Json:
    """The request as the obedient model reads it."""
    contents: list[Json] = []
    names: dict[str, str] = {}
    system: list[Json] = []
    for message in body["messages"]:
        said = [{"text": message["content"]}] if message["content"] else []
        match message["role"]:
            case "system":
                system += said
            case "tool":
                response = {"name": names[message["tool_call_id"]], "response": {"output": message["content"]}}
                contents.append({"role": "user", "parts": [{"functionResponse": response}]})
            case role:
                calls = message.get("tool_calls", ())
                names |= {each["id"]: each["function"]["name"] for each in calls}
                made = [{"functionCall": {"name": each["function"]["name"]}} for each in calls]
                contents.append({"role": "model" if role == "assistant" else "user", "parts": said + made})
    config: Json = {"thinkingConfig": {"includeThoughts": True}}
    if form := body.get("response_format"):
        config["responseSchema"] = form["json_schema"]["schema"]
    return {
        "contents": contents,
        "systemInstruction": {"parts": system},
        "generationConfig": config,
        "tools": [{"functionDeclarations": [tool["function"] for tool in body.get("tools", ())]}],
        "toolConfig": {"functionCallingConfig": {"mode": str(body.get("tool_choice", "auto")).upper()}},
    }
