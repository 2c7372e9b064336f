"""The buttons under an answer, with which people say whether it helped."""

from typing import Any

import discord

from adapters.voting import DOWN, UP, Vote
from retrieval.text import Language

TEMPLATE = r"kotae:vote:(?P<vote>up|down):(?P<turn>[^:]{1,80})"
REPORT = "kotae:report:"  # and the turn: the modal that asks what was wrong


def vote_button(turn: str, vote: Vote, language: Language) -> "discord.ui.Button[Any]":
    return discord.ui.Button(
        label=(UP if vote == "up" else DOWN).to(language),
        emoji="👍" if vote == "up" else "👎",
        custom_id=f"kotae:vote:{vote}:{turn}",
    )


def feedback(turn: str, language: Language) -> list[dict[str, Any]]:
    """The row with both."""
    votes: tuple[Vote, Vote] = ("up", "down")
    return [{"type": 1, "components": [dict(vote_button(turn, vote, language).to_component_dict()) for vote in votes]}]
