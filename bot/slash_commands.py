"""`/kotae …` on a platform: each answer is a card of plain text, made from what everyone who sees the place may read.

Source: product.md §1 (settings), §3 (who may read what) and §5; reliability.md R11 and R19.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Literal, cast, get_args

from agent.segmentation import in_one_line
from bot.access import person, readers, role
from bot.channel_settings import Channels
from bot.config.settings import Settings
from bot.database import Database
from bot.errors import SettingsError
from bot.knowledge.documents import KnowledgeBase
from bot.records import SHORT_ID, DocumentRow, ExpertAnswer
from bot.sources.card import source_row, synced
from bot.sources.sources import Sources
from bot.store.audit import Audit
from bot.texts import HIDDEN, NONE_OPEN, REASONS
from bot.types import Card, CardRow, Command, Follow, Link, Place, Preferences, StepsShown
from bot.unanswered.asking import Asking
from bot.unanswered.corrections import ExpertAnswers
from bot.unanswered.digest import Digest
from bot.unanswered.digest_card import card as digest_card
from bot.unanswered.digest_card import offers, safe_link, shortened
from retrieval.i18n import Language, Text, date_words
from retrieval.text import normalise
from retrieval.types import EVERYONE, TEAM, CollectionInfo, Hit, RAGToolError, Readers

log = logging.getLogger(__name__)

ROWS = 10
TEXT = 160  # characters of a line that shows people's text
QUERY = 1_000

Name = Literal[
    "help",
    "search",
    "collections",
    "documents",
    "forget",
    "owner",
    "unanswered",
    "answers",
    "asks",
    "history",
    "digest",
    "sources",
    "settings",
]
MakeDigest = Callable[[Readers], Awaitable[Digest]]
PostDigest = Callable[[Place], Awaitable[bool]]
"""Post the digest now, in its channel or else at this place; False: that was done within a minute. Raises LookupError,
ConnectionError, TimeoutError, SettingsError, StoreError when it could not be posted."""

_POST = ("post", "投稿")
_SOURCE_ACTIONS = {word: word for word in ("sync", "pause", "resume", "follow")} | {
    **{"同期": "sync", "停止": "pause", "再開": "resume", "追加": "follow"},
}
_GONE_WORDS: dict[str, Literal["forget", "keep"]] = {
    **{"forget": "forget", "削除": "forget"},
    **{"keep": "keep", "残す": "keep"},
}

_ALIASES: dict[str, Name] = {
    "ヘルプ": "help",
    "使い方": "help",
    "": "help",
    "検索": "search",
    "コレクション": "collections",
    "文書": "documents",
    "ドキュメント": "documents",
    "削除": "forget",
    "担当": "owner",
    "未回答": "unanswered",
    "回答": "answers",
    "質問": "asks",
    "履歴": "history",
    "ダイジェスト": "digest",
    "同期": "sources",
    "source": "sources",
    "設定": "settings",
}
_NAMES: dict[str, Name] = {normalise(alias): name for alias, name in _ALIASES.items()} | {
    name: name for name in get_args(Name)
}
_HELP: dict[str, Text] = {
    "search": Text(en="/kotae search <words>: search the documents", ja="/kotae search <語句>：文書を検索します"),
    "collections": Text(
        en="/kotae collections: the collections, and what they are about", ja="/kotae collections：コレクションの一覧"
    ),
    "documents": Text(
        en="/kotae documents [collection]: the documents, the latest first",
        ja="/kotae documents [コレクション]：文書の一覧（新しい順）",
    ),
    "forget": Text(
        en="/kotae forget <name or id>: delete a document (its author or an editor)",
        ja="/kotae forget <名前か ID>：文書を削除します（登録した本人か編集者）",
    ),
    "owner": Text(
        en="/kotae owner <document or collection> [@somebody or reset]: who looks after it, and is asked about it",
        ja="/kotae owner <文書かコレクション> [@担当者か reset]：担当者（質問の届け先）の表示と変更",
    ),
    "unanswered": Text(
        en="/kotae unanswered: questions nobody could answer yet", ja="/kotae unanswered：未回答の質問の一覧"
    ),
    "answers": Text(
        en="/kotae answers [edit <id> <answer> | forget <id>]: what members answered; correct it or take it back",
        ja="/kotae answers [edit <ID> <回答> | forget <ID>]：メンバーの回答の一覧・編集・取り消し",
    ),
    "asks": Text(
        en="/kotae asks [on|off]: whether questions may be brought to you",
        ja="/kotae asks [on|off]：自分に質問を届けてよいかどうか",
    ),
    "digest": Text(
        en="/kotae digest [post]: the unanswered questions in groups; post: in the digest's channel, now (editors)",
        ja="/kotae digest [post]：未回答の質問のまとめ。post でダイジェストのチャンネルに今すぐ投稿します（編集者）",
    ),
    "sources": Text(
        en="/kotae sources [follow | sync|pause|resume <name> [forget|keep]]: the sources that documents "
        "follow; follow adds this channel",
        ja="/kotae sources [follow | sync|pause|resume <名前> [forget|keep]]：文書の同期元の一覧と操作。"
        "follow でこのチャンネルの会話を追加します",
    ),
    "history": Text(
        en="/kotae history [on|off]: whether what you say in followed channels may be found",
        ja="/kotae history [on|off]：チャンネルでの自分の発言を検索対象にしてよいかどうか",
    ),
    "settings": Text(
        en="/kotae settings [model|strategy|steps|collections|follow <value or reset>]: the settings of this channel",
        ja="/kotae settings [model|strategy|steps|collections|follow <値か reset>]：このチャンネルの設定",
    ),
}
_TITLES: dict[Name, Text] = {
    "help": Text(en="What I can do", ja="使い方"),
    "search": Text(en="Search", ja="検索"),
    "collections": Text(en="Collections", ja="コレクション"),
    "documents": Text(en="Documents", ja="文書"),
    "forget": Text(en="Delete a document", ja="文書の削除"),
    "owner": Text(en="Who looks after it", ja="担当者"),
    "asks": Text(en="Questions for you", ja="あなたへの質問"),
    "unanswered": Text(en="Unanswered questions", ja="未回答の質問"),
    "answers": Text(en="Answers by members", ja="メンバーの回答"),
    "digest": Text(en="Digest", ja="ダイジェスト"),
    "sources": Text(en="Sources", ja="同期元"),
    "history": Text(en="What you say in channels", ja="チャンネルでの発言"),
    "settings": Text(en="Settings of this channel", ja="このチャンネルの設定"),
}
_ASK = Text(
    en="Mention me with a question and I will answer with the sources. Add documents with /ingest.",
    ja="メンションして質問すると、出典を添えてお答えします。文書の追加は /ingest です。",
)
_UNKNOWN = Text(en="There is no command “{name}”.", ja="「{name}」というコマンドはありません。")
_MEMBERS = Text(en="Only members of the team can use this.", ja="チームのメンバーだけが使えます。")
_EDITORS = Text(en="Only editors can post the digest.", ja="ダイジェストを投稿できるのは編集者だけです。")
_POSTED = Text(en="The digest is posted.", ja="ダイジェストを投稿しました。")
_JUST_POSTED = Text(
    en="A digest was posted less than a minute ago.", ja="ダイジェストは 1 分以内に投稿されたばかりです。"
)
_NOT_POSTED = Text(
    en="The digest could not be posted. Is the bot in the channel (KOTAE_DIGEST_CHANNEL)? `kotae doctor` tells more.",
    ja="ダイジェストを投稿できませんでした。ボットが KOTAE_DIGEST_CHANNEL のチャンネルに参加しているか、"
    "`kotae doctor` で確認してください。",
)
_NOT_RUNNING = Text(
    en="A digest is posted while `kotae run` serves the channels.",
    ja="ダイジェストは `kotae run` の実行中に投稿できます。",
)
_MORE = Text(en="and {n} more", ja="ほか {n} 件")
_WORDS = Text(
    en="Say what to search for: /kotae search <words>", ja="検索する語句を入力してください: /kotae search <語句>"
)
_NOTHING = Text(en="Nothing relevant was found.", ja="関連する情報は見つかりませんでした。")
_PART = Text(
    en="Part of the search did not work, so there may be more.",
    ja="検索の一部が失敗したため、ほかにもあるかもしれません。",
)
_RELEVANCE = Text(en="{collection}, relevance {relevance:.2f}", ja="{collection}、関連度 {relevance:.2f}")
_OPEN = Text(en="open", ja="開く")
_THREAD = Text(en="thread", ja="スレッド")
_NO_SOURCES = Text(
    en="Nothing is followed yet. An editor can add folders with `kotae source add`, and repositories, "
    "websites and channels on the page Sources.",
    ja="同期元はまだありません。編集者は、フォルダーを `kotae source add` で、リポジトリ・ウェブサイト・"
    "チャンネルを「同期元」ページで追加できます。",
)
_NO_COLLECTIONS = Text(en="There are no collections yet.", ja="コレクションはまだありません。")
_NO_DOCUMENTS = Text(en="There are no documents here yet.", ja="ここで読める文書はまだありません。")
_COLLECTION = Text(
    en="{documents} document{documents:|s}, {chunks} chunk{chunks:|s}", ja="文書 {documents} 件、チャンク {chunks} 件"
)
_DOCUMENT = Text(
    en="{collection}, {chunks} chunk{chunks:|s}, for {scope}, added {day},{date} id {id}",
    ja="{collection}、チャンク {chunks} 件、公開範囲: {scope}、登録 {day}、{date}ID {id}",
)
_DATED = Text(en=" dated {date},", ja="文書の日付 {date}、")
_SCOPES = {EVERYONE: Text(en="everyone", ja="全員（社外を含む）"), TEAM: Text(en="the team", ja="チーム")}
_HERE = Text(en="this place only", ja="この場所のみ")
_WHICH = Text(
    en="Say which document: /kotae forget <name or id>", ja="文書を指定してください: /kotae forget <名前か ID>"
)
_NO_SUCH = Text(en="There is no document “{name}” here.", ja="「{name}」という文書はここにはありません。")
_SEVERAL = Text(
    en="{n} documents have this name. Say which one by its id.",
    ja="同じ名前の文書が {n} 件あります。ID で指定してください。",
)
_NOT_YOURS = Text(
    en="“{name}” can be deleted by whoever added it, or by an editor.",
    ja="「{name}」を削除できるのは、登録した本人か編集者だけです。",
)
_FORGOTTEN = Text(
    en="“{name}” is deleted and will not be found any more.", ja="「{name}」を削除しました。今後は検索されません。"
)
_GONE = Text(en="“{name}” had been deleted already.", ja="「{name}」はすでに削除されています。")
_WHOSE = Text(
    en="Say whose: /kotae owner <document or collection> [@somebody or reset]",
    ja="対象を指定してください: /kotae owner <文書かコレクション> [@担当者か reset]",
)
_OWNER = Text(en="{who} looks after “{name}”.", ja="「{name}」の担当者は {who} です。")
_NO_OWNER = Text(
    en="Nobody in particular looks after “{name}”; whoever added a document is asked about it.",
    ja="「{name}」の担当者は決まっていません。文書を登録した人に質問が届きます。",
)
_NOT_YOURS_TO_GIVE = Text(
    en="Who looks after “{name}” can be changed by whoever added it, or by an editor.",
    ja="「{name}」の担当者を変更できるのは、登録した本人か編集者だけです。",
)
_NOT_ASKABLE = Text(
    en="I cannot bring questions to “{who}”, who is not an active member of the team. Mention the person, "
    "or give slack:<id> or discord:<id>.",
    ja="「{who}」は、質問を届けられるメンバーではありません。メンションするか、slack:<ID> または discord:<ID> "
    "で指定してください。",
)
_ASKS_ON = Text(en="Questions may be brought to you.", ja="質問が届く設定になっています。")
_ASKS_OFF = Text(en="No questions are brought to you.", ja="質問は届かない設定になっています。")
_HEARD = Text(
    en="What you say in channels that are followed may be found. `/kotae history off` ends that.",
    ja="同期中のチャンネルでの発言は検索対象になります。`/kotae history off` で除外できます。",
)
_NOT_HEARD = Text(en="Nothing that you say in channels is found.", ja="チャンネルでの発言は検索対象になりません。")
_FOLLOWED = Text(
    en="“{name}” is followed now. Each of its threads can be found once it has been read.",
    ja="「{name}」を追加しました。スレッドを順に読み込み、検索できるようにします。",
)
_ON, _OFF = frozenset({"on", "オン"}), frozenset({"off", "オフ"})
_OPEN_ONES = Text(en="{n} question{n: is|s are} open.", ja="未回答の質問は {n} 件です。")
_EDITS = frozenset({"edit", "編集", "修正"})
_TAKES_BACK = frozenset({"forget", "取り消し", "取消", "削除"})
_NO_ANSWERS = Text(en="Nobody has answered a question here yet.", ja="ここで読めるメンバーの回答はまだありません。")
_ANSWER = Text(en="{day}, id {id}", ja="{day}、ID {id}")
_EDITED = Text(en="{day}, edited {edited}, id {id}", ja="{day}、編集 {edited}、ID {id}")
_HOW_ANSWERS = Text(
    en="Say what to do: /kotae answers edit <id> <answer>, or /kotae answers forget <id>",
    ja="操作を指定してください: /kotae answers edit <ID> <回答>、または /kotae answers forget <ID>",
)
_CORRECTED = Text(
    en="The answer is corrected. Threads that are told: {n}.",
    ja="回答を修正しました。{n} 件のスレッドにお知らせします。",
)
_TAKEN_BACK = Text(
    en="The answer is taken back. Questions that are open again: {n}.",
    ja="回答を取り消しました。{n} 件の質問が未回答に戻りました。",
)
_KEYS = {
    "model": "model",
    "モデル": "model",
    "strategy": "strategy",
    "戦略": "strategy",
    "steps": "steps",
    "ステップ": "steps",
    "途中経過": "steps",
    "collections": "collections",
    "collection": "collections",
    "コレクション": "collections",
    "follow": "follow",
    "フォロー": "follow",
}
_RESET = frozenset({"reset", "default", "リセット", "既定", "初期化", "元に戻す", "解除"})
_LABELS = {
    "model": Text(en="model", ja="モデル（model）"),
    "strategy": Text(en="strategy", ja="戦略（strategy）"),
    "steps": Text(en="steps", ja="途中経過の表示（steps）"),
    "collections": Text(en="collections", ja="コレクション（collections）"),
    "follow": Text(en="follow", ja="メンションなしの続き（follow）"),
}
_CHOSEN = Text(en="{label}: {value} (chosen here)", ja="{label}: {value}（このチャンネルで指定）")
_GENERAL = Text(en="{label}: {value}", ja="{label}: {value}")
_ALL = Text(en="all", ja="すべて")
_HOW = Text(
    en="Change with /kotae settings <name> <value>, or reset; strategy is react or synthesis, steps is "
    "live, verbose or off, follow is thread (in its own threads the bot needs no mention), mentions "
    "(it always needs one), or posts (in a forum on Discord each new post is a question, too).",
    ja="変更: /kotae settings <名前> <値>（元に戻すには reset）。strategy は react か synthesis、"
    "steps は live・verbose・off、follow は thread（ボットのスレッドではメンション不要）、"
    "mentions（つねにメンションが必要）、posts（Discord のフォーラムで、"
    "新しい投稿をすべて質問として扱う）のいずれかです。",
)
_SAVED = Text(en="Saved.", ja="保存しました。")
_NO_KEY = Text(
    en="There is no setting “{key}”. There are: model, strategy, steps, collections, follow.",
    ja="「{key}」という設定はありません。model、strategy、steps、collections、follow があります。",
)
_NO_VALUE = Text(
    en="Say the value: /kotae settings {key} <value or reset>",
    ja="値を入力してください: /kotae settings {key} <値か reset>",
)


@dataclass
class SlashCommands:
    """Does what a command asks for. Raises StoreError; all else that goes wrong is said on the card."""

    settings: Settings
    data: Database
    knowledge: KnowledgeBase
    channels: Channels
    answers: ExpertAnswers
    asking: Asking
    sources: Sources
    audit: Audit
    make_digest: MakeDigest
    post_digest: PostDigest | None = field(init=False, default=None)  # what runs beside the platforms sets it

    async def __call__(self, command: Command) -> Card:
        name = _NAMES.get(normalise(command.name).strip())
        if name is None:
            return _help(command.language, _UNKNOWN.to(command.language, name=shortened(command.name, TEXT)))
        if name == "help":
            return _help(command.language)
        if role(command.actor, self.settings) == "outsider":
            return _said(name, _MEMBERS, command.language)
        allowed = readers(command.place, command.audience)
        try:
            match name:
                case "search":
                    return await self._search(command, allowed)
                case "collections":
                    return await self._collections(command, allowed)
                case "documents":
                    return await self._documents(command, allowed)
                case "forget":
                    return await self._forget(command, allowed)
                case "owner":
                    return await self._owner(command, allowed)
                case "asks":
                    return await self._asks(command)
                case "history":
                    return await self._history(command)
                case "unanswered":
                    return await self._unanswered(command, allowed)
                case "answers":
                    return await self._expert_answers(command, allowed)
                case "digest":
                    return await self._digest(command, allowed)
                case "sources":
                    return await self._follow(command, allowed)
                case "settings":
                    return await self._change(command, allowed)
        except (RAGToolError, SettingsError) as refusal:
            lines = refusal.text(command.language).splitlines()
            return Card(_TITLES[name].to(command.language), tuple(shortened(line, 4 * TEXT) for line in lines))

    # -- knowledge --------------------------------------------------------------------------------------------------

    async def _search(self, command: Command, allowed: Readers) -> Card:
        language, query = command.language, shortened(command.text, QUERY)
        if not query:
            return _said("search", _WORDS, language)
        found = await self.knowledge.search(query, allowed, limit=ROWS)
        lines = [shortened(query, TEXT)]
        if not found.hits:
            lines.append(_NOTHING.to(language))
        if found.failed:
            lines.append(_PART.to(language))
        rows = tuple(_hit(number, hit, language) for number, hit in enumerate(found.hits[:ROWS], 1))
        return Card(_TITLES["search"].to(language), tuple(lines), rows)

    async def _collections(self, command: Command, allowed: Readers) -> Card:
        infos = await self.knowledge.collections(allowed)
        rows = [_collection(info, command.language) for info in infos]
        return _listed("collections", rows, command.language, none=_NO_COLLECTIONS)

    async def _documents(self, command: Command, allowed: Readers) -> Card:
        chosen = command.text.strip() or None
        await self.knowledge.check((chosen,) if chosen else None, allowed, command.language)
        found = await self.knowledge.documents(allowed, chosen)
        found.sort(key=lambda row: row.updated_at, reverse=True)
        rows = [self._document(row, command.language) for row in found]
        return _listed("documents", rows, command.language, none=_NO_DOCUMENTS)

    async def _forget(self, command: Command, allowed: Readers) -> Card:
        language, wanted = command.language, command.text.strip()
        if not wanted:
            return _said("forget", _WHICH, language)
        row = await self._one("forget", wanted, allowed, language)
        if isinstance(row, Card):
            return row
        who = command.actor
        if role(who, self.settings) != "editor" and (not row.author or row.author != who.id):
            said, result = _NOT_YOURS, "refused"
        elif await self.knowledge.forget(row.id):
            said, result = _FORGOTTEN, "forgotten"
        else:
            said, result = _GONE, "gone"
        subject = f"{row.collection}/{row.name} ({row.scope}) sha256:{row.hash}"
        await self.audit.note(who.full_id, "forget", subject, result)
        return _said("forget", said, language, name=shortened(row.name, TEXT))

    async def _one(self, about: Name, wanted: str, allowed: Readers, language: Language) -> DocumentRow | Card:
        """The document of a name or an id; else why there is not exactly one."""
        matching = await self.knowledge.named(wanted, allowed)
        if not matching:
            return _said(about, _NO_SUCH, language, name=shortened(wanted, TEXT))
        if len(matching) > 1:
            rows = [self._document(row, language) for row in matching]
            return _listed(about, rows, language, first=_SEVERAL.to(language, n=len(matching)))
        return matching[0]

    def _document(self, row: DocumentRow, language: Language) -> CardRow:
        link = safe_link(row.url)
        about = _DOCUMENT.to(
            language,
            collection=shortened(row.collection, TEXT),
            chunks=row.chunks,
            scope=_SCOPES.get(row.scope, _HERE).to(language),
            day=self._day(row.updated_at),
            date=_DATED.to(language, date=date_words(row.changed_at, language)) if row.changed_at else "",
            id=row.id[:SHORT_ID],
        )
        return CardRow(shortened(row.name, TEXT), (about,), (Link(_OPEN.to(language), link),) if link else ())

    def _day(self, at: datetime | None) -> str:
        """The day of the team's calendar; nothing: empty."""
        return at.astimezone(self.settings.timezone).date().isoformat() if at else ""

    async def _owner(self, command: Command, allowed: Readers) -> Card:
        language, wanted, chosen = command.language, command.text.strip(), command.person
        if not chosen:
            rest, last = _but_the_last(wanted)
            if rest and (normalise(last) in _RESET or last.startswith("@") or person(last)):
                wanted, chosen = rest, last
        if not wanted:
            return _said("owner", _WHOSE, language)
        infos = {info.name: info for info in await self.knowledge.collections(allowed)}
        thing: CollectionInfo | DocumentRow | Card | None = infos.get(wanted)
        thing = thing or await self._one("owner", wanted, allowed, language)
        if isinstance(thing, Card):
            return thing
        name = shortened(thing.name, TEXT)
        if not chosen:
            said = _OWNER if thing.owner else _NO_OWNER
            who = await self.asking.name(thing.owner) if thing.owner else ""
            return _said("owner", said, language, name=name, who=shortened(who, TEXT))
        actor = command.actor
        own = isinstance(thing, DocumentRow) and bool(thing.author) and thing.author == actor.id
        if role(actor, self.settings) != "editor" and not own:
            return _said("owner", _NOT_YOURS_TO_GIVE, language, name=name)
        owner = None if normalise(chosen) in _RESET else person(chosen)
        if (owner is None and normalise(chosen) not in _RESET) or (owner and not await self.asking.reaches(owner)):
            return _said("owner", _NOT_ASKABLE, language, who=shortened(chosen, TEXT))
        await self.knowledge.own(thing, owner)
        await self.audit.note(actor.full_id, "owner", thing.name, owner or "nobody")
        if owner is None:
            return _said("owner", _NO_OWNER, language, name=name)
        return _said("owner", _OWNER, language, name=name, who=shortened(await self.asking.name(owner), TEXT))

    # -- misses -----------------------------------------------------------------------------------------------------

    async def _unanswered(self, command: Command, allowed: Readers) -> Card:
        language = command.language
        found = await self.data.questions.open(allowed.scopes, limit=ROWS)
        rows = []
        for one in found.questions:
            link = safe_link(one.link)
            rows.append(
                CardRow(
                    shortened(one.whole, TEXT),
                    (f"{REASONS[one.reason].to(language)} · {self._day(one.asked_at)}",),
                    (Link(_THREAD.to(language), link),) if link else (),
                    offers((one.id,), one.id, language),
                )
            )
        foot = []
        if found.shown > len(rows):
            foot.append(_MORE.to(language, n=found.shown - len(rows)))
        if found.hidden:
            foot.append(HIDDEN.to(language, n=found.hidden))
        first = _OPEN_ONES.to(language, n=found.shown) if rows else "" if foot else NONE_OPEN.to(language)
        return Card(_TITLES["unanswered"].to(language), tuple(filter(None, (first,))), tuple(rows), tuple(foot))

    async def _asks(self, command: Command) -> Card:
        """Whether questions are brought to whoever typed this."""
        who, typed = command.actor.full_id, normalise(command.text).strip()
        if typed in _OFF:
            await self.asking.opt_out(who)
        elif typed in _ON:
            await self.asking.opt_in(who)
        said = _ASKS_OFF if await self.asking.opted_out(who) else _ASKS_ON
        return _said("asks", said, command.language)

    async def _history(self, command: Command) -> Card:
        """Whether what whoever typed this says in channels may be found."""
        who, typed = command.actor.full_id, normalise(command.text).strip()
        wanted = True if typed in _ON else False if typed in _OFF else None
        return _said("history", _HEARD if await self.sources.hears(who, wanted) else _NOT_HEARD, command.language)

    async def _digest(self, command: Command, allowed: Readers) -> Card:
        if normalise(command.text).strip() not in _POST:
            return digest_card(await self.make_digest(allowed), command.language, self.settings.timezone)
        if role(command.actor, self.settings) != "editor":
            return _said("digest", _EDITORS, command.language)
        if self.post_digest is None:
            return _said("digest", _NOT_RUNNING, command.language)
        try:
            posted = await self.post_digest(command.place)
        except (LookupError, ConnectionError, TimeoutError) as error:
            log.warning("the digest could not be posted: %s", error)
            return _said("digest", _NOT_POSTED, command.language)
        who = command.actor.full_id
        await self.audit.note(who, "digest", "post", "posted" if posted else "posted just before")
        return _said("digest", _POSTED if posted else _JUST_POSTED, command.language)

    async def _expert_answers(self, command: Command, allowed: Readers) -> Card:
        language = command.language
        what, rest = _the_first(command.text)
        if not what:
            found, total = await self.answers.listed(allowed, limit=ROWS)
            rows = [self._answer(one, language) for one in found]
            listed = _listed("answers", rows, language, none=_NO_ANSWERS)
            return replace(listed, foot=(_MORE.to(language, n=total - len(rows)),)) if total > len(rows) else listed
        id, text = _the_first(rest)
        if normalise(what) in _EDITS and id and text:
            changed = await self.answers.edit(command.actor, allowed, id, text)
            said = _CORRECTED.to(language, n=changed.told)
        elif normalise(what) in _TAKES_BACK and id:
            changed = await self.answers.take_back(command.actor, allowed, id)
            said = _TAKEN_BACK.to(language, n=changed.reopened)
        else:
            return _said("answers", _HOW_ANSWERS, language)
        return Card(
            _TITLES["answers"].to(language), (said if changed.refusal is None else changed.refusal.to(language),)
        )

    def _answer(self, one: ExpertAnswer, language: Language) -> CardRow:
        added, edited = self._day(one.row.added_at), self._day(one.edited.at if one.edited else None)
        said = _EDITED if edited else _ANSWER
        link = safe_link(one.row.url)
        return CardRow(
            shortened(one.wordings[0] if one.wordings else one.row.name, TEXT),
            (shortened(one.answer, TEXT), said.to(language, day=added, edited=edited, id=one.row.id[:SHORT_ID])),
            (Link(_OPEN.to(language), link),) if link else (),
        )

    # -- settings of the place --------------------------------------------------------------------------------------

    async def _follow(self, command: Command, allowed: Readers) -> Card:
        """The sources of what may be read here, or one of them synced, paused or resumed, or this channel made one."""
        language, (action, name, gone) = command.language, _source_words(command.text)
        first = ""
        match action:
            case "sync":
                first = synced(name, await self.sources.sync(command.actor, name, allowed), language)
            case "follow":
                added = await self.sources.follow(command.actor, command.place, name)
                first = _FOLLOWED.to(language, name=shortened(added.name, TEXT))
            case "pause":
                await self.sources.pause(command.actor, name, allowed)
            case "resume":
                await self.sources.resume(command.actor, name, allowed, gone)
        now = datetime.now(UTC)
        rows = [source_row(one, now, language) for one in await self.sources.listed(allowed)]
        return _listed("sources", rows, language, none=_NO_SOURCES, first=first)

    async def _change(self, command: Command, allowed: Readers) -> Card:
        typed, _, value = " ".join(command.text.split()).partition(" ")
        chosen = await self.channels.chosen(command.place)
        if not typed:
            return self._shown(chosen, command.language)
        if normalise(typed) in _RESET:
            chosen = Preferences()
        else:
            key = _KEYS.get(normalise(typed))
            if key is None:
                return _said("settings", _NO_KEY, command.language, key=shortened(typed, TEXT))
            if not value:
                return _said("settings", _NO_VALUE, command.language, key=key)
            chosen = _with(chosen, key, None if normalise(value) in _RESET else value)
            await self.knowledge.check(chosen.collections, allowed, command.language)
        await self.channels.prefer(command.actor, command.place, chosen)
        return self._shown(chosen, command.language, _SAVED.to(command.language))

    def _shown(self, chosen: Preferences, language: Language, *first: str) -> Card:
        everywhere = self.settings.collections
        values = (
            ("model", chosen.model, self.settings.model_id),
            ("strategy", chosen.strategy, self.settings.strategy),
            ("steps", chosen.steps, self.settings.steps),
            (
                "collections",
                None if chosen.collections is None else ", ".join(chosen.collections),
                _ALL.to(language) if everywhere is None else ", ".join(everywhere),
            ),
            ("follow", chosen.follow, "thread"),
        )
        lines = tuple(
            (_GENERAL if here is None else _CHOSEN).to(
                language, label=_LABELS[key].to(language), value=shortened(general if here is None else here, TEXT)
            )
            for key, here, general in values
        )
        return Card(_TITLES["settings"].to(language), (*first, *lines), foot=(_HOW.to(language),))


# -- parts of cards -------------------------------------------------------------------------------------------------


def _help(language: Language, *first: str) -> Card:
    lines = (*first, _ASK.to(language), *(said.to(language) for said in _HELP.values()))
    return Card(_TITLES["help"].to(language), lines)


def _said(about: Name, said: Text, language: Language, **values: object) -> Card:
    return Card(_TITLES[about].to(language), (said.to(language, **values),))


def _source_words(text: str) -> tuple[str, str, Literal["forget", "keep", ""]]:
    """The action (sync, pause, resume, follow, or none), the source's name, and what is to become of what is gone."""
    action, rest = _the_first(text)
    known = _SOURCE_ACTIONS.get(normalise(action))
    if known is None:
        return "", "", ""
    name, last = _but_the_last(rest)
    gone = _GONE_WORDS.get(normalise(last))
    return known, name if gone else rest.strip(), gone or ""


def _the_first(text: str) -> tuple[str, str]:
    """The first word of a text, and the others; an input method writes wide spaces between them."""
    first, rest = [*text.split(maxsplit=1), "", ""][:2]
    return first, rest


def _but_the_last(text: str) -> tuple[str, str]:
    """The words of a text before its last, and that; see `_the_first`."""
    rest, last = ["", "", *text.rsplit(maxsplit=1)][-2:]
    return rest.strip(), last


def _listed(
    name: Name, rows: Sequence[CardRow], language: Language, *, none: Text | None = None, first: str = ""
) -> Card:
    more = len(rows) - ROWS
    lines = (first,) if first else (none.to(language),) if none and not rows else ()
    foot = (_MORE.to(language, n=more),) if more > 0 else ()
    return Card(_TITLES[name].to(language), lines, tuple(rows[:ROWS]), foot)


def _hit(number: int, hit: Hit, language: Language) -> CardRow:
    passage = hit.passage
    where = " › ".join(filter(None, (passage.document, *passage.headings, passage.question)))
    link = safe_link(passage.url)
    collection = shortened(passage.said_in or passage.collection, TEXT)
    relevance = _RELEVANCE.to(language, collection=collection, relevance=hit.relevance)
    return CardRow(
        f"{number}. {shortened(where, TEXT)}",
        (shortened(in_one_line(passage.text), TEXT), relevance),
        (Link(_OPEN.to(language), link),) if link else (),
    )


def _collection(info: CollectionInfo, language: Language) -> CardRow:
    counts = _COLLECTION.to(language, documents=info.documents, chunks=info.chunks)
    about = shortened(info.description, TEXT)
    return CardRow(shortened(info.name, TEXT), (counts, about) if about else (counts,))


def _with(chosen: Preferences, key: str, value: str | None) -> Preferences:
    match key:
        case "model":
            return replace(chosen, model=value)
        case "strategy":
            return replace(chosen, strategy=value and value.lower())
        case "steps":
            # `Channels.prefer` checks it.
            return replace(chosen, steps=cast(StepsShown | None, value and value.lower()))
        case "follow":
            return replace(chosen, follow=cast(Follow | None, value and value.lower()))
        case _:
            names = None if value is None else tuple(name.strip() for name in value.replace("、", ",").split(","))
            return replace(chosen, collections=None if names is None else tuple(filter(None, names)))
