"""Texts of a turn that ends without an answer, or with one that needs a remark: whole sentences."""

import re

from agent.models.base import ModelBusy, ModelError, ModelExhausted, ModelOverlong, ModelUnavailable
from agent.models.quota import OverBudgetError, SpentError
from retrieval.i18n import Language, Text

UNKNOWN = Text(en="I could not find any information about this.", ja="情報が見つかりませんでした。")
CLOSEST = Text(en=" The closest page is {page}.", ja="最も近いページは「{page}」です。")
LOOKED_IN = Text(en=" I searched: {names}.", ja="検索したコレクション: {names}。")
NO_DOCUMENTS = Text(en=" There are no documents yet that can be read here.", ja="ここで読める文書はまだありません。")
NONE_CHOSEN = Text(
    en=" The collections that are chosen to be searched here have no documents that can be read.",
    ja="ここで検索するように選ばれたコレクションに、読める文書がありません。",
)
RECORDED = Text(
    en=" Your question has been noted so that somebody who knows can answer it.",
    ja="ご質問は未回答として記録しましたので、詳しい方に届けます。",
)
RESTRICTED = Text(
    en=" Only documents for everyone are used here, since people from outside the team may be reading.",
    ja="ここはチーム外の方も読める可能性があるため、全員に公開された文書だけで答えます。",
)
DECLINED = Text(en="Sorry, I cannot help with this request.", ja="申し訳ありませんが、このご依頼にはお応えできません。")
GENERAL = Text(
    en="From general knowledge, not from the team’s documents:", ja="以下は資料ではなく、一般的な知識に基づく回答です："
)
CUT_OFF = Text(
    en="(This answer was cut off at the length limit.)", ja="（長さの上限に達したため、回答が途中で終わっています。）"
)

_NEXT = "|".join(
    re.escape(said.partition("{")[0]) for each in (LOOKED_IN, RECORDED, RESTRICTED) for said in (each.en, each.ja)
)
_CLOSEST = re.compile(  # a page's name may have stops of its own
    "|".join(re.escape(said).replace(r"\{page\}", ".*?") + rf"(?={_NEXT}|$)" for said in (CLOSEST.en, CLOSEST.ja)), re.M
)

_MODEL_FAILED = Text(
    en="Sorry, I could not answer because of the language model: {reason}. Please try again later.",
    ja="申し訳ありません。{reason}ため、お答えできませんでした。しばらくしてからもう一度お試しください。",
)
SEARCH_FAILED = Text(
    en="Sorry, I could not look this up, because the search is not working at the moment: {reason}",
    ja="申し訳ありません。現在検索が利用できないため、お調べできませんでした。{reason}",
)
_NOTICE = Text(
    en="(Written without the language model: {reason}.)", ja="（{reason}ため、言語モデルを使わずに回答しています。）"
)
_REASONS = {
    "day": Text(en="today’s budget for it is used up", ja="言語モデルの本日の利用枠を使い切った"),
    "turn": Text(
        en="this question has used as much of it as one question may",
        ja="この質問で使える言語モデルの利用枠を使い切った",
    ),
    "busy": Text(
        en="it is overloaded or over its quota right now", ja="言語モデルが混み合っているか利用枠に達している"
    ),
    "key": Text(en="its key was not accepted", ja="言語モデルの API キーが受け付けられなかった"),
    "model": Text(en="the configured model is not available", ja="設定されている言語モデルが利用できない"),
    "timeout": Text(en="it took too long to reply", ja="言語モデルの応答に時間がかかりすぎた"),
    "down": Text(en="it cannot be reached right now", ja="言語モデルに接続できない"),
    "thinking": Text(
        en="it thought until nothing was left for an answer",
        ja="言語モデルが考えるだけで出力の上限を使い切った",
    ),
    "long": Text(
        en="the question with what was found for it is longer than it can read",
        ja="質問と検索結果が言語モデルの読める長さを超えた",
    ),
    "protocol": Text(en="its replies could not be used", ja="言語モデルの応答を利用できなかった"),
}


def unknown(
    language: Language,
    searched: tuple[str, ...] | None,
    *,
    closest: str = "",
    reaches_team: bool = True,
    chosen: bool = False,
) -> str:
    """Not found, the page that comes closest, and here is where I looked; what becomes of the question, or why neither
    more was read nor anybody sees it. `searched` None: there is nothing that could be, in all collections or in those
    `chosen`."""
    page = CLOSEST.to(language, page=closest) if closest else ""
    where = LOOKED_IN.to(language, names=("、" if language == "ja" else ", ").join(searched)) if searched else ""
    if searched is None:
        where = (NONE_CHOSEN if chosen else NO_DOCUMENTS).to(language)
    return UNKNOWN.to(language) + page + where + (RECORDED if reaches_team else RESTRICTED).to(language)


def without_closest(text: str) -> str:
    """The same without the page that came closest."""
    return _CLOSEST.sub("", text, count=1)


def notice(error: ModelError, language: Language) -> str:
    """The sentence under an answer that the fall-back wrote. Says why in plain words, nothing of the error itself."""
    return _NOTICE.to(language, reason=_REASONS[_why(error)].to(language))


def failed(error: ModelError, language: Language) -> str:
    return _MODEL_FAILED.to(language, reason=_REASONS[_why(error)].to(language))


def _why(error: ModelError) -> str:
    match error:
        case OverBudgetError():
            return "day"
        case SpentError():
            return "turn"
        case ModelBusy():
            return "busy"
        case ModelUnavailable():
            return error.why
        case ModelOverlong():
            return "long"
        case ModelExhausted():
            return "thinking"
        case _:
            return "protocol"
