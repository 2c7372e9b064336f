"""What people read of a Discord message, whom it pings, and what becomes a link.

Code spans and blocks are left out where Discord leaves them alone: nothing in them is a mention or a link.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any

Json = dict[str, Any]

_CODE = re.compile(r"(`{3})(?:.|\n)*?\1|(`{1,2})(?!`)(?:.|\n)*?(?<!`)\2(?!`)")
_MENTION = re.compile(r"<@!?(\d+)>|<@&(\d+)>|@(everyone|here)\b")
_NAMED = re.compile(r"<(@&?)!?(\d+)>|<(#)(\d+)>|<(/)([^:>]+):\d+>|@(everyone|here)\b")
_ANGLED = re.compile(r"<((?:https?|discord)://[^\s<>]+)>", re.IGNORECASE)
_MASKED = re.compile(
    r"\[((?:[^\[\]\\]|\\.)*)\]\(\s*<?((?:https?|discord|mailto|tel|sms):[^\s)>]+)>?[^)]*\)", re.IGNORECASE
)
_BARE = re.compile(r"(?<![<\w])(?:https?|discord)://[^\s<>\"]*[^\s<>\"'.,:;!?\])}]", re.IGNORECASE)
_ESCAPE = re.compile(r"\\([^\w\s])")
_PICTURES = ("image", "thumbnail")


def walk(components: Iterable[Json]) -> Iterator[Json]:
    """Every component, from the top down, accessories and the parts of labels too."""
    for each in components:
        yield each
        yield from walk(each.get("components") or ())
        for name in ("accessory", "component"):
            if each.get(name):
                yield from walk([each[name]])


def interactive(components: Iterable[Json]) -> list[Json]:
    return [each for each in walk(components) if each.get("custom_id") and each["type"] in (2, 3, 5, 6, 7, 8)]


def label(component: Json) -> str:
    return str(component.get("label") or (component.get("emoji") or {}).get("name") or component.get("placeholder", ""))


def shown(content: str, components: Iterable[Json], embeds: Iterable[Json]) -> str:
    pieces = [_plain(each) for each in _written(content, components)]
    pieces += [_plain(each) for embed in embeds for each in _embedded(embed)]
    return "\n".join(each for each in pieces if each)


def _plain(markdown: str) -> str:
    """Masked links by their text, escapes undone outside code; the rest of the Markdown stays as it is written."""

    def read(piece: str) -> str:
        return _ESCAPE.sub(r"\1", _MASKED.sub(lambda found: found[1], _ANGLED.sub(r"\1", piece)))

    made, at = [], 0
    for code in _CODE.finditer(markdown):
        made += [read(markdown[at : code.start()]), code[0]]
        at = code.end()
    return "".join([*made, read(markdown[at:])])


def pings(
    content: str,
    components: Iterable[Json],
    *,
    allowed: Json | None,
    everyone: bool,
    roles: Collection[str],
    users: Collection[str],
    replied: str = "",
    users_only: bool = False,
) -> list[str]:
    """Whom a message pings: user ids, "&" + role id, "everyone", "here".

    `allowed`: its allowed_mentions; None: everything written pings, or only users in an answer to an interaction
    (`users_only`). `everyone` and `roles`: what the author has the right to ping. `replied`: the author replied to.
    Source: resources/message, allowed mentions object. Embeds never ping.
    """
    if allowed is None:
        parse = {"users"} if users_only else {"users", "roles", "everyone"}
        allowed = {"replied_user": True}
    else:
        parse = set(allowed.get("parse") or ())
    found: list[str] = []
    if replied and allowed.get("replied_user"):
        found.append(replied)
    for piece in _written(content, components):
        for user, role, all_of_them in _MENTION.findall(_without_code(piece)):
            if user and user in users and ("users" in parse or user in map(str, allowed.get("users") or ())):
                found.append(user)
            elif role in roles and ("roles" in parse or role in map(str, allowed.get("roles") or ())):
                found.append(f"&{role}")
            elif all_of_them and everyone and "everyone" in parse:
                found.append(all_of_them)
    return list(dict.fromkeys(found))


def named(content: str, components: Iterable[Json], embeds: Iterable[Json]) -> list[str]:
    found = []
    for piece in [*_written(content, components), *(each for embed in embeds for each in _embedded(embed))]:
        for at, user, hash_, channel, slash, command, everyone in _NAMED.findall(_escaped_out(_without_code(piece))):
            found.append(f"{at}{user}{hash_}{channel}{slash}{command}" or f"@{everyone}")
    return list(dict.fromkeys(found))


def links(content: str, components: Iterable[Json], embeds: Iterable[Json]) -> list[str]:
    """Of the text, the link buttons, the pictures and the embeds."""
    components, embeds = list(components), list(embeds)
    found: list[str] = []
    for piece in [*_written(content, components), *(each for embed in embeds for each in _embedded(embed))]:
        found += _urls(piece)
    for each in walk(components):
        media = [each, each.get("media") or {}, each.get("file") or {}, *_media(each)]
        found += [str(one["url"]) for one in media if one.get("url")]
    for embed in embeds:
        found += [str(embed["url"])] if embed.get("url") else []
        found += [str(embed[name]["url"]) for name in _PICTURES if (embed.get(name) or {}).get("url")]
        for name in ("footer", "author"):
            found += [str(url) for key, url in (embed.get(name) or {}).items() if key.endswith("url") and url]
    return list(dict.fromkeys(each for each in found if not each.startswith("attachment://")))


def previewed(content: str) -> list[str]:
    """Of what `links` finds in the text, without what stands in `<…>`."""
    return _urls(_ANGLED.sub(" ", content))


def _urls(piece: str) -> list[str]:
    piece = _without_code(piece)
    masked = [url for _, url in _MASKED.findall(piece)]
    rest = _MASKED.sub(lambda found: f" {found[1]} ", piece)
    angled = _ANGLED.findall(rest)
    return [*masked, *angled, *_BARE.findall(_escaped_out(_ANGLED.sub(" ", rest)))]


def _media(component: Json) -> Iterator[Json]:
    for item in component.get("items") or ():
        yield item.get("media") or {}


def _written(content: str, components: Iterable[Json]) -> list[str]:
    return [content, *(str(each.get("content") or "") for each in walk(components) if each.get("type") == 10)]


def _embedded(embed: Json) -> Iterator[str]:
    yield str((embed.get("author") or {}).get("name") or "")
    yield str(embed.get("title") or "")
    yield str(embed.get("description") or "")
    for each in embed.get("fields") or ():
        yield str(each.get("name") or "")
        yield str(each.get("value") or "")
    yield str((embed.get("footer") or {}).get("text") or "")


def _without_code(piece: str) -> str:
    return _CODE.sub(" ", piece)


def _escaped_out(piece: str) -> str:
    r"""A backslash keeps `<`, `@` and `:` from beginning anything: `\<@1>`, `https\://…`."""
    return re.sub(r"\\[<@:/#]", " ", piece)
