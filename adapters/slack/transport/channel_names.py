"""The channels of a workspace that a name may mean. Source: docs.slack.dev conversations.list (fewer than asked for may
come in a page, also none; "an integer under 1000")."""

import re
from collections.abc import Awaitable, Callable, Collection
from typing import Any

from adapters.shared.channels import Named
from adapters.slack.transport.directory import next_page

Call = Callable[..., Awaitable[dict[str, Any]]]
"""conversations.list with these arguments."""

CHANNEL_ID = re.compile(r"[CGD][A-Z0-9]+")  # names have no capitals
_TYPES = {"public_channel": "channels:read", "private_channel": "groups:read"}
_PAGE, _PAGES = 999, 20


async def channels(call: Call, scopes: Collection[str]) -> list[Named]:
    """All public channels that are not archived, and the private ones that the bot is in, as far as its `scopes` show
    them (none: they are not known). Raises what `call` raises."""
    found: list[Named] = []
    types = [kind for kind, scope in _TYPES.items() if not scopes or scope in scopes]
    arguments = {"types": ",".join(types), "exclude_archived": "true", "limit": str(_PAGE)}
    if not types:
        return []
    for _ in range(_PAGES):
        page = await call(**arguments)
        for each in page.get("channels") or ():
            found.append(Named(str(each["id"]), str(each.get("name") or ""), bool(each.get("is_member"))))
        arguments["cursor"] = next_page(page)
        if not arguments["cursor"]:
            break
    return found
