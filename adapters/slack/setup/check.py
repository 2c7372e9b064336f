"""Slack's own word on the settings: for `kotae doctor`, `kotae setup` and the start. Nothing is changed there.

Source: docs.slack.dev methods auth.test, apps.connections.open, users.conversations, conversations.info, bots.info;
newcomer.md rows 7, 9, 11. Slack tells no app which events it is subscribed to (only apps.manifest.export with a token
of another kind does), so `adapters.slack.setup.first_mention` listens for one."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr

from adapters.shared.channels import Named, UnclearError, find
from adapters.slack.setup import manifest
from adapters.slack.transport.channel_names import CHANNEL_ID, channels
from bot.config.dotenv import ProbeError, digest_channel
from bot.config.settings import Settings
from bot.config.tokens import APP_TOKEN, BOT_TOKEN, SLACK_APP_AT, SLACK_BOT_AT
from bot.doctor.data import heard
from bot.doctor.findings import Check, Remark, Subject, fault, fine, warning
from retrieval.i18n import Text, filled

if TYPE_CHECKING:  # the SDK is loaded where Slack is set up
    from slack_sdk.web.async_client import AsyncWebClient

SLACK = Subject("slack", Text(en="Slack", ja="Slack"))

CALL_SECONDS = 6
SECONDS = 26.0  # four calls, one after the other
_PAGES = 5

_CODE = re.compile(r"[a-z][a-z_]{2,60}")
_APP_OF_TOKEN = re.compile(r"xapp-\d+-(A[A-Z0-9]{8,})-")

# -- what can be wrong ------------------------------------------------------------------------------------------------

_CONNECTED = Text(en="Connected as {bot} in {team}.", ja="{team} に {bot} として接続できます。")
_WHOLE_ORG = Text(
    en="The app is installed for the whole organisation (Enterprise Grid), where nobody counts as one of the team: "
    "only documents for everyone are used.",
    ja="アプリが組織全体（Enterprise Grid）にインストールされています。この場合、誰もチームのメンバーとして扱われず、"
    "全員に公開された文書だけで答えます。",
)
_ONE_WORKSPACE = Text(
    en="Install the app in the team's workspace instead (api.slack.com/apps → your app → Install App) and put the new "
    "token into SLACK_BOT_TOKEN.",
    ja="代わりにチームのワークスペースへインストールし（api.slack.com/apps → アプリ → Install App）、"
    "新しいトークンを SLACK_BOT_TOKEN に入れてください。",
)
_SCOPES_THERE = Text(en="All {count} scopes are granted.", ja="必要なスコープ {count} 個がすべてあります。")
SOCKET_IS_ON = fine(Text(en="Socket Mode is on.", ja="Socket Mode は有効です。"))
_OVER_HTTP = fine(
    Text(
        en="Events come over HTTP, signed with SLACK_SIGNING_SECRET. Slack does not tell whether it can reach you.",
        ja="イベントは SLACK_SIGNING_SECRET の署名付きで HTTP で届きます（Slack から到達できるかは確認できません）。",
    ),
    Text(
        en="The Request URL is https://<the address of kotae run>/slack/events, the same in Event Subscriptions, "
        "Interactivity & Shortcuts and Slash Commands; Slack checks it while kotae run runs. Socket Mode is off.",
        ja="Request URL は https://<kotae run のアドレス>/slack/events です（Event Subscriptions、Interactivity & "
        "Shortcuts、Slash Commands のすべてで同じ。kotae run の起動中に Slack が確認します）。"
        "Socket Mode は無効にします。",
    ),
)
_HEARD = Text(
    en="Mentions arrive: the last question came on {day}.", ja="メンションは届いています（最後の質問: {day}）。"
)
_NEVER_HEARD = Text(
    en="No question has ever arrived from Slack, and Slack does not tell which events the app is subscribed to.",
    ja="Slack からまだ一度も質問が届いていません。どのイベントを購読しているかは、Slack に問い合わせても分かりません。",
)
_LISTEN = Text(
    en="If a mention gets no answer: api.slack.com/apps → your app → Event Subscriptions: turned on, and under "
    "“Subscribe to bot events” {events}. Without agent_session_stopped Slack shows no button to stop an answer.{wait}",
    ja="メンションに反応しないときは、api.slack.com/apps → アプリ → Event Subscriptions を有効にし、"
    "「Subscribe to bot events」に {events} があるか確認してください。agent_session_stopped "
    "がないと、回答を中止するボタンが表示されません。{wait}",
)
_OR_WAIT = Text(
    en=" kotae setup slack --wait waits for a mention and names what is missing.",
    ja="kotae setup slack --wait を実行すると、メンションを待って不足しているイベントを表示します。",
)
_LACKS = Text(en="Missing scopes: {scopes}.", ja="スコープが足りません: {scopes}。")
_COSTS = Text(en="{name} ({without})", ja="{name}（{without}）")
_ADD = Text(
    en="api.slack.com/apps → your app → OAuth & Permissions → Bot Token Scopes: add {names}, then “Reinstall to "
    "Workspace” at the top of that page.",
    ja="api.slack.com/apps → アプリ → OAuth & Permissions → Bot Token Scopes に {names} を追加し、"
    "同じページ上部の「Reinstall to Workspace」を押してください。",
)
_NOT_INVITED = Text(en="{bot} is in no channel yet.", ja="{bot} はまだどのチャンネルにも入っていません。")
_INVITE = Text(
    en="In the channel where people ask, type: /invite @{name}",
    ja="質問を受け付けるチャンネルで次のように入力してください: /invite @{name}",
)
_OTHER_APP = Text(
    en="SLACK_APP_TOKEN seems to belong to another app than SLACK_BOT_TOKEN; then no message arrives.",
    ja="SLACK_APP_TOKEN と SLACK_BOT_TOKEN が別々のアプリのもののようです。その場合、メッセージが届きません。",
)
_SAME_APP = Text(
    en="Take both tokens from the same app at api.slack.com/apps.",
    ja="api.slack.com/apps で、同じアプリから両方のトークンを取得してください。",
)

_NOT_ACCEPTED = Text(en="Slack does not accept {name}.", ja="Slack が {name} を受け付けません。")
_COPY = Text(
    en="Copy the token again into {name} in .env. It is found at: {where}",
    ja="トークンをもう一度コピーして .env の {name} に入れてください。取得場所: {where}",
)
_REVOKED = Text(
    en="{name} was revoked: the app was removed from the workspace, or the token was.",
    ja="{name} は無効になっています。アプリがワークスペースから削除されたか、トークンが取り消されました。",
)
_REINSTALL = Text(
    en="Install the app again (api.slack.com/apps → your app → Install App) and put the new token into {name}.",
    ja="アプリをインストールし直し（api.slack.com/apps → アプリ → Install App）、新しいトークンを {name} "
    "に入れてください。",
)
_EXPIRED = Text(
    en="{name} has expired: token rotation is on for this app.",
    ja="{name} の有効期限が切れています。このアプリではトークンのローテーションが有効です。",
)
_NEW_APP = Text(
    en="Rotation cannot be switched off; make a new app from the link that kotae setup slack shows.",
    ja="ローテーションは無効に戻せません。kotae setup slack が表示するリンクから新しいアプリを作ってください。",
)
_KIND = Text(en="{name} does not hold {wanted}.", ja="{name} に入っているのは{wanted}ではありません。")
_NO_CONNECTIONS = Text(
    en="SLACK_APP_TOKEN lacks the scope connections:write.",
    ja="SLACK_APP_TOKEN にスコープ connections:write がありません。",
)
_NEW_APP_TOKEN = Text(
    en="Make a new app-level token with connections:write (a scope cannot be added to an old one): {where}",
    ja="connections:write を付けてアプリレベルトークンを作り直してください（後からは追加できません）: {where}",
)
_SOCKET_OFF = Text(en="Socket Mode is off for this app.", ja="このアプリでは Socket Mode が無効です。")
_SOCKET_ON = Text(
    en="api.slack.com/apps → your app → Socket Mode → Enable Socket Mode.",
    ja="api.slack.com/apps → アプリ → Socket Mode → Enable Socket Mode を有効にしてください。",
)
_DOWN = Text(en="Slack cannot be reached.", ja="Slack に接続できません。")
_NETWORK = Text(
    en="Check the network of this machine and, if it is set, SLACK_API_URL.",
    ja="このマシンのネットワークと、設定していれば SLACK_API_URL を確認してください。",
)
_STRANGE = Text(
    en="The reply from Slack is not in the expected form.", ja="Slack からの応答が正しい形式ではありません。"
)
_PROXY = Text(
    en="Something stands in between: a proxy, a sign-in page, or a wrong SLACK_API_URL (it ends in /api/).",
    ja="プロキシやログイン画面が間に入っているか、SLACK_API_URL（/api/ で終わるアドレス）が違います。",
)
_BUSY = Text(
    en="Slack asks to come back later (too many requests).", ja="Slack が混み合っています（リクエストが多すぎます）。"
)
_LATER = Text(en="Try again in a minute.", ja="1 分ほどしてからもう一度お試しください。")
_REFUSED = Text(en="Slack refused {name}: {code}.", ja="Slack が {name} を拒否しました: {code}")
_LOOK_UP = Text(
    en="The code is explained at docs.slack.dev/reference/methods/{method}.",
    ja="コードの意味は docs.slack.dev/reference/methods/{method} にあります。",
)

_NAME_OR_ID = Text(
    en="Set the channel's name or its id; in a private channel first type: /invite @{name}. The id begins with C: in "
    "Slack click the channel's name; it is at the bottom of “About”.",
    ja="チャンネルの名前か ID を設定してください。非公開のチャンネルでは先に /invite @{name} と入力してください。ID は "
    "C で始まり、Slack でチャンネル名をクリックすると「チャンネル情報」の一番下で確認できます。",
)
_NO_CHANNEL = Text(
    en="The channel of the digest ({channel}) does not exist, or is private and {bot} is not in it.",
    ja="ダイジェストのチャンネル（{channel}）が存在しないか、非公開で {bot} が入っていません。",
)
_CHOOSE_CHANNEL = Text(
    en="Correct KOTAE_DIGEST_CHANNEL, or type there: /invite @{name}",
    ja="KOTAE_DIGEST_CHANNEL を直すか、そのチャンネルで次のように入力してください: /invite @{name}",
)
_NOT_IN_CHANNEL = Text(
    en="{bot} is not in the channel of the digest ({channel}).",
    ja="{bot} がダイジェストのチャンネル（{channel}）に入っていません。",
)
_ARCHIVED = Text(
    en="The channel of the digest ({channel}) is archived.",
    ja="ダイジェストのチャンネル（{channel}）はアーカイブされています。",
)
_ANOTHER = Text(
    en="Set KOTAE_DIGEST_CHANNEL to another channel, or unarchive it.",
    ja="KOTAE_DIGEST_CHANNEL に別のチャンネルを設定するか、アーカイブを解除してください。",
)
_DIGEST_WELL = Text(en="The digest can be posted in {channel}.", ja="ダイジェストは {channel} に投稿できます。")


@dataclass(frozen=True, slots=True)
class SlackBot:
    """Whose token it is. `scopes` None: the server did not say; `whole_org`: it is good in all workspaces of an
    organisation."""

    name: str
    user: str
    bot_id: str
    team: str
    scopes: frozenset[str] | None
    whole_org: bool = False

    @property
    def shown(self) -> str:
        return f"@{self.name}"


# -- asking -----------------------------------------------------------------------------------------------------------


class CheckRefusedError(Exception):
    """`code`: Slack's own, or `unreachable`, or `strange` for what is not Slack's form."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


def web_client(token: str, api_url: str | None) -> "AsyncWebClient":
    """A client that asks once, waits `CALL_SECONDS` and logs nothing."""
    import logging

    from slack_sdk.web.async_client import AsyncWebClient

    quiet = logging.Logger("slack_sdk.quiet", logging.CRITICAL + 1)
    base = api_url or AsyncWebClient.BASE_URL
    return AsyncWebClient(token=token, base_url=base, timeout=CALL_SECONDS, retry_handlers=[], logger=quiet)


async def call(client: "AsyncWebClient", method: str, **params: str) -> tuple[dict[str, Any], Any]:
    """The answer and its headers. Raises CheckRefusedError."""
    import aiohttp
    from slack_sdk.errors import SlackApiError

    try:
        async with asyncio.timeout(CALL_SECONDS):
            found = await client.api_call(method, data=params)
        return dict(found.data), found.headers  # type: ignore[arg-type]  # bytes are for downloads
    except SlackApiError as error:
        raise CheckRefusedError(_code(error.response)) from None  # its text holds the request
    except (TimeoutError, OSError, aiohttp.ClientError):
        raise CheckRefusedError("unreachable") from None
    except (AttributeError, TypeError, ValueError):  # the SDK expects JSON
        raise CheckRefusedError("strange") from None


def _code(response: Any) -> str:
    data = getattr(response, "data", None)
    status = getattr(response, "status_code", 0) or getattr(response, "status", 0)
    code = data.get("error") if isinstance(data, dict) else None
    if isinstance(code, str) and _CODE.fullmatch(code):
        return code
    if status == 429:
        return "ratelimited"
    return "unreachable" if status >= 500 else "strange"


async def identify(token: str, api_url: str | None) -> SlackBot:
    """Whose bot token this is. Raises ProbeError."""
    try:
        told, headers = await call(web_client(token, api_url), "auth.test")
    except CheckRefusedError as error:
        raise _said(error.code, "SLACK_BOT_TOKEN", "auth.test") from None
    granted = headers.get("x-oauth-scopes")
    return SlackBot(
        name=str(told.get("user") or "kotae"),
        user=str(told.get("user_id") or ""),
        bot_id=str(told.get("bot_id") or ""),
        team=str(told.get("team") or told.get("team_id") or "?"),
        scopes=None if granted is None else frozenset(scope.strip() for scope in granted.split(",") if scope.strip()),
        whole_org=bool(told.get("is_enterprise_install")),
    )


async def connects(app_token: str, api_url: str | None) -> None:
    """Whether a Socket Mode connection could be opened with this token; none is. Raises ProbeError."""
    client = web_client(app_token, api_url)
    try:
        await call(client, "apps.connections.open")
    except CheckRefusedError as error:
        raise _said(error.code, "SLACK_APP_TOKEN", "apps.connections.open") from None


def _said(code: str, name: str, method: str) -> ProbeError:
    where, wanted = (SLACK_BOT_AT, BOT_TOKEN) if name == "SLACK_BOT_TOKEN" else (SLACK_APP_AT, APP_TOKEN)
    copy = filled(_COPY, name=name, where=where)
    match code:
        case "invalid_auth" | "not_authed":
            return ProbeError(fault(filled(_NOT_ACCEPTED, name=name), copy))
        case "account_inactive" | "token_revoked":
            return ProbeError(fault(filled(_REVOKED, name=name), filled(_REINSTALL, name=name)))
        case "token_expired":
            return ProbeError(fault(filled(_EXPIRED, name=name), _NEW_APP))
        case "not_allowed_token_type":
            return ProbeError(fault(filled(_KIND, name=name, wanted=wanted), copy))
        case "missing_scope" | "no_permission" if name == "SLACK_APP_TOKEN":
            return ProbeError(fault(_NO_CONNECTIONS, filled(_NEW_APP_TOKEN, where=where)))
        case "socket_mode_not_enabled":
            return ProbeError(fault(_SOCKET_OFF, _SOCKET_ON), token=False)
        case "unreachable":
            return ProbeError(fault(_DOWN, _NETWORK), token=False)
        case "strange":
            return ProbeError(fault(_STRANGE, _PROXY), token=False)
        case "ratelimited":
            return ProbeError(warning(_BUSY, _LATER), token=False)
    return ProbeError(fault(filled(_REFUSED, name=name, code=code), filled(_LOOK_UP, method=method)))


# -- what is said of it -----------------------------------------------------------------------------------------------


def connected(bot: SlackBot) -> Remark:
    if bot.whole_org:
        return fault(_WHOLE_ORG, _ONE_WORKSPACE)
    return fine(filled(_CONNECTED, bot=bot.shown, team=bot.team))


def scopes(bot: SlackBot) -> list[Remark]:
    """The scopes that are missing and what that costs: faults where people go without an answer, else warnings."""
    if bot.scopes is None:
        return []
    lacking = manifest.missing(bot.scopes)
    if not lacking:
        return [fine(filled(_SCOPES_THERE, count=str(len(manifest.scopes()))))]
    return [
        level(filled(_LACKS, scopes=_listed(needs)), filled(_ADD, names=", ".join(need.name for need in needs)))
        for level, needs in (
            (fault, [need for need in lacking if need.answers]),
            (warning, [need for need in lacking if not need.answers]),
        )
        if needs
    ]


def _listed(needs: Sequence[manifest.Need]) -> Text:
    shown = [filled(_COSTS, name=need.name, without=need.without) for need in needs]
    return Text(en="; ".join(said.en for said in shown), ja="、".join(said.ja for said in shown))


async def membership(client: "AsyncWebClient", bot: SlackBot) -> list[Remark]:
    """Whether somebody has invited the bot. Where Slack does not say, nothing is said."""
    cursor = ""
    for _ in range(_PAGES):  # a page may be empty though others are not
        try:
            page, _headers = await call(
                client,
                "users.conversations",
                types="public_channel,private_channel",
                exclude_archived="true",
                limit="200",
                **({"cursor": cursor} if cursor else {}),
            )
        except CheckRefusedError:  # the scope that it takes is named already
            return []
        if page.get("channels"):
            return []
        cursor = str((page.get("response_metadata") or {}).get("next_cursor") or "")
        if not cursor:
            return [warning(filled(_NOT_INVITED, bot=bot.shown), filled(_INVITE, name=bot.name))]
    return []


async def digest(client: "AsyncWebClient", bot: SlackBot, channel: str) -> list[Remark]:
    """Whether the digest can be posted in this channel."""
    if not CHANNEL_ID.fullmatch(channel):
        try:
            channel = find(channel, await _channels(client, bot)).id
        except UnclearError as error:
            return [fault(error.why, filled(_NAME_OR_ID, name=bot.name))]
        except CheckRefusedError:  # which passes
            return []
    try:
        told, _headers = await call(client, "conversations.info", channel=channel)
    except CheckRefusedError as error:
        if error.code != "channel_not_found":  # otherwise the reason is named already, or passing
            return []
        said = filled(_NO_CHANNEL, channel=channel, bot=bot.shown)
        return [fault(said, filled(_CHOOSE_CHANNEL, name=bot.name))]
    found = told.get("channel") or {}
    shown = f"#{found['name']}" if found.get("name") else channel
    if found.get("is_archived"):
        return [fault(filled(_ARCHIVED, channel=shown), _ANOTHER)]
    if found.get("is_member") is False and not found.get("is_im"):
        return [fault(filled(_NOT_IN_CHANNEL, channel=shown, bot=bot.shown), filled(_INVITE, name=bot.name))]
    return [fine(filled(_DIGEST_WELL, channel=shown))]


async def _channels(client: "AsyncWebClient", bot: SlackBot) -> list[Named]:
    """Raises CheckRefusedError."""

    async def page(**arguments: str) -> dict[str, Any]:
        return (await call(client, "conversations.list", **arguments))[0]

    return await channels(page, bot.scopes or ())


async def same_app(client: "AsyncWebClient", bot: SlackBot, app_token: str) -> list[Remark]:
    """Whether both tokens are of one app, as far as that can be seen."""
    named = _APP_OF_TOKEN.match(app_token)
    if not named or not bot.bot_id:
        return []
    try:
        told, _headers = await call(client, "bots.info", bot=bot.bot_id)
    except CheckRefusedError:
        return []
    app = (told.get("bot") or {}).get("app_id")
    return [warning(_OTHER_APP, _SAME_APP)] if app and app != named[1] else []


async def look(settings: Settings) -> list[Remark]:
    """Everything Slack says of these settings; nothing where Slack is not set up."""
    if settings.slack is None:
        return []
    app_token, api_url = settings.slack.app_token, settings.slack.api_url
    of_bot, way_in = await asyncio.gather(_bot(settings), _way_in(app_token, api_url))
    bot, remarks = of_bot
    if bot is None:
        return [*remarks, *(remark for remark in way_in if remark not in remarks)]
    client = web_client(settings.slack.bot_token.get_secret_value(), api_url)
    works = [membership(client, bot)]
    if app_token is not None:
        works.append(same_app(client, bot, app_token.get_secret_value()))
    channel = digest_channel(settings.digest_channel, "slack", alone=settings.discord is None)
    if channel is not None:
        works.append(digest(client, bot, channel))
    more = [remark for found in await asyncio.gather(*works) for remark in found]
    return [*remarks, *way_in, *more]


async def _checked(settings: Settings) -> list[Remark]:
    remarks = await look(settings)
    if not remarks or any(remark.level == "fault" for remark in remarks):  # that has to be mended first
        return remarks
    return [*remarks, await _events(settings)]


async def _events(settings: Settings) -> Remark:
    """Earlier arrivals say more than Slack does."""
    over_http = settings.slack is not None and settings.slack.app_token is None
    wait = Text(en="", ja="") if over_http else _OR_WAIT
    listen = filled(_LISTEN, events=", ".join(manifest.events()), wait=wait)
    last = await heard(settings, "slack")
    if last is None:
        return warning(_NEVER_HEARD, listen)
    return fine(filled(_HEARD, day=f"{last:%Y-%m-%d}"), listen)


async def _bot(settings: Settings) -> tuple[SlackBot | None, list[Remark]]:
    assert settings.slack is not None  # `look` has seen to it
    try:
        bot = await identify(settings.slack.bot_token.get_secret_value(), settings.slack.api_url)
    except ProbeError as error:
        return None, [error.remark]
    return bot, [connected(bot), *scopes(bot)]


async def _way_in(app_token: SecretStr | None, api_url: str | None) -> list[Remark]:
    if app_token is None:
        return [_OVER_HTTP]
    try:
        await connects(app_token.get_secret_value(), api_url)
    except ProbeError as error:
        return [error.remark]
    return [SOCKET_IS_ON]


async def problems(settings: Settings) -> list[Remark]:
    """Problems with Slack, for the start: to be said before anybody asks. Takes at most `SECONDS`; never raises
    for anything Slack does."""
    return [remark for remark in await look(settings) if remark.level != "ok"]


CHECKS = (Check(SLACK, _checked, SECONDS),)
