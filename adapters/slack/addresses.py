"""Which addresses are Slack's: where a token may be sent, and what may be followed without one.

Source: reliability.md R41; docs.slack.dev file objects (url_private needs the token) and response_url.
"""

from yarl import URL

API = "https://slack.com/api/"

_SLACK = ("slack.com", "slack-gov.com")
_ASSETS = ("slack-files.com", "slack-edge.com")
_HOOKS = ("hooks.slack.com", "hooks.slack-gov.com")


class Addresses:
    """`api` is the base of the Web API: Slack's own, or the server that stands in for it."""

    def __init__(self, api: str) -> None:
        self._api = URL(api).origin()

    def gets_token(self, url: URL) -> bool:
        """The API's own origin (scheme, host and port), or a host of Slack's over https."""
        return self.is_api(url) or _is_under(url, _SLACK)

    def is_slack(self, url: URL) -> bool:
        """Also where Slack keeps files that need no token."""
        return self.gets_token(url) or _is_under(url, _ASSETS)

    def takes_responses(self, url: URL) -> bool:
        """A response_url's."""
        return self.is_api(url) or (url.scheme == "https" and url.host in _HOOKS)

    def is_api(self, url: URL) -> bool:
        return url.absolute and url.scheme in ("http", "https") and url.origin() == self._api


def _is_under(url: URL, domains: tuple[str, ...]) -> bool:
    host = (url.host or "").lower()
    return url.scheme == "https" and any(host == domain or host.endswith(f".{domain}") for domain in domains)
