"""The page of the rooms."""
