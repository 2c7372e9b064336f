"""What people see in Discord: its Markdown, its components, and a turn's steps."""
