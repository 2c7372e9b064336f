"""Whether two questions say the same, read word by word in Japanese and English."""
