"""A card as blocks of Slack's that only its reader sees: plain text, with links of our own."""

from adapters.markdown import shortened
from adapters.slack.dialect import escaped
from adapters.slack.widgets import Json, context, plain, section
from bot.types import Card, Link, Row

WEIGHT = 11_000  # characters of all blocks; Source: reliability.md R29, bolt-js #2509
BLOCK_WEIGHT = 125  # that each block counts for
ROWS = 20  # at most 2 blocks each, of 50


def card_blocks(card: Card) -> tuple[str, list[Json]]:
    """Plain text for where blocks are not shown, and the blocks; rows for which there is no room are counted."""
    blocks: list[Json] = [{"type": "header", "text": plain(card.title, 150)}]
    if card.lines:
        blocks.append(section("\n".join(card.lines)))
    weight = sum(map(_weight, blocks)) + sum(map(len, card.foot))
    foot = list(card.foot)
    for number, row in enumerate(card.rows):
        drawn = _row(row)
        weight += sum(map(_weight, drawn))
        if number >= ROWS or weight > WEIGHT:
            foot.insert(0, f"… +{len(card.rows) - number}")
            break
        blocks += drawn
    if foot:
        blocks.append(context("\n".join(foot)))
    return card.title, blocks


def _row(row: Row) -> list[Json]:
    elements: list[Json] = [plain(detail, 300) for detail in row.details[:9]]
    if row.links:
        links = " · ".join(map(_link, row.links[:5]))
        if len(links) <= 3_000:
            elements.append({"type": "mrkdwn", "text": links, "verbatim": True})
    return [section(shortened(row.text, 600)), *([{"type": "context", "elements": elements}] if elements else [])]


def _link(link: Link) -> str:
    return f"<{escaped(link.url).replace('|', '%7C')}|{escaped(link.text)}>"


def _weight(block: Json) -> int:
    texts = [block["text"]] if "text" in block else block["elements"]
    return BLOCK_WEIGHT + sum(len(text["text"]) for text in texts)
