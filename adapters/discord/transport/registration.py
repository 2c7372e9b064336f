"""The application commands as Discord knows them: told anew only when they are others than it has.

Source: discord.com/developers/docs/interactions/application-commands (structures, bulk overwrite, localization).
"""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import discord
from discord import app_commands
from discord.ext import commands

log = logging.getLogger(__name__)

Json = dict[str, Any]

_SAID = (
    *("name", "name_localizations", "description", "description_localizations", "type"),
    *("required", "autocomplete", "channel_types", "min_length", "max_length"),
)
_BOUNDS = ("min_value", "max_value")
_CHOSEN_BY_DISCORD = ("contexts", "integration_types")  # where a command says nothing of them


class InJapanese(app_commands.Translator):
    """Every name and description says itself what it is in Japanese; the default is English."""

    async def translate(self, string: app_commands.locale_str, locale: discord.Locale, context: Any) -> str | None:
        found: str | None = string.extras.get("ja") if locale is discord.Locale.japanese else None
        return found


async def publish(client: commands.Bot) -> None:
    """Tell Discord the registered commands, in both languages, unless it has them already.

    Raises discord.HTTPException.
    """
    tree, translator = client.tree, InJapanese()
    await tree.set_translator(translator)
    wanted = [await command.get_translated_payload(tree, translator) for command in tree.get_commands()]
    path = "/applications/{application_id}/commands"  # discord.py's own call leaves the translations out
    route = discord.http.Route("GET", path, application_id=client.application_id)
    if differ(wanted, await client.http.request(route, params={"with_localizations": "true"})):
        await tree.sync()
        log.info("the commands have been told to Discord")


def differ(wanted: Sequence[Json], registered: Sequence[Json]) -> bool:
    """Whether Discord shows people other commands than these, both as its API has them. The order of the commands says
    nothing; that of options and choices is what people see."""
    theirs = {_key(command): command for command in registered}
    if len(registered) != len(wanted) or theirs.keys() != {_key(command) for command in wanted}:
        return True
    return any(_differs(command, theirs[_key(command)]) for command in wanted)


def _differs(wanted: Json, registered: Json) -> bool:
    chosen = [name for name in _CHOSEN_BY_DISCORD if wanted.get(name) is not None]
    return _plain(wanted) != _plain(registered) or any(
        set(wanted[name]) != set(registered.get(name) or ()) for name in chosen
    )


def _key(command: Json) -> tuple[int, str]:
    return command.get("type", 1), command["name"]


def _plain(command: Json) -> Json:
    permissions = command.get("default_member_permissions")
    return _option({"type": 1} | command) | {
        "nsfw": bool(command.get("nsfw")),
        "direct": command.get("dm_permission") is not False,
        "permissions": None if permissions is None else str(permissions),
    }


def _option(thing: Mapping[str, Any]) -> Json:
    """A command or an option without what says nothing: Discord leaves some of that out and fills some in."""
    told = {name: thing[name] for name in _SAID if thing.get(name)}
    told |= {name: thing[name] for name in _BOUNDS if thing.get(name) is not None}
    told["options"] = [_option(each) for each in thing.get("options") or ()]
    told["choices"] = [
        (each["name"], each.get("name_localizations") or {}, each["value"]) for each in thing.get("choices") or ()
    ]
    return told
