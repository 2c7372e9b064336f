"""The app manifest (`manifest.json`, ready to paste): what each scope and event in it is for, and the link that makes an
app of it. Source: docs.slack.dev/reference/app-manifest, /reference/scopes, /app-manifests/configuring-apps-with-app-manifests.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import quote

from retrieval.text import Said

MENTIONS = "app_mention"
MESSAGES = ("message.channels", "message.groups")


@dataclass(frozen=True, slots=True)
class Need:
    """A scope or event of the manifest. `without` it, this happens; `answers`: then people who ask go without an answer,
    or without one from the team's documents. `scope`: what an event needs; Slack adds it with the event."""

    name: str
    purpose: Said
    without: Said
    answers: bool = False
    scope: str = ""


_ONLY_EVERYONE = Said(
    en="only documents for everyone are used there",
    ja="そこでは全員に公開された文書だけで答えます",
)

SCOPES = (
    Need(
        "app_mentions:read",
        Said(en="to be told of mentions", ja="メンションを受け取る"),
        Said(
            en="mentions are noticed only where Kotae also receives all messages",
            ja="すべてのメッセージを受信できるチャンネル以外では、メンションに気づけません",
        ),
        answers=True,
    ),
    Need(
        "chat:write",
        Said(en="to answer, and to show meanwhile what is done", ja="回答を投稿し、準備中の状態を表示する"),
        Said(en="nothing can be answered", ja="何も回答できません"),
        answers=True,
    ),
    Need(
        "channels:read",
        Said(en="to see whether a public channel has outsiders in it", ja="公開チャンネルに社外の人がいるか確かめる"),
        Said(
            en="nobody knows who reads a public channel: " + _ONLY_EVERYONE.en,
            ja="公開チャンネルを誰が読むか分からず、" + _ONLY_EVERYONE.ja,
        ),
        answers=True,
    ),
    Need(
        "groups:read",
        Said(en="the same for private channels", ja="非公開チャンネルについて同じことを確かめる"),
        Said(
            en="nobody knows who reads a private channel: " + _ONLY_EVERYONE.en,
            ja="非公開チャンネルを誰が読むか分からず、" + _ONLY_EVERYONE.ja,
        ),
        answers=True,
    ),
    Need(
        "users:read",
        Said(en="to tell members from guests and strangers", ja="メンバーとゲスト・社外の人を見分ける"),
        Said(
            en="nobody is known to be a member, so only documents for everyone are used",
            ja="質問者がメンバーかどうか分からず、全員に公開された文書だけで答えます",
        ),
        answers=True,
    ),
    Need(
        "im:read",
        Said(en="to see who is in a direct message", ja="ダイレクトメッセージの相手を確かめる"),
        Said(
            en="in direct messages " + _ONLY_EVERYONE.en,
            ja="ダイレクトメッセージの相手を確かめられず、" + _ONLY_EVERYONE.ja,
        ),
        answers=True,
    ),
    Need(
        "mpim:read",
        Said(en="to see who is in a group message", ja="グループメッセージの参加者を確かめる"),
        Said(
            en="in group messages " + _ONLY_EVERYONE.en,
            ja="グループメッセージの参加者を確かめられず、" + _ONLY_EVERYONE.ja,
        ),
        answers=True,
    ),
    Need(
        "im:history",
        Said(en="to receive direct messages", ja="ダイレクトメッセージを受け取る"),
        Said(en="direct messages are not answered", ja="ダイレクトメッセージに回答できません"),
        answers=True,
    ),
    Need(
        "channels:history",
        Said(en="to read threads in public channels", ja="公開チャンネルのスレッドを読む"),
        Said(
            en="in public channels the rest of a thread is not read, and edited or deleted questions are not noticed",
            ja="公開チャンネルでは、スレッドの前後を読めず、質問の編集や削除に気づけません",
        ),
    ),
    Need(
        "groups:history",
        Said(en="to read threads in private channels", ja="非公開チャンネルのスレッドを読む"),
        Said(
            en="in private channels the rest of a thread is not read, and edited or deleted questions are not noticed",
            ja="非公開チャンネルでは、スレッドの前後を読めず、質問の編集や削除に気づけません",
        ),
    ),
    Need(
        "mpim:history",
        Said(en="to read threads in group messages", ja="グループメッセージのスレッドを読む"),
        Said(
            en="in group messages the rest of a thread is not read, and edited or deleted questions are not noticed",
            ja="グループメッセージでは、スレッドの前後を読めず、質問の編集や削除に気づけません",
        ),
    ),
    Need(
        "commands",
        Said(
            en="/ingest, /kotae and the shortcut “Add to knowledge”",
            ja="/ingest、/kotae、ショートカット「Add to knowledge」",
        ),
        Said(
            en="/ingest, /kotae and the shortcut “Add to knowledge” do not exist",
            ja="/ingest、/kotae、ショートカット「Add to knowledge」が使えません",
        ),
    ),
    Need(
        "files:read",
        Said(en="to read files that people add or ask about", ja="追加された文書や質問に添付されたファイルを読む"),
        Said(en="files cannot be read or added", ja="ファイルを読むことも追加することもできません"),
    ),
    Need(
        "reactions:read",
        Said(en="to count 👍 and 👎 as votes", ja="👍 と 👎 のリアクションを評価として数える"),
        Said(
            en="👍 and 👎 as reactions are not counted; the buttons are",
            ja="👍 と 👎 のリアクションは評価に数えられず、ボタンだけが有効です",
        ),
    ),
    Need(
        "assistant:write",
        Said(
            en="to suggest questions in direct messages, and to name these conversations",
            ja="ダイレクトメッセージで質問の例を示し、会話に名前を付ける",
        ),
        Said(
            en="no questions are suggested in direct messages, and these conversations have no names",
            ja="ダイレクトメッセージに質問の例が表示されず、会話に名前が付きません",
        ),
    ),
)

EVENTS = (
    Need(
        MENTIONS,
        Said(en="mentions in channels", ja="チャンネルでのメンション"),
        Said(
            en="mentions are noticed only where Kotae also receives all messages",
            ja="すべてのメッセージを受信できるチャンネル以外では、メンションに気づけません",
        ),
        answers=True,
        scope="app_mentions:read",
    ),
    Need(
        "message.im",
        Said(en="direct messages", ja="ダイレクトメッセージ"),
        Said(en="direct messages are not answered", ja="ダイレクトメッセージに回答できません"),
        answers=True,
        scope="im:history",
    ),
    Need(
        "message.channels",
        Said(
            en="edits, deletions and thread replies in public channels", ja="公開チャンネルでの編集・削除・スレッド返信"
        ),
        Said(
            en="edited or deleted questions and replies of experts are not noticed in public channels",
            ja="公開チャンネルでは、質問の編集・削除や担当者の返信に気づけません",
        ),
        scope="channels:history",
    ),
    Need(
        "message.groups",
        Said(en="the same in private channels", ja="非公開チャンネルでの編集・削除・スレッド返信"),
        Said(
            en="edited or deleted questions and replies of experts are not noticed in private channels",
            ja="非公開チャンネルでは、質問の編集・削除や担当者の返信に気づけません",
        ),
        scope="groups:history",
    ),
    Need(
        "message.mpim",
        Said(en="the same in group messages", ja="グループメッセージでの編集・削除・スレッド返信"),
        Said(
            en="edited or deleted questions are not noticed in group messages",
            ja="グループメッセージでは、質問の編集や削除に気づけません",
        ),
        scope="mpim:history",
    ),
    Need(
        "reaction_added",
        Said(en="👍 and 👎 as reactions", ja="👍 と 👎 のリアクション"),
        Said(en="👍 and 👎 as reactions are not counted", ja="👍 と 👎 のリアクションは評価に数えられません"),
        scope="reactions:read",
    ),
    Need(
        "reaction_removed",
        Said(en="reactions taken back", ja="リアクションの取り消し"),
        Said(en="a reaction that is taken back still counts", ja="取り消したリアクションも評価に残ります"),
        scope="reactions:read",
    ),
    Need(
        "app_home_opened",
        Said(en="the App Home", ja="アプリのホーム画面"),
        Said(en="the App Home stays empty", ja="アプリのホーム画面が空のままです"),
    ),
)


@cache
def text() -> str:
    """The manifest as it is pasted: JSON."""
    return (files(__package__) / "manifest.json").read_text(encoding="utf-8")


def manifest() -> dict[str, Any]:
    return dict(json.loads(text()))


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


def link() -> str:
    """Opens Slack's "create an app" with everything filled in; a workspace is chosen there."""
    whole = json.dumps(manifest(), ensure_ascii=False, separators=(",", ":"))
    return f"https://api.slack.com/apps?new_app=1&manifest_json={quote(whole, safe=':,/')}"
