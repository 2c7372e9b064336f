"""The bot's messages as people see them in Discord: its Markdown, its components, and a turn's steps."""
