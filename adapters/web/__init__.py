"""The browser and programs as a platform: a channel, pages and an HTTP API on one address."""
