"""What several pages have in common."""
