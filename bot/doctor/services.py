"""Checks of `kotae doctor` that ask others: the embedder, the model, the platforms, the digest's calendar.

What a provider answered stays in the log; a finding says in plain words what it means and where it is put right.
"""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import AsyncExitStack, closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from agent.extractive.model import ExtractiveModel
from agent.models.base import (
    ModelBlocked,
    ModelBusy,
    ModelError,
    ModelExhausted,
    ModelMessage,
    ModelUnavailable,
    Part,
    SystemMessage,
    Tool,
    ToolResult,
    UserMessage,
)
from agent.tool_calls import written_calls
from agent.tools import SEARCH
from bot.config.settings import Settings
from bot.doctor.findings import Check, Remark, Subject, aside, fault, fine, warning
from bot.errors import SettingsError
from bot.unanswered.digest_schedule import Schedule
from retrieval import reranking
from retrieval.embeddings import bundled_e5
from retrieval.i18n import Text, filled
from retrieval.providers.errors import A_DAY_IS_OVER
from retrieval.types import EmbeddingError

log = logging.getLogger(__name__)

EMBEDDER = Subject("embedder", Text(en="Embedder", ja="埋め込みモデル"))
RERANKER = Subject("reranker", Text(en="Reranker", ja="リランカー"))
MODEL = Subject("model", Text(en="Model", ja="モデル"))
JUDGE = Subject("judge", Text(en="Judge", ja="判定モデル"))
PLATFORMS = Subject("platforms", Text(en="Platforms", ja="プラットフォーム"))
DIGEST = Subject("digest", Text(en="Weekly digest", ja="週次ダイジェスト"))

PATIENCE_SECONDS = 8.0  # with a model that says nothing; one that thinks aloud replies
REPLY_SECONDS = 70.0  # more than one call of a model may take
FIRST_USE_SECONDS = 60.0  # the weights are made ready once a machine (3-8 s, more where it is busy)

_ASKED = Text(en="How long do refunds take?", ja="経費の精算はいつまでですか？")

# -- the embedder ---------------------------------------------------------------------------------------------------

_NOT_HERE = Text(
    en="The weights of {name} are not on this machine yet.", ja="{name} の重みはまだこのマシンにありません。"
)
_DOWNLOAD = Text(
    en="They are downloaded from huggingface.co at the first search"
    " or document; let that happen once before people ask.",
    ja="最初の検索か文書の登録のときに huggingface.co からダウンロードされます。"
    "質問が来る前に一度実行しておいてください。",
)
_CHOOSE = Text(
    en="Correct KOTAE_EMBEDDER, its key or its address in .env;"
    " KOTAE_EMBEDDER=local needs neither. Then run kotae doctor again.",
    ja=".env の KOTAE_EMBEDDER とそのキーやアドレスを直してください。KOTAE_EMBEDDER=local ならどちらも不要です。"
    "その後もう一度 kotae doctor を実行してください。",
)
_BY_WORDS = Text(
    en="Until then search goes by words alone, and no document is added. HOME decides where the weights lie, now"
    " {folder}: the user of a service may have none that it can write to.",
    ja="それまでは語句だけで検索し、文書は登録できません。重みの置き場所は HOME で決まります（現在は {folder}）。"
    "サービス用のユーザーには、書き込めるホームがないことがあります。",
)
_SIZE = Text(
    en="{name} made a vector of {got} numbers instead of {wanted}.",
    ja="{name} のベクトルは {wanted} 次元のはずが {got} 次元でした。",
)
_GOOD_EMBEDDER = Text(
    en="{name} is ready and makes vectors of {size} numbers.", ja="{name} は使えます（{size} 次元）。"
)


async def embedder(settings: Settings) -> Sequence[Remark]:
    from bot.config.models import make_embedder, weights

    folder = weights(settings)
    if await aside(lambda: _to_be_downloaded(settings.embedder, folder)):
        return [warning(filled(_NOT_HERE, name=settings.embedder), _DOWNLOAD)]
    try:
        async with AsyncExitStack() as stack:
            made = await make_embedder(settings, stack)
            query = await made.embed_query(_ASKED.ja)
            (text,) = await made.embed_documents([_ASKED.en])
    except SettingsError as error:
        return [fault(problem, _CHOOSE) for problem in error.problems]
    except EmbeddingError as error:
        local = settings.embedder == "local"
        return [fault(error.said, filled(_BY_WORDS, folder=str(folder)) if local else _CHOOSE)]
    for vector in (query, text):
        if len(vector) != made.dimensions:
            said = filled(_SIZE, name=made.name, got=str(len(vector)), wanted=str(made.dimensions))
            return [fault(said, _CHOOSE)]
    return [fine(filled(_GOOD_EMBEDDER, name=made.name, size=str(made.dimensions)))]


def _to_be_downloaded(name: str, weights: Path) -> bool:
    """Whether the first use would fetch gigabytes into `weights`; nobody expects that of a check."""
    if name == "local" and bundled_e5.available():
        return False
    if name != "local" and not name.startswith("fastembed:"):
        return False
    model = "multilingual-e5-small" if name == "local" else name.rpartition("/")[2].rpartition(":")[2]
    folders = (weights / "fastembed").glob("*")
    return not any(model.lower() in folder.name.lower() for folder in folders)


# -- the reranker ---------------------------------------------------------------------------------------------------

_DOWNLOAD_LATER = Text(
    en="They ({size} GB) are downloaded from huggingface.co at the first search, which goes on without it meanwhile.",
    ja="最初の検索のときに huggingface.co からダウンロードされます（{size} GB）。"
    "その間の検索はリランカーなしで行います。",
)
_CHOOSE_RERANKER = Text(
    en="Correct KOTAE_RERANKER in .env, or take it away: search works without. Then run kotae doctor again.",
    ja=".env の KOTAE_RERANKER を直すか、外してください（なくても検索できます）。その後もう一度 kotae doctor "
    "を実行してください。",
)
_GOOD_RERANKER = Text(en="{name} is ready.", ja="{name} は使えます。")
_LICENCE = Text(
    en="The licence of its weights, {licence}, does not allow commercial use.",
    ja="この重みのライセンス（{licence}）では、商用利用が認められていません。",
)
_OTHER_LICENCE = Text(
    en="Use it where nothing is earned with it, or choose another, such as fastembed:BAAI/bge-reranker-v2-m3-int8.",
    ja="非商用の環境だけで使うか、fastembed:BAAI/bge-reranker-v2-m3-int8 など別のものを選んでください。",
)


async def reranker(settings: Settings) -> Sequence[Remark]:
    """Nothing where none is set."""
    from bot.config.models import make_reranker, weights

    name = (settings.reranker or "").partition(":")[2]
    remarks: list[Remark] = []
    try:
        made = await aside(lambda: make_reranker(settings))
        if made is None:
            return []
        with closing(made):
            licence = await aside(lambda: reranking.licence(name))
            if reranking.non_commercial(licence):
                remarks.append(warning(filled(_LICENCE, licence=licence), _OTHER_LICENCE))
            if size := await aside(lambda: reranking.missing_weights(weights(settings), name)):
                return [*remarks, warning(filled(_NOT_HERE, name=name), filled(_DOWNLOAD_LATER, size=f"{size:g}"))]
            await made.scores(_ASKED.en, [_ASKED.en, _ASKED.ja])
    except SettingsError as error:
        return [fault(problem, _CHOOSE_RERANKER) for problem in error.problems]
    except reranking.RerankingError as error:
        return [*remarks, fault(error.said, _CHOOSE_RERANKER)]
    return [*remarks, fine(filled(_GOOD_RERANKER, name=made.name))]


# -- the model ------------------------------------------------------------------------------------------------------

_EXTRACTIVE = Text(
    en="extractive: answers are sentences quoted from the documents; it needs no key and no network.",
    ja="extractive: 文書の文をそのまま引用して答えます。キーもネットワークも不要です。",
)
_NUDGE = Text(
    en="For answers in its own words set GEMINI_API_KEY (aistudio.google.com/apikey),"
    " or KOTAE_MODEL=openai:<model> with OPENAI_BASE_URL.",
    ja="文章としてまとめた回答には、GEMINI_API_KEY（aistudio.google.com/apikey"
    " で取得）か、KOTAE_MODEL=openai:<モデル名> と OPENAI_BASE_URL を設定してください。",
)
_NOT_OFFERED = Text(
    en="Correct KOTAE_MODEL in .env: extractive, gemini:<model> or openai:<model>.",
    ja=".env の KOTAE_MODEL を extractive、gemini:<モデル名>、openai:<モデル名> のどれかに直してください。",
)
_TOOLLESS = Text(
    en="{name} replied, but its server says that it cannot call tools.",
    ja="{name} から応答がありましたが、ツール呼び出しに対応していないとのことです。",
)
_WITH_TOOLS = Text(
    en="Answers work: Kotae searches with the question itself. A model that calls tools finds more; vLLM needs"
    " --enable-auto-tool-choice, llama.cpp --jinja.",
    ja="質問文そのもので検索して答えます。ツールを呼び出せるモデルなら、より多くのことが見つかります"
    "（vLLM は --enable-auto-tool-choice、llama.cpp は --jinja が必要です）。",
)
_THINKS_LONG = Text(
    en="{name} thought until nothing was left for a reply.",
    ja="{name} は考えるだけで出力の上限を使い切りました。",
)
_THINK_LESS = Text(
    en="Set KOTAE_THINKING=low in .env, or choose a model that thinks less.",
    ja=".env に KOTAE_THINKING=low を設定するか、別のモデルを選んでください。",
)
_NOTHING_TO_JUDGE = Text(
    en="{name} is set as the judge, and no model writes answers: it has nothing to judge.",
    ja="判定に {name} が設定されていますが、回答を書くモデルがないため使われません。",
)
_CORRECT_JUDGE = Text(
    en="Correct KOTAE_JUDGE_MODEL, its key or its address in .env,"
    " or take it away: then the model that answers judges too.",
    ja=".env の KOTAE_JUDGE_MODEL とそのキーやアドレスを直すか、外してください（外すと、"
    "回答するモデルが判定も行います）。",
)
_SENT_TO_JUDGE = Text(
    en="{name} is sent the sentences of each answer and the passages quoted for them.",
    ja="{name} には、回答の各文と、その根拠として引用した文書の抜粋が送られます。",
)
_REPLIED = Text(en="{name} replied.", ja="{name} から応答がありました。")
_IDLE = Text(
    en="Asked to look something up it did not search. If its answers are poor, too, a larger model helps; so does"
    " KOTAE_MODEL=extractive, which quotes the documents. What a model writes and they do not say is left out all the"
    " same.",
    ja="調べものを頼んでも検索しませんでした。回答も物足りないときは、より大きなモデルか、文書をそのまま引用する "
    "KOTAE_MODEL=extractive をお試しください。どのモデルでも、文書に書かれていない内容は省かれます。",
)
_KEY = Text(en="{name} does not accept the key.", ja="{name} がキーを受け付けません。")
KEYS = {
    "gemini": Text(
        en="Put a valid GEMINI_API_KEY into .env; keys are made at aistudio.google.com/apikey.",
        ja=".env の GEMINI_API_KEY を正しいキーにしてください。キーは aistudio.google.com/apikey で作れます。",
    ),
    "openai": Text(
        en="Put a valid OPENAI_API_KEY into .env: from platform.openai.com/api-keys,"
        " or the one of the server at OPENAI_BASE_URL.",
        ja=".env の OPENAI_API_KEY を正しいキーにしてください。platform.openai.com/api-keys で作るか、OPENAI_BASE_URL "
        "のサーバーのキーを使います。",
    ),
}
_NAME = Text(en="There is no model {name} there.", ja="モデル {name} はありません。")
_NAMES = {
    "gemini": Text(
        en="Correct KOTAE_MODEL in .env; the names are at ai.google.dev/gemini-api/docs/models.",
        ja=".env の KOTAE_MODEL を直してください。モデル名は ai.google.dev/gemini-api/docs/models にあります。",
    ),
    "openai": Text(
        en="Correct KOTAE_MODEL (or OPENAI_BASE_URL) in .env; GET /v1/models on the server lists the names.",
        ja=".env の KOTAE_MODEL（または OPENAI_BASE_URL）を直してください。モデル名はサーバーの GET /v1/models "
        "で分かります。",
    ),
}
_DOWN = Text(en="{name} cannot be reached.", ja="{name} に接続できません。")
_SLOW = Text(
    en="{name} did not answer within {seconds} seconds.", ja="{name} が {seconds} 秒以内に応答しませんでした。"
)
_ADDRESSES = {
    "gemini": Text(
        en="Check the network of this machine and, if it is set,"
        " GEMINI_BASE_URL. Until then answers are quoted sentences.",
        ja="このマシンのネットワークと、設定していれば GEMINI_BASE_URL を確認してください。"
        "それまでは文書の引用で答えます。",
    ),
    "openai": Text(
        en="Check that the server at OPENAI_BASE_URL runs and can be"
        " reached from here. Until then answers are quoted sentences.",
        ja="OPENAI_BASE_URL のサーバーが動いていて、ここから接続できるかを確認してください。"
        "それまでは文書の引用で答えます。",
    ),
}
_LOADING = Text(
    en="The server may be loading the model, or the model be too large for its machine: run kotae doctor again in a"
    " minute. If it stays so, check that the server at OPENAI_BASE_URL runs and can be reached from here.",
    ja="サーバーがモデルを読み込んでいるか、モデルがそのマシンには重すぎるのかもしれません。1 分ほどしてからもう一度 "
    "kotae doctor を実行してください。続く場合は、OPENAI_BASE_URL のサーバーが動いていて、ここから接続できるかを"
    "確認してください。",
)
_BUSY = Text(
    en="{name} is busy right now (too many requests).", ja="{name} は混み合っています（リクエストが多すぎます）。"
)
_LATER = Text(
    en="Run kotae doctor again in a minute; if it stays so, raise the quota or lower KOTAE_CONCURRENCY.",
    ja="1 分ほどしてからもう一度 kotae doctor を実行してください。続く場合は、利用枠を増やすか KOTAE_CONCURRENCY "
    "を下げてください。",
)
_QUOTA = Text(en="The quota of {name} is used up.", ja="{name} の利用枠を使い切っています。")
_PLAN = Text(
    en="Raise the quota or the plan of the key at the provider, or wait"
    " until it is renewed. Until then answers are quoted sentences.",
    ja="提供元でキーの利用枠やプランを上げるか、枠が戻るまで待ってください。それまでは文書の引用で答えます。",
)
_REFUSED = Text(
    en="{name} refused a harmless test question for safety.", ja="{name} が安全上の理由で無害な確認の質問を拒みました。"
)
_SAFETY = Text(
    en="Check the safety settings of the account, or choose another KOTAE_MODEL.",
    ja="アカウントの安全設定を確認するか、別の KOTAE_MODEL を選んでください。",
)
_STRANGE = Text(
    en="The reply from {name} is not in the expected form.", ja="{name} からの応答が正しい形式ではありません。"
)
_WHOSE = Text(
    en="Check KOTAE_MODEL and the base address (GEMINI_BASE_URL, GEMINI_API_VERSION"
    " or OPENAI_BASE_URL): a proxy or another service may be there.",
    ja="KOTAE_MODEL と接続先（GEMINI_BASE_URL、GEMINI_API_VERSION、OPENAI_BASE_URL）を確認してください。"
    "プロキシや別のサービスにつながっているかもしれません。",
)


async def _found(query: str) -> ToolResult:
    return ToolResult("", "")


_TOOL = Tool(
    SEARCH,
    "Search the team's documents.",
    {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
    _found,
)
_PROBE = (
    SystemMessage(
        "You answer questions of a team from its documents, which you reach only through the tool. Search before every"
        " answer."
    ),
    UserMessage("How long do refunds take?"),
)


async def model(settings: Settings) -> Sequence[Remark]:
    name = settings.model_id
    if name == "extractive":
        return [fine(_EXTRACTIVE, _NUDGE)]
    return await _probed(settings, name, idle=_IDLE)


async def judge(settings: Settings) -> Sequence[Remark]:
    """Nothing where the model that answers is the judge too."""
    name = settings.judge_id
    if name == settings.model_id:
        return []
    if settings.model_id == "extractive":
        return [warning(filled(_NOTHING_TO_JUDGE, name=name), _CORRECT_JUDGE)]
    remarks = [
        remark if remark.level == "ok" else replace(remark, todo=_CORRECT_JUDGE)
        for remark in await _probed(settings, name)
    ]
    if name.partition(":")[0] != settings.model_id.partition(":")[0]:
        remarks.append(fine(filled(_SENT_TO_JUDGE, name=name)))
    return remarks


async def _probed(settings: Settings, name: str, *, idle: Text | None = None) -> list[Remark]:
    """A model's reply to a question for the documents. `idle`: what to do about one that does not search."""
    from bot.config.models import Models

    try:
        async with AsyncExitStack() as stack:
            chosen = Models(settings, ExtractiveModel(tokenise=str.split), stack, retrying=False)(name)
            parts: list[Part] = []
            async with asyncio.timeout(PATIENCE_SECONDS) as silence:
                async for part in chosen.converse(_PROBE, (_TOOL,)):
                    parts.append(part)
                    silence.reschedule(asyncio.get_running_loop().time() + PATIENCE_SECONDS)
            toolless = chosen.tools is False
    except TimeoutError:
        return [_unwell(ModelUnavailable("", "timeout"), name)]
    except SettingsError as error:
        return [fault(problem, _NOT_OFFERED) for problem in error.problems]
    except ModelError as error:
        log.info("the model's probe failed: %s", error)
        return [_unwell(error, name)]
    if toolless:
        return [warning(filled(_TOOLLESS, name=name), _WITH_TOOLS)]
    return [fine(filled(_REPLIED, name=name), None if any(map(_calls, parts)) else idle)]


def _calls(part: Part) -> bool:
    try:
        return isinstance(part, ModelMessage) and bool(part.calls or written_calls(part.text, (SEARCH,))[1])
    except ValueError:  # half a call
        return False


def _unwell(error: ModelError, name: str) -> Remark:
    provider = name.partition(":")[0]
    match error:
        case ModelExhausted():
            return warning(filled(_THINKS_LONG, name=name), _THINK_LESS)
        case ModelUnavailable(why="key"):
            return fault(filled(_KEY, name=name), KEYS[provider])
        case ModelUnavailable(why="model"):
            return fault(filled(_NAME, name=name), _NAMES[provider])
        case ModelUnavailable(why="timeout"):
            todo = _LOADING if provider == "openai" else _ADDRESSES[provider]
            return fault(filled(_SLOW, name=name, seconds=f"{PATIENCE_SECONDS:g}"), todo)
        case ModelUnavailable():
            return fault(filled(_DOWN, name=name), _ADDRESSES[provider])
        case ModelBusy(retry_after=after) if after is not None and after >= A_DAY_IS_OVER:
            return fault(filled(_QUOTA, name=name), _PLAN)
        case ModelBusy():
            return warning(filled(_BUSY, name=name), _LATER)
        case ModelBlocked():
            return warning(filled(_REFUSED, name=name), _SAFETY)
    return fault(filled(_STRANGE, name=name), _WHOSE)


# -- the platforms and the digest -----------------------------------------------------------------------------------

_NO_PLATFORM = Text(
    en="None is set up; the channels in the browser and the terminal and the HTTP API work without.",
    ja="設定されていません。ブラウザーとターミナルのチャンネル、HTTP API はこのままで使えます。",
)
_SET_ONE_UP = Text(
    en="To be asked in a channel: kotae setup slack, or kotae setup discord.",
    ja="チャンネルで使うには: kotae setup slack または kotae setup discord",
)
_PLATFORMS = Text(
    en="{names}: all their settings are there and of the right kinds.",
    ja="{names}: 設定はそろっていて、種類も正しいです。",
)
_NO_CHANNEL = Text(
    en="KOTAE_DIGEST_CHANNEL is not set, so the digest is posted nowhere.",
    ja="KOTAE_DIGEST_CHANNEL が設定されていないため、ダイジェストはどこにも投稿されません。",
)
_CHANNEL = Text(
    en="Set it to a channel's name or id in .env; kotae digest prints the digest at any time.",
    ja=".env にチャンネルの名前か ID を設定してください。kotae digest ではいつでも表示できます。",
)
_GOOD_DIGEST = Text(en="The next one is due {due} ({zone}).", ja="次回は {due}（{zone}）です。")


async def platforms(settings: Settings) -> Sequence[Remark]:
    """Half-set ones and tokens of the wrong kind do not load; what a platform itself says is its own checks' part."""
    if not settings.platforms:
        return [fine(_NO_PLATFORM, _SET_ONE_UP)]
    return [fine(filled(_PLATFORMS, names=", ".join(settings.platforms)))]


async def digest(settings: Settings) -> Sequence[Remark]:
    schedule = Schedule(settings.digest_cron, settings.timezone)  # the settings have checked it
    if settings.platforms and settings.digest_channel is None:
        return [warning(_NO_CHANNEL, _CHANNEL)]
    due = schedule.next(datetime.now(UTC)).astimezone(settings.timezone)
    return [fine(filled(_GOOD_DIGEST, due=f"{due:%Y-%m-%d %H:%M}", zone=settings.timezone_name))]


CHECKS = (
    Check(EMBEDDER, embedder, FIRST_USE_SECONDS),
    Check(RERANKER, reranker, FIRST_USE_SECONDS),
    Check(MODEL, model, REPLY_SECONDS),
    Check(JUDGE, judge, REPLY_SECONDS),
    Check(PLATFORMS, platforms),
    Check(DIGEST, digest),
)
