"""The buttons under an answer, with which people say whether it helped."""

from typing import Any

from adapters.voting import DOWN, UP, Vote
from retrieval.text import Language, Said

VOTE = "kotae_vote"  # the action, of both forms; plain buttons add ":up" and ":down", as ids within a block are unique

_UP_ALOUD = Said(en="This answer was helpful", ja="この回答は役に立った")
_DOWN_ALOUD = Said(en="This answer was not helpful", ja="この回答は役に立たなかった")


def feedback(turn: str, language: Language) -> dict[str, Any]:
    """Slack's own pair of thumbs. Source: docs.slack.dev feedback_buttons element."""

    def button(vote: Vote, text: Said, aloud: Said) -> dict[str, Any]:
        return {
            "text": {"type": "plain_text", "text": text.to(language)},
            "accessibility_label": aloud.to(language),
            "value": f"{turn}:{vote}",
        }

    element = {
        "type": "feedback_buttons",
        "action_id": VOTE,
        "positive_button": button("up", UP, _UP_ALOUD),
        "negative_button": button("down", DOWN, _DOWN_ALOUD),
    }
    return {"type": "context_actions", "elements": [element]}


def plain_feedback(turn: str, language: Language) -> dict[str, Any]:
    """The same as ordinary buttons, for where Slack does not know the others."""

    def button(vote: Vote, text: Said, aloud: Said, thumb: str) -> dict[str, Any]:
        return {
            "type": "button",
            "action_id": f"{VOTE}:{vote}",
            "text": {"type": "plain_text", "text": f"{thumb} {text.to(language)}"},
            "accessibility_label": aloud.to(language),
            "value": f"{turn}:{vote}",
        }

    return {
        "type": "actions",
        "elements": [button("up", UP, _UP_ALOUD, "👍"), button("down", DOWN, _DOWN_ALOUD, "👎")],
    }


def voted(value: str) -> tuple[str, Vote] | None:
    """A pressed button's value as the turn and the vote; None: it is not one of these."""
    turn, _, pressed = value.rpartition(":")
    vote: Vote | None = "up" if pressed == "up" else "down" if pressed == "down" else None
    return (turn, vote) if turn and vote else None
