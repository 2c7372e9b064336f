"""Addresses in an answer: only those that a cited passage has word for word stay, whatever form they come in.

A planted passage may make a model write a link or an image that carries what it read to somebody else's server.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable

from agent.citations import fences, mark_numbers, marks
from retrieval.i18n import Language, Text

GAP = "\ue000"  # for `scrubbed`: where an address was taken out, until `filled` says so
_LEFT_OUT = Text(en="(address left out)", ja="（アドレスは省きました）")
_SCHEME = r"(?:[a-z][a-z0-9+.-]{1,20}:(?://)|https?:[/\\]+|(?:mailto|javascript|data|vbscript|tel|sms|slack|blob|file|callto|skype|msteams|intent):|(?<![A-Za-z_:/])/{2,}(?=[\w-]+\.))"
_TLD = (
    r"(?:com|net|org|io|dev|ai|jp|info|biz|xyz|tv|uk|de|fr|cn|kr|tw|ru|eu|ca|au|edu|gov|mil|int|tech|site|online|store|shop|cloud"
    r"|link|click|live|gg|ly|gl|ws|cc|nl|se|ch|es|br|app|xn--[a-z0-9-]+)"
)
_WORDY_TLD = r"(?:[a-z]{2,18})"  # 「.it」, ".zip": an address only with something after it
_SIGN = (  # 「https://wiki.example/aをご覧ください」: hiragana after a letter is the sentence's, also を after anything
    r"(?:(?!を|(?<=[A-Za-z0-9)])[ぁ-ん])[^\s<>\"'`|\\)\]（）「」『』【】、。，＜＞〈〉《》“”])"
)
_END = rf"(?:\((?:(?!\(){_SIGN})*\)|{_SIGN})"  # 「/wiki/Kotae_(bot)」: a bracket that it has opened closes in it
_ADDRESS = re.compile(
    rf"{_SCHEME}{_END}*"
    rf"|(?<![A-Za-z0-9./-])www\.{_END}+"
    rf"|[A-Za-z0-9_.+%-]{{1,64}}@(?:[A-Za-z0-9-]{{1,63}}\.){{1,10}}[a-z]{{2,}}"
    rf"|(?<![A-Za-z0-9@./-])(?!(?:asp|vb|ado|ml)\.net\b)(?:[a-z0-9\u00a1-\u1fff\u30a0-\u30ff\u4e00-\u9fff-]{{1,63}}\.)+(?:{_TLD}(?![a-z0-9-]|\.\w)(?:[:/?#]{_END}*)?"
    rf"|{_WORDY_TLD}(?::\d+)?[/?#](?=[^\s/]*[a-z0-9=]){_END}*)",
    re.IGNORECASE,
)
_INLINE = re.compile(
    r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(\s*(<[^>\n]*>|(?:[^\s()]|\([^\s()]*\))*)(?:\s+(?:\"[^\"]*\"|'[^']*'|\([^)]*\)))?\s*\)"
)
_BROKEN = re.compile(r"(!?)\[([^\[\]\n]*)\]\s*\(([^)\n]*(?:\n[^)\n]*)?)(?:\)|$)")
_REFERENCE = re.compile(r"(!?)\[([^\[\]\n]+)\]\s?\[([^\[\]\n]*)\]")
_DEFINITION = re.compile(r"^[ \t]{0,3}\[([^\]\n]+)\]:[ \t]*\n?[ \t]*\S+.*$\n?", re.MULTILINE)
_AUTO = re.compile(rf"<({_SCHEME}[^>\s]*|[^<>\s@]+@[^>\s]+)>", re.IGNORECASE)
_IMAGE_TAG = re.compile(r"<img\b([^<>]{0,4000})>", re.IGNORECASE)
_ALT = re.compile(r"\balt\s*=\s*(?:\"([^\"]*)\"|'([^']*)')", re.IGNORECASE)
_TAG = re.compile(
    r"<!--.*?-->|<(?:script|style|iframe|object)\b[^>]*>.*?</\w+>|</?(?:a|img|iframe|script|style|object|embed|link|meta|form|input"
    r"|button|video|audio|source|svg|image|base|area|map|frame|picture|track|div|span|p|font|center|marquee|details|summary|table|body"
    r"|html|head)\b(?:\s[^<>]*)?/?>",
    re.IGNORECASE | re.DOTALL,
)
_ASCII = re.compile(r"https?://[!-~]*\.[!-~]+", re.IGNORECASE)
_GOES_ON = re.compile(r"(?=[^\x00-\x7f])[\w（［｛＜「『【〈《“]")
_TRAILING = ".,;:!?*_~…"
_LOCAL = re.compile(
    r"(?:https?://)?(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\]|(?:[\w-]+\.)*example(?:\.(?:com|org|net|jp|co\.jp))?)(?=[:/?#]|$)",
    re.I,
)
_CITED = re.compile(r"\^?\d{1,3}(?:\s*,\s*\d{1,3})*")
_SPACES = re.compile("[\n\t\u3000]+")
_FULL_WIDTH = re.compile("[\uff01-\uff5e]")
_SELECTORS = re.compile("[\ufe00-\ufe0f]")


def _alternative(image: re.Match[str]) -> str:
    """The words that an image has for those who do not see it."""
    alt = _ALT.search(image[1])
    return (alt[1] or alt[2] or "") if alt else ""


def visible(text: str) -> str:
    """`text` without characters that nobody sees: zero-width, directional and tag characters, controls."""
    if _SPACES.sub("", text).isprintable() and not _SELECTORS.search(text):  # as most are
        return text
    kept = []
    for at, c in enumerate(text):
        category = unicodedata.category(c)
        joins_emoji = c in "\u200d\ufe0f" and at > 0 and (ord(text[at - 1]) > 0x2000)
        if c in "\n\t" or joins_emoji or not (category in ("Cf", "Cc", "Co", "Cs") or "\ufe00" <= c <= "\ufe0f"):
            kept.append(c)
    return "".join(kept)


def addresses(text: str) -> set[str]:
    """Every address in a text, each as written, without the punctuation after it; of one that goes on in Japanese
    (「https://…をご覧ください」, /wiki/答え) also what stands before."""
    found = {m.group().rstrip(_TRAILING) for m in _ADDRESS.finditer(text)}
    found |= {each.lstrip("_") for each in found}  # `_ask@acme.example_` in emphasis
    for pattern in (_INLINE, _BROKEN):
        found |= {_target(m[3]) for m in pattern.finditer(text)}
    found |= {begun[0].rstrip(_TRAILING) for each in found if (begun := _ASCII.match(each))}
    return found - {""}


def scrubbed(text: str, allowed: Iterable[str], *, cited: Collection[int] = (), gap: str = "") -> str:
    """`text` with every address that is not one of `allowed` taken out: of a link its words stay, of an image its
    description; `gap` is left where an address stood in the text itself. A link whose words are a citation of one of
    `cited` is that citation. In code blocks the addresses go too; those of this machine and of examples stay there."""
    permitted = frozenset(allowed)
    text = visible(text)
    pieces = (
        _code(piece, permitted) if fenced else _prose(piece, permitted, cited, gap) for fenced, piece in fences(text)
    )
    return "".join(pieces).strip()


def filled(text: str, language: Language) -> str:
    """`text` with each `GAP` in words, so that a reader knows why a sentence breaks off there."""
    return re.sub(rf"(?P<space>[ \t]?)(?:[(（]{GAP}[)）]|{GAP})", rf"\g<space>{_LEFT_OUT.to(language)}", text)


def _target(shown: str) -> str:
    return shown.strip().split(maxsplit=1)[0].strip("<>") if shown.strip() else ""


def _prose(text: str, allowed: frozenset[str], cited: Collection[int], gap: str) -> str:
    definitions: dict[str, str] = {}

    def define(match: re.Match[str]) -> str:
        target = _target(match.group().split("]:", 1)[1])
        if not (_CITED.fullmatch(match[1]) or _ADDRESS.search(_folded(target)) or re.match(r"[/<#.]|\w+:", target)):
            return match.group()
        definitions[match[1].casefold()] = target
        return ""

    text = _DEFINITION.sub(define, text)
    text = _IMAGE_TAG.sub(_alternative, text)

    def stays(link: re.Match[str] | None) -> bool:
        return link is not None and not link[1] and _target(link[3]) in allowed

    def link(match: re.Match[str]) -> str:
        words, target = match[2], _target(match[3])
        if match.re is _BROKEN and (
            stays(_INLINE.match(text, match.start())) or not _ADDRESS.search(_folded(match[3]))
        ):
            return match.group()
        mark = next(iter(marks(f"[{words}]")), None)
        if mark and not {*cited}.isdisjoint(mark_numbers(mark)):
            return f"[{words}]"
        if not match[1] and target in allowed and target:
            return f"[{_bare(words, allowed) or target}]({target})"
        return f"[{words}]" if mark else words

    def reference(match: re.Match[str]) -> str:
        if _CITED.fullmatch(match[2]) and _CITED.fullmatch(match[3] or "1"):
            return match.group()  # two citations
        target = definitions.get((match[3] or match[2]).casefold())
        if target is None and not match[1]:
            return f"{match[2]}[{match[3]}]" if _CITED.fullmatch(match[3]) else match.group()
        return f"[{match[2]}]({target})" if target in allowed and not match[1] else match[2]

    text = _REFERENCE.sub(reference, text)
    for pattern in (_INLINE, _BROKEN):
        text = pattern.sub(link, text)
    text = _AUTO.sub(lambda m: m[1] if m[1] in allowed else "", text)
    text = _TAG.sub("", text)
    return _bare(text, allowed, gap)


def _bare(text: str, allowed: frozenset[str], gap: str = "") -> str:
    """Addresses that stand in the text as they are. Width is folded first: ｈｔｔｐ：／／ works in some clients."""
    folded = _folded(text)
    out: list[str] = []
    end = 0
    for match in _ADDRESS.finditer(folded):
        if match.start() < end:
            continue
        address = match.group().rstrip(_TRAILING)
        start, after = match.start(), match.start() + len(address)
        plain = not re.search(r"[:/?#@]", address)
        kept = start + _begun(text, start, allowed)
        if address in allowed or (plain and address.casefold() in {each.casefold() for each in allowed}):
            kept = max(kept, after)
        if kept > start:
            # A space, since what shows the answer may see one address in 「https://…をご覧ください」.
            out += [text[end:kept], " " if _GOES_ON.match(text, kept) else "", _bare(text[kept:after], allowed, gap)]
        else:
            out += [text[end:start], gap]
        end = max(kept, after)
    out.append(text[end:])
    return (
        re.sub(r"(?<=\S)[ \t]{2,}(?=\S)|[(（]\s*[)）]", lambda m: " " if m.group().isspace() else "", "".join(out))
        if end
        else text
    )


def _begun(text: str, start: int, allowed: frozenset[str]) -> int:
    """The length of the longest allowed address that stands there before Japanese goes on, or 0."""
    ends = (start + len(each) for each in allowed if text.startswith(each, start))
    return max((end - start for end in ends if not text[end : end + 1].isascii()), default=0)


def _folded(text: str) -> str:
    """Full-width Latin letters and signs as ASCII, character for character, so that offsets stay."""
    if not _FULL_WIDTH.search(text):
        return text
    return "".join(chr(ord(c) - 0xFEE0) if "\uff01" <= c <= "\uff5e" else c for c in text)


def _code(text: str, allowed: frozenset[str]) -> str:
    def keep(match: re.Match[str]) -> str:
        address = match.group().rstrip(_TRAILING)
        fine = address in allowed or _LOCAL.match(address) or "://" not in address
        return match.group() if fine else match.group()[len(address) :]

    return _ADDRESS.sub(keep, text)
