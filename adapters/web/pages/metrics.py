"""How the bot does: volume, outcomes, times, relevance, votes, misses and cost; by day, collection and channel.

Source: product.md §6; seeds/3_agent_tools.md (SearchMetrics); newcomer.md row 19.
"""

from collections.abc import Mapping
from datetime import date
from functools import partial

from nicegui import ui
from starlette.requests import Request

from adapters.web.channel.rooms import PLATFORM, ROOMS
from adapters.web.pages.shared import components
from adapters.web.pages.shared.layout import Page
from adapters.web.visitor import Site, Visitor
from bot.operations.metrics import PERIODS, Metrics
from bot.records import Latency
from bot.texts import COMPLAINTS, OUTCOMES, REASONS, TURN_OUTCOMES
from bot.types import MissReason, Place
from bot.unanswered.doubts import ALIKE
from retrieval.i18n import Language, Text

_TITLE = Text(en="Metrics", ja="メトリクス")
_DAYS = Text(en="{n} days", ja="{n} 日間")
_PRIVATE = Text(
    en="All places are counted. Those you cannot read are never named.",
    ja="すべての場所を集計しています。閲覧できない場所の名前は表示しません。",
)
_NONE = Text(
    en="Nobody has asked anything in this period. Ask in the channel, and the figures appear here.",
    ja="この期間の質問はありません。チャンネルで質問すると、ここに表示されます。",
)
_DAYS_OF = Text(en="The days are those of {zone}.", ja="日付は {zone} の日付です。")
_ONCE = Text(
    en="Every question has one outcome. A miss is a question that was not found, got an unsure answer, or was reported "
    "with 👎; it counts once. Without a language model an unsure answer is a miss only when {n} people ask alike.",
    ja="質問ごとに結果は 1 つです。未解決は、情報なし・確信度の低い回答・👎 の報告のいずれかで、1 つの質問を 1 "
    "件と数えます。言語モデルを使わない場合、確信度の低い回答は、{n} 人が同じことを尋ねたときに未解決になります。",
)
_OWN = {  # channels of ours beside the rooms: `kotae chat`, `kotae ask`, POST /chat, /mcp
    "terminal": Text(en="Terminal", ja="ターミナル"),
    "pipe": Text(en="Terminal (single questions)", ja="ターミナル（単発の質問）"),
    "http": Text(en="HTTP API", ja="HTTP API"),
    "mcp": Text(en="Coding assistants (MCP)", ja="コーディングアシスタント（MCP）"),
}
_ASKED, _ANSWERED = Text(en="Questions", ja="質問"), Text(en="Answered", ja="回答済み")
_OTHERWISE = Text(en="declined or outage", ja="対象外・障害")
_MISSED = Text(en="Misses", ja="未解決")
_SHARE = Text(en="{part} of {whole} ({share:.0%})", ja="{whole} 件中 {part} 件（{share:.0%}）")
_VOTES = Text(en="Votes in these days, 👍 / 👎", ja="期間中の評価 👍 / 👎")
_TURN_TIME = Text(en="Time of {n} answer{n:|s}, p50 / p95", ja="回答 {n} 件の時間 p50 / p95")
_SEARCH_TIME = Text(en="Time of {n} search{n:|es}, p50 / p95", ja="検索 {n} 回の時間 p50 / p95")
_TOKENS = Text(en="Model calls, tokens", ja="モデルの呼び出し・トークン")
_MONEY = Text(
    en="Tokens of paid models; the cost depends on your provider’s prices.",
    ja="有料モデルのトークン数です。料金はプロバイダーの単価によって決まります。",
)
_BY_DAY = Text(en="Questions by outcome", ja="質問（結果別）")
_TIMES = Text(en="Time to the answer", ja="回答までの時間")
_SEARCHES = Text(en="Time of a search", ja="検索の時間")
_RELEVANCE = Text(en="Best relevance of the answers", ja="回答の最高関連度の分布")
_UNMEASURED = Text(
    en="{n} of {whole} question{whole:|s} needed no search and {n:is|are} not included.",
    ja="質問 {whole} 件のうち、検索をしなかった {n} 件は含みません。",
)
_MISS_DAYS = Text(en="Misses by reason", ja="未解決の質問（理由別）")
_COST_DAYS = Text(en="Tokens by model", ja="トークン（モデル別）")
_WRONG = Text(en="Reasons of 👎", ja="👎 の理由")
_COLOURED: tuple[MissReason, ...] = ("reported", "low_confidence", "unknown")  # what both charts have is of one colour
_NO_REASON = Text(en="none given", ja="理由なし")
_COLLECTIONS, _CHANNELS = Text(en="Collections", ja="コレクション"), Text(en="Channels", ja="チャンネル")
_COLLECTION_NAMES = (
    Text(en="Collection", ja="コレクション"),
    Text(en="searched", ja="検索"),
    Text(en="found in", ja="該当あり"),
    Text(en="cited", ja="引用"),
    OUTCOMES["answered"],
    REASONS["low_confidence"],
    OUTCOMES["unknown"],
    _OTHERWISE,
)
_SEVERAL = Text(
    en="A question that searched several collections counts in each of them.",
    ja="複数のコレクションを検索した質問は、それぞれで 1 件と数えます。",
)
_CHANNEL_NAMES = (
    Text(en="Channel", ja="チャンネル"),
    Text(en="questions", ja="質問"),
    OUTCOMES["answered"],
    REASONS["low_confidence"],
    OUTCOMES["unknown"],
    _OTHERWISE,
    Text(en="mean time", ja="平均回答時間"),
    Text(en="last", ja="最新の質問"),
)
_OTHERS = Text(en="private places you are not in", ja="参加していない非公開の場所")
_SECONDS, _MS = Text(en="seconds", ja="秒"), Text(en="ms", ja="ミリ秒")


async def _build(site: Site, who: Visitor, request: Request) -> None:
    language = who.language
    wanted = request.query_params.get("days", "")
    period = next((each for each in PERIODS if str(each) == wanted), PERIODS[1])
    with ui.row().classes("items-center"):
        for each in PERIODS:
            link = ui.link(_DAYS.to(language, n=each), f"/metrics?days={each}").classes("kotae-room")
            if each == period:
                link.classes("kotae-here").props('aria-current="true"')
        about = (_PRIVATE.to(language), _DAYS_OF.to(language, zone=site.app.settings.timezone_name))
        ui.label(("" if language == "ja" else " ").join(about)).classes("kotae-quiet")
    found = await site.app.metrics(period, who.readers)
    sums = found.sums
    asked = sum(found.outcomes.values())
    measured = sum(day.searches - day.failed for day in sums.searches)
    components.numbers(
        [
            (_ASKED.to(language), f"{asked:,}"),
            *(
                (_heading(said, language), _share(found.outcomes.get(name, 0), asked, language))
                for name, said in TURN_OUTCOMES.items()
            ),
            (_MISSED.to(language), _share(sum(found.reasons.values()), asked, language)),
            (_VOTES.to(language), f"{sums.feedback.up:,} / {sums.feedback.down:,}"),
            (_TURN_TIME.to(language, n=f"{asked:,}"), _latency(sums.seconds, "s")),
            (_SEARCH_TIME.to(language, n=f"{measured:,}"), _latency(sums.ms, "ms")),
            (
                _TOKENS.to(language),
                f"{found.cost.calls:,} / "
                f"{found.cost.input_tokens + found.cost.output_tokens + found.cost.thought_tokens:,}",
            ),
        ]
    )
    ui.label(_ONCE.to(language, n=ALIKE)).classes("kotae-quiet")
    if not asked and not any(day.searches for day in sums.searches):
        components.empty(_NONE.to(language))
    _charts(found, language)
    _tables(found, who)


def _charts(found: Metrics, language: Language) -> None:
    sums = found.sums
    days = [_day(one.day) for one in sums.turns]
    with ui.element("div").classes("kotae-charts"):
        with _box(_BY_DAY, language):
            series = {
                said.to(language): [one.outcomes.get(name, 0) for one in sums.turns]
                for name, said in TURN_OUTCOMES.items()
            }
            components.chart(_BY_DAY.to(language), days, series, stacked=True)
        with _box(_MISS_DAYS, language):
            misses = {
                REASONS[name].to(language): [dict(one.reasons).get(name, 0) for one in sums.misses]
                for name in _COLOURED
            }
            components.chart(_MISS_DAYS.to(language), [_day(one.day) for one in sums.misses], misses, stacked=True)
        with _box(_TIMES, language):
            turns = {
                "p50": [_rounded(one.seconds.p50) for one in sums.turns],
                "p95": [_rounded(one.seconds.p95) for one in sums.turns],
            }
            components.chart(_TIMES.to(language), days, turns, kind="line", unit=_SECONDS.to(language))
        with _box(_SEARCHES, language):
            searches = {
                "p50": [_rounded(one.ms.p50) for one in sums.searches],
                "p95": [_rounded(one.ms.p95) for one in sums.searches],
            }
            names = [_day(one.day) for one in sums.searches]
            components.chart(_SEARCHES.to(language), names, searches, kind="line", unit=_MS.to(language))
        with _box(_RELEVANCE, language):
            tenths = [f"{tenth / 10:.1f}" for tenth in range(len(sums.relevance))]
            components.chart(_RELEVANCE.to(language), tenths, {_ASKED.to(language): list(sums.relevance)})
            if sums.unmeasured:
                whole = sum(found.outcomes.values())
                ui.label(_UNMEASURED.to(language, n=sums.unmeasured, whole=whole)).classes("kotae-quiet")
        if found.spent:
            with _box(_COST_DAYS, language):
                _cost(found, language)


def _cost(found: Metrics, language: Language) -> None:
    days = sorted({one.day for one in found.spent})
    models: dict[str, list[float | None]] = {}
    for model in dict.fromkeys(one.model for one in found.spent):
        by_day = {
            one.day: one.cost.input_tokens + one.cost.output_tokens + one.cost.thought_tokens
            for one in found.spent
            if one.model == model
        }
        models[model] = [by_day.get(day, 0) for day in days]
    components.chart(_COST_DAYS.to(language), [_day(day) for day in days], models, stacked=True)
    ui.label(_MONEY.to(language)).classes("kotae-quiet")


def _tables(found: Metrics, who: Visitor) -> None:
    language = who.language
    if found.sums.feedback.reasons:
        components.heading(_WRONG.to(language))
        said = {str(name): words.to(language) for name, words in COMPLAINTS.items()}
        counted = found.sums.feedback.reasons.items()
        components.numbers([(said.get(name, _NO_REASON.to(language)), str(count)) for name, count in counted])
    components.heading(_COLLECTIONS.to(language))
    with components.table(*(name.to(language) for name in _COLLECTION_NAMES)):
        for one in found.collections:
            components.row(
                one.collection,
                *(f"{n:,}" for n in (one.searched, one.found, one.cited)),
                *(f"{n:,}" for n in (one.answered, one.unsure, one.unknown, one.otherwise)),
            )
    ui.label(_SEVERAL.to(language)).classes("kotae-quiet")
    components.heading(_CHANNELS.to(language))
    with components.table(*(name.to(language) for name in _CHANNEL_NAMES)):
        for channel in found.channels:
            hidden = channel.place is None  # what is asked there only counts
            components.row(
                _OTHERS.to(language) if channel.place is None else _place(channel.place, language),
                f"{channel.turns:,}",
                *(f"{n:,}" for n in _counted(channel.outcomes)),
                "–" if hidden else f"{channel.mean_seconds:.2f} s",
                "–" if hidden else partial(components.When, who, channel.last),
            )


def _counted(outcomes: Mapping[str, int]) -> list[int]:
    """Answered, unsure, not found, and otherwise: all of them."""
    named = [outcomes.get(name, 0) for name in ("answered", "unsure", "unknown")]
    return [*named, sum(outcomes.values()) - sum(named)]


def _place(place: Place, language: Language) -> str:
    if place.platform == PLATFORM:
        return next((room.name.to(language) for room in ROOMS if room.id == place.channel), place.channel)
    own = _OWN.get(place.channel) if place.workspace == "local" else None
    return own.to(language) if own else f"{place.platform}: {place.channel}"


def _box(title: Text, language: Language) -> ui.element:
    box = ui.element("div").classes("kotae-card")
    with box:
        ui.label(title.to(language)).classes("text-weight-bold")
    return box


def _day(day: date) -> str:
    return f"{day:%m-%d}"


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 2)


def _heading(said: Text, language: Language) -> str:
    text = said.to(language)
    return text[:1].upper() + text[1:]


def _share(part: int, whole: int, language: Language) -> str:
    return _SHARE.to(language, part=f"{part:,}", whole=f"{whole:,}", share=part / whole) if whole else "0"


def _latency(latency: Latency, unit: str) -> str:
    if latency.p50 is None or latency.p95 is None:
        return "–"
    places = 2 if unit == "s" else 0
    return f"{latency.p50:.{places}f} / {latency.p95:.{places}f} {unit}"


PAGE = Page("/metrics", _TITLE, "insights", _build)
