"""The help of the command line, in the interface language: the frame of every help, and what was mistyped.

Typer's own words are English. Its help takes some from constants; what it finds mistyped comes as an exception.
"""

import re
import sys
from collections.abc import Callable
from functools import cache
from typing import Any, NoReturn, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

from bot.cli import output
from bot.cli.runtime import FAILED, INTERRUPTED, LANGUAGE, words
from bot.config.types import whole
from retrieval.i18n import os_reason

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = words("[OPTIONS]", "[オプション]")
_COMMAND = words("COMMAND [ARGS]...", "コマンド [引数]...")
_HELP_WORDS = {
    "ARGUMENTS_PANEL_TITLE": "引数",
    "OPTIONS_PANEL_TITLE": "オプション",
    "COMMANDS_PANEL_TITLE": "コマンド",
    "DEFAULT_STRING": "[既定値: {}]",
    "REQUIRED_LONG_STRING": "[必須]",
}
_MISTAKES = (  # in Typer's English, and in Japanese
    (r"Missing (?:argument|option|parameter) '(.+)'\.", "{} を指定してください。"),
    (r"No such option: (\S+) \(Possible options: (.+)\)", "{} というオプションはありません（近いもの: {}）。"),
    (r"No such option: (\S+)", "{} というオプションはありません。"),
    (r"No such command '(.*)'\. Did you mean (.+)\?", "{} というコマンドはありません（近いもの: {}）。"),
    (r"No such command '(.*)'\.", "{} というコマンドはありません。"),
    (r"Missing command\.", "コマンドを指定してください。"),
    (r"Got unexpected extra argument\(s\) \((.+)\)", "余分な引数があります: {}"),
    (r"Option '(.+)' requires .+", "{} には値が必要です。"),
    (r"Option '(.+)' does not take a value\.", "{} に値は付けられません。"),
)


@cache
def _frame() -> None:
    """The words around every help in Japanese, and its texts whole: a table of Rich's cuts off what has no spaces."""
    from typer import rich_utils  # 0.1 s, for nothing but help

    made: Callable[..., Any] = rich_utils._make_rich_text

    def folding(**text: Any) -> Any:
        folded = made(**text)
        folded.overflow = "fold"
        return folded

    if LANGUAGE == "ja":
        for name, text in (*_HELP_WORDS.items(), ("_make_rich_text", folding)):
            setattr(rich_utils, name, text)


class _InJapanese:
    """Beside a class of Typer's commands: help in Japanese where that is the interface language."""

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        pieces = self.collect_usage_pieces(ctx)  # type: ignore[attr-defined]
        formatter.write_usage(ctx.command_path, " ".join(pieces), prefix=words("Usage: ", "使い方: "))

    def get_help_option(self, ctx: Any) -> Any:
        option = super().get_help_option(ctx)  # type: ignore[misc]
        if option is not None:
            option.help = words("Show this message and exit.", "この説明を表示して終了します。")
        return option

    def format_help(self, ctx: Any, formatter: Any) -> None:
        _frame()
        for option in self.get_params(ctx):  # type: ignore[attr-defined]
            if getattr(option, "is_flag", False):
                option.metavar = ""  # Typer shows <bool>, as if it took a value
        super().format_help(ctx, formatter)  # type: ignore[misc]


class _Command(_InJapanese, TyperCommand):
    pass


class _Group(_InJapanese, TyperGroup):
    pass


class Commands(typer.Typer):
    """Commands whose help is in the interface language."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(
            cls=_Group,
            options_metavar=_OPTIONS,
            subcommand_metavar=_COMMAND,
            add_completion=False,
            pretty_exceptions_enable=False,
            **settings,
        )

    def command(self, name: str | None = None, **settings: Any) -> Callable[[F], F]:
        return super().command(name, cls=_Command, options_metavar=_OPTIONS, **settings)


def obey(commands: Commands) -> NoReturn:
    """Do what the arguments of this process say and end it; what was mistyped is said, with status 2."""
    try:
        status = commands(prog_name="kotae", standalone_mode=False)
    except KeyboardInterrupt:
        status = INTERRUPTED
    except OSError as error:  # not EPIPE: where whoever read our output is gone Typer ends quietly
        output.drop_unprinted()
        of_file = f": {error.filename}" if error.filename else ""
        print(f"kotae: {os_reason(error).to(LANGUAGE)}{of_file}", file=sys.stderr)
        status = FAILED
    except typer.Abort:  # of a question
        print(words("Stopped.", "中止しました。"), file=sys.stderr)
        status = FAILED
    except typer.TyperException as error:
        status = error.exit_code
        if said := _mistake(error):  # none where it has shown its help instead
            print(f"kotae: {said}", file=sys.stderr)
            where = getattr(error, "ctx", None)
            if where is not None:
                print(
                    words("See {command} --help.", "{command} --help をご覧ください。", command=where.command_path),
                    file=sys.stderr,
                )
    sys.exit(status)


def _mistake(error: typer.TyperException) -> str:
    found = error.format_message()
    number = getattr(error, "param", None)
    if found.startswith("Invalid value") and number is not None:
        return _should_be("/".join(number.opts), getattr(number, "min", None), getattr(number, "max", None))
    for english, japanese in _MISTAKES if LANGUAGE == "ja" else ():
        if said := re.fullmatch(english, found):
            return japanese.format(*said.groups())
    return found


def _should_be(name: str, low: float | None, high: float | None) -> str:
    if low is not None and high is not None:
        what = whole(int(low), int(high)).what.to(LANGUAGE)
    elif low is not None:
        what = words("a whole number, {low} or more", "{low} 以上の整数", low=low)
    else:
        return words("The value of {name} cannot be used.", "{name} の値が正しくありません。", name=name)
    return words("{name} should be {what}.", "{name} は {what}にしてください。", name=name, what=what)
