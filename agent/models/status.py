"""What a provider's HTTP refusal means to us. Plain values, no SDK."""

from dataclasses import dataclass

from agent.models.base import ModelBusy, ModelError, ModelProtocolError, ModelUnavailable
from retrieval import refusals


@dataclass(frozen=True, slots=True)
class Refusal(refusals.Refusal):
    """One that a chat model met."""

    def as_error(self, text: str) -> ModelError:
        """`text` is for the log."""
        if self.code == 429:
            return ModelBusy(text, self.retry_after())
        if self.about_the_key:
            return ModelUnavailable(text, "key")
        if self.code == 404:
            return ModelUnavailable(text, "model")
        if self.code in (408, 504):
            return ModelUnavailable(text, "timeout")
        if 400 <= self.code < 500:
            return ModelProtocolError(text)
        return ModelUnavailable(text, "down")
