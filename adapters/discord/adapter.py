"""Discord: events in, turns out. A question is claimed before anything else is done about it.

Discord sends nothing twice on its own accord, so what could not be claimed is tried again here, and what came while
nobody heard it is looked up; what it does send again, after a resumed session, is the same claim. Source: style.md "A
platform"; reliability.md R3, R5, R8, R10, R32 and R57."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from typing import Any

import discord

from adapters.discord import asking, commands, digest, feedback, ingestion, turn_view
from adapters.discord.audience import Places
from adapters.discord.catch_up import missed
from adapters.discord.context import DiscordContext
from adapters.discord.events import (
    CHECKS,
    PLATFORM,
    Asked,
    Edited,
    Replied,
    Spot,
    addressed,
    by_a_person,
    edited,
    reads,
    reworded,
    said,
    spot,
    thumb,
    withdrawn,
    withheld,
    written_in,
)
from adapters.discord.rendering.markdown import escaped
from adapters.discord.thread_context import ThreadContext
from adapters.discord.transport import registration
from adapters.discord.transport.api import DiscordApi, Mark
from adapters.discord.transport.channel_history import DiscordHistory
from adapters.discord.transport.errors import NETWORK, UnreachableError, translated
from adapters.discord.transport.forum_tags import post_of
from adapters.discord.transport.gateway import (
    Client,
    Identifies,
    enter,
    hears_others,
    listen,
    pointed_at,
    token_refused,
)
from adapters.discord.transport.message_links import place_at
from adapters.discord.transport.outbox import say_alone, say_once
from adapters.discord.transport.servers import Servers
from adapters.discord.turn_view import DiscordThread
from adapters.port import PostError, as_lookup
from adapters.shared import expert_answers, recovery
from adapters.shared.channels import Named, find
from adapters.shared.follow_ups import is_follow_up, says_something
from adapters.shared.turns import MAY_NOT_WRITE, RunningTurns
from agent.routing.router import puts_off
from bot.bot import Bot
from bot.config.settings import DiscordSettings
from bot.errors import StoreError
from bot.texts import reply_language
from bot.types import Card, Claimed, Incoming, Place, Post, Preferences, Recipient
from bot.unanswered.expert_answers import NO_ANSWER
from bot.waiting import Sleep, beside, stopped, until_stored
from retrieval.i18n import Language, Text

log = logging.getLogger(__name__)

DRAIN_SECONDS = 20.0
HERE_SECONDS = 3.0  # for the servers to be told, after which the bot counts as ready all the same
_NO_CONTENT = Text(
    en="Discord shows me only messages that mention me, so please mention me to go on. Whoever runs me can change that "
    "with the Message Content Intent.",
    ja="Discord の設定により、メンションのないメッセージは読めません。"
    "続けて質問するときもメンションしてください。管理者が Message Content Intent を有効にすると、"
    "メンションなしでも続けられます。",
)
_ROLE = Text(
    en="You have mentioned my role, and Discord does not show me what such a message says. Please mention me myself. "
    "Whoever runs me can change that with the Message Content Intent.",
    ja="メンションされたのは私のロールで、Discord の設定により、このメッセージの内容を読めません。"
    "ロールではなく、私自身をメンションしてください。管理者が Message Content Intent を有効にすると、"
    "ロールへのメンションにもお答えできます。",
)
TELL_WAITS = (1.0, 10.0, 60.0, 300.0)  # seconds between tries to tell Discord the commands
STORE_WAITS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)  # seconds between tries to claim a question, until its author is told


class DiscordAdapter:
    """One application. `run` serves it; `find` and `announce` work while it runs, connected or not."""

    platform = PLATFORM

    def __init__(
        self,
        settings: DiscordSettings,
        *,
        language: Language,
        look_every: float = recovery.EVERY_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        """`look_every`: seconds between two looks for what was left; `clock` and `sleep`: of calls, and of what is
        believed for a while."""
        self._settings = settings
        self._look_every = look_every
        self._clock, self._sleep = clock, sleep
        self._language = language
        self._context: DiscordContext | None = None
        self._client: Client | None = None
        self._servers: Servers | None = None
        self._identifies = Identifies()
        self._waits = False  # another process of the database is connected
        self.who = ""
        self.ready = asyncio.Event()

    @property
    def connected(self) -> bool:
        """Also while another process is, to which everything is told instead."""
        return self._waits or (self._client is not None and self._client.up)

    async def run(self, bot: Bot) -> None:
        """Serve until cancelled; then take nothing new in and let what runs end, for at most 20 seconds. Of the
        processes of a database one serves, as each session is told everything; the others wait to take over, and post
        by REST what they are asked to.

        Raises SettingsError when Discord refuses the token or the intents for good, ConnectionError when it cannot be
        reached.
        """
        with pointed_at(self._settings):
            content = await hears_others(self._settings.token.get_secret_value())
            while True:
                await self._attend(bot, content)
                log.warning("another process may be connected to Discord now: this one is not any more")

    async def _attend(self, bot: Bot, content: bool) -> None:
        """Log in, wait for the lease, and serve until it is lost."""
        async with AsyncExitStack() as ending:
            client = await ending.enter_async_context(Client(self._identifies, content=content))
            rest = DiscordApi(client, clock=self._clock, sleep=self._sleep)
            ending.push_async_callback(rest.close)
            places = Places(client, rest, self._settings.guilds, client.whole, self._clock)
            context = DiscordContext(client, rest, bot, places, self._language)
            around = ThreadContext(context)
            questions = RunningTurns(
                PLATFORM,
                bot,
                context.tasks,
                partial(_view, context),
                around,
                language=context.language,
                readers_of=around.readers,
                tell_barred=partial(_tell_barred, context),
            )
            events = _Events(context, questions, around)
            events.register(client)
            commands.register(client, context)
            asking.register(client, context)
            feedback.register(client, context)
            turn_view.register(client, context)
            await enter(client, self._settings.token.get_secret_value())
            servers = Servers(client, rest, self._settings.guilds)
            self._client, self._context, self._servers = client, context, servers
            self._waits = bot.holding.shared
            history = DiscordHistory(self, partial(self._found, forums=True), context, lambda: client.heard)
            reading = bot.sources.channels.read(PLATFORM, history, self.ready)
            async with beside(reading, "discord-history"):
                try:
                    async with bot.holding.hold(PLATFORM) as lost:
                        self._waits = False
                        await self._serve(client, context, questions, events, lost)
                finally:
                    self._waits = False
                    self._client = self._context = self._servers = None

    async def _serve(
        self,
        client: Client,
        context: DiscordContext,
        questions: RunningTurns,
        events: "_Events",
        lost: asyncio.Event,
    ) -> None:
        """Until the lease is `lost`."""
        await until_stored(partial(_remember, context))
        listening = asyncio.create_task(listen(client), name="discord-gateway")
        refused = asyncio.create_task(context.rest.refused.wait(), name="discord-refused")
        ended = asyncio.create_task(lost.wait(), name="discord-lost")
        chores = [
            refused,
            ended,
            asyncio.create_task(self._tell(client, context), name="discord-ready"),
            asyncio.create_task(_catch_up(client, events), name="discord-missed"),
            asyncio.create_task(
                _look_after(context, questions, self.ready, self._look_every), name="discord-leftovers"
            ),
        ]
        try:
            await asyncio.wait({listening, refused, ended}, return_when=asyncio.FIRST_COMPLETED)
            if refused.done():
                raise token_refused()
            if not ended.done():
                listening.result()
        finally:
            self.ready.clear()
            await stopped(listening, *chores)
            await context.tasks.drain(DRAIN_SECONDS)

    async def _tell(self, client: Client, context: DiscordContext) -> None:
        """Ready with the first connection; the commands that people see are told to Discord then, too."""
        await client.first.wait()
        await client.all_here(HERE_SECONDS)
        names = [guild.name for guild in client.guilds]
        where = f" in {names[0]}" if len(names) == 1 else f" in {len(names)} servers" if names else ""
        self.who = f"@{client.user.name if client.user else PLATFORM}{where}"
        self.ready.set()
        await until_stored(partial(_remember, context))
        for wait in (*TELL_WAITS, None):
            try:
                await registration.publish(client)
                break
            except (discord.DiscordException, *NETWORK) as error:
                log.warning("the commands could not be told to Discord: %s", error)
                if wait is None or not isinstance(translated("commands", error), UnreachableError):
                    break
            await asyncio.sleep(wait)

    async def find(self, recipient: str) -> Recipient:
        """A channel by its id or name, or a member by `@` and the id. Raises LookupError when the bot cannot post
        there, or a name does not say which channel, ConnectionError while Discord cannot be reached."""
        return await self._found(recipient)

    async def _found(self, recipient: str, *, forums: bool = False) -> Recipient:
        """See `find`. `forums`: they, too, in which the bot may post."""
        (context, servers), channel = await self._at_work(), recipient
        if recipient.startswith("@"):
            with as_lookup():
                return await context.places.recipient(recipient[1:])
        if not (channel.isascii() and channel.isdigit()):
            channel = find(channel, self._channels(context, forums=forums)).id
        with as_lookup():
            found = await place_at(context.rest, context.client, int(channel))
            if isinstance(found, discord.abc.GuildChannel | discord.Thread) and found.guild.me is None:
                await servers.add(found.guild.id)
                found = await place_at(context.rest, context.client, int(channel))
        where = spot(found)
        takes = isinstance(found, discord.abc.Messageable) or (forums and isinstance(found, discord.ForumChannel))
        if where is None or not takes:
            raise LookupError("50008")
        if isinstance(found, discord.abc.GuildChannel | discord.Thread):
            rights = found.permissions_for(found.guild.me)
            in_thread = isinstance(found, discord.Thread)
            if not (reads(found, rights) and (rights.send_messages_in_threads if in_thread else rights.send_messages)):
                raise LookupError("50013")
        name = f"#{found.name}" if isinstance(found, discord.abc.GuildChannel | discord.Thread) else channel
        audience = await context.places.audience(channel)
        return Recipient(Place(PLATFORM, where.place.workspace, channel), audience, name)

    def _channels(self, context: DiscordContext, *, forums: bool) -> list[Named]:
        """Those that take messages, and `forums`, in the servers that are set."""
        chosen = self._settings.guilds
        return [
            Named(str(channel.id), channel.name, channel.permissions_for(guild.me).view_channel, guild.name)
            for guild in context.client.guilds
            if chosen is None or str(guild.id) in chosen
            for channel in (*guild.text_channels, *(guild.forums if forums else ()))
        ]

    async def announce(self, channel: str, card: Card, *, about: str) -> None:
        """Post a card and its rows. Raises LookupError where Discord does not take them, ConnectionError when not all
        of it could be posted: the same call goes on."""
        (context, _), to = await self._at_work(), await self.find(channel)
        with as_lookup():
            await digest.announce(context, to.place, card, about)

    async def _at_work(self) -> tuple[DiscordContext, Servers]:
        """Raises ConnectionError."""
        if self._context is None or self._servers is None:
            raise ConnectionError("Discord is not connected")
        context, servers = self._context, self._servers
        try:
            await servers.look()
            await context.places.remember(context.bot.homes.team)
        except PostError as error:
            raise ConnectionError(error.code) from None
        except StoreError as error:
            raise ConnectionError(str(error)) from None
        return context, servers


class _Events:
    """Listeners for discord.py's events, each run in a task of the context: none is cut off when the connection is."""

    def __init__(self, context: DiscordContext, questions: RunningTurns, around: ThreadContext) -> None:
        self._context = context
        self._questions = questions
        self._around = around

    def register(self, client: Client) -> None:
        def started(name: str, work: Callable[..., Awaitable[None]]) -> None:
            async def listener(*told: Any) -> None:
                async def run() -> None:
                    await work(*told)

                self._context.tasks.start(run(), f"discord-{name}")

            client.add_listener(listener, f"on_{name}")

        started("message", self._message)
        started("raw_message_edit", self._edit)
        started("raw_message_delete", self._delete)
        started("raw_bulk_message_delete", self._delete_many)
        started("raw_reaction_add", self._reaction)
        started("raw_reaction_remove", self._reaction)
        started("raw_thread_delete", self._thread_gone)
        started("thread_update", self._thread_changed)
        for moved in ("guild_join", "guild_remove"):
            started(moved, self._moved)
        for change in ("guild_channel_update", "guild_role_update", "member_update"):
            started(change, self._changed)

    async def catch_up(self, shard: int) -> None:
        """Take what was said while nobody heard this shard; what is taken already stays as it is."""
        async for message in missed(self._context, shard):
            self._context.tasks.start(self._message(message), "discord-missed")

    async def _stir(self, channel: int, message: int | None = None, where: Spot | None = None) -> None:
        """Something in a thread has changed, or at a message that perhaps has one. `where`: if that is known."""
        where = where or spot(self._context.client.get_channel(channel))
        if where is not None and (root := where.thread or (str(message) if message else None)):
            await self._noted(where.place, root, known=where.thread is None)

    async def _thread_gone(self, told: discord.RawThreadDeleteEvent) -> None:
        place = Place(PLATFORM, str(told.guild_id), str(told.parent_id))
        await self._noted(place, str(told.thread_id), known=True)

    async def _thread_changed(self, before: discord.Thread, after: discord.Thread) -> None:
        """Of a forum's post the name is its title."""
        if before.name != after.name:
            await self._stir(after.id)

    async def _noted(self, place: Place, root: str, *, known: bool) -> None:
        """Nobody's question waits for it."""
        stir = partial(self._context.bot.sources.channels.stir, place, root, known=known)
        try:
            await stir()
        except StoreError:
            self._context.tasks.start(until_stored(stir), "discord-noted")

    async def _message(self, message: discord.Message) -> None:
        if not by_a_person(message):
            return
        await self._stir(message.channel.id)
        where = spot(message.channel)
        if where is None:  # of a thread or a server that is not known yet, only what is for us is looked into
            if not any(user.id == self._context.me for user in message.mentions) and message.guild is not None:
                return
            where = await self._where(message.channel.id)
        if where is not None and withheld(message):
            await until_stored(partial(_tell_role, self._context, where, message))
            return
        event = said(message, where, self._context.me) if where else None
        match event:
            case Asked():
                await self._ask(event)
            case Replied():
                await until_stored(partial(self._reply, event))

    async def _ask(self, asked: Asked) -> None:
        """However long the database is away: the question is taken, or its author told."""
        for wait in (*STORE_WAITS, None):
            try:
                if (message := await self._meant(asked)) is not None:
                    await self._questions.ask(message)
                return
            except StoreError as error:
                lost = error
            log.error("a question could not be stored", exc_info=lost)
            if wait is not None:
                await asyncio.sleep(wait)
        message = asked.message
        text = escaped(lost.text(reply_language(message, self._context.language)))
        mark = Mark(f"lost:{message.message}", "notice", 0)
        await self._context.rest.post(written_in(message), text, mark=mark, reply_to=message.message)

    async def _meant(self, asked: Asked | Edited) -> Incoming | None:
        """The question in its conversation; None when it is an answer to a card. Raises PostError, StoreError.

        What replies to an answer goes on with its conversation, also where there are no threads. What nobody can learn
        from (an outsider's words, what follows once the card is answered) is a question if it names the bot, but for an
        answer to a card in a direct message that comes too late."""
        message = asked.message
        thread = message.thread if message.thread != message.message else None
        post = await self._post_over(message.place, asked.to, thread)
        if post is None and message.direct and asked.to is None:
            return None if await self._answers_before(message) else message
        if post is None:
            return message
        if post.kind == "card":
            reply = Replied(message.place, post.message or "", thread, message.message, message.author, message.text)
            if not post.data["closed"] and await self._answers(reply, post):
                return None
            if not post.data["closed"] and (asked.named or message.direct) and await self._puts_off(message):
                return None
            adds = await expert_answers.adds(self._context.bot, post, thread, message.text) if message.direct else None
            if adds is False:
                await self._refuse(message, expert_answers.GONE)
            if adds is False or (adds and await self._answers(reply, post)):
                return None
            return message if asked.named else None
        root = post.data.get("root")
        return replace(message, thread=root) if root and message.thread == message.message else message

    async def _answers_before(self, message: Incoming) -> bool:
        """Whether a direct message answers the card that it is written after. Raises PostError, StoreError."""
        at = discord.utils.snowflake_time(int(message.message)).timestamp()
        card = await expert_answers.card_before(self._context.bot, message.place, message.text, at)
        if card is None or card.message is None:
            return False
        if not card.data["closed"] and await self._puts_off(message):
            return True
        reply = Replied(message.place, card.message, None, message.message, message.author, message.text)
        return await self._answers(reply, card)

    async def _puts_off(self, message: Incoming) -> bool:
        """Whether what is said to an open card has no answer; then its author hears that there is none. Raises
        PostError."""
        if puts_off(message.text):
            await self._refuse(message, NO_ANSWER)
            return True
        return False

    async def _refuse(self, message: Incoming, why: Text) -> None:
        """Say why nothing is learnt from what somebody wrote. Raises PostError."""
        text = escaped(why.to(reply_language(message, self._context.language)))
        mark = Mark(f"none:{message.message}", "notice", 0)
        await self._context.rest.post(written_in(message), text, mark=mark, reply_to=message.message)

    async def _reply(self, replied: Replied) -> None:
        if replied.follows is not None and await self._goes_on(replied.follows):
            await self._ask(Asked(replied.follows))
            return
        post = await self._post_over(replied.place, replied.to, replied.thread)
        if post is not None:
            await self._answers(replied, post)

    async def _answers(self, reply: Replied, post: Post) -> bool:
        """Whether a reply can be a card's answer, or add to it; then it is asked about. Raises PostError,
        StoreError."""
        context = self._context
        actor = partial(context.places.actor_at, reply.place, reply.author)
        if taken := await expert_answers.takes(post, reply.text, actor):
            await digest.replied(context, reply, post)
        return taken

    async def _goes_on(self, message: Incoming) -> bool:
        """Whether what stands in a thread goes on with the bot's answer, or begins a forum's post where each is a
        question. Raises StoreError."""
        context = self._context
        if message.message == message.thread:
            return await self._is_post(message)
        if not message.text and not context.client.intents.message_content:
            if await context.bot.turns.goes_on(message):
                await _tell_once(context, message)
            return False

        actor = partial(context.places.actor_at, message.place, message.author)
        return await is_follow_up(context.bot, message, actor=actor, shared=partial(self._around.shared, message))

    async def _is_post(self, message: Incoming) -> bool:
        context = self._context
        if not says_something(message.text) or post_of(context.client, message.thread) is None:
            return False
        if (await context.bot.channels.preferences(message.place)).follow != "posts":
            return False
        return (await context.places.actor_at(message.place, message.author)).role != "outsider"

    async def _post_over(self, place: Place, to: str | None, thread: str | None) -> Post | None:
        """The bot's post that somebody replies `to`, else the card that their thread was started on. Raises
        StoreError."""
        post = await self._context.bot.outbox.find(place, to) if to else None
        if post is None and thread not in (None, to):
            root = await self._context.bot.outbox.find(place, thread or "")
            return root if root is not None and root.kind == "card" else None
        return post

    async def _edit(self, told: discord.RawMessageUpdateEvent) -> None:
        message, before, me = told.message, told.cached_message, self._context.me
        if message.author.id != me:
            await self._stir(told.channel_id, told.message_id)
        where = spot(message.channel)
        if where is None or not by_a_person(message):
            return
        event = edited(message, before, where, me)
        anew = reworded(message, before)
        if anew or event is not None:
            await until_stored(partial(self._edited, event, where, str(message.id), anew=anew))

    async def _edited(self, event: Edited | None, where: Spot, message: str, *, anew: bool) -> None:
        if anew and await digest.changed(self._context, where.place, where.thread, message):
            return
        if event is None:
            return
        meant = await self._meant(event) if event.addressed and not event.known else event.message
        if meant is not None:
            await self._questions.edit(meant, addressed=event.addressed, known=event.known)

    async def _delete(self, told: discord.RawMessageDeleteEvent) -> None:
        await self._gone(told.channel_id, {told.message_id: told.cached_message})

    async def _delete_many(self, told: discord.RawBulkMessageDeleteEvent) -> None:
        cached = {message.id: message for message in told.cached_messages}
        await self._gone(told.channel_id, {id: cached.get(id) for id in sorted(told.message_ids)})

    async def _gone(self, channel: int, messages: Mapping[int, discord.Message | None]) -> None:
        """Messages, as far as they are remembered, are deleted."""
        where = spot(self._context.client.get_channel(channel)) or await self._where(channel)
        for id, before in messages.items() if where else ():
            assert where is not None
            await self._stir(channel, id, where)
            addresses = before is None or where.thread is not None or addressed(before, where, self._context.me)
            maybe_ours = addresses or (before is not None and before.edited_at is not None)  # it may have, earlier
            await until_stored(partial(self._deleted, id, where, maybe_ours=maybe_ours))

    async def _deleted(self, id: int, where: Spot, *, maybe_ours: bool) -> None:
        await digest.changed(self._context, where.place, where.thread, str(id), gone=True)
        if maybe_ours:
            await self._questions.delete(withdrawn(id, where))

    async def _reaction(self, told: discord.RawReactionActionEvent) -> None:
        if str(told.emoji) in CHECKS:
            await self._stir(told.channel_id, told.message_id)
        vote = thumb(told, self._context.me)
        if vote is None:
            return
        where = spot(self._context.client.get_channel(told.channel_id)) or await self._where(told.channel_id)
        if where is not None:
            await until_stored(partial(feedback.react, self._context, where.place, vote))

    async def _changed(self, *told: Any) -> None:
        self._context.rest.forgive()
        await until_stored(partial(self._context.bot.sources.channels.look_again, PLATFORM))

    async def _moved(self, guild: discord.Guild) -> None:
        await until_stored(partial(_remember, self._context))

    async def _where(self, channel: int) -> Spot | None:
        try:
            return spot(await place_at(self._context.rest, self._context.client, channel))
        except PostError as error:
            log.warning("a channel could not be looked up: %s", error)
            return None


async def _remember(context: DiscordContext) -> None:
    """Whose members are the team, where none is chosen. Raises StoreError."""
    other = await context.places.remember(context.bot.homes.team)
    if other is not None:
        log.warning(
            "the bot is in %s alone, which is not the server whose members were the team: only documents for everyone "
            "are used. If they are the team now, set KOTAE_DISCORD_GUILDS=%d",
            *(other.name, other.id),
        )


async def _tell_once(context: DiscordContext, message: Incoming) -> None:
    """That it takes a mention here: once a channel. Raises PostError, StoreError."""
    post = Post(f"content:{message.place.channel}", "notice", 0, message.place, message.thread)
    await say_once(context, post, f"-# {_NO_CONTENT.to(context.language)}")


async def _tell_role(context: DiscordContext, where: Spot, message: discord.Message) -> None:
    """Raises PostError, StoreError."""
    post = Post(f"role:{message.id}", "notice", 0, where.place, where.thread)
    await say_once(context, post, _ROLE.to(context.language), reply_to=str(message.id))


async def _tell_barred(context: DiscordContext, message: Incoming, code: str) -> None:
    """Raises PostError, StoreError."""
    where = f"<#{written_in(message)}>"
    text = MAY_NOT_WRITE.to(reply_language(message, context.language), where=where, code=code)
    await say_alone(context, f"barred:{message.message}", message.author, text)


def _view(context: DiscordContext, claimed: Claimed, preferences: Preferences) -> DiscordThread:
    return DiscordThread(
        context.client,
        context.rest,
        context.bot,
        claimed,
        steps=preferences.steps or "live",
        language=reply_language(claimed.message, context.language),
    )


async def _catch_up(client: Client, events: _Events) -> None:
    """With each session that is begun anew, as what came before it is lost."""
    while True:
        shard = await client.begun.get()
        await client.all_here(HERE_SECONDS)
        await events.catch_up(shard)


async def _look_after(context: DiscordContext, questions: RunningTurns, ready: asyncio.Event, every: float) -> None:
    """Take up what was left unfinished, by this process before it was restarted or by another, and say what is due."""
    await ready.wait()  # until the servers have been told, nobody knows who reads a channel
    intake = partial(ingestion.resume, context)
    await recovery.look_after(digest.cards(context), questions=questions.resume, intake=intake, every=every)
