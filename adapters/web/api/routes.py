"""The HTTP API: what programs ask, search, add and look at. Names and forms: product.md §6; seeds/4_agentic_rag_api.md.

Whoever calls it is seen by the team, never a private place, and everything goes the way that other channels go.
"""

import string
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import PurePosixPath
from typing import Annotated, Any, TypeVar
from urllib.parse import quote

from fastapi import APIRouter, FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ValidationError
from starlette.datastructures import FormData, Headers, UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.routing import BaseRoute, Match, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from adapters.markdown.events import pointer
from adapters.shared.ingestion import pasted
from adapters.web.api import errors as problems
from adapters.web.api import prometheus, schemas
from adapters.web.api.errors import Problem, ProblemBody, language_asked, said_by, weighed
from adapters.web.api.streaming import EventStream, ReaderGoneError, Replies
from adapters.web.server.guard import STRANGER
from bot import views
from bot.access import default_scope, readers
from bot.app import Application, Trouble
from bot.errors import SettingsError, StoreError
from bot.turns.event_json import as_json
from bot.types import Audience, Incoming, Place, Upload
from retrieval.i18n import Language
from retrieval.loaders.file_types import as_text
from retrieval.loaders.sanitize import clean_name
from retrieval.types import Mode, RAGToolError

PLACE = Place("api", "local", "http")
AUDIENCE = Audience("public")  # the API is seen by the team: product.md §3
READERS = readers(PLACE, AUDIENCE)
AUTHOR = "api"
SESSION = "X-Session-Id"
_PLAIN = string.punctuation.replace("%", "")
"""What stands in that header as it is, besides letters and digits."""

JSON, FORM, EVENTS = "application/json", "multipart/form-data", "text/event-stream"
KINDS: Mapping[str, tuple[str, ...]] = {"/chat": (JSON,), "/documents": (JSON, FORM)}
"""The media types of the bodies that each path takes."""

OPEN = frozenset({"/healthz", "/readyz"})
"""What tells in a word how it is also to who shows no token: a machine that watches has none."""

_ABOUT_SESSION = (
    "The session_id, percent-encoded in UTF-8 (RFC 3986): letters, digits and ASCII marks but % stand as they are, so "
    "one that was made here has nothing to decode. Decode it before it is sent as a session_id again."
)

M = TypeVar("M", bound=BaseModel)
Responses = dict[int | str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class ApiContext:
    """The objects the API works with. `platforms`: which are set up, and whether each is connected now."""

    app: Application
    replies: Replies
    lag: prometheus.Lag = field(default_factory=prometheus.Lag)
    platforms: Callable[[], Mapping[str, bool]] = dict

    def language(self, request: Request) -> Language:
        """The asker's."""
        return language_asked(request.headers.get("accept-language", ""), self.app.settings.language)


def make_api(context: ApiContext, *routers: APIRouter) -> FastAPI:
    """The application that a server runs; `routers` add what only some callers may use."""
    api = _Api(
        title="Kotae",
        version=version("kotae"),
        description="Ask the team's documents, search them, and add to them. Errors come as `{error, message, id}`: a "
        "fixed word for programs, a sentence in the language of `Accept-Language` (ja, en), and by what the log knows "
        "it.",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        responses=_described(400, 401, 500, 503),
    )
    routes = [*api.routes]

    def handles(*errors: type[Exception]) -> Callable[[Callable[[Any, Language], JSONResponse]], None]:
        def add(answer: Callable[[Any, Language], JSONResponse]) -> None:
            async def handler(request: Request, error: Exception) -> JSONResponse:
                return answer(error, context.language(request))

            for kind in errors:
                api.add_exception_handler(kind, handler)

        return add

    api.add_middleware(_Heads)
    handles(RAGToolError, StoreError, SettingsError)(said_by)
    handles(Problem)(lambda problem, language: problem.response(language))
    handles(RequestValidationError)(lambda error, language: _wrong_parameters(error).response(language))

    async def unrouted(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)
        return _unrouted(request, error, routes).response(context.language(request))

    async def unexpected(request: Request, error: Exception) -> Response:
        raise error  # the guard answers it, as all that fails; Starlette's own answer is a plain text

    api.add_exception_handler(HTTPException, unrouted)
    api.add_exception_handler(Exception, unexpected)
    for router in (_answers(context), _documents(context), _state(context), *routers):
        api.include_router(router)
        routes += router.routes
    return api


class _Api(FastAPI):
    """Its OpenAPI document names the token, which FastAPI does not check: the guard does."""

    def openapi(self) -> dict[str, Any]:
        found = super().openapi()
        about = "KOTAE_WEB_TOKEN, where it is set; of /healthz and /readyz it is not asked."
        found["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer", "description": about}}
        found["security"] = [{}, {"token": []}]
        return found


class _Heads:
    """HEAD is taken wherever GET is, as those who watch a server expect of it; the body is left out by uvicorn, which
    has kept the scope as it came. Source: RFC 9110 §9.1."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        head = scope["type"] == "http" and scope["method"] == "HEAD"
        await self._app({**scope, "method": "GET"} if head else scope, receive, send)


def _described(*statuses: int) -> Responses:
    what = {
        400: "The request cannot be read, or names another host.",
        401: "The token of KOTAE_WEB_TOKEN is missing.",
        403: "It comes from another site's page.",
        404: "There is no such thing that may be read here.",
        408: "The body did not arrive in time.",
        413: "The body is too long.",
        415: "The body is of another kind.",
        422: "A part of the request is missing or wrong, or what was sent is refused with its reason.",
        500: "Something went wrong; the log has the reason.",
        503: "Something it needs does not work now.",
    }
    return {status: {"model": ProblemBody, "description": what[status]} for status in statuses}


def _body(content: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": {kind: {"schema": one} for kind, one in content.items()}}}


def _wrong_fields(errors: Any) -> Problem:
    """Names the parts, without what was sent."""
    names = dict.fromkeys(".".join(map(str, error["loc"][-2:])) for error in errors)
    return Problem(422, "wrong_fields", problems.WRONG_FIELDS, fields=", ".join(names) or "?")


def _wrong_parameters(error: RequestValidationError) -> Problem:
    return _wrong_fields([{"loc": one["loc"][1:]} for one in error.errors()])  # without where it is: in the query


def _unrouted(request: Request, error: HTTPException, routes: Sequence[BaseRoute]) -> Problem:
    match error.status_code:
        case 404:
            return Problem(404, "not_found", problems.NOT_FOUND)
        case 405:
            allowed = {"Allow": ", ".join(sorted(_methods(request, routes)))}
            return Problem(405, "wrong_method", problems.WRONG_METHOD, allowed, method=request.method[:20])
        case _:  # the form's own complaints
            return Problem(400, "not_a_form", problems.NOT_A_FORM)


def _methods(request: Request, routes: Sequence[BaseRoute]) -> set[str]:
    """All that its path takes (RFC 9110 §10.2.1); Starlette knows those of the first route only."""
    there = (
        route for route in routes if isinstance(route, Route) and route.matches(request.scope)[0] is not Match.NONE
    )
    taken = {method for route in there for method in route.methods or ()}
    return taken | {"HEAD"} if "GET" in taken else taken


async def body(request: Request, model: type[M]) -> M:
    """The JSON body. Raises Problem. Read by hand: what is not JSON, UTF-8 or too deep is told apart from wrong
    fields."""
    try:
        return model.model_validate_json(await request.body())
    except ValidationError as error:
        errors = error.errors(include_url=False, include_input=False, include_context=False)
        if any(one["type"] == "json_invalid" for one in errors):
            raise Problem(400, "not_json", problems.NOT_JSON) from None
        raise _wrong_fields([{"loc": one["loc"] or ("body",)} for one in errors]) from None


# -- questions ------------------------------------------------------------------------------------------------------


def _answers(context: ApiContext) -> APIRouter:
    app, router = context.app, APIRouter()

    @router.post(
        "/chat",
        summary="Ask a question",
        response_model=schemas.ChatAnswer,
        responses={
            200: {
                "description": "The answer; or, for who accepts `text/event-stream`, every event of `kotae ask --json` "
                f"as it happens, the answer last. The header `{SESSION}` has the session_id, percent-encoded.",
                "content": {EVENTS: {"schema": {"type": "string"}}},
                "headers": {SESSION: {"description": _ABOUT_SESSION, "schema": {"type": "string"}}},
            },
            **_described(403, 404, 408, 413, 415, 422),
        },
        openapi_extra=_body({JSON: schemas.ChatQuestion.model_json_schema()}),
    )
    async def chat(request: Request) -> Response:
        asked = await body(request, schemas.ChatQuestion)
        collections = tuple(asked.collections) if asked.collections is not None else None
        await app.check(None, asked.strategy, collections, context.language(request))
        session = asked.session_id or uuid.uuid4().hex
        message = Incoming(
            place=PLACE,
            thread=session,
            message=uuid.uuid4().hex,
            author=AUTHOR,
            text=asked.query,
            audience=AUDIENCE,
            strategy=asked.strategy,
            collections=collections,
        )
        headers = {SESSION: quote(session, safe=_PLAIN)}
        wanted = dict(weighed(request.headers.get("accept", "")))
        if wanted.get(EVENTS, 0) > 0 and wanted[EVENTS] >= wanted.get(JSON, 0):
            return EventStream(context.replies, message, as_json, headers)
        try:
            answered = await context.replies.answer(message, request.receive)
        except ReaderGoneError:
            answered = None  # nobody reads what follows
        if answered is None:
            raise Problem(503, "stopped", problems.UNANSWERED)
        sources = [
            schemas.Source(
                n=one.n,
                document=one.document,
                collection=one.collection,
                excerpt=pointer(one.quote) if answered.verbatim else one.quote,
                url=one.url,
                date=one.date,
            )
            for one in answered.citations
        ]
        found = schemas.ChatAnswer(
            answer=answered.text,
            outcome=answered.outcome,
            unsure=answered.unsure,
            session_id=session,
            sources=sources,
        )
        return JSONResponse(found.model_dump(), headers=headers)

    @router.get(
        "/search",
        summary="Search the documents: by keywords, by meaning (dense), or both (hybrid)",
        response_model=schemas.SearchResults,
        responses=_described(404, 422),
    )
    async def search(
        request: Request,
        query: schemas.Query,
        mode: Mode = "sparse",
        collection: Annotated[list[schemas.Collection] | None, Query(max_length=50)] = None,
        limit: Annotated[int, Query(ge=1, le=100)] = 10,
    ) -> Any:
        chosen = tuple(collection) if collection else None
        await app.knowledge.check(chosen, READERS, context.language(request))
        return views.search_json(await app.knowledge.search(query, READERS, chosen, mode=mode, limit=limit))

    @router.get("/unanswered", summary="The questions nobody could answer yet", response_model=schemas.UnansweredList)
    async def unanswered() -> Any:
        return views.unanswered_json(await app.bot.experts.open(PLACE, AUDIENCE))

    return router


# -- documents ------------------------------------------------------------------------------------------------------


def _documents(context: ApiContext) -> APIRouter:
    app, router = context.app, APIRouter()
    form = schemas.FileForm.model_json_schema()
    form["properties"] = {"file": {"type": "string", "contentMediaType": "application/octet-stream"}} | {
        name: one["anyOf"][0] for name, one in form["properties"].items()
    }
    form["required"] = ["file"]

    @router.post(
        "/documents",
        summary="Add a document, or a new version of one",
        status_code=201,
        response_model=schemas.AddedDocument,
        responses={
            201: {"description": "It was not there before."},
            200: {"model": schemas.AddedDocument, "description": "Its new version is there, or it had not changed."},
            **_described(403, 408, 413, 415, 422),
        },
        openapi_extra=_body({JSON: schemas.TextDocument.model_json_schema(), FORM: form}),
    )
    async def add(request: Request) -> Response:
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() == FORM:
            name, data, about = await _file(request)
        else:
            text = await body(request, schemas.TextDocument)
            name = text.name or pasted(text.text, "", context.language(request)).name
            name, data = as_text(clean_name(name)), text.text.encode()
            about = schemas.FileForm(collection=text.collection, scope=text.scope)
        upload = Upload(
            clean_name(name),
            data,
            about.collection or app.settings.default_collection,
            about.scope or default_scope(PLACE, AUDIENCE),
            AUTHOR,
        )
        verdict = await app.knowledge.take(upload)
        added = schemas.AddedDocument.model_validate(
            {
                "id": verdict.document_id,
                "name": verdict.name,
                "collection": verdict.collection,
                "chunks": verdict.chunks,
                "status": verdict.status,
            }
        )
        return JSONResponse(added.model_dump(), 201 if verdict.status == "added" else 200)

    @router.get(
        "/documents", summary="The documents", response_model=schemas.DocumentList, responses=_described(404, 422)
    )
    async def listed(request: Request, collection: schemas.Collection | None = None) -> Any:
        if collection is not None:
            await app.knowledge.check((collection,), READERS, context.language(request))
        return views.documents_json(await app.knowledge.documents(READERS, collection))

    @router.get(
        "/documents/{document_id}",
        summary="One document",
        response_model=schemas.DocumentEntry,
        responses=_described(404, 422),
    )
    async def one(document_id: str) -> Any:
        return await _readable(document_id)

    @router.delete(
        "/documents/{document_id}",
        summary="Forget a document: it is gone from every search at once",
        status_code=204,
        responses=_described(403, 404, 422),
    )
    async def forget(document_id: str) -> Response:
        await _readable(document_id)
        if not await app.knowledge.forget(document_id):
            raise Problem(404, "no_document", problems.NO_DOCUMENT)
        return Response(status_code=204)

    @router.get("/collections", summary="The collections", response_model=schemas.CollectionList)
    async def collections() -> Any:
        return views.collections_json(await app.knowledge.collections(READERS))

    async def _readable(document_id: str) -> dict[str, Any]:
        """Raises Problem for one that is not there or not for the team, without telling which."""
        row = await app.data.documents.get(document_id) if document_id.isalnum() else None
        if row is None or row.scope not in READERS.scopes:
            raise Problem(404, "no_document", problems.NO_DOCUMENT)
        found: dict[str, Any] = views.documents_json([row])["documents"][0]
        return found

    return router


async def _file(request: Request) -> tuple[str, bytes, schemas.FileForm]:
    """Name and bytes of the form's one file, and what goes with it. Raises Problem."""
    async with _form(request) as form:
        file = form.get("file")
        if not isinstance(file, UploadFile) or not file.filename:
            raise _wrong_fields([{"loc": ("file",)}])
        given = {name: _utf8(str(value)) for name, value in form.multi_items() if name != "file" and value != ""}
        try:
            about = schemas.FileForm.model_validate(given)
        except ValidationError as error:
            raise _wrong_fields(error.errors(include_input=False)) from None
        name = PurePosixPath(_utf8(file.filename).replace("\\", "/")).name.replace("\0", "")
        return name or "?", await file.read(), about


@asynccontextmanager
async def _form(request: Request) -> AsyncIterator[FormData]:
    """The form, its texts as Latin-1, which loses nothing: what is not UTF-8 would be taken for that without a word."""
    kind = f"{request.headers['content-type']}; charset=latin-1"
    parser = MultiPartParser(Headers({"content-type": kind}), request.stream(), max_files=1, max_fields=4)
    try:
        form = await parser.parse()
    except MultiPartException as error:
        raise Problem(400, "not_a_form", problems.NOT_A_FORM) from error
    try:
        yield form
    finally:
        await form.close()


def _utf8(text: str) -> str:
    """Raises Problem."""
    try:
        return text.encode("latin-1").decode("utf-8")
    except UnicodeDecodeError:
        raise Problem(400, "not_a_form", problems.NOT_A_FORM) from None


# -- how it is ------------------------------------------------------------------------------------------------------


def _state(context: ApiContext) -> APIRouter:
    app, router = context.app, APIRouter()

    @router.get("/healthz", summary="Whether the process lives", response_model=schemas.Alive)
    async def healthz() -> Any:
        return {"status": "ok"}

    @router.get(
        "/readyz",
        summary="Whether it can answer; part by part for who shows the token",
        response_model=schemas.Readiness,
        responses={503: {"model": schemas.Readiness, "description": "A part does not work; it is named."}},
    )
    async def readyz(request: Request) -> Response:
        language = context.language(request)
        parts, troubles = await _parts(context)
        states = set(parts.values())
        status = "unready" if "failed" in states else "ready" if states == {"ok"} else "degraded"
        why = {name: trouble.what.to(language) for name, trouble in troubles.items()}
        shown: dict[str, Any] = {} if request.scope.get(STRANGER) else {"parts": parts, "why": why}
        return JSONResponse({"status": status, **shown}, 200 if status == "ready" else 503)

    @router.get(
        "/metrics",
        summary="Measurements in Prometheus' text form",
        response_class=Response,
        responses={
            200: {"description": "The measurements.", "content": {"text/plain": {"schema": {"type": "string"}}}}
        },
    )
    async def metrics() -> Response:
        parts, _ = await _parts(context)
        try:
            summary = await app.data.summary()
        except StoreError:  # the part that says so is what is wanted then
            summary = None
        up = {name: state in ("ok", "low") for name, state in parts.items()}
        text = prometheus.prometheus(up, context.lag.take(), summary)
        return Response(text, media_type=prometheus.CONTENT_TYPE)

    return router


async def _parts(context: ApiContext) -> tuple[dict[str, str], dict[str, Trouble]]:
    """How each part is (ok, low, failed, disconnected), and what is wrong with those that do not work."""
    troubles = await context.app.troubles()
    parts = dict.fromkeys(("database", "store", "home", "embedder"), "ok")
    parts |= {name: "low" if trouble.answers else "failed" for name, trouble in troubles.items()}
    parts |= {name.lower(): "ok" if there else "disconnected" for name, there in context.platforms().items()}
    return parts, troubles
