"""The commands for programs that ask: their tokens, and the server that one starts itself. Source: sources.md §5."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from bot.cli import output
from bot.cli.help import Commands
from bot.cli.remote import OwnerRefusedError
from bot.cli.runtime import (
    ANSWERED,
    LANGUAGE,
    USAGE,
    AsJson,
    complain,
    do,
    finish,
    in_home,
    log_to_stderr,
    settings_or_exit,
    show,
)
from bot.cli.runtime import words as _
from bot.config.settings import Settings
from bot.errors import SettingsError
from retrieval.i18n import Text
from retrieval.types import RAGToolError

if TYPE_CHECKING:  # what is heavy is imported by the commands that need it
    from bot.cli.operations import Operations
    from bot.cli.remote import Owner

_PATIENCE_SECONDS = 600.0  # without a bot one call at a time has the home, and a model takes its time
_SAID = Text(en="{said}", ja="{said}")

cli = Commands()
token_cli = Commands(
    invoke_without_command=True, help=_("Tokens of programs that ask at /mcp.", "/mcp を使うプログラムのトークンです。")
)
cli.add_typer(token_cli, name="token")


@token_cli.callback()
def tokens(context: typer.Context, as_json: AsJson = False) -> None:
    if not context.invoked_subcommand:
        show("tokens", output.tokens, as_json=as_json, whole=True)


@token_cli.command(
    help=_("Make a token; its secret is shown this once.", "トークンを発行します。表示されるのは一度だけです。")
)
def add(
    name: Annotated[str, typer.Argument(help=_("The program's name.", "プログラムの名前です。"))],
    audience: Annotated[
        str,
        typer.Option("--audience", help=_("What it reads: team or everyone.", "読める範囲です（team か everyone）。")),
    ] = "team",
    per_minute: Annotated[
        int, typer.Option("--per-minute", help=_("Calls a minute.", "1 分あたりの回数の上限です。"))
    ] = 30,
    per_day: Annotated[int, typer.Option("--per-day", help=_("Calls a day.", "1 日あたりの回数の上限です。"))] = 2_000,
    as_json: AsJson = False,
) -> None:
    if audience not in ("team", "everyone"):
        complain(_("--audience should be team or everyone.", "--audience は team か everyone にしてください。"), USAGE)
    said = Text(en="Its token, shown this once:\n{token}", ja="トークン（表示は一度だけです）:\n{token}")
    caps = {"per_minute": per_minute, "per_day": per_day}
    do("add_token", said, as_json=as_json, changes=False, name=name, audience=audience, **caps)


@token_cli.command(help=_("Revoke a token.", "トークンを無効にします。"))
def revoke(name: Annotated[str, typer.Argument(help=_("The program's name.", "プログラムの名前です。"))]) -> None:
    do("revoke_token", Text(en="Revoked.", ja="無効にしました。"), changes=False, name=name)


@cli.command(
    help=_(
        "Serve a coding assistant over standard input and output (MCP).",
        "コーディングアシスタントなどに標準入出力で応えます（MCP）。",
    )
)
def mcp() -> None:
    settings = settings_or_exit()
    log_to_stderr(settings)
    finish(lambda: _serve(settings))


async def _serve(settings: Settings) -> int:
    from adapters.mcp.server import serve_stdio
    from migrations import MigrationError

    async def call(tool: str, **arguments: Any) -> dict[str, Any]:
        """The home is had for this call only: an assistant stays for hours beside others, the bot comes and goes."""

        async def work(home: "Operations | Owner") -> dict[str, Any]:
            return await home("program", tool=tool, arguments=arguments)

        try:
            return await in_home(settings, work, changes=False, patience=_PATIENCE_SECONDS)
        except OwnerRefusedError as error:
            raise RAGToolError(_SAID, said=error.text) from error
        except (SettingsError, MigrationError) as error:
            raise RAGToolError(_SAID, said=error.text(LANGUAGE)) from error

    await serve_stdio(call)
    return ANSWERED
