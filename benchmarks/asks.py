"""Questions as colleagues ask them, put to the whole application: `python -m benchmarks.asks --data FOLDER`.

    python -m benchmarks.asks --data FOLDER [--home FOLDER] [--only a|b|c] [--two] [--limit N] [--own-words] [--json]
    [--rows FILE]

FOLDER is as `benchmarks/asks_cases.py` says; cases whose pages are not there are left out and counted.

a  without a model, over POST /chat: from the right page? the fact told, or shown in an excerpt? refused? sure and wrong?
   `--two`: this of the direct questions, two in one message.
b  with a model that knows what to search for and what the answer is, and sees only what it is sent (`cassette.py`): what
   the loop loses of that, and what it costs. `--own-words`: it answers in the case's words instead of the pages'.
c  the search alone: does the fact stand in what a model is shown, for the asker's words and for a model's queries?

The settings of the environment hold, but for the home, the model and the limits. Pages are indexed once for each state
of them and of `retrieval/`, in `--home`, and asked in a copy. Each figure stands beside its floor; a run over all
questions ends with status 1 when one is missed."""

import argparse
import asyncio
import hashlib
import json
import shutil
import statistics
import sys
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx

from adapters.web.api.routes import READERS
from adapters.web.server.server import serving
from adapters.web.server.sockets import listen
from benchmarks.asks_cases import DIRECT, FOLLOW_UP, Asked, AsksError, Case, in_twos, prose, read, scored, spread
from benchmarks.cassette import MODEL, Cassette, Heard, Words
from benchmarks.homes import percentile
from bot.app import Application, running
from bot.config.settings import Settings
from bot.logs import Redactor
from bot.types import Upload
from retrieval.search import WrittenBy
from retrieval.types import TEAM, Passage

RETRIEVAL = Path(__file__).parents[1] / "retrieval"
PARTS = ("a", "b", "c")
TITLES = {"a": "without a model", "b": "with a model that knows what to look for", "c": "the search alone"}
WAIT = 180.0  # seconds for an answer
TOP = (3, 5, 8)  # passages that a model is shown

Row = dict[str, int | str]


@dataclass(frozen=True, slots=True)
class Floor:
    """A limit on a figure: at least, or at most."""

    limit: float
    at_most: bool = False

    def holds(self, value: float) -> bool:
        return value <= self.limit if self.at_most else value >= self.limit

    def __str__(self) -> str:
        return f"{'at most' if self.at_most else 'at least'} {self.limit:g}"


FLOORS: Mapping[str, Mapping[str, Floor]] = {
    "a": {
        "answerable: fact told or shown, %": Floor(46),
        "direct questions: sure and told, %": Floor(72),
        "answerable: sure and not told, %": Floor(4, at_most=True),
        "unanswerable: sure, %": Floor(8, at_most=True),
        "characters on the screen, median": Floor(700, at_most=True),
        "characters on the screen, p95": Floor(1500, at_most=True),
        "failed": Floor(0, at_most=True),
    },
    "b": {
        "unanswerable: unknown, %": Floor(96),
        "answerable and shown: unknown, %": Floor(1, at_most=True),
        "answerable and shown: altered by the check, %": Floor(3, at_most=True),
        "passages sent twice, a question": Floor(0, at_most=True),
        "requests refused by the model's server": Floor(0, at_most=True),
        "failed": Floor(0, at_most=True),
    },
    "c": {
        "model's queries: fact in top 8, %": Floor(91),
        "model's queries: right page first, %": Floor(83),
        "asker's words, one turn: fact in top 3, %": Floor(53.5),
        "asker's words, one turn: fact in top 8, %": Floor(68),
    },
}
"""In hundredths of the questions, as the design has them for its 370 answerable ones."""


@dataclass(slots=True)
class Report:
    """What a part found: a table a row for each language and kind, and figures by their names."""

    columns: tuple[str, ...]
    table: dict[tuple[str, str], Row] = field(default_factory=dict)
    figures: dict[str, float] = field(default_factory=dict)
    rows: list[dict[str, Any]] = field(default_factory=list)

    def count(self, case: Case, counts: Mapping[str, bool]) -> None:
        """One question, in the row of its kind and in that of all that are answerable, or not."""
        for key in ((case.language, case.kind), ("all", "answerable" if case.answerable else "unanswerable")):
            row = self.table.setdefault(key, dict.fromkeys(("n", *self.columns), 0))
            row["n"] = int(row["n"]) + 1
            for column in self.columns:
                row[column] = int(row[column]) + counts.get(column, False)

    def missed(self, part: str) -> list[str]:
        return [
            f"{part}: {name} is {self.figures[name]:.4g}, the floor is {floor}"
            for name, floor in FLOORS[part].items()
            if name in self.figures and not floor.holds(self.figures[name])
        ]

    def as_json(self) -> dict[str, Any]:
        rows = [{"language": language, "kind": kind, **row} for (language, kind), row in self.table.items()]
        return {"groups": rows, "figures": self.figures}

    def print(self, part: str) -> None:
        print(f"\n{part}  {TITLES[part]}\n")
        widths = [max(len(column) + 2, 6) for column in self.columns]
        heads = "".join(f"{column:>{width}}" for column, width in zip(self.columns, widths, strict=True))
        print(f"{'':24}{'n':>5}{heads}")
        for (language, kind), row in sorted(self.table.items(), key=lambda one: (one[0][0] == "all", one[0])):
            cells = "".join(f"{row[column]:>{width}}" for column, width in zip(self.columns, widths, strict=True))
            print(f"{f'{language} {kind}':24}{row['n']:>5}{cells}")
        print()
        for name, value in self.figures.items():
            floor = FLOORS[part].get(name)
            print(f"  {name:52}{value:>10.4g}{f'   {floor}' if floor else ''}")


def share(flags: Iterable[bool]) -> float:
    """In hundredths; 0 of none."""
    asked = list(flags)
    return 100 * sum(asked) / len(asked) if asked else 0.0


# -- the application --------------------------------------------------------------------------------------------------


def settings(home: Path, **more: Any) -> Settings:
    limits = ("KOTAE_USER_PER_MINUTE", "KOTAE_CHANNEL_PER_MINUTE", "KOTAE_DAILY_CALLS", "KOTAE_DAILY_TOKENS")
    given: dict[str, Any] = {"KOTAE_HOME": home, "KOTAE_MODEL": "extractive", **dict.fromkeys(limits, 0)}
    return Settings(**{**given, **more, "_env_file": None})


def contents(folder: Path) -> list[tuple[str, bytes]]:
    """The files below a folder by their paths in it, but for what Python makes of its own."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return [(path.relative_to(folder).as_posix(), path.read_bytes()) for path in files]


async def indexed(pages: Path, homes: Path) -> Path:
    """A home below `homes` with the pages in it: the one that is there, or a new one."""
    files = await asyncio.to_thread(contents, pages)
    state = hashlib.sha256(repr([files, await asyncio.to_thread(contents, RETRIEVAL)]).encode())
    home = homes / state.hexdigest()[:16]
    if home.exists():
        return home
    fresh = home.with_suffix(".new")
    shutil.rmtree(fresh, ignore_errors=True)
    async with running(settings(fresh), Redactor()) as app:
        for number, (name, data) in enumerate(files, 1):
            verdict = await app.knowledge.add(
                Upload(name, data, app.settings.default_collection, TEAM, author="asks"), "en"
            )
            if verdict.status == "refused":
                raise AsksError(f"{name} was refused: {verdict.reason}")
            progress("indexed", number, len(files))
    return fresh.rename(home)


@asynccontextmanager
async def answering(home: Path, **more: Any) -> AsyncIterator[tuple[Application, httpx.AsyncClient]]:
    """The application in a copy of the home, and a client of its HTTP API."""
    with TemporaryDirectory(prefix="kotae-asks-") as folder:
        copy = Path(shutil.copytree(home, Path(folder) / "home"))
        async with running(settings(copy, **more), Redactor()) as app:
            address = listen("127.0.0.1", 0, token=None)
            async with serving(app, address), httpx.AsyncClient(base_url=address.url, timeout=WAIT) as http:
                yield app, http


def progress(what: str, done: int, total: int) -> None:
    if sys.stderr.isatty():
        print(f"\r{what} {done}/{total}   ", end="" if done < total else "\n", file=sys.stderr, flush=True)


async def post(http: httpx.AsyncClient, query: str, session: str | None = None) -> Mapping[str, Any]:
    body = {"query": query} | ({"session_id": session} if session else {})
    reply = await http.post("/chat", json=body)
    if reply.status_code != 200:
        return {"answer": reply.text, "outcome": "failed", "sources": [], "session_id": session or ""}
    made: Mapping[str, Any] = reply.json()
    return made


async def asked(http: httpx.AsyncClient, case: Case, before: Callable[[], object] = lambda: None) -> Asked:
    """The question in a conversation of its own. `before`: what to do when the one before it has been answered."""
    session = str((await post(http, case.before))["session_id"]) if case.before else None
    before()
    return scored(case, await post(http, case.question, session))


def shown_row(asked: Asked) -> dict[str, Any]:
    case = asked.case
    return {"id": case.id, "language": case.language, "kind": case.kind, "outcome": asked.outcome} | {
        "unsure": asked.unsure,
        "cites": asked.documents,
        "cited": asked.cited,
        "told": asked.told,
        "shown": asked.shown,
        "text": asked.text,
    }


# -- a and b: questions over HTTP ------------------------------------------------------------------------------------

REPLIES = ("cited", "told", "shown", "refused", "sure", "sure wrong", "failed")


def counts(asked: Asked) -> dict[str, bool]:
    return {column: bool(getattr(asked, column.replace(" ", "_"))) for column in REPLIES}


async def without_model(home: Path, cases: Sequence[Case]) -> Report:
    report, replies = Report(REPLIES), list[Asked]()
    async with answering(home) as (_, http):
        for number, case in enumerate(cases, 1):
            reply = await asked(http, case)
            replies.append(reply)
            report.count(case, counts(reply))
            report.rows.append(shown_row(reply))
            progress("a", number, len(cases))
    known = [reply for reply in replies if reply.case.answerable]
    lengths = [reply.length for reply in known] or [0]
    report.figures = {
        "answerable: right page cited, %": share(reply.cited for reply in known),
        "answerable: fact told or shown, %": share(reply.shown for reply in known),
        "direct questions: sure and told, %": share(r.sure and r.told for r in known if r.case.kind == DIRECT),
        "answerable: sure and not told, %": share(reply.sure and not reply.told for reply in known),
        "answerable: sure and wrong, %": share(reply.sure_wrong for reply in known),
        "unanswerable: sure, %": share(reply.sure for reply in replies if not reply.case.answerable),
        "characters on the screen, median": statistics.median(lengths),
        "characters on the screen, p95": percentile(lengths, 0.95),
        "failed": sum(reply.failed for reply in replies),
    }
    return report


@dataclass(frozen=True, slots=True)
class Used:
    """One answer, and the model's calls for it."""

    reply: Asked
    calls: Sequence[Heard]

    @property
    def shown(self) -> bool:
        """Whether the model had been sent every fact."""
        return any(call.shown for call in self.calls)

    @property
    def altered(self) -> bool:
        """Whether words of the draft are missing in the answer, or others stand there."""
        draft = next((call.said for call in reversed(self.calls) if call.stage == "draft"), "")
        return _words(draft) != _words(self.reply.text)

    @property
    def repeated(self) -> int:
        return max((call.repeated for call in self.calls), default=0)


def _words(text: str) -> str:
    lines = (line for line in prose(text).splitlines() if not line.startswith(("Found:", "Sure:")))
    return "".join(char for line in lines for char in line if char.isalnum())


async def with_model(home: Path, cases: Sequence[Case], words: Words) -> Report:
    report, used = Report((*REPLIES, "sent", "altered")), list[Used]()
    async with answering(home) as (counting, _):
        count = counting.embedder.count_tokens
    async with Cassette(cases, count, words) as model:
        server = {"OPENAI_BASE_URL": model.url, "OPENAI_API_KEY": "sk-loopback"}
        async with answering(home, KOTAE_MODEL=f"openai:{MODEL}", **server) as (_, http):
            for number, case in enumerate(cases, 1):
                one = Used(await asked(http, case, model.take), model.take())
                used.append(one)
                report.count(case, counts(one.reply) | {"sent": one.shown, "altered": one.reply.told and one.altered})
                calls = [{"stage": call.stage, "tokens": call.tokens, "said": call.said} for call in one.calls]
                report.rows.append(shown_row(one.reply) | {"sent": one.shown, "altered": one.altered, "calls": calls})
                progress("b", number, len(cases))
    for refusal in dict.fromkeys(model.refused):
        print(f"the model's server refused a request: {refusal}", file=sys.stderr)
    sent = [one for one in used if one.shown]
    stages = sorted({call.stage for one in used for call in one.calls})
    report.figures = {
        "answerable: fact sent to the model, %": share(one.shown for one in used if one.reply.case.answerable),
        "answerable: fact told, %": share(one.reply.told for one in used if one.reply.case.answerable),
        "answerable and shown: unknown, %": share(one.reply.refused for one in sent),
        "answerable and shown: told, %": share(one.reply.told for one in sent),
        "answerable and shown: unsure, %": share(one.reply.unsure for one in sent),
        "answerable and shown: altered by the check, %": share(one.altered for one in sent if not one.reply.refused),
        "unanswerable: unknown, %": share(o.reply.outcome == "unknown" for o in used if not o.reply.case.answerable),
        "calls a question": statistics.mean(len(one.calls) for one in used),
        "input tokens a question": statistics.mean(sum(call.tokens for call in one.calls) for one in used),
        **{f"of which for the {stage}": _tokens(used, stage) for stage in stages},
        "passages sent twice, a question": statistics.mean(one.repeated for one in used),
        "requests refused by the model's server": len(model.refused),
        "failed": sum(one.reply.failed for one in used),
    }
    return report


def _tokens(used: Sequence[Used], stage: str) -> float:
    return statistics.mean(sum(call.tokens for call in one.calls if call.stage == stage) for one in used)


# -- c: the search alone ---------------------------------------------------------------------------------------------


async def evidence(home: Path, cases: Sequence[Case]) -> Report:
    """For the asker's words, for a model's first query and for all its queries."""
    columns = [f"{who}{what}" for who in ("asker ", "query ", "model ") for what in ("first", *map(str, TOP))]
    report, found = Report(tuple(columns)), defaultdict[str, list[tuple[Case, bool]]](list)
    known = [case for case in cases if case.answerable]
    async with answering(home) as (app, _):
        for number, case in enumerate(known, 1):
            flags: dict[str, bool] = {}
            lists = {
                "asker ": await search(app, [case.question], "asker"),
                "query ": await search(app, case.queries[:1], "model"),
                "model ": await search(app, case.queries, "model"),
            }
            for who, passages in lists.items():
                flags[f"{who}first"] = bool(passages) and case.is_right(passages[0].document)
                flags |= {f"{who}{top}": case.told_in("\n".join(p.text for p in passages[:top])) for top in TOP}
            for column, flag in flags.items():
                found[column].append((case, flag))
            report.count(case, flags)
            report.rows.append({"id": case.id, "language": case.language, "kind": case.kind, **flags})
            progress("c", number, len(known))
    one_turn = {column: [(case, flag) for case, flag in row if case.kind != FOLLOW_UP] for column, row in found.items()}
    for title, who, rows in (
        ("asker's words, one turn", "asker ", one_turn),
        ("model's first query", "query ", found),
        ("model's queries", "model ", found),
    ):
        report.figures[f"{title}: right page first, %"] = share(flag for _, flag in rows[f"{who}first"])
        for top in TOP:
            report.figures[f"{title}: fact in top {top}, %"] = share(flag for _, flag in rows[f"{who}{top}"])
    return report


async def search(app: Application, queries: Sequence[str], written_by: WrittenBy) -> list[Passage]:
    """What a model is shown for these queries, in its order, nothing withheld."""
    found = await app.knowledge.search(
        queries, READERS, written_by=written_by, limit=max(TOP), min_relevance=0.0, measured=False
    )
    return [hit.passage for hit in found.hits]


# -- all of it -------------------------------------------------------------------------------------------------------


async def measure(
    data: Path,
    homes: Path,
    parts: Sequence[str] = PARTS,
    *,
    limit: int | None = None,
    words: Words = "quoted",
    two: bool = False,
) -> tuple[dict[str, Report], int, int]:
    """The parts' reports; how many cases were asked, and how many left out. Raises AsksError, and what `running`
    raises."""
    whole, left_out = read(data)
    cases = spread(in_twos(whole) if two else whole, limit)
    home = await indexed(data / "pages", homes)
    reports: dict[str, Report] = {}
    for part in parts:
        match part:
            case "a":
                reports[part] = await without_model(home, cases)
            case "b":
                reports[part] = await with_model(home, cases, words)
            case _:
                reports[part] = await evidence(home, cases)
    return reports, len(cases), len(left_out)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--home", type=Path, help="keep the indexed pages here, for the next run")
    options.add_argument("--only", choices=PARTS)
    options.add_argument("--limit", type=int, help="so many cases, spread over all")
    options.add_argument("--two", action="store_true", help="a: of the direct questions, two in one message; no floors")
    options.add_argument("--own-words", action="store_true", help="b: answer in the case's words")
    options.add_argument("--json", action="store_true", help="print one JSON object")
    options.add_argument("--rows", type=Path, help="write what became of each case here, a JSON object a line")
    chosen = options.parse_args()
    parts = ("a",) if chosen.two else (chosen.only,) if chosen.only else PARTS
    with TemporaryDirectory(prefix="kotae-asks-") as folder:
        homes = chosen.home or Path(folder)
        homes.mkdir(parents=True, exist_ok=True)
        words: Words = "own" if chosen.own_words else "quoted"
        try:
            measured = measure(chosen.data, homes, parts, limit=chosen.limit, words=words, two=chosen.two)
            reports, count, left_out = asyncio.run(measured)
        except AsksError as error:
            sys.exit(str(error))
    if chosen.rows:
        rows = [{"part": part, **row} for part, report in reports.items() for row in report.rows]
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        chosen.rows.write_text(text, encoding="utf-8")
    missed = [line for part, report in reports.items() for line in report.missed(part) if not chosen.two]
    if chosen.json:
        said = {part: report.as_json() for part, report in reports.items()}
        print(json.dumps({"cases": count, "left_out": left_out, **said, "missed": missed}, ensure_ascii=False))
    else:
        print(f"{count} cases; {left_out} left out, whose pages are not there")
        for part, report in reports.items():
            report.print(part)
        print("".join(f"\nmissed  {line}" for line in missed))
    if missed and chosen.limit is None:
        sys.exit(1)


if __name__ == "__main__":
    main()
