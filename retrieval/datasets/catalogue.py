"""The datasets with a name: where they are on the hub, what they hold, and what their licence asks for."""

from dataclasses import dataclass

from retrieval.i18n import Text


@dataclass(frozen=True, slots=True)
class Dataset:
    """A dataset on the hub. `config`: the folder of its files, None when it has only one."""

    name: str
    title: Text
    description: Text
    licence: Text
    licence_url: str | None
    repository: str
    config: str | None
    credit: str  # whom a document names as its source

    @property
    def page(self) -> str:
        return f"https://huggingface.co/datasets/{self.repository}"


WIKIPEDIA_JA = Dataset(
    name="wikipedia_ja",
    title=Text(en="Wikipedia (Japanese)", ja="Wikipedia 日本語版"),
    description=Text(
        en="Articles of the Japanese Wikipedia as of 1 November 2023: 1.39 million, general knowledge.",
        ja="Wikipedia 日本語版の記事（2023 年 11 月 1 日時点、約 139 万件）。一般的な知識です。",
    ),
    licence=Text(
        en="CC BY-SA 3.0 and GFDL: name the source and its licence; share changes under the same licence.",
        ja="CC BY-SA 3.0 および GFDL: 出典とライセンスの表示が必要です。改変したものは同じライセンスで公開します。",
    ),
    licence_url="https://creativecommons.org/licenses/by-sa/3.0/",
    repository="wikimedia/wikipedia",
    config="20231101.ja",
    credit="出典: Wikipedia 日本語版「{title}」（CC BY-SA 3.0）",
)
CC_NEWS = Dataset(
    name="cc_news",
    title=Text(en="CC-News (English)", ja="CC-News（英語ニュース）"),
    description=Text(
        en="English news articles that Common Crawl collected from January 2017 to December 2019: 708,000.",
        ja="Common Crawl が 2017 年 1 月～2019 年 12 月に集めた英語のニュース記事（約 70.8 万件）。",
    ),
    licence=Text(
        en="No licence is stated: the articles belong to their publishers. Do not pass them on.",
        ja="ライセンスの記載がなく、記事の権利は各発行元にあります。再配布しないでください。",
    ),
    licence_url=None,
    repository="vblagoje/cc_news",
    config=None,
    credit="Source: CC-News, “{title}”",
)
LIVEDOOR = Dataset(
    name="livedoor",
    title=Text(en="Livedoor news corpus (Japanese)", ja="livedoor ニュースコーパス"),
    description=Text(
        en="7,367 Japanese news articles of nine kinds (topics, sports, IT, films, household goods …), until 2012.",
        ja="日本語のニュース記事 7,367 件（トピックス、スポーツ、IT、映画、家電など 9 分野、2012 年まで）。",
    ),
    licence=Text(
        en="CC BY-ND 2.1 JP: name the source; changed articles may not be passed on.",
        ja="CC BY-ND 2.1 JP: 出典の表示が必要です。記事を改変して再配布することはできません。",
    ),
    licence_url="https://creativecommons.org/licenses/by-nd/2.1/jp/",
    repository="llm-book/livedoor-news-corpus",
    config=None,
    credit="出典: livedoor ニュース「{title}」（livedoor ニュースコーパス、CC BY-ND 2.1 JP）",
)

NAMED: dict[str, Dataset] = {dataset.name: dataset for dataset in (WIKIPEDIA_JA, CC_NEWS, LIVEDOOR)}
