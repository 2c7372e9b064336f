"""Which of a platform's many tokens somebody pasted, so that the wrong one is named and the right one is found."""

import re

from retrieval.i18n import Text, filled

BOT_TOKEN = Text(en="a bot token (xoxb-)", ja="ボットトークン（xoxb-）")
APP_TOKEN = Text(en="an app-level token (xapp-)", ja="アプリレベルトークン（xapp-）")
_SLACK_KINDS: tuple[tuple[re.Pattern[str], Text], ...] = (
    (re.compile(r"xapp-"), APP_TOKEN),
    (re.compile(r"xoxb-|xoxe\.xoxb-"), BOT_TOKEN),
    (re.compile(r"xoxp-|xoxe\.xoxp-"), Text(en="a user token (xoxp-)", ja="ユーザートークン（xoxp-）")),
    (re.compile(r"xoxe-"), Text(en="a refresh token (xoxe-)", ja="リフレッシュトークン（xoxe-）")),
    (re.compile(r"xox[cd]-"), Text(en="a browser session token", ja="ブラウザーのセッショントークン")),
    (
        re.compile(r"https://hooks\.slack\.com/"),
        Text(en="an incoming webhook address", ja="Incoming Webhook のアドレス"),
    ),
    (re.compile(r"[0-9a-f]{32}$"), Text(en="a client or signing secret", ja="Client Secret か Signing Secret")),
)
_UNKNOWN = Text(en="something else", ja="別のもの")
_WRONG = Text(
    en="{name} holds {given}, but it should be {wanted}. It is found at: {where}",
    ja="{name} に入っているのは{given}ですが、必要なのは{wanted}です。取得場所: {where}",
)


def _complaint(name: str, given: Text, wanted: Text, where: Text) -> Text:
    return filled(_WRONG, name=name, given=given, wanted=wanted, where=where)


def _slack_kind(token: str) -> Text:
    return next((kind for pattern, kind in _SLACK_KINDS if pattern.match(token)), _UNKNOWN)


SLACK_BOT_AT = Text(
    en="api.slack.com/apps → your app → OAuth & Permissions → Bot User OAuth Token",
    ja="api.slack.com/apps → アプリ → OAuth & Permissions → Bot User OAuth Token",
)
SLACK_APP_AT = Text(
    en="api.slack.com/apps → your app → App-Level Tokens, on the page that opens (scope connections:write)",
    ja="api.slack.com/apps → アプリ → 最初に開くページの App-Level Tokens（スコープ connections:write）",
)
SLACK_SECRET_AT = Text(
    en="api.slack.com/apps → your app → Signing Secret, on the page that opens",
    ja="api.slack.com/apps → アプリ → 最初に開くページの Signing Secret",
)
DISCORD_AT = Text(
    en="discord.com/developers/applications → your application → Bot → Reset Token",
    ja="discord.com/developers/applications → アプリケーション → Bot → Reset Token",
)

GEMINI_AT = Text(en="aistudio.google.com/apikey → Create API key", ja="aistudio.google.com/apikey →「API キーを作成」")


def slack_bot_token(token: str) -> Text | None:
    """The fault of SLACK_BOT_TOKEN; None: it is a bot token."""
    if token.startswith(("xoxb-", "xoxe.xoxb-")):
        return None
    return _complaint("SLACK_BOT_TOKEN", _slack_kind(token), BOT_TOKEN, SLACK_BOT_AT)


def slack_app_token(token: str) -> Text | None:
    """The fault of SLACK_APP_TOKEN; None: it is an app-level token."""
    if token.startswith("xapp-"):
        return None
    return _complaint("SLACK_APP_TOKEN", _slack_kind(token), APP_TOKEN, SLACK_APP_AT)


def slack_signing_secret(secret: str) -> Text | None:
    """The fault of SLACK_SIGNING_SECRET; None: nothing that can be seen (a client secret has the same shape)."""
    if re.fullmatch(r"[0-9a-f]{32}", secret):
        return None
    return _complaint("SLACK_SIGNING_SECRET", _slack_kind(secret), _SIGNING_SECRET, SLACK_SECRET_AT)


_SIGNING_SECRET = Text(en="a signing secret (32 digits and letters a–f)", ja="Signing Secret（0–9 と a–f の 32 文字）")

_DISCORD_KINDS: tuple[tuple[re.Pattern[str], Text], ...] = (
    (re.compile(r"[\w-]{32}"), Text(en="a client secret", ja="クライアントシークレット（Client Secret）")),
    (re.compile(r"[0-9a-f]{64}"), Text(en="a public key", ja="公開鍵（Public Key）")),
    (re.compile(r"\d{17,20}"), Text(en="an application or user id", ja="アプリケーション ID かユーザー ID")),
    (re.compile(r"mfa\..+"), Text(en="a user token", ja="ユーザートークン")),
    (re.compile(r"https?://.+"), Text(en="an address", ja="アドレス")),
    (re.compile(r"(?i:bot)\s+.+"), Text(en="a token with “Bot” before it", ja="先頭に「Bot」が付いたトークン")),
    (re.compile(r"xox[a-z][.-].+|xapp-.+"), Text(en="a Slack token", ja="Slack のトークン")),
)


def discord_token(token: str) -> Text | None:
    """The fault of DISCORD_TOKEN; None: nothing that can be seen (the shape of bot tokens is not promised)."""
    kind = next((kind for pattern, kind in _DISCORD_KINDS if pattern.fullmatch(token)), None)
    if kind is None:
        return None
    return _complaint("DISCORD_TOKEN", kind, Text(en="the bot's token", ja="ボットのトークン"), DISCORD_AT)


_GEMINI_KINDS: tuple[tuple[re.Pattern[str], Text], ...] = (
    (re.compile(r"sk-.+"), Text(en="a key of another provider (sk-)", ja="ほかの提供元のキー（sk-）")),
    (re.compile(r"xox[a-z][.-].+|xapp-.+"), Text(en="a Slack token", ja="Slack のトークン")),
    (re.compile(r"ya29\..+"), Text(en="a Google access token", ja="Google のアクセストークン")),
    (re.compile(r"https?://.+"), Text(en="an address", ja="アドレス")),
    (re.compile(r"\{.*", re.DOTALL), Text(en="a service account's file", ja="サービスアカウントのファイル")),
    (re.compile(r"[\w.-]+@[\w.-]+"), Text(en="a mail address", ja="メールアドレス")),
)


def gemini_key(key: str) -> Text | None:
    """The fault of GEMINI_API_KEY; None: nothing that can be seen (the shape of keys is not promised)."""
    kind = next((kind for pattern, kind in _GEMINI_KINDS if pattern.fullmatch(key)), None)
    if kind is None:
        return None
    return _complaint("GEMINI_API_KEY", kind, Text(en="a Gemini API key", ja="Gemini の API キー"), GEMINI_AT)
