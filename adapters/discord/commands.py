"""The application commands, in English and Japanese: `/ingest`, the menu of a message, and what `/kotae …` is on Slack.

Source: product.md §5; discord.com/developers/docs/interactions/application-commands (names, choices, localization).
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import discord
from discord import app_commands
from discord.ext import commands

from adapters.discord import expert_answers
from adapters.discord.context import DiscordContext
from adapters.discord.digest import ANSWER
from adapters.discord.ingestion import ADD, DiscordIngestion, Wish
from adapters.discord.interactions import Gesture, Interactions, Told, spot_of
from adapters.discord.rendering.components import File, answer_menu, card_texts, given
from bot.errors import StoreError
from bot.types import Card, Command
from retrieval.text import normalise
from retrieval.types import RAGToolError

CHOICES, CHOICE = 25, 100  # of an autocompletion; characters of one
SECONDS = 1.5  # for what is proposed while somebody types
_SLACK_FORM = re.compile(r"/kotae (?=[a-z])")
_VALUES = {
    "strategy": ("react", "synthesis"),
    "steps": ("live", "verbose", "off"),
    "follow": ("thread", "mentions", "posts"),
}

_words = app_commands.locale_str
Tree = app_commands.CommandTree[Any]
Choice = app_commands.Choice[str]


def register(client: commands.Bot, context: DiscordContext) -> None:
    """The commands, and what the buttons and modals of this package lead to."""
    gestures, adding = Interactions(context), DiscordIngestion(context)
    _register_ingest(client.tree, gestures, adding)
    _register_asking(client.tree, context, gestures, adding)
    _register_others(client.tree, context, gestures)

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
    async def collections(gesture: Gesture, typed: str) -> list[Choice]:
        return _matching(await _soon(adding.choices_of(gesture, "collection")), typed)

    async def scopes(gesture: Gesture, typed: str) -> list[Choice]:
        return _matching(await _soon(adding.choices_of(gesture, "scope")), typed)

    @tree.command(
        name=_words("ingest", ja="登録"),
        description=_words(
            "Add files, a text or a message to the knowledge; without any, a form opens",
            ja="ファイル・テキスト・メッセージをナレッジに追加します（何も指定しなければフォームが開きます）",
        ),
    )
    @app_commands.rename(
        file=_words("file", ja="ファイル"),
        file2=_words("file2", ja="ファイル2"),
        file3=_words("file3", ja="ファイル3"),
        file4=_words("file4", ja="ファイル4"),
        file5=_words("file5", ja="ファイル5"),
        text=_words("text", ja="テキスト"),
        link=_words("link", ja="リンク"),
        title=_words("title", ja="タイトル"),
        collection=_words("collection", ja="コレクション"),
        scope=_words("scope", ja="公開範囲"),
    )
    @app_commands.describe(
        file=_words("A file to add", ja="追加するファイル"),
        file2=_words("Another file", ja="追加するファイル（2つ目）"),
        file3=_words("Another file", ja="追加するファイル（3つ目）"),
        file4=_words("Another file", ja="追加するファイル（4つ目）"),
        file5=_words("Another file", ja="追加するファイル（5つ目）"),
        text=_words("A text to add", ja="追加するテキスト"),
        link=_words("A link to a message or thread to add", ja="追加するメッセージ・スレッドへのリンク"),
        title=_words("The title of the text", ja="テキストのタイトル"),
        collection=_words("Where to put it; a new name makes a new one", ja="追加先（新しい名前なら新規に作成）"),
        scope=_words("Who may find it", ja="検索できる人"),
    )
    @app_commands.autocomplete(collection=collections, scope=scopes)
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


def _register_asking(tree: Tree, context: DiscordContext, gestures: Interactions, adding: DiscordIngestion) -> None:
    """Those with something to type."""

    async def collections(gesture: Gesture, typed: str) -> list[Choice]:
        return _matching(await _soon(adding.choices_of(gesture, "collection")), typed)

    async def values(gesture: Gesture, typed: str) -> list[Choice]:
        setting = str(getattr(gesture.namespace, "setting", ""))
        found = [(value, value) for value in _VALUES.get(setting, ())]
        if setting == "collections":
            found = await _soon(adding.choices_of(gesture, "collection"))
        return _matching([*found, ("reset", "reset")], typed)

    @tree.command(name=_words("search", ja="検索"), description=_words("Search the documents", ja="文書を検索します"))
    @app_commands.rename(words=_words("words", ja="語句"))
    @app_commands.describe(words=_words("What to search for", ja="検索する語句"))
    async def search(gesture: Gesture, words: app_commands.Range[str, 1, 1_000]) -> None:
        gestures.do(gesture, partial(_card, context, gesture, "search", words))

    @tree.command(
        name=_words("documents", ja="文書"),
        description=_words("The documents, the latest first", ja="文書の一覧を新しい順に表示します"),
    )
    @app_commands.rename(collection=_words("collection", ja="コレクション"))
    @app_commands.describe(collection=_words("Only of this collection", ja="このコレクションのみ"))
    @app_commands.autocomplete(collection=collections)
    async def documents(gesture: Gesture, collection: app_commands.Range[str, 0, 100] = "") -> None:
        gestures.do(gesture, partial(_card, context, gesture, "documents", collection))

    @tree.command(
        name=_words("forget", ja="削除"),
        description=_words(
            "Delete a document (its author or an editor)", ja="文書を削除します（登録した本人か編集者）"
        ),
    )
    @app_commands.rename(document=_words("document", ja="文書"))
    @app_commands.describe(document=_words("Its name or id", ja="文書の名前か ID"))
    async def forget(gesture: Gesture, document: app_commands.Range[str, 1, 300]) -> None:
        gestures.do(gesture, partial(_card, context, gesture, "forget", document))

    @tree.command(
        name=_words("owner", ja="担当"),
        description=_words(
            "Who looks after a document or collection, and is asked about it",
            ja="文書やコレクションの担当者（質問の届け先）を表示・変更します",
        ),
    )
    @app_commands.rename(
        what=_words("what", ja="対象"), who=_words("who", ja="担当者"), nobody=_words("nobody", ja="担当者なし")
    )
    @app_commands.describe(
        what=_words("A document’s name or id, or a collection", ja="文書の名前か ID、またはコレクション"),
        who=_words("Who looks after it from now on", ja="これからの担当者"),
        nobody=_words("Nobody in particular any more", ja="担当者を決めない"),
    )
    async def owner(
        gesture: Gesture,
        what: app_commands.Range[str, 1, 300],
        who: discord.User | None = None,
        nobody: bool = False,
    ) -> None:
        person = "reset" if nobody else str(who.id) if who else ""
        gestures.do(gesture, partial(_card, context, gesture, "owner", what, person))

    @tree.command(
        name=_words("asks", ja="質問"),
        description=_words("Whether questions may be brought to you", ja="自分に質問を届けてよいかを表示・変更します"),
    )
    @app_commands.rename(allowed=_words("allowed", ja="許可"))
    @app_commands.describe(allowed=_words("May they?", ja="届けてよいか"))
    async def asks(gesture: Gesture, allowed: bool | None = None) -> None:
        typed = "" if allowed is None else "on" if allowed else "off"
        gestures.do(gesture, partial(_card, context, gesture, "asks", typed))

    @tree.command(
        name=_words("history", ja="履歴"),
        description=_words(
            "Whether what you say in channels may be found",
            ja="チャンネルでの自分の発言を検索対象にしてよいかを表示・変更します",
        ),
    )
    @app_commands.rename(allowed=_words("allowed", ja="許可"))
    @app_commands.describe(allowed=_words("May it?", ja="検索対象にしてよいか"))
    async def history(gesture: Gesture, allowed: bool | None = None) -> None:
        typed = "" if allowed is None else "on" if allowed else "off"
        gestures.do(gesture, partial(_card, context, gesture, "history", typed))

    @tree.command(
        name=_words("answers", ja="回答"),
        description=_words(
            "What members answered; correct an answer or take it back",
            ja="メンバーの回答を表示します。回答の編集や取り消しもできます",
        ),
    )
    @app_commands.rename(
        action=_words("action", ja="操作"), answer=_words("answer", ja="回答"), text=_words("text", ja="テキスト")
    )
    @app_commands.describe(
        action=_words("What to do with an answer", ja="回答に対する操作"),
        answer=_words("Its id, from the list", ja="一覧にある回答の ID"),
        text=_words("What it should say", ja="新しい回答"),
    )
    @app_commands.choices(
        action=[
            app_commands.Choice(name=_words("edit", ja="編集"), value="edit"),
            app_commands.Choice(name=_words("take back", ja="取り消し"), value="forget"),
        ]
    )
    async def answers(
        gesture: Gesture,
        action: app_commands.Choice[str] | None = None,
        answer: app_commands.Range[str, 0, 32] = "",
        text: str = "",
    ) -> None:
        typed = f"{action.value} {answer} {text}" if action else ""
        gestures.do(gesture, partial(_card, context, gesture, "answers", typed))

    @tree.command(
        name=_words("digest", ja="ダイジェスト"),
        description=_words("The unanswered questions in groups", ja="未回答の質問をまとめて表示します"),
    )
    @app_commands.rename(post=_words("post", ja="投稿"))
    @app_commands.describe(
        post=_words("Post it in the digest's channel, now (editors)", ja="ダイジェストのチャンネルに投稿（編集者）")
    )
    async def digest(gesture: Gesture, post: bool = False) -> None:
        gestures.do(gesture, partial(_card, context, gesture, "digest", "post" if post else ""))

    @tree.command(
        name=_words("sources", ja="同期元"),
        description=_words(
            "Folders, repositories and sites that documents follow", ja="文書の同期元（フォルダーなど）を表示します"
        ),
    )
    @app_commands.rename(
        action=_words("action", ja="操作"),
        source=_words("source", ja="同期元"),
        gone=_words("gone", ja="消えたページ"),
    )
    @app_commands.describe(
        action=_words("What to do (editors)", ja="操作（編集者のみ）"),
        source=_words("The source's name", ja="同期元の名前"),
        gone=_words("What becomes of pages that are gone", ja="なくなったページの文書の扱い"),
    )
    @app_commands.choices(
        action=[
            app_commands.Choice(name=_words("follow this channel", ja="このチャンネルを追加"), value="follow"),
            app_commands.Choice(name=_words("sync now", ja="いま同期"), value="sync"),
            app_commands.Choice(name=_words("pause", ja="一時停止"), value="pause"),
            app_commands.Choice(name=_words("resume", ja="再開"), value="resume"),
        ],
        gone=[
            app_commands.Choice(name=_words("forget them", ja="削除する"), value="forget"),
            app_commands.Choice(name=_words("keep them", ja="残す"), value="keep"),
        ],
    )
    async def sources(
        gesture: Gesture,
        action: app_commands.Choice[str] | None = None,
        source: app_commands.Range[str, 0, 80] = "",
        gone: app_commands.Choice[str] | None = None,
    ) -> None:
        typed = f"{action.value} {source} {gone.value if gone else ''}" if action else ""
        gestures.do(gesture, partial(_card, context, gesture, "sources", typed))

    @tree.command(
        name=_words("settings", ja="設定"),
        description=_words(
            "What holds in this channel, and how to change it", ja="このチャンネルの設定を表示・変更します"
        ),
    )
    @app_commands.default_permissions(manage_messages=True)  # it changes what everybody there sees
    @app_commands.rename(setting=_words("setting", ja="項目"), value=_words("value", ja="値"))
    @app_commands.describe(
        setting=_words("What to change", ja="変更する項目"),
        value=_words("Its new value, or reset", ja="新しい値（元に戻すには reset）"),
    )
    @app_commands.choices(
        setting=[
            app_commands.Choice(name=_words("model", ja="モデル"), value="model"),
            app_commands.Choice(name=_words("strategy", ja="戦略"), value="strategy"),
            app_commands.Choice(name=_words("steps", ja="途中経過の表示"), value="steps"),
            app_commands.Choice(name=_words("collections", ja="コレクション"), value="collections"),
            app_commands.Choice(name=_words("follow-ups", ja="メンションなしの続き"), value="follow"),
            app_commands.Choice(name=_words("reset all", ja="すべて元に戻す"), value="reset"),
        ]
    )
    @app_commands.autocomplete(value=values)
    async def settings(
        gesture: Gesture,
        setting: app_commands.Choice[str] | None = None,
        value: app_commands.Range[str, 0, 300] = "",
    ) -> None:
        typed = f"{setting.value} {value}" if setting else ""
        gestures.do(gesture, partial(_card, context, gesture, "settings", typed))


def _register_others(tree: Tree, context: DiscordContext, gestures: Interactions) -> None:
    """Those with nothing to type."""
    for name, japanese, description in (
        ("help", "ヘルプ", _words("What I can do", ja="使い方を表示します")),
        ("collections", "コレクション", _words("What the documents are about", ja="コレクションの一覧を表示します")),
        ("unanswered", "未回答", _words("Questions nobody could answer yet", ja="未回答の質問の一覧を表示します")),
    ):
        show = _showing(name, context, gestures)
        tree.add_command(app_commands.Command(name=_words(name, ja=japanese), description=description, callback=show))


def _showing(
    name: str, context: DiscordContext, gestures: Interactions
) -> Callable[[Gesture], Coroutine[Any, Any, None]]:
    async def show(gesture: Gesture) -> None:
        gestures.do(gesture, partial(_card, context, gesture, name, ""))

    return show


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
