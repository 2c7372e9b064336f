"""Datasets: three with a name from the Hugging Face hub, and files of one's own; looked at, cleaned, limited, added.

Source: product.md §3 and §6; seeds/0_agent_rag.md §1.2, §1.3 and §4.2.
"""

from nicegui import events, ui

from adapters.web.pages.datasets.add import AddDatasets
from adapters.web.pages.datasets.jobs import DatasetJobs
from adapters.web.pages.shared import components
from adapters.web.pages.shared.layout import Page, saying
from adapters.web.visitor import Site, Visitor
from retrieval.datasets import NAMED, Dataset
from retrieval.i18n import Text

FILE_BYTES = 25 * 1024 * 1024  # what a browser may send at once (`adapters.web.server.guard.UPLOAD_BYTES`)
_EVERY = 1.0  # seconds between two looks at the jobs

_TITLE = Text(en="Datasets", ja="データセット")
_ABOUT = Text(
    en="Each row of a dataset becomes a document of a collection: cleaned, without duplicates, up to the "
    "limits you set. Only what is read is downloaded.",
    ja="データセットを 1 行ずつ前処理し、重複を除いて、指定した上限までコレクションに文書として追加します。"
    "ダウンロードするのは読み込む分だけです。",
)
_PAGE = Text(en="Page on Hugging Face", ja="Hugging Face のページ")
_LICENCE = Text(en="Licence", ja="ライセンス")
_CHOOSE = Text(en="Choose", ja="選択")
_OWN = Text(en="A file of your own", ja="手元のファイル")
_OWN_ABOUT = Text(
    en="csv, tsv, txt, json or jsonl, one document per row; Japanese encodings are recognised. At most 25 MiB.",
    ja="csv、tsv、txt、json、jsonl に対応しています（1 行を 1 つの文書として追加）。"
    "日本語の文字コードは自動で判別します。25 MiB までです。",
)
_OWN_PAIRS = Text(
    en="To turn rows of questions and answers into Q/A pairs, add the file on the page Documents.",
    ja="質問と回答の表は、「文書」ページから追加すると Q/A ペアになります。",
)
_DROP = Text(en="Drop a file here or choose it", ja="ファイルをここにドロップするか選択")
_TOO_BIG = Text(en="The file was too large: at most 25 MiB.", ja="ファイルが大きすぎます。25 MiB までです。")


class _Datasets:
    def __init__(self, site: Site, who: Visitor) -> None:
        self._site = site
        self._who = who
        self._jobs = DatasetJobs(site, who)
        self._adding = AddDatasets(site, who, self._jobs.refresh)

    async def build(self) -> None:
        language = self._who.language
        ui.label(_ABOUT.to(language)).classes("kotae-quiet")
        with ui.element("div").classes("kotae-offers"):
            for dataset in NAMED.values():
                self._offer(dataset)
            self._own()
        self._adding.build()
        await self._jobs.build()
        ui.context.client.on_delete(self._adding.drop)
        ui.timer(_EVERY, self._tick, immediate=False)

    def _offer(self, dataset: Dataset) -> None:
        language = self._who.language

        async def choose() -> None:
            with saying(language):
                await self._adding.dataset(dataset)

        with ui.column().classes("kotae-card"):
            components.heading(dataset.title.to(language))
            ui.label(dataset.description.to(language))
            ui.label(dataset.licence.to(language)).classes("kotae-quiet")
            with ui.row():
                ui.link(_PAGE.to(language), dataset.page, new_tab=True)
                if dataset.licence_url is not None:
                    ui.link(_LICENCE.to(language), dataset.licence_url, new_tab=True)
            ui.space()
            button = ui.button(_CHOOSE.to(language), icon="tune", on_click=choose).props("outline no-caps")
            button.classes("self-start").mark(dataset.name)

    def _own(self) -> None:
        language = self._who.language
        with ui.column().classes("kotae-card"):
            components.heading(_OWN.to(language))
            ui.label(_OWN_ABOUT.to(language))
            ui.label(_OWN_PAIRS.to(language)).classes("kotae-quiet")
            upload = ui.upload(
                label=_DROP.to(language),
                auto_upload=True,
                max_file_size=FILE_BYTES,
                on_upload=self._came,
                on_rejected=lambda: ui.notify(_TOO_BIG.to(language), type="warning"),
            ).classes("kotae-drop")
            upload.on("finish", upload.reset, args=[])
            components.tells_failure(upload, language)

    async def _came(self, event: events.UploadEventArguments) -> None:
        with saying(self._who.language):
            datasets = self._site.app.datasets
            file = await datasets.keep(event.file.name, event.file.iterate())
            await self._adding.file(file, await datasets.inspect(file))

    async def _tick(self) -> None:
        with saying(self._who.language):
            await self._jobs.refresh()


PAGE = Page("/datasets", _TITLE, "dataset", lambda site, who, request: _Datasets(site, who).build())
