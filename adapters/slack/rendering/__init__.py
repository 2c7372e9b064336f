"""The bot's messages as people see them in Slack: mrkdwn, Block Kit, and a turn's steps."""
