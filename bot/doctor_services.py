"""What `kotae doctor` asks of others: the embedder, the model, the platforms, the digest's calendar.

What a provider answered stays in the log; a finding says in plain words what it means and where it is put right.
"""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path

from agent.models.base import ModelBlocked, ModelBusy, ModelError, ModelUnavailable, UserMessage
from agent.models.extractive import ExtractiveModel
from bot.doctor import Check, Remark, Subject, aside, fault, fine, log, warning
from bot.schedule import Schedule
from bot.settings import Settings, SettingsError, filled
from retrieval.embeddings import bundled
from retrieval.refusals import A_DAY_IS_OVER
from retrieval.text import Said
from retrieval.types import EmbeddingError

EMBEDDER = Subject("embedder", Said(en="Embedder", ja="埋め込みモデル"))
MODEL = Subject("model", Said(en="Model", ja="モデル"))
PLATFORMS = Subject("platforms", Said(en="Platforms", ja="プラットフォーム"))
DIGEST = Subject("digest", Said(en="Weekly digest", ja="週次ダイジェスト"))

PATIENCE_SECONDS = 8.0
FIRST_USE_SECONDS = 60.0  # the weights are made ready once a machine (3-8 s, more where it is busy)

_ASKED = Said(en="How long do refunds take?", ja="経費の精算はいつまでですか？")

# -- the embedder ---------------------------------------------------------------------------------------------------

_NOT_HERE = Said(
    en="The weights of {name} are not on this machine yet.", ja="{name} の重みはまだこのマシンにありません。"
)
_DOWNLOAD = Said(
    en="They are downloaded from huggingface.co at the first search or document; let that happen once before people ask.",
    ja="最初の検索か文書の登録のときに huggingface.co からダウンロードされます。質問が来る前に一度実行しておいてください。",
)
_CHOOSE = Said(
    en="Correct KOTAE_EMBEDDER, its key or its address in .env; KOTAE_EMBEDDER=local needs neither. Then run kotae doctor again.",
    ja=".env の KOTAE_EMBEDDER とそのキーやアドレスを直してください。KOTAE_EMBEDDER=local ならどちらも不要です。その後もう一度 kotae doctor を実行してください。",
)
_SIZE = Said(
    en="{name} made a vector of {got} numbers instead of {wanted}.",
    ja="{name} のベクトルは {wanted} 次元のはずが {got} 次元でした。",
)
_GOOD_EMBEDDER = Said(
    en="{name} is ready and makes vectors of {size} numbers.", ja="{name} は使えます（{size} 次元）。"
)


async def embedder(settings: Settings) -> Sequence[Remark]:
    from bot.app import make_embedder

    if await aside(lambda: _to_be_downloaded(settings.embedder)):
        return [warning(filled(_NOT_HERE, name=settings.embedder), _DOWNLOAD)]
    try:
        async with AsyncExitStack() as stack:
            made = await make_embedder(settings, stack)
            query = await made.embed_query(_ASKED.ja)
            (text,) = await made.embed_documents([_ASKED.en])
    except SettingsError as error:
        return [fault(problem, _CHOOSE) for problem in error.problems]
    except EmbeddingError as error:
        return [fault(Said(en=error.text("en"), ja=error.text("ja")), _CHOOSE)]
    for vector in (query, text):
        if len(vector) != made.dimensions:
            said = filled(_SIZE, name=made.name, got=str(len(vector)), wanted=str(made.dimensions))
            return [fault(said, _CHOOSE)]
    return [fine(filled(_GOOD_EMBEDDER, name=made.name, size=str(made.dimensions)))]


def _to_be_downloaded(name: str) -> bool:
    """Whether the first use would fetch gigabytes; nobody expects that of a check."""
    if name == "local" and bundled.available():
        return False
    if name != "local" and not name.startswith("fastembed:"):
        return False
    model = "multilingual-e5-small" if name == "local" else name.rpartition("/")[2].rpartition(":")[2]
    folders = (Path.home() / ".cache" / "kotae" / "fastembed").glob("*")
    return not any(model.lower() in folder.name.lower() for folder in folders)


# -- the model ------------------------------------------------------------------------------------------------------

_EXTRACTIVE = Said(
    en="extractive: answers are sentences quoted from the documents; it needs no key and no network.",
    ja="extractive: 文書の文をそのまま引用して答えます。キーもネットワークも不要です。",
)
_NUDGE = Said(
    en="For answers in its own words set GEMINI_API_KEY (aistudio.google.com/apikey), or KOTAE_MODEL=openai:<model> with OPENAI_BASE_URL.",
    ja="文章としてまとめた回答には、GEMINI_API_KEY（aistudio.google.com/apikey で取得）か、KOTAE_MODEL=openai:<モデル名> と OPENAI_BASE_URL を設定してください。",
)
_NOT_OFFERED = Said(
    en="Correct KOTAE_MODEL in .env: extractive, gemini:<model> or openai:<model>.",
    ja=".env の KOTAE_MODEL を extractive、gemini:<モデル名>、openai:<モデル名> のどれかに直してください。",
)
_REPLIED = Said(en="{name} replied.", ja="{name} から応答がありました。")
_KEY = Said(en="{name} does not accept the key.", ja="{name} がキーを受け付けません。")
KEYS = {
    "gemini": Said(
        en="Put a valid GEMINI_API_KEY into .env; keys are made at aistudio.google.com/apikey.",
        ja=".env の GEMINI_API_KEY を正しいキーにしてください。キーは aistudio.google.com/apikey で作れます。",
    ),
    "openai": Said(
        en="Put a valid OPENAI_API_KEY into .env: from platform.openai.com/api-keys, or the one of the server at OPENAI_BASE_URL.",
        ja=".env の OPENAI_API_KEY を正しいキーにしてください。platform.openai.com/api-keys で作るか、OPENAI_BASE_URL のサーバーのキーを使います。",
    ),
}
_NAME = Said(en="There is no model {name} there.", ja="モデル {name} はありません。")
_NAMES = {
    "gemini": Said(
        en="Correct KOTAE_MODEL in .env; the names are at ai.google.dev/gemini-api/docs/models.",
        ja=".env の KOTAE_MODEL を直してください。モデル名は ai.google.dev/gemini-api/docs/models にあります。",
    ),
    "openai": Said(
        en="Correct KOTAE_MODEL (or OPENAI_BASE_URL) in .env; GET /v1/models on the server lists the names.",
        ja=".env の KOTAE_MODEL（または OPENAI_BASE_URL）を直してください。モデル名はサーバーの GET /v1/models で分かります。",
    ),
}
_DOWN = Said(en="{name} cannot be reached.", ja="{name} に接続できません。")
_SLOW = Said(
    en="{name} did not answer within {seconds} seconds.", ja="{name} が {seconds} 秒以内に応答しませんでした。"
)
_ADDRESSES = {
    "gemini": Said(
        en="Check the network of this machine and, if it is set, GEMINI_BASE_URL. Until then answers are quoted sentences.",
        ja="このマシンのネットワークと、設定していれば GEMINI_BASE_URL を確認してください。それまでは文書の引用で答えます。",
    ),
    "openai": Said(
        en="Check that the server at OPENAI_BASE_URL runs and can be reached from here. Until then answers are quoted sentences.",
        ja="OPENAI_BASE_URL のサーバーが動いていて、ここから接続できるかを確認してください。それまでは文書の引用で答えます。",
    ),
}
_BUSY = Said(
    en="{name} is busy right now (too many requests).", ja="{name} は混み合っています（リクエストが多すぎます）。"
)
_LATER = Said(
    en="Run kotae doctor again in a minute; if it stays so, raise the quota or lower KOTAE_CONCURRENCY.",
    ja="1 分ほどしてからもう一度 kotae doctor を実行してください。続く場合は、利用枠を増やすか KOTAE_CONCURRENCY を下げてください。",
)
_QUOTA = Said(en="The quota of {name} is used up.", ja="{name} の利用枠を使い切っています。")
_PLAN = Said(
    en="Raise the quota or the plan of the key at the provider, or wait until it is renewed. Until then answers are quoted sentences.",
    ja="提供元でキーの利用枠やプランを上げるか、枠が戻るまで待ってください。それまでは文書の引用で答えます。",
)
_REFUSED = Said(
    en="{name} refused a harmless test question for safety.", ja="{name} が安全上の理由で無害な確認の質問を拒みました。"
)
_SAFETY = Said(
    en="Check the safety settings of the account, or choose another KOTAE_MODEL.",
    ja="アカウントの安全設定を確認するか、別の KOTAE_MODEL を選んでください。",
)
_STRANGE = Said(
    en="What answers for {name} does not speak as it should.", ja="{name} からの応答が正しい形式ではありません。"
)
_WHOSE = Said(
    en="Check KOTAE_MODEL and the base address (GEMINI_BASE_URL, GEMINI_API_VERSION or OPENAI_BASE_URL): a proxy or another service may be there.",
    ja="KOTAE_MODEL と接続先（GEMINI_BASE_URL、GEMINI_API_VERSION、OPENAI_BASE_URL）を確認してください。プロキシや別のサービスにつながっているかもしれません。",
)


async def model(settings: Settings) -> Sequence[Remark]:
    from bot.app import Models

    name = settings.model_id
    if name == "extractive":
        return [fine(_EXTRACTIVE, _NUDGE)]
    provider = name.partition(":")[0]
    try:
        async with AsyncExitStack() as stack:
            chosen = Models(settings, ExtractiveModel(tokenise=str.split), stack, patient=False)(name)
            async with asyncio.timeout(PATIENCE_SECONDS):
                async for _ in chosen.converse((UserMessage("Reply with OK."),)):
                    pass
    except TimeoutError:
        return [_unwell(ModelUnavailable("", "timeout"), name, provider)]
    except SettingsError as error:
        return [fault(problem, _NOT_OFFERED) for problem in error.problems]
    except ModelError as error:
        log.info("the model's probe failed: %s", error)
        return [_unwell(error, name, provider)]
    return [fine(filled(_REPLIED, name=name))]


def _unwell(error: ModelError, name: str, provider: str) -> Remark:
    match error:
        case ModelUnavailable(why="key"):
            return fault(filled(_KEY, name=name), KEYS[provider])
        case ModelUnavailable(why="model"):
            return fault(filled(_NAME, name=name), _NAMES[provider])
        case ModelUnavailable(why="timeout"):
            return fault(filled(_SLOW, name=name, seconds=f"{PATIENCE_SECONDS:g}"), _ADDRESSES[provider])
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

_NO_PLATFORM = Said(
    en="None is set up; the channels in the browser and the terminal and the HTTP API work without.",
    ja="設定されていません。ブラウザーとターミナルのチャンネル、HTTP API はこのままで使えます。",
)
_SET_ONE_UP = Said(
    en="To be asked in a channel: kotae setup slack, or kotae setup discord.",
    ja="チャンネルで使うには: kotae setup slack または kotae setup discord",
)
_PLATFORMS = Said(
    en="{names}: all their settings are there and of the right kinds.",
    ja="{names}: 設定はそろっていて、種類も正しいです。",
)
_NO_CHANNEL = Said(
    en="KOTAE_DIGEST_CHANNEL is not set, so the digest is posted nowhere.",
    ja="KOTAE_DIGEST_CHANNEL が設定されていないため、ダイジェストはどこにも投稿されません。",
)
_CHANNEL = Said(
    en="Set it to a channel's id in .env; kotae digest prints the digest at any time.",
    ja=".env にチャンネルの ID を設定してください。kotae digest ではいつでも表示できます。",
)
_GOOD_DIGEST = Said(en="The next one is due {due} ({zone}).", ja="次回は {due}（{zone}）です。")


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
    Check(MODEL, model),
    Check(PLATFORMS, platforms),
    Check(DIGEST, digest),
)
