"""Gemini on loopback: it refuses what the real service refuses, and fails on order.

Replies come from a queue, or from a small obedient model that searches first, quotes what it found and keeps its
draft (`tests/fakes/obedient.py`). Every request is in the journal.
"""

import asyncio
import base64
import hashlib
import json
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, Self

from aiohttp import web

from tests.fakes.obedient import obey
from tests.fakes.streaming import write
from tests.fakes.vectors import bag_of_trigrams

Json = dict[str, Any]
RETIRED = frozenset({"gemini-2.0-flash", "gemini-1.5-pro"})
KEY = "AIzaFake-0123456789-loopback"
_NATIVE_SIZE = 3072  # of both embedding models


# -- what can be ordered --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reply:
    """A streamed reply: a part a chunk, its text in pieces of `piece` characters (0: whole), then `ending`.

    `ending` "cut" drops the connection in the middle of a chunk, "hang" leaves it open in silence, "error" sends an
    error chunk; "end" is the ordinary one, with `finish` on the last chunk (None: no finish reason ever comes).
    """

    parts: tuple[Json, ...] = ()
    finish: str | None = "STOP"
    piece: int = 0
    ending: Literal["end", "cut", "hang", "error"] = "end"
    thoughts: int = 7  # tokens


@dataclass(frozen=True)
class Refuse:
    """An error status, as Google words it; or a proxy's HTML page (`page`), with any status."""

    code: int
    message: str = "Something went wrong."
    status: str = "INVALID_ARGUMENT"
    details: tuple[Json, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    page: str = ""


@dataclass(frozen=True)
class Block:
    """No candidates; the prompt was refused."""

    reason: str = "SAFETY"


@dataclass(frozen=True)
class Vectors:
    """The answer to a request for embeddings, as it is; None: silence."""

    body: Any = None


Order = Reply | Refuse | Block


def text(said: str, signature: bytes | None = None) -> Json:
    return _signed({"text": said}, signature)


def thought(said: str) -> Json:
    return {"text": said, "thought": True}


def call(name: str, args: Json, *, id: str | None = None, signature: bytes | None = b"") -> Json:
    """A function call. `signature` b"": one is made up; None: none, as for all but the first of parallel calls."""
    made = {"name": name, "args": args} | ({"id": id} if id else {})
    if signature == b"":
        signature = b"\xfb\xff" + hashlib.sha256(json.dumps(made).encode()).digest()
    return _signed({"functionCall": made}, signature)


def busy(seconds: str = "2s", **headers: str) -> Refuse:
    retry = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": seconds}
    return Refuse(429, "Resource has been exhausted.", "RESOURCE_EXHAUSTED", (retry,), headers)


def _signed(part: Json, signature: bytes | None) -> Json:
    return part | ({"thoughtSignature": base64.b64encode(signature).decode()} if signature else {})


# -- the server -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Call:
    """One request: `body` in camel case as the API documents it, `raw` as it came."""

    version: str
    model: str
    action: str
    body: Json
    raw: Json
    headers: Mapping[str, str]


class FakeGemini:
    """`async with FakeGemini(Reply(…), Refuse(…)) as gemini:` or `FakeGemini(obedient=True)`; then `.url`, `.key`.

    `versions`: those that have the models; any other path is a page, where `paged`. `beta`: fields of a request that v1
    does not know, as tools and the system instruction once were."""

    def __init__(
        self,
        *orders: Order,
        obedient: bool = False,
        models: Sequence[str] = ("gemini-3.8-flash", "gemini-3.5-flash-lite"),
        embedders: Sequence[str] = ("gemini-embedding-001", "gemini-embedding-2"),
        thinks: bool = True,
        levels: bool = True,
        schema_beside_tools: bool = True,
        versions: Sequence[str] = ("v1", "v1beta"),
        paged: bool = False,
        beta: Sequence[str] = (),
    ) -> None:
        self.key = KEY
        self.url = ""
        self.journal: list[Call] = []
        self.refused: list[str] = []
        self._orders = deque(orders)
        self._embedding_orders: deque[Refuse | Vectors] = deque()
        self._obedient = obedient
        self._models, self._embedders = set(models), set(embedders)
        self._thinks, self._levels, self._schema_beside_tools = thinks, levels, schema_beside_tools
        self._versions, self._paged, self._beta = versions, paged, set(beta)
        self._issued: list[Json] = []  # parts that bear a signature or a call, as they were sent
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
        app.router.add_post(r"/{version}/models/{model}:{action}", self._handle)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        await self._runner.cleanup()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        where = request.match_info
        raw = await request.json()
        body = _camel(raw)
        called = Call(where["version"], where["model"], where["action"], body, raw, request.headers.copy())
        self.journal.append(called)
        key = request.headers.get("x-goog-api-key") or request.query.get("key")
        if refusal := self._refusal(called, key):
            self.refused.append(refusal.message)
            return _refused(refusal)
        if called.action in _EMBEDDING:
            return await self._embedded(called)
        if not self._orders and not self._obedient:
            return _refused(Refuse(500, "the test has ordered no reply for this request", "INTERNAL"))
        order = self._orders.popleft() if self._orders else Reply(tuple(self._obeyed(body)), piece=12)
        match order:
            case Refuse():
                return _refused(order)
            case Block():
                return await self._send(request, called, [{"promptFeedback": {"blockReason": order.reason}}], "end")
            case Reply():
                self._issued += [part for part in order.parts if "thoughtSignature" in part or "functionCall" in part]
                return await self._send(request, called, list(_chunks(order, body)), order.ending)

    async def _embedded(self, called: Call) -> web.StreamResponse:
        order = self._embedding_orders.popleft() if self._embedding_orders else None
        match order:
            case Refuse():
                return _refused(order)
            case Vectors(None):
                await self._over.wait()
            case Vectors(body):
                return web.json_response(body)
        if called.action == "embedContent":
            return web.json_response({"embedding": {"values": _embedding(called.body, called.model)}})
        found = [{"values": _embedding(each, called.model)} for each in called.body["requests"]]
        return web.json_response({"embeddings": found})

    def _obeyed(self, body: Json) -> Iterator[Json]:
        for part in obey(body):
            yield call(**part["call"]) if "call" in part else part

    async def _send(self, request: web.Request, called: Call, chunks: list[Json], ending: str) -> web.StreamResponse:
        if called.action == "generateContent":
            return web.json_response(_merged(chunks))
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        lines = [f"data: {json.dumps(chunk, ensure_ascii=False)}\r\n\r\n".encode() for chunk in chunks]
        if ending == "cut":
            lines[-1] = lines[-1][: len(lines[-1]) // 2]
        await write(response, b"".join(lines))
        match ending:
            case "cut":
                assert request.transport is not None
                request.transport.close()
            case "hang":
                await self._over.wait()
            case "error":
                error = {"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}
                await response.write(f"data: {json.dumps(error)}\r\n\r\n".encode())
        return response

    # -- what the real service refuses ------------------------------------------------------------------------------

    def _refusal(self, called: Call, key: str | None) -> Refuse | None:
        if not key:
            return Refuse(403, "Method doesn't allow unregistered callers.", "PERMISSION_DENIED")
        if key != self.key:
            info = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}
            return Refuse(400, "API key not valid. Please pass a valid API key.", details=(info,))
        known = self._embedders if called.action in _EMBEDDING else self._models - RETIRED
        if called.version not in self._versions and self._paged:
            return Refuse(404, page="<html>404</html>")
        if called.version not in self._versions or called.model not in known:
            return Refuse(404, f"models/{called.model} is not found for API version {called.version}", "NOT_FOUND")
        checks: dict[str, Callable[[Json], Iterator[str]]] = {
            "generateContent": self._wrong,
            "streamGenerateContent": self._wrong,
            "batchEmbedContents": lambda body: _wrong_batch(body, called.model),
            "embedContent": lambda body: _wrong_embedding(body, called.model),
        }
        if called.action not in checks:
            return Refuse(404, f"no method {called.action}", "NOT_FOUND")
        if called.version == "v1" and (unknown := next(iter(called.body.keys() & self._beta), None)):
            return Refuse(400, f'Invalid JSON payload received. Unknown name "{unknown}": Cannot find field.')
        wrong = next(checks[called.action](called.body), None)
        return Refuse(400, wrong) if wrong else None

    def _wrong(self, body: Json) -> Iterator[str]:
        fields = {"contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "safetySettings"}
        yield from (f'Unknown name "{name}": cannot find field.' for name in body.keys() - fields)
        config = body.get("generationConfig", {})
        mode = body.get("toolConfig", {}).get("functionCallingConfig", {}).get("mode", "AUTO")
        if "thinkingConfig" in config and not self._thinks:
            yield "Thinking is not enabled for this model."
        thinking = config.get("thinkingConfig", {})
        if not self._levels and thinking.keys() & {"thinkingLevel", "thinkingBudget"}:
            yield "Thinking level is not supported for this model."
        if thinking.get("thinkingLevel", "LOW") not in ("LOW", "MEDIUM", "HIGH"):
            yield f"Invalid value at 'generation_config.thinking_config.thinking_level': {thinking['thinkingLevel']}"
        if "responseSchema" in config and config.get("responseMimeType") != "application/json":
            yield "response_schema needs response_mime_type application/json."
        if "responseSchema" in config and body.get("tools") and not self._schema_beside_tools:
            yield "Function calling with a response mime type: 'application/json' is unsupported"
        yield from (
            f'Unknown name "{name}" at generation_config: cannot find field.' for name in config.keys() - _CONFIG
        )
        if {"thinkingLevel", "thinkingBudget"} <= thinking.keys():
            yield "You can only set only one of thinking budget and thinking level."
        if not 1 <= config.get("maxOutputTokens", 1) <= 65_536:
            yield "max_output_tokens must be in the range from 1 to 65537 (exclusive)."
        if "responseSchema" in config:
            yield from _wrong_schema(config["responseSchema"], "generation_config.response_schema")
        functions = [one for tool in body.get("tools", ()) for one in tool.get("functionDeclarations", ())]
        for one in functions:
            if not re.fullmatch(r"[A-Za-z_][\w.:-]{0,127}", one["name"]):
                yield "Invalid function name. Must start with a letter or an underscore."
            if "parameters" in one:
                yield from _wrong_schema(one["parameters"], "tools[0].function_declarations[0].parameters")
        declared = {one["name"] for one in functions}
        if len(declared) < len(functions):
            yield "Duplicate function declaration found."
        if body.get("toolConfig") and not declared:
            yield "Function calling config is set without function_declarations."
        if mode == "ANY" and not declared:
            yield "Function calling mode ANY needs function declarations."
        yield from self._wrong_contents(body.get("contents") or [], declared)

    def _wrong_contents(self, contents: list[Json], declared: set[str]) -> Iterator[str]:
        if not contents:
            yield "contents are not specified"
        if contents[0].get("role", "user") != "user":
            yield "Please ensure that the conversation starts with a user turn."
        waiting: list[Json] = []
        before = ""
        for content in contents:
            role, parts = content.get("role", "user"), content.get("parts") or []
            if role not in ("user", "model"):
                yield "Please use a valid role: user, model."
            if not parts:
                yield "contents.parts must not be empty."
            calls = [part["functionCall"] for part in parts if "functionCall" in part]
            answers = [part["functionResponse"] for part in parts if "functionResponse" in part]
            for part in parts:
                if not part.keys() - {"thought"} or (part.get("text") == "" and "thoughtSignature" not in part):
                    yield "Unable to submit request because it must have a text parameter."
            yield from (
                f"The function {one['name']} is not declared."
                for one in (*calls, *answers)
                if one["name"] not in declared
            )
            if calls and (role, before) != ("model", "user"):
                yield "Please ensure that function call turn comes immediately after a user turn."
            if answers and role != "user":
                yield "Please use a valid role: user."
            if answers and not waiting:
                yield "Please ensure that function response turn comes immediately after a function call turn."
            if len(answers) != len(waiting):
                yield (
                    "Please ensure that the number of function response parts is equal to the number of function"
                    " call parts of the function call turn."
                )
            for asked, answer in zip(waiting, answers, strict=True):
                if (asked["name"], asked.get("id")) != (answer["name"], answer.get("id")):
                    yield "A function response does not belong to the function call in its place."
            yield from self._wrong_signatures(parts)
            waiting, before = calls, role
        if waiting:
            yield "Please ensure that a function call turn is followed by its function responses."

    def _wrong_signatures(self, parts: list[Json]) -> Iterator[str]:
        for part in parts:
            if ("thoughtSignature" in part or "functionCall" in part) and not any(
                _same(part, issued) for issued in self._issued
            ):
                yield "Function call is missing a thought_signature in functionCall parts, or it is not its own."


def _same(part: Json, issued: Json) -> bool:
    """Byte for byte, whichever alphabet of base64 the signature is written in."""
    one, other = ({**each, "thoughtSignature": _bytes(each.get("thoughtSignature", ""))} for each in (part, issued))
    return one == other


def _bytes(encoded: str) -> bytes:
    return base64.b64decode(encoded.replace("-", "+").replace("_", "/"))


_EMBEDDING = frozenset({"embedContent", "batchEmbedContents"})
_TASKS = {
    *("TASK_TYPE_UNSPECIFIED", "RETRIEVAL_QUERY", "RETRIEVAL_DOCUMENT", "SEMANTIC_SIMILARITY", "CLASSIFICATION"),
    *("CLUSTERING", "QUESTION_ANSWERING", "FACT_VERIFICATION", "CODE_RETRIEVAL_QUERY"),
}


def _wrong_batch(body: Json, model: str) -> Iterator[str]:
    requests = body.get("requests") or []
    if not 1 <= len(requests) <= 100:
        yield "* BatchEmbedContentsRequest.requests: at most 100 requests can be in one batch"
    for request in requests:
        yield from _wrong_embedding(request, model)


def _wrong_embedding(request: Json, model: str) -> Iterator[str]:
    fields = {"model", "content", "taskType", "title", "outputDimensionality"}
    yield from (f'Unknown name "{name}": cannot find field.' for name in request.keys() - fields)
    if request.get("model", f"models/{model}") != f"models/{model}":
        yield "* EmbedContentRequest.model: the model of a request does not match the one in the path"
    if request.get("taskType", "RETRIEVAL_QUERY") not in _TASKS:
        yield f"Invalid value at 'requests[0].task_type', \"{request['taskType']}\""
    if not 1 <= request.get("outputDimensionality", 1) <= _NATIVE_SIZE:
        yield "* EmbedContentRequest.output_dimensionality: must be between 1 and 3072"
    if not "".join(part.get("text", "") for part in request["content"]["parts"]).strip():
        yield "* EmbedContentRequest.content contains an empty Part."


_CONFIG = {
    *("responseMimeType", "responseSchema", "candidateCount", "maxOutputTokens", "temperature", "topP", "topK"),
    *("seed", "stopSequences", "thinkingConfig"),
}
_SCHEMA = {
    *("type", "format", "title", "description", "nullable", "enum", "items", "minItems", "maxItems", "properties"),
    *("required", "minimum", "maximum", "minLength", "maxLength", "pattern", "default", "anyOf", "propertyOrdering"),
}


def _wrong_schema(schema: Json, at: str) -> Iterator[str]:
    kind = schema.get("type")
    yield from (f"Unknown name \"{name}\" at '{at}': Cannot find field." for name in schema.keys() - _SCHEMA)
    if kind not in ("STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT"):
        yield f"Invalid value at '{at}.type'"
    if kind == "OBJECT" and not schema.get("properties"):
        yield f"* {at}.properties: should be non-empty for OBJECT type"
    if kind == "ARRAY" and "items" not in schema:
        yield f"* {at}.items: missing field."
    if "enum" in schema and kind != "STRING":
        yield f"* {at}.enum: only allowed for STRING type"
    if kind == "STRING" and schema.get("format", "enum") not in ("enum", "date-time"):
        yield f"* {at}.format: only 'enum' and 'date-time' are supported for STRING type"
    properties = schema.get("properties", {})
    if not properties.keys() >= {*schema.get("required", ())}:
        yield f"* {at}.required[0]: property is not defined"
    for name, inner in properties.items():
        yield from _wrong_schema(inner, f"{at}.properties[{name}]")
    if "items" in schema:
        yield from _wrong_schema(schema["items"], f"{at}.items")


# -- shapes ---------------------------------------------------------------------------------------------------------


def _camel(value: Any, under: str = "") -> Any:
    """Keys in camel case, whichever way they were spelt; names of arguments and properties are left alone."""
    if isinstance(value, list):
        return [_camel(each, under) for each in value]
    if not isinstance(value, dict):
        return value
    if under in ("args", "response"):
        return value
    if under == "properties":
        return {name: _camel(each) for name, each in value.items()}
    camel = {re.sub(r"_([a-z])", lambda found: found[1].upper(), name): each for name, each in value.items()}
    return {name: _camel(each, name) for name, each in camel.items()}


def _chunks(reply: Reply, body: Json) -> Iterator[Json]:
    parts: list[Json] = []
    for part in reply.parts:
        if reply.piece and part.get("text") and "thoughtSignature" not in part:
            said = part["text"]
            parts += [part | {"text": said[at : at + reply.piece]} for at in range(0, len(said), reply.piece)]
        else:
            parts.append(part)
    read = len(json.dumps(body, ensure_ascii=False)) // 4
    for count, part in enumerate(parts, 1):
        candidate: Json = {"content": {"role": "model", "parts": [part]}, "index": 0}
        if count == len(parts) and reply.finish:
            candidate["finishReason"] = reply.finish
        usage = {"promptTokenCount": read, "candidatesTokenCount": count, "thoughtsTokenCount": reply.thoughts}
        yield {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "fake"}
    if not parts:
        yield {"candidates": [{"finishReason": reply.finish, "index": 0}] if reply.finish else []}


def _merged(chunks: list[Json]) -> Json:
    whole = dict(chunks[-1])
    if whole.get("candidates"):
        parts = [part for chunk in chunks for part in chunk["candidates"][0].get("content", {}).get("parts", ())]
        whole["candidates"] = [{**whole["candidates"][0], "content": {"role": "model", "parts": parts}}]
    return whole


def _refused(refusal: Refuse) -> web.Response:
    if refusal.page:
        return web.Response(
            status=refusal.code, text=refusal.page, content_type="text/html", headers=dict(refusal.headers)
        )
    error: Json = {"code": refusal.code, "message": refusal.message, "status": refusal.status}
    if refusal.details:
        error["details"] = list(refusal.details)
    return web.json_response({"error": error}, status=refusal.code, headers=dict(refusal.headers))


def _embedding(request: Json, model: str) -> list[float]:
    """A bag of trigrams; gemini-embedding-001 leaves a reduced size at a length other than 1, as the real one does."""
    size = request.get("outputDimensionality", _NATIVE_SIZE)
    vector = bag_of_trigrams("".join(part["text"] for part in request["content"]["parts"]), size)
    scale = 0.7 if model == "gemini-embedding-001" and size < _NATIVE_SIZE else 1.0
    return [value * scale for value in vector]
