"""Parts that several pages have in common."""
