"""Files that people put into Slack: fetched with the token where it may go and nowhere else, never more than wanted.

Without files:read Slack answers with a sign-in page and 200. Source: reliability.md R41 and §1 mistake 14;
docs.slack.dev/reference/objects/file-object.
"""

import asyncio
import random
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

import aiohttp
from yarl import URL

from adapters.shared.attachments import FAILED, FOREIGN, SLOW, limited_body
from adapters.slack.transport.api import SlackApi
from adapters.slack.transport.api_call import Tries, seconds_told
from adapters.slack.transport.errors import GoneError, SlackError, UnsupportedError
from retrieval.i18n import Text
from retrieval.types import UnreadableError

SECONDS = 60.0  # for a file, with all its tries
REDIRECTS = 3
_TRIES = 3
_OPENING = 2_048  # bytes that tell a web page

_DELETED = Text(en="The file was deleted in Slack.", ja="このファイルは Slack で削除されています。")
_HIDDEN = Text(
    en="Slack hides the file: it is older than the workspace's plan keeps.",
    ja="このファイルは、ワークスペースのプランの保存期間を過ぎているため、Slack で非表示になっています。",
)
_ELSEWHERE = Text(
    en="The file is not kept in Slack but linked from another service. Download it there and upload the file itself.",
    ja="このファイルは Slack に保存されておらず、外部サービスへのリンクです。"
    "ダウンロードして、ファイルそのものをアップロードしてください。",
)
_CANVAS = Text(
    en="Canvases, lists and posts of Slack cannot be read as files. Export it as PDF or text and upload that.",
    ja="Slack の canvas・リスト・ポストはファイルとして読み込めません。"
    "PDF またはテキストとして書き出してからアップロードしてください。",
)
_DENIED = Text(
    en="Slack does not let the bot see the file.", ja="ボットには Slack でこのファイルを見る権限がありません。"
)
_SCOPE = Text(
    en="Slack gives the bot its sign-in page in place of files: the app lacks the scope files:read. An admin can add it"
    " in the app's settings and install the app again.",
    ja="アプリに files:read スコープがないため、Slack からファイルの代わりにログイン画面が返されます。"
    "管理者がアプリの設定でスコープを追加し、再インストールすると読み込めるようになります。",
)
_PAGE = Text(
    en="Slack sent a web page (probably its sign-in page) in place of the file: the bot may not be allowed to see it.",
    ja="Slack からファイルの代わりにウェブページ（ログイン画面など）が返されました。"
    "ボットにこのファイルを見る権限がない可能性があります。",
)

_MODES = {"tombstone": _DELETED, "hidden_by_limit": _HIDDEN, "external": _ELSEWHERE}
_DOCUMENTS = frozenset({"canvas", "quip", "space", "list"})
_UNSEEN = frozenset({"check_file_info", "access_denied", "file_not_found"})
_PAGES = (".html", ".htm", ".xhtml")
_SIGN_IN = re.compile(rb"<title>[^<]*(?:sign.?in|log.?in)[^<]*</title>")


async def download(slack: SlackApi, file: Mapping[str, Any], limit: int, *, seconds: float = SECONDS) -> bytes:
    """The bytes of a file as events and files.info describe it; its `id` alone is enough. At most `limit` bytes.

    Raises UnreadableError with the reason in words. `slack` has identified itself.
    """
    try:
        async with asyncio.timeout(seconds):
            known = await _described(slack, file)
            return await _fetched(slack, known, limit)
    except TimeoutError:
        raise UnreadableError(SLOW, platform="Slack", seconds=round(seconds)) from None


async def named(slack: SlackApi, files: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The files with their names, which messages do not have of what comes from another workspace; one of which Slack
    tells no more stays as it is."""

    async def one(file: Mapping[str, Any]) -> Mapping[str, Any]:
        if file.get("name"):
            return file
        with suppress(UnreadableError):  # the download says why
            return await _described(slack, file)
        return file

    return await asyncio.gather(*map(one, files))


async def _described(slack: SlackApi, file: Mapping[str, Any]) -> Mapping[str, Any]:
    """The file with its address. Some events have only an id; of files from other workspaces that is all they have."""
    _refuse(file)
    if "files:read" not in slack.me.scopes and slack.me.scopes:
        raise UnreadableError(_SCOPE)
    if _address(file) and file.get("file_access") not in _UNSEEN:
        return file
    try:
        body = await slack.call("files.info", file=file.get("id"))
    except UnsupportedError:
        raise UnreadableError(_SCOPE) from None
    except GoneError as error:
        raise UnreadableError(_DELETED if error.code == "file_deleted" else _DENIED) from None
    except SlackError as error:
        raise UnreadableError(FAILED, platform="Slack", code=error.code) from None
    known = body.get("file") or {}
    _refuse(known)
    if not _address(known) or known.get("file_access") in _UNSEEN:
        raise UnreadableError(_DENIED)
    return {**file, **known}


def _refuse(file: Mapping[str, Any]) -> None:
    mode = str(file.get("mode") or "")
    if reason := _MODES.get(mode) or (_ELSEWHERE if file.get("is_external") else None):
        raise UnreadableError(reason)
    if mode in _DOCUMENTS or file.get("filetype") in _DOCUMENTS:
        raise UnreadableError(_CANVAS)


def _address(file: Mapping[str, Any]) -> str:
    return str(file.get("url_private_download") or file.get("url_private") or "")


async def _fetched(slack: SlackApi, file: Mapping[str, Any], limit: int) -> bytes:
    tries = Tries(_TRIES, chance=random.random)
    while True:
        try:
            return await _once(slack, file, limit)
        except _Again as again:
            wait = tries.next()
            if wait is None:
                raise UnreadableError(FAILED, platform="Slack", code=again.code) from None
            await slack.sleep(max(wait, again.seconds))


class _Again(Exception):
    """A failure that may pass. `seconds` is what Slack demands."""

    def __init__(self, code: str, seconds: float = 0.0) -> None:
        super().__init__(code)
        self.code = code
        self.seconds = seconds


async def _once(slack: SlackApi, file: Mapping[str, Any], limit: int) -> bytes:
    try:
        url = URL(_address(file))
        for hop in range(REDIRECTS + 1):
            if not slack.addresses.is_slack(url):
                raise UnreadableError(FOREIGN, platform="Slack")
            async with slack.get(url) as response:
                if response.status in (301, 302, 303, 307, 308):
                    url = url.join(URL(response.headers.get("Location", "")))
                    continue
                _check(response.status, response.headers.get("Retry-After"))
                data = await limited_body(response, limit)
                if _is_other_page(file, response.content_type, data, redirected=hop > 0):
                    raise UnreadableError(_PAGE if "files:read" in slack.me.scopes else _SCOPE)
                return data
        raise UnreadableError(FAILED, platform="Slack", code="too many redirects")
    except (aiohttp.ClientError, OSError) as error:
        raise _Again(type(error).__name__) from None
    except ValueError:  # no address that could be asked
        raise UnreadableError(FOREIGN, platform="Slack") from None


def _check(status: int, retry_after: str | None) -> None:
    if status == 429:
        raise _Again("429", seconds_told(retry_after))
    if status >= 500:
        raise _Again(str(status))
    if status in (401, 403):
        raise UnreadableError(_DENIED)
    if status in (404, 410):
        raise UnreadableError(_DELETED)
    if status != 200:
        raise UnreadableError(FAILED, platform="Slack", code=str(status))


def _is_other_page(file: Mapping[str, Any], content_type: str, data: bytes, *, redirected: bool) -> bool:
    """Whether this is a web page that is not the file: the sign-in page. A file may be a web page, too."""
    opening = data[:_OPENING].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    page = content_type == "text/html" or opening.startswith((b"<!doctype html", b"<html"))
    expected = str(file.get("name") or "").lower().endswith(_PAGES) or file.get("mimetype") == "text/html"
    return page and (not expected or redirected or bool(_SIGN_IN.search(opening)))
