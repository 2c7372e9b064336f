"""The page that shows how a search finds what it finds."""
