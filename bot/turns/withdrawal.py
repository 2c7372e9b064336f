"""An answer without what it says of documents that its readers may not read any more. Source: product.md §3."""

import re
from collections.abc import Mapping
from dataclasses import replace

from agent.events import Answered, of_documents
from agent.outcomes import without_closest
from retrieval.i18n import Language, Text

WITHDRAWN = Text(en="(The passage was withdrawn.)", ja="（引用元が取り下げられたため、この部分は表示できません。）")
_CITED = re.compile(r"\[(\d{1,3})\]")
_BLOCKS = re.compile(r"\n(?:[ \t]*\n)+")


def without(answered: Answered, documents: Mapping[str, str], language: Language) -> Answered:
    """Each paragraph, list or quotation that cites one of `documents` (names by id) goes whole, its heading too, as do
    their sources, and what is said of their changes; where nothing else is cited, all of the text. The numbers of the
    others stay. One that found no answer does not name the page that came closest, which may be one of them."""
    if documents and answered.outcome == "unknown":
        text = without_closest(answered.text)
        return answered if text == answered.text else replace(answered, text=text)
    changes = tuple(change for change in answered.changes if not of_documents(change, documents))
    if len(changes) < len(answered.changes):
        answered = replace(answered, changes=changes)
    gone = {citation.n for citation in answered.citations if of_documents(citation, documents)}
    if not gone:
        return answered
    left = tuple(citation for citation in answered.citations if citation.n not in gone)
    said = f"*{WITHDRAWN.to(language)}*"
    blocks: list[str] = []
    for block in _BLOCKS.split(answered.text) if left else ():
        kept = said if gone & {int(number) for number in _CITED.findall(block)} else block
        if not (kept == said and blocks and blocks[-1] == said):
            blocks.append(kept)
    text = "\n\n".join(blocks) or said
    return replace(answered, text=text, citations=left)
