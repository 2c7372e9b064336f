"""Answers that follow their pages, measured on a real handbook's history: commit by commit through the git source.

    python -m benchmarks.living REPOSITORY --folder pages [--commits 60] [--questions 150] [--seed 7]

REPOSITORY is a clone, bare or not. Answers quote sentences of pages that the last COMMITS commits modify, half of them
such as go or change, as the search finds them before the first of these commits; each stands in a thread. After each
commit the source is synced and the answers are checked, as a bot does by itself. An answer is outdated when a sentence
that it quotes is not on the page any more and either its numbers or most of its letters are not, by `difflib`; what is
alike and has the same numbers counts as reworded, and is reported apart. Limits: recall of outdated answers .95, false
alarms among checks of answers whose sentences all stand .05, one message an answer and change.
"""

import argparse
import asyncio
import os
import random
import re
import subprocess
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from difflib import SequenceMatcher
from itertools import pairwise
from pathlib import Path

from sqlalchemy import delete, select

from agent.events import Answered, Citation, ToolReturned
from agent.grounding.quantities import squeeze
from bot.app import Application, running
from bot.logs import Redactor
from bot.sources.sources import NewSource
from bot.store.engine import rows, write
from bot.store.schema import notices
from bot.store.turns import TurnStore
from bot.store.unanswered import OFFLINE
from bot.turns.trace import Recording
from bot.types import Actor, Audience, Incoming, Place, Post
from retrieval.text import sentences
from tests.bot.sample_turns import settings

HOME, PLACE = Actor("terminal", "", "terminal", "editor"), Place("slack", "T1", "C1")
ALIKE = 0.6
DEFAULT_INTERVAL = 30.0  # seconds between two looks at a repository


@dataclass
class Asked:
    """An answer in its thread: the sentences that it quotes, by document."""

    turn: str
    quotes: list[tuple[str, str]]
    over: bool = False


@dataclass
class Score:
    outdated: int = 0
    noticed: int = 0
    reworded: int = 0
    reworded_noticed: int = 0
    standing: int = 0
    alarms: int = 0
    messages: Counter[int] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)


class History:
    """The Markdown below a folder, as the last commits of a repository have it, with a branch that goes forward commit
    by commit. What the repository has only by name, as partial clones do, is left out."""

    def __init__(self, repository: Path, folder: str, at: Path, most: int) -> None:
        self.at, self.folder = at, folder
        subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=replay", str(at)], check=True)
        objects = subprocess.run(
            ["git", "-C", str(repository), "rev-parse", "--absolute-git-dir"],
            capture_output=True,
            check=True,
            text=True,
        ).stdout.strip()
        (at / "objects" / "info" / "alternates").write_text(f"{objects}/objects\n")
        head = subprocess.run(
            ["git", "-C", str(repository), "rev-parse", "HEAD"], capture_output=True, check=True, text=True
        ).stdout.strip()
        listed = self.git("rev-list", "--first-parent", f"--max-count={most + 1}", head, "--", folder or ".")
        self.commits: list[str] = []
        for commit in listed.split()[::-1]:
            self.commits.append(self._copied(commit))

    def git(self, *command: str, stdin: str = "", **env: str) -> str:
        given = {**os.environ, **env}
        done = subprocess.run(
            ["git", "-C", str(self.at), *command], input=stdin.encode(), env=given, capture_output=True, check=True
        )
        return done.stdout.decode("utf-8", "replace")

    def _copied(self, commit: str) -> str:
        tree = self.git("-c", "core.quotePath=false", "ls-tree", "-r", commit, "--", self.folder or ".").splitlines()
        pages = [line for line in tree if line.endswith(".md")]
        there = self.git("cat-file", "--batch-check", stdin="\n".join(line.split()[2] for line in pages) + "\n")
        had = {line.split()[0] for line in there.splitlines() if not line.endswith("missing")}
        index = str(self.at / "replay.index")
        Path(index).unlink(missing_ok=True)
        kept = "".join(f"{line}\n" for line in pages if line.split()[2] in had)
        self.git("update-index", "--index-info", stdin=kept, GIT_INDEX_FILE=index)
        made = self.git("write-tree", GIT_INDEX_FILE=index).strip()
        when = self.git("show", "-s", "--format=%cI", commit).strip()
        who = {f"GIT_{role}_{what}": "replay@example" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        dates = {"GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when}
        parent = ["-p", self.commits[-1]] if self.commits else []
        return self.git("commit-tree", made, *parent, "-m", "replay", **who, **dates).strip()

    def go(self, commit: str) -> None:
        self.git("update-ref", "refs/heads/replay", commit)

    def modified(self, before: str, after: str) -> list[str]:
        """The pages that are not the same, those that are gone too."""
        return self.git("-c", "core.quotePath=false", "diff", "--name-only", "--no-renames", before, after).splitlines()

    def text(self, commit: str, name: str) -> str | None:
        try:
            return self.git("show", f"{commit}:{name}")
        except subprocess.CalledProcessError:
            return None


def fit(text: str | None) -> list[str]:
    """The sentences of a page that a colleague could ask about."""
    said = (each.strip("-*> ") for each in sentences(re.sub(r"\A---\n.*?\n---\n", "", text or "", flags=re.DOTALL)))
    return [each for each in said if 25 <= len(each) <= 200 and not re.search(r"https?:|[|<>{}#\[\]`]", each)]


def candidates(history: History, commits: list[str], wanted: int, dice: random.Random) -> list[str]:
    """Questions: sentences of the first commit that a later one takes out, and as many of the same pages that stay."""
    first, last = commits[0], commits[-1]
    names = {name for a, b in pairwise(commits) for name in history.modified(a, b)}
    go, stay = list[str](), list[str]()
    for name in sorted(names):
        after = squeeze(history.text(last, name) or "")
        for each in fit(history.text(first, name)):
            (stay if squeeze(each) in after else go).append(each)
    dice.shuffle(go)
    dice.shuffle(stay)
    return go[: wanted // 2] + stay[: wanted // 2]


async def ask(app: Application, number: int, question: str) -> Asked | None:
    """An answer in its thread that quotes the sentence from where the search finds it; None: it does not."""
    squeezed = squeeze(question)
    found = await app.knowledge.search(question, app.readers, min_relevance=0.0, measured=False)
    hit = next((each for each in found.hits if squeezed in squeeze(each.passage.text)), None)
    if hit is None:
        return None
    passage, turn, now = hit.passage, f"{number:032x}", datetime.now(UTC)
    message = Incoming(PLACE, f"{number}.0", f"{number}.0", "U1", question, Audience("public"))
    turns = TurnStore(app.data.engine)
    held = (await turns.claim({turn: message}, owner="replay", now=now, until=now + timedelta(hours=1)))[turn]
    await turns.start(held, owner="replay", now=now)
    text = f"The documents say:\n\n**{passage.title}**\n> {question} [1]"
    cited = Citation(1, passage.document, passage.collection, passage.chunk, question, passage.url)
    answer = Answered(text, (cited,), model=OFFLINE, turn=turn)
    recording = Recording()
    for event in (ToolReturned("1", "search_rag_knowledge_base", "1", (hit,)), answer):
        recording.add(event)
    await turns.finish(held, answer, owner="replay", steps=recording.steps, misses=(), now=now)
    await turns.shown(turn, owner="replay")
    await app.bot.outbox.confirm(Post(turn, "answer", 0, PLACE, message.thread, f"{number}.5"))
    return Asked(turn, [(passage.document, question)])


def fate(quote: str, before: str | None, after: str | None) -> str:
    """Of a quoted sentence over one commit: stands, reworded or outdated."""
    squeezed = squeeze(quote)
    if after is not None and (squeezed in squeeze(after) or squeezed not in squeeze(before or "")):
        return "stands"
    digits = sorted(re.findall(r"\d+", quote))
    best = max(
        sentences(after or ""), key=lambda each: SequenceMatcher(None, squeezed, squeeze(each)).ratio(), default=""
    )
    alike = SequenceMatcher(None, squeezed, squeeze(best)).ratio() >= ALIKE
    return "reworded" if alike and sorted(re.findall(r"\d+", best)) == digits else "outdated"


async def step(app: Application, history: History, before: str, after: str, asked: list[Asked], score: Score) -> None:
    changed = set(history.modified(before, after))
    prefix = "" if not history.folder else f"{history.folder.rstrip('/')}/"
    history.go(after)
    begun = time.monotonic()
    await app.sources.sync(HOME, "replay", app.readers)
    await app.living.check()
    if changed:
        score.seconds.append(time.monotonic() - begun)
    told = Counter(row.turn for row in await rows(app.data.engine, select(notices.c.turn)))
    async with write(app.data.engine) as db:
        await db.execute(delete(notices))
    for one in asked:
        files = {name: name if name in changed else f"{prefix}{name}" for name, _ in one.quotes}
        if one.over or not any(file in changed for file in files.values()):
            continue
        fates = {
            fate(quote, history.text(before, files[name]), history.text(after, files[name]))
            for name, quote in one.quotes
            if files[name] in changed
        }
        kept = await app.data.conversations.get(one.turn)
        noticed = kept is not None and bool(kept.answered.changes)
        score.messages[told[one.turn]] += noticed
        if "outdated" in fates:
            score.outdated += 1
            score.noticed += noticed
            if not noticed:
                score.missed.append(" / ".join(quote for _, quote in one.quotes)[:200])
        elif "reworded" in fates:
            score.reworded += 1
            score.reworded_noticed += noticed
        else:
            score.standing += 1
            score.alarms += noticed
        one.over = noticed or fates != {"stands"}


async def measure(repository: Path, folder: str, most: int, wanted: int, seed: int, verbose: bool) -> None:
    dice = random.Random(seed)
    with tempfile.TemporaryDirectory() as scratch:
        history = History(repository, folder, Path(scratch) / "replay.git", most)
        commits = history.commits
        history.go(commits[0])
        async with running(settings(Path(scratch) / "home"), Redactor()) as app:
            source = NewSource("git", str(history.at), name="replay", branch="replay", folder=folder)
            await app.sources.add(HOME, source)
            begun = time.monotonic()
            report = await app.sources.sync(HOME, "replay", app.readers)
            print(f"{report.pages} pages in {time.monotonic() - begun:.0f} s, {len(commits) - 1} commits", flush=True)
            begun = time.monotonic()
            await app.sources.sync(HOME, "replay", app.readers)
            print(f"a sync with nothing new: {time.monotonic() - begun:.2f} s", flush=True)
            questions = candidates(history, commits, wanted, dice)
            found = [await ask(app, number, question) for number, question in enumerate(questions)]
            asked = [one for one in found if one is not None]
            print(f"{len(questions)} sentences, {len(asked)} of them found and quoted", flush=True)
            score = Score()
            for before, after in pairwise(commits):
                await step(app, history, before, after, asked, score)
    _tell(score, verbose)


def _tell(score: Score, verbose: bool) -> None:
    def share(some: int, of: int) -> str:
        return f"{some} of {of}" + (f" ({some / of:.3f})" if of else "")

    print(f"outdated answers that say so: {share(score.noticed, score.outdated)}; limit .95")
    print(f"false alarms, of checks where every sentence stands: {share(score.alarms, score.standing)}; limit .05")
    print(f"reworded sentences that were taken for a change: {share(score.reworded_noticed, score.reworded)}")
    print(f"messages of an answer and change, at most: {max(score.messages, default=0)}; limit 1")
    slowest = max(score.seconds, default=0.0)
    print(f"from commit to edit: the interval of {DEFAULT_INTERVAL:.0f} s and at most {slowest:.1f} s; limit 60 s")
    for each in score.missed if verbose else ():
        print(f"  not noticed: {each}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--folder", default="", help="only below this folder")
    parser.add_argument("--commits", type=int, default=60)
    parser.add_argument("--questions", type=int, default=150)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--verbose", action="store_true", help="what was not noticed, too")
    given = parser.parse_args()
    asyncio.run(measure(given.repository, given.folder, given.commits, given.questions, given.seed, given.verbose))


if __name__ == "__main__":
    main()
