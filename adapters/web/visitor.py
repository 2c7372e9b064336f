"""The person who looks at a page and what they may see there: the browser's visitor, from cookies and headers.

Source: product.md §3 and §6; newcomer.md rows 17 and 18.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import tzinfo
from typing import Literal
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from adapters.web.api.errors import language_asked
from adapters.web.channel.adapter import WebAdapter
from adapters.web.channel.rooms import MEMBERS, Member, member, readers_of
from adapters.web.paths import ROOT
from bot.app import Application
from bot.config.settings import Settings
from retrieval.i18n import Language
from retrieval.types import Readers

AS, LANGUAGE, THEME = "kotae_as", "kotae_language", "kotae_theme"
ZONE = "kotae_zone"  # written by the browser itself
YEAR = 365 * 24 * 3600

Theme = Literal["auto", "light", "dark"]

_CHOICES: Mapping[str, tuple[str, frozenset[str]]] = {
    "as": (AS, frozenset(member.id for member in MEMBERS)),
    "language": (LANGUAGE, frozenset({"ja", "en"})),
    "theme": (THEME, frozenset({"auto", "light", "dark"})),
}


@dataclass(frozen=True, slots=True)
class Site:
    """The objects the pages work with."""

    app: Application
    web: WebAdapter
    platforms: Callable[[], Mapping[str, bool]]


@dataclass(frozen=True, slots=True)
class Visitor:
    """A browser, acting as one of the members. What it shows is seen by that member alone."""

    member: Member
    language: Language
    theme: Theme
    zone: tzinfo  # of the browser; as a string its name

    @property
    def readers(self) -> Readers:
        return readers_of(self.member)

    @property
    def dark(self) -> bool | None:
        """None: as the reader's system has it."""
        return None if self.theme == "auto" else self.theme == "dark"


def visitor(request: Request, settings: Settings) -> Visitor:
    """By what was chosen in this browser and its time zone; the language else by Accept-Language. What is not known is
    as in the settings."""
    cookies = request.cookies
    language, theme = cookies.get(LANGUAGE), cookies.get(THEME)
    return Visitor(
        member(cookies.get(AS, "")) or MEMBERS[0],
        "ja" if language == "ja" else "en" if language == "en" else _asked(request, settings.language),
        "light" if theme == "light" else "dark" if theme == "dark" else "auto",
        _zone(cookies.get(ZONE, "")) or settings.timezone,
    )


async def choose(request: Request) -> Response:
    """`GET /app/choose?language=ja&back=/app/…`: keeps a choice in the browser and goes back."""
    back = request.query_params.get("back", "")
    parts = urlsplit(back)
    ours = not parts.scheme and not parts.netloc and back.startswith(f"{ROOT}/") and "\\" not in back
    response = RedirectResponse(back if ours else f"{ROOT}/", 303)
    for name, (cookie, known) in _CHOICES.items():
        if (value := request.query_params.get(name)) in known:
            response.set_cookie(cookie, value, max_age=YEAR, path=ROOT, httponly=True, samesite="lax")
    return response


def _zone(name: str) -> tzinfo | None:
    """None for what is no name of a time zone that is known here."""
    try:
        return ZoneInfo(name) if name else None
    except (OSError, ValueError, LookupError):  # a folder of zones; a path; not found
        return None


def _asked(request: Request, default: Language) -> Language:
    return language_asked(request.headers.get("accept-language", ""), default)
