"""Which messages need no search: greetings, thanks and sums."""
