"""The parts of a platform that Slack, Discord and the browser have in common."""
