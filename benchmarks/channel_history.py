"""A channel's history as documents, against Slack's fake through the real client, while people go on talking.

    python -m benchmarks.channel_history [--messages 10000] [--threads 1200] [--changes 400] [--seed 7]

MESSAGES in THREADS are read back; meanwhile CHANGES are made by events: edits, deletions, whole threads deleted, replies
and ✅, by whoever asked and by others. One person does not want to be found, some threads are only Kotae's or another
bot's, some go on after a day. Half-way the process dies, is begun anew, and reads on; people change things while it is
away, too. Afterwards the documents are compared with what should be one, found out apart from the code that reads them,
word by word. Slack limits the calls it takes; nobody waits for that here.
"""

import argparse
import asyncio
import random
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.adapters.talks import EDITOR, PUBLIC, Talk, talk
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_world import Message

DAY, CHECK = 24 * 3600.0, "white_check_mark"
PEOPLE, ADMIN, SILENT, ROBOT = [f"U1{n:02}" for n in range(30)], "U100", "U101", "U9"

MINUTE = 30  # calls of a method that the bot makes, of the 50 that Slack takes


@dataclass
class Channel:
    """What is said, written straight into the world until somebody listens; then by events."""

    fake: FakeSlack
    dice: random.Random
    roots: list[str] = field(default_factory=list)

    def begin(self, sizes: list[int]) -> None:
        for size in sizes:
            who = self.dice.choice(PEOPLE)
            others = self.dice.choices([[who], [ROBOT, self.fake.bot_user], PEOPLE], [1, 1, 8])[0]
            root = self._post(who, "")
            self.roots.append(root)
            for _ in range(size - 1):
                self._post(self.dice.choice([who, *others]), root)
            if self.dice.random() < 0.2:
                self._check(root)

    def _post(self, who: str, thread: str) -> str:
        text = f"Message {len(self.fake.world.messages)} of {who}."
        user = self.fake.world.users[who]
        more = {"bot_id": user.bot_id, "app_id": user.app_id} if user.bot_id else {}
        return self.fake.world.post("C1", who, text=text, thread=thread, **more).ts

    def _check(self, root: str) -> None:
        message = self.dice.choice(self.shown(root))
        who = self.dice.choice([self.fake.world.messages["C1", root].user, ADMIN, *PEOPLE[2:5]])
        message.reactions.setdefault(CHECK, []).append(who)

    def shown(self, root: str) -> list[Message]:
        first = self.fake.world.messages["C1", root]
        return [*([] if first.deleted else [first]), *self.fake.world.thread("C1", root)]

    async def change(self, *, heard: bool = True) -> None:
        """One thing that somebody does."""
        root = self.dice.choice(self.roots)
        there = self.shown(root)
        if not there:
            return
        message = self.dice.choice(there)
        match self.dice.choices(["edit", "delete", "all", "reply", "check"], [6, 4, 0.2, 3, 2])[0]:
            case "edit" if heard:
                await self.fake.edits(message.ts, f"{message.text} Now {self.dice.random()}.")
            case "edit":
                message.text += " Changed."
            case "delete":
                await (self.fake.deletes(message.ts) if heard else self._silently(message))
            case "all":
                for each in there[::-1]:
                    await (self.fake.deletes(each.ts) if heard else self._silently(each))
            case "reply" if heard:
                await self.fake.says("C1", self.dice.choice(PEOPLE), "One more thing.", thread=root)
            case "check" if heard:
                who = self.dice.choice([self.fake.world.messages["C1", root].user, ADMIN, PEOPLE[2]])
                await self.fake.reacts(who, message.ts, CHECK)

    async def _silently(self, message: Message) -> None:
        message.deleted = True

    # -- what should become of it -------------------------------------------------------------------------------------

    def expected(self, now: float) -> dict[str, list[tuple[str, str]]]:
        """By thread, who says what in its document."""
        found = {}
        for root in self.roots:
            said = self.shown(root)
            first = self.fake.world.messages["C1", root]
            asker = None if first.deleted else first.user
            checks = {who for each in said for who in each.reactions.get(CHECK, ())}
            people = [each for each in said if each.user in PEOPLE and each.user != SILENT]
            if not checks & {asker, ADMIN}:
                times = [*(float(each.ts) for each in people), now]
                ends = [at + 1 for at in range(len(people)) if times[at + 1] - times[at] >= DAY]
                people = people[: max(ends, default=0)]
            if len({each.user for each in people}) > 1:
                found[root] = [(self.fake.world.users[each.user].name, each.text) for each in people]
        return found


async def written(here: Talk) -> dict[str, list[tuple[str, str]]]:
    found = {}
    for row in await here.library.documents.listed():
        parts = (await here.library.knowledge.markdown(row)).split("\n\n")[1:]
        said = [(head.split("**")[1], text) for head, text in zip(parts[::2], parts[1::2], strict=True)]
        found[row.name.removeprefix("talk ").removesuffix(".md")] = said
    return found


async def measure(messages: int, threads: int, changes: int, seed: int) -> bool:
    dice = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        async with talk("slack", Path(folder), limits=False) as here:
            for id in PEOPLE:
                here.fake.world.add_user(id, f"person{id[1:]}", kind="admin" if id == ADMIN else "member")
                here.fake.world.channels["C1"].members.add(id)
            cuts = sorted(dice.sample(range(1, messages), threads - 1))
            sizes = [b - a for a, b in zip([0, *cuts], [*cuts, messages], strict=True)]
            channel = Channel(here.fake, dice)
            channel.begin(sizes[: threads * 4 // 5])
            here.fake.clock.advance(1.5 * DAY)
            for root in dice.sample(channel.roots, threads // 20):  # these go on
                channel._post(dice.choice(PEOPLE), root)
            channel.begin(sizes[threads * 4 // 5 :])
            started = time.perf_counter()
            async with here.running() as bot:
                await bot.sources.hears(f"slack:{SILENT}", False)
                backfill = asyncio.create_task(here.follow())
                while len(here.fake.journal.calls("conversations.replies")) < threads // 2:
                    await asyncio.sleep(0.05)
                    if dice.random() < 0.5:
                        await channel.change()
                backfill.cancel()  # and the process dies
                await asyncio.gather(backfill, return_exceptions=True)
            had = len(await here.library.documents.listed())
            for _ in range(changes // 10):
                await channel.change(heard=False)
            async with here.running() as bot:
                backfill, made = asyncio.create_task(here.sync()), 0
                while not backfill.done() or made < changes:
                    await channel.change()
                    made += 1
                    await asyncio.sleep(0.02)
                await backfill
                await here.heard()
                for _ in range(2):
                    report = await here.sync()
                    if report.gone:
                        await bot.sources.resume(EDITOR, "talk", PUBLIC, "forget")
                    here.now.later(seconds=10)
            seconds = time.perf_counter() - started
            now = here.now().timestamp()
            wanted, found = channel.expected(now), await written(here)
            calls = Counter(
                each.method for each in here.fake.journal.entries if each.method.startswith("conversations.")
            )
            wrong = [root for root in {*wanted, *found} if wanted.get(root) != found.get(root)]
            print(
                f"{len(here.fake.world.messages)} messages, {len(channel.roots)} threads, {made} changes while it was read "
                f"back; {had} documents when it died"
            )
            print(f"{len(found)} documents, {len(wanted)} settled threads; {len(wrong)} differ")
            for root in wrong[:5]:
                print(f"  {root}: should be {wanted.get(root)}, is {found.get(root)}")
            print(f"{seconds:.0f} s here; calls: {dict(calls)}")
            print(
                f"at {MINUTE} a minute, as the bot paces itself: {calls['conversations.replies'] / MINUTE:.0f} min behind everything else"
            )
            return not wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("messages", 10_000), ("threads", 1_200), ("changes", 400), ("seed", 7)):
        parser.add_argument(f"--{name}", type=int, default=value)
    given = parser.parse_args()
    return 0 if asyncio.run(measure(given.messages, given.threads, given.changes, given.seed)) else 1


if __name__ == "__main__":
    raise SystemExit(main())
