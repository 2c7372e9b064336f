"""What people see in Slack: mrkdwn, Block Kit, and a turn's steps."""
