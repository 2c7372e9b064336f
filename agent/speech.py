"""What a model says while it works, sorted: thoughts for the thread, and the text that is left for the draft.

Providers without thought summaries write a line `Thought: …` before they act; it never belongs to the answer.
"""

import re
from collections.abc import Iterator

_LONG_ENOUGH = 160  # characters; a shorter paragraph of thought waits for the next one

_THOUGHT = re.compile(
    r"^[\s>*_#\-\[【(（]*(?:🧠\s*)?(?:thoughts?|reasoning|思考(?:プロセス)?|考え)(?:\s*\d+)?[\])】）*_\s]*[:：][*_]*\s*(?P<rest>.*)$",
    re.IGNORECASE,
)
_ACTION = re.compile(
    r"^[\s>*_\-\[【]*(?:🛠️?\s*)?(?:action(?: input)?|tool(?: call)?|observation|行動|ツール(?:呼び出し)?|観察)[\]】*_\s]*[:：].*(?:rag|\{|Result \d)"
    r"|^\s*(?:search_rag_knowledge_base|list_rag_collections)\s*\(",
    re.IGNORECASE,
)
_ANSWER = re.compile(
    r"^[\s>*_#\-\[【]*(?:(?:final|draft)\s+)?(?:answer|response|最終回答|回答案?|答え)[\])】*_\s]*[:：][*_]*[ \t]*(?P<rest>.*)$",
    re.IGNORECASE,
)


class Speech:
    """Takes a reply's parts as they stream in and gives thoughts back as readable steps."""

    def __init__(self) -> None:
        self._thought = ""
        self._line = ""
        self._fenced = False

    def think(self, text: str) -> Iterator[str]:
        """A piece of a thought summary. Paragraphs come out whole, short ones together."""
        self._thought += text
        while (end := self._paragraph_end()) is not None:
            whole, self._thought = self._thought[:end].strip(), self._thought[end:].lstrip("\n")
            yield whole

    def say(self, text: str) -> Iterator[str]:
        """A piece of text. What comes out are its finished `Thought:` lines."""
        yield from self.pause()
        self._line += text
        *whole, self._line = self._line.split("\n")
        for line in whole:
            yield from self._read(line)

    def pause(self) -> Iterator[str]:
        """The thought summary ends here, since text or a call follows."""
        thought, self._thought = self._thought.strip(), ""
        if thought:
            yield thought

    def end(self) -> Iterator[str]:
        yield from self.pause()
        line, self._line = self._line, ""
        yield from self._read(line)

    def _paragraph_end(self) -> int | None:
        for gap in re.finditer(r"\n\s*\n", self._thought):
            if gap.start() >= _LONG_ENOUGH and not self._thought[: gap.start()].rstrip().endswith("**"):
                return gap.end()
        return None

    def _read(self, line: str) -> Iterator[str]:
        if re.match(r"\s*(?:```|~~~)", line):
            self._fenced = not self._fenced
        thought = None if self._fenced else _THOUGHT.match(line)
        if thought and thought["rest"].strip(" *_"):
            yield thought["rest"].strip(" *_")


def spoken(text: str) -> str:
    """`text` without its `Thought:` and `Action:` lines, and without a word like `Answer:` before the answer."""
    kept: list[str] = []
    fenced = False
    skipping = False
    for line in text.split("\n"):
        if re.match(r"\s*(?:```|~~~)", line):
            fenced = not fenced
        if not fenced and (_THOUGHT.match(line) or _ACTION.match(line)):
            skipping = True
            continue
        answer = None if fenced else _ANSWER.match(line)
        if answer and (skipping or not any(each.strip() for each in kept)):
            kept = [answer["rest"]] if answer["rest"].strip() else []
            skipping = False
            continue
        kept.append(line)
    return "\n".join(kept).strip()
