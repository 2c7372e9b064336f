"""Slack: events in, turns out. A question is claimed before its event is acknowledged; everything else happens after.

Source: style.md "A platform"; platforms.md §1 (claim before the ack); reliability.md R1-R5, R8, R10 and R57.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from slack_bolt.app.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse
from slack_sdk.web.async_client import AsyncWebClient

from adapters.port import Webhook, as_lookup
from adapters.shared import expert_answers, recovery
from adapters.shared.channels import find
from adapters.shared.follow_ups import is_follow_up
from adapters.shared.rate_limit import Limit
from adapters.shared.turns import MAY_NOT_WRITE, RunningTurns
from adapters.slack import commands, digest, feedback, home, ingestion
from adapters.slack.audience import Places
from adapters.slack.context import SlackContext
from adapters.slack.events import (
    PLATFORM,
    POSTED_TO,
    Asked,
    Deleted,
    Edited,
    HomeOpened,
    Reacted,
    Replied,
    Seen,
    StopPressed,
    Us,
    Welcomed,
    answering,
    in_thread,
    is_direct,
    seen,
    stirs,
)
from adapters.slack.rendering.block_kit import say_once, whisper
from adapters.slack.thread_context import ThreadContext
from adapters.slack.transport.api import SlackApi
from adapters.slack.transport.channel_history import SlackHistory
from adapters.slack.transport.channel_names import CHANNEL_ID, channels
from adapters.slack.transport.dispatch import NOT_STORED
from adapters.slack.transport.errors import CredentialsError, SlackError, UnsupportedError
from adapters.slack.transport.http_events import HttpEvents
from adapters.slack.transport.socket_mode import Connections, DisabledError
from adapters.slack.turn_view import SlackThread
from agent.routing.router import puts_off
from bot.bot import Bot
from bot.config.settings import SlackSettings
from bot.errors import SettingsError, StoreError
from bot.texts import reply_language
from bot.types import Card, Claimed, Incoming, Post, Preferences, Recipient, Stopped
from bot.unanswered.expert_answers import NO_ANSWER
from bot.waiting import beside, stopped, until_stored
from retrieval.i18n import Language, Text, filled

log = logging.getLogger(__name__)

_bolt = logging.getLogger(f"{__name__}.bolt")
_bolt.setLevel(logging.ERROR)  # it warns of a token in the environment, which is where tokens are

DRAIN_SECONDS = 20.0
LAST_RETRY = "3"  # after which Slack does not send an event again

_REFUSED = Text(
    en="Slack refuses the settings ({code}). `kotae doctor` names what is wrong and where it is put right.",
    ja="Slack に設定を拒否されました（{code}）。`kotae doctor` で原因と直し方を確認できます。",
)
_OTHERS = Text(
    en="Only whoever asked can stop this answer.",
    ja="この回答を中止できるのは、質問した人だけです。",
)

Next = Callable[[], Awaitable[BoltResponse]]


class SlackAdapter:
    """One workspace. `run` serves it; `find` and `announce` work while it runs."""

    platform = PLATFORM

    def __init__(
        self,
        settings: SlackSettings,
        *,
        language: Language,
        look_every: float = recovery.EVERY_SECONDS,
        api: Callable[..., SlackApi] = SlackApi,
    ) -> None:
        """`look_every`: seconds between two looks for what was left; `api` calls Slack, as `SlackApi` does."""
        self._api = api
        self._settings = settings
        self._look_every = look_every
        self._language = language
        self._context: SlackContext | None = None
        self._connections: Connections | None = None
        secret = settings.signing_secret
        self._http = HttpEvents(secret) if settings.app_token is None and secret is not None else None
        self.webhooks: Mapping[str, Webhook] = {} if self._http is None else {POSTED_TO: self._http.take}
        self.who = ""
        self.ready = asyncio.Event()

    @property
    def connected(self) -> bool:
        way = self._http or self._connections
        return way is not None and way.connected

    async def run(self, bot: Bot) -> None:
        """Serve until cancelled; then take nothing new in and let what runs end, for at most 20 seconds.

        Raises SettingsError when Slack refuses the tokens for good, also while it runs, ConnectionError when it cannot
        be reached.
        """
        token, url = self._settings.bot_token.get_secret_value(), self._settings.api_url
        async with self._api(token, url, shared=partial(shared_limit, bot) if bot.rates.shared else None) as slack:
            try:
                await slack.identify()
            except (CredentialsError, UnsupportedError) as error:
                raise _refused(error.code) from None
            except SlackError as error:
                raise ConnectionError(error.code) from None
            context = SlackContext(slack, bot, Places(slack), self._language)
            around = ThreadContext(context)
            us = Us(slack.me.user, slack.me.bot_id, slack.me.team)
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
            app = self._app(context, questions, around, us)
            way = self._http or self._connect(slack)
            self._context = context
            history = SlackHistory(self, context, us, lambda: way.heard)
            self.who = f"@{slack.me.name} in {slack.me.team_name}"
            chores = [
                asyncio.create_task(self._tell(way.first), name="slack-ready"),
                asyncio.create_task(self._look_after(context, questions), name="slack-leftovers"),
                asyncio.create_task(bot.sources.channels.read(PLATFORM, history, self.ready), name="slack-history"),
            ]
            try:
                async with (
                    beside(way.run(app), "slack-events") as serving,
                    beside(slack.until_refused(), "slack-token") as refused,
                ):
                    await asyncio.wait({serving, refused}, return_when=asyncio.FIRST_COMPLETED)
                    (refused if refused.done() else serving).result()
            except (DisabledError, CredentialsError) as error:
                raise _refused(error.code) from None
            finally:
                self._connections = self._context = None
                self.ready.clear()
                await stopped(*chores)
                await context.tasks.drain(DRAIN_SECONDS)

    async def find(self, recipient: str) -> Recipient:
        """A channel by its id or name, or a member by `@` and the id. Raises LookupError when the bot cannot post
        there, or a name does not say which channel, ConnectionError while Slack is not connected."""
        context = self._at_work()
        if recipient.startswith("@"):
            with as_lookup(UnsupportedError):
                return await context.places.recipient(recipient[1:])
        with as_lookup():
            if not CHANNEL_ID.fullmatch(recipient):
                listing = partial(context.slack.call, "conversations.list")
                recipient = find(recipient, await channels(listing, context.slack.me.scopes)).id
            info = await context.slack.channel(recipient)
        if info.get("is_archived") or info.get("is_member") is False:
            raise LookupError("is_archived" if info.get("is_archived") else "not_in_channel")
        audience = await context.places.audience(recipient)
        return Recipient(context.place(recipient), audience, f"#{info.get('name') or recipient}")

    async def announce(self, channel: str, card: Card, *, about: str) -> None:
        """Post a card and its rows. Raises LookupError where Slack does not take them, ConnectionError when not all of
        it could be posted: the same call goes on."""
        context = self._at_work()
        with as_lookup():
            await digest.announce(context, context.place(channel), card, about)

    def _at_work(self) -> SlackContext:
        if self._context is None:
            raise ConnectionError("Slack is not connected")
        return self._context

    def _connect(self, slack: SlackApi) -> Connections:
        assert self._settings.app_token is not None
        opening = AsyncWebClient(base_url=slack.web.base_url, retry_handlers=[])
        self._connections = Connections(opening, self._settings.app_token.get_secret_value())
        return self._connections

    async def _tell(self, first: asyncio.Event) -> None:
        await first.wait()
        self.ready.set()

    async def _look_after(self, context: SlackContext, questions: RunningTurns) -> None:
        intake = partial(ingestion.resume, context)
        await recovery.look_after(
            digest.cards(context), questions=questions.resume, intake=intake, every=self._look_every
        )

    # -- Bolt -------------------------------------------------------------------------------------------------------

    def _app(self, context: SlackContext, questions: RunningTurns, around: ThreadContext, us: Us) -> AsyncApp:
        slack = context.slack

        async def authorize(enterprise_id: str | None, team_id: str | None) -> AuthorizeResult:
            """One workspace: who we are is known, so no event waits for `auth.test`."""
            return AuthorizeResult(
                enterprise_id=enterprise_id, team_id=us.team, bot_user_id=us.user, bot_id=us.bot_id, bot_token=token
            )

        token = self._settings.bot_token.get_secret_value()
        app = AsyncApp(
            name="kotae",  # else it looks through the stack for a file's name, 30 ms in which nothing else runs
            logger=_bolt,
            client=AsyncWebClient(base_url=slack.web.base_url),
            authorize=authorize,
            request_verification_enabled=False,  # Socket Mode has no signature, and `HttpEvents` has seen to it
            ignoring_self_events_enabled=False,  # `seen` leaves them out, and its answer is acknowledged
        )

        async def claim(request: AsyncBoltRequest, body: Mapping[str, Any], next: Next) -> BoltResponse:
            # No listener of `app.event`: Bolt acknowledges before it runs one (slack_bolt/listener/asyncio_runner.py),
            # while a middleware's answer is the acknowledgement: what is not stored by then comes again (R1).
            if body.get("type") != "event_callback":
                return await next()
            if isinstance(event := body.get("event"), Mapping):
                around.came(event)
                if str(event.get("subtype") or "").startswith(("channel_", "group_")):  # such as of its opening
                    slack.ask_anew(str(event.get("channel")))
                account = event.get("user") if event.get("type") == "user_change" else None
                if isinstance(account, dict) and account.get("id"):
                    slack.changed(account)

            async def take() -> None:
                await _stir(context, event, us)
                await self._take(seen(body, us), context, questions, around)

            try:
                await take()
            except StoreError:
                log.error("an event could not be stored; Slack sends it again", exc_info=True)
                if request.headers.get("x-slack-retry-num") == [LAST_RETRY]:
                    context.tasks.start(until_stored(take), "slack-event")
                return BoltResponse(status=NOT_STORED)
            return BoltResponse(status=200)

        app.use(claim)
        commands.register(app, context)
        return app

    async def _take(
        self, event: Seen | None, context: SlackContext, questions: RunningTurns, around: ThreadContext
    ) -> None:
        """Stores everything durable before it returns; the rest is a task. Raises StoreError."""
        match event:
            case Asked(message, stranger):
                if not await _answers_card(context, message, stranger):
                    await questions.ask(message, stranger=stranger)
            case Edited(message, addressed, stranger, known):
                answers = await digest.changed(context, message)
                if not answers and not (addressed and not known and await _answers_card(context, message, stranger)):
                    await questions.edit(message, addressed=addressed, stranger=stranger, known=known)
            case Deleted(message):
                await digest.changed(context, message, gone=True)
                await questions.delete(message)
            case Reacted():
                context.tasks.start(until_stored(partial(feedback.react, context, event)), "slack-reaction")
            case Replied(follows=Incoming() as message, stranger=stranger) if await is_follow_up(
                context.bot,
                message,
                actor=partial(context.places.actor, message.author, stranger=stranger),
                shared=partial(around.shared, message),
            ):
                await questions.ask(message)
            case Replied():
                context.tasks.start(until_stored(partial(_reply, context, event)), "slack-reply")
            case StopPressed(place, thread, author, until):
                stopped = await questions.stop(place, thread, author, until=until)
                if not stopped.ended:
                    context.tasks.start(_stop_nothing(context, event, stopped), "slack-stop")
            case HomeOpened(user, channel):
                context.tasks.start(home.publish(context, user, channel), "slack-home")
            case Welcomed(user, channel):
                context.tasks.start(home.welcome(context, user, channel), "slack-home")
            case None:
                pass


async def _stir(context: SlackContext, event: object, us: Us) -> None:
    """A thread that may be a document has changed, or who reads it. Raises StoreError."""
    try:
        stirred = stirs(event, us) if isinstance(event, Mapping) else None
    except (KeyError, TypeError, AttributeError, ValueError):  # not of a form that Slack documents
        return
    if stirred is not None:
        channel, root, known = stirred
        await context.bot.sources.channels.stir(context.place(channel), root, known=known)
    if isinstance(event, Mapping) and str(event.get("subtype") or "").startswith("channel_convert"):
        await context.bot.sources.channels.look_again(PLATFORM, str(event.get("channel")))


async def _tell_barred(context: SlackContext, message: Incoming, code: str) -> None:
    """Raises SlackError, StoreError."""
    direct = context.place(await context.slack.direct(message.author))
    about, where = f"barred:{message.place.channel}:{message.message}", f"<#{message.place.channel}>"
    text = MAY_NOT_WRITE.to(reply_language(message, context.language), where=where, code=code)
    await say_once(context, Post(about, "notice", 0, direct), text=text)


def _view(context: SlackContext, claimed: Claimed, preferences: Preferences) -> SlackThread:
    return SlackThread(
        context.slack,
        context.bot,
        claimed,
        steps=preferences.steps or "live",
        language=reply_language(claimed.message, context.language),
        team=partial(context.places.team, claimed.message.author),
    )


async def _answers_card(context: SlackContext, message: Incoming, stranger: bool) -> bool:
    """Whether what addresses the bot answers the card in whose thread it stands, or, in a direct message, after which
    it is written; then it is asked about. What nobody can learn from (an outsider's words, what follows in a thread
    once the card is answered) is a question as anywhere, but for an answer to a card in a direct message that comes too
    late. Raises StoreError."""
    reply = in_thread(message, stranger)
    if puts_off(message.text) and await _is_on_open_card(context, message, reply):
        await _refuse(context, message, reply, NO_ANSWER)
        return True
    over = await _card_over(context, reply) if reply else None
    card = over if over is not None and not over.data["closed"] else None
    if over is not None and is_direct(message.place.channel):
        match await expert_answers.adds(context.bot, over, over.message, message.text):
            case True:
                card = over
            case False:
                await _refuse(context, message, reply, expert_answers.GONE)
                return True
    if card is None and is_direct(message.place.channel):
        text, at = message.text, float(message.message)
        card = await expert_answers.card_before(context.bot, message.place, text, at)
        thread = card.message if card is not None and card.message is not None else ""
        reply = answering(message, thread, stranger) if reply is None or reply.thread == thread else None
        card = await _card_over(context, reply) if reply else None
    if reply is None or card is None:
        return False
    context.tasks.start(until_stored(partial(digest.replied, context, reply, card)), "slack-reply")
    return True


async def _refuse(context: SlackContext, message: Incoming, reply: Replied | None, why: Text) -> None:
    """Say to whoever wrote it, alone and once, though a mention comes twice, why nothing is learnt from it. Raises
    StoreError."""
    channel, thread = message.place.channel, reply.thread if reply else None

    async def tell() -> None:
        said = why.to(await context.language_of(message.author))
        await whisper(context, channel, message.author, said, thread)

    post = Post(f"none:{channel}:{message.message}", "notice", 0, message.place, thread)
    if await context.bot.outbox.reserve(post) is None:
        context.tasks.start(tell(), "slack-whisper")


async def _is_on_open_card(context: SlackContext, message: Incoming, reply: Replied | None) -> bool:
    """Raises StoreError."""
    post = await context.bot.outbox.find(reply.place, reply.thread) if reply else None
    if post is None and is_direct(message.place.channel):
        post = await expert_answers.card_before(context.bot, message.place, message.text, float(message.message))
    return post is not None and post.kind == "card" and not post.data["closed"]


async def _stop_nothing(context: SlackContext, pressed: StopPressed, stopped: Stopped) -> None:
    """Nothing of theirs was to be stopped: what goes on there is others', or Slack does not know that nothing does."""
    channel, thread = pressed.place.channel, pressed.thread
    if stopped.left and all(each.message.author != pressed.author for each in stopped.left):
        text = _OTHERS.to(await context.language_of(pressed.author))
        await whisper(context, channel, pressed.author, text, thread)
    if not stopped.left:
        with suppress(SlackError):
            await context.slack.end_session(channel, thread)


async def _reply(context: SlackContext, replied: Replied) -> None:
    card = await _card_over(context, replied)
    if card is not None:
        await digest.replied(context, replied, card)


async def _card_over(context: SlackContext, reply: Replied) -> Post | None:
    """The card in whose thread a reply stands that can be its answer, or add to it. Raises StoreError."""
    post = await context.bot.outbox.find(reply.place, reply.thread)
    actor = partial(context.places.actor, reply.author, stranger=reply.stranger)
    return post if post is not None and await expert_answers.takes(post, reply.text, actor) else None


async def shared_limit(bot: Bot, name: str, limit: Limit) -> float:
    """`Pacer`'s part of what all processes keep; without their database Slack itself says when there is too much."""
    try:
        return await bot.rates.take(f"{PLATFORM}:{name}", limit.burst, limit.a_minute)
    except StoreError:
        return 0.0


def _refused(code: str) -> SettingsError:
    return SettingsError(filled(_REFUSED, code=code))
