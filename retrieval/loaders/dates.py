"""The date that a file states of itself: when it was last changed, else when it was made. Always ISO: a day
`2026-04-01`, a month `2026-04`, or empty where it states none that can be read without guessing (05/04/2026 is not).

Source: gohugo.io/content-management/front-matter; jekyllrb.com/docs/front-matter; ogp.me; schema.org/dateModified;
dublincore.org dcterms; ECMA-376 part 2, core properties; ISO 32000-1 §14.3.3.
"""

import re
import unicodedata
from collections.abc import Iterable
from datetime import date

# Names of fields, letters alone: those that people and programs give the last change, then those of the beginning.
_NAMES = [
    "updated",
    "lastupdated",
    "updatedat",
    "updatedon",
    "dateupdated",
    "lastmod",
    "lastmodified",
    "lastmodifiedat",
    "lastmodifieddate",
    "modified",
    "modifiedat",
    "modifiedon",
    "datemodified",
    "articlemodifiedtime",
    "ogupdatedtime",
    "dctermsmodified",
    "dcdatemodified",
    "dcmodified",
    "govukpublicupdatedat",
    "revised",
    "lastreviewed",
    "lastreviewedon",
    "最終更新日",
    "最終更新日時",
    "最終更新",
    "更新日",
    "更新日時",
    "改定日",
    "改訂日",
    "date",
    "published",
    "publishedat",
    "publishedon",
    "publishdate",
    "pubdate",
    "datepublished",
    "articlepublishedtime",
    "dctermsissued",
    "dctermsdate",
    "dcdate",
    "dcdateissued",
    "issued",
    "dctermscreated",
    "dcdatecreated",
    "created",
    "createdat",
    "createdon",
    "datecreated",
    "公開日",
    "発行日",
    "制定日",
    "施行日",
    "作成日",
    "日付",
]
_RANK = {name: rank for rank, name in enumerate(_NAMES)}
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_MONTH = rf"(?P<name>{'|'.join(_MONTHS)})[a-z]*\.?"
_ERAS = {"令和": 2018, "平成": 1988, "昭和": 1925}
_FORMS = [
    re.compile(form)
    for form in (
        r"(?P<year>\d{4})(?P<month>\d\d)(?P<day>\d\d)(?!\d)",
        r"(?P<year>\d{4})(?P<sep>[-/.])(?P<month>\d{1,2})(?:(?P=sep)(?P<day>\d{1,2}))?(?!\d)",
        r"(?:(?P<era>令和|平成|昭和)\s*(?P<since>\d{1,2}|元)|(?P<year>\d{4}))\s*年\s*(?P<month>\d{1,2})\s*月(?:\s*(?P<day>\d{1,2})\s*日)?",
        rf"(?:[a-z]+,\s*)?(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s+{_MONTH},?\s+(?P<year>\d{{4}})(?!\d)",
        rf"(?:[a-z]+,\s*)?{_MONTH}(?:\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?,?)?\s+(?P<year>\d{{4}})(?!\d)",
    )
]


def iso_date(text: str) -> str:
    """The day or month that a text begins with."""
    text = unicodedata.normalize("NFKC", text).strip().strip("\"'[(@ ").lower()
    found = next(filter(None, (form.match(text) for form in _FORMS)), None)
    if found is None:
        return ""
    parts = found.groupdict()
    if era := parts.get("era"):
        year = _ERAS[era] + (1 if parts["since"] == "元" else int(parts["since"]))
    else:
        year = int(parts["year"])
    month = _MONTHS.index(parts["name"]) + 1 if parts.get("name") else int(parts["month"])
    try:
        day = date(year, month, int(parts["day"] or 1))
    except ValueError:
        return ""
    return (day.isoformat() if parts["day"] else f"{day:%Y-%m}") if 1900 <= year < 2200 else ""


def stated(fields: Iterable[tuple[str, str]]) -> str:
    """Of named values the date of the last change, else of the beginning."""
    found: dict[int, str] = {}
    for name, value in fields:
        rank = _RANK.get("".join(filter(str.isalpha, name.lower())))
        if rank is not None and (day := iso_date(value)):
            found.setdefault(rank, day)
    return found[min(found)] if found else ""
