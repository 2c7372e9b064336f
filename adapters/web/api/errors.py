"""The API's answers when it cannot do what it was asked: `{"error": …, "message": …, "id": …}`, in the asker's
language."""

import logging
import secrets
from collections.abc import Iterator, Mapping

from fastapi.responses import JSONResponse
from pydantic import BaseModel

from bot.errors import SettingsError, StoreError
from retrieval.i18n import Language, Text
from retrieval.types import CollectionNotFoundError, EmbeddingError, QdrantConnectionError, RAGToolError

log = logging.getLogger(__name__)


class ProblemBody(BaseModel):
    """A failure in words: a fixed word for programs, a sentence for people, and by what the log knows it."""

    error: str
    message: str
    id: str


class Problem(Exception):
    """A request that is answered with a status of 400 or more."""

    def __init__(
        self, status: int, error: str, said: Text, headers: Mapping[str, str] | None = None, **values: object
    ) -> None:
        super().__init__(said.to("en", **values))
        self.status = status
        self.error = error
        self.said = said
        self.values = values
        self.headers = headers

    def response(self, language: Language) -> JSONResponse:
        return refusal(self.status, self.error, self.said.to(language, **self.values), self.headers)


def refusal(
    status: int, error: str, message: str, headers: Mapping[str, str] | None = None, *, id: str | None = None
) -> JSONResponse:
    """`id`: of what the log has already; else this writes a line without anything of the request."""
    if id is None:
        id = new_id()
        level = logging.WARNING if status >= 500 else logging.INFO
        log.log(level, "a request was refused", extra={"id": id, "status": status, "error": error})
    return JSONResponse({"error": error, "message": message, "id": id}, status, headers)


def new_id() -> str:
    """By which a problem is found in the log."""
    return secrets.token_hex(4)


def said_by(error: RAGToolError | StoreError | SettingsError, language: Language) -> JSONResponse:
    """An error of the application, which is fit for people already."""
    match error:
        case CollectionNotFoundError():
            status, name = 404, "collection_not_found"
        case SettingsError():
            status, name = 422, "not_offered"
        case QdrantConnectionError() | EmbeddingError():
            status, name = 503, "search_unavailable"
        case StoreError():
            status, name = 503, "database_unavailable"
        case _:
            status, name = 422, "refused"
    return refusal(status, name, error.text(language))


def weighed(accepted: str) -> Iterator[tuple[str, float]]:
    """The names in a header of the Accept kind, in lower case, each with its quality. Source: RFC 9110 §12.4.2."""
    for part in accepted[:400].split(","):
        name, *parameters = (piece.strip().lower() for piece in part.split(";"))
        given = next((one.removeprefix("q=") for one in parameters if one.startswith("q=")), "1")
        try:
            yield name, float(given)
        except ValueError:
            yield name, 0.0


def language_asked(accepted: str, default: Language) -> Language:
    """Of an Accept-Language header, as far as we speak them; the interface's own where it names neither."""
    weights: dict[str, float] = {}
    for name, weight in weighed(accepted):
        spoken = name.split("-")[0]
        weights[spoken] = max(weight, weights.get(spoken, 0.0))
    ja, en = weights.get("ja", 0.0), weights.get("en", 0.0)
    return default if ja == en else "ja" if ja > en else "en"


UNEXPECTED = Text(
    en="Something went wrong on our side; the log has the reason under the number {id}.",
    ja="こちらの問題で処理できませんでした。理由はログに番号 {id} で記録されています。",
)
NOT_FOUND = Text(en="There is nothing at this address.", ja="このアドレスには何もありません。")
WRONG_METHOD = Text(en="This address does not take {method}.", ja="このアドレスでは {method} は使えません。")
WRONG_FIELDS = Text(
    en="These parts of the request are missing or wrong: {fields}.",
    ja="リクエストの次の部分がないか、正しくありません: {fields}",
)
NOT_JSON = Text(en="The body is not valid JSON in UTF-8.", ja="本文が UTF-8 の正しい JSON ではありません。")
NOT_A_FORM = Text(
    en="The body is not a valid multipart form with one file, its fields and the file’s name in UTF-8.",
    ja="本文が、ファイルを 1 つだけ含む正しいマルチパートフォームではないか、項目やファイル名が UTF-8 ではありません。",
)
WRONG_KIND = Text(
    en="The body has to be {kinds}, without compression.", ja="本文は {kinds} で、圧縮せずに送ってください。"
)
TOO_LARGE = Text(en="The body is longer than {limit} bytes.", ja="本文が {limit} バイトを超えています。")
TOO_SLOW = Text(
    en="The request did not arrive within {seconds} seconds.", ja="リクエストが {seconds} 秒以内に届きませんでした。"
)
STOOD_STILL = Text(
    en="The rest of the body did not come: there was nothing for {seconds} seconds.",
    ja="本文の続きが {seconds} 秒間届きませんでした。",
)
NOT_HTTP = Text(en="This is not a request in HTTP/1.1.", ja="HTTP/1.1 のリクエストとして読めません。")
WRONG_HOST = Text(
    en="This server does not answer to that name. Use {host}, or set KOTAE_WEB_URL to the address that people use.",
    ja="このサーバーは、その名前では利用できません。{host} を使うか、接続に使うアドレスを KOTAE_WEB_URL に"
    "設定してください。",
)
FOREIGN = Text(
    en="Another site’s page may not use this address. Behind a proxy that calls it by another name, set KOTAE_WEB_URL "
    "to the address that people use.",
    ja="ほかのサイトのページからは利用できません。別の名前で中継するプロキシを通して使う場合は、接続に使うアドレスを "
    "KOTAE_WEB_URL に設定してください。",
)
PROGRAM_TOKEN = Text(en="This token is for /mcp only.", ja="このトークンは /mcp でのみ使えます。")
NO_TOKEN = Text(
    en="Send the token of KOTAE_WEB_TOKEN as “Authorization: Bearer …”.",
    ja="KOTAE_WEB_TOKEN のトークンを「Authorization: Bearer …」で送ってください。",
)
NO_DOCUMENT = Text(en="There is no such document.", ja="その文書はありません。")
NO_COMMAND = Text(en="There is no such command in this version.", ja="このバージョンにそのコマンドはありません。")
UNANSWERED = Text(
    en="The question was stopped before it was answered. Ask again.",
    ja="回答の前に中止されました。もう一度質問してください。",
)
