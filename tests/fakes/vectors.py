"""What the stand-ins for embedding models compute."""

import hashlib
import math


def bag_of_trigrams(said: str, size: int) -> list[float]:
    """Character trigrams, hashed, of length 1: texts that share words are near, the same text is the same."""
    lowered = said.lower()
    values = [0.0] * size
    for at in range(max(1, len(lowered) - 2)):
        values[int.from_bytes(hashlib.blake2b(lowered[at : at + 3].encode(), digest_size=4).digest()) % size] += 1.0
    length = math.sqrt(sum(value * value for value in values))
    return [value / length for value in values]
