"""The buttons under an answer, with which people say whether it helped."""

from typing import Any, Literal

import discord

from retrieval.text import Language, Said

TEMPLATE = r"kotae:vote:(?P<vote>up|down):(?P<turn>[^:]{1,80})"
REPORT = "kotae:report:"  # and the turn: the modal that asks what was wrong

_UP = Said(en="Helpful", ja="役に立った")
_DOWN = Said(en="Not helpful", ja="役に立たなかった")

Vote = Literal["up", "down"]


def vote_button(turn: str, vote: Vote, language: Language) -> "discord.ui.Button[Any]":
    return discord.ui.Button(
        label=(_UP if vote == "up" else _DOWN).to(language),
        emoji="👍" if vote == "up" else "👎",
        custom_id=f"kotae:vote:{vote}:{turn}",
    )


def feedback(turn: str, language: Language) -> list[dict[str, Any]]:
    """The row with both."""
    votes: tuple[Vote, Vote] = ("up", "down")
    return [{"type": 1, "components": [dict(vote_button(turn, vote, language).to_component_dict()) for vote in votes]}]
