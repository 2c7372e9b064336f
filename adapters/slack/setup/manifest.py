"""The app manifest (`manifest.json`, ready to paste): what each scope and event in it is for, and the link that makes
an app of it. Source: docs.slack.dev/reference/app-manifest, /reference/scopes,
/app-manifests/configuring-apps-with-app-manifests."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import quote

from retrieval.i18n import Text

MENTIONS = "app_mention"
MESSAGES = ("message.channels", "message.groups")


@dataclass(frozen=True, slots=True)
class Need:
    """A scope or event of the manifest. `without` it, this happens; `answers`: then people who ask go without an
    answer, or without one from the team's documents. `scope`: what an event needs; Slack adds it with the event."""

    name: str
    purpose: Text
    without: Text
    answers: bool = False
    scope: str = ""


_ONLY_EVERYONE = Text(
    en="only documents for everyone are used there",
    ja="そこでは全員に公開された文書だけで答えます",
)

SCOPES = (
    Need(
        "app_mentions:read",
        Text(en="to be told of mentions", ja="メンションを受け取る"),
        Text(
            en="mentions are noticed only where Kotae also receives all messages",
            ja="すべてのメッセージを受信できるチャンネル以外では、メンションに気づけません",
        ),
        answers=True,
    ),
    Need(
        "chat:write",
        Text(en="to answer, and to show meanwhile what is done", ja="回答を投稿し、準備中の状態を表示する"),
        Text(en="nothing can be answered", ja="何も回答できません"),
        answers=True,
    ),
    Need(
        "channels:read",
        Text(en="to see whether a public channel has outsiders in it", ja="公開チャンネルに社外の人がいるか確かめる"),
        Text(
            en="nobody knows who reads a public channel: " + _ONLY_EVERYONE.en,
            ja="公開チャンネルを誰が読むか分からず、" + _ONLY_EVERYONE.ja,
        ),
        answers=True,
    ),
    Need(
        "groups:read",
        Text(en="the same for private channels", ja="非公開チャンネルについて同じことを確かめる"),
        Text(
            en="nobody knows who reads a private channel: " + _ONLY_EVERYONE.en,
            ja="非公開チャンネルを誰が読むか分からず、" + _ONLY_EVERYONE.ja,
        ),
        answers=True,
    ),
    Need(
        "im:write",
        Text(en="to write to a person whom somebody wants asked", ja="担当者にダイレクトメッセージで質問を届ける"),
        Text(
            en="no person can be asked; such questions go to the digest's channel",
            ja="担当者に直接は聞けず、質問はダイジェストのチャンネルに届きます",
        ),
    ),
    Need(
        "users:read",
        Text(en="to tell members from guests and strangers", ja="メンバーとゲスト・社外の人を見分ける"),
        Text(
            en="nobody is known to be a member, so only documents for everyone are used",
            ja="質問者がメンバーかどうか分からず、全員に公開された文書だけで答えます",
        ),
        answers=True,
    ),
    Need(
        "im:read",
        Text(en="to see who is in a direct message", ja="ダイレクトメッセージの相手を確かめる"),
        Text(
            en="in direct messages " + _ONLY_EVERYONE.en,
            ja="ダイレクトメッセージの相手を確かめられず、" + _ONLY_EVERYONE.ja,
        ),
        answers=True,
    ),
    Need(
        "mpim:read",
        Text(en="to see who is in a group message", ja="グループメッセージの参加者を確かめる"),
        Text(
            en="in group messages " + _ONLY_EVERYONE.en,
            ja="グループメッセージの参加者を確かめられず、" + _ONLY_EVERYONE.ja,
        ),
        answers=True,
    ),
    Need(
        "im:history",
        Text(en="to receive direct messages", ja="ダイレクトメッセージを受け取る"),
        Text(en="direct messages are not answered", ja="ダイレクトメッセージに回答できません"),
        answers=True,
    ),
    Need(
        "channels:history",
        Text(
            en="to read threads in public channels, also those that are followed",
            ja="公開チャンネルのスレッドを読む（同期するチャンネルも）",
        ),
        Text(
            en="in public channels the rest of a thread is not read, and edited or deleted questions are not noticed",
            ja="公開チャンネルでは、スレッドの前後を読めず、質問の編集や削除に気づけません",
        ),
    ),
    Need(
        "groups:history",
        Text(en="to read threads in private channels", ja="非公開チャンネルのスレッドを読む"),
        Text(
            en="in private channels the rest of a thread is not read, and edited or deleted questions are not noticed",
            ja="非公開チャンネルでは、スレッドの前後を読めず、質問の編集や削除に気づけません",
        ),
    ),
    Need(
        "mpim:history",
        Text(en="to read threads in group messages", ja="グループメッセージのスレッドを読む"),
        Text(
            en="in group messages the rest of a thread is not read, and edited or deleted questions are not noticed",
            ja="グループメッセージでは、スレッドの前後を読めず、質問の編集や削除に気づけません",
        ),
    ),
    Need(
        "commands",
        Text(
            en="/ingest, /kotae and the shortcut “Add to knowledge”",
            ja="/ingest、/kotae、ショートカット「Add to knowledge」",
        ),
        Text(
            en="/ingest, /kotae and the shortcut “Add to knowledge” do not exist",
            ja="/ingest、/kotae、ショートカット「Add to knowledge」が使えません",
        ),
    ),
    Need(
        "files:read",
        Text(en="to read files that people add or ask about", ja="追加された文書や質問に添付されたファイルを読む"),
        Text(en="files cannot be read or added", ja="ファイルを読むことも追加することもできません"),
    ),
    Need(
        "reactions:read",
        Text(
            en="to count 👍 and 👎 as votes, and ✅ in channels that are followed",
            ja="👍 と 👎 のリアクションを評価として数え、同期中のチャンネルの ✅ を受け取る",
        ),
        Text(
            en="👍 and 👎 as reactions are not counted; the buttons are",
            ja="👍 と 👎 のリアクションは評価に数えられず、ボタンだけが有効です",
        ),
    ),
    Need(
        "assistant:write",
        Text(
            en="to suggest questions in direct messages, and to name these conversations",
            ja="ダイレクトメッセージで質問の例を示し、会話に名前を付ける",
        ),
        Text(
            en="no questions are suggested in direct messages, and these conversations have no names",
            ja="ダイレクトメッセージに質問の例が表示されず、会話に名前が付きません",
        ),
    ),
)

EVENTS = (
    Need(
        MENTIONS,
        Text(en="mentions in channels", ja="チャンネルでのメンション"),
        Text(
            en="mentions are noticed only where Kotae also receives all messages",
            ja="すべてのメッセージを受信できるチャンネル以外では、メンションに気づけません",
        ),
        answers=True,
        scope="app_mentions:read",
    ),
    Need(
        "message.im",
        Text(en="direct messages", ja="ダイレクトメッセージ"),
        Text(en="direct messages are not answered", ja="ダイレクトメッセージに回答できません"),
        answers=True,
        scope="im:history",
    ),
    Need(
        "message.channels",
        Text(
            en="edits, deletions and thread replies in public channels", ja="公開チャンネルでの編集・削除・スレッド返信"
        ),
        Text(
            en="edited or deleted questions and replies of experts are not noticed in public channels",
            ja="公開チャンネルでは、質問の編集・削除や担当者の返信に気づけません",
        ),
        scope="channels:history",
    ),
    Need(
        "message.groups",
        Text(en="the same in private channels", ja="非公開チャンネルでの編集・削除・スレッド返信"),
        Text(
            en="edited or deleted questions and replies of experts are not noticed in private channels",
            ja="非公開チャンネルでは、質問の編集・削除や担当者の返信に気づけません",
        ),
        scope="groups:history",
    ),
    Need(
        "message.mpim",
        Text(en="the same in group messages", ja="グループメッセージでの編集・削除・スレッド返信"),
        Text(
            en="edited or deleted questions are not noticed in group messages",
            ja="グループメッセージでは、質問の編集や削除に気づけません",
        ),
        scope="mpim:history",
    ),
    Need(
        "reaction_added",
        Text(en="👍, 👎 and ✅ as reactions", ja="👍・👎・✅ のリアクション"),
        Text(en="👍 and 👎 as reactions are not counted", ja="👍 と 👎 のリアクションは評価に数えられません"),
        scope="reactions:read",
    ),
    Need(
        "reaction_removed",
        Text(en="reactions taken back", ja="リアクションの取り消し"),
        Text(en="a reaction that is taken back still counts", ja="取り消したリアクションも評価に残ります"),
        scope="reactions:read",
    ),
    Need(
        "app_home_opened",
        Text(en="the App Home", ja="アプリのホーム画面"),
        Text(en="the App Home stays empty", ja="アプリのホーム画面が空のままです"),
    ),
)


@cache
def _kept() -> str:
    return (files(__package__) / "manifest.json").read_text(encoding="utf-8")


def text(address: str | None = None) -> str:
    """The manifest as it is pasted: JSON. `address`: where Slack posts events over HTTP; None: Socket Mode."""
    return _kept() if address is None else json.dumps(manifest(address), indent=2, ensure_ascii=False) + "\n"


def manifest(address: str | None = None) -> dict[str, Any]:
    made = dict(json.loads(_kept()))
    if address is not None:
        settings = made["settings"]
        settings["socket_mode_enabled"] = False
        for posted in (settings["event_subscriptions"], settings["interactivity"]):
            posted["request_url"] = address
        for command in made["features"]["slash_commands"]:
            command["url"] = address
    return made


def scopes() -> tuple[str, ...]:
    """The bot scopes that the manifest asks for."""
    return tuple(manifest()["oauth_config"]["scopes"]["bot"])


def events() -> tuple[str, ...]:
    """The bot events that the manifest subscribes to."""
    return tuple(manifest()["settings"]["event_subscriptions"]["bot_events"])


def missing(granted: Iterable[str]) -> list[Need]:
    """The scopes of the manifest that were not granted, those that cost answers first."""
    held = set(granted)
    return [need for need in SCOPES if need.name in scopes() and need.name not in held]


def link(address: str | None = None) -> str:
    """Opens Slack's "create an app" with everything filled in; a workspace is chosen there."""
    whole = json.dumps(manifest(address), ensure_ascii=False, separators=(",", ":"))
    return f"https://api.slack.com/apps?new_app=1&manifest_json={quote(whole, safe=':,/')}"
