"""A question's life, from its claim to its stored answer."""
