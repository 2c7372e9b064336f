"""Words that people see, in both languages."""

import errno
import string
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal

Language = Literal["ja", "en"]


class _Counting(string.Formatter):
    def format_field(self, value: object, spec: str) -> str:
        one, several, many = spec.partition("|")
        if several:
            return one if value in (1, "1") else many
        return str(super().format_field(value, spec))


_counting = _Counting()


_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


@dataclass(frozen=True, slots=True)
class Text:
    """One message to people, in both languages: `Text(en="…{name}…", ja="…{name}…")`.

    `{n:one|many}` is the first when `n` is 1: “{n} file{n:|s}”. A value that is a Text is put in in its language, and a
    path as it can be read.
    """

    en: str
    ja: str

    def to(self, language: Language, **values: object) -> str:
        text = self.ja if language == "ja" else self.en
        said = {name: _put_in(value, language) for name, value in values.items()}
        return _counting.format(text, **said) if said else text


def _put_in(value: object, language: Language) -> object:
    if isinstance(value, Text):
        return value.to(language)
    return readable(str(value)) if isinstance(value, PurePath) else value


def readable(text: str) -> str:
    """Bytes of an argument or a file's name that are not UTF-8 become U+FFFD."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def filled(message: Text, **values: object) -> Text:
    """The message with its values put in, in both languages."""
    return Text(en=message.to("en", **values), ja=message.to("ja", **values)) if values else message


class TextError(Exception):
    """A failure whose `reason` is fit for people, as it is `said` with its values; its own text is English, for the
    log."""

    def __init__(self, reason: Text, **values: object) -> None:
        self.reason = reason
        self.said = filled(reason, **values)
        super().__init__(self.said.en)

    def text(self, language: Language) -> str:
        return self.said.to(language)


_REFUSALS = {
    errno.ENOENT: "ファイルまたはフォルダーがありません",
    errno.EACCES: "アクセス権がありません",
    errno.EPERM: "許可されていない操作です",
    errno.EEXIST: "同じ名前のものがすでにあります",
    errno.ENOTDIR: "フォルダーではありません",
    errno.EISDIR: "フォルダーです",
    errno.ENOTEMPTY: "フォルダーが空ではありません",
    errno.ENOSPC: "ディスクに空きがありません",
    errno.EDQUOT: "ディスクの割り当てを使い切りました",
    errno.EFBIG: "ファイルが大きすぎます",
    errno.EROFS: "読み取り専用です",
    errno.EIO: "入出力エラーが発生しました",
    errno.EBUSY: "使用中です",
    errno.ENAMETOOLONG: "名前が長すぎます",
    errno.ELOOP: "シンボリックリンクが循環しています",
    errno.EMFILE: "開いているファイルが多すぎます",
    errno.ENFILE: "開いているファイルが多すぎます",
    errno.ENOMEM: "メモリが足りません",
    errno.EADDRNOTAVAIL: "このマシンのアドレスではありません",
    errno.ECONNREFUSED: "接続を拒否されました",
    errno.ETIMEDOUT: "応答がありません",
    errno.EHOSTUNREACH: "ホストに到達できません",
    errno.ENETUNREACH: "ネットワークに到達できません",
}


def os_reason(error: OSError) -> Text:
    """Why the system refused. It speaks English only: of what is not translated here that is said in both languages."""
    en = error.strerror or type(error).__name__
    return Text(en=en, ja=_REFUSALS.get(error.errno or 0, en))


def date_words(date: str, language: Language) -> str:
    """A day `2026-04-01` or a month `2026-04` as people write it; empty: empty."""
    year, _, rest = date.partition("-")
    month, _, day = rest.partition("-")
    if not month:
        return date
    if language == "ja":
        return f"{year}年{int(month)}月{f'{int(day)}日' if day else ''}"
    return f"{f'{int(day)} ' if day else ''}{_MONTHS[int(month) - 1]} {year}"
