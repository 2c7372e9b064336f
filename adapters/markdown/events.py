"""Events as words in Japanese and English. Every platform's words come from here; it adds only its dialect."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import assert_never

from agent.events import (
    Answered,
    Citation,
    Drafted,
    Reflected,
    Step,
    Thought,
    ToolCalled,
    ToolReturned,
    Verdict,
)
from agent.links import scrubbed, visible
from bot.texts import changes_text
from retrieval.i18n import Language, Text, date_words
from retrieval.text import beginning, unmarked

QUERIES = 200  # characters of what is searched for in a step's line
QUOTE = 80  # characters of a quotation beside its source
POINTER = 30  # of one that the answer's text has whole
NAMES = 3  # documents named in a result's line
NAME = 100  # characters of a source's title

# What Slack or Discord turn into a call to people or a link of their own: <!here>, <@U1>, <#C1>, </forget:1>,
# @everyone.
_PING = re.compile(
    r"@(?=everyone|here|channel)|<(?=!(?:channel|here|everyone|group|subteam|date)|[@#][!&]?\w|/[\w -]+:\d|id:)",
    re.IGNORECASE,
)
_MARKUP = re.compile(r"([\[\]\\<])")

_JAPANESE_BREAK = re.compile(r"(?<=[\u3000-\u9fff\uff00-\uffef])[ \t]*\r?\n\s*(?=[\u3000-\u9fff\uff00-\uffef])")

UNSURE = Text(en="I am not sure.", ja="確信はありません。")
SOURCES = Text(en="Sources", ja="出典")
EMPTY = Text(en="(The answer is empty.)", ja="（回答は空でした。）")

LABELS: dict[type[Step], Text] = {
    Thought: Text(en="🧠 Thought", ja="🧠 思考"),
    ToolCalled: Text(en="🛠️ Tool call", ja="🛠️ ツール呼び出し"),
    ToolReturned: Text(en="📝 Result", ja="📝 結果"),
    Drafted: Text(en="✍️ Draft", ja="✍️ 下書き"),
    Reflected: Text(en="🤔 Reflection", ja="🤔 見直し"),
}
_LIST = "list_rag_collections"  # as `agent.tools` has it, which would be loaded for that
STEPS = Text(en="Steps", ja="途中経過")  # the button or link to them, once they are folded

_STEPS = Text(en="{n} step{n:|s}", ja="途中経過 {n} 件")
_SEARCHES = Text(en="{n} search{n:|es}", ja="検索 {n} 回")
_SEEN = Text(en="{n} passage{n:|s}", ja="抜粋 {n} 件")
_SECONDS = Text(en="{n} s", ja="{n} 秒")
_COLLECTIONS = Text(en="the list of collections", ja="コレクションの一覧")

_THINKING = Text(en="🧠 Thinking…", ja="🧠 考えています…")
_STILL_THINKING = Text(en="🧠 Thinking… ({seconds} s)", ja="🧠 考えています…（{seconds} 秒）")

_QUERY = Text(en="“{query}” in {where}", ja="「{query}」（コレクション: {where}）")
_EVERYWHERE = Text(en="all collections", ja="すべて")
_COMMA = Text(en=", ", ja="、")
_AND = Text(en="{first} and {last}", ja="{first}、{last}")
_FOUND = Text(en="{what} — best relevance {best}, from {names}", ja="{what}、関連度は最高 {best}、出典: {names}")
_PASSAGES = Text(en="{n} passage{n:|s}", ja="{n} 件")
_MORE = Text(en=" and {n} more", ja="ほか {n} 件")
_FAILED = Text(en="did not work: {what}", ja="うまくいきませんでした: {what}")
VERDICTS: dict[Verdict, Text] = {
    "keep": Text(en="keep", ja="このまま採用"),
    "revise": Text(en="revise", ja="修正"),
    "reject": Text(en="reject", ja="不採用"),
}
_CRITIQUE = Text(en="{verdict}. {text}", ja="{verdict}。{text}")
_QUOTED = Text(en="“{text}”", ja="「{text}」")
_IN = Text(en=" ({where})", ja="（{where}）")
_SAID_IN = Text(en="said in {channel}", ja="{channel} での発言")
_CHECKED = Text(en="last checked {date}", ja="最終確認 {date}")


def step_text(event: Step, language: Language, *, named: bool = False) -> str:
    """One line, such as `📝 Result: 3 passages, …`; empty for a draft, which is not shown before it is reviewed.
    `named`: with the tool's own name."""
    if isinstance(event, Drafted):
        return ""
    return f"{LABELS[type(event)].to(language)}: {step_words(event, language, named=named)}"


def step_words(event: Step, language: Language, *, named: bool = False) -> str:
    """The words of `step_text` after its label. No address survives and nobody is called: it may hold what a document
    says."""
    return harmless(_step_words(event, language, named))


@dataclass(slots=True)
class StepSummary:
    """The steps of a turn in sum, the one line into which they are folded once the answer is there."""

    steps: int = 0
    searches: int = 0
    passages: set[tuple[str, str, int]] = field(default_factory=set)  # collection, document, chunk

    def add(self, event: Step) -> None:
        self.steps += not isinstance(event, Drafted)
        match event:
            case ToolCalled():
                self.searches += not event.arguments.keys().isdisjoint(("queries", "query"))
            case ToolReturned(hits=hits):
                found = (hit.passage for hit in hits)
                self.passages |= {(each.collection, each.document_id, each.chunk) for each in found}

    def text(self, seconds: float, language: Language) -> str:
        """Such as `3 searches · 8 passages · 4 s`. `seconds`: that the answer took; 0: not known."""
        done = (_SEARCHES, self.searches) if self.searches else (_STEPS, self.steps)
        counted = (done, (_SEEN, len(self.passages)), (_SECONDS, round(seconds)))
        return " · ".join(said.to(language, n=n) for said, n in counted if n)


def _step_words(event: Step, language: Language, named: bool) -> str:
    match event:
        case Thought(text) | Drafted(text):
            return one_line(text)
        case ToolCalled():
            said = _arguments(event, language)
            return f"{event.name} {said}".rstrip() if named or not said else said
        case ToolReturned(failed=True):
            return _FAILED.to(language, what=one_line(event.summary))
        case ToolReturned(hits=()):
            return one_line(event.summary)
        case ToolReturned():
            return _found(event, language)
        case Reflected(verdict, text):
            said = VERDICTS[verdict].to(language)
            return _CRITIQUE.to(language, verdict=said, text=one_line(text)) if text.strip() else said
        case _:
            assert_never(event)


def thinking(seconds: int, language: Language) -> str:
    """That a turn is at work, and for how long; 0: it has just begun."""
    return (_STILL_THINKING if seconds else _THINKING).to(language, seconds=seconds)


def answer_markdown(answered: Answered, language: Language) -> str:
    """The answer with its numbered sources beneath: `[1] document › “quotation” (collection, date)`, linked if it has a
    URL."""
    text, sources = said_markdown(answered, language), sources_markdown(answered, language)
    return f"{text}\n\n{sources}" if sources else text


def said_markdown(answered: Answered, language: Language) -> str:
    """The answer without its sources, after a line of doubt where the bot is not sure of it; it calls nobody."""
    text, doubt = without_pings(answered.text), doubt_line(answered, language)
    if doubt and text.strip():
        text = f"**{doubt}**\n\n{text}"
    changed = changes_markdown(answered, language)
    return f"{changed}\n\n{text}" if changed else text


def changes_markdown(answered: Answered, language: Language) -> str:
    """The pages that the answer rests on and that have changed since, a line each, to stand on top of it; empty without
    any."""
    return without_pings(changes_text(answered.changes, language))


def doubt_line(answered: Answered, language: Language) -> str:
    """The line in front of an answer that the bot is not sure of; empty for any other. One that says that nothing was
    found has no need of it."""
    return UNSURE.to(language) if answered.unsure and answered.outcome == "answered" else ""


def sources_markdown(answered: Answered, language: Language) -> str:
    """The lines of `answer_markdown` beneath the answer, for a platform that keeps it in one piece; empty without
    sources."""
    if not answered.citations:
        return ""
    brief = answered.verbatim
    lines = (source_line(citation, language, linked=True, brief=brief) for citation in answered.citations)
    return "\n".join((f"**{SOURCES.to(language)}**", *lines))


def source_line(citation: Citation, language: Language, *, linked: bool = False, brief: bool = False) -> str:
    """One source. Only http and https become links, since a document's URL comes from outside; `linked`: as Markdown,
    in which names and quotations have no markup of their own; `brief`: the answer has the quotation whole."""
    document, where = (
        harmless(shortened(citation.name, NAME)),
        source_place(citation.collection, citation.date, language, citation.checked, citation.said_in),
    )
    quote = pointer(citation.quote) if brief else shortened(one_line(unmarked(citation.quote)), QUOTE)
    if linked:
        document, where, quote = (_MARKUP.sub(r"\\\1", each) for each in (document, where, quote))
        if citation.url and re.fullmatch(r"https?://[^\s<>]+", citation.url):
            document = f"[{document}]({citation.url.replace('(', '%28').replace(')', '%29')})"
    shown = f" › {_QUOTED.to(language, text=without_pings(quote))}" if quote else ""
    return f"[{citation.n}] {document}{shown}{where}"


def pointer(quote: str) -> str:
    """The beginning of a quotation: enough to find it by, where the answer's text has it whole. No number is cut in
    two."""
    quote = one_line(unmarked(quote))
    if len(quote) <= POINTER:
        return quote
    return beginning(quote, POINTER - 1).rstrip("、。") + "…"


def source_place(
    collection: str, date: str | None, language: Language, checked: str | None = None, said_in: str = ""
) -> str:
    """The place where a source is kept, the document's own date if it has one, and the day of the last look at what
    cannot be looked at any more: ` (handbook, 1 Apr 2026, last checked 13 Nov 2026)`. Of what people said in a channel:
    ` (said in #general, 1 Apr 2026)`."""
    seen = _CHECKED.to(language, date=date_words(checked, language)) if checked else ""
    where = _SAID_IN.to(language, channel=harmless(said_in)) if said_in else harmless(collection)
    shown = filter(None, (where, date_words(date or "", language), seen))
    return _IN.to(language, where=_COMMA.to(language).join(shown))


def without_pings(text: str) -> str:
    """Looks the same and calls nobody: a blank without width stands in each `<!channel>`, `<@U1>`, `@everyone`.

    As discord.py's `escape_mentions` does. A platform's own switches (`parse`, `allowed_mentions`) come on top (R15).
    """
    return _PING.sub("\\g<0>\u200b", text)


def harmless(text: str) -> str:
    """`text` on one line without addresses, whose place shows as "…", and without calls to people."""
    text = one_line(text)
    left = scrubbed(text, (), gap="…")
    return without_pings(text if left == visible(text).strip() else left)  # what a terminal obeys is the terminal's


def one_line(text: str) -> str:
    """Line ends become blanks; between Japanese characters, which need none, nothing."""
    return " ".join(_JAPANESE_BREAK.sub("", text).split())


def shortened(text: str, limit: int) -> str:
    """At most `limit` characters, the last of them "…" where some are left out."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def _arguments(call: ToolCalled, language: Language) -> str:
    given = dict(call.arguments)
    if not given and call.name == _LIST:
        return _COLLECTIONS.to(language)
    query, where = given.pop("queries", given.pop("query", None)), given.pop("collection_name", None)
    if isinstance(query, list):
        query = " / ".join(map(str, query))
    words = [f"{name}: {one_line(str(value))}" for name, value in given.items()]
    if query is not None:
        place = one_line(str(where)) if where else _EVERYWHERE.to(language)
        words.insert(0, _QUERY.to(language, query=shortened(one_line(str(query)), QUERIES), where=place))
    return ", ".join(words)


def _found(returned: ToolReturned, language: Language) -> str:
    """The tool's own summary, which knows what did not work; how good the best hit is; and where they come from."""
    return _FOUND.to(
        language,
        what=one_line(returned.summary) or _PASSAGES.to(language, n=len(returned.hits)),
        best=f"{max(hit.relevance for hit in returned.hits):.2f}",
        names=_named((hit.passage.document for hit in returned.hits), language),
    )


def _named(documents: Iterable[str], language: Language) -> str:
    """Documents in the order of their best passage, the first few by name."""
    names = [one_line(name) for name in dict.fromkeys(documents)]
    if len(names) == 1:
        return names[0]
    if len(names) > NAMES:
        return _COMMA.to(language).join(names[:NAMES]) + _MORE.to(language, n=len(names) - NAMES)
    return _AND.to(language, first=_COMMA.to(language).join(names[:-1]), last=names[-1])
