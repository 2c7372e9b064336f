"""Slack as a platform."""
