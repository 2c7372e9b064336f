"""A card as Discord's Markdown: everything in it stands for itself, and only our own links can be followed.

Source: discord.com/developers/docs/resources/message (2,000 characters); reliability.md R15.
"""

from collections.abc import Iterable, Iterator

from adapters.discord.dialect import escaped
from adapters.markdown import shortened
from bot.types import Card, Link, Row

CONTENT = 2_000
MESSAGES = 3  # that one card may take
_FOOT, _ROW, _LINKS, _COUNT = 600, 1_300, 600, 40  # characters
_PIECE = 400  # of one line that has to be cut
_BLANK = "\u200b"


def card_texts(card: Card) -> list[str]:
    """The card in messages of at most 2,000 characters; rows for which there is no room are counted."""
    texts = [_fitting([f"**{escaped(card.title)}**", *map(escaped, card.lines)], _ROW)]
    foot = _fitting((f"-# {escaped(line)}" for line in card.foot), _FOOT)
    for number, row in enumerate(card.rows):
        drawn = row_text(row)
        last = len(texts) == MESSAGES
        if len(texts[-1]) + len(drawn) + 2 <= CONTENT - (len(foot) + _COUNT if last else 0):
            texts[-1] += f"\n\n{drawn}"
        elif not last:
            texts.append(drawn)
        else:
            texts[-1] += f"\n-# … +{len(card.rows) - number}"
            break
    if foot and len(texts[-1]) + len(foot) + 1 > CONTENT:
        texts.append(foot)
    elif foot:
        texts[-1] += f"\n{foot}"
    return texts


def heading(card: Card) -> str:
    """The card without its rows."""
    return card_texts(Card(card.title, card.lines, (), card.foot))[0]


def row_text(row: Row, *, linked: bool = True) -> str:
    """A row; `linked`: with its links, which else are buttons."""
    return _fitting(_lines(row, linked), _ROW)


def pieces(head: str, text: str) -> list[str]:
    """What somebody wrote, after `head`, in messages; cut between lines, where those are not too long themselves."""
    found = [head]
    for line in text.strip().splitlines():
        for at in range(0, max(1, len(line)), _PIECE):
            part = escaped(line[at : at + _PIECE])
            if len(found[-1]) + len(part) + 1 <= CONTENT:
                found[-1] += part if at else f"\n{part}"
            else:
                found.append(part)
    return [piece if piece.strip() else _BLANK for piece in found]


def _lines(row: Row, linked: bool) -> Iterator[str]:
    yield f"**{escaped(shortened(row.text, 400))}**"
    for detail in row.details[:5]:
        yield f"-# {escaped(shortened(detail, 300))}"
    if linked and row.links:
        yield f"-# {' · '.join(_fitting(map(_link, row.links), _LINKS).splitlines())}"


def _link(link: Link) -> str:
    """`[text](<url>)`: of what is in angle brackets no preview is fetched."""
    return f"[{escaped(link.text)}](<{link.url}>)"


def _fitting(lines: Iterable[str], room: int) -> str:
    """The first lines of these, so many as there is room for."""
    shown: list[str] = []
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            break
        shown.append(line)
    return "\n".join(shown)
