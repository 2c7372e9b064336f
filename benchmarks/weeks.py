"""What a team teaches over weeks, at random, on the whole bot: `python -m benchmarks.weeks [--platform discord]
[--weeks 12] [--steps 40] [--seed 7]`.

People of Slack's or Discord's fake ask in public and private channels and in direct messages, in two languages and with
all kinds of courtesy; they vote, have a person asked, reply to cards (with answers, put-offs, jokes and links), confirm,
decline, edit and delete replies, fill in the form, correct and take back answers; documents come, change and go. After
each week the rows are a week older, and two processes look whether the digest is due, or nobody is there. Each answer
and each page holds a word of its own. Broken, with the step and the seed to see it again (status 1):

- something is found that nobody has confirmed, or is not any more though nobody has taken it away;
- the bot says what is not kept, or what was taken back or forgotten still stands;
- an answer closes what asks for something else, or an asker is not told it;
- a miss is neither open, nor dismissed by somebody, nor answered by a document that is there;
- a digest comes twice, has what the last one had, or counts otherwise than the page.
"""

import argparse
import asyncio
import random
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import RowMapping, Table, select, update

from adapters.port import Adapter
from adapters.runner import PeopleReach, announcing
from benchmarks.leak_acts import Acts, Asked
from benchmarks.leak_discord import OnDiscord
from benchmarks.leak_slack import OnSlack
from benchmarks.leak_world import Told, found
from benchmarks.leaks import PLATFORMS
from bot.app import Application, running
from bot.logs import Redactor
from bot.records import DocumentRow, Period, WantedQuestions
from bot.store import schema
from bot.store.digests import Digests
from bot.store.engine import read, write
from bot.types import Actor, Upload
from bot.unanswered.digest_schedule import DigestClock
from bot.unanswered.expert_answers import ANSWERS
from retrieval.types import EVERYONE, TEAM, Readers
from tests.adapters.acting import serving
from tests.adapters.staging import Skipping
from tests.bot.sample_turns import begun
from tests.hostile.servant import Servant

WEEK = timedelta(days=7)
SECONDS = 10  # within which an asker is told, and what was taken back has left what stands
ALL = Readers(frozenset({TEAM, EVERYONE}))
THINGS = (
    ("the harbour office door", "港湾事務所の扉"), ("the storage room", "資材倉庫"), ("the sauna", "サウナ"),
    ("the whale project", "くじら計画"), ("the coffee machine", "コーヒーメーカー"), ("the night bus", "夜行バス"),
    ("the bicycle shelter", "自転車置き場"), ("the badge printer", "社員証プリンター"), ("the projector", "プロジェクター"),
    ("the roof garden", "屋上庭園"), ("the guest wifi", "来客用無線LAN"), ("the lost property box", "遺失物箱"),
)  # fmt: skip
ASKED = (
    ("What is the code of {}?", "{}の暗証番号は何ですか？"), ("Who looks after {}?", "{}の担当者は誰ですか？"),
    ("When does {} open?", "{}はいつ利用できますか？"), ("How much does {} cost?", "{}の料金はいくらですか？"),
)  # fmt: skip
COURTESY = (("{}", "Hello, {}", "Please tell me: {}", "{} Thanks!"), ("{}", "すみません、{}", "教えてください。{}"))
TOPICS = len(THINGS) * len(ASKED)
SAID = (
    "It is {}.", "{}です。", "{}", "1. {}\n2. 20 days\n3. see above", "- {}\n- {}", "It was wrong before, now it is {}",
    "> quoted\n{}", "Use `{}` from 1 April.",
)  # fmt: skip
EMPTY = (
    "I don't know, ask Ken.", "See the handbook.", "わかりません。", "担当ではありません。", "no idea lol", ":eyes:", "🤷",
    "I'll check and come back.", "https://wiki.example/page", "+1", "Which one do you mean?",
)  # fmt: skip
AGED = (
    schema.turns, schema.answers, schema.questions, schema.posts, schema.asks, schema.notices, schema.feedback,
    schema.documents, schema.audit, schema.intakes, schema.changed_documents, schema.traces, schema.digests,
)  # fmt: skip


class Team:
    """One team and what it has taught. LookupError where something cannot be done."""

    def __init__(self, world: Acts, app: Application, adapter: Adapter, dice: random.Random) -> None:
        self.world, self.app, self.adapter, self.dice = world, app, adapter, dice
        self.topics: dict[str, int] = {}  # of each word
        self.kept: set[str] = set()  # the words that documents have
        self.said: dict[str, tuple[tuple[str, ...], set[str]]] = {}  # of the bot's messages: their states and words
        self.asked: list[tuple[Asked, int]] = []
        self.replies: list[str] = []
        self.step, self.broken, self.met = "", list[str](), Counter[str]()
        self.before: datetime | None = None  # when the last digest was due

    # -- words ---------------------------------------------------------------------------------------------------------

    def word(self, topic: int) -> str:
        word = self.world.oracle.word("")
        self.topics[word] = topic
        self.step += f" {word}"
        return word

    def question(self, topic: int) -> str:
        japanese, (thing, asked) = self.dice.randrange(2), divmod(topic, len(ASKED))
        return self.dice.choice(COURTESY[japanese]).format(ASKED[asked][japanese].format(THINGS[thing][japanese]))

    def topic_of(self, said: str) -> int:
        """Of the first line of a card, or of a question."""
        line = said.strip().split("\n")[0]
        for topic in range(TOPICS):
            thing, asked = divmod(topic, len(ASKED))
            if any(ASKED[asked][one].format(THINGS[thing][one]) in line for one in (0, 1)):
                return topic
        raise LookupError(said)

    def one(self, some: Sequence[Any]) -> Any:
        if not some:
            raise LookupError("there is none")
        return self.dice.choice(some)

    def member(self, channel: str) -> str:
        return str(self.one([user for user in self.world.there(channel) if self.world.member(user)]))

    # -- what holds after each step ------------------------------------------------------------------------------------

    async def look(self, *, taught: Collection[str] = (), about: Collection[int] = ()) -> set[str]:
        """The words that came in: only `taught` ones may. Those that went are of what was said again `about` this."""
        await self.world.quiet()
        before, now = self.kept, set[str]()
        for row in await self.app.data.documents.listed():
            now |= found(f"{row.name} {await self.app.knowledge.markdown(row)}")
        self.break_off("is found though nobody has confirmed it", now - before - {*taught})
        gone = {word for word in before - now if self.topics[word] not in about}
        self.break_off("is not found any more", gone)
        self.kept = now
        for message in map(self.world.told, self.world.ids()):
            states, words = self.said.get(message.id, ((), set[str]()))
            if states == (*message.history, message.whole) or self.world.alone(message.channel):
                continue  # in a direct message people are told their own words, too
            new = found(" ".join((*message.history, message.whole))) - words
            if "⚠" not in message.shown:  # what a page said before
                self.break_off("is said though it is not kept", new - before - now)
            self.said[message.id] = ((*message.history, message.whole), words | new)
        return now - before

    def break_off(self, what: str, words: Collection[object]) -> None:
        if words:
            self.broken.append(f"{self.step}\n  {what}: {sorted(map(str, words))}")

    async def within(self, what: str, look: Callable[[], Collection[object]]) -> None:
        """Until `look` finds nothing any more."""
        for _ in range(SECONDS * 10):
            if not look():
                return
            await asyncio.sleep(0.1)
        self.break_off(what, look())

    async def withdrawn(self, words: Collection[str]) -> None:
        gone = {*words} - self.kept
        await self.within("still stands", lambda: [one.shown for one in self.standing() if found(one.whole) & gone])

    def standing(self) -> list[Told]:
        return [one for one in map(self.world.told, self.world.ids()) if not one.gone and not one.to]

    async def told(self, opened: Collection[int], words: set[str]) -> None:
        """Who asked what these words have closed hears of it, and nothing else was closed."""
        questions, turns = schema.questions, schema.turns
        wanted = select(questions.c.question, turns.c.author).join(turns, turns.c.id == questions.c.turn)
        async with read(self.app.data.engine) as db:
            closed = questions.c.id.in_(opened) & (questions.c.resolution == "answered")
            rows = (await db.execute(wanted.where(closed))).all() if words else []
        for row in rows:
            self.break_off("was closed by another answer", {row.question} if self.other(row.question, words) else ())

            def untold(author: str = row.author) -> set[str]:
                heard = (found(one.shown) & words for one in self.standing() if author in one.whole)
                return set() if any(heard) else {author}

            await self.within("was not told", untold)

    def other(self, question: str, words: Collection[str]) -> bool:
        return self.topic_of(question) not in {self.topics[word] for word in words}

    async def open(self) -> set[int]:
        async with read(self.app.data.engine) as db:
            return {*(await db.execute(select(schema.questions.c.id).filter_by(resolved_at=None))).scalars()}

    # -- what people do ------------------------------------------------------------------------------------------------

    async def ask(self) -> None:
        again = self.asked and self.dice.random() < 0.4
        topic = self.dice.choice(self.asked)[1] if again else self.dice.randrange(TOPICS)
        inside, public = [one for one in self.world.channels() if self.world.inside(one)], self.dice.random() < 0.8
        channel = str(self.one([one for one in inside if self.world.public(one) or not public]))
        words = self.question(topic)
        self.step += f" {channel} {words}"
        self.asked.append((await self.world.says(channel, self.member(channel), f"@kotae {words}"), topic))
        await self.look()

    def offering(self, *names: str) -> Told:
        """One of the last messages that offer this, beginning with the latest."""
        shown = [
            one for one in reversed(self.standing()) if any(name in each for each in one.actions for name in names)
        ]
        message: Told = self.one(shown[:12])
        return message

    async def press(self, message: Told, *names: str) -> str:
        action = next(each for name in names for each in message.actions if name in each)
        self.step += f" {action} {message.shown[:80]!r}"
        await self.world.presses(self.member(message.channel), message, action)
        await self.world.quiet()
        return action

    async def ask_person(self) -> None:
        await self.press(self.offering("kotae_ask", "kotae:ask"), "kotae_ask", "kotae:ask")
        await self.look()

    async def vote(self) -> None:
        message: Told = self.one([one for one in self.standing()[-10:] if one.thread and not one.id.startswith("#")])
        await self.reacts(self.member(message.channel), message.id)
        await self.look()

    async def reacts(self, user: str, message: str) -> None:
        if isinstance(self.world, OnSlack):
            await self.world.slack.reacts(user, message, "-1")
        elif isinstance(self.world, OnDiscord):
            await self.world.discord.reacts(user, message, "👎")

    async def reply(self) -> None:
        """To a card, in some messages."""
        card = self.offering("answer")
        topic, user = self.topic_of(card.shown), self.member(card.channel)
        for _ in range(self.dice.choice((1, 1, 2, 3))):
            empty = self.dice.random() < 0.25
            said = self.dice.choice(EMPTY) if empty else self.dice.choice(SAID).replace("{}", self.word(topic))
            self.replies.append((await self.world.says(card.channel, user, said, card.id)).id)
            await self.world.quiet()
        await self.look()

    async def confirm(self) -> None:
        """Or decline, or take the last one alone."""
        message, opened = self.offering("save", "anew", "discard"), await self.open()
        topic, wanted = self.topic_of(message.shown), self.dice.choice(("save", "save", "save", "anew", "discard"))
        action = await self.press(message, wanted, "save", "anew", "discard")
        its = [word for word, about in self.topics.items() if about == topic and "discard" not in action]
        await self.told(opened, await self.look(taught=its, about={topic} if its else ()))

    async def fill(self) -> None:
        """The form of a card."""
        card, opened = self.offering("answer"), await self.open()
        topic, user = self.topic_of(card.shown), self.member(card.channel)
        await self.world.presses(user, card, next(each for each in card.actions if "answer" in each))
        await self.world.quiet()
        word = self.word(topic)
        if isinstance(self.world, OnSlack):
            await self.world.slack.submits(user, {"answer": f"It is {word} now."})
        elif isinstance(self.world, OnDiscord):
            await self.world.discord.submits(user, {"answer": f"{word}だと思います。"})
        await self.told(opened, await self.look(taught={word}, about={topic}))

    async def dismiss(self) -> None:
        await self.press(self.offering("dismiss"), "dismiss")
        await self.look()

    async def edit_reply(self) -> None:
        reply = str(self.one(self.replies[-15:]))
        words = found(self.text_of(reply))
        await self.world.edits(reply, f"Now it is {self.word(next((self.topics[one] for one in words), -1))}.")
        await self.look()

    def text_of(self, message: str) -> str:
        if isinstance(self.world, OnSlack):
            return self.world.slack.world.by_ts[message].text
        assert isinstance(self.world, OnDiscord)
        return self.world.discord.world.messages[message].content

    async def delete_reply(self) -> None:
        reply = str(self.one(self.replies[-15:]))
        self.replies.remove(reply)
        await self.world.deletes(reply)
        await self.look()

    async def change_question(self) -> None:
        """Or take it back."""
        asked, topic = one = self.one(self.asked[-15:])
        self.asked.remove(one)
        if self.dice.random() < 0.5:
            await self.world.deletes(asked.id)
        else:
            self.asked.append((asked, topic := self.dice.choice((topic, self.dice.randrange(TOPICS)))))
            await self.world.edits(asked.id, f"@kotae {self.question(topic)}")
        await self.look()

    # -- what curators do ----------------------------------------------------------------------------------------------

    async def document(self, collection: str) -> tuple[DocumentRow, set[str], set[int]]:
        row: DocumentRow = self.one(await self.app.data.documents.listed(collection=collection))
        words = found(await self.app.knowledge.markdown(row))
        self.step += f" {row.name} {sorted(words)}"
        return row, words, {self.topics[word] for word in words}

    async def correct(self) -> None:
        """An answer, or take it back."""
        row, words, topics = await self.document(ANSWERS)
        editor, readers = (
            Actor(self.world.platform, "", self.world.people[2], "editor"),
            Readers(frozenset({row.scope, TEAM})),
        )
        if self.dice.random() < 0.5:
            word = self.word(min(topics, default=-1))
            changed = await self.app.answers.edit(editor, readers, row.id, f"Corrected: {word}.")
            await self.look(taught={word}, about=topics)
        else:
            changed = await self.app.answers.take_back(editor, readers, row.id)
            await self.look(about=topics)
            await self.withdrawn(words)
        self.break_off("was refused", [] if changed.refusal is None else [changed.refusal.en])

    async def add(self) -> None:
        """A page, or in the place of the one on this topic."""
        topic = self.dice.randrange(TOPICS)
        page = f"# {self.question(topic)}\n\nIt is {(word := self.word(topic))}.\n"
        await self.app.bot.ingestion.add(Upload(f"page {topic}.md", page.encode(), "handbook", TEAM, "U1"))
        await self.app.living.check()
        await self.look(taught={word}, about={topic})

    async def forget(self) -> None:
        row, words, topics = await self.document("handbook")
        await self.app.knowledge.forget(row.id)
        await self.look(about=topics)
        await self.withdrawn(words)

    acts: Mapping[Callable[["Team"], Awaitable[None]], int] = {
        ask: 26, ask_person: 10, vote: 8, reply: 22, confirm: 22, fill: 6, dismiss: 2, edit_reply: 5, delete_reply: 4,
        change_question: 4, correct: 4, add: 3, forget: 1,
    }  # fmt: skip

    # -- a week --------------------------------------------------------------------------------------------------------

    async def week(self, steps: int) -> None:
        for act in self.dice.choices([*self.acts], [*self.acts.values()], k=steps if self.dice.random() < 0.9 else 0):
            self.step = act.__name__
            with suppress(LookupError, ValueError, StopIteration):  # what cannot be done there
                await act(self)
                self.met[act.__name__] += 1
            if self.broken:
                return
        self.step = "a digest"
        await self.age()
        if self.dice.random() < 0.85:  # else the bot is down
            await self.digest()
        await self.settled()

    async def age(self) -> None:
        """All rows are a week older."""
        async with write(self.app.data.engine) as db:
            for table in AGED:
                moments = [column.name for column in table.c if isinstance(column.type, schema.Moment)]
                for row in (await db.execute(select(table).order_by(*table.primary_key))).mappings().all():
                    if older := {name: row[name] - WEEK for name in moments if row[name] is not None}:
                        await db.execute(update(table).where(*_is(table, row)).values(older))
        self.before = self.before and self.before - WEEK

    async def digest(self) -> None:
        announce = announcing(self.adapter, self.world.digest, self.app.digest_card)
        rows = Digests(self.app.data.engine)
        clocks = [DigestClock(rows, self.app.schedule, announce, owner=owner) for owner in ("one", "other")]
        sent = [*await asyncio.gather(*(clock.look() for clock in clocks)), await clocks[0].look()]
        self.break_off("were sent", [] if sum(sent) == 1 else sent)
        await self.look()
        due = self.app.schedule.latest(datetime.now(UTC))
        assert due is not None
        period = Period(self.before or due - WEEK, due)
        self.before = due
        made = await self.app.digest(ALL, period)
        wanted = WantedQuestions(state="open", since=period.since, until=period.until)
        page = await self.app.unanswered.groups(wanted, ALL, size=1_000)
        counted = {one.group.ids: (one.group.count, one.group.question, one.group.closes) for one in page.groups}
        theirs = {one.ids: (one.count, one.question, one.closes) for one in made.groups}
        self.break_off("is counted otherwise", {ids for ids, one in theirs.items() if counted.get(ids, one) != one})
        self.met["groups"] += len(theirs)

    async def settled(self) -> None:
        """Each miss is open, dismissed, or answered by what is there; and on no two cards of a week's digests."""
        questions, posts = schema.questions, schema.posts
        async with read(self.app.data.engine) as db:
            answered = select(questions.c.id).where(questions.c.resolution == "answered")
            there = questions.c.answer.in_(select(schema.documents.c.id))
            lost = (await db.execute(answered.where(~there | questions.c.answer.is_(None)))).scalars().all()
            cards = (
                await db.execute(select(posts).where(posts.c.kind == "card", posts.c.about.like("digest:%")))
            ).all()
            dismissed = await db.execute(select(questions.c.id).where(questions.c.resolution == "dismissed"))
            notes = await db.execute(select(schema.audit.c.subject).where(schema.audit.c.action == "dismiss"))
            by = {number for note in notes.scalars() for number in note.removeprefix("questions ").split(", ")}
            nobody = [number for number in dismissed.scalars() if str(number) not in by]
        self.break_off("is closed without its answer", lost)
        self.break_off("was dismissed by nobody", nobody)
        shown = Counter(number for card in cards if not card.data["closed"] for number in card.data["questions"])
        self.break_off("stands in two digests", [number for number, times in shown.items() if times > 1])


def _is(table: Table, row: RowMapping) -> list[Any]:
    return [column == row[column.name] for column in table.primary_key]


@asynccontextmanager
async def living(platform: str, seed: int, home: Path) -> AsyncIterator[Team]:
    async with AsyncExitStack() as stack:
        adapter, world = await stack.enter_async_context(PLATFORMS[platform](Skipping()))
        zone = f"Etc/GMT{datetime.now(UTC).hour - 12:+}"  # noon: nobody waits for a morning
        due = datetime.now(ZoneInfo(zone)) - timedelta(minutes=2)
        digest = f"{platform}:{world.digest}"
        given = {
            **{"KOTAE_LANGUAGE": "en", "KOTAE_USER_PER_MINUTE": 0, "KOTAE_CHANNEL_PER_MINUTE": 0},
            **{"KOTAE_DIGEST_CHANNEL": digest, "KOTAE_TIMEZONE": zone},
            "KOTAE_DIGEST_CRON": f"{due:%-M %-H} * * {due:%a}",
        }
        app = await stack.enter_async_context(running(begun(home, **given), Redactor()))
        await stack.enter_async_context(serving(adapter, app.bot))
        app.bot.asking.reach = PeopleReach([adapter], digest)
        await Digests(app.data.engine).begin(datetime.now(UTC) - WEEK)
        servant = await stack.enter_async_context(Servant())
        dice = random.Random(seed)
        yield Team(await world.begin(app, servant, dice), app, adapter, dice)


async def measure(platform: str, weeks: int, steps: int, seed: int) -> Counter[str]:
    """What happened, and how often; AssertionError for what is broken."""
    with tempfile.TemporaryDirectory() as home:
        async with living(platform, seed, Path(home)) as team:
            for number in range(weeks):
                await team.week(steps)
                assert not team.broken, f"{platform}, seed {seed}, week {number}, " + "\n".join(team.broken)
    return team.met


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("--platform", choices=sorted(PLATFORMS), help="one of them; by default each in its turn")
    given.add_argument("--weeks", type=int, default=12)
    given.add_argument("--steps", type=int, default=40, help="of a week")
    given.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    options = given.parse_args()
    for platform in [options.platform] if options.platform else PLATFORMS:
        print(f"{platform}, seed {options.seed}, {options.weeks} weeks", flush=True)
        try:
            met = asyncio.run(measure(platform, options.weeks, options.steps, options.seed))
        except AssertionError as broken:
            print(broken, file=sys.stderr)
            sys.exit(1)
        print("\n".join(f"{name:16} {times:5}" for name, times in met.most_common()))


if __name__ == "__main__":
    main()
