"""The Model Context Protocol: the tools of `bot.programs` for coding assistants and other programs."""
