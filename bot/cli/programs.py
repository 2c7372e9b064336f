"""The commands for programs that ask: their tokens, and the server that one starts itself. Source: sources.md §5."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from bot.cli import output
from bot.cli.help import Commands
from bot.cli.runtime import ANSWERED, USAGE, AsJson, complain, do, show, with_home
from bot.cli.runtime import words as _
from retrieval.i18n import Text

if TYPE_CHECKING:  # what is heavy is imported by the commands that need it
    from bot.cli.operations import Operations
    from bot.cli.remote import Owner

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
        complain(_("--audience is team or everyone.", "--audience は team か everyone です。"), USAGE)
    said = Text(en="Its token, shown this once:\n{token}", ja="トークン（表示は一度だけです）:\n{token}")
    caps = {"per_minute": per_minute, "per_day": per_day}
    do("add_token", said, as_json=as_json, changes=False, name=name, audience=audience, **caps)


@token_cli.command(help=_("Take a token away.", "トークンを無効にします。"))
def revoke(name: Annotated[str, typer.Argument(help=_("The program's name.", "プログラムの名前です。"))]) -> None:
    do("revoke_token", Text(en="Revoked.", ja="無効にしました。"), changes=False, name=name)


@cli.command(
    help=_(
        "Serve a coding assistant over standard input and output (MCP).",
        "コーディングアシスタントなどに標準入出力で応えます（MCP）。",
    )
)
def mcp() -> None:
    async def work(home: "Operations | Owner") -> int:
        from adapters.mcp.server import serve_stdio

        async def call(tool: str, **arguments: Any) -> dict[str, Any]:
            return await home("program", tool=tool, arguments=arguments)

        await serve_stdio(call)
        return ANSWERED

    with_home(work, changes=False)
