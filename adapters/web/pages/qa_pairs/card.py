"""One pair on its page: question, answer, who may find it, the passage it was written from, and what can be done."""

from collections.abc import Awaitable, Callable
from typing import Literal

from nicegui import ui

from adapters.web.pages.shared import components
from adapters.web.pages.shared.curators import readers_of
from adapters.web.pages.shared.layout import saying
from adapters.web.visitor import Visitor
from bot.qa_pairs.pairs import Pair, Pairs
from bot.records import PairState
from retrieval.i18n import Text

Decision = Literal["approved", "rejected", "pending"]


STATES: dict[PairState, Text] = {
    "pending": Text(en="to review", ja="未確認"),
    "approved": Text(en="approved", ja="承認済み"),
    "rejected": Text(en="rejected", ja="却下"),
    "repeated": Text(en="duplicate", ja="重複"),
}
_COLOURS = {"approved": "kotae-good", "rejected": "kotae-bad"}
_MARKED = Text(en="To check: its passage may not say this.", ja="要確認: 元の箇所の内容と合わない可能性があります。")
_STALE = Text(
    en="Written from an earlier version of the document. Create it again.",
    ja="文書の古い版から作成されたペアです。もう一度作成してください。",
)
_EDITED = Text(en="edited", ja="編集済み")
_ABOUT = Text(en="{collection} · who may find it: {readers}", ja="{collection} · 公開範囲: {readers}")
_SOURCE = Text(en="The passage", ja="元の箇所")
_GONE = Text(
    en="The passage is no longer there: the document has changed or was forgotten.",
    ja="元の箇所はもうありません。文書が更新または削除されています。",
)
_APPROVE, _REJECT = Text(en="Approve", ja="承認"), Text(en="Reject", ja="却下")
_EDIT, _BACK = Text(en="Edit", ja="編集"), Text(en="Back to review", ja="未確認に戻す")
_NOT_YOURS = Text(
    en="Only editors may decide about pairs for these readers.",
    ja="この公開範囲のペアを承認・却下できるのは編集者だけです。",
)


class PairCard:
    """For one visitor. What is decided is asked for with `decide` and `edit`; `may_decide`: whether it is theirs to."""

    def __init__(
        self,
        pairs: Pairs,
        who: Visitor,
        *,
        may_decide: Callable[[Pair], bool],
        decide: Callable[[Pair, Decision], Awaitable[None]],
        edit: Callable[[Pair], None],
    ) -> None:
        self._pairs = pairs
        self._who = who
        self._may_decide = may_decide
        self._decide = decide
        self._pair: Pair | None = None
        language = who.language
        with ui.column().classes("kotae-card") as self.root:
            self._question = ui.label().classes("text-weight-medium kotae-pre")
            self._answer = ui.label().classes("kotae-pre")
            self._marked = ui.label(_MARKED.to(language)).classes("kotae-warn")
            self._stale = ui.label(_STALE.to(language)).classes("kotae-warn")
            with ui.row().classes("items-baseline kotae-about"):
                self._state = ui.label().classes("text-weight-bold")
                self._edited = ui.label(_EDITED.to(language)).classes("kotae-quiet")
                self._document = ui.link("", "").classes("kotae-pre")
                self._about = ui.label().classes("kotae-quiet")
            with ui.row().classes("kotae-about"):
                self._approve = ui.button(_APPROVE.to(language), icon="check", on_click=lambda: self._do("approved"))
                self._reject = ui.button(_REJECT.to(language), icon="block", on_click=lambda: self._do("rejected"))
                self._edit = ui.button(_EDIT.to(language), icon="edit", on_click=lambda: edit(self._now))
                self._back = ui.button(_BACK.to(language), icon="undo", on_click=lambda: self._do("pending"))
                self._source = ui.button(_SOURCE.to(language), icon="article", on_click=self._turn)
                self._source.props("aria-expanded=false")
                buttons = {"approve": self._approve, "reject": self._reject, "edit": self._edit, "back": self._back}
                for mark, button in (buttons | {"source": self._source}).items():
                    button.props("flat no-caps dense").mark(mark)
            self._not_yours = ui.label(_NOT_YOURS.to(language)).classes("kotae-quiet")
            self._passage = ui.column().classes("full-width kotae-raw")
            self._passage.set_visibility(False)

    @property
    def _now(self) -> Pair:
        assert self._pair is not None  # `put` comes first
        return self._pair

    def put(self, pair: Pair) -> None:
        if pair == self._pair:
            return
        who, before = self._who, self._pair
        self._pair = pair
        language = who.language
        self._state.set_text(STATES[pair.state].to(language))
        self._state.classes(add=_COLOURS.get(pair.state, ""), remove=" ".join(_COLOURS.values()))
        self._question.set_text(pair.question)
        self._answer.set_text(pair.answer)
        self._document.set_text(pair.name)
        self._document.props["href"] = f"/documents?document={pair.document}"
        readers = readers_of(pair.scope, who)
        self._about.set_text(_ABOUT.to(language, collection=pair.collection, readers=readers))
        theirs = self._may_decide(pair)
        for element, there in (
            (self._edited, pair.edited),
            (self._marked, pair.marked),
            (self._stale, pair.stale),
            (self._approve, theirs and pair.state != "approved" and not pair.stale),
            (self._reject, theirs and pair.state != "rejected"),
            (self._edit, theirs),
            (self._back, theirs and pair.state in ("approved", "rejected")),
            (self._not_yours, not theirs),
        ):
            element.set_visibility(there)
        if before is not None and before.stale != pair.stale:
            self._close()

    async def _do(self, decision: Decision) -> None:
        await self._decide(self._now, decision)

    def _close(self) -> None:
        self._passage.set_visibility(False)
        self._source.props("aria-expanded=false")

    async def _turn(self) -> None:
        """Open the passage, or close it."""
        if self._passage.visible:
            self._close()
            return
        language = self._who.language
        self._passage.clear()
        self._passage.set_visibility(True)
        self._source.props("aria-expanded=true")
        with self._passage, saying(language, inline=True):
            passage = await self._pairs.source(self._now, self._who.readers)
            if passage is None:
                ui.label(_GONE.to(language)).classes("kotae-quiet")
                return
            if passage.headings:
                ui.label(" › ".join(passage.headings)).classes("kotae-quiet")
            components.passage(passage.text, passage.url, language)
