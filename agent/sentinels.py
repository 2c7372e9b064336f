"""Marks that tools and models exchange with the loop; none of them is ever shown to people.

Source: seeds/3_agent_tools.md §5 for the tool's; the others are how a model that writes by rules says "no answer".
"""

NO_RAG_RESULT = "[[NO_RAG_RESULT]]"
NO_RAG_RESULT_LOW_SCORE = "[[NO_RAG_RESULT_LOW_SCORE]]"
RAG_TOOL_ERROR = "[[RAG_TOOL_ERROR]]"

NO_ANSWER = "[[NO_ANSWER]]"
"""The whole text of a draft: the passages do not answer. The loop says "not found" and where it looked."""

DECLINED = "[[DECLINED]]"
"""At the head of a draft: a polite refusal. What follows is the text to show."""
