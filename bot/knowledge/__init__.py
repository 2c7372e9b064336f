"""The team's documents: taken in, kept, searched, curated and indexed anew."""
