"""The second strategy: rewrite the question, search, draft an answer from each passage at the same time, synthesise.

Source: seeds/4_agentic_rag_api.md, steps 1 to 5 and the supplement.
"""

import asyncio
import logging
from collections.abc import Sequence
from itertools import chain, zip_longest
from typing import Any

from agent.conversation import LANGUAGES, Ask, echoes_instructions, instructions, narrowed
from agent.events import Events, Thought
from agent.model_call import spoken
from agent.models.base import (
    ChatModel,
    Message,
    ModelBlocked,
    ModelError,
    ModelMessage,
    ModelProtocolError,
    ModelUnavailable,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from agent.prompts import prompt
from agent.query_rewriting import SCHEMA, Plan, Query, by_rules, parse_plan
from agent.reflection import parse_draft
from agent.run import Run, RunConfig, cleaned
from agent.sentinels import DECLINED, NO_ANSWER
from agent.tool_calls import same_call
from agent.tools import QUERIES, SEARCH, Findings, SearchFunction, as_result
from retrieval.i18n import Text

log = logging.getLogger(__name__)

PASSAGES = 5  # drafted from in each of the two rounds
CONCURRENCY = 5
REWRITE_SECONDS, REWRITE_SHARE = 20.0, 0.25  # at most, and of the time that is left for work
DRAFT_SECONDS, DRAFTS_SHARE = 30.0, 0.6  # for one draft; of the time that is left, for all of them
DRAFT_CHARACTERS = 2_000

_DRAFTING = Text(
    en="I draft an answer from each passage alone: {numbers}.",
    ja="{numbers} の資料それぞれから、回答案を作ります。",
)
_ANSWERING = Text(
    en="Drafts that answer the question: {numbers} ({count} of {all}). I put them together.",
    ja="{all} 件の回答案のうち {count} 件（{numbers}）が質問に答えているので、まとめます。",
)
_NONE = Text(
    en="None of these passages answers the question.",
    ja="これらの資料は質問の答えになっていません。",
)
_LEFT_OUT = Text(en=" ({count} could not be written.)", ja="（{count} 件は作成できませんでした。）")


class Synthesis:
    """One object may run any number of turns at the same time. `concurrency`: drafts of a turn that are written at
    once; `options` are the other fields of `RunConfig`."""

    def __init__(
        self, model: ChatModel, search: SearchFunction, *, concurrency: int = CONCURRENCY, **options: Any
    ) -> None:
        self._config = RunConfig(model, search, **options)
        self._concurrency = concurrency

    def run(self, ask: Ask) -> Events:
        """The turn's steps, then exactly one `Answered`, also when the model or the search fails."""
        run = Run(self._config, ask)
        return run.events(_Work(run, self._concurrency).synthesise)


class _Work:
    """From the question to the draft, for one model; begun anew for the fall-back."""

    def __init__(self, run: Run, concurrency: int) -> None:
        self._run = run
        self._concurrency = concurrency
        self._language = run.ask.language
        self._calls = 0
        self._drafts: dict[int, ModelMessage | ModelError] = {}  # by the passage's number

    async def synthesise(self, until: float | None, end: float | None) -> None:
        run = self._run
        run.begin()  # searches of another model's wording are no help to the fall-back
        run.compared = frozenset()
        self._drafts = {}
        made: set[str] = set()
        for again in (False, True):
            plan = await self._plan(until, again=again)
            if not plan.search and not again:
                await run.write(end)
                return
            queries = [query for query in plan.queries if _key(query) not in made]
            if not queries:
                break
            made |= {_key(query) for query in queries}
            if plan.thought and not echoes_instructions(plan.thought):
                run.emit(Thought(plan.thought))
            await self._search(queries, until)
            await self._draft(until)
            if self._answers or self._failed:
                break
        await self._put_together(end)

    # -- the question -------------------------------------------------------------------------------------------------

    async def _plan(self, until: float | None, *, again: bool) -> Plan:
        """The queries to search for; the question itself where the model's reply is of no use, or would search nothing
        for a question that has to be searched."""
        run = self._run
        text = instructions("rewrite", run.ask, run.today, queries=str(QUERIES))
        conversation: list[Message] = [SystemMessage(text, self._language), *run.messages[1:]]
        if again:
            conversation.append(UserMessage(prompt("rewrite_again")))
        plan: Plan | None = None
        try:
            limit = self._limit(REWRITE_SECONDS, REWRITE_SHARE, until)
            plan = parse_plan((await run.say(conversation, limit, schema=SCHEMA, effort="low")).text, run.ask)
        except (TimeoutError, ModelProtocolError) as error:
            log.info("the question was not rewritten: %s", type(error).__name__)
        return by_rules(run.ask) if plan is None or (not plan.search and run.must_search()) else plan

    async def _search(self, queries: Sequence[Query], until: float | None) -> None:
        calls: list[ToolCall] = []
        for query in queries:
            self._calls += 1
            calls.append(ToolCall(f"search-{self._calls}", SEARCH, query.arguments))
        try:
            await self._run.act(ModelMessage(calls=tuple(calls)), until)
        except TimeoutError as error:
            if not self._run.findings.hits:
                raise ModelUnavailable("no time was left to search", "timeout") from error

    # -- the drafts ---------------------------------------------------------------------------------------------------

    @property
    def _answers(self) -> dict[int, str]:
        """The drafts that answer, by the number of their passage."""
        texts = {n: spoken(said.text) for n, said in self._drafts.items() if isinstance(said, ModelMessage)}
        return {
            n: cleaned(parse_draft(text).text)
            for n, text in texts.items()
            if not text.startswith((NO_ANSWER, DECLINED)) and not echoes_instructions(text)
            if cleaned(parse_draft(text).text) and parse_draft(text).found != "no"
        }

    @property
    def _failed(self) -> bool:
        """Whether there were drafts to write and none could be."""
        return bool(self._drafts) and all(isinstance(each, ModelError) for each in self._drafts.values())

    async def _draft(self, until: float | None) -> None:
        """Draft from the best passages of the last search that nobody has drafted from yet."""
        numbers = self._passages()
        if not numbers:
            return
        self._run.emit(Thought(_DRAFTING.to(self._language, numbers=_listed(numbers))))
        slots = asyncio.Semaphore(self._concurrency)
        ends = self._limit(None, DRAFTS_SHARE, until)
        async with asyncio.TaskGroup() as group:
            tasks = {n: group.create_task(self._draft_from(n, slots, ends)) for n in numbers}
        written = {n: task.result() for n, task in tasks.items()}
        self._drafts |= written
        answering = [n for n in numbers if n in self._answers]
        failed = sum(isinstance(each, ModelError) for each in written.values())
        said = _ANSWERING if answering else _NONE
        text = said.to(self._language, count=len(answering), all=len(numbers), numbers=_listed(answering))
        self._run.emit(Thought(text + (_LEFT_OUT.to(self._language, count=failed) if failed else "")))

    def _passages(self) -> list[int]:
        """The best of each query first, then the second best of each."""
        last = self._run.messages[-1]
        ranked = [result.numbers for _, result in last.results] if isinstance(last, ToolMessage) else []
        merged = dict.fromkeys(n for n in chain.from_iterable(zip_longest(*ranked)) if n is not None)
        return [n for n in merged if n not in self._drafts][:PASSAGES]

    async def _draft_from(self, n: int, slots: asyncio.Semaphore, ends: float | None) -> ModelMessage | ModelError:
        run = self._run
        wanted = UserMessage(prompt("draft", language=LANGUAGES[self._language], n=str(n)))
        async with slots:
            try:
                conversation = [*narrowed(run.messages, {n}, {n: as_result(n, run.findings.hits[n])}), wanted]
                return await run.reply(conversation, self._limit(DRAFT_SECONDS, 1.0, ends))
            except TimeoutError:
                return ModelUnavailable("no draft in time", "timeout")
            except ModelError as error:
                log.warning("a draft failed: %s", type(error).__name__)
                return error

    # -- the synthesis ------------------------------------------------------------------------------------------------

    async def _put_together(self, end: float | None) -> None:
        run, answers = self._run, self._answers
        if answers:
            blocks = {n: as_result(n, run.findings.hits[n]) for n in self._drafts}
            run.messages = narrowed(run.messages, blocks.keys(), blocks)
            run.compared = frozenset(answers)
            drafts = "\n\n".join(_shown(n, text, run.findings) for n, text in sorted(answers.items()))
            await run.write(end, prompt("synthesise", language=LANGUAGES[self._language], drafts=drafts))
        elif (failure := self._failure()) is None:
            run.draft = self._refusal() or ModelMessage(NO_ANSWER)
        elif isinstance(failure, ModelUnavailable) and failure.why == "timeout":
            await run.finish(end)  # slow, but it answers: one call is less than five
        else:
            raise failure

    def _failure(self) -> ModelError | None:
        """Why there is no draft; a refusal for safety only when there is no other reason."""
        failures = [each for each in self._drafts.values() if isinstance(each, ModelError)]
        return next((each for each in failures if not isinstance(each, ModelBlocked)), next(iter(failures), None))

    def _refusal(self) -> ModelMessage | None:
        said = (each for each in self._drafts.values() if isinstance(each, ModelMessage))
        return next((each for each in said if spoken(each.text).startswith(DECLINED)), None)

    @staticmethod
    def _limit(seconds: float | None, share: float, until: float | None) -> float | None:
        """Loop time after so many seconds, or at that share of what is left until `until`, whichever is sooner."""
        now = asyncio.get_running_loop().time()
        ends = [now + seconds] if seconds is not None else []
        ends += [now + max(0.0, until - now) * share] if until is not None else []
        return min(ends, default=None)


def _key(query: Query) -> str:
    return same_call(SEARCH, {"queries": list(query.texts), "collection": query.collection})


def _shown(n: int, text: str, findings: Findings) -> str:
    passage = findings.hits[n].passage
    dated = f", said in {passage.said_in}" if passage.said_in else ""
    dated += f", dated {passage.updated}" if passage.updated else ""
    limited = text if len(text) <= DRAFT_CHARACTERS else text[: DRAFT_CHARACTERS - 2] + " …"
    return f'<draft result="{n}">\n{limited}\n</draft>\n(Source: {" ".join(passage.document.split())}{dated})'


def _listed(numbers: Sequence[int]) -> str:
    return "".join(f"[{n}]" for n in numbers)
