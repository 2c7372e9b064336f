"""The environment and `.env`, read once. Whatever is wrong is said in one go, a line a variable, without its secrets.

Names and defaults: product.md §7.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, tzinfo
from difflib import get_close_matches
from io import StringIO
from pathlib import Path
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from dotenv.parser import Binding, parse_stream
from dotenv.variables import parse_variables
from pydantic import Field, SecretStr, ValidationError, model_validator
from pydantic.functional_validators import ModelWrapValidatorHandler
from pydantic_settings import BaseSettings, SettingsConfigDict

from bot.config.tokens import (
    SLACK_APP_AT,
    SLACK_BOT_AT,
    SLACK_SECRET_AT,
    discord_token,
    slack_app_token,
    slack_bot_token,
    slack_signing_secret,
)
from bot.config.types import (
    LOWER,
    TEXT,
    UPPER,
    Address,
    Authorities,
    Collection,
    Cron,
    Database,
    Embedder,
    Folder,
    Guilds,
    HostTokens,
    Judge,
    Model,
    Names,
    Origin,
    Port,
    Reranker,
    Secret,
    SettingText,
    Share,
    Socket,
    Wants,
    Zone,
    one_of,
    passwords_in,
    sqlite_url,
    whole,
)
from bot.errors import SettingsError
from bot.logs import Redactor
from bot.store.link import CONNECT_SECONDS, CONNECTIONS, LEAST, STATEMENT_SECONDS, ServerLink, Tls
from bot.types import StepsShown
from retrieval.i18n import Language, Text, filled, os_reason
from retrieval.types import Fusion

ENV_FILE = Path(".env")
_NEEDED_BY = {  # a provider's models need one of these settings
    "gemini:": ("GEMINI_API_KEY",),
    "openai:": ("OPENAI_API_KEY", "OPENAI_BASE_URL"),
}
NEEDED_BY = {provider: Text(en=" or ".join(names), ja=" か ".join(names)) for provider, names in _NEEDED_BY.items()}
"""The settings of which a provider's models need one, in words."""
_NEAR = 0.85  # of two names
DEFAULT_GEMINI = "gemini:gemini-3.8-flash"

Strategy = Literal["react", "synthesis"]
Fallback = Literal["off", "general"]
Switch = Literal["on", "off"]
Thinking = Literal["low", "medium", "high", "default"]
LogLevel = Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]


@dataclass(frozen=True, slots=True)
class SlackSettings:
    """Events come over Socket Mode where there is an `app_token`, else over HTTP, signed with the `signing_secret`."""

    bot_token: SecretStr
    app_token: SecretStr | None
    signing_secret: SecretStr | None
    api_url: str | None  # of a stand-in server


@dataclass(frozen=True, slots=True)
class DiscordSettings:
    token: SecretStr
    guilds: tuple[str, ...] | None  # None: not set
    api_url: str | None  # these three of a stand-in server
    gateway_url: str | None
    cdn_url: str | None


class Settings(BaseSettings):
    """Every setting. `load()` builds it; raises SettingsError with all problems at once."""

    model_config = SettingsConfigDict(
        validate_default=False,
        env_file_encoding="utf-8-sig",
        enable_decoding=False,  # a list is names with commas between, never JSON: one id would be a number
        extra="ignore",
        frozen=True,
        hide_input_in_errors=True,
        str_strip_whitespace=True,
    )

    home: Folder = Field(Path(".kotae"), alias="KOTAE_HOME")

    model: Model | None = Field(None, alias="KOTAE_MODEL")
    judge_model: Judge | None = Field(None, alias="KOTAE_JUDGE_MODEL")
    thinking: Annotated[Thinking, LOWER, one_of("low", "medium", "high", "default")] = Field(
        "default", alias="KOTAE_THINKING"
    )
    gemini_key: Secret | None = Field(None, alias="GEMINI_API_KEY")
    gemini_base_url: Address | None = Field(None, alias="GEMINI_BASE_URL", repr=False)
    gemini_api_version: SettingText | None = Field(None, alias="GEMINI_API_VERSION")
    openai_key: Secret | None = Field(None, alias="OPENAI_API_KEY")
    openai_base_url: Address | None = Field(None, alias="OPENAI_BASE_URL", repr=False)

    embedder: Embedder = Field("local", alias="KOTAE_EMBEDDER")
    reranker: Reranker | None = Field(None, alias="KOTAE_RERANKER")
    embedding_dim: Annotated[int, Field(ge=16, le=8192), whole(16, 8192)] | None = Field(
        None, alias="KOTAE_EMBEDDING_DIM"
    )

    qdrant_address: Address | None = Field(None, alias="QDRANT_URL", repr=False)
    qdrant_host: SettingText | None = Field(None, alias="QDRANT_HOST")
    qdrant_port: Port = Field(6333, alias="QDRANT_PORT")
    qdrant_key: Secret | None = Field(None, alias="QDRANT_API_KEY")
    qdrant_prefix: SettingText = Field("kotae", alias="KOTAE_QDRANT_PREFIX")
    qdrant_shards: Annotated[int, Field(ge=1, le=1000), whole(1, 1000)] | None = Field(
        None, alias="KOTAE_QDRANT_SHARDS"
    )
    qdrant_replicas: Annotated[int, Field(ge=1, le=100), whole(1, 100)] | None = Field(
        None, alias="KOTAE_QDRANT_REPLICAS"
    )
    qdrant_write_consistency: Annotated[int, Field(ge=1, le=100), whole(1, 100)] | None = Field(
        None, alias="KOTAE_QDRANT_WRITE_CONSISTENCY"
    )

    database: Database | None = Field(None, alias="DATABASE_URL")
    database_connections: Annotated[int, Field(ge=LEAST, le=500), whole(LEAST, 500)] = Field(
        CONNECTIONS, alias="KOTAE_DATABASE_CONNECTIONS"
    )
    database_connect_timeout: Annotated[int, Field(ge=1, le=600), whole(1, 600)] = Field(
        CONNECT_SECONDS, alias="KOTAE_DATABASE_CONNECT_TIMEOUT"
    )
    database_statement_timeout: Annotated[int, Field(ge=1, le=3600), whole(1, 3600)] = Field(
        STATEMENT_SECONDS, alias="KOTAE_DATABASE_STATEMENT_TIMEOUT"
    )
    database_tls: Annotated[Tls, LOWER, one_of("off", "prefer", "require", "verify")] | None = Field(
        None, alias="KOTAE_DATABASE_TLS"
    )
    database_ca: Authorities | None = Field(None, alias="KOTAE_DATABASE_CA")

    slack_bot_token: Secret | None = Field(None, alias="SLACK_BOT_TOKEN")
    slack_app_token: Secret | None = Field(None, alias="SLACK_APP_TOKEN")
    slack_signing_secret: Secret | None = Field(None, alias="SLACK_SIGNING_SECRET")
    slack_api_url: Address | None = Field(None, alias="SLACK_API_URL")

    discord_token: Secret | None = Field(None, alias="DISCORD_TOKEN")
    discord_api_url: Address | None = Field(None, alias="DISCORD_API_URL")
    discord_gateway_url: Socket | None = Field(None, alias="DISCORD_GATEWAY_URL")
    discord_cdn_url: Address | None = Field(None, alias="DISCORD_CDN_URL")
    discord_guilds: Guilds | None = Field(None, alias="KOTAE_DISCORD_GUILDS")

    web_host: SettingText = Field("127.0.0.1", alias="KOTAE_WEB_HOST")
    web_url: Origin | None = Field(None, alias="KOTAE_WEB_URL")
    own_web_port: Port | None = Field(None, alias="KOTAE_WEB_PORT")
    port: Port | None = Field(None, alias="PORT")

    digest_cron: Cron = Field("0 9 * * mon", alias="KOTAE_DIGEST_CRON")
    digest_channel: SettingText | None = Field(None, alias="KOTAE_DIGEST_CHANNEL")
    timezone_name: Zone = Field("UTC", alias="KOTAE_TIMEZONE")

    default_collection: Collection = Field("documents", alias="KOTAE_DEFAULT_COLLECTION")
    collections: Names | None = Field(None, alias="KOTAE_COLLECTIONS")
    search_limit: Annotated[int, Field(ge=1, le=50), whole(1, 50)] = Field(8, alias="KOTAE_SEARCH_LIMIT")
    min_relevance: Share | None = Field(None, alias="KOTAE_MIN_RELEVANCE")
    confident: Share | None = Field(None, alias="KOTAE_CONFIDENT")
    chunk_size: Annotated[int, Field(ge=200, le=2048), whole(200, 2048)] = Field(2048, alias="KOTAE_CHUNK_SIZE")
    fusion: Annotated[Fusion, LOWER, one_of("dbsf", "rrf")] = Field("dbsf", alias="KOTAE_FUSION")
    max_turns: Annotated[int, Field(ge=1, le=30), whole(1, 30)] = Field(10, alias="KOTAE_MAX_TURNS")
    strategy: Annotated[Strategy, LOWER, one_of("react", "synthesis")] = Field("react", alias="KOTAE_STRATEGY")
    steps: Annotated[StepsShown, LOWER, one_of("live", "verbose", "off")] = Field("live", alias="KOTAE_STEPS")
    fallback: Annotated[Fallback, LOWER, one_of("off", "general")] = Field("off", alias="KOTAE_FALLBACK")
    web_token: Secret | None = Field(None, alias="KOTAE_WEB_TOKEN")
    keep_days: Annotated[int, Field(ge=14, le=3650), whole(14, 3650)] = Field(90, alias="KOTAE_KEEP_DAYS")
    concurrency: Annotated[int, Field(ge=1, le=200), whole(1, 200)] = Field(200, alias="KOTAE_CONCURRENCY")
    user_per_minute: Annotated[int, Field(ge=0, le=10_000), whole(0, 10_000)] = Field(10, alias="KOTAE_USER_PER_MINUTE")
    channel_per_minute: Annotated[int, Field(ge=0, le=10_000), whole(0, 10_000)] = Field(
        30, alias="KOTAE_CHANNEL_PER_MINUTE"
    )
    daily_calls: Annotated[int, Field(ge=0, le=10**9), whole(0, 10**9)] = Field(20_000, alias="KOTAE_DAILY_CALLS")
    daily_tokens: Annotated[int, Field(ge=0, le=10**12), whole(0, 10**12)] = Field(
        50_000_000, alias="KOTAE_DAILY_TOKENS"
    )
    editors: Names = Field((), alias="KOTAE_EDITORS")
    host_tokens: HostTokens | None = Field(None, alias="KOTAE_GIT_TOKENS")
    private_sources: Annotated[Switch, LOWER, one_of("on", "off")] = Field("off", alias="KOTAE_PRIVATE_SOURCES")
    living: Annotated[Switch, LOWER, one_of("on", "off")] = Field("on", alias="KOTAE_LIVING")
    own_language: Annotated[Language, LOWER, one_of("ja", "en")] | None = Field(None, alias="KOTAE_LANGUAGE")
    log_level: Annotated[LogLevel, UPPER, one_of("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")] | None = Field(
        None, alias="KOTAE_LOG_LEVEL"
    )

    lc_all: str | None = Field(None, alias="LC_ALL")
    lc_messages: str | None = Field(None, alias="LC_MESSAGES")
    lang: str | None = Field(None, alias="LANG")

    @model_validator(mode="wrap")
    @classmethod
    def _all_problems_at_once(cls, given: Any, build: ModelWrapValidatorHandler["Settings"]) -> "Settings":
        values = {name: value for name, value in dict(given).items() if not _blank(value)}
        if "KOTAE_WEB_PORT" in values:
            values.pop("PORT", None)  # it is for whatever else the machine runs
        problems: list[Text] = []
        settings: Settings | None = None
        try:
            settings = build(values)
        except ValidationError as error:
            wrong = dict.fromkeys(str(detail["loc"][0]) for detail in error.errors(include_input=False))
            problems = [_problem(name, values.get(name)) for name in wrong]
        problems += _between(values)
        if settings is None or problems:
            raise SettingsError(*problems) from None  # the cause would hold the values
        return settings

    # -- what follows from them -------------------------------------------------------------------------------------

    @property
    def model_id(self) -> str:
        """`provider:model`, or `extractive`, which needs neither key nor network."""
        return self.model or (DEFAULT_GEMINI if self.gemini_key else "extractive")

    @property
    def models_set_up(self) -> tuple[str, ...]:
        """The ids of the models that can be chosen without setting up more, first the one that answers. An
        OpenAI-compatible server may have others."""
        gemini = (DEFAULT_GEMINI,) if self.gemini_key else ()
        return tuple(dict.fromkeys((self.model_id, self.judge_id, *gemini, "extractive")))

    @property
    def judge_id(self) -> str:
        """The model that judges whether a passage says what an answer claims: the model that answers, where no other
        is named."""
        return self.judge_model or self.model_id

    @property
    def effort(self) -> Literal["low", "medium", "high"] | None:
        """How much the models think; None: as their providers do by themselves."""
        return None if self.thinking == "default" else self.thinking

    @property
    def database_url(self) -> str:
        """With its driver; an SQLite file in the home by default. May hold a password."""
        if self.database is not None:
            return self.database.get_secret_value()
        return sqlite_url(self.home / "kotae.db")

    @property
    def shared(self) -> bool:
        """Whether the database is on a server, and holds the documents' texts and files that wait."""
        return not self.database_url.startswith("sqlite")

    @property
    def link(self) -> ServerLink:
        """The way to a database on a server."""
        return ServerLink(
            self.database_connections,
            self.database_connect_timeout,
            self.database_statement_timeout,
            self.database_tls,
            self.database_ca,
        )

    @property
    def qdrant_url(self) -> str | None:
        """A Qdrant server; None: the embedded engine."""
        if self.qdrant_address:
            return self.qdrant_address
        return f"http://{self.qdrant_host}:{self.qdrant_port}" if self.qdrant_host else None

    @property
    def slack(self) -> SlackSettings | None:
        if self.slack_bot_token is None or not (self.slack_app_token or self.slack_signing_secret):
            return None
        secret = self.slack_signing_secret if self.slack_app_token is None else None
        return SlackSettings(self.slack_bot_token, self.slack_app_token, secret, self.slack_api_url)

    @property
    def discord(self) -> DiscordSettings | None:
        if self.discord_token is None:
            return None
        return DiscordSettings(
            self.discord_token,
            self.discord_guilds,
            self.discord_api_url,
            self.discord_gateway_url,
            self.discord_cdn_url,
        )

    @property
    def platforms(self) -> tuple[str, ...]:
        """The platforms that are set up, by their own names."""
        return tuple(name for name, there in (("Slack", self.slack), ("Discord", self.discord)) if there)

    @property
    def web_port(self) -> int:
        chosen = self.own_web_port if self.own_web_port is not None else self.port
        return 8080 if chosen is None else chosen

    @property
    def timezone(self) -> tzinfo:
        return UTC if self.timezone_name == "UTC" else ZoneInfo(self.timezone_name)

    @property
    def language(self) -> Language:
        """Of the interface where nobody's own is known."""
        return self.own_language or _spoken((self.lc_all, self.lc_messages, self.lang))

    @property
    def git_tokens(self) -> dict[str, str]:
        """By host."""
        given = self.host_tokens.get_secret_value() if self.host_tokens is not None else ""
        parts = (part.partition("=") for part in given.split(",") if part.strip())
        return {host.strip().lower(): token.strip() for host, _, token in parts}

    @property
    def chat_log(self) -> Path:
        return self.home / "logs" / "agent_chat.log"

    @property
    def uploads(self) -> Path:
        """The folder of files that came through the browser, until they are read."""
        return self.home / "uploads"

    def secrets(self) -> tuple[str, ...]:
        """The values that may appear nowhere; for `logs.set_up`."""
        fields = (value for _, value in self if isinstance(value, SecretStr) and value is not self.database)
        addresses = (self.database_url, self.qdrant_url, self.gemini_base_url, self.openai_base_url)
        passwords = (password for address in addresses if address for password in passwords_in(address))
        return (*(value.get_secret_value() for value in fields), *self.git_tokens.values(), *passwords)


def load(env_file: Path | None = ENV_FILE) -> Settings:
    """The settings of this process: the environment over `env_file`. Raises SettingsError."""
    if problems := _misread(env_file):
        raise SettingsError(*problems)
    return Settings(_env_file=env_file)  # type: ignore[call-arg]  # BaseSettings takes it, mypy sees the fields only


_UNMADE = Text(
    en="KOTAE_HOME should be a folder that can be made; {home} cannot: {why}.",
    ja="KOTAE_HOME には作成できるフォルダーを指定してください。{home} は作成できません: {why}",
)


def make_home(home: Path) -> None:
    """Make the home where it is missing, for its owner only. Blocks. Raises SettingsError."""
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise SettingsError(filled(_UNMADE, home=home, why=os_reason(error))) from error


def unknown_names(environ: Mapping[str, str], env_file: Path | None = ENV_FILE) -> dict[str, str | None]:
    """Names like those of settings that are set and are none, in the environment or the file, each with the setting
    that was probably meant. Raises OSError, UnicodeDecodeError."""
    known = [str(field.alias) for field in Settings.model_fields.values()]
    given = {*environ, *(line.key for line in _lines(env_file) if line.key)}
    unknown = sorted(name for name in given if name.startswith("KOTAE_") and name not in known)
    return {name: next(iter(get_close_matches(name, known, 1, _NEAR)), None) for name in unknown}


def interface_language(environ: Mapping[str, str], env_file: Path | None = ENV_FILE) -> Language:
    """The language to speak before the settings are known to be right. Never raises."""
    try:
        lines = _lines(env_file)
    except (OSError, UnicodeDecodeError):
        lines = []
    merged = {**values(lines, environ), **{name: value for name, value in environ.items() if value.strip()}}
    match (merged.get("KOTAE_LANGUAGE") or "").strip().lower():
        case "ja":
            return "ja"
        case "en":
            return "en"
        case _:
            return _spoken(merged.get(name) for name in ("LC_ALL", "LC_MESSAGES", "LANG"))


def _lines(env_file: Path | None) -> list[Binding]:
    """The file's lines, one that is none with its `error`; without logging, as python-dotenv's own reading does."""
    if env_file is None or not env_file.is_file():
        return []
    return bindings(env_file.read_bytes().decode("utf-8-sig"))


def bindings(text: str) -> list[Binding]:
    """Of a file's text all lines as python-dotenv reads them, the comments and line ends of each with it."""
    return list(parse_stream(StringIO(text, newline="")))


def values(lines: Iterable[Binding], environ: Mapping[str, str]) -> dict[str, str | None]:
    """The values by their names, as `load` has them: `${NAME}` stands for that of a line before, else of the
    environment."""
    found: dict[str, str | None] = {}
    for line in lines:
        if line.key:
            atoms = parse_variables(line.value or "")
            known = {**environ, **found}
            found[line.key] = None if line.value is None else "".join(atom.resolve(known) for atom in atoms)
    return found


# -- problems in words ----------------------------------------------------------------------------------------------

_UNREADABLE = Text(en="The file {file} cannot be read: {why}.", ja="ファイル {file} を読み込めません: {why}")
_NOT_TEXT = Text(en="it has to be saved as UTF-8 text", ja="UTF-8 のテキストとして保存してください")
_NO_LINE = Text(
    en="Line {line} of {file} should be NAME=value, with every quotation mark closed.",
    ja="{file} の {line} 行目は「名前=値」の形にし、引用符は閉じてください。",
)


def _misread(env_file: Path | None) -> list[Text]:
    try:
        lines = _lines(env_file)
    except UnicodeDecodeError:
        return [filled(_UNREADABLE, file=str(env_file), why=_NOT_TEXT)]
    except OSError as error:
        return [filled(_UNREADABLE, file=str(env_file), why=os_reason(error))]
    return [filled(_NO_LINE, file=str(env_file), line=str(one.original.line)) for one in lines if one.error]


_WRONG = Text(en="{name} should be {what}; it is “{value}”.", ja="{name} に使える値: {what}（今の値:「{value}」）")
_WRONG_SECRET = Text(en="{name} should be {what}.", ja="{name} に使える値: {what}")
_ALSO = Text(
    en="{name} is not set, but {because} is: set both, or neither. It is found at: {where}",
    ja="{because} はありますが {name} がありません。両方を設定するか、どちらも消してください。取得場所: {where}",
)
_WAY_IN = Text(
    en="SLACK_APP_TOKEN is not set, but SLACK_BOT_TOKEN is: set both, or neither. It is found at: {app}. For events "
    "over HTTP instead of Socket Mode set SLACK_SIGNING_SECRET, found at: {secret}.",
    ja="SLACK_BOT_TOKEN はありますが SLACK_APP_TOKEN がありません。両方を設定するか、どちらも消してください。"
    "取得場所: {app}。Socket Mode を使わず HTTP でイベントを受け取る場合は、代わりに SLACK_SIGNING_SECRET を"
    "設定してください。取得場所: {secret}。",
)
_NEEDS = Text(
    en="{because} needs {name}, which is not set.", ja="{because} には {name} が必要ですが、設定されていません。"
)


def _blank(value: object) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _spoken(wishes: Any) -> Language:
    """POSIX: the first of LC_ALL, LC_MESSAGES and LANG that is set decides."""
    wish = next((wish for wish in wishes if wish and wish.strip()), "")
    return "ja" if wish.strip().lower().startswith("ja") else "en"


def _problem(name: str, value: object) -> Text:
    field = next(field for field in Settings.model_fields.values() if field.alias == name)
    wants = _wants(field.annotation, field.metadata)
    if wants.secret or value is None:
        return filled(_WRONG_SECRET, name=name, what=wants.what)
    given = Redactor()(str(value))
    return filled(_WRONG, name=name, what=wants.what, value=given if len(given) <= 200 else f"{given[:199]}…")


def _wants(annotation: Any, metadata: list[Any]) -> Wants:
    """The `Wants` beside a field's type, or beside the type inside its `| None`."""
    inside = [note for kind in getattr(annotation, "__args__", ()) for note in getattr(kind, "__metadata__", ())]
    return next((note for note in [*metadata, *inside] if isinstance(note, Wants)), TEXT)


def _between(values: Mapping[str, Any]) -> list[Text]:
    """The faults of values together, and tokens of the wrong kind; on the raw text, so that it is always said."""
    names = ("SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "SLACK_SIGNING_SECRET", "DISCORD_TOKEN")
    bot, app, secret, discord = (_text(values, name) for name in names)
    problems = [
        problem
        for problem in (
            slack_bot_token(bot) if bot else None,
            slack_app_token(app) if app else None,
            slack_signing_secret(secret) if secret else None,
            discord_token(discord) if discord else None,
        )
        if problem
    ]
    if bot and not app and not secret:
        problems.append(filled(_WAY_IN, app=SLACK_APP_AT, secret=SLACK_SECRET_AT))
    if (app or secret) and not bot:
        because = "SLACK_APP_TOKEN" if app else "SLACK_SIGNING_SECRET"
        problems.append(filled(_ALSO, name="SLACK_BOT_TOKEN", because=because, where=SLACK_BOT_AT))
    for because in ("KOTAE_MODEL", "KOTAE_JUDGE_MODEL", "KOTAE_EMBEDDER"):
        chosen = _text(values, because)
        for provider, enough in _NEEDED_BY.items():
            if chosen.startswith(provider) and chosen != provider and not any(values.get(name) for name in enough):
                problems.append(filled(_NEEDS, because=f"{because}={chosen}", name=NEEDED_BY[provider]))
    if values.get("QDRANT_API_KEY") and not values.get("QDRANT_URL") and not values.get("QDRANT_HOST"):
        problems.append(filled(_NEEDS, because="QDRANT_API_KEY", name="QDRANT_URL"))
    if values.get("KOTAE_DATABASE_CA") and _text(values, "KOTAE_DATABASE_TLS").lower() != "verify":
        problems.append(filled(_NEEDS, because="KOTAE_DATABASE_CA", name="KOTAE_DATABASE_TLS=verify"))
    for name in ("DISCORD_API_URL", "DISCORD_GATEWAY_URL", "DISCORD_CDN_URL", "KOTAE_DISCORD_GUILDS"):
        if values.get(name) and not discord:
            problems.append(filled(_NEEDS, because=name, name="DISCORD_TOKEN"))
    if values.get("SLACK_API_URL") and not bot and not app and not secret:
        problems += [
            filled(_NEEDS, because="SLACK_API_URL", name=name) for name in ("SLACK_BOT_TOKEN", "SLACK_APP_TOKEN")
        ]
    return problems


def _text(values: Mapping[str, Any], name: str) -> str:
    value = values.get(name, "")
    return (value.get_secret_value() if isinstance(value, SecretStr) else str(value)).strip()
