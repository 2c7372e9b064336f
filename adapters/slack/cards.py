"""A card as blocks of Slack's that only its reader sees: plain text, with links of our own."""

from adapters.slack.dialect import escaped
from adapters.slack.widgets import Json, plain, section, shortened
from bot.cards import Card, Link

ROWS = 15  # with their details at most 2 blocks each, of 50


def card_blocks(card: Card) -> tuple[str, list[Json]]:
    """Text for where blocks are not shown, and the blocks."""
    blocks: list[Json] = [{"type": "header", "text": plain(card.title, 150)}]
    if card.lines:
        blocks.append(section("\n".join(card.lines)))
    for row in card.rows[:ROWS]:
        blocks.append(section(shortened(row.text, 600)))
        elements: list[Json] = [plain(shortened(detail, 200)) for detail in row.details[:8]]
        if row.links:
            links = " · ".join(_link(link) for link in row.links[:5])
            elements.append({"type": "mrkdwn", "text": links, "verbatim": True})
        if elements:
            blocks.append({"type": "context", "elements": elements})
    foot = list(card.foot)
    if len(card.rows) > ROWS:
        foot.insert(0, f"… +{len(card.rows) - ROWS}")
    if foot:
        blocks.append({"type": "context", "elements": [plain("\n".join(foot))]})
    return escaped(card.title), blocks


def _link(link: Link) -> str:
    return f"<{link.url.replace('>', '%3E').replace('|', '%7C')}|{escaped(link.text)}>"
