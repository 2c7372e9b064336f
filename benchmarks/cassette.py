"""A model for measuring: it answers the questions it knows as a strong and honest model would, over the wire of an
OpenAI-compatible server on loopback, and sees nothing but that wire.

It searches with queries that were written beforehand, reads the results it is sent, quotes the sentences that hold the
known evidence with the number of their result, or says that nothing answers; it keeps its draft in the review, and as a
judge finds entailed what stands in the quoted passage. What it is sent is counted: calls, tokens, passages sent twice.
Source of the wire: platform.openai.com/docs/api-reference/chat.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from types import TracebackType
from typing import Any, Literal, Self

from aiohttp import web

from agent.sentinels import NO_ANSWER
from agent.tools import SEARCH
from benchmarks.asks_cases import Case, occurs
from retrieval.text import language_of, normalise, sentences
from tests.fakes.openai_rules import Rules

Json = dict[str, Any]
Stage = Literal["search", "draft", "review", "judge"]
Words = Literal["quoted", "own"]
"""What an answer is made of: sentences of the passages (where they are in the language of the question), or the case's
own answer with the same citations."""

MODEL = "cassette"
PIECE = 48  # characters of a delta
PASSAGE = 30  # characters without spaces; a shorter one may well stand in two places

_HEAD = re.compile(r"^Result (\d+)\b.*:?$", re.MULTILINE)
_SOURCE = re.compile(r"^Source: (.*?)(?: \(collection: .*\))?$", re.MULTILINE)
_FRAME = re.compile(r"^(?:Result \d+\b.*|Section: .*|Source: .*|URL: .*|Note: .*)$", re.MULTILINE)
_BULLET = re.compile(r"^(?:[-*+>#・•]+\s+|\d+[.)]\s+|\|\s*)+")
_NEIGHBOURS = re.compile(r"^Context (?:before|after): ", re.MULTILINE)
_CLAIM = re.compile(
    r'<claim n="(?P<n>\d+)">\n(?P<claim>.*?)\n<passage>\n(?P<passage>.*?)\n</passage>\n</claim>', re.DOTALL
)
_NOTHING = {"ja": "資料には書かれていませんでした。", "en": "The documents do not say this."}
_KEPT = {"ja": "引用元のとおりです。", "en": "As the sources say."}


@dataclass(frozen=True, slots=True)
class Result:
    """One numbered passage as the model was sent it. `passage`: its own text, without its frame and its neighbours."""

    n: int
    text: str
    document: str
    passage: str


@dataclass(frozen=True, slots=True)
class Heard:
    """One request. `known`: whose question it was about (of a judge's nobody's); `shown`: every fact had been sent by
    then; `repeated`: passages that stand more than once in the results of the request."""

    stage: Stage
    known: str
    tokens: int
    shown: bool = False
    repeated: int = 0
    said: str = ""


@dataclass(slots=True)
class Cassette:
    """`async with Cassette(cases, count) as model:`, then `.url` (it ends in /v1).

    `count`: tokens of a text. `refused`: why requests were answered with status 400.
    """

    cases: Sequence[Case]
    count: Callable[[str], int]
    words: Words = "quoted"
    url: str = ""
    refused: list[str] = field(default_factory=list)
    _heard: list[Heard] = field(default_factory=list)
    _known: dict[str, list[Case]] = field(default_factory=dict)
    _runner: web.AppRunner | None = None
    _calls: int = 0

    async def __aenter__(self) -> Self:
        for case in self.cases:
            self._known.setdefault(case.question, []).append(case)
            if case.before:
                first = Case(f"{case.id}, before", case.language, "before", case.before, queries=(case.before,))
                self._known.setdefault(case.before, [first])
        self.count = lru_cache(maxsize=4096)(self.count)
        app = web.Application(client_max_size=20 * 2**20)
        app.router.add_post("/v1/chat/completions", self._chat)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    def take(self) -> list[Heard]:
        """The requests since the last call of this."""
        heard, self._heard = self._heard, []
        return heard

    # -- the wire -----------------------------------------------------------------------------------------------------

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body: Json = await request.json()
        wrong = next(Rules(frozenset(), alternates=True, resizes="makes").wrong(body, frozenset()), None)
        if body.get("model") != MODEL or not body.get("stream"):
            wrong = wrong or "The model does not exist, or does not answer without a stream."
        if wrong is not None:
            self.refused.append(wrong)
            return web.json_response({"error": {"message": wrong, "type": "invalid_request_error"}}, status=400)
        tokens = self._tokens(body)
        reply = self._reply(body, tokens)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
        await response.prepare(request)
        deltas = [*_text(reply)] if isinstance(reply, str) else [*_call(f"call_{self._calls}", reply)]
        finish = "stop" if isinstance(reply, str) else "tool_calls"
        for delta in ({"role": "assistant", "content": ""}, *deltas):
            await response.write(_line([{"index": 0, "delta": delta, "finish_reason": None}]))
        await response.write(_line([{"index": 0, "delta": {}, "finish_reason": finish}]))
        if body.get("stream_options", {}).get("include_usage"):
            written = self.count(reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False))
            usage = {"prompt_tokens": tokens, "completion_tokens": written, "total_tokens": tokens + written}
            await response.write(_line([], usage=usage))
        await response.write(b"data: [DONE]\n\n")
        return response

    def _tokens(self, body: Json) -> int:
        """Of the messages, the calls in them, the tools and the form of the reply."""
        parts = [message["content"] for message in body["messages"]]
        parts += [json.dumps(m["tool_calls"], ensure_ascii=False) for m in body["messages"] if m.get("tool_calls")]
        parts += [json.dumps(tool, ensure_ascii=False) for tool in body.get("tools", ())]
        parts += [json.dumps(body["response_format"], ensure_ascii=False)] if "response_format" in body else []
        return sum(map(self.count, filter(None, parts)))

    # -- the model ----------------------------------------------------------------------------------------------------

    def _reply(self, body: Json, tokens: int) -> str | Json:
        """A text, or the arguments of a search."""
        messages: Sequence[Json] = body["messages"]
        schema = body.get("response_format", {}).get("json_schema", {}).get("schema")
        if schema is not None and "entailed" in json.dumps(schema):
            self._heard.append(Heard("judge", "", tokens))
            return self._judged(messages[-1]["content"])
        case, at = self._asked(messages)
        read = [message["content"] for message in messages[at:] if message["role"] in ("tool", "user")]
        results = [result for content in read for result in results_in(content)]
        quotes = quoted(case, results)
        shown = stated(case, results, quotes)
        found = "yes" if shown or (quotes and not case.answerable) else "partly" if quotes else "no"

        def heard(stage: Stage, said: str = "") -> None:
            self._heard.append(Heard(stage, case.id, tokens, shown, repeated(read), said))

        if schema is not None and "verdict" in schema.get("properties", {}):
            heard("review")
            language = language_of(case.question)
            kept = {"verdict": "keep", "critique": _KEPT[language], "answer": "", "found": found, "sure": "yes"}
            return json.dumps({name: kept[name] for name in kept if name in schema["properties"]}, ensure_ascii=False)
        search = next((t["function"] for t in body.get("tools", ()) if t["function"]["name"] == SEARCH), None)
        if search is not None and body.get("tool_choice") != "none":
            arguments = _arguments(search["parameters"]["properties"], case, messages[at:], found=found == "yes")
            if arguments is not None:
                heard("search")
                self._calls += 1
                return arguments
        prompts = "\n".join(m["content"] for m in messages if m["role"] in ("system", "user"))
        draft = self._draft(case, quotes, found, lines=re.search(r"\bFound:", prompts) is not None)
        heard("draft", draft)
        return draft

    def _asked(self, messages: Sequence[Json]) -> tuple[Case, int]:
        """The question that the conversation is about, and the place of the message that asks it."""
        users = [(at, message["content"]) for at, message in enumerate(messages) if message["role"] == "user"]
        for at, content in reversed(users):
            known = max((text for text in self._known if text in content), key=len, default=None)
            if known is None:
                continue
            first = next(place for place, said in users if place <= at and known in said)
            earlier = [said for place, said in users if place < first]
            cases = self._known[known]
            return next((c for c in cases if any(c.before and c.before in said for said in earlier)), cases[0]), first
        last = users[-1][1]
        return Case("", language_of(last), "unknown", last, queries=(last[:500],)), users[-1][0]

    def _judged(self, asked: str) -> str:
        """`agent/prompts/judge.md`: a claim is entailed where its words stand in its passage, or where it is of a
        case's own answer and the passage holds a fact of that case, or its evidence."""
        verdicts = []
        for claim in _CLAIM.finditer(asked):
            said, passage = _letters(claim["claim"]), claim["passage"]
            cases = [case for case in self.cases if said in _letters(case.answer)] if said else []
            known = any(
                any(occurs(form, passage) for forms in case.facts for form in forms)
                or any(_span(evidence, passage) for evidence in case.evidence)
                for case in cases
            )
            entailed = known or said in _letters(passage)
            verdicts.append({"claim": int(claim["n"]), "verdict": "entailed" if entailed else "not_stated"})
        return json.dumps({"verdicts": verdicts})

    def _draft(self, case: Case, quotes: Sequence[tuple[int, str]], found: str, *, lines: bool) -> str:
        """`lines`: the prompt asks for the two lines that end a draft, else for the sentinel where nothing is found."""
        if found == "no":
            text = _NOTHING[language_of(case.question)] if lines else NO_ANSWER
        elif case.answer and (self.words == "own" or (found == "yes" and _foreign(case, quotes))):
            marks = "".join(f"[{n}]" for n in dict.fromkeys(n for n, _ in quotes))
            text = " ".join(f"{sentence} {marks}" for sentence in sentences(case.answer))
        else:
            text = "\n\n".join(f"{sentence} [{n}]" for n, quote in quotes for sentence in sentences(quote))
        return f"{text}\n\nFound: {found}\nSure: yes" if lines else text


# -- what it is sent --------------------------------------------------------------------------------------------------


def results_in(content: str) -> Iterator[Result]:
    """The numbered passages of a tool's result."""
    heads = list(_HEAD.finditer(content))
    ends = [head.start() for head in heads[1:]] + [len(content)]
    for head, end in zip(heads, ends[: len(heads)], strict=True):
        text = content[head.start() : end].strip()
        source = _SOURCE.search(text)
        own, *_ = _NEIGHBOURS.split(text, maxsplit=1)
        yield Result(int(head[1]), text, source[1] if source else "", _squeezed(_FRAME.sub("", own)))


def repeated(contents: Sequence[str]) -> int:
    """How many passages were sent more often than once: as a result of their own, or as the neighbour of another."""
    passages = {result.passage for content in contents for result in results_in(content)}
    everything = _squeezed("\n".join(_FRAME.sub("", content) for content in contents))
    return sum(everything.count(passage) > 1 for passage in passages if len(passage) >= PASSAGE)


def quoted(case: Case, results: Sequence[Result]) -> list[tuple[int, str]]:
    """What answers the case, as numbers of results and sentences in them: the evidence where it stands word for word,
    and for facts that are not in it the sentence of a right page that holds them. For a question whose evidence is not
    known the first sentence of the first result."""
    if case.kind == "before":
        return [(one.n, sentence) for one in results[:1] for sentence in _sentences(one.text)[:1]]
    found: dict[str, int] = {}
    for evidence in case.evidence:
        spans = ((_span(evidence, result.text), result.n) for result in results)
        found |= dict(islice(((span, n) for span, n in spans if span), 1))
    right = [result for result in results if case.is_right(result.document)]
    for forms in case.facts:
        if not any(occurs(form, text) for text in found for form in forms):
            lines = ((line, result.n) for result in right for line in _sentences(result.text))
            found |= dict(islice(((line, n) for line, n in lines if any(occurs(form, line) for form in forms)), 1))
    return [(n, text) for text, n in found.items()]


def stated(case: Case, results: Sequence[Result], quotes: Sequence[tuple[int, str]]) -> bool:
    """Whether the results hold all that answers the case: every fact in the quotes, or all the evidence."""
    told = case.told_in("\n".join(text for _, text in quotes))
    return case.answerable and (
        told or all(any(_span(one, result.text) for result in results) for one in case.evidence or ("",))
    )


def _foreign(case: Case, quotes: Sequence[tuple[int, str]]) -> bool:
    """Whether nobody would answer the question with these quotes: they are in the other language."""
    return all(language_of(text) != language_of(case.question) for _, text in quotes)


def _sentences(text: str) -> list[str]:
    """Those of a result that can be quoted, without the marks of lists, headings and quotations before them."""
    own = _NEIGHBOURS.sub("", _FRAME.sub("", text))
    bare = (_BULLET.sub("", sentence).strip() for sentence in sentences(own))
    return [sentence for sentence in bare if sentence]


def _span(evidence: str, text: str) -> str:
    """The words of `text` that are the evidence, spacing and emphasis apart, in one line; empty where they are not."""
    found = _words(evidence).search(text) if evidence else None
    return _BULLET.sub("", " ".join(found[0].split())) if found else ""


@lru_cache(maxsize=4096)
def _words(evidence: str) -> re.Pattern[str]:
    return re.compile(r"[\s*`_]*".join(map(re.escape, re.sub(r"[\s*`_]", "", evidence))))


def _squeezed(text: str) -> str:
    return re.sub(r"\s+", "", normalise(text))


def _letters(text: str) -> str:
    return "".join(char for char in normalise(re.sub(r"\[\d+\]", "", text)) if char.isalnum())


# -- what it says -----------------------------------------------------------------------------------------------------


def _arguments(properties: Mapping[str, Json], case: Case, said: Sequence[Json], *, found: bool) -> Json | None:
    """Of the next search: all queries at once where the tool takes several, else one after the other until the facts
    are found. None: there is nothing more to search for."""
    calls = [call["function"] for message in said for call in message.get("tool_calls") or ()]
    made = [json.loads(call["arguments"]) for call in calls if call["name"] == SEARCH]
    if "queries" in properties:
        return None if made else {"queries": list(case.queries)}
    tried = {arguments.get("query") for arguments in made}
    left = [query for query in case.queries if query not in tried]
    return {"query": left[0]} if left and not found else None


def _text(reply: str) -> Iterator[Json]:
    yield from ({"content": reply[at : at + PIECE]} for at in range(0, len(reply), PIECE))


def _call(id: str, arguments: Json) -> Iterator[Json]:
    """Id and name first, then the arguments in pieces."""
    written = json.dumps(arguments, ensure_ascii=False)
    head = {"index": 0, "id": id, "type": "function", "function": {"name": SEARCH, "arguments": ""}}
    yield {"tool_calls": [head]}
    for at in range(0, len(written), PIECE):
        yield {"tool_calls": [{"index": 0, "function": {"arguments": written[at : at + PIECE]}}]}


def _line(choices: Sequence[Json], **more: Any) -> bytes:
    chunk = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": MODEL, "choices": choices, **more}
    return f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode()
