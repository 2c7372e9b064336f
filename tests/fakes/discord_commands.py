"""Application commands: what Discord accepts as one, and what it sends when somebody uses it.

Source: discord-api-docs, interactions/application-commands (naming, structures, limits, localization).
"""

import itertools
import unicodedata
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from tests.fakes.discord_gate import Problem
from tests.fakes.discord_rules import bad_length, refuse, required, too_long
from tests.fakes.discord_world import App, File, World

Json = dict[str, Any]
SLASH, USER_MENU, MESSAGE_MENU = 1, 2, 3
SUBCOMMAND, GROUP, STRING, INTEGER, BOOLEAN, USER, CHANNEL, ROLE, MENTIONABLE, NUMBER, ATTACHMENT = range(1, 12)
_LANGUAGES = """
id da de en-GB en-US es-ES es-419 fr hr it lt hu nl no pl pt-BR ro fi sv-SE vi tr cs el bg ru uk hi th zh-CN ja zh-TW ko
"""
LOCALES = frozenset(_LANGUAGES.split())
_MOST = {SLASH: 100, USER_MENU: 15, MESSAGE_MENU: 15}  # global ones of an app
_WORDS = 8000  # of names, descriptions and values of one slash command


def _named(name: str) -> bool:
    r"""`^[-_'\p{L}\p{N}\p{sc=Deva}\p{sc=Thai}]{1,32}$`, lower case where there is one."""
    fits = all(
        each in "-_'"
        or unicodedata.category(each)[0] in "LN"
        or "\u0900" <= each <= "\u097f"
        or "\u0e00" <= each <= "\u0e7f"
        for each in name
    )
    return 1 <= len(name) <= 32 and fits and name == name.lower()


def check(commands: list[Json], *, without: Collection[str] = ()) -> None:
    """All commands of one scope. Raises Refused (50035)."""
    refuse(_problems(commands, without))


def _problems(commands: list[Json], without: Collection[str]) -> Iterator[Problem]:
    seen: set[tuple[int, str]] = set()
    for at, each in enumerate(commands):
        where, kind = str(at), each.get("type", SLASH)
        name = str(each.get("name") or "")
        if kind not in _MOST or (kind != SLASH and "context_menus" in without):
            yield f"{where}.type", "BASE_TYPE_CHOICES", "Value must be one of (1, 2, 3)."
            continue
        if (kind, name) in seen:
            yield where, "APPLICATION_COMMANDS_DUPLICATE_NAME", "Application command names must be unique"
        seen.add((kind, name))
        if kind == SLASH:
            yield from _described(where, each)
            yield from _options(f"{where}.options", each.get("options") or [], depth=0)
            if _length(each) > _WORDS:
                yield where, "APPLICATION_COMMAND_TOO_LARGE", f"Command exceeds maximum size ({_WORDS})"
        else:
            yield from _menu(where, each)
        for context in each.get("contexts") or ():
            if context not in (0, 1, 2):
                yield f"{where}.contexts", "BASE_TYPE_CHOICES", "Value must be one of (0, 1, 2)."
    for kind, most in _MOST.items():
        if len([each for each in commands if each.get("type", SLASH) == kind]) > most:
            yield "", "APPLICATION_COMMANDS_MAX", f"Maximum number of application commands reached ({most})."


def _menu(where: str, command: Json) -> Iterator[Problem]:
    if not 1 <= len(str(command.get("name") or "")) <= 32:
        yield bad_length(f"{where}.name", 1, 32)
    if command.get("description"):
        yield (
            f"{where}.description",
            "APPLICATION_COMMAND_CONTEXT_MENU_DESCRIPTION",
            "Context menus have no description",
        )
    if command.get("options"):
        yield f"{where}.options", "APPLICATION_COMMAND_CONTEXT_MENU_OPTIONS", "Context menus have no options"
    for locale, name in (command.get("name_localizations") or {}).items():
        if locale not in LOCALES or not 1 <= len(name) <= 32:
            yield f"{where}.name_localizations.{locale}", "BASE_TYPE_CHOICES", "Unknown locale or bad length."


def _described(where: str, thing: Json) -> Iterator[Problem]:
    """Name and description of a command or an option, in every language."""
    names = {"name": thing.get("name"), **_in_languages(thing, "name")}
    texts = {"description": thing.get("description"), **_in_languages(thing, "description")}
    for spot, name in names.items():
        if not _named(str(name or "")):
            yield f"{where}.{spot}", "APPLICATION_COMMAND_INVALID_NAME", "Command name is invalid"
    for spot, words in texts.items():
        if not 1 <= len(str(words or "")) <= 100:
            yield bad_length(f"{where}.{spot}", 1, 100)
    for spot in (*names, *texts):
        field, _, locale = spot.partition(".")
        if locale and locale not in LOCALES:
            yield f"{where}.{field}", "BASE_TYPE_CHOICES", f"Unknown locale {locale}."


def _in_languages(thing: Json, field: str) -> Json:
    return {f"{field}_localizations.{key}": each for key, each in (thing.get(f"{field}_localizations") or {}).items()}


def _options(where: str, options: list[Json], *, depth: int) -> Iterator[Problem]:
    if len(options) > 25:
        yield too_long(where, 25)
    names = [each.get("name") for each in options]
    if len(set(names)) < len(names):
        yield where, "APPLICATION_COMMAND_OPTIONS_NAME_ALREADY_EXISTS", "Option name already exists"
    needed = [bool(each.get("required")) for each in options]
    if needed != sorted(needed, reverse=True):
        words = "Required options must be placed before non-required options"
        yield where, "APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID", words
    kinds = {each.get("type") in (SUBCOMMAND, GROUP) for each in options}
    if len(kinds) > 1:
        words = "Sub-command and sub-command group option types are mutually exclusive to all other types"
        yield where, "APPLICATION_COMMAND_OPTIONS_TYPE_INVALID", words
    for at, each in enumerate(options):
        spot = f"{where}.{at}"
        yield from _described(spot, each)
        kind = each.get("type")
        if kind in (SUBCOMMAND, GROUP):
            if depth + (kind == SUBCOMMAND) > 2 or (kind == GROUP and depth):
                yield spot, "APPLICATION_COMMAND_OPTIONS_TYPE_INVALID", "Nested too deep"
            if kind == GROUP and not each.get("options"):
                yield required(f"{spot}.options")
            yield from _options(f"{spot}.options", each.get("options") or [], depth=depth + 1)
        elif kind not in range(STRING, ATTACHMENT + 1):
            yield f"{spot}.type", "BASE_TYPE_CHOICES", "Value must be one of (1, …, 11)."
        yield from _choices(spot, each)


def _choices(where: str, option: Json) -> Iterator[Problem]:
    choices = option.get("choices") or []
    if len(choices) > 25:
        yield too_long(f"{where}.choices", 25)
    if choices and option.get("autocomplete"):
        yield where, "APPLICATION_COMMAND_AUTOCOMPLETE_CHOICES", "Autocomplete and choices are mutually exclusive"
    for at, each in enumerate(choices):
        for spot, name in {"name": each.get("name"), **_in_languages(each, "name")}.items():
            if not 1 <= len(str(name or "")) <= 100:
                yield bad_length(f"{where}.choices.{at}.{spot}", 1, 100)
        if isinstance(each.get("value"), str) and len(each["value"]) > 100:
            yield too_long(f"{where}.choices.{at}.value", 100)


def _length(command: Json) -> int:
    """Of the longest language. Source: application-commands, slash commands."""

    def longest(thing: Json, field: str) -> int:
        return max(
            len(str(thing.get(field) or "")), *map(len, (thing.get(f"{field}_localizations") or {"": ""}).values())
        )

    own = longest(command, "name") + longest(command, "description")
    choices = sum(longest(each, "name") + len(str(each.get("value"))) for each in command.get("choices") or ())
    return own + choices + sum(_length(each) for each in command.get("options") or ())


_WORDED = ("name_localizations", "description_localizations")
_OF_OPTIONS = (
    *("channel_types", "choices", "options", "min_value", "max_value", "min_length", "max_length"),
    *("required", "autocomplete"),
)


def registered(command: Json, app: App, identity: str, guild: str, before: Json | None) -> Json:
    """As Discord keeps it: with its defaults, null where nothing was said, and without what it does not know or what
    says nothing. Its version changes with it."""
    kind = command.get("type", SLASH)
    needed = command.get("default_member_permissions")
    made: Json = {"id": identity, "application_id": app.id, "version": ""}
    made |= {"default_permission": True, "default_member_permissions": None if needed is None else str(needed)}
    made |= {"type": kind, "nsfw": bool(command.get("nsfw"))} | _worded(command)
    if kind == SLASH and command.get("options"):
        made["options"] = [_option(each) for each in command["options"]]
    if guild:
        made["guild_id"] = guild
    else:
        contexts = command.get("contexts")
        direct = command.get("dm_permission", True) if contexts is None else 1 in contexts
        made |= {"dm_permission": direct, "contexts": contexts and sorted(contexts)}
        made["integration_types"] = sorted(command.get("integration_types") or [0])
    unchanged = before is not None and before | {"version": ""} == made
    made["version"] = before["version"] if before is not None and unchanged else str(int(identity) + next(_versions))
    return made


_versions = itertools.count(1)


def _worded(thing: Json) -> Json:
    told: Json = {"name": thing["name"], "name_localizations": thing.get("name_localizations") or None}
    told |= {"description": thing.get("description") or ""}
    return told | {"description_localizations": thing.get("description_localizations") or None}


def _option(option: Json) -> Json:
    """Flags that are off and lists that are empty are not there."""
    told = {"type": option["type"]} | _worded(option)
    for name in _OF_OPTIONS:
        if option.get(name) is not None and option[name] is not False and option[name] != []:
            told[name] = option[name]
    if option.get("choices"):
        told["choices"] = [
            {"name": each["name"], "name_localizations": each.get("name_localizations") or None, "value": each["value"]}
            for each in option["choices"]
        ]
    if option.get("options"):
        told["options"] = [_option(each) for each in option["options"]]
    return told


def without_localizations(thing: Json) -> Json:
    """As a list shows it to who does not ask `with_localizations`."""
    told = {name: each for name, each in thing.items() if name not in _WORDED}
    for name in ("options", "choices"):
        if name in told:
            told[name] = [without_localizations(each) for each in told[name]]
    return told


# -- using one ------------------------------------------------------------------------------------------------------


def find(app: App, name: str, kind: int, guild: str) -> Json:
    """What people see under this name here. Raises LookupError."""
    known = [each for each in app.commands.values() if each.get("guild_id") in (None, guild)]
    known = [] if guild in app.commandless else known
    for each in known:
        if each["name"] == name and each["type"] == kind:
            return each
    raise LookupError(f"no command {name!r} among {sorted(each['name'] for each in known)}")


def filled(
    command: Json, path: list[str], values: Mapping[str, Any], world: World, *, focused: str = ""
) -> tuple[list[Json], list[str], list[File]]:
    """The options of an interaction; the ids of people, roles and channels in it; its files.

    `path`: the names of group and subcommand. `focused`: the option somebody is still typing.

    Raises:
        LookupError: there is no such subcommand or option.
        ValueError: a required one is missing, or one does not fit.
    """
    if path:
        inner = next(
            (each for each in command.get("options") or () if each["name"] == path[0] and each["type"] in (1, 2)), None
        )
        if inner is None:
            raise LookupError(f"{command['name']} has no subcommand {path[0]}")
        options, ids, files = filled(inner, path[1:], values, world, focused=focused)
        return [{"name": path[0], "type": inner["type"], "options": options}], ids, files
    known = {each["name"]: each for each in command.get("options") or ()}
    if any(each["type"] in (SUBCOMMAND, GROUP) for each in known.values()):
        raise LookupError(f"{command['name']} needs one of its subcommands {sorted(known)}")
    if unknown := set(values) - set(known):
        raise LookupError(f"{command['name']} has no option {sorted(unknown)}")
    if missing := [name for name, each in known.items() if each.get("required") and name not in values and not focused]:
        raise ValueError(f"{command['name']} needs {missing}")
    made: list[Json] = []
    ids, files = [], []
    for name, value in values.items():
        option = known[name]
        told = value.id if isinstance(value, File) else value
        if name != focused:
            _fits(option, value)
        if isinstance(value, File):
            files.append(value)
        elif option["type"] in (USER, CHANNEL, ROLE, MENTIONABLE):
            ids.append(str(value))
        made.append(
            {"name": name, "type": option["type"], "value": told} | ({"focused": True} if name == focused else {})
        )
    return made, ids, files


def _fits(option: Json, value: Any) -> None:
    """Raises ValueError for a value Discord would not let anybody send."""
    types: dict[int, tuple[type, ...]] = {
        INTEGER: (int,),
        BOOLEAN: (bool,),
        NUMBER: (int, float),
        ATTACHMENT: (File,),
    }
    kind = option["type"]
    if not isinstance(value, types.get(kind, (str,))) or (kind == INTEGER and isinstance(value, bool)):
        raise ValueError(f"{option['name']} does not take {value!r}")
    choices = [each["value"] for each in option.get("choices") or ()]
    if choices and value not in choices:
        raise ValueError(f"{option['name']} is one of {choices}")
    size = len(str(value)) if kind == STRING else value if kind in (INTEGER, NUMBER) else 0
    low, high = ("min_length", "max_length") if kind == STRING else ("min_value", "max_value")
    if size < option.get(low, size) or size > option.get(high, 6000 if kind == STRING else size):
        raise ValueError(f"{option['name']} is too short, too long, too small or too large")
