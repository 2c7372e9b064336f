"""Markdown of answers and documents as HTML that does nothing: no markup of its own, no pictures, only web addresses.

What comes out is also sanitised in the browser (NiceGUI's DOMPurify), and the page's policy runs no script of it.
Source: reliability.md R20; architecture.md "escaping is the control".
"""

import re

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from retrieval.text import compiled

MARKS = 4_000  # signs that may be marks, in a text of which Markdown is read: some tenths of a second

_SCHEMES = ("http://", "https://", "mailto:")
_MARK = re.compile(r"[!-/:-@[-`{-~\n]")
_SCHEME = re.compile(r"(?<![a-z0-9])https?$", re.IGNORECASE)
_ADDRESS = re.compile(r"[\w\-.~:/?#@!$&+,;=%]*[\w~/#$&+=%]", re.ASCII)


def html(markdown: str) -> str:
    """Safe HTML of `markdown`. Its own HTML shows as text; so does all of it where it has more than `MARKS`, since
    nothing else is done meanwhile."""
    if sum(1 for _ in _MARK.finditer(markdown)) > MARKS:
        return f'<p class="kotae-pre">{escapeHtml(markdown)}</p>\n'
    rendered: str = _MARKDOWN.render(markdown)
    return rendered


def _address(state: StateInline, silent: bool) -> bool:
    """An address that stands for itself is a link. It ends before what is not ASCII; where it may go on there, or with
    a bracket, it is none."""
    if state.linkLevel or not state.src.startswith("://", state.pos):
        return False
    scheme = _SCHEME.search(state.pending, max(0, len(state.pending) - len("https")))
    found = _ADDRESS.match(state.src, state.pos + 3, state.posMax)
    if scheme is None or found is None:
        return False
    following = state.src[found.end() : found.end() + 1]
    if following == "(" or (following.isalnum() and found[0][-1] in "/#$&+=%~"):
        return False
    url = scheme[0] + state.src[state.pos : found.end()]
    if not silent:
        state.pending = state.pending[: scheme.start()]
        state.push("link_open", "a", 1).attrs = {"href": state.md.normalizeLink(url)}
        state.push("text", "", 0).content = url
        state.push("link_close", "a", -1)
    state.pos = found.end()
    return True


def _link(self: RendererHTML, tokens: list[Token], index: int, options: OptionsDict, env: EnvType) -> str:
    token = tokens[index]
    token.attrSet("target", "_blank")
    token.attrSet("rel", "noopener noreferrer nofollow")
    return self.renderToken(tokens, index, options, env)


def _heading(self: RendererHTML, tokens: list[Token], index: int, options: OptionsDict, env: EnvType) -> str:
    """Below the headings of the page that it stands in, which are of two levels."""
    token = tokens[index]
    token.tag = f"h{min(6, int(token.tag[1:]) + 2)}"
    return self.renderToken(tokens, index, options, env)


def _image(self: RendererHTML, tokens: list[Token], index: int, options: OptionsDict, env: EnvType) -> str:
    """Its description: a picture from elsewhere would tell its server who reads this."""
    return escapeHtml(f"🖼 {tokens[index].content}".rstrip())


def _made() -> MarkdownIt:
    parser = MarkdownIt("js-default", {"html": False, "linkify": False, "breaks": True, "maxNesting": 20})
    parser.inline.ruler.before("newline", "address", _address)
    parser.validateLink = lambda url: url.strip().lower().startswith(_SCHEMES)  # type: ignore[method-assign]
    parser.add_render_rule("link_open", _link)
    parser.add_render_rule("image", _image)
    parser.add_render_rule("heading_open", _heading)
    parser.add_render_rule("heading_close", _heading)
    return compiled(parser)


_MARKDOWN = _made()
