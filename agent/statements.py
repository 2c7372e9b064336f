"""A sentence of an answer as a claim: what it states, or that it states nothing (a greeting, an introduction)."""

import re
from dataclasses import dataclass, field
from operator import add
from typing import Literal

from agent.citing import Line, Sentence
from agent.claims import Fact, facts, squeeze
from agent.words import Name, content, names
from retrieval.text import Language, language_of


@dataclass(slots=True)
class Claim:
    """`cites` is what supports it, `shown` what is written behind it; both are filled in when it is ruled on."""

    line: Line
    sentence: Sentence
    facts: list[Fact] = field(default_factory=list)
    names: list[Name] = field(default_factory=list)
    words: frozenset[str] = frozenset()
    squeezed: str = ""  # its letters and digits alone
    pairs: frozenset[str] = frozenset()  # of neighbouring characters in `squeezed`
    language: Language = "en"
    kind: Literal["claim", "glue", "absence"] = "claim"
    kept: bool = False
    unsure: bool = False
    cites: tuple[int, ...] = ()
    shown: tuple[int, ...] = ()


_INTRO = re.compile(
    r"[:：]\s*$|(?:以下|次|下記)の?(?:とお|通)り|(?:以下|次|下記)に(?:示|まとめ|記載)|まとめ(?:ると|ます)"
)
_COURTESY = re.compile(
    r"お役に立|幸いです|お気軽に|ご不明な点|ご質問(?:が|いただ)|ありがとうございま|こんにちは|お疲れ(?:様|さま)|ご参考|お調べ(?:し|いた)|お答え(?:し|いた)|ご確認ください。?$"
    r"|他に(?:も)?(?:ご)?質問|承知(?:し|いた)"
    r"|\b(?:hope (?:this|that) helps|let me know|feel free|happy to help|glad to help|you're welcome|thanks? (?:you )?for|good question|great question"
    r"|here(?:'s| is| are) (?:what|the|a|how|an)\b|i (?:found|looked|searched|checked)|based on the (?:search|results|documents|sources|passages))",
    re.IGNORECASE,
)
_ABSENCE = re.compile(
    r"(?:見つか(?:りません|らな)|記載(?:が|は)?(?:ありません|ない|されていません|なく)|書かれていません|確認できません|情報(?:が|は)(?:ありません|ない|含まれ)|わかりません|分かりません|不明です"
    r"|言及(?:が|は)?(?:ありません|されていません|ない)|触れられていません|示されていません|含まれていません|明記されていません)"
    r"|\b(?:(?:could|can|did|was|were)(?: ?not|n't) (?:able to )?(?:find|locate|determine|confirm|see)|unable to (?:find|confirm|determine)"
    r"|(?:do|does|did)(?: not|n't) (?:mention|say|specify|state|contain|cover|describe|address|indicate)|no (?:information|mention|details?)"
    r"|not (?:mentioned|specified|stated|found|covered|described|documented|addressed)|nothing (?:about|in|on)|unclear|i don't know)\b",
    re.IGNORECASE,
)


def pairs(text: str) -> frozenset[str]:
    """Every two characters that stand side by side: what two texts of one language share when they say the same."""
    return frozenset(map(add, text, text[1:]))


def read(line: Line, sentence: Sentence) -> Claim:
    plain = sentence.plain
    claim = Claim(line, sentence)
    claim.language = language_of(plain)
    claim.facts, claim.names, claim.words = facts(plain), names(plain), content(plain)
    claim.squeezed = squeeze(plain)
    claim.pairs = pairs(claim.squeezed)
    if sentence.cited and (claim.words or claim.facts or re.search(r"\w", plain)):
        return claim
    if not re.search(r"\w", plain):
        claim.kind = "glue"
    elif _ABSENCE.search(plain):
        claim.kind = "absence"
    elif not claim.facts and not any(name.kind != "word" for name in claim.names):
        leads = plain.rstrip("*_ ").endswith((":", "：")) or _INTRO.search(plain)
        if leads or _COURTESY.search(plain) or len(claim.words) < 2:
            claim.kind = "glue"
    elif plain.rstrip("*_ ").endswith((":", "：")) and not claim.facts:
        claim.kind = "glue"
    return claim
