"""The application commands, in English and Japanese: `/ingest`, the menu of a message, and what `/kotae …` is on Slack.

Source: product.md §5; discord.com/developers/docs/interactions/application-commands (names, choices, localization).
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar, get_args

import discord
from discord import app_commands
from discord.ext import commands

from adapters.discord import expert_answers
from adapters.discord.context import DiscordContext
from adapters.discord.digest import ANSWER
from adapters.discord.ingestion import ADD, DiscordIngestion, Wish
from adapters.discord.interactions import Gesture, Interactions, Told, spot_of
from adapters.discord.rendering.components import File, answer_menu, card_texts, given
from bot.config.settings import Strategy
from bot.errors import StoreError
from bot.types import Card, Command, Follow, StepsShown
from retrieval.text import normalise
from retrieval.types import RAGToolError

CHOICES, CHOICE = 25, 100  # of an autocompletion; characters of one
SECONDS = 1.5  # for what is proposed while somebody types
_SLACK_FORM = re.compile(r"/kotae (?=[a-z])")
_VALUES: dict[str, tuple[str, ...]] = {
    "strategy": get_args(Strategy),
    "steps": get_args(StepsShown),
    "follow": get_args(Follow),
}

_words = app_commands.locale_str
Tree = app_commands.CommandTree[Any]
Choice = app_commands.Choice[str]
T = TypeVar("T")


def register(client: commands.Bot, context: DiscordContext) -> None:
    """The commands, and what the buttons and modals of this package lead to."""
    gestures, adding = Interactions(context), DiscordIngestion(context)
    _register_ingest(client.tree, gestures, adding)
    _register_cards(client.tree, context, gestures, adding)

    @client.listen("on_interaction")
    async def pressed_or_submitted(gesture: Gesture) -> None:
        data: Any = gesture.data or {}
        app, _, rest = str(data.get("custom_id") or "").partition(":")
        what, _, about = rest.partition(":")
        if app != "kotae":
            return
        if gesture.type is discord.InteractionType.component:
            expert_answers.pressed(context, gestures, gesture, what, about)
        elif gesture.type is discord.InteractionType.modal_submit and what == ADD:
            gestures.do(gesture, partial(adding.take_submitted, gesture, about, given(data)))
        elif gesture.type is discord.InteractionType.modal_submit and what == ANSWER:
            gestures.do(gesture, partial(expert_answers.take_submitted, context, gesture, about, given(data)))


# -- adding -----------------------------------------------------------------------------------------------------------


def _register_ingest(tree: Tree, gestures: Interactions, adding: DiscordIngestion) -> None:
    @_command(
        tree,
        ("ingest", "Add files, a text or a message to the knowledge; without any, a form opens"),
        ("登録", "ファイル・テキスト・メッセージをナレッジに追加します（何も指定しなければフォームが開きます）"),
    )
    @_options(
        file=("ファイル", "A file to add", "追加するファイル"),
        file2=("ファイル2", "Another file", "追加するファイル（2つ目）"),
        file3=("ファイル3", "Another file", "追加するファイル（3つ目）"),
        file4=("ファイル4", "Another file", "追加するファイル（4つ目）"),
        file5=("ファイル5", "Another file", "追加するファイル（5つ目）"),
        text=("テキスト", "A text to add", "追加するテキスト"),
        link=("リンク", "A link to a message or thread to add", "追加するメッセージ・スレッドへのリンク"),
        title=("タイトル", "The title of the text", "テキストのタイトル"),
        collection=(
            "コレクション",
            "Where to put it; a new name makes a new one",
            "追加先（新しい名前なら新規に作成）",
        ),
        scope=("公開範囲", "Who may find it", "検索できる人"),
    )
    @app_commands.autocomplete(collection=_proposed(adding, "collection"), scope=_proposed(adding, "scope"))
    async def ingest(
        gesture: Gesture,
        file: discord.Attachment | None = None,
        file2: discord.Attachment | None = None,
        file3: discord.Attachment | None = None,
        file4: discord.Attachment | None = None,
        file5: discord.Attachment | None = None,
        text: str = "",
        link: app_commands.Range[str, 0, 500] = "",
        title: app_commands.Range[str, 0, 100] = "",
        collection: app_commands.Range[str, 0, 80] = "",
        scope: app_commands.Range[str, 0, 200] = "",
    ) -> None:
        given_files = (each for each in (file, file2, file3, file4, file5) if each is not None)
        files = [File(str(each.id), each.filename, each.url) for each in given_files]
        wish = Wish(collection.strip(), scope.strip())
        if files or text.strip() or link.strip():
            typed = (files, text.strip(), link.strip(), title.strip())
            gestures.do(gesture, partial(adding.take_typed, gesture, wish, *typed))
        else:
            gestures.ask(gesture, partial(adding.form, gesture, wish))

    @tree.context_menu(name=_words("Add to knowledge", ja="ナレッジに追加"))
    async def add_to_knowledge(gesture: Gesture, message: discord.Message) -> None:
        gestures.ask(gesture, partial(adding.form, gesture, Wish(), message))


# -- what answers with a card -----------------------------------------------------------------------------------------


def _register_cards(tree: Tree, context: DiscordContext, gestures: Interactions, adding: DiscordIngestion) -> None:
    async def values(gesture: Gesture, typed: str) -> list[Choice]:
        setting = str(getattr(gesture.namespace, "setting", ""))
        found = [(value, value) for value in _VALUES.get(setting, ())]
        if setting == "collections":
            found = await _soon(adding.choices_of(gesture, "collection"))
        return _matching([*found, ("reset", "reset")], typed)

    def show(gesture: Gesture, name: str, typed: str = "", person: str = "") -> None:
        gestures.do(gesture, partial(_card, context, gesture, name, typed, person))

    @_command(tree, ("search", "Search the documents"), ("検索", "文書を検索します"))
    @_options(words=("語句", "What to search for", "検索する語句"))
    async def search(gesture: Gesture, words: app_commands.Range[str, 1, 1_000]) -> None:
        show(gesture, "search", words)

    @_command(tree, ("documents", "The documents, the latest first"), ("文書", "文書の一覧を新しい順に表示します"))
    @_options(collection=("コレクション", "Only of this collection", "このコレクションのみ"))
    @app_commands.autocomplete(collection=_proposed(adding, "collection"))
    async def documents(gesture: Gesture, collection: app_commands.Range[str, 0, 100] = "") -> None:
        show(gesture, "documents", collection)

    @_command(
        tree,
        ("forget", "Delete a document (its author or an editor)"),
        ("削除", "文書を削除します（登録した本人か編集者）"),
    )
    @_options(document=("文書", "Its name or id", "文書の名前か ID"))
    async def forget(gesture: Gesture, document: app_commands.Range[str, 1, 300]) -> None:
        show(gesture, "forget", document)

    @_command(
        tree,
        ("owner", "Who looks after a document or collection, and is asked about it"),
        ("担当", "文書やコレクションの担当者（質問の届け先）を表示・変更します"),
    )
    @_options(
        what=("対象", "A document’s name or id, or a collection", "文書の名前か ID、またはコレクション"),
        who=("担当者", "Who looks after it from now on", "これからの担当者"),
        nobody=("担当者なし", "Nobody in particular any more", "担当者を決めない"),
    )
    async def owner(
        gesture: Gesture,
        what: app_commands.Range[str, 1, 300],
        who: discord.User | None = None,
        nobody: bool = False,
    ) -> None:
        show(gesture, "owner", what, "reset" if nobody else str(who.id) if who else "")

    @_command(
        tree,
        ("asks", "Whether questions may be brought to you"),
        ("質問", "自分に質問を届けてよいかを表示・変更します"),
    )
    @_options(allowed=("許可", "Whether they may be brought to you", "届けてよいか"))
    async def asks(gesture: Gesture, allowed: bool | None = None) -> None:
        show(gesture, "asks", "" if allowed is None else "on" if allowed else "off")

    @_command(
        tree,
        ("history", "Whether what you say in channels may be found"),
        ("履歴", "チャンネルでの自分の発言を検索対象にしてよいかを表示・変更します"),
    )
    @_options(allowed=("許可", "Whether it may be found", "検索対象にしてよいか"))
    async def history(gesture: Gesture, allowed: bool | None = None) -> None:
        show(gesture, "history", "" if allowed is None else "on" if allowed else "off")

    @_command(
        tree,
        ("answers", "What members answered; correct an answer or take it back"),
        ("回答", "メンバーの回答を表示します。回答の編集や取り消しもできます"),
    )
    @_options(
        action=("操作", "What to do with an answer", "回答に対する操作"),
        answer=("回答", "Its id, from the list", "一覧にある回答の ID"),
        text=("テキスト", "What it should say", "新しい回答"),
    )
    @app_commands.choices(action=[_choice("edit", "編集", "edit"), _choice("take back", "取り消し", "forget")])
    async def answers(
        gesture: Gesture, action: Choice | None = None, answer: app_commands.Range[str, 0, 32] = "", text: str = ""
    ) -> None:
        show(gesture, "answers", f"{action.value} {answer} {text}" if action else "")

    @_command(
        tree, ("digest", "The unanswered questions in groups"), ("ダイジェスト", "未回答の質問をまとめて表示します")
    )
    @_options(
        post=("投稿", "Post it in the digest's channel, now (editors)", "ダイジェストのチャンネルに投稿（編集者）")
    )
    async def digest(gesture: Gesture, post: bool = False) -> None:
        show(gesture, "digest", "post" if post else "")

    @_command(
        tree,
        ("sources", "Folders, repositories, websites and channels that documents follow"),
        ("同期元", "文書の同期元（フォルダー、チャンネルなど）を表示・操作します"),
    )
    @_options(
        action=("操作", "What to do (editors)", "操作（編集者のみ）"),
        source=("同期元", "The source's name", "同期元の名前"),
        gone=("なくなったページ", "What becomes of pages that are gone", "なくなったページの文書の扱い"),
    )
    @app_commands.choices(
        action=[
            _choice("follow this channel", "このチャンネルを追加", "follow"),
            _choice("sync now", "いま同期", "sync"),
            _choice("pause", "一時停止", "pause"),
            _choice("resume", "再開", "resume"),
        ],
        gone=[_choice("forget them", "削除する", "forget"), _choice("keep them", "残す", "keep")],
    )
    async def sources(
        gesture: Gesture,
        action: Choice | None = None,
        source: app_commands.Range[str, 0, 80] = "",
        gone: Choice | None = None,
    ) -> None:
        show(gesture, "sources", f"{action.value} {source} {gone.value if gone else ''}" if action else "")

    @_command(
        tree,
        ("settings", "Show or change the settings of this channel"),
        ("設定", "このチャンネルの設定を表示・変更します"),
    )
    @app_commands.default_permissions(manage_messages=True)  # it changes what everybody there sees
    @_options(
        setting=("項目", "What to change", "変更する項目"),
        value=("値", "Its new value, or reset", "新しい値（元に戻すには reset）"),
    )
    @app_commands.choices(
        setting=[
            _choice("model", "モデル", "model"),
            _choice("strategy", "戦略", "strategy"),
            _choice("steps", "途中経過の表示", "steps"),
            _choice("collections", "コレクション", "collections"),
            _choice("follow-ups", "メンションなしの続き", "follow"),
            _choice("reset all", "すべて元に戻す", "reset"),
        ]
    )
    @app_commands.autocomplete(value=values)
    async def settings(
        gesture: Gesture, setting: Choice | None = None, value: app_commands.Range[str, 0, 300] = ""
    ) -> None:
        show(gesture, "settings", f"{setting.value} {value}" if setting else "")

    @_command(tree, ("help", "What I can do"), ("ヘルプ", "使い方を表示します"))
    async def usage(gesture: Gesture) -> None:
        show(gesture, "help")

    @_command(
        tree,
        ("collections", "The collections, and what they are about"),
        ("コレクション", "コレクションの一覧を表示します"),
    )
    async def all_collections(gesture: Gesture) -> None:
        show(gesture, "collections")

    @_command(tree, ("unanswered", "Questions nobody could answer yet"), ("未回答", "未回答の質問の一覧を表示します"))
    async def unanswered(gesture: Gesture) -> None:
        show(gesture, "unanswered")


def _command(
    tree: Tree, english: tuple[str, str], japanese: tuple[str, str]
) -> Callable[[Callable[..., Coroutine[Any, Any, None]]], object]:
    """Name and description of a command in each language."""
    (name, about), (its_name, its_description) = english, japanese
    return tree.command(name=_words(name, ja=its_name), description=_words(about, ja=its_description))


def _options(**told: tuple[str, str, str]) -> Callable[[T], T]:
    """Of each option its name in Japanese, and what it is in English and in Japanese."""
    names = {name: _words(name, ja=japanese) for name, (japanese, _, _) in told.items()}
    about = {name: _words(english, ja=japanese) for name, (_, english, japanese) in told.items()}

    def decorated(callback: T) -> T:
        return app_commands.rename(**names)(app_commands.describe(**about)(callback))

    return decorated


def _choice(english: str, japanese: str, value: str) -> Choice:
    return app_commands.Choice(name=_words(english, ja=japanese), value=value)


async def _card(context: DiscordContext, gesture: Gesture, name: str, text: str, person: str = "") -> Sequence[Told]:
    """Raises StoreError."""
    place = spot_of(gesture).place
    language = context.language_of(gesture.locale)
    actor = await context.places.actor(gesture)
    audience = await context.places.audience(place.channel, str(gesture.user.id))
    card = await context.bot.commands(Command(actor, place, audience, name, text.strip(), language, person))
    *texts, last = card_texts(_as_here(card))
    menu = answer_menu(card, language)
    return [*texts, last if menu is None else (last, menu)]


def _as_here(card: Card) -> Card:
    """A card's names of commands, as they are typed in Discord."""
    lines, foot = (tuple(_SLACK_FORM.sub("/", line) for line in some) for some in (card.lines, card.foot))
    return replace(card, lines=lines, foot=foot)


def _proposed(adding: DiscordIngestion, what: str) -> Callable[[Gesture, str], Coroutine[Any, Any, list[Choice]]]:
    async def propose(gesture: Gesture, typed: str) -> list[Choice]:
        return _matching(await _soon(adding.choices_of(gesture, what)), typed)

    return propose


async def _soon(found: Awaitable[list[tuple[str, str]]]) -> list[tuple[str, str]]:
    """While somebody types, late is as good as never."""
    try:
        async with asyncio.timeout(SECONDS):
            return await found
    except (TimeoutError, StoreError, RAGToolError):
        return []


def _matching(found: Sequence[tuple[str, str]], typed: str) -> list[Choice]:
    """Those with what was typed in them. A value that would have to be cut would be another one: it is left out."""
    wanted = normalise(typed).strip()
    fitting = (one for one in found if len(one[0]) <= CHOICE and wanted in normalise(" ".join(one)))
    return [app_commands.Choice(name=shown[:CHOICE], value=value) for value, shown in fitting][:CHOICES]
