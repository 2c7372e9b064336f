"""Slack's Web API and Socket Mode: calls, limits, refusals, and messages that arrive once."""
