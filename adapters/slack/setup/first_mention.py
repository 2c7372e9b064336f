"""Waiting for the first mention, at the end of the set-up: the one way to learn which events really arrive.

Source: newcomer.md (the wizard waits for the first mention and says when it came); docs.slack.dev/apis/events-api.
"""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from adapters.slack.events import mentions
from adapters.slack.setup.check import CheckRefusedError, SlackBot, call, web_client
from adapters.slack.setup.manifest import MENTIONS, MESSAGES, NO_MENTIONS
from bot.doctor.findings import Remark, fault, fine, warning
from retrieval.i18n import Language, Text, filled

if TYPE_CHECKING:
    from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
    from slack_sdk.socket_mode.request import SocketModeRequest
    from slack_sdk.web.async_client import AsyncWebClient

WAIT_SECONDS = 300.0
CONNECT_SECONDS = 15.0
TWIN_SECONDS = 4.0  # Slack reports a mention twice, as a mention and as a message; the second follows at once

_HEARD = Text(en="The mention has arrived.", ja="メンションが届きました。")
_LACKS = Text(
    en="The mention has arrived, but the event {event} has not: {without}.",
    ja="メンションは届きましたが、イベント {event} が届きませんでした: {without}。",
)
_NO_MESSAGES = Text(
    en="edited or deleted questions and replies of experts are not noticed in public channels",
    ja="公開チャンネルでは、質問の編集・削除や担当者の返信に気づけません",
)
_SUBSCRIBE = Text(
    en="api.slack.com/apps → your app → Event Subscriptions → Subscribe to bot events: add {event}, save, and "
    "reinstall the app.",
    ja="api.slack.com/apps → アプリ → Event Subscriptions → Subscribe to bot events に {event} を追加して保存し、"
    "アプリを再インストールしてください。",
)
_NOTHING = Text(en="No mention arrived within {minutes} minutes.", ja="{minutes} 分間、メンションは届きませんでした。")
_WHY_NOT = Text(
    en="There are three possible causes: the bot is not in the channel (/invite @{name}); Event "
    "Subscriptions is off or without {event} (api.slack.com/apps → your app); another process with the "
    "same tokens received it.",
    ja="考えられる原因は 3 つです。ボットがチャンネルに入っていない（/invite @{name}）、Event Subscriptions が無効か "
    "{event} がない（api.slack.com/apps → アプリ）、同じトークンで動いている別のプロセスが受け取った。",
)
_NO_SOCKET = Text(en="The connection to Slack could not be opened.", ja="Slack との接続を開けませんでした。")
_BLOCKED = Text(
    en="Web sockets (wss://) have to pass the proxy or firewall of this network.",
    ja="このネットワークのプロキシやファイアウォールで WebSocket（wss://）を通す必要があります。",
)
_REPLY = Text(
    en="I hear you. The set-up is done, but I am not running yet: I answer questions once `kotae run` is started.",
    ja="メンションを受け取りました。設定は完了しましたが、まだ起動していません。"
    "`kotae run` を実行すると質問に答えます。",
)
_MUTE = Text(
    en="The mention has arrived, but the reply to it could not be posted ({code}).",
    ja="メンションは届きましたが、返信を投稿できませんでした（{code}）。",
)
_CHAT_WRITE = Text(
    en="Check that the scope chat:write is granted and that the bot may post in that channel.",
    ja="スコープ chat:write があり、ボットがそのチャンネルに投稿できることを確認してください。",
)


class _Ear:
    """Hears what is addressed to the bot and acknowledges that alone: the rest comes again, to the bot that will
    run."""

    def __init__(self, user: str) -> None:
        self._user = user
        self.channel = self.thread = ""
        self.kinds: set[str] = set()
        self.first, self.both = asyncio.Event(), asyncio.Event()

    async def __call__(self, client: "AsyncBaseSocketModeClient", request: "SocketModeRequest") -> None:
        from slack_sdk.socket_mode.response import SocketModeResponse

        event = (request.payload or {}).get("event") if request.type == "events_api" else None
        if not isinstance(event, dict) or not self._addressed(event):
            return
        await client.send_socket_mode_response(SocketModeResponse(envelope_id=request.envelope_id))
        if not self.first.is_set():
            self.channel = str(event["channel"])
            self.thread = str(event.get("thread_ts") or event["ts"])
            self.first.set()
        self.kinds.add(self._kind(event))
        if "message.im" in self.kinds or len(self.kinds) > 1:
            self.both.set()

    def _addressed(self, event: Mapping[str, Any]) -> bool:
        if not event.get("channel") or not event.get("ts") or event.get("bot_id") or event.get("subtype"):
            return False
        if event.get("type") == MENTIONS:
            return True
        direct = event.get("channel_type") == "im"
        return event.get("type") == "message" and (direct or mentions(str(event.get("text") or ""), self._user))

    def _kind(self, event: Mapping[str, Any]) -> str:
        if event["type"] == MENTIONS:
            return MENTIONS
        return {"im": "message.im", "group": "message.groups", "mpim": "message.mpim"}.get(
            str(event.get("channel_type")), "message.channels"
        )


async def first_mention(
    bot: SlackBot,
    bot_token: str,
    app_token: str,
    api_url: str | None,
    language: Language,
    *,
    seconds: float = WAIT_SECONDS,
    twin: float = TWIN_SECONDS,
) -> list[Remark]:
    """Wait until somebody addresses the bot, reply in the thread that it is not running yet, and say what arrived and
    which event did not. Ends after `seconds` at the latest; never raises for anything Slack does."""
    from slack_sdk.socket_mode.aiohttp import SocketModeClient

    ear = _Ear(bot.user)
    quiet = logging.Logger("slack_sdk.quiet", logging.CRITICAL + 1)
    socket = SocketModeClient(app_token, logger=quiet, web_client=web_client(app_token, api_url))
    socket.socket_mode_request_listeners.append(ear)
    try:
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                await socket.connect()  # type: ignore[no-untyped-call]
        except TimeoutError:
            return [fault(_NO_SOCKET, _BLOCKED)]
        try:
            async with asyncio.timeout(seconds):
                await ear.first.wait()
        except TimeoutError:
            why = filled(_WHY_NOT, name=bot.name, event=MENTIONS)
            return [warning(filled(_NOTHING, minutes=f"{seconds / 60:.0f}"), why)]
        with suppress(TimeoutError):
            async with asyncio.timeout(twin):
                await ear.both.wait()
    finally:
        await socket.close()  # type: ignore[no-untyped-call]
    return [*_of_events(ear.kinds), *await _reply(ear, web_client(bot_token, api_url), language)]


def _of_events(kinds: set[str]) -> list[Remark]:
    """The remark on the events that a mention came by; it should come by two."""
    if "message.im" in kinds or len(kinds) > 1:
        return [fine(_HEARD)]
    level, lacking, without = (
        (warning, " / ".join(MESSAGES), _NO_MESSAGES) if MENTIONS in kinds else (fault, MENTIONS, NO_MENTIONS)
    )
    return [level(filled(_LACKS, event=lacking, without=without), filled(_SUBSCRIBE, event=lacking))]


async def _reply(ear: _Ear, client: "AsyncWebClient", language: Language) -> list[Remark]:
    try:
        await call(client, "chat.postMessage", channel=ear.channel, thread_ts=ear.thread, text=_REPLY.to(language))
    except CheckRefusedError as error:
        return [fault(filled(_MUTE, code=error.code), _CHAT_WRITE)]
    return []
