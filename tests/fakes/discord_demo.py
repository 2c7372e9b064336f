"""Discord's fake to try the bot by hand: a small server on a port, people on stdin, the bot's messages on stdout."""

import argparse
import asyncio
import sys
from pathlib import Path

from tests.fakes.discord_fake import FakeDiscord
from tests.fakes.discord_world import FORUM, Message

_HELP = """\
ann general: @kotae how long do refunds take?    a message (a channel's or thread's name or id, or dm)
ann > 1570000000000000000: and abroad?           a reply to that message
ann + 👍 1570000000000000000                     a reaction
ann press 1570000000000000000 custom_id          a button, by custom_id or label
ann /kotae help topic=refunds                    a slash command in #general; name=@path for a file
ann menu 1570000000000000000 Ask about this      a command in a message's menu
ann submit Answer=blue Kind=Fact                 fills in the modal
"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fakes.discord_demo", description=__doc__)
    parser.add_argument("--port", type=int, default=8400)
    asyncio.run(_serve(parser.parse_args().port))


async def _serve(port: int) -> None:
    async with FakeDiscord(port=port) as discord:
        discord.world.add_channel("plans", only=[discord.person("ann").id, discord.bot_user])
        discord.world.add_channel("help", kind=FORUM, tags={"51": "answered"})
        print("export DISCORD_API_URL=" + discord.api_url)
        print("export DISCORD_TOKEN=" + discord.token)
        print("export DISCORD_GATEWAY_URL=" + discord.gateway_url)
        print("export DISCORD_CDN_URL=" + discord.cdn_url)
        print(
            "\nann and ben are in #general and the forum #help, ann in the private #plans too.\n\n" + _HELP, flush=True
        )
        showing = asyncio.create_task(show(discord))
        try:
            while line := await asyncio.to_thread(sys.stdin.readline):
                try:
                    await does(discord, line.strip())
                except (LookupError, ValueError, OSError) as error:
                    print(f"? {error}", flush=True)
        finally:
            showing.cancel()
            await asyncio.gather(showing, return_exceptions=True)


async def does(discord: FakeDiscord, line: str) -> None:
    """One typed line. Raises LookupError, ValueError or OSError for what nobody can do."""
    if not line:
        return
    user, _, rest = line.partition(" ")
    match rest.split():
        case ["+", emoji, message]:
            await discord.reacts(user, message, emoji)
        case ["press", message, *what]:
            await discord.presses(user, message, " ".join(what))
        case ["menu", message, *name]:
            await discord.menu(" ".join(name), message, user)
        case ["submit", *words]:
            await discord.submits(user, _given(discord, words))
        case [name, *words] if name.startswith("/"):
            path = [name[1:], *(each for each in words if "=" not in each)]
            await discord.slash(" ".join(path), _given(discord, words), user)
        case [">", message, *words]:
            to = message.rstrip(":")
            print(
                "  id " + await discord.says(discord.message(to).channel, user, " ".join(words), reply=to), flush=True
            )
        case _:
            place, _, text = rest.partition(":")
            channel = discord.dm(user) if place.strip() == "dm" else place.strip()
            print("  id " + await discord.says(channel, user, text.strip()), flush=True)


def _given(discord: FakeDiscord, words: list[str]) -> dict[str, object]:
    """`name=value`; a value that begins with @ is a file's path."""
    found: dict[str, object] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            continue
        path = Path(value[1:])
        found[name] = discord.world.add_file(path.name, path.read_bytes()) if value.startswith("@") else value
    return found


async def show(discord: FakeDiscord) -> None:
    """Prints each message of the bot as it appears, and again whenever it looks different."""
    seen: dict[str, str] = {}
    while True:
        for message in list(discord.world.messages.values()):
            now = "(deleted)" if message.deleted else "(thinking)" if message.loading else message.shown
            if message.author == discord.bot_user and seen.get(message.id) != now:
                seen[message.id] = now
                print(_line(discord, message, now), flush=True)
        await asyncio.sleep(0.2)


def _line(discord: FakeDiscord, message: Message, shown: str) -> str:
    place = discord.world.channels.get(message.channel)
    alone = f" (only {discord.person(message.ephemeral_to).name})" if message.ephemeral_to else ""
    buttons = "".join(f"\n    [{label}: {custom_id}]" for custom_id, label in message.buttons.items())
    body = shown.replace("\n", "\n    ")
    return f"{message.id} {place.name or 'dm' if place else 'gone'}{alone}\n    {body}{buttons}"


if __name__ == "__main__":
    main()
