"""From a message and what came before to the searches that may answer it: its parts, each with several wordings."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agent.followups import ASPECT_EN, ASPECT_JA, Context, Part, resolved, topic_of
from agent.queries import INTERROGATIVE_EN, INTERROGATIVE_JA, LEADING_EN, LIGHT, keywords
from agent.routing import opened, route
from agent.vocabulary import rephrased, synonyms, translated, unknown
from retrieval.text import Language, language_of, normalise
from retrieval.types import CollectionInfo

Tokenise = Callable[[str], Sequence[str]]

SEARCHES = 4  # a part
PARTS = 3
_EARLIER = 6  # messages looked back at for what "it" is


@dataclass(frozen=True, slots=True)
class Wording:
    """One search and why it is made."""

    query: str
    collection: str | None
    why: str  # first · alone · synonyms · keywords · language · collection
    faith: float = 1.0  # the share of the question that it still asks: relevance to it is worth so much


_NOT_SPLIT = re.compile(
    r"違い|差(?:は|が|を)|関係|比較|使い分け|連携|どちら|どっち|両方|組み合わせ|\bdifferences?\b|\bbetween\b|\bcompar\w+|\bversus\b|\bboth\b|\brelationship\b|\bor\b"
)


def parts(message: str, earlier: Sequence[str], *, tokenise: Tokenise) -> list[Part]:
    """The questions in `message`, each standing on its own; `earlier` are the person's messages before it, oldest first.

    Empty when it points at something nobody has named.
    """
    context = _context(earlier, tokenise)
    found: list[Part] = []
    for number, text in enumerate(split(opened(message) or message)[:PARTS]):
        part = resolved(text, context, tokenise, within=number > 0)
        if part and all(normalise(part.query) != normalise(other.query) for other in found):
            found.append(part)
            context = Context(topic_of(part, text, tokenise), part.query)
    return found


def _context(earlier: Sequence[str], tokenise: Tokenise) -> Context | None:
    """What the conversation is about: the last message that asked something, resolved in its turn."""
    context: Context | None = None
    for message in [message for message in earlier[-_EARLIER:] if route(message).search]:
        for text in split(opened(message) or message):
            part = resolved(text, context, tokenise, within=False)
            if part:
                context = Context(topic_of(part, text, tokenise), part.query)
    return context


def split(message: str) -> list[str]:
    """Several questions of one message, in order; one when it is a single question or a list within one."""
    sentences = [s for s in re.split(r"(?<=[?？。！!])\s*|(?<=\.)\s+|\n+", message.strip()) if re.search(r"\w", s)]
    asking = [s for s in sentences if _asks(s)]
    if len(asking) >= 2:
        return [part for s in asking for part in _clauses(s)]
    if len(asking) == 1 and len(sentences) > 1:
        # What is told around the question ("My laptop broke. Who replaces it?") is part of what is asked.
        rest = " ".join(s for s in sentences if s is not asking[0])
        clauses = _clauses(asking[0])
        return clauses if len(clauses) > 1 or route(rest).kind != "team" else [message.strip()]
    return _clauses(message.strip())


def _asks(sentence: str) -> bool:
    plain = normalise(sentence).strip()
    if re.search(r"[?？]\s*$", plain):
        return True
    if language_of(plain) == "ja":
        return bool(
            re.search(r"(?:か|教えて(?:ください|下さい|ほしい(?:です)?)?|知りたい(?:です)?|っけ|かな)[。\s]*$", plain)
        )
    stripped = LEADING_EN.sub("", plain)
    return bool(INTERROGATIVE_EN.match(stripped)) or stripped != plain


def _clauses(sentence: str) -> list[str]:
    if _NOT_SPLIT.search(normalise(sentence)):
        return [sentence]
    found = _clauses_ja(sentence) if language_of(sentence) == "ja" else _clauses_en(sentence)
    return [clause.strip(" 、,") for clause in found]


def _clauses_ja(sentence: str) -> list[str]:
    aspects = re.match(
        rf"^(.{{0,40}}?{ASPECT_JA})(?:と、?|および|及び|、(?:それから|あと|それと)?|ならびに)(.{{0,40}}?{ASPECT_JA})(は|を|について|が|も|って|？|\?|$)(.*)$",
        sentence,
    )
    if aspects:
        first, second, particle, rest = aspects.groups()
        ending = f"{particle}{rest}" if particle not in ("？", "?", "") else "は？"
        return [first + ending, second + ending]
    for comma in re.finditer(r"(?:[てでしか]|ますか|ですか|が|は)、|、(?:また|あと|それと|さらに|それから)", sentence):
        first, second = sentence[: comma.end()], sentence[comma.end() :]
        if INTERROGATIVE_JA.search(first) and INTERROGATIVE_JA.search(second):
            return [re.sub(r"(?:、(?:また|あと|それと|さらに|それから)?)$", "", first), second]
    return [sentence]


def _clauses_en(sentence: str) -> list[str]:
    for joint in re.finditer(
        r"(?:,\s*|;\s*|\s+)(?:and(?: also)?|plus|as well as|also)\s+|;\s+|,\s+(?=who|what|when|where|why|how)",
        sentence,
        re.IGNORECASE,
    ):
        first, second = sentence[: joint.start()], sentence[joint.end() :]
        stripped = LEADING_EN.sub("", first)
        asks = INTERROGATIVE_EN.match(
            re.sub(r"^(?:for|by|in|from|since|until|to|at|on|with) (?=how|what|which|when|whom?\b)", "", second)
        )
        if asks and (INTERROGATIVE_EN.match(stripped) or stripped != first):
            return [first, second]
        aspects = rf"\b{ASPECT_EN}s? (?:for|of|to|on)\b"
        if re.search(aspects, first, re.IGNORECASE) and re.search(aspects, second, re.IGNORECASE):
            lead = re.match(
                r"^(.*?\b(?:what(?:'s| is| are)|who(?:'s| is| are)|where(?:'s| is| are)))\b", first, re.IGNORECASE
            )
            return [first, f"{lead.group(1)} {second}" if lead else second]
    return [sentence]


def wordings(part: Part, collections: Sequence[CollectionInfo], found_in: Sequence[str] = ()) -> list[Wording]:
    """The searches for one part in the order to try them, at most `SEARCHES`, none twice.

    `found_in` names the collections that have already given passages; another one is tried last.
    """
    named, query = _named_collection(part.query, collections)
    part = Part(part.said, query, part.topic)
    language = language_of(part.query)
    elsewhere_only = any(known.languages and language not in known.languages for known in collections)
    mixed = any(not known.languages or set(known.languages) - {language} for known in collections) or not collections
    tried: list[Wording] = [Wording(part.query, named, "first")]
    if named:
        tried.append(Wording(part.query, None, "collection"))
    known, lost = (
        len(synonyms(part.query)),
        len([w for w in unknown(part.query) if not w.isascii() or language == "en"]),
    )
    foreign = Wording(translated(part.query), None, "language", known / (known + lost) if known else 1.0)
    short = Wording(keywords(part.query), None, "keywords")
    other = Wording(rephrased(keywords(part.query) or part.query), None, "synonyms")
    alone = Wording(_withouttopic_of(part), None, "alone")
    # Where documents are in the other language alone, its words say more than shorter ones of the asker's.
    tried += [foreign, short] if elsewhere_only else [short]
    tried += [alone, other] if part.topic else [other]
    if mixed:
        tried.insert(tried.index(short) + 1, foreign)
    tried = _distinct(tried)
    elsewhere = [
        known.name for known in _ranked(part.query, collections) if known.name not in found_in and known.name != named
    ]
    if len(collections) > 1 and elsewhere:
        tried = [*tried[: SEARCHES - 1], Wording(keywords(part.query) or part.query, elsewhere[0], "collection")]
    return _distinct(tried)[:SEARCHES]


def _withouttopic_of(part: Part) -> str:
    return part.query.removeprefix(part.topic).strip() if part.topic else ""


def _distinct(tried: Sequence[Wording]) -> list[Wording]:
    seen: dict[tuple[str, str | None], Wording] = {}
    for wording in tried:
        if wording.query:
            seen.setdefault((normalise(wording.query), wording.collection), wording)
    return list(seen.values())


def _named_collection(query: str, collections: Sequence[CollectionInfo]) -> tuple[str | None, str]:
    """The collection that the question itself names as such, and the question without saying so."""
    for known in collections:
        name = re.escape(known.name)
        said = re.search(
            rf"(?:\b(?:in|from|of) )?(?:the )?(?<![\w-])[「'\"]?{name}[」'\"]?\s*(?:の)?(?:コレクション|collection)(?:の中)?(?:から|で|の|に|には|内の)?"
            rf"|(?:\b(?:in|from) )?(?:the )?(?:collection|コレクション)\s*[「:：'“\"]?\s*{name}(?![\w-])[」'”\"]?(?:から|で|の|に|には)?",
            query,
            re.IGNORECASE,
        )
        if said:
            return known.name, (query[: said.start()] + query[said.end() :]).strip(" ,、") or query
    return None, query


def _ranked(query: str, collections: Sequence[CollectionInfo]) -> list[CollectionInfo]:
    """Collections whose name or description speaks of the query first, then those in its language, then by size."""
    language: Language = language_of(query)
    words = set(_grams(query)) | set(_grams(translated(query)))

    def fit(known: CollectionInfo) -> tuple[int, bool, int, str]:
        about = set(_grams(f"{known.name} {known.description}"))
        return (-len(words & about), language not in known.languages, -known.chunks, known.name)

    return sorted((known for known in collections if known.chunks or known.documents or not known.languages), key=fit)


def _grams(text: str) -> list[str]:
    plain = normalise(text)
    latin = [word[:6] for word in re.findall(r"[a-z0-9]{3,}", plain) if word not in LIGHT]
    japanese = re.findall(r"[一-龯ァ-ヴー]{2,}", plain)
    return latin + [run[at : at + 2] for run in japanese for at in range(len(run) - 1)]
