"""The parts of a turn that the strategies share: its limits, its model and the fall-back, its calls, and how a draft
becomes the answer (check in code, review with its findings, check again, judge)."""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from agent import outcomes
from agent.citations import mark_numbers, marks, with_names, with_square_marks, without_marks
from agent.conversation import (
    LANGUAGES,
    REPEATED_CHARACTERS,
    RESULTS_CHARACTERS,
    Ask,
    asked,
    bounded,
    characters_of_results,
    echoes_instructions,
    instructions,
    narrowed,
    neutral,
    opening,
    thread,
    told,
    without_middle,
)
from agent.events import (
    EXTRACTIVE,
    Answered,
    Citation,
    Cost,
    Drafted,
    Event,
    Events,
    Outcome,
    Reflected,
    Thought,
    ToolCalled,
    ToolReturned,
)
from agent.grounding import judge
from agent.grounding.arithmetic import equations
from agent.grounding.check import Checked, check
from agent.grounding.claims import OpenClaim, Verdict
from agent.grounding.disclosure import disclosed
from agent.grounding.entities import content
from agent.grounding.quantities import facts, figures
from agent.links import GAP, filled, scrubbed
from agent.model_call import Heard, speak, spoken
from agent.models.base import (
    ChatModel,
    Message,
    ModelBlocked,
    ModelError,
    ModelMessage,
    ModelOverlong,
    ModelProtocolError,
    ModelUnavailable,
    SystemMessage,
    Tool,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from agent.prompts import prompt
from agent.query_rewriting import own_query
from agent.reflection import DRAFT_SCHEMA, SCHEMA, in_other_language, parse_draft, reflect
from agent.routing.calculator import answer, shown
from agent.routing.router import computed
from agent.sentinels import DECLINED, NO_ANSWER, NO_RAG_RESULT, NO_RAG_RESULT_LOW_SCORE, RAG_TOOL_ERROR
from agent.tool_calls import ToolRunner, named
from agent.tools import (
    SEARCH,
    Findings,
    ReadFunction,
    SearchFunction,
    as_result,
    list_rag_collections,
    read_document,
    search_rag_knowledge_base,
)
from retrieval.types import CONFIDENT, Hit, Passage

log = logging.getLogger(__name__)

StillReadable = Callable[[Sequence[Hit]], Awaitable[Collection[str]]]
"""Of the hits' documents the ids of those that are still there and readable."""

Work = Callable[[float | None, float | None], Awaitable[None]]
"""A strategy's own part: from the question to `Run.draft`, given the loop times until which it may search and write.
Raises `ModelError`."""

FINAL_SECONDS = 10.0  # kept free before the deadline, to write an answer from what is known
LEAST_RESULTS = 500  # characters of what was found, without which a model need not be asked
LAST_SECONDS = 3.0  # of those, kept free for the fall-back
AFTERWARDS = 3  # calls that follow the work on a draft: one to write it, one to review it, one to judge its claims
NAME = 60  # characters of a document's name in a step, or of a tool's that is none

_SENTINELS = (NO_ANSWER, DECLINED, NO_RAG_RESULT_LOW_SCORE, NO_RAG_RESULT, RAG_TOOL_ERROR)


@dataclass(frozen=True, slots=True)
class RunConfig:
    """The parts turns are made with; the same for any number of them.

    `search` and `read` are bound to what the asker's readers may read. `confident` is the relevance from which a match
    is fair. `judge`: who decides what code can neither prove nor refute; the model itself when None. `general`: answer
    from general knowledge, labelled, when the documents do not answer. `chosen`: the asker's collections are those that
    were chosen, by a setting or for the question, not all. `today`: the date where the asker is.
    """

    model: ChatModel
    search: SearchFunction
    fallback: ChatModel | None = None
    judge: ChatModel | None = None
    general: bool = False
    chosen: bool = False
    confident: float = CONFIDENT
    read: ReadFunction | None = None
    still_readable: StillReadable | None = None
    today: Callable[[], date] | None = None


class Run:
    """The state of one turn. A strategy reads and extends `messages` and leaves its `draft`."""

    def __init__(self, config: RunConfig, ask: Ask) -> None:
        self._config = config
        self.ask = ask
        self.findings = Findings()
        language, found = ask.language, self.findings
        reads = (read_document(config.read, found, language=language),) if config.read else ()
        self.tools: tuple[Tool, ...] = (
            search_rag_knowledge_base(
                config.search, found, language=language, collections=ask.collections, confident=config.confident
            ),
            *reads,
            list_rag_collections(ask.collections, found, language=language),
        )
        self.today = config.today() if config.today else None
        self.draft: ModelMessage | None = None
        self.compared: frozenset[int] = frozenset()  # passages that are asked whether they contradict the answer
        self._check: tuple[tuple[str, dict[int, Hit], dict[str, Any]], Checked] | None = None  # the last one
        self._steps: asyncio.Queue[Event | None] = asyncio.Queue()
        self._cost = Cost()
        self._failure: ModelError | None = None
        self._clock = asyncio.get_running_loop().time
        self._started = self._clock()
        total = None if ask.deadline is None else max(0.0, ask.deadline - self._started)
        reserve = min(FINAL_SECONDS, (total or 0.0) / 3)
        last = min(LAST_SECONDS, reserve / 3) if config.fallback else 0.0
        self._work_ends = None if ask.deadline is None else ask.deadline - reserve
        self._model_ends = None if ask.deadline is None else ask.deadline - last
        self._take_on(config.model)

    def _take_on(self, model: ChatModel) -> None:
        self.model = model
        self.runner = ToolRunner(self.tools, self.ask.language)
        self._room = RESULTS_CHARACTERS  # of what was found, in each call
        self.begin()

    def begin(self) -> None:
        """The conversation anew, as it is before anything was searched."""
        self.messages = opening(self.ask, today=self.today, thinks=self.model.thinks)

    async def events(self, work: Work) -> Events:
        """The steps of `work` and of what follows, then exactly one `Answered`, also when the model or search fails.

        Steps name documents where the model has numbers: those that the answer gets are known only at its end.
        """
        turn = asyncio.create_task(self._turn(work))
        turn.add_done_callback(lambda _: self._steps.put_nowait(None))
        try:
            while (event := await self._steps.get()) is not None:
                yield event
            await turn
        finally:
            turn.cancel()
            await asyncio.gather(turn, return_exceptions=True)

    async def _turn(self, work: Work) -> None:
        try:
            await self._worked(work)
        except ModelBlocked:
            answered = self._answered(outcomes.DECLINED.to(self.ask.language), "declined")
        except ModelError as error:
            log.warning("the turn ends without a model: %s", type(error).__name__)
            answered = self._answered(outcomes.failed(self._failure or error, self.ask.language), "failed")
        else:
            answered = await self._conclude()
        self.emit(answered)

    def emit(self, event: Event) -> None:
        """A step that people see."""
        self._steps.put_nowait(self._shown(event))

    def _shown(self, event: Event) -> Event:
        match event:
            case Thought(text) | Drafted(text) | Reflected(_, text):
                names = {n: _name(hit.passage.document, NAME) for n, hit in self.findings.hits.items()}
                return replace(event, text=with_names(text, names))
            case _:
                return event

    async def _worked(self, work: Work) -> None:
        """Work until there is a draft; with the fall-back when the model fails."""
        try:
            await work(self._work_ends, self._model_ends)
            return
        except ModelBlocked:
            raise
        except ModelError as error:
            if self._config.fallback is None:
                raise
            log.warning("the model failed (%s: %s); the fall-back takes over", type(error).__name__, error)
            self._failure = error
        known = neutral(self.messages)
        self._take_on(self._config.fallback)
        self.messages += known
        await work(self.ask.deadline, self.ask.deadline)

    # -- what a strategy does -----------------------------------------------------------------------------------------

    async def say(
        self,
        messages: Sequence[Message],
        until: float | None,
        *,
        model: ChatModel | None = None,
        heard: Heard | None = None,
        **options: Any,
    ) -> ModelMessage:
        """One reply, its thoughts among the turn's steps and its cost the turn's. `options`: see `speak`. A model that
        cannot read all that was found is given half of it, and half of that, for the rest of the turn."""
        while True:
            kept = bounded(messages, self._room)
            try:
                said = await speak(model or self.model, kept, heard=heard or self._think, until=until, **options)
            except ModelOverlong:
                room = min(self._room, characters_of_results(kept)) // 2
                if room < LEAST_RESULTS:
                    raise
                log.warning("what was found is more than the model can read; it is given %d characters of it", room)
                self._room = room
                continue
            self._cost += said.cost
            return said

    def _think(self, thought: str) -> None:
        if not (thought.startswith("{") or echoes_instructions(thought)):  # a form that came as thinking
            self.emit(Thought(thought))

    async def reply(self, messages: Sequence[Message], until: float | None, **options: Any) -> ModelMessage:
        """One reply where nobody is shown the thoughts and no call can be made. `options`: see `say`."""
        said = await self.say(messages, until, heard=lambda _: None, **options)
        if said.calls:
            raise ModelProtocolError("a call where an answer was wanted")
        return said

    async def write(self, end: float | None, request: str = "") -> None:
        """The draft, as the reply to the conversation and `request`, without tools. A call that is made all the same is
        answered once. With a request the instructions say nothing more of searching; of a model that then writes its
        last lines and no answer, as small ones do, it is asked for in a form.

        Raises ModelUnavailable when the draft is not there by `end`, ModelProtocolError for a reply that is none.
        """
        system, requests = self.messages[0], [UserMessage(request)] if request else []
        if request:
            system = SystemMessage(instructions("writer", self.ask, self.today), self.ask.language)

        async def reply(**options: Any) -> ModelMessage:
            return await self.say([system, *self.messages[1:], *requests], end, **options)

        try:
            said = await reply()
            if said.calls:
                await self.act(said, end)
                said = await reply()
            if request and not said.calls and not answers(said):
                requests.append(UserMessage(prompt("structured")))
                said = await reply(schema=DRAFT_SCHEMA)
        except TimeoutError as error:
            raise ModelUnavailable("no answer before the deadline", "timeout") from error
        if not answers(said):
            raise ModelProtocolError("no answer where one was wanted")
        self.draft = said

    async def finish(self, end: float | None) -> None:
        """Write the answer now, from what is known."""
        question = without_middle(self.ask.question, REPEATED_CHARACTERS)
        await self.write(end, prompt("final", language=LANGUAGES[self.ask.language], question=question))

    async def act(self, message: ModelMessage, until: float | None) -> None:
        """Make the calls of `message`; it and their results are part of the conversation then. Raises TimeoutError at
        `until`, when it has what was found by then."""
        self.findings.shown, self.findings.until = told(bounded(self.messages, self._room)), until
        known = [named(self.tools, call.name) for call in message.calls]
        names = [tool.name if tool else _name(call.name, NAME) for tool, call in zip(known, message.calls, strict=True)]
        for call, name in zip(message.calls, names, strict=True):
            self.emit(ToolCalled(call.id, name, _shortened(call)))
        results = await self.runner.run(message.calls)
        for call, name, result in zip(message.calls, names, results, strict=True):
            self.emit(ToolReturned(call.id, name, result.summary, result.hits, result.failed))
        self.messages += [message, ToolMessage(tuple(zip(message.calls, results, strict=True)))]
        if until is not None and self._clock() >= until:
            raise TimeoutError

    def own_search(self) -> ModelMessage:
        """A search with the question, made by code for a model that makes none."""
        return ModelMessage(calls=(ToolCall("own-search", SEARCH, {"queries": [own_query(self.ask)]}),))

    def must_search(self, answer: str = "") -> bool:
        """Whether nothing has been searched that an answer could rest on, and this one has to. One that says which
        collections there are may rest on their list."""
        findings = self.findings
        if findings.searches or findings.failures or self.model.name == EXTRACTIVE or not self.ask.needs_search:
            return False
        return not (findings.listed and answer and _says_no_more(answer, f"{findings.listed} {self.ask.question}"))

    # -- concluding ---------------------------------------------------------------------------------------------------

    async def _conclude(self) -> Answered:
        """Draft → check → review with what it found → check → judge → answer."""
        language, findings = self.ask.language, self.findings
        said = spoken(self.draft.text) if self.draft else ""
        if findings.failures and not findings.searches:  # an outage, not a question without an answer
            reason = findings.failures[-1].text(language)
            return self._answered(outcomes.SEARCH_FAILED.to(language, reason=reason), "failed")
        draft = parse_draft(said)
        text = cleaned(draft.text)
        if draft.text.startswith(DECLINED) or echoes_instructions(said):
            known = findings.searches or self.model.name == EXTRACTIVE  # else it may say what nobody has looked up
            words = self._unchecked(text) if known and not echoes_instructions(said) else ""
            return self._answered(words or outcomes.DECLINED.to(language), "declined")
        if said.startswith(NO_ANSWER) or draft.found == "no" or not text:
            return await self._unknown(text)
        self.emit(Drafted(text))
        if (not findings.searches and not self.must_search(text)) or not (self.ask.needs_search or marks(text)):
            words = self._computed(self._unchecked(text))
            return self._answered(words or outcomes.DECLINED.to(language), "answered" if words else "declined")
        checked = await self._checked(text)
        objections = [*checked.objections, *in_other_language(text, self.ask)]
        review = await reflect(self._reviewed, self._for_review(text, checked), self.ask, objections)
        critique = "" if echoes_instructions(review.critique) else review.critique
        self.emit(Reflected(review.verdict, critique))
        if review.verdict == "reject" or review.found == "no" or spoken(review.answer).startswith(NO_ANSWER):
            return await self._unknown(text)
        drafted, text = text, cleaned(spoken(review.answer)) or text
        if echoes_instructions(text):
            return self._answered(outcomes.DECLINED.to(language), "declined")
        checked = await self._checked(text)
        lost = not checked.text and text != drafted  # "same as the draft": no answer, though there is one
        if lost:
            text, checked = drafted, await self._checked(drafted)
        judged = self.model.name == EXTRACTIVE or not checked.open_claims
        if not judged:
            verdicts = await self._verdicts(checked.open_claims)  # and meanwhile what is readable may have changed
            judged = bool(verdicts)
            checked = await self._checked(text, judged=judged, verdicts=verdicts)
        if not checked.text:
            return await self._unknown(text)
        sure = draft.sure if review.sure is None else review.sure
        return self._grounded(checked, unsure=sure is False or lost or not judged or bool(checked.objections))

    def _for_review(self, text: str, checked: Checked) -> list[Message]:
        """The question, the draft and the passages it cites; all of them where it may have to cite another one."""
        hits = self.findings.hits
        cited = {n for mark in marks(text) for n in mark_numbers(mark)} & hits.keys()
        wanted = hits.keys() if checked.objections or not cited else cited
        blocks = {n: as_result(n, hits[n]) for n in wanted}
        told_to = instructions("review_system", self.ask, self.today)
        system = SystemMessage(told_to, self.ask.language)
        before = [*thread(self.ask)[-2:], asked(self.ask)]
        said = spoken(self.draft.text) if self.draft else text
        return [system, *before, *narrowed(neutral(self.messages), wanted, blocks), ModelMessage(said)]

    async def _reviewed(self, messages: Sequence[Message]) -> ModelMessage:
        return await self.reply(messages, self._model_ends, schema=SCHEMA)

    async def _readable(self) -> dict[int, Hit]:
        """The passages found that are still there and readable at this moment."""
        hits = self.findings.hits
        if self._config.still_readable is None or not hits:
            return dict(hits)
        there = await self._config.still_readable(tuple(hits.values()))
        return {n: hit for n, hit in hits.items() if hit.passage.document_id in there}

    async def _checked(self, text: str, **judged: Any) -> Checked:
        """The check in code, and what the sources say against each other. `judged`: see `check`. What a review leaves
        as it was is not checked again, unless what is readable has changed."""
        asked = (text, await self._readable(), judged)
        if self._check is None or self._check[0] != asked:
            self._check = asked, await asyncio.to_thread(self._held, *asked)
        return self._check[1]

    def _held(self, text: str, hits: Mapping[int, Hit], judged: Mapping[str, Any]) -> Checked:
        language = self.ask.language
        result = check(text, hits, language, question=self.ask.question, **judged)
        if not result.text:
            return result
        fair = {n for n, hit in hits.items() if hit.relevance >= self._config.confident}
        compared = {n: hits[n] for n in sorted({*(self.compared or fair), *result.cited}) if n in hits}
        return disclosed(result, compared, language)

    async def _verdicts(self, claims: Sequence[OpenClaim]) -> dict[str, Verdict]:
        """A judge's verdict on each sentence. Empty when there was no time or no budget for one, or it failed.

        A judge may err too: what it calls contradicted is marked like what it does not find, never taken out.
        """
        model = self._config.judge

        async def converse(messages: Sequence[Message]) -> ModelMessage:
            return await self.reply(messages, self._model_ends, schema=judge.SCHEMA, model=model, effort="low")

        found = await judge.judge(converse, claims, self.ask.language)
        return {claims[at].sentence: "entailed" if each == "entailed" else "not_stated" for at, each in found.items()}

    def _grounded(self, result: Checked, *, unsure: bool) -> Answered:
        text, citations = result.text, result.citations
        if self.draft is not None and self.draft.cut:
            text += "\n\n" + outcomes.CUT_OFF.to(self.ask.language)
        best = max((self.findings.hits[n].relevance for n in result.cited), default=self.findings.best)
        marked = bool(result.marked)
        return self._answered(text, "answered", citations, confidence=best, marked=marked, unsure=unsure)

    def _unchecked(self, text: str) -> str:
        """The words of a reply that rests on no passage: without citations and addresses."""
        said = scrubbed(without_marks(text), (), gap=GAP)
        return filled(said, self.ask.language) if said.strip(GAP) else ""

    def _computed(self, said: str) -> str:
        """The reply to a message that is a sum: by code where the model's does not come to its result."""
        result = computed(self.ask.question)
        if result is None or result.value is None:
            return said
        right = all(figures(said).hold(fact) for fact in facts(shown(result.value)[0]))
        return said if right and all(each.holds for each in equations(said)) else answer(result, self.ask.question)

    async def _unknown(self, draft: str = "") -> Answered:
        """Not found, where it was looked for and what comes closest; with an answer from general knowledge if that is
        wanted."""
        hits = await self._readable()
        cited = [n for mark in marks(draft) for n in mark_numbers(mark)]
        firsts = sorted(self.findings.firsts, key=lambda n: -self.findings.hits[n].relevance)
        closest = next((_linked(hits[n].passage) for n in (*cited, *firsts) if n in hits), "")
        searched = tuple(self.findings.searched)
        there = searched if searched or self.ask.collections else None
        text = outcomes.unknown(
            self.ask.language,
            there,
            closest=closest,
            reaches_team=self.ask.reaches_team,
            chosen=self._config.chosen,
        )
        if self._config.general and self._failure is None:
            general = await self._from_general_knowledge()
            if general:
                text += f"\n\n{outcomes.GENERAL.to(self.ask.language)}\n\n{general}"
        return self._answered(text, "unknown", confidence=self.findings.best if self.findings.searches else None)

    async def _from_general_knowledge(self) -> str:
        """Empty when the model has none, or fails: the turn has its outcome already."""
        system = SystemMessage(instructions("general", self.ask), self.ask.language)
        try:
            said = spoken((await self.reply([system, asked(self.ask)], self._model_ends)).text)
        except (ModelError, TimeoutError) as error:
            log.info("no answer from general knowledge: %s", type(error).__name__)
            return ""
        draft = parse_draft(said)
        if said.startswith((NO_ANSWER, DECLINED)) or draft.found == "no" or echoes_instructions(said):
            return ""
        return self._unchecked(cleaned(draft.text))

    def _answered(
        self,
        text: str,
        outcome: Outcome,
        citations: tuple[Citation, ...] = (),
        *,
        confidence: float | None = None,
        marked: bool = False,
        unsure: bool = False,
    ) -> Answered:
        if self._failure is not None and outcome != "failed":
            text += "\n\n" + outcomes.notice(self._failure, self.ask.language)
        return Answered(
            text,
            citations,
            outcome,
            unsure=unsure,
            model=self.model.name,
            seconds=self._clock() - self._started,
            cost=self._cost,
            searched=tuple(self.findings.searched),
            confidence=confidence,
            marked=marked,
        )


def answers(message: ModelMessage) -> bool:
    """Whether a reply is a draft: an answer, a refusal, or that there is none."""
    draft = parse_draft(spoken(message.text))
    return not message.calls and (bool(draft.text) or draft.found == "no")


def refuses(text: str) -> bool:
    """Whether a reply is a refusal in words. Small models repeat the mark alone from their instructions."""
    return text.startswith(DECLINED) and bool(cleaned(text))


def _says_no_more(text: str, known: str) -> bool:
    """Whether a text has hardly a word and no figure that this one has not."""
    words = content(text)
    return len(words & content(known)) >= 0.6 * len(words) and all(figures(known).hold(fact) for fact in facts(text))


def cleaned(text: str) -> str:
    """A draft without the marks that are only for us, and with citations in one form."""
    for mark in _SENTINELS:
        text = text.replace(mark, "")
    return with_square_marks(text).strip()


def _name(name: str, limit: int) -> str:
    name = " ".join(name.split())
    return name if len(name) <= limit else f"{name[: limit - 1]}…"


def _linked(passage: Passage) -> str:
    """A page's name, linked where it has an address. Both are the document's words: no markup of theirs survives."""
    shown = (scrubbed(_name(each, NAME), ()) for each in (passage.title, passage.document))
    name = next(filter(None, (re.sub(r"[\[\]()<>*_`#|~\\]", "", each).strip() for each in shown)), "…")
    if passage.url and re.fullmatch(r"https?://[^\s<>]+", passage.url):
        return f"[{name}]({passage.url.replace('(', '%28').replace(')', '%29')})"
    return name


def _shortened(call: ToolCall) -> dict[str, object]:
    """The arguments as they are shown and stored: an overlong one is cut."""
    return {
        str(key)[:100]: [*map(_cut, value[:10])] if isinstance(value, list) else _cut(value)
        for key, value in list(call.arguments.items())[:10]
    }


def _cut(value: object) -> object:
    text = str(value)
    return f"{text[:499]}…" if len(text) > 500 else value
