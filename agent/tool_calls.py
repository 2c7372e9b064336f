"""The calls a model makes: read also where they are text, checked strictly, run together, answered in order."""

import ast
import asyncio
import json
import logging
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agent.citations import marks
from agent.models.base import Tool, ToolCall, ToolResult
from agent.sentinels import RAG_TOOL_ERROR
from retrieval.i18n import Language, Text, TextError
from retrieval.text import encodable
from retrieval.types import RAGToolError

log = logging.getLogger(__name__)

ARGUMENT_BYTES = 2048

_UNKNOWN_TOOL = Text(
    en="There is no tool {name}. The tools are: {names}.",
    ja="{name} というツールはありません。使えるのは {names} です。",
)
_UNKNOWN_ARGUMENT = Text(
    en="{tool} takes no argument {name}. It takes: {names}.",
    ja="{tool} に引数 {name} はありません。使えるのは {names} です。",
)
_MISSING = Text(en="{tool} needs the argument {name}.", ja="{tool} には引数 {name} が必要です。")
_WRONG_TYPE = Text(en="The argument {name} must be a {type}.", ja="引数 {name} の型は {type} でなければなりません。")
_EMPTY = Text(en="The argument {name} is empty.", ja="引数 {name} が空です。")
_TOO_LONG = Text(
    en="The argument {name} is longer than {limit} bytes; a few words find more.",
    ja="引数 {name} が {limit} バイトを超えています。数語に絞ってください。",
)
_REPEATED = Text(en="the same call as before", ja="前と同じ呼び出しです")
_AGAIN = "You have made this call before, and its results stand above{numbers}. Search for something else, or answer."
_TYPES: Mapping[str, type] = {"string": str, "integer": int, "array": list}


class BadCallError(TextError):
    """A call that does not fit the tool's schema. The model is shown why, and may try again: it holds no internals."""


# -- run --------------------------------------------------------------------------------------------------------------


class ToolRunner:
    """Runs the calls of one turn. Whatever a model asks for, it gets an answer it can use; bugs surface."""

    def __init__(self, tools: Sequence[Tool], language: Language) -> None:
        self._tools = tools
        self._language = language
        self._made: dict[str, ToolResult] = {}
        self._failed: set[str] = set()  # what has failed may go well at the next try
        self.idle = 0  # calls that brought nothing new: refused or repeated

    async def run(self, calls: Sequence[ToolCall]) -> list[ToolResult]:
        """The results in the calls' order; the calls run at the same time."""
        begun: dict[str, asyncio.Task[ToolResult]] = {}
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._run(call, group, begun)) for call in calls]
        self._made |= {key: task.result() for key, task in begun.items() if not task.result().failed}
        self._failed |= begun.keys() - self._made.keys()
        return [task.result() for task in tasks]

    async def _run(
        self, call: ToolCall, group: asyncio.TaskGroup, begun: dict[str, asyncio.Task[ToolResult]]
    ) -> ToolResult:
        try:
            tool, arguments = checked(self._tools, call.name, call.arguments)
        except BadCallError as error:
            return self._refused(error)
        key = same_call(tool.name, arguments)
        if key in begun or key in self._made:
            result = await begun[key] if key in begun else self._made[key]
            self.idle += 1
            numbers = f": {', '.join(f'Result {n}' for n in result.numbers)}" if result.numbers else ""
            summary = f"{result.summary} ({_REPEATED.to(self._language)})"
            content = result.content if result.failed else _AGAIN.format(numbers=numbers)
            return replace(result, content=content, summary=summary)
        self.idle += key in self._failed
        begun[key] = group.create_task(self._call(tool, arguments))
        return await begun[key]

    async def _call(self, tool: Tool, arguments: Mapping[str, Any]) -> ToolResult:
        try:
            return await tool.run(**arguments)
        except BadCallError as error:
            return self._refused(error)
        except RAGToolError as error:
            log.warning("a tool failed", exc_info=error)
            return ToolResult(_refusal(error.text("en")), error.text(self._language), failed=True)

    def _refused(self, error: BadCallError) -> ToolResult:
        self.idle += 1
        return ToolResult(_refusal(str(error)), error.text(self._language), failed=True)


def _refusal(reason: str) -> str:
    """The message the model reads when a call failed: the sentinel and a reason it can use."""
    return f"{RAG_TOOL_ERROR} {reason}"


def same_call(name: str, arguments: Mapping[str, Any]) -> str:
    """Equal for two calls that would return the same."""
    return json.dumps([name, _folded(arguments)], sort_keys=True, ensure_ascii=False, default=str)


def _folded(value: Any) -> Any:
    match value:
        case str():
            return " ".join(value.casefold().split())
        case Mapping():
            return {key: _folded(each) for key, each in value.items()}
        case list():
            return sorted(_folded(each) for each in value)
        case _:
            return value


# -- checked ----------------------------------------------------------------------------------------------------------


def named(tools: Sequence[Tool], name: str) -> Tool | None:
    """The tool of this name, which may have something around it: `functions.…`, the tokens of a template."""
    return next((each for each in tools if re.search(rf"(?<!\w){each.name}(?!\w)", name)), None)


def checked(tools: Sequence[Tool], name: str, arguments: Mapping[str, Any]) -> tuple[Tool, dict[str, Any]]:
    """The tool and its arguments as its schema has them. An optional argument that is null or empty counts as left out,
    a single `query` as the only one of `queries`.

    Raises `BadCallError`, whose text tells the model how to mend the call.
    """
    tool = named(tools, name)
    if tool is None:
        raise BadCallError(_UNKNOWN_TOOL, name=shortened(name, 60), names=", ".join(each.name for each in tools))
    properties: Mapping[str, Any] = tool.parameters.get("properties", {})
    needed = tool.parameters.get("required", ())
    given = {
        key: value
        for key, value in arguments.items()
        if key not in properties or not (value is None or (value == "" and key not in needed))
    }
    if "queries" in properties:
        given = _with_queries(given, int(properties["queries"]["maxItems"]))
    for key in given:
        if key not in properties:
            names = ", ".join(properties) or "-"
            raise BadCallError(_UNKNOWN_ARGUMENT, tool=name, name=shortened(str(key), 60), names=names)
    for key in needed:
        if key not in given:
            raise BadCallError(_MISSING, tool=name, name=key)
    return tool, {key: _as_typed(key, value, properties[key].get("type", "string")) for key, value in given.items()}


def _with_queries(given: dict[str, Any], most: int) -> dict[str, Any]:
    said = [value for key in ("query", "queries") if (value := given.pop(key, None)) is not None]
    listed = [_literal(each) if isinstance(each, str) and each.lstrip().startswith("[") else each for each in said]
    written = [one for each in listed for one in (each if isinstance(each, list) else [each])]
    queries = [one for one in written if one != ""] or written
    return {**({"queries": queries[:most]} if queries else {}), **given}


def _as_typed(key: str, value: Any, kind: str) -> Any:
    if kind == "integer" and isinstance(value, str | float) and re.fullmatch(r"\s*\d{1,9}(?:\.0+)?\s*", str(value)):
        value = int(float(value))
    if not isinstance(value, _TYPES.get(kind, object)) or isinstance(value, bool):
        raise BadCallError(_WRONG_TYPE, name=key, type=kind)
    if isinstance(value, list):
        return list(dict.fromkeys(_as_typed(key, each, "string") for each in value))
    if isinstance(value, str):
        value = encodable(value).strip()
        if not value:
            raise BadCallError(_EMPTY, name=key)
        if len(value.encode()) > ARGUMENT_BYTES:
            raise BadCallError(_TOO_LONG, name=key, limit=ARGUMENT_BYTES)
    return value


def fitting(text: str) -> str:
    """As much of it as an argument may be long: its beginning, and more of its end, where mostly stands what is
    asked."""
    said = " ".join(text.split()).encode("utf-8", "ignore")
    if len(said) <= ARGUMENT_BYTES:
        return said.decode()
    parts = said[: ARGUMENT_BYTES // 3], said[ARGUMENT_BYTES // 3 + len(" … ".encode()) - ARGUMENT_BYTES :]
    return " … ".join(part.decode("utf-8", "ignore").strip() for part in parts)


def shortened(text: str, limit: int = 120) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


# -- written as text --------------------------------------------------------------------------------------------------

_PREFIX = r"(?:[|｜]DSML[|｜]|\w{1,20}:)?"  # before a tag's name: DeepSeek's, MiniMax's
_TAG = re.compile(
    rf"<[/|｜]*{_PREFIX}(?:start_|end_)?(?:tool|function)[_▁]?(?:call|code)s?"
    r"(?:[_▁](?:section[_▁])?(?:begin|start|end))?[|｜]?>(?:function<｜tool[_▁]sep｜>)?"
    rf"|</?{_PREFIX}invoke\b[^>]*>|<function=[\w.]*>?|</function>|\[/?TOOL_CALLS?\]"
    r"|<\|python_tag\|>|<\|channel\|>\s*(?:commentary|analysis)\s+to=|<\|call\|>",
    re.IGNORECASE,
)
_SHELL = re.compile(  # around calls that were taken out
    r"</?tools>|\bfunctools\b|\[\s*\]|^\s*Action\s*:\s*$|<\|start\|>assistant|\b(?:commentary )?to=(?=\W*\Z)"
    r"|<[|｜][^<>\n]{1,40}[|｜]>|</s>",
    re.MULTILINE,
)
_PARAMETER = re.compile(r"<parameter=(\w+)>(.*?)</parameter>", re.DOTALL)
_INVOKED = re.compile(
    rf"<{_PREFIX}invoke name=\"(?P<name>[\w.]+)\">(?P<given>(?:(?!<{_PREFIX}invoke).)*?)</{_PREFIX}invoke>", re.DOTALL
)
_NAMED_PARAMETER = re.compile(rf"<{_PREFIX}parameter name=\"(\w+)\"[^>]*>(.*?)</{_PREFIX}parameter>", re.DOTALL)
_TAGGED_ARGUMENTS = re.compile(
    r"<tool_call>\s*(?P<name>[\w.]+)\s*(?P<given>(?:<arg_key>.*?</arg_value>\s*)+)", re.DOTALL
)
_ARGUMENT = re.compile(r"<arg_key>\s*(\w+)\s*</arg_key>\s*<arg_value>(.*?)</arg_value>", re.DOTALL)
_FENCE = re.compile(r"```[\w-]*\s*```")
_ACTION = re.compile(r"^[\s*]*Action[\s*]*:[\s*]*(?P<name>\w+)[\s*]*\n[\s*]*Action Input[\s*]*:[\s*]*", re.MULTILINE)
_KEYWORD = re.compile(r"\bfrom\s*=")  # an argument of a tool's, and a word that Python keeps for itself
_NAMES = ("name", "tool", "tool_name", "function", "action")
_ARGUMENTS = ("arguments", "parameters", "args", "input", "tool_input", "action_input")
_TRIES = 50

Written = tuple[str, dict[str, Any]]


def written_calls(text: str, tools: Collection[str]) -> tuple[str, tuple[Written, ...]]:
    """The calls of `tools` that a text makes, and what it says beside them: tags around JSON (Hermes, Mistral, Llama)
    or around each argument (Qwen, GLM, MiniMax), a name and JSON between a template's tokens (gpt-oss, Kimi, DeepSeek),
    JSON in a fence or bare, `Action:` lines, `name(query="…")`.

    A text that cites results is an answer, and what it says of a call is part of it, unless a tag marks it as one.
    Raises ValueError for a text that begins a call and does not end it.
    """
    tagged = bool(_TAG.search(text))
    if not tagged and not any(name in text for name in tools):
        return text, ()
    found = sorted(_found(text, tools), key=lambda each: each[0])
    rest, end = "", 0
    calls: list[Written] = []
    for start, stop, some in found:
        if start >= end:
            rest, end = rest + text[end:start], stop
            calls += some
    rest = _TAG.sub("", rest + text[end:])
    rest = _FENCE.sub("", _SHELL.sub("", rest) if calls else rest).strip()
    rest = rest if re.search(r"\w", rest) else ""
    if calls and (tagged or not marks(rest)):
        return rest, tuple(calls)
    if tagged or (not marks(text) and re.match(r"\s*(?:```\w*\s*)?[\[{<]", text)):
        raise ValueError("a call that cannot be read")
    return text, ()


def _found(text: str, tools: Collection[str]) -> Iterator[tuple[int, int, list[Written]]]:
    """The calls in a text, from and to, and what they are."""
    for match in re.finditer(r"<function=([\w.]+)>(.*?)</function>", text, re.DOTALL):
        given = {key: _literal(value) for key, value in _PARAMETER.findall(match[2])}
        yield match.start(), match.end(), [(match[1], given or _json(match[2].strip()) or {})]
    for tags, argument in ((_INVOKED, _NAMED_PARAMETER), (_TAGGED_ARGUMENTS, _ARGUMENT)):
        for match in tags.finditer(text):
            given = {key: _literal(value) for key, value in argument.findall(match["given"])}
            yield match.start(), match.end(), [(match["name"], given)]
    either = "|".join(map(re.escape, tools))
    tokens = r"(?:\s*(?:<[|｜][^<>\n]{1,40}[|｜]>|\[CALL_ID\]\w+|\[ARGS\]|```json|json|code|commentary))*\s*"
    for match in re.finditer(rf"(?:\bfunctions\.)?\b({either})(?::\d+)?{tokens}(?=\{{)", text):
        value, end = _decoded(text, match.end())
        if isinstance(value, dict):
            yield match.start(), end, [(match[1], value)]
    for match in _ACTION.finditer(text):
        value, end = _decoded(text, match.end())
        if isinstance(value, dict):
            yield match.start(), end, [(match["name"], value)]
    tagged = bool(_TAG.search(text))
    at = text.find("{")
    for _ in range(_TRIES):
        if at < 0:
            break
        value, end = _decoded(text, at)
        calls = [call for call in _calls_of(value) if tagged or call[0] in tools]
        if calls:
            yield at, end, calls
        at = text.find("{", end if isinstance(value, dict) else at + 1)
    for match in re.finditer(rf"(?P<shown>\bprint\s*\(\s*)?(?:\b\w+\.)?\b(?P<name>{either})(?:\.call)?\s*\(", text):
        arguments, end = _applied(text, match.end())
        if arguments is not None:
            closed = re.compile(r"\s*\)").match(text, end) if match["shown"] else None
            yield match.start(), closed.end() if closed else end, [(match["name"], arguments)]


def _calls_of(value: object) -> Iterator[Written]:
    """The calls in a JSON value, in any of the forms that servers and models use."""
    match value:
        case list():
            for each in value:
                yield from _calls_of(each)
        case {"tool_calls": inner} | {"function": dict() as inner}:
            yield from _calls_of(inner)
        case dict():
            name = next((value[key] for key in _NAMES if isinstance(value.get(key), str)), None)
            given = next((value[key] for key in _ARGUMENTS if key in value), None)
            if name is None and len(value) == 1:
                ((name, given),) = value.items()
            arguments = _json(given) if isinstance(given, str) else given
            if isinstance(name, str) and isinstance(arguments, dict):
                yield name, arguments


def _applied(text: str, at: int) -> tuple[dict[str, Any] | None, int]:
    """The arguments of `name(…)` whose bracket opens before `at`, as Python would read them, and where it ends."""
    end = at
    for _ in range(_TRIES):
        end = text.find(")", end) + 1
        if not end:
            break
        try:
            call = ast.parse(f"f({_KEYWORD.sub('from_=', text[at:end])}", mode="eval").body
            if isinstance(call, ast.Call):
                first = {"queries": ast.literal_eval(call.args[0])} if call.args else {}
                named = {each.arg.rstrip("_"): ast.literal_eval(each.value) for each in call.keywords if each.arg}
                return json.loads(json.dumps({**first, **named}, default=sorted)), end  # of a set its list
        except (TypeError, ValueError, SyntaxError, MemoryError, RecursionError):
            continue
    return None, at


def objects(text: str) -> Iterator[dict[str, Any]]:
    """Every JSON object that begins somewhere in the text."""
    at = text.find("{")
    for _ in range(_TRIES):
        if at < 0:
            return
        value, end = _decoded(text, at)
        if isinstance(value, dict):
            yield value
        at = text.find("{", end)


def _decoded(text: str, at: int) -> tuple[Any, int]:
    """The JSON value at `at` and where it ends; None and the next place where there is none."""
    try:
        value, end = json.JSONDecoder(strict=False).raw_decode(text, at)
    except (ValueError, RecursionError):
        return None, at + 1
    return value, end


def _json(text: str) -> dict[str, Any] | None:
    value, _ = _decoded(text, 0)
    return value if isinstance(value, dict) else None


def _literal(text: str) -> Any:
    text = text.strip()
    value, end = _decoded(text, 0)
    return value if end == len(text) else text
