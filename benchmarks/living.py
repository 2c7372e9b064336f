"""Answers that follow their pages, measured on a real handbook's history: commit by commit through the git source.

    python -m benchmarks.living REPOSITORY --folder pages [--commits 60] [--questions 150] [--seed 7]

REPOSITORY is a clone, bare or not. Answers quote sentences of pages that the last COMMITS commits modify, half of them
such as go or change, as the search finds them before the first of these commits; each stands in a thread, and beside it
one that says the same in other words. After each commit the source is synced and the answers are checked, as a bot does
by itself. An answer is outdated when a sentence that it rests on is not on the page any more and either its numbers or
most of its letters are not, by `difflib`; what is alike and has the same numbers counts as reworded, and is reported
apart, as are the answers in other words. Then a folder of the last commit's pages is edited under a bot that looks after
itself, and so is the repository, at its default interval. Limits: recall of outdated answers .95, false alarms among
checks of answers whose sentences all stand .05, one message an answer and change, no page of a past commit after a sync,
no document lost by a rename, 60 s from a commit to the edited answer, 5 s in a folder.
"""

import argparse
import asyncio
import hashlib
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

from agent.events import EXTRACTIVE, Answered, Citation, ToolReturned
from agent.grounding.quantities import squeeze
from bot.app import Application, running
from bot.logs import Redactor
from bot.sources.base import PageFilter
from bot.sources.sources import NewSource
from bot.store.contents import address_of
from bot.store.engine import rows, write
from bot.store.schema import notices
from bot.store.turns import TurnStore
from bot.turns.trace import Recording
from bot.types import Actor, Audience, Incoming, Place, Post
from retrieval.loaders.loader import Loader
from retrieval.text import sentences
from tests.bot.sample_turns import settings
from tests.bot.sources.conftest import Tree

HOME, PLACE = Actor("terminal", "", "terminal", "editor"), Place("slack", "T1", "C1")
ALIKE = 0.6
EDITS = {"folder": 5, "git": 2}


@dataclass
class Asked:
    """An answer in its thread: the sentences that it quotes, by document."""

    turn: str
    quotes: list[tuple[str, str]]
    reworded: bool = False
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
    missed: list[str] = field(default_factory=list)


@dataclass
class Pages:
    """The documents beside the pages of each commit. `stale`: such as say what an earlier commit said, or that the
    commit has not; `renamed`: pages that git calls renamed, of which so many `kept` their document."""

    seconds: list[float] = field(default_factory=list)
    compared: int = 0
    stale: list[str] = field(default_factory=list)
    renamed: int = 0
    kept: int = 0


class History:
    """The Markdown below a folder, as the last commits of a repository have it, with a branch that goes forward commit
    by commit. What the repository has only by name, as partial clones do, is left out."""

    def __init__(self, repository: Path, folder: str, at: Path, most: int, pages: int | None = None) -> None:
        """`pages`: at most so many, the first ones by name."""
        self.at, self.folder, self._most = at, folder, pages
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
        pages = [line for line in tree if line.endswith(".md")][: self._most]
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

    def renames(self, before: str, after: str) -> dict[str, str]:
        """New name → old one."""
        told = self.git("-c", "core.quotePath=false", "diff", "--name-status", "-M", "--diff-filter=R", before, after)
        return {new: old for _, old, new in (line.split("\t") for line in told.splitlines())}

    def pages(self, commit: str) -> dict[str, str]:
        """The hash of each page's text, by name."""
        listed = self.git("-c", "core.quotePath=false", "ls-tree", "-r", "-z", commit).split("\0")
        names = [(line.split()[2], line.partition("\t")[2]) for line in listed if line]
        asked = "".join(f"{blob}\n" for blob, _ in names)
        command = ["git", "-C", str(self.at), "cat-file", "--batch"]
        told, at = subprocess.run(command, input=asked.encode(), capture_output=True, check=True).stdout, 0
        hashes = {}
        for _, name in names:
            end = told.index(b"\n", at)
            size = int(told[at:end].split()[2])
            hashes[name] = hashlib.sha256(told[end + 1 : end + 1 + size]).hexdigest()
            at = end + 2 + size
        return hashes

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


_OTHER_WORDS = (
    ("you must", "people have to"), ("must", "has to"), ("should", "ought to"), ("you can", "it is possible to"),
    ("need to", "have to"), ("contact", "get in touch with"), ("submit", "hand in"), ("ensure", "make sure"),
    ("please", "kindly"), ("If ", "When "), ("before", "ahead of"), ("your", "one's"), ("We ", "The team "),
    ("して" "ください", "します"), ("できます", "ことが可能です"), ("必要があります", "なければなりません"),
    ("しなければなりません", "する必要があります"), ("ています。", "ているとのことです。"), ("します。", "するとされています。"),
    ("です。", "であるとされています。"), ("私たち", "当社"), ("および", "と"), ("ため、", "ので、"),
)  # fmt: skip


def in_other_words(sentence: str) -> str | None:
    """The same said differently, as a model does; None where no rule is for it."""
    said = sentence
    for one, other in _OTHER_WORDS:
        said = said.replace(one, other)
    return said if said != sentence else None


async def ask(app: Application, number: int, question: str, *, reworded: bool = False) -> Asked | None:
    """An answer in its thread that rests on the sentence, from where the search finds it; None: it does not. It quotes
    it, or says the same in other words (`reworded`)."""
    squeezed = squeeze(question)
    found = await app.knowledge.search(question, app.readers, min_relevance=0.0, measured=False)
    hit = next((each for each in found.hits if squeezed in squeeze(each.passage.text)), None)
    own = in_other_words(question) if reworded else None
    if hit is None or (reworded and own is None):
        return None
    passage, turn, now = hit.passage, f"{number:032x}", datetime.now(UTC)
    message = Incoming(PLACE, f"{number}.0", f"{number}.0", "U1", question, Audience("public"))
    turns = TurnStore(app.data.engine)
    held = (await turns.claim({turn: message}, owner="replay", now=now, until=now + timedelta(hours=1)))[turn]
    await turns.start(held, owner="replay", now=now)
    text = f"{own} [1]" if own else f"The documents say:\n\n**{passage.title}**\n> {question} [1]"
    place = (passage.document, passage.collection, passage.chunk)
    cited = Citation(1, *place, question, passage.url, document_id=passage.document_id)
    answer = Answered(text, (cited,), model="replay" if own else EXTRACTIVE, turn=turn)
    recording = Recording()
    for event in (ToolReturned("1", "search_rag_knowledge_base", "1", (hit,)), answer):
        recording.add(event)
    await turns.finish(held, answer, owner="replay", steps=recording.steps, misses=(), now=now)
    await turns.shown(turn, owner="replay", now=now)
    await app.bot.outbox.confirm(Post(turn, "answer", 0, PLACE, message.thread, f"{number}.5"))
    return Asked(turn, [(passage.document, question)], reworded)


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


async def compare(
    app: Application, loader: Loader, history: History, before: str, after: str, ids: dict[str, str], seen: Pages
) -> None:
    """The documents beside the pages of a commit; `ids` are those of the documents before it. A document is right, too,
    that says in the same words what the page says whose bytes are others."""
    prefix = "" if not history.folder else f"{history.folder.rstrip('/')}/"
    rows = {f"{prefix}{row.name}": row for row in await app.data.documents.listed()}
    there = {name: said for name, said in history.pages(after).items() if PageFilter().name(name) is not None}
    seen.compared += len(rows)
    for name, row in rows.items():
        if there.get(name) != row.hash and await _address(loader, name, history.text(after, name)) != row.markdown:
            seen.stale.append(name)
    for new, old in history.renames(before, after).items():
        if old in ids and new in rows:
            seen.renamed += 1
            seen.kept += rows[new].id == ids[old]
    ids.clear()
    ids |= {name: row.id for name, row in rows.items()}


async def _address(loader: Loader, name: str, text: str | None) -> str | None:
    return address_of((await loader.load(name, text.encode())).markdown) if text is not None else None


async def step(
    app: Application,
    history: History,
    before: str,
    after: str,
    asked: list[Asked],
    scores: tuple[Score, Score],
    seen: Pages,
) -> None:
    changed = set(history.modified(before, after))
    prefix = "" if not history.folder else f"{history.folder.rstrip('/')}/"
    history.go(after)
    begun = time.monotonic()
    await app.sources.sync(HOME, "replay", app.readers)
    await app.living.check()
    if changed:
        seen.seconds.append(time.monotonic() - begun)
    told = Counter(row.turn for row in await rows(app.data.engine, select(notices.c.turn)))
    async with write(app.data.engine) as db:
        await db.execute(delete(notices))
    for one in asked:
        score = scores[one.reworded]
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


async def measure(
    repository: Path, folder: str, most: int, wanted: int, seed: int, verbose: bool, promptly: bool
) -> None:
    dice = random.Random(seed)
    with tempfile.TemporaryDirectory() as scratch:
        history = History(repository, folder, Path(scratch) / "replay.git", most)
        commits = history.commits
        history.go(commits[0])
        async with running(settings(Path(scratch) / "home"), Redactor()) as app, Loader() as loader:
            source = NewSource("git", str(history.at), name="replay", branch="replay", folder=folder)
            await app.sources.add(HOME, source)
            begun = time.monotonic()
            report = await app.sources.sync(HOME, "replay", app.readers)
            print(f"{report.pages} pages in {time.monotonic() - begun:.0f} s, {len(commits) - 1} commits", flush=True)
            begun = time.monotonic()
            await app.sources.sync(HOME, "replay", app.readers)
            print(f"a sync with nothing new: {time.monotonic() - begun:.2f} s", flush=True)
            questions = candidates(history, commits, wanted, dice)
            found = [
                await ask(app, number * 2 + reworded, question, reworded=bool(reworded))
                for number, question in enumerate(questions)
                for reworded in (0, 1)
            ]
            asked = [one for one in found if one is not None]
            own = sum(one.reworded for one in asked)
            print(f"{len(questions)} sentences, {len(asked) - own} quoted, {own} also in other words", flush=True)
            scores, seen, ids = (Score(), Score()), Pages(), dict[str, str]()
            await compare(app, loader, history, commits[0], commits[0], ids, seen)
            for before, after in pairwise(commits):
                await step(app, history, before, after, asked, scores, seen)
                await compare(app, loader, history, before, after, ids, seen)
        _tell(scores, seen, verbose)
        if promptly:
            await promptness(history, Path(scratch), dice)


def _tell(scores: tuple[Score, Score], seen: Pages, verbose: bool) -> None:
    for name, score in zip(("quoted", "in other words"), scores, strict=True):
        print(f"{name}: outdated answers that say so: {_share(score.noticed, score.outdated)}; limit .95")
        alarms = _share(score.alarms, score.standing)
        print(f"{name}: false alarms, of checks where every sentence stands: {alarms}; limit .05")
        reworded = _share(score.reworded_noticed, score.reworded)
        print(f"{name}: reworded sentences that were taken for a change: {reworded}")
        print(f"{name}: messages of an answer and change, at most: {max(score.messages, default=0)}; limit 1")
        for each in score.missed if verbose else ():
            print(f"  not noticed: {each}")
    print(f"documents that are not as their commit has them: {_share(len(seen.stale), seen.compared)}; limit 0")
    print(f"renamed pages that kept their document: {_share(seen.kept, seen.renamed)}")
    print(f"sync and check: at most {max(seen.seconds, default=0.0):.1f} s", flush=True)


def _share(some: int, of: int) -> str:
    return f"{some} of {of}" + (f" ({some / of:.3f})" if of else "")


# -- how soon ----------------------------------------------------------------------------------------------------------


async def promptness(history: History, scratch: Path, dice: random.Random) -> None:
    """Edits under a bot that looks after itself, until their answers say so."""
    last = history.commits[-1]
    names = [name for name in history.pages(last) if PageFilter().name(name) is not None]
    tree = Tree(scratch / "tree", "git")
    for name in dice.sample(names, min(len(names), 100)):
        file = tree.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(history.text(last, name) or "", encoding="utf-8")
    tree.commit()
    for kind, limit in (("folder", 5), ("git", 60)):
        async with running(settings(scratch / f"home-{kind}"), Redactor()) as app:
            await app.sources.add(
                HOME, NewSource("folder" if kind == "folder" else "git", str(tree.path), name="replay")
            )
            await app.sources.sync(HOME, "replay", app.readers)
            seconds: list[float | None] = []
            async with app.looked_after():
                for number, file in enumerate(_shuffled(tree, dice)):
                    text = file.read_text(encoding="utf-8")
                    fitting = [each for each in fit(text) if each in text]
                    one = await ask(app, number, dice.choice(fitting)) if fitting else None
                    if one is None or len(seconds) == EDITS[kind]:
                        continue
                    file.write_text(text.replace(one.quotes[0][1], ""), encoding="utf-8")
                    tree.commit()
                    seconds.append(await _until_edited(app, one.turn, limit * 2))
        noticed = [each for each in seconds if each is not None]
        said = f"{_share(len(noticed), len(seconds))} edits noticed, after {max(noticed, default=0.0):.1f} s at most"
        print(f"{kind}, looked after by a bot that runs: {said}; limit {limit} s", flush=True)


def _shuffled(tree: Tree, dice: random.Random) -> list[Path]:
    files = sorted(tree.path.rglob("*.md"))
    return dice.sample(files, len(files))


async def _until_edited(app: Application, turn: str, patience: float) -> float | None:
    """Seconds; None: it never says so."""
    begun = time.monotonic()
    while time.monotonic() - begun < patience:
        kept = await app.data.conversations.get(turn)
        if kept is not None and kept.answered.changes:
            return time.monotonic() - begun
        await asyncio.sleep(0.05)
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--folder", default="", help="only below this folder")
    parser.add_argument("--commits", type=int, default=60)
    parser.add_argument("--questions", type=int, default=150)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--no-promptness", action="store_true", help="without the edits of a folder and a repository")
    parser.add_argument("--verbose", action="store_true", help="what was not noticed, too")
    given = parser.parse_args()
    print(f"seed {given.seed}, {given.commits} commits, {given.questions} questions", flush=True)
    asyncio.run(
        measure(
            given.repository,
            given.folder,
            given.commits,
            given.questions,
            given.seed,
            given.verbose,
            not given.no_promptness,
        )
    )


if __name__ == "__main__":
    main()
