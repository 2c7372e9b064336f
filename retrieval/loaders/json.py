"""JSON and JSON lines → readable `path: value` lines; lists of alike objects are read as the rows of a table."""

import json
from collections.abc import Iterator

from retrieval.loaders.limits import FileRefused, ParsingLimits, size
from retrieval.loaders.tables import Written, has_pair, write_records
from retrieval.types import QAPair

Json = str | bool | None | list["Json"] | dict[str, "Json"]  # numbers stay as they are written: 1.10, 0042e3


def read_json(text: str, limits: ParsingLimits) -> Written:
    """One JSON value. Raises `FileRefused`: json, depth, rows."""
    return _written(_parse(text, 1, limits), limits)


def read_json_lines(text: str, limits: ParsingLimits) -> Written:
    """One JSON value a line; objects become rows. Raises `FileRefused`: json, line, depth, rows."""
    values: list[Json] = []
    for number, line in enumerate(text.split("\n"), 1):
        if len(line.encode("utf-8", "replace")) > limits.json_line:
            raise FileRefused("line", line=number, limit=size(limits.json_line))
        if line.strip():
            values.append(_parse(line, number, limits))
        if len(values) > limits.rows:
            raise FileRefused("rows", limit=limits.rows)
    return _written(values, limits)


def _parse(text: str, line: int, limits: ParsingLimits) -> Json:
    try:
        value: Json = json.loads(text, parse_int=str, parse_float=str, parse_constant=str)
    except RecursionError as error:
        raise FileRefused("depth", limit=limits.json_depth) from error
    except json.JSONDecodeError as error:
        raise FileRefused("json", line=line + error.lineno - 1) from error
    _check_depth(value, limits)
    return value


def _check_depth(value: Json, limits: ParsingLimits) -> None:
    level: list[Json] = [value]
    depth = 0
    while level := [inner for inner in level if isinstance(inner, list | dict)]:
        depth += 1
        if depth > limits.json_depth:
            raise FileRefused("depth", limit=limits.json_depth)
        level = [inner for outer in level for inner in (outer.values() if isinstance(outer, dict) else outer)]


def _written(value: Json, limits: ParsingLimits) -> Written:
    blocks: list[str] = []
    pairs: list[QAPair] = []
    for written in _blocks(value, "", limits):
        blocks.append(written.markdown)
        pairs += written.pairs
    return Written("\n\n".join(filter(None, blocks)), tuple(pairs))


def _blocks(value: Json, path: str, limits: ParsingLimits) -> Iterator[Written]:
    """A block for the plain values of this object, then one for each object or list inside it."""
    match value:
        case list():
            yield from _list(value, path, limits)
        case dict():
            plain = {key: inner for key, inner in value.items() if _is_plain(inner)}
            if plain and has_pair(list(plain)):
                yield write_records(list(plain), [[_plain(inner) for inner in plain.values()]])
            elif plain:
                yield Written("\n".join(f"{_join(path, key)}: {_plain(inner)}" for key, inner in plain.items()))
            for key, inner in value.items():
                if key not in plain:
                    yield from _blocks(inner, _join(path, key), limits)
        case _:
            yield Written(f"{path}: {_plain(value)}" if path else _plain(value))


def _list(values: list[Json], path: str, limits: ParsingLimits) -> Iterator[Written]:
    if len(values) > limits.rows:
        raise FileRefused("rows", limit=limits.rows)
    if not values:
        return
    rows = [value for value in values if isinstance(value, dict)]
    if len(rows) == len(values) and all(_is_plain(inner) for row in rows for inner in row.values()):
        names = list(dict.fromkeys(key for row in rows for key in row))
        written = write_records(names, ([_plain(row.get(name)) for name in names] for row in rows))
        yield Written(
            f"## {path}\n\n{written.markdown}" if path and written.markdown else written.markdown, written.pairs
        )
        return
    if all(not isinstance(value, dict | list) for value in values):
        items = "\n".join(f"- {_plain(value)}" for value in values)
        yield Written(f"## {path}\n\n{items}" if path else items)
        return
    for number, value in enumerate(values, 1):
        yield from _blocks(value, f"{path}[{number}]" if path else f"[{number}]", limits)


def _is_plain(value: Json) -> bool:
    return not isinstance(value, dict | list) or (
        isinstance(value, list) and not any(isinstance(inner, dict | list) for inner in value)
    )


def _plain(value: Json) -> str:
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case list():
            return ", ".join(_plain(inner) for inner in value)
        case _:
            return str(value)


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key
