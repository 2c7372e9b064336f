"""A provider's HTTP refusal: what it says about the key, and how long it asks us to wait. Plain values, no SDK."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

A_DAY_IS_OVER = 3600.0  # seconds; a quota of the day comes back in hours, whatever RetryInfo says


@dataclass(frozen=True, slots=True)
class HttpRefusal:
    """An error status with the provider's `status` word, its message, its error details and its headers."""

    code: int
    status: str = ""
    message: str = ""
    details: Sequence[Mapping[str, Any]] = ()
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def about_the_key(self) -> bool:
        return (
            self.code in (401, 403)
            or "api key" in self.message.lower()
            or any(str(detail.get("reason", "")).startswith("API_KEY") for detail in self.details)
            or self.status == "FAILED_PRECONDITION"  # not offered to this account, or not from here
        )

    def retry_after(self) -> float | None:
        """Seconds to wait: the longest that `RetryInfo` or `Retry-After` asks for; hours for a quota of the day."""
        waits: list[float] = []
        for detail in self.details:
            if match := re.fullmatch(r"(\d+(?:\.\d+)?)s", str(detail.get("retryDelay", ""))):
                waits.append(float(match[1]))
            if "perday" in str(detail.get("violations", "")).lower():
                waits.append(A_DAY_IS_OVER)
        header = next((value for name, value in self.headers.items() if name.lower() == "retry-after"), "")
        if (asked := seconds_asked(header)) is not None:
            waits.append(asked)
        return max(waits, default=None)


def seconds_asked(header: str) -> float | None:
    """Seconds that a `Retry-After` asks for, as a number or a date (RFC 9110 §10.2.3); None: nothing that can be
    read."""
    if re.fullmatch(r"\d+(\.\d+)?", header):
        return float(header)
    with suppress(ValueError, TypeError):  # not a date, or one without a zone
        return max(0.0, (parsedate_to_datetime(header) - datetime.now(UTC)).total_seconds())
    return None
