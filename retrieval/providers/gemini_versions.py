"""Which version of the Gemini API is asked. Plain values, no SDK."""

import logging

from retrieval.providers.errors import HttpRefusal

log = logging.getLogger(__name__)

STABLE, BETA = "v1", "v1beta"


class Versions:
    """`now` is the version to ask: the one that is wished for, else the stable one as long as it will do.

    Models that are new, and at times words of the API, are to be had in the other one only, and a stand-in may know no
    version but that. Source: ai.google.dev/gemini-api/docs/api-versions.
    """

    def __init__(self, wished: str | None) -> None:
        self.now = wished or STABLE
        self._others = [] if wished else [STABLE, BETA]  # the last is the next; the first, if that was no better

    def changes(self, used: str, refusal: HttpRefusal) -> bool:
        """Whether what was refused at version `used` may be had at `now`, which this may change."""
        if refusal.code != 404 and "unknown name" not in refusal.message.lower():
            return False
        if used == self.now:
            if not self._others:
                return False
            self.now = self._others.pop()
            log.info("the Gemini API is asked at %s from now on", self.now)
        return True
