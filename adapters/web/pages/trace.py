"""How an answer came about: its queries, what they found and how good that was, the review, times and tokens.

Source: seeds/1_react_reflection.md; product.md §1.
"""

from nicegui import ui
from starlette.requests import Request

from adapters.markdown.events import LABELS, STEPS, VERDICTS
from adapters.shared.expert_answers import ANSWER, QUESTION
from adapters.web.pages.shared import components
from adapters.web.pages.shared.layout import Page
from adapters.web.visitor import Site, Visitor
from agent.events import Drafted, Reflected, Thought, ToolCalled, ToolReturned
from bot.texts import OUTCOMES
from bot.turns.trace import Kind, Trace, TracedHit, TracedStep
from retrieval.i18n import Language, Text

_TITLE = Text(en="How I found this", ja="回答の過程")
_MISSING = Text(
    en="There is no such answer here: it was deleted, is not finished yet, or belongs to a place you cannot read.",
    ja="該当する回答がありません。削除されたか、まだ完了していないか、閲覧できない場所の回答です。",
)
_ANSWER_GONE = Text(
    en="The answer quotes a document that was forgotten or that you cannot read, so it is not shown.",
    ja="削除された、または閲覧できない文書を引用しているため、回答を表示しません。",
)
_THREAD = Text(en="To the thread", ja="スレッドを開く")
_NO_STEPS = Text(en="No steps were kept for this answer.", ja="この回答の途中経過は記録されていません。")
_OUTCOME = Text(en="Outcome", ja="結果")
_MODEL = Text(en="Model, strategy", ja="モデル・戦略")
_TIME = Text(en="Time", ja="所要時間")
_TIMES = Text(en="{seconds:.2f} s, {waited:.2f} of them waiting", ja="{seconds:.2f} 秒（うち待ち時間 {waited:.2f} 秒）")
_TOKENS = Text(en="Model calls, tokens", ja="モデルの呼び出し・トークン")
_COST = Text(en="{calls}; {input} in, {output} out", ja="{calls} 回、入力 {input}、出力 {output}")
_BEST = Text(en="Best relevance", ja="最高関連度")
_SEARCHED = Text(en="Searched in", ja="検索先")
_MARKED = Text(
    en="a claim could not be confirmed, and the answer says so", ja="確認できない記述があり、回答に明記しています"
)
_KINDS: dict[Kind, Text] = {
    "began": Text(en="▶️ Started", ja="▶️ 開始"),
    "thought": LABELS[Thought],
    "tool_call": LABELS[ToolCalled],
    "tool_result": LABELS[ToolReturned],
    "draft": LABELS[Drafted],
    "reflection": LABELS[Reflected],
    "answer": Text(en="✅ Answer", ja="✅ 回答"),
}
_AT = Text(en="at {at:.2f} s, took {seconds:.2f} s", ja="{at:.2f} 秒時点、所要 {seconds:.2f} 秒")
_FAILED = Text(en="failed", ja="失敗")
_WITHHELD = Text(
    en="Left out: it may quote a document that was forgotten or that you cannot read.",
    ja="削除された、または閲覧できない文書の内容を含む可能性があるため、表示しません。",
)
_HIT = Text(en="{document} #{chunk} ({collection})", ja="{document} #{chunk}（{collection}）")
_NO_NAME = Text(en="a document that was forgotten or that you cannot read", ja="削除された、または閲覧できない文書")
_RELEVANCE = Text(en="relevance {relevance:.2f}", ja="関連度 {relevance:.2f}")
_CITED = Text(en="cited in the answer", ja="回答で引用")
_STATES = {
    "changed": Text(en="The document has changed since.", ja="その後、文書が更新されています。"),
    "gone": Text(en="It is no longer there, or you cannot read it.", ja="削除されたか、閲覧できません。"),
    "unknown": Text(en="The passage could not be loaded.", ja="該当箇所を取得できませんでした。"),
}


async def _build(site: Site, who: Visitor, request: Request) -> None:
    turn = request.path_params["turn"]
    found = await site.app.trace(turn, who.readers) if turn.isalnum() else None
    if found is None:
        components.empty(_MISSING.to(who.language))
        return
    language = who.language
    components.heading(QUESTION.to(language))
    ui.label(found.question).classes("kotae-pre text-body1")
    components.link(_THREAD.to(language), found.link)
    components.heading(ANSWER.to(language))
    if found.unsure and found.outcome == "answered":
        components.doubt(language)
    if found.answer is None:
        ui.label(_ANSWER_GONE.to(language)).classes("kotae-quiet")
    else:
        components.passage(found.answer, None, language)
    if found.marked:
        ui.label(_MARKED.to(language)).classes("kotae-warn")
    _numbers(found, language)
    components.heading(STEPS.to(language))
    if not found.steps:
        components.empty(_NO_STEPS.to(language))
    for step in found.steps:
        _step(step, language)


def _numbers(found: Trace, language: Language) -> None:
    cost = found.cost
    components.numbers(
        [
            (_OUTCOME.to(language), OUTCOMES[found.outcome].to(language)),
            (_MODEL.to(language), " · ".join(filter(None, (found.model, found.strategy))) or "–"),
            (_TIME.to(language), _TIMES.to(language, seconds=found.seconds, waited=found.waited)),
            (
                _TOKENS.to(language),
                _COST.to(
                    language,
                    calls=cost.calls,
                    input=cost.input_tokens,
                    output=cost.output_tokens + cost.thought_tokens,
                ),
            ),
            (_BEST.to(language), "–" if found.confidence is None else f"{found.confidence:.2f}"),
            (_SEARCHED.to(language), ("、" if language == "ja" else ", ").join(found.searched) or "–"),
        ]
    )


def _step(step: TracedStep, language: Language) -> None:
    with ui.element("div").classes("kotae-card"):
        with ui.row().classes("items-baseline"):
            ui.label(_KINDS[step.kind].to(language)).classes("text-weight-bold")
            if step.verdict is not None:
                ui.badge(VERDICTS[step.verdict].to(language), outline=True)
            if step.failed:
                ui.label(_FAILED.to(language)).classes("kotae-bad")
            ui.label(_AT.to(language, at=step.at, seconds=step.seconds)).classes("kotae-quiet")
        if step.withheld:
            ui.label(_WITHHELD.to(language)).classes("kotae-quiet")
        if step.tool:
            given = ", ".join(f"{name}: {value}" for name, value in step.arguments.items())
            ui.label(f"{step.tool} {given}".strip()).classes("kotae-code kotae-pre")
        if step.text:
            ui.label(step.text).classes("kotae-pre")
        for hit in step.hits:
            _hit(hit, language)


def _hit(hit: TracedHit, language: Language) -> None:
    name = _NO_NAME.to(language) if hit.document is None else hit.document
    title = _HIT.to(language, document=name, chunk=hit.chunk, collection=hit.collection)
    numbers = [_RELEVANCE.to(language, relevance=hit.relevance), components.scores_text(hit.scores)]
    if hit.cited:
        numbers.insert(0, _CITED.to(language))
    with ui.expansion(title, caption=" · ".join(filter(None, numbers))).classes("kotae-source"):
        if hit.text is None:
            ui.label(_STATES[hit.state].to(language) if hit.state != "shown" else "").classes("kotae-quiet")
        else:
            if hit.headings:
                ui.label(" › ".join(hit.headings)).classes("kotae-quiet")
            components.passage(hit.text, hit.url, language)
            components.to_document(hit.document_id, hit.chunk, "", language)


PAGE = Page("/trace/{turn}", _TITLE, "account_tree", _build, listed=False)
