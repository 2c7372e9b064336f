"""What Discord refuses in a message, its components, embeds and modals: sizes, shapes and combinations.

Source: discord-api-docs, resources/message (limits of messages and embeds), components/reference. A rule without a
page there names the issue it was seen in.
"""

from collections.abc import Callable, Collection, Iterator
from typing import Any

from tests.fakes.discord_gate import Problem, Refused, invalid
from tests.fakes.discord_text import walk
from tests.fakes.discord_world import V2

Json = dict[str, Any]
CONTENT, EMBEDS, EMBED_TEXT, COMPONENTS, V2_TEXT, NONCE = 2000, 10, 6000, 40, 4000, 25
V2_BYTES = 10_170  # of all texts in UTF-8, 12 more for each; beyond, a plain 500. Source: discord-api-docs #8554
ROW, BUTTON, SELECT, INPUT, SECTION, DISPLAY, THUMBNAIL, GALLERY, FILE, SEPARATOR, CONTAINER, LABEL, UPLOAD = (
    *(1, 2, 3, 4, 9, 10),
    *(11, 12, 13, 14, 17, 18, 19),
)
RADIOS, CHECKBOXES, CHECKBOX = 21, 22, 23
SELECTS = frozenset({3, 5, 6, 7, 8})
IN_LABEL = SELECTS | {INPUT, UPLOAD, RADIOS, CHECKBOXES, CHECKBOX}
_IN_CONTAINER = frozenset({ROW, SECTION, DISPLAY, GALLERY, FILE, SEPARATOR})
_AT_TOP = _IN_CONTAINER | {CONTAINER}
_EMBED_SIZES = {"title": 256, "description": 4096}
_ARCHIVES = (60, 1440, 4320, 10080)


def too_long(where: str, most: int) -> Problem:
    return where, "BASE_TYPE_MAX_LENGTH", f"Must be {most} or fewer in length."


def bad_length(where: str, least: int, most: int) -> Problem:
    return where, "BASE_TYPE_BAD_LENGTH", f"Must be between {least} and {most} in length."


def required(where: str) -> Problem:
    return where, "BASE_TYPE_REQUIRED", "This field is required"


def not_one_of(where: str, allowed: Collection[int]) -> Problem:
    return where, "UNION_TYPE_CHOICES", f'Value of field "type" must be one of {tuple(sorted(allowed))}.'


def refuse(problems: Iterator[Problem] | list[Problem]) -> None:
    """Raises a 50035 if there are any."""
    if found := list(problems):
        raise invalid(found)


def check_message(body: Json, flags: int, *, without: Collection[str] = ()) -> None:
    """A message as it is sent, or as an edit would leave it; `flags` are those it has in the end.

    Raises:
        Refused: 50035 with the places, or the 500 Discord answers to v2 texts that are too large.
    """
    if body.get("poll") or body.get("sticker_ids"):
        raise Refused(50035, message="This loopback server has no polls and no stickers")
    content, components, embeds = body.get("content") or "", body.get("components") or [], body.get("embeds") or []
    problems: list[Problem] = []
    if not isinstance(content, str):
        problems.append(("content", "BASE_TYPE_BAD_TYPE", "Could not interpret as string."))
    elif len(content) > CONTENT:
        problems.append(too_long("content", CONTENT))
    if flags & V2:
        if "components_v2" in without:
            problems.append(("flags", "INVALID_FLAGS", "Unknown flag IS_COMPONENTS_V2"))
        for name, used in (("content", content), ("embeds", embeds)):
            if used:
                words = f"The '{name}' field cannot be used when using MessageFlags.IS_COMPONENTS_V2"
                problems.append((name, "MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2", words))
        problems += _v2(components)
    else:
        problems += _rows(components)
    problems += _duplicates(components)
    problems += _embeds(embeds)
    problems += _nonce(body.get("nonce"))
    problems += _mentions(body.get("allowed_mentions"))
    refuse(problems)
    if flags & V2:
        texts = [str(each["content"]).encode() for each in walk(components) if each["type"] == DISPLAY]
        if sum(map(len, texts)) + 12 * len(texts) > V2_BYTES:
            raise Refused(0, status=500, message="500: Internal Server Error")


def _nonce(nonce: Any) -> Iterator[Problem]:
    if isinstance(nonce, str) and len(nonce) > NONCE:
        yield too_long("nonce", NONCE)
    elif nonce is not None and not isinstance(nonce, str | int):
        yield "nonce", "BASE_TYPE_BAD_TYPE", "Could not interpret as string or integer."


def _mentions(allowed: Json | None) -> Iterator[Problem]:
    allowed = allowed or {}
    parse = allowed.get("parse") or []
    for at, each in enumerate(parse):
        if each not in ("users", "roles", "everyone"):
            yield f"allowed_mentions.parse.{at}", "BASE_TYPE_CHOICES", "Value must be one of roles, users, everyone."
    for name in ("users", "roles"):
        listed = allowed.get(name) or []
        if listed and name in parse:
            words = f"parse:['{name}'] and {name}: [ids...] are mutually exclusive."
            yield "allowed_mentions", "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE", words
        if len(listed) > 100:
            yield too_long(f"allowed_mentions.{name}", 100)


def _embeds(embeds: list[Json]) -> Iterator[Problem]:
    if len(embeds) > EMBEDS:
        yield too_long("embeds", EMBEDS)
    total = 0

    def sized(where: str, words: Any, most: int) -> Iterator[Problem]:
        nonlocal total
        total += len(str(words or "").strip())
        if len(str(words or "").strip()) > most:
            yield too_long(where, most)

    for at, embed in enumerate(embeds):
        for name, most in _EMBED_SIZES.items():
            yield from sized(f"embeds.{at}.{name}", embed.get(name), most)
        fields = embed.get("fields") or []
        if len(fields) > 25:
            yield too_long(f"embeds.{at}.fields", 25)
        for number, each in enumerate(fields):
            for name, most in (("name", 256), ("value", 1024)):
                if not str(each.get(name) or "").strip():
                    yield required(f"embeds.{at}.fields.{number}.{name}")
                yield from sized(f"embeds.{at}.fields.{number}.{name}", each.get(name), most)
        yield from sized(f"embeds.{at}.footer.text", (embed.get("footer") or {}).get("text"), 2048)
        yield from sized(f"embeds.{at}.author.name", (embed.get("author") or {}).get("name"), 256)
    if total > EMBED_TEXT:
        yield "embeds", "MAX_EMBED_SIZE_EXCEEDED", f"Embed size exceeds maximum size of {EMBED_TEXT}"


# -- components -----------------------------------------------------------------------------------------------------


def _duplicates(components: list[Json]) -> Iterator[Problem]:
    seen: set[str] = set()
    for each in walk(components):
        custom_id = each.get("custom_id")
        if custom_id and custom_id in seen:
            yield (
                "components",
                "COMPONENT_CUSTOM_ID_DUPLICATED",
                f"Component custom id {custom_id} cannot be duplicated",
            )
        seen.add(custom_id or "")


def _rows(components: list[Json]) -> Iterator[Problem]:
    """Components without the v2 flag: at most five rows and nothing else."""
    if len(components) > 5:
        yield bad_length("components", 1, 5)
    for at, each in enumerate(components):
        if each.get("type") != ROW:
            yield not_one_of(f"components.{at}.type", {ROW})
        else:
            yield from _row(f"components.{at}", each)


def _row(where: str, row: Json) -> Iterator[Problem]:
    inside = row.get("components") or []
    width = sum(5 if each.get("type") in SELECTS else 1 for each in inside)
    if not inside or len(inside) > 5:
        yield bad_length(f"{where}.components", 1, 5)
    elif width > 5:
        yield (
            f"{where}.components",
            "COMPONENT_LAYOUT_WIDTH_EXCEEDED",
            "The specified component exceeds the maximum width",
        )
    for at, each in enumerate(inside):
        spot = f"{where}.components.{at}"
        if each.get("type") == BUTTON:
            yield from _button(spot, each)
        elif each.get("type") in SELECTS:
            yield from _select(spot, each)
        else:
            yield not_one_of(f"{spot}.type", SELECTS | {BUTTON})


def _custom_id(where: str, component: Json) -> Iterator[Problem]:
    given = component.get("custom_id")
    if not given:
        yield required(f"{where}.custom_id")
    elif len(given) > 100:
        yield bad_length(f"{where}.custom_id", 1, 100)


def _button(where: str, button: Json) -> Iterator[Problem]:
    style = button.get("style")
    if style not in (1, 2, 3, 4, 5):
        yield f"{where}.style", "BASE_TYPE_CHOICES", "Value must be one of (1, 2, 3, 4, 5)."
    if len(button.get("label") or "") > 80:
        yield too_long(f"{where}.label", 80)
    if not button.get("label") and not button.get("emoji"):
        yield where, "BUTTON_COMPONENT_INVALID_LABEL", "A button must have a label or an emoji"
    if style == 5:
        url = str(button.get("url") or "")
        if not url.startswith(("http://", "https://", "discord://")):
            yield f"{where}.url", "URL_TYPE_INVALID_URL", "Not a well formed URL."
        elif len(url) > 512:
            yield too_long(f"{where}.url", 512)
        if button.get("custom_id"):
            yield (
                where,
                "BUTTON_COMPONENT_CUSTOM_ID_URL_MUTUALLY_EXCLUSIVE",
                "A custom id and url cannot both be specified",
            )
    else:
        yield from _custom_id(where, button)
        if button.get("url"):
            yield f"{where}.url", "BUTTON_COMPONENT_INVALID_URL", "Only link buttons have a url"


def _select(where: str, select: Json, *, modal: bool = False) -> Iterator[Problem]:
    yield from _custom_id(where, select)
    if len(select.get("placeholder") or "") > 150:
        yield too_long(f"{where}.placeholder", 150)
    if modal and select.get("disabled"):
        yield f"{where}.disabled", "COMPONENT_DISABLED_IN_MODAL", "Modals cannot have disabled components"
    options = select.get("options") or []
    least, most = _range(select)
    if select["type"] == SELECT:
        yield from _options(where, options, 1, 25)
        yield from _chosen(where, options, most)
    if not 0 <= least <= 25 or not 1 <= most <= 25 or least > most:
        yield f"{where}.max_values", "BASE_TYPE_BAD_VALUE", "min_values and max_values must be in order and at most 25."
    if modal and select.get("required", True) and least < 1:
        yield f"{where}.min_values", "BASE_TYPE_MIN", "Must be at least 1 when required."


def _chosen(where: str, options: list[Json], most: int) -> Iterator[Problem]:
    """Source: components/reference: what is chosen to begin with is in range, and so is the range."""
    if most > len(options):
        yield f"{where}.max_values", "BASE_TYPE_MAX", f"Must be at most {len(options)}, the number of options."
    if sum(bool(each.get("default")) for each in options) > most:
        yield f"{where}.options", "SELECT_COMPONENT_TOO_MANY_DEFAULTS", f"At most {most} can be chosen"


def _group(where: str, group: Json) -> Iterator[Problem]:
    """Radio buttons, of which one is chosen, and checkboxes, of which all may be."""
    options, boxes = group.get("options") or [], group["type"] == CHECKBOXES
    least, most = _range({"max_values": len(options) if boxes else 1} | group)
    yield from _options(where, options, 1 if boxes else 2, 10)
    yield from _chosen(where, options, most)
    if not 0 <= least <= most or (group.get("required", True) and least < 1):
        yield f"{where}.min_values", "BASE_TYPE_BAD_VALUE", "min_values is at most max_values, and 1 where required."


def _range(component: Json) -> tuple[int, int]:
    """min_values and max_values, null as good as absent; at least one only where an answer is required."""
    needed = component.get("required", True)
    least, most = component.get("min_values"), component.get("max_values")
    return int(needed) if least is None else least, 1 if most is None else most


def _options(where: str, options: list[Json], least: int, most: int) -> Iterator[Problem]:
    if not least <= len(options) <= most:
        yield bad_length(f"{where}.options", least, most)
    values = [each.get("value") for each in options]
    if len(set(values)) < len(values):
        yield (
            f"{where}.options",
            "SELECT_COMPONENT_OPTION_VALUE_DUPLICATED",
            "The specified option value is already used",
        )
    for at, each in enumerate(options):
        for name in ("label", "value"):
            if not 1 <= len(str(each.get(name) or "")) <= 100:
                yield bad_length(f"{where}.options.{at}.{name}", 1, 100)
        if len(str(each.get("description") or "")) > 100:
            yield too_long(f"{where}.options.{at}.description", 100)


def _v2(components: list[Json]) -> Iterator[Problem]:
    if not components:
        yield required("components")
    everything = list(walk(components))
    if len(everything) > COMPONENTS:
        yield "components", "COMPONENT_MAX_TOTAL", f"The total number of components must be {COMPONENTS} or fewer"
    written = sum(len(str(each.get("content") or "")) for each in everything if each.get("type") == DISPLAY)
    if written > V2_TEXT:
        words = f"The total length of displayable text must be {V2_TEXT} or fewer"
        yield "components", "COMPONENT_DISPLAYABLE_TEXT_SIZE_EXCEEDED", words
    for at, each in enumerate(components):
        yield from _block(f"components.{at}", each, _AT_TOP)


def _block(where: str, component: Json, allowed: Collection[int]) -> Iterator[Problem]:
    kind = component.get("type")
    inside = component.get("components") or []
    if kind not in allowed:
        yield not_one_of(f"{where}.type", allowed)
    elif kind == ROW:
        yield from _row(where, component)
    elif kind == DISPLAY and not str(component.get("content") or "").strip():
        yield required(f"{where}.content")
    elif kind == SECTION:
        if not 1 <= len(inside) <= 3:
            yield bad_length(f"{where}.components", 1, 3)
        for at, each in enumerate(inside):
            yield from _block(f"{where}.components.{at}", each, {DISPLAY})
        accessory = component.get("accessory") or {}
        if accessory.get("type") == BUTTON:
            yield from _button(f"{where}.accessory", accessory)
        elif accessory.get("type") != THUMBNAIL:
            yield not_one_of(f"{where}.accessory.type", {BUTTON, THUMBNAIL})
    elif kind == GALLERY and not 1 <= len(component.get("items") or ()) <= 10:
        yield bad_length(f"{where}.items", 1, 10)
    elif kind == FILE and not str((component.get("file") or {}).get("url", "")).startswith("attachment://"):
        yield f"{where}.file.url", "URL_TYPE_INVALID_SCHEME", "Scheme must be attachment."
    elif kind == CONTAINER:
        if not inside:
            yield required(f"{where}.components")
        for at, each in enumerate(inside):
            yield from _block(f"{where}.components.{at}", each, _IN_CONTAINER)


# -- modals and threads ---------------------------------------------------------------------------------------------


def check_modal(body: Json, *, without: Collection[str] = ()) -> None:
    """Source: interactions/receiving-and-responding (modal), components/reference. Raises Refused."""
    problems: list[Problem] = list(_custom_id("data", body))
    if not 1 <= len(body.get("title") or "") <= 45:
        problems.append(bad_length("data.title", 1, 45))
    parts = body.get("components") or []
    if not 1 <= len(parts) <= 5:
        problems.append(bad_length("data.components", 1, 5))
    problems += _duplicates(parts)
    for at, each in enumerate(parts):
        problems += _modal_part(f"data.components.{at}", each, without)
    refuse(problems)


def _modal_part(where: str, part: Json, without: Collection[str]) -> Iterator[Problem]:
    match part.get("type"):
        case 1:
            [*inside] = part.get("components") or []
            if len(inside) != 1 or inside[0].get("type") != INPUT:
                yield not_one_of(f"{where}.components", {INPUT})
            else:
                yield from _input(f"{where}.components.0", inside[0], labelled=False)
        case 18 if "modal_components" not in without:
            for name, most in (("label", 45), ("description", 100)):
                if len(str(part.get(name) or "")) > most:
                    yield too_long(f"{where}.{name}", most)
            if not part.get("label"):
                yield required(f"{where}.label")
            yield from _in_label(f"{where}.component", part.get("component") or {}, without)
        case 10 if "modal_components" not in without:
            if not str(part.get("content") or "").strip():
                yield required(f"{where}.content")
        case _:
            yield not_one_of(f"{where}.type", {ROW} if "modal_components" in without else {ROW, DISPLAY, LABEL})


def _in_label(where: str, component: Json, without: Collection[str]) -> Iterator[Problem]:
    kind = component.get("type")
    checks: dict[int, Callable[[], Iterator[Problem]]] = {
        INPUT: lambda: _input(where, component, labelled=True),
        RADIOS: lambda: _group(where, component),
        CHECKBOXES: lambda: _group(where, component),
        UPLOAD: lambda: _upload(where, component),
    }
    checks |= dict.fromkeys(SELECTS, lambda: _select(where, component, modal=True))
    if kind not in IN_LABEL or (kind == UPLOAD and "file_upload" in without):
        yield not_one_of(f"{where}.type", IN_LABEL)
        return
    yield from checks.get(kind, lambda: iter(()))()
    if kind not in SELECTS:
        yield from _custom_id(where, component)


def _input(where: str, part: Json, *, labelled: bool) -> Iterator[Problem]:
    if not labelled:
        yield from _custom_id(where, part)
        if not 1 <= len(part.get("label") or "") <= 45:
            yield bad_length(f"{where}.label", 1, 45)
    elif part.get("label"):
        yield f"{where}.label", "BASE_TYPE_FORBIDDEN", "A text input in a label has no label of its own"
    if part.get("style") not in (1, 2):
        yield f"{where}.style", "BASE_TYPE_CHOICES", "Value must be one of (1, 2)."
    for name, most in (("value", 4000), ("placeholder", 100)):
        if len(part.get(name) or "") > most:
            yield too_long(f"{where}.{name}", most)
    if len(part.get("value") or "") > (most := part.get("max_length") or 4000):
        yield too_long(f"{where}.value", most)  # Source: discord-tickets #678
    if part.get("style") == 1 and "\n" in (part.get("value") or ""):  # Source: Discord.Net PR 2789
        yield where, "COMPONENT_VALIDATION_FAILED", "Component validation failed"
    if not 0 <= (part.get("min_length") or 0) <= 4000 or not 1 <= (part.get("max_length") or 4000) <= 4000:
        yield f"{where}.max_length", "NUMBER_TYPE_MAX", "int value should be less than or equal to 4000."


def _upload(where: str, part: Json) -> Iterator[Problem]:
    least, most = _range(part)
    if not 0 <= least <= 10 or not 1 <= most <= 10 or least > most or (part.get("required", True) and least < 1):
        yield f"{where}.max_values", "BASE_TYPE_BAD_VALUE", "min_values and max_values must be in order and at most 10."


def check_choices(choices: list[Json]) -> None:
    """What is proposed while somebody types. Source: application-commands, option choice structure. Raises Refused."""
    problems = [too_long("data.choices", 25)] if len(choices) > 25 else []
    for at, each in enumerate(choices):
        for name in ("name", "value"):
            if not isinstance(each.get(name), str) or not 1 <= len(each[name]) <= 100:
                problems.append(bad_length(f"data.choices.{at}.{name}", 1, 100))
    refuse(problems)


def check_thread(body: Json) -> None:
    """Name and archive duration of a thread. Raises Refused."""
    problems: list[Problem] = []
    if "name" in body and not 1 <= len(str(body["name"] or "").strip()) <= 100:
        problems.append(bad_length("name", 1, 100))
    if body.get("auto_archive_duration") not in (None, *_ARCHIVES):
        words = f"Value must be one of {{{', '.join(map(str, _ARCHIVES))}}}."
        problems.append(("auto_archive_duration", "BASE_TYPE_CHOICES", words))
    refuse(problems)
