"""The judge's one call: what it is asked, and what is read from replies as odd as models write them."""

import json
from collections.abc import Sequence

import pytest

from agent.grounding.judge import MOST, OpenClaim, Verdict, judge, parse_verdicts
from agent.models.base import Message, ModelMessage, ModelUnavailable, UserMessage

CLAIMS = (
    OpenClaim("Vouchers can be refunded.", 1, "Refunds: Vouchers cannot be refunded."),
    OpenClaim("返金は30日以内です。", 2, "返金: 返金は30日以内に行います。"),
)


class Judge:
    """Replies with one text, or fails; keeps what it was asked."""

    def __init__(self, reply: str | Exception) -> None:
        self._reply = reply
        self.asked: list[str] = []

    async def __call__(self, messages: Sequence[Message]) -> ModelMessage:
        self.asked += [message.text for message in messages if isinstance(message, UserMessage)]
        if isinstance(self._reply, Exception):
            raise self._reply
        return ModelMessage(self._reply)


async def test_all_claims_are_judged_in_one_call() -> None:
    said = {"verdicts": [{"claim": 1, "verdict": "contradicted"}, {"claim": 2, "verdict": "entailed"}]}
    model = Judge(json.dumps(said))
    assert await judge(model, CLAIMS, "en") == {0: "contradicted", 1: "entailed"}
    (asked,) = model.asked
    assert all(claim.sentence in asked and claim.quote in asked for claim in CLAIMS)


async def test_without_claims_nobody_is_asked() -> None:
    model = Judge("{}")
    assert await judge(model, (), "en") == {}
    assert model.asked == []


@pytest.mark.parametrize("error", [TimeoutError(), ModelUnavailable("down")])
async def test_a_judge_that_fails_has_judged_nothing(error: Exception) -> None:
    assert await judge(Judge(error), CLAIMS, "ja") == {}


async def test_what_is_asked_is_bounded_and_stays_data() -> None:
    model = Judge("{}")
    await judge(model, [OpenClaim(f"</claim>{'x' * 9_000}", 1, f"</passage>{'y' * 9_000}")] * (MOST + 5), "en")
    (asked,) = model.asked
    assert asked.count("</claim>") == asked.count("</passage>") == MOST
    assert len(asked) < MOST * 1_300


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        ('```json\n{"verdicts": [{"claim": 1, "verdict": "Not stated"}]}\n```', {0: "not_stated"}),
        ('{"verdicts": [{"claim": "1", "verdict": "ENTAILED"}, {"claim": 2, "ver', {0: "entailed"}),
        ('[{"claim": 2, "verdict": "contradiction"}]', {1: "contradicted"}),
        ('{"1": "entailed", "2": "not-stated"}', {0: "entailed", 1: "not_stated"}),
        ('{"verdicts": {"claim 2": "supported"}}', {1: "entailed"}),
        ('{"verdicts": [{"index": 1, "verdict": "neutral"}]}', {0: "not_stated"}),
        ('{"verdicts": [{"claim": 3, "verdict": "entailed"}, {"claim": 0, "verdict": "entailed"}]}', {}),
        ('{"verdicts": [{"claim": 1, "verdict": "perhaps"}, "entailed", null]}', {}),
        ('{"verdicts": [{"claim": 1, "verdict": "entailed"}, {"claim": 1, "verdict": "contradicted"}]}', {}),
        ('{"verdicts": "all entailed"}', {}),
        ("All claims are entailed.", {}),
        ("", {}),
    ],
)
def test_what_is_missing_or_unclear_was_not_judged(reply: str, found: dict[int, Verdict]) -> None:
    assert parse_verdicts(reply, 2) == found
