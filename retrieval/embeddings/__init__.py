"""Embedders, a file a provider."""
