"""Thinks, uses tools, drafts, reviews and cites; knows no platform."""
