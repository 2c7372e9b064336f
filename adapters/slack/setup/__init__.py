"""The Slack app: its manifest, and whether it is set up well."""
