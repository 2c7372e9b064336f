"""Platforms: their gestures in, our events out."""
