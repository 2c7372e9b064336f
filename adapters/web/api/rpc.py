"""Calls of the `kotae` commands to the process that owns the home. Served on the home's socket only.

`bot/cli/remote.py` is the other end; both are of one version, or say that they are not.
"""

import uuid
from datetime import date
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import ValidationError

from adapters.terminal.channel import AUDIENCE, AUTHOR, PASSING
from adapters.web.api import errors, schemas
from adapters.web.api.errors import Problem
from adapters.web.api.routes import JSON, ApiContext, body
from adapters.web.api.streaming import EventStream
from bot.cli.operations import Operations
from bot.operations.backup import BackupError
from bot.turns.event_json import packed
from bot.types import Incoming
from bot.waiting import finished

FILE = "application/octet-stream"
KINDS = {"/commands/ingest": (FILE,), "/commands/*": (JSON,)}


def make_orders(context: ApiContext) -> APIRouter:
    app, router = context.app, APIRouter(prefix="/commands", include_in_schema=False)

    @router.post("/ask")
    async def ask(request: Request) -> Response:
        asked = await body(request, schemas.CommandAsk)
        message = Incoming(
            place=PASSING,
            thread=uuid.uuid4().hex,
            message=uuid.uuid4().hex,
            author=AUTHOR,
            text=asked.question,
            audience=AUDIENCE,
            model=asked.model,
            strategy=asked.strategy,
            collections=asked.collections,
        )
        return EventStream(context.replies, message, packed)

    @router.post("/ingest")
    async def ingest(
        request: Request,
        name: str,
        scope: schemas.Scope,
        collection: str | None = None,
        changed_at: Annotated[date | None, Query()] = None,
        folder: Annotated[str | None, Query(pattern="^[0-9a-f]{32}$")] = None,
    ) -> Any:
        day, data = changed_at.isoformat() if changed_at else None, await request.body()
        return await Operations(app, context.language(request)).ingest(name, data, collection, scope, day, folder)

    @router.post("/{command}")
    async def call(request: Request, command: str) -> Any:
        arguments = await body(request, schemas.Arguments)
        await finished(app.knowledge.close())  # the measurements of searches before it are in what it shows
        try:
            return await Operations(app, context.language(request))(command, **arguments.root)
        except (KeyError, ValidationError) as error:
            raise Problem(422, "not_offered", errors.NO_COMMAND) from error
        except BackupError as error:
            raise Problem(422, "refused", error.said) from error

    return router
