"""Slack's fake to try the bot by hand: a small workspace on a port, people on stdin, the bot's messages on stdout."""

import argparse
import asyncio
import sys

from tests.fakes.slack import FakeSlack
from tests.fakes.slack_world import Message

_HELP = """\
U1 general: @kotae how long do refunds take?     a message (a channel's name, or dm)
U1 general >1790000000.000001: and abroad?       a reply in that thread
U1 +1 1790000000.000001                          a reaction
U1 press 1790000000.000001 action_id positive    a button of a message
U1 /kotae help                                   a slash command, in #general
U1 home                                          opens the app's home tab
"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fakes.slack", description=__doc__)
    parser.add_argument("--port", type=int, default=8300)
    asyncio.run(_serve(parser.parse_args().port))


async def _serve(port: int) -> None:
    async with FakeSlack(port=port) as slack:
        slack.world.add_channel("C2", "plans", kind="private", members=("U1", slack.bot_user))
        print("export SLACK_API_URL=" + slack.api_url)
        print("export SLACK_BOT_TOKEN=" + slack.bot_token)
        print("export SLACK_APP_TOKEN=" + slack.app_token)
        print("\nU1 and U2 are in #general, U1 in the private #plans too.\n\n" + _HELP, flush=True)
        showing = asyncio.create_task(show(slack))
        try:
            while line := await asyncio.to_thread(sys.stdin.readline):
                try:
                    await does(slack, line.strip())
                except (LookupError, ValueError) as error:
                    print(f"? {error}", flush=True)
        finally:
            showing.cancel()
            await asyncio.gather(showing, return_exceptions=True)


async def does(slack: FakeSlack, line: str) -> None:
    """One typed line. Raises LookupError or ValueError for what nobody can do."""
    if not line:
        return
    user, _, rest = line.partition(" ")
    match rest.split():
        case ["home"]:
            await slack.opens_home(user)
        case ["press", ts, action, *chosen]:
            await slack.presses(user, ts, action, chosen[0] if chosen else None)
        case [name, *words] if name.startswith("/"):
            await slack.command(name, " ".join(words), user, "C1")
        case [emoji, ts] if not ts.endswith(":") and ":" not in emoji:
            await slack.reacts(user, ts, emoji)
        case _:
            place, _, text = rest.partition(":")
            channel, _, thread = place.partition(">")
            place = slack.dm(user) if channel.strip() == "dm" else channel.strip()
            print("  ts " + await slack.says(place, user, text.strip(), thread=thread.strip()), flush=True)


async def show(slack: FakeSlack) -> None:
    """Prints each message of the bot as it appears, and again whenever it looks different."""
    seen: dict[tuple[str, str], str] = {}
    while True:
        for key, message in list(slack.world.messages.items()):
            now = "(deleted)" if message.deleted else message.shown
            if message.user == slack.bot_user and seen.get(key) != now:
                seen[key] = now
                print(_line(slack, message, now), flush=True)
        for key, status in list(slack.world.statuses.items()):
            if seen.get(key) != status.text:
                seen[key] = status.text
                print(f"  … {status.text}", flush=True)
        await asyncio.sleep(0.2)


def _line(slack: FakeSlack, message: Message, shown: str) -> str:
    place = slack.world.channels[message.channel].name or "dm"
    inside = f" >{message.thread}" if message.thread else ""
    alone = f" (only {message.ephemeral_to})" if message.ephemeral_to else ""
    pressable = f"\n    [{' '.join(message.actions)}]" if message.actions else ""
    body = shown.replace("\n", "\n    ")
    return f"{message.ts} #{place}{inside}{alone}\n    {body}{pressable}"
