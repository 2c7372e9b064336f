"""What a competent small model would do with a request: search with the question, rephrase once, answer by quoting
what was found with its [n], admit it when nothing fits, and keep the draft when asked to review it."""

import json
import re
from itertools import pairwise
from typing import Any

Json = dict[str, Any]
SEARCH = "search_rag_knowledge_base"

_RESULT = re.compile(
    r"^Result (\d+) \(Score: ([\d.]+)\):?[ \t]*(?:\w+ match)?\n(.*?)(?=^Result \d+ \(Score|\Z)",
    re.MULTILINE | re.DOTALL,
)
_AFTER_THE_PASSAGE = re.compile(r"^(?:Context before|Context after|Source|URL|Note):.*", re.MULTILINE | re.DOTALL)
_NOT_PROSE = re.compile(r"^(?:Q|Section):.*$|^#+ .*$|^A: ", re.MULTILINE)
_SENTENCE = re.compile(r"[^。！？\n]+[。！？]|[^\n]+?[.!?](?=\s|$)|[^\n]+")
_GREETING = re.compile(
    r"^\s*(?:(?:hello|hi|hey|thanks|thank you|good morning)\b|こんにちは|おはよう|ありがとう)", re.IGNORECASE
)
_COMMON = set(
    re.findall(
        r"\w+",
        "a an and are at be by can do does for from how i in is it many me much my of on or our the there to"
        " was we what when where which who why will with you your",
    )
)


def obey(body: Json) -> list[Json]:
    """A request in camel case → the reply's parts; a call to make is `{"call": {"name", "args"}}`."""
    contents = body["contents"]
    config = body.get("generationConfig", {})
    mode = body.get("toolConfig", {}).get("functionCallingConfig", {}).get("mode", "AUTO")
    if "responseSchema" in config or mode == "NONE":
        drafts = [_said(each) for each in contents if each.get("role") == "model" and _said(each)]
        question = _question(contents[:-1])
        schema = config.get("responseSchema") or {"properties": {"verdict": {"enum": ["keep"]}, "critique": {}}}
        return [{"text": json.dumps(_filled(schema, drafts[-1] if drafts else "", question), ensure_ascii=False)}]
    tools = [one["name"] for tool in body.get("tools", ()) for one in tool.get("functionDeclarations", ())]
    seen = [at for at, content in enumerate(contents) if _results(content)]
    last = len(contents) - 1
    must_answer = SEARCH not in tools and bool(seen)  # no more tools: the last text says so and is not the question
    question = _question(contents[: seen[0]] if must_answer else contents)
    japanese = bool(re.search(r"[ぁ-ん]", question))
    if not must_answer and (SEARCH not in tools or _GREETING.match(question)):
        return [{"text": "こんにちは。ご用件をどうぞ。" if japanese else "Hello! What can I look up for you?"}]
    asked = max((at for at in range(last + 1) if _asks(contents[at])), default=0)
    found = [text for at in seen if must_answer or at > asked for text in _results(contents[at])]
    results = [(int(n), float(score), text) for each in found for n, score, text in _RESULT.findall(each)]
    if quoted := _quoted(question, results):
        return [_thought(config, "The passages answer it; I quote them."), {"text": quoted}]
    if len(found) < 2 and not must_answer:
        words = question if not found else _rephrased(question)
        why = "The documents may say; I search them." if not found else "Nothing yet; I try other words."
        return [_thought(config, why), {"call": {"name": SEARCH, "args": {"query": words}}}]
    system = json.dumps(body.get("systemInstruction", {}))
    if "Found: no" in system:
        return [{"text": "Found: no"}]
    return [{"text": "情報が見つかりませんでした。" if japanese else "I found nothing about this in the documents."}]


def _thought(config: Json, words: str) -> Json:
    shown = config.get("thinkingConfig", {}).get("includeThoughts")
    return {"text": words, "thought": True} if shown else {"text": f"Thought: {words}\n"}


def _results(content: Json) -> list[str]:
    """What tools returned in a content, also when it is put as plain text."""
    responses = [part["functionResponse"]["response"] for part in content["parts"] if "functionResponse" in part]
    texts = [part["text"] for part in content["parts"] if _RESULT.search(part.get("text", ""))]
    return [str(response.get("output", "")) for response in responses] + texts


def _asks(content: Json) -> bool:
    return content.get("role", "user") == "user" and bool(_said(content)) and not _results(content)


def _question(contents: list[Json]) -> str:
    """What the person said last."""
    return next((_said(content) for content in reversed(contents) if _asks(content)), "")


def _said(content: Json) -> str:
    return "".join(part.get("text", "") for part in content["parts"] if not part.get("thought")).strip()


def _words(text: str) -> set[str]:
    """Latin words but the commonest, numbers, and pairs of Japanese characters that are not all hiragana."""
    words = {word for word in re.findall(r"[a-z0-9]+", text.lower()) if word not in _COMMON}
    for run in re.findall(r"[ぁ-んァ-ヶー一-龠々]+", text):
        words |= {pair for pair in map("".join, pairwise(run)) if not re.fullmatch(r"[ぁ-ん]+", pair)}
    return words


def _rephrased(question: str) -> str:
    kept = re.findall(r"[A-Za-z0-9]+|[ァ-ヶー]+|[一-龠々]+", question)
    return " ".join(word for word in kept if word.lower() not in _COMMON) or question


def _quoted(question: str, results: list[tuple[int, float, str]]) -> str:
    """The sentence that shares most words with the question, and the one after it; across languages the opening
    of a passage that scored well."""
    wanted = _words(question)
    best: tuple[float, str] = (0.0, "")
    for n, score, text in results:
        body = _NOT_PROSE.sub("", _AFTER_THE_PASSAGE.sub("", text))
        sentences = [each.strip() for each in _SENTENCE.findall(body)]
        sentences = [each for each in sentences if len(each) > 3]
        for at, sentence in enumerate(sentences):
            shared = len(wanted & _words(sentence)) / max(1, len(wanted))
            if shared > max(best[0], 0.2):
                best = (shared, " ".join(f"{each} [{n}]" for each in sentences[at : at + 2]))
        foreign = bool(re.search(r"[ぁ-ん]", question)) != bool(re.search(r"[ぁ-ん]", text))
        if not best[1] and foreign and score >= 0.5 and sentences:
            best = (0.0, " ".join(f"{each} [{n}]" for each in sentences[:2]))
    return best[1]


def _filled(schema: Json, draft: str, question: str) -> Any:
    """A value of the schema: the first choice of an enumeration unless it offers "keep", the draft where a text is
    asked for, the question where a list of texts is."""
    choices = schema.get("enum")
    if choices:
        return "keep" if "keep" in choices else choices[0]
    match str(schema.get("type", "OBJECT" if "properties" in schema else "STRING")).upper():
        case "OBJECT":
            return {
                name: "It says what the passages say."
                if name in ("critique", "reason", "thought")
                else _filled(inner, draft, question)
                for name, inner in schema.get("properties", {}).items()
            }
        case "ARRAY":
            return [_filled(schema.get("items", {}), question, question)]
        case "INTEGER" | "NUMBER":
            return 1
        case "BOOLEAN":
            return True
    return draft
