"""Discord's own word on the settings: for `kotae doctor` and `kotae setup`. Nothing is changed there.

Source: discord.com/developers/docs: resources/application (flags), resources/user, topics/permissions, topics/oauth2;
product.md §3 (whose members are the team).
"""

import asyncio
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, TypeVar

from adapters.discord.setup.permissions import PERMISSIONS, Lacking, lacking, may_post
from adapters.shared.channels import Named, UnclearError, find
from bot.config.dotenv import ProbeError, digest_channel
from bot.config.settings import Settings
from bot.config.tokens import DISCORD_AT
from bot.doctor.data import team as known_team
from bot.doctor.findings import Check, Remark, Subject, fault, fine, warning
from retrieval.i18n import Text, filled

T = TypeVar("T")

DISCORD = Subject("discord", Text(en="Discord", ja="Discord"))

API = "https://discord.com/api/v10"
CALL_SECONDS = 6.0
SECONDS = 36.0  # at most six calls one after another, of which a slow one among the first three ends the check
GUILDS, SHOWN = 5, 5  # servers whose rights are looked into; servers, or channels of one, that are named
LISTED = 200  # servers, the most that Discord lists at once. Source: resources/user (get current user guilds)

MESSAGE_CONTENT = 1 << 18 | 1 << 19  # of a verified bot | of a bot in under 100 servers
_THREADS = frozenset({10, 11, 12})
_WRITABLE = frozenset({0, 5}) | _THREADS  # text, announcement

_CONNECTED = Text(en="Connected as {bot}.", ja="{bot} として接続できます。")
_NOT_ACCEPTED = Text(en="Discord does not accept DISCORD_TOKEN.", ja="Discord が DISCORD_TOKEN を受け付けません。")
_COPY = Text(
    en="Put the bot's token into DISCORD_TOKEN in .env. It is found at: {where}",
    ja="ボットのトークンを .env の DISCORD_TOKEN に入れてください。取得場所: {where}",
)
_A_PERSON = Text(
    en="DISCORD_TOKEN belongs to a person, not to a bot.",
    ja="DISCORD_TOKEN はボットではなく個人のトークンです。",
)
_DOWN = Text(en="Discord cannot be reached.", ja="Discord に接続できません。")
_NETWORK = Text(
    en="Check the network of this machine and, if it is set, DISCORD_API_URL.",
    ja="このマシンのネットワークと、設定していれば DISCORD_API_URL を確認してください。",
)
_STRANGE = Text(
    en="The reply from Discord is not in the expected form.", ja="Discord からの応答が正しい形式ではありません。"
)
_PROXY = Text(
    en="Something stands in between: a proxy, a sign-in page, or a wrong DISCORD_API_URL (it ends in /api/v10).",
    ja="プロキシやログイン画面が間に入っているか、DISCORD_API_URL（/api/v10 で終わるアドレス）が違います。",
)
_BUSY = Text(
    en="Discord asks to come back later (too many requests).",
    ja="Discord が混み合っています（リクエストが多すぎます）。",
)
_LATER = Text(en="Try again in a minute.", ja="1 分ほどしてからもう一度お試しください。")

_CONTENT_ON = Text(en="The Message Content Intent is on.", ja="Message Content Intent は有効です。")
_CONTENT_OFF = Text(
    en="The Message Content Intent is off: mentions are answered, but the rest of a thread is not read, and no channel "
    "can be followed.",
    ja="Message Content Intent が無効です。メンションには答えますが、スレッドのほかの発言は読めず、"
    "チャンネルの同期もできません。",
)
_SWITCH = Text(
    en="To have threads read: https://discord.com/developers/applications/{id}/bot → Privileged Gateway Intents → "
    "Message Content Intent.",
    ja="スレッドも読ませるには: https://discord.com/developers/applications/{id}/bot → Privileged Gateway Intents → "
    "Message Content Intent を有効にしてください。",
)
_NO_GUILD = Text(en="{bot} is in no server yet.", ja="{bot} はまだどのサーバーにも入っていません。")
_INVITE = Text(en="Invite it: {url}", ja="次の URL から招待してください: {url}")
_GUILD = Text(en="Its members are the team: {guild}.", ja="{guild} のメンバーをチームとして扱います。")
_WHICH = Text(
    en="{bot} is in {count} servers and KOTAE_DISCORD_GUILDS is not set, so nobody counts as a member of the team and "
    "only documents for everyone are used: {guilds}.",
    ja="{bot} は {count} 個のサーバーに入っていますが、KOTAE_DISCORD_GUILDS が設定されていません。誰もチームのメンバー"
    "と見なされず、全員に公開された文書だけで答えます: {guilds}。",
)
_NAME_THEM = Text(
    en="Set KOTAE_DISCORD_GUILDS in .env to the ids of the servers whose members may read the team's documents.",
    ja="チームの文書を読めるサーバーの ID を .env の KOTAE_DISCORD_GUILDS に設定してください。",
)
_ANOTHER_TEAM = Text(
    en="{bot} is in {guild} alone, but the team were the members of the server {id}: nobody counts as a member of the "
    "team, and only documents for everyone are used.",
    ja="{bot} が入っているのは {guild} だけですが、これまでのチームはサーバー {id} のメンバーでした。誰もチームの"
    "メンバーと見なされず、全員に公開された文書だけで答えます。",
)
_IF_THEIRS = Text(
    en="If its members are the team now, set KOTAE_DISCORD_GUILDS={new} in .env; else invite the bot to the team's "
    "server again: {url}",
    ja="今はこのサーバーのメンバーがチームであれば、.env で KOTAE_DISCORD_GUILDS={new} と設定してください。"
    "そうでなければ、チームのサーバーにもう一度招待してください: {url}",
)
_NOT_THERE = Text(
    en="{bot} is not in the server {id} that KOTAE_DISCORD_GUILDS names.",
    ja="{bot} は KOTAE_DISCORD_GUILDS にあるサーバー {id} に入っていません。",
)
_NOT_THEIRS = Text(
    en="{bot} is also in {guilds}, which KOTAE_DISCORD_GUILDS does not name: people there count as outsiders. Only "
    "documents for everyone are used, and questions that cannot be answered there are only counted.",
    ja="{bot} は、KOTAE_DISCORD_GUILDS にない {guilds} にも入っています。そこの人はチーム外と見なされます。"
    "全員に公開された文書だけで答え、答えられなかった質問は件数だけを数えます。",
)
_ADD_THEM = Text(
    en="If they are the team too, add the server's id to KOTAE_DISCORD_GUILDS in .env.",
    ja="チームのサーバーであれば、その ID を .env の KOTAE_DISCORD_GUILDS に追加してください。",
)
_LACKS = Text(
    en="{bot} lacks permissions in {guild}: {names}.", ja="{guild} で {bot} に次の権限がありません: {names}。"
)
_AGAIN = Text(
    en="Open the invitation once more and choose that server; nothing else changes: {url}",
    ja="招待 URL をもう一度開き、そのサーバーを選んでください（ほかの設定は変わりません）: {url}",
)
_LACKS_HERE = Text(
    en="In {guild} {bot} lacks permissions in these channels: {channels}.",
    ja="{guild} の次のチャンネルで {bot} に権限がありません: {channels}。",
)
_PERMIT = Text(
    en="There: Edit Channel → Permissions → add {bot} and allow them. Without them questions get no answer, or one "
    "outside of a thread.",
    ja="そのチャンネルの「チャンネルの編集 → 権限」に {bot} を追加し、許可してください。権限がないと、"
    "質問に答えられないか、スレッドの外で答えることになります。",
)
_BLIND = Text(en="{bot} sees no channel in {guild}.", ja="{bot} から見えるチャンネルが {guild} にひとつもありません。")
_SHOW = Text(
    en="In each channel where people should ask: Edit Channel → Permissions → add {bot} and allow View "
    "Channel and Send Messages.",
    ja="質問を受け付けるチャンネルの「チャンネルの編集 → 権限」に {bot} を追加し、「チャンネルを見る」と"
    "「メッセージを送信」を許可してください。",
)
_NO_COMMANDS = Text(
    en="The commands (/ingest, /search, …) are not there in {guild}: the invitation had no scope "
    "applications.commands.",
    ja="{guild} ではコマンド（/ingest、/search など）を使えません。招待にスコープ applications.commands "
    "がありませんでした。",
)
_NAME_OR_ID = Text(
    en="Set the channel's name or its id. The id is a number: switch on Developer Mode (Settings → Advanced), then "
    "right-click the channel → Copy Channel ID.",
    ja="チャンネルの名前か ID を設定してください。ID は数字です。「設定 → 詳細設定 → 開発者モード」を有効にし、"
    "チャンネルを右クリックして「チャンネル ID をコピー」を選んでください。",
)
_NO_CHANNEL = Text(
    en="The channel of the digest ({channel}) does not exist, or {bot} may not see it.",
    ja="ダイジェストのチャンネル（{channel}）が存在しないか、{bot} から見えません。",
)
_LET_IN = Text(
    en="Correct KOTAE_DIGEST_CHANNEL, or give {bot} View Channel and Send Messages there (Edit Channel → Permissions).",
    ja="KOTAE_DIGEST_CHANNEL を直すか、そのチャンネルの「チャンネルの編集 → 権限」で {bot} に「チャンネルを見る」と"
    "「メッセージを送信」を許可してください。",
)
_MAY_NOT_POST = Text(
    en="{bot} may not write in the channel of the digest ({channel}).",
    ja="{bot} にはダイジェストのチャンネル（{channel}）への投稿権限がありません。",
)
_NOT_TEXT = Text(
    en="The channel of the digest ({channel}) takes no messages: it is a voice channel, a forum or a category.",
    ja="ダイジェストのチャンネル（{channel}）には投稿できません（ボイスチャンネル、フォーラム、カテゴリーのどれかです）。",
)
_ANOTHER = Text(
    en="Set KOTAE_DIGEST_CHANNEL to the id of a text channel.",
    ja="KOTAE_DIGEST_CHANNEL にテキストチャンネルの ID を設定してください。",
)
_DIGEST_WELL = Text(en="The digest can be posted in {channel}.", ja="ダイジェストは {channel} に投稿できます。")


@dataclass(frozen=True, slots=True)
class Guild:
    id: str
    name: str

    @property
    def shown(self) -> str:
        return f"{self.name} ({self.id})"


@dataclass(frozen=True, slots=True)
class DiscordBot:
    """Whose token it is, and where it has been invited. `flags`: the application's."""

    name: str
    user: str
    application: str
    flags: int
    guilds: tuple[Guild, ...]

    @property
    def invite(self) -> str:
        return invite(self.application)


def invite(application: str) -> str:
    """The address that puts the bot into a server, with what it needs there and no more."""
    wanted = sum(PERMISSIONS.values())
    return (
        f"https://discord.com/oauth2/authorize?client_id={application}"
        f"&scope=bot%20applications.commands&permissions={wanted}"
    )


# -- asking -----------------------------------------------------------------------------------------------------------


class _RefusedError(Exception):
    """`status`: of the answer; 0: it is not Discord's form."""

    def __init__(self, status: int) -> None:
        super().__init__(str(status))
        self.status = status


async def identify(token: str, api_url: str | None) -> DiscordBot:
    """Whose token this is. Raises ProbeError."""
    user = await _told(token, api_url, "/users/@me", dict)
    if user.get("bot") is False:
        raise ProbeError(fault(_A_PERSON, filled(_COPY, where=DISCORD_AT)))
    application = await _told(token, api_url, "/oauth2/applications/@me", dict)
    guilds = await _told(token, api_url, "/users/@me/guilds", list)
    return DiscordBot(
        name=str(user.get("username") or "kotae"),
        user=str(user.get("id") or ""),
        application=str(application.get("id") or user.get("id") or ""),
        flags=int(application.get("flags") or 0),
        guilds=tuple(Guild(str(guild["id"]), str(guild.get("name") or "?")) for guild in guilds),
    )


async def _told(token: str, api_url: str | None, path: str, kind: type[T]) -> T:
    import httpx

    try:
        told = await _get(token, api_url, path)
    except _RefusedError as error:
        raise _said(error.status) from None
    except httpx.HTTPError:
        raise ProbeError(fault(_DOWN, _NETWORK), token=False) from None  # its text holds the request
    if not isinstance(told, kind):
        raise _said(0)
    return told


async def _get(token: str, api_url: str | None, path: str) -> Any:
    """The answer, of JSON's types. Raises _RefusedError, httpx.HTTPError."""
    import httpx

    # The library that calls and its version, as Discord wants it. Source: discord-api-docs, reference (User Agent).
    agent = f"DiscordBot (https://www.python-httpx.org, {httpx.__version__}) Kotae"
    headers = {"Authorization": f"Bot {token}", "User-Agent": agent}
    async with httpx.AsyncClient(
        base_url=api_url or API, headers=headers, timeout=CALL_SECONDS, verify=_certificates()
    ) as client:
        response = await client.get(path.lstrip("/"))
    if response.status_code != 200:
        raise _RefusedError(response.status_code)
    try:
        return response.json()
    except ValueError:
        raise _RefusedError(0) from None


@cache
def _certificates() -> ssl.SSLContext:
    """Read once: each client would read them anew, 30 ms."""
    import httpx

    return httpx.create_ssl_context()


def _said(status: int) -> ProbeError:
    if status == 401:
        return ProbeError(fault(_NOT_ACCEPTED, filled(_COPY, where=DISCORD_AT)))
    if status == 429:
        return ProbeError(warning(_BUSY, _LATER), token=False)
    if status >= 500:
        return ProbeError(fault(_DOWN, _NETWORK), token=False)
    return ProbeError(fault(_STRANGE, _PROXY), token=False)


# -- what is said of it -----------------------------------------------------------------------------------------------


def connected(bot: DiscordBot) -> Remark:
    return fine(filled(_CONNECTED, bot=bot.name))


def intents(bot: DiscordBot) -> list[Remark]:
    if bot.flags & MESSAGE_CONTENT:
        return [fine(_CONTENT_ON)]
    return [fine(_CONTENT_OFF, filled(_SWITCH, id=bot.application))]


def team(bot: DiscordBot, chosen: Sequence[str] | None, known: str | None) -> list[Remark]:
    """Whose members are the team, as product.md §3 has it. `chosen`: KOTAE_DISCORD_GUILDS; `known`: as
    `bot.doctor.data.team` has it."""
    if not bot.guilds:
        return [warning(filled(_NO_GUILD, bot=bot.name), filled(_INVITE, url=bot.invite))]
    if chosen:
        strangers = [id for id in chosen if id not in {guild.id for guild in bot.guilds}]
        invite = filled(_INVITE, url=bot.invite)
        return [warning(filled(_NOT_THERE, bot=bot.name, id=id), invite) for id in strangers] or [
            fine(filled(_GUILD, guild=", ".join(guild.shown for guild in bot.guilds if guild.id in chosen))),
            *_others(bot, chosen),
        ]
    before = (known or "").removeprefix("discord:")
    if len(bot.guilds) == 1 and before not in ("", (here := bot.guilds[0]).id):
        what = filled(_ANOTHER_TEAM, bot=bot.name, guild=here.shown, id=before)
        return [warning(what, filled(_IF_THEIRS, new=here.id, url=bot.invite))]
    if len(bot.guilds) == 1:
        return [fine(filled(_GUILD, guild=bot.guilds[0].shown))]
    count = f"{LISTED}+" if len(bot.guilds) >= LISTED else str(len(bot.guilds))
    names = _few([guild.shown for guild in bot.guilds])
    return [warning(filled(_WHICH, bot=bot.name, count=count, guilds=names), _NAME_THEM)]


def _others(bot: DiscordBot, chosen: Sequence[str]) -> list[Remark]:
    names = _few([guild.shown for guild in bot.guilds if guild.id not in chosen])
    return [fine(filled(_NOT_THEIRS, bot=bot.name, guilds=names), _ADD_THEM)] if names else []


def _few(shown: Sequence[str]) -> str:
    return ", ".join([*shown[:SHOWN], *([f"+{len(shown) - SHOWN}"] if len(shown) > SHOWN else [])])


async def _unlisted(token: str, api_url: str | None, bot: DiscordBot, chosen: Sequence[str] | None) -> list[Guild]:
    """Chosen servers that the bot is in and Discord did not list, since there are so many."""
    listed = {guild.id for guild in bot.guilds}
    others = [id for id in chosen or () if id not in listed] if len(listed) >= LISTED else []
    told = await asyncio.gather(*(_found(token, api_url, f"/guilds/{id}") for id in others))
    return [Guild(str(one["id"]), str(one.get("name") or "?")) for one in told if isinstance(one, dict)]


async def rights(token: str, api_url: str | None, bot: DiscordBot, guild: Guild) -> list[Remark]:
    """Rights that the bot lacks in a server, and what that costs; nothing where Discord does not say."""
    here = f"/guilds/{guild.id}"
    paths = (f"{here}/members/{bot.user}", f"{here}/roles", f"{here}/channels")
    commands = f"/applications/{bot.application}{here}/commands"
    member, roles, channels, listed = await asyncio.gather(
        *(_found(token, api_url, path) for path in (*paths, commands))
    )
    again = filled(_AGAIN, url=bot.invite)
    remarks = [warning(filled(_NO_COMMANDS, guild=guild.shown), again)] if listed == 403 else []
    if isinstance(member, dict) and isinstance(roles, list) and isinstance(channels, list):
        remarks += _lacks(bot, guild, lacking(guild.id, member, roles, channels))
    return remarks


def _lacks(bot: DiscordBot, guild: Guild, lacks: Lacking) -> list[Remark]:
    remarks = []
    if lacks.everywhere:
        what = filled(_LACKS, bot=bot.name, guild=guild.shown, names=", ".join(lacks.everywhere))
        remarks.append(warning(what, filled(_AGAIN, url=bot.invite)))
    elif lacks.blind:
        remarks.append(warning(filled(_BLIND, bot=bot.name, guild=guild.shown), filled(_SHOW, bot=bot.name)))
    if lacks.channels:
        channels = _few([f"#{name} ({', '.join(missing)})" for name, missing in lacks.channels])
        what = filled(_LACKS_HERE, guild=guild.shown, bot=bot.name, channels=channels)
        remarks.append(warning(what, filled(_PERMIT, bot=bot.name)))
    return remarks


async def _found(token: str, api_url: str | None, path: str) -> Any:
    """The object, or the status of a refusal; None: Discord does not say."""
    import httpx

    try:
        return await _get(token, api_url, path)
    except _RefusedError as error:
        return error.status
    except httpx.HTTPError:
        return None


async def digest(
    token: str, api_url: str | None, bot: DiscordBot, channel: str, chosen: Sequence[str] | None = None
) -> list[Remark]:
    """Whether the digest can be posted in this channel. `chosen`: KOTAE_DISCORD_GUILDS, where a name is looked for."""
    guilds = [guild for guild in bot.guilds if not chosen or guild.id in chosen]
    import httpx

    if not (channel.isascii() and channel.isdigit()):
        try:
            channel = find(channel, await _channels(token, api_url, guilds)).id
        except UnclearError as error:
            return [fault(error.why, _NAME_OR_ID)]
    try:
        told = await _get(token, api_url, f"/channels/{channel}")
    except _RefusedError as error:
        if error.status not in (403, 404):
            return []
        return [fault(filled(_NO_CHANNEL, channel=channel, bot=bot.name), filled(_LET_IN, bot=bot.name))]
    except httpx.HTTPError:
        return []
    shown = f"#{told['name']}" if isinstance(told, dict) and told.get("name") else channel
    if isinstance(told, dict) and told.get("type", 0) not in _WRITABLE:
        return [fault(filled(_NOT_TEXT, channel=shown), _ANOTHER)]
    if isinstance(told, dict) and not await _postable(token, api_url, bot, told):
        return [fault(filled(_MAY_NOT_POST, channel=shown, bot=bot.name), filled(_LET_IN, bot=bot.name))]
    return [fine(filled(_DIGEST_WELL, channel=shown))]


async def _channels(token: str, api_url: str | None, guilds: Sequence[Guild]) -> list[Named]:
    """Those of these servers that take messages; of a server that does not answer, none."""
    listed = await asyncio.gather(*(_found(token, api_url, f"/guilds/{guild.id}/channels") for guild in guilds))
    return [
        Named(str(each["id"]), str(each.get("name") or ""), where=guild.name)
        for guild, some in zip(guilds, listed, strict=True)
        for each in (some if isinstance(some, list) else ())
        if each.get("type") in _WRITABLE
    ]


async def _postable(token: str, api_url: str | None, bot: DiscordBot, channel: dict[str, Any]) -> bool:
    """False where Discord says that it is not."""
    guild = str(channel.get("guild_id") or "")
    if not guild or channel.get("type") in _THREADS:
        return True
    paths = (f"/guilds/{guild}/members/{bot.user}", f"/guilds/{guild}/roles")
    member, roles = await asyncio.gather(*(_found(token, api_url, path) for path in paths))
    return not (isinstance(member, dict) and isinstance(roles, list)) or may_post(guild, member, roles, channel)


async def look(settings: Settings) -> list[Remark]:
    """Everything Discord says of these settings; nothing where Discord is not set up."""
    if settings.discord is None:
        return []
    token, api_url = settings.discord.token.get_secret_value(), settings.discord.api_url
    try:
        bot = await identify(token, api_url)
    except ProbeError as error:
        return [error.remark]
    chosen = settings.discord.guilds
    bot = replace(bot, guilds=(*bot.guilds, *await _unlisted(token, api_url, bot, chosen)))
    remarks = [connected(bot), *intents(bot), *team(bot, chosen, await known_team(settings))]
    ours = [guild for guild in bot.guilds if not chosen or guild.id in chosen][:GUILDS]
    for found in await asyncio.gather(*(rights(token, api_url, bot, guild) for guild in ours)):
        remarks += found
    channel = digest_channel(settings.digest_channel, "discord", alone=settings.slack is None)
    if channel is not None:
        remarks += await digest(token, api_url, bot, channel, chosen)
    return remarks


async def problems(settings: Settings) -> list[Remark]:
    """Problems with Discord, for the start, and what is less than could be; never raises for anything Discord
    does."""
    return [remark for remark in await look(settings) if remark.level != "ok" or remark.what is _CONTENT_OFF]


CHECKS = (Check(DISCORD, look, SECONDS),)
