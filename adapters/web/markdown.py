"""Markdown of answers and documents as HTML that does nothing: no markup of its own, no pictures, only web addresses.

What comes out is also sanitised in the browser (NiceGUI's DOMPurify), and the page's policy runs no script of it.
Source: reliability.md R20; architecture.md "escaping is the control".
"""

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from retrieval.text import compiled

_SCHEMES = ("http://", "https://", "mailto:")


def html(markdown: str) -> str:
    """Safe HTML of `markdown`. Its own HTML shows as text."""
    rendered: str = _MARKDOWN.render(markdown)
    return rendered


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
    parser = MarkdownIt("js-default", {"html": False, "linkify": False, "breaks": True})
    parser.validateLink = lambda url: url.strip().lower().startswith(_SCHEMES)  # type: ignore[method-assign]
    parser.add_render_rule("link_open", _link)
    parser.add_render_rule("image", _image)
    parser.add_render_rule("heading_open", _heading)
    parser.add_render_rule("heading_close", _heading)
    return compiled(parser)


_MARKDOWN = _made()
