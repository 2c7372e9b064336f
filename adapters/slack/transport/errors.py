"""Slack's refusals, read as what they mean to us: its many error codes in the few kinds that callers treat
differently.

Source: the error lists of the methods' pages on docs.slack.dev; reliability.md R10.
"""

from collections.abc import Mapping
from typing import Any

from adapters import port
from adapters.port import PostError


class SlackError(PostError):
    """Slack refused a call. `code` is its word for the reason; `needed` the scope that is missing, if one is.

    Neither the text nor `detail` (what Slack says beside the code, about the payload) holds a token.
    """

    def __init__(self, method: str, code: str, *, needed: str = "", detail: tuple[str, ...] = ()) -> None:
        super().__init__(f"{method}: {code}" + (f" (needs {needed})" if needed else ""))
        self.method = method
        self.code = code
        self.needed = needed
        self.detail = detail


class GoneError(SlackError, port.GoneError):
    """The channel, thread, message, file or person is not there, or not for us. It stays so: never tried again."""


class BarredError(GoneError, port.BarredError):
    """We may not write there, though it is there."""


class RefusedError(SlackError):
    """The payload is not accepted: only another one could be."""


class UnsupportedError(SlackError):
    """The server, the token or the kind of place does not offer this: do without."""


class StreamOver(SlackError):
    """The stream has ended: Slack ends one some minutes after its start, and people may stop it."""


class CredentialsError(SlackError):
    """The token is wrong or was revoked: nothing works until somebody changes the settings."""


class UnreachableError(SlackError):
    """Still no answer, after all tries. Nothing was done, or whatever was done may be done again."""


class UnknownOutcome(UnreachableError):
    """No answer to something that must not be done twice: it may have been done, or not."""


class NotSent(SlackError):
    """The call was dropped while it waited for its turn: nothing was sent."""


_GONE = frozenset(
    {
        *("channel_not_found", "is_inactive", "thread_not_found", "invalid_thread_ts"),
        *("message_not_found", "cant_update_message", "cant_delete_message", "edit_window_closed"),
        *("message_not_owned_by_app", "messages_tab_disabled", "cannot_dm_bot", "ekm_access_denied"),
        *("user_not_found", "user_not_visible", "user_not_in_channel", "user_disabled", "team_not_found"),
        *("file_not_found", "file_deleted", "not_visible", "not_found", "access_denied"),
        "session_not_found",
        *("expired_trigger_id", "exchanged_trigger_id", "expired_url", "used_url"),
    }
)
_BARRED = frozenset(
    {
        *("not_in_channel", "is_archived", "channel_is_limited_access", "cannot_reply_to_message", "thread_locked"),
        *("restricted_action", "restricted_action_read_only_channel", "restricted_action_thread_only_channel"),
        *("restricted_action_non_threadable_channel", "restricted_action_thread_locked"),
    }
)
_REFUSED = frozenset(
    {
        *("invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "msg_blocks_too_many", "block_mismatch"),
        *("msg_too_long", "no_text", "markdown_text_conflict", "invalid_chunks", "streaming_mode_mismatch"),
        *("invalid_attachments", "too_many_attachments", "attachment_payload_limit_exceeded"),
        *("invalid_metadata_format", "invalid_metadata_schema", "metadata_too_large", "view_too_large"),
        *("metadata_must_be_sent_from_app", "too_many_contact_cards", "invalid_trigger_id", "duplicate_external_id"),
        *("missing_recipient_team_id", "missing_recipient_user_id", "invalid_name", "bad_timestamp"),
        *("invalid_arguments", "invalid_args", "invalid_arg_name", "invalid_array_arg", "missing_argument"),
        *("invalid_form_data", "invalid_json", "json_not_object", "invalid_payload"),
        *(f"slack_connect_{what}_sharing_blocked" for what in ("file_link", "file_upload", "canvas", "lists", "clip")),
    }
)
LASTING = frozenset({"unknown_method", "method_deprecated", "deprecated_endpoint", "not_allowed_token_type"})
_UNSUPPORTED = LASTING | frozenset(
    {
        *("missing_scope", "channel_type_not_supported", "method_not_supported_for_channel_type", "not_enabled"),
        *("not_implemented", "feature_not_enabled", "plan_upgrade_required", "enterprise_is_restricted"),
        *("accesslimited", "no_permission", "not_authorized", "not_agent_app", "feature_disabled"),
    }
)
_OVER = frozenset({"message_not_in_streaming_state", "stopped_by_user"})
_CREDENTIALS = frozenset({"invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired"})
_KINDS: tuple[tuple[frozenset[str], type[SlackError]], ...] = (
    (_GONE, GoneError),
    (_BARRED, BarredError),
    (_REFUSED, RefusedError),
    (_UNSUPPORTED, UnsupportedError),
    (_OVER, StreamOver),
    (_CREDENTIALS, CredentialsError),
)

# Slack's own trouble, told with `ok: false`: "some aspect of the operation" may have succeeded.
PASSING = frozenset(
    {
        *("internal_error", "fatal_error", "service_unavailable", "request_timeout", "messaging_processing_failed"),
        *("update_failed", "fetch_members_failed", "team_added_to_org"),
    }
)
BUSY = frozenset({"ratelimited", "rate_limited"})


def refusal(method: str, code: str, body: Mapping[str, Any]) -> SlackError:
    """The error for a code that is neither in `PASSING` nor in `BUSY`; one that nobody knows may be of the payload."""
    kind = next((kind for codes, kind in _KINDS if code in codes), RefusedError)
    told = body.get("response_metadata")
    messages = told.get("messages") if isinstance(told, dict) else None
    detail = tuple(str(each) for each in messages) if isinstance(messages, list) else ()
    return kind(method, code, needed=str(body.get("needed") or ""), detail=detail)
