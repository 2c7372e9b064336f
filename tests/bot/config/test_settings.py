"""Settings: defaults, every problem in one run, tokens of the wrong kind, and no secret in any message."""

import os
import re
import traceback
import zoneinfo
from datetime import UTC
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from pydantic import SecretStr

from bot.config.dotenv import current
from bot.config.settings import Settings, interface_language, load, make_home
from bot.errors import SettingsError

BOT = "xoxb-1111111111-CANARYCANARY"
APP = "xapp-1-A11111111-CANARYCANARY"
SECRET = "0123456789abcdef" * 2
DISCORD = "MTE4NzY1NDMyMTA5ODc2NTQzMg.GCANAR.CANARYCANARYCANARYCANARYCANARYCANARY00"
CLIENT_SECRET = "CANARYCANARYCANARYCANARYCANARY00"
CERTIFICATE = Path(__file__).parents[2] / "files" / "certificate.pem"
EXAMPLE = Path(__file__).parents[3] / ".env.example"


@pytest.fixture(autouse=True)
def empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        monkeypatch.delenv(name)


@pytest.fixture
def dotenv(tmp_path: Path) -> Path:
    return tmp_path / ".env"


def made(dotenv: Path, **values: str) -> Settings:
    dotenv.write_text("".join(f"{name}='{value}'\n" for name, value in values.items()), encoding="utf-8")
    return load(dotenv)


def problems(dotenv: Path, **values: str) -> list[str]:
    with pytest.raises(SettingsError) as wrong:
        made(dotenv, **values)
    everything = "".join(traceback.format_exception(wrong.value)) + repr(wrong.value)
    for value in values.values():
        if "CANARY" in value:
            assert value not in everything
    assert "CANARY" not in everything + wrong.value.text("en") + wrong.value.text("ja")
    assert len(wrong.value.text("ja").splitlines()) == len(wrong.value.problems)
    return wrong.value.text("en").splitlines()


def test_nothing_set_is_fine() -> None:
    settings = load(None)
    assert settings.home == Path(".kotae")
    assert settings.model_id == "extractive"
    assert settings.database_url == "sqlite+aiosqlite:///.kotae/kotae.db"
    assert settings.qdrant_url is None
    assert settings.platforms == ()
    assert settings.web_port == 8080
    assert settings.language == "en"
    assert settings.timezone is UTC
    assert settings.log_level is None
    assert settings.chat_log == Path(".kotae/logs/agent_chat.log")


ONE: dict[str, tuple[str, object]] = {  # a value of each setting, and what it becomes; numbers where a text may be one
    "KOTAE_HOME": ("2024", Path("2024")),
    "KOTAE_MODEL": ("extractive", "extractive"),
    "KOTAE_JUDGE_MODEL": ("openai:8", "openai:8"),
    "KOTAE_THINKING": ("low", "low"),
    "GEMINI_API_KEY": ("12345678", "12345678"),
    "GEMINI_BASE_URL": ("http://h", "http://h"),
    "GEMINI_API_VERSION": ("1", "1"),
    "OPENAI_API_KEY": ("12345678", "12345678"),
    "OPENAI_BASE_URL": ("http://h/v1", "http://h/v1"),
    "KOTAE_EMBEDDER": ("local", "local"),
    "KOTAE_RERANKER": ("fastembed:/models/8", "fastembed:/models/8"),
    "KOTAE_EMBEDDING_DIM": ("384", 384),
    "QDRANT_URL": ("http://h:6333", "http://h:6333"),
    "QDRANT_HOST": ("10", "10"),
    "QDRANT_PORT": ("6334", 6334),
    "QDRANT_API_KEY": ("12345678", "12345678"),
    "KOTAE_QDRANT_PREFIX": ("2024", "2024"),
    "KOTAE_QDRANT_SHARDS": ("2", 2),
    "KOTAE_QDRANT_REPLICAS": ("2", 2),
    "KOTAE_QDRANT_WRITE_CONSISTENCY": ("2", 2),
    "DATABASE_URL": ("sqlite:///2024", "sqlite+aiosqlite:///2024"),
    "KOTAE_DATABASE_CONNECTIONS": ("30", 30),
    "KOTAE_DATABASE_CONNECT_TIMEOUT": ("3", 3),
    "KOTAE_DATABASE_STATEMENT_TIMEOUT": ("5", 5),
    "KOTAE_DATABASE_TLS": ("verify", "verify"),
    "KOTAE_DATABASE_CA": (str(CERTIFICATE), CERTIFICATE),
    "SLACK_BOT_TOKEN": (BOT, BOT),
    "SLACK_APP_TOKEN": (APP, APP),
    "SLACK_SIGNING_SECRET": ("01234567890123456789012345678901", "01234567890123456789012345678901"),
    "SLACK_API_URL": ("http://h/api/", "http://h/api/"),
    "DISCORD_TOKEN": (DISCORD, DISCORD),
    "DISCORD_API_URL": ("http://h", "http://h"),
    "DISCORD_GATEWAY_URL": ("ws://h", "ws://h"),
    "DISCORD_CDN_URL": ("http://h", "http://h"),
    "KOTAE_DISCORD_GUILDS": ("1187654321098765432", ("1187654321098765432",)),
    "KOTAE_WEB_HOST": ("0", "0"),
    "KOTAE_WEB_URL": ("https://Kotae.example.com:443/", "https://kotae.example.com"),
    "KOTAE_WEB_PORT": ("8081", 8081),
    "PORT": ("8081", 8081),
    "KOTAE_DIGEST_CRON": ("0 9 * * 1", "0 9 * * 1"),
    "KOTAE_DIGEST_CHANNEL": ("1187654321098765432", "1187654321098765432"),
    "KOTAE_TIMEZONE": ("Asia/Tokyo", "Asia/Tokyo"),
    "KOTAE_DEFAULT_COLLECTION": ("2024", "2024"),
    "KOTAE_COLLECTIONS": ("2024", ("2024",)),
    "KOTAE_SEARCH_LIMIT": ("7", 7),
    "KOTAE_MIN_RELEVANCE": ("1", 1.0),
    "KOTAE_CONFIDENT": ("0", 0.0),
    "KOTAE_CHUNK_SIZE": ("1024", 1024),
    "KOTAE_FUSION": ("rrf", "rrf"),
    "KOTAE_MAX_TURNS": ("3", 3),
    "KOTAE_STRATEGY": ("synthesis", "synthesis"),
    "KOTAE_STEPS": ("off", "off"),
    "KOTAE_FALLBACK": ("general", "general"),
    "KOTAE_WEB_TOKEN": ("12345678", "12345678"),
    "KOTAE_KEEP_DAYS": ("30", 30),
    "KOTAE_CONCURRENCY": ("10", 10),
    "KOTAE_USER_PER_MINUTE": ("0", 0),
    "KOTAE_CHANNEL_PER_MINUTE": ("0", 0),
    "KOTAE_DAILY_CALLS": ("0", 0),
    "KOTAE_DAILY_TOKENS": ("0", 0),
    "KOTAE_EDITORS": ("2024", ("2024",)),
    "KOTAE_GIT_TOKENS": ("github.com=12345678", "github.com=12345678"),
    "KOTAE_PRIVATE_SOURCES": ("on", "on"),
    "KOTAE_LIVING": ("off", "off"),
    "KOTAE_LANGUAGE": ("ja", "ja"),
    "KOTAE_LOG_LEVEL": ("DEBUG", "DEBUG"),
    "LC_ALL": ("ja_JP.UTF-8", "ja_JP.UTF-8"),
    "LC_MESSAGES": ("ja", "ja"),
    "LANG": ("C", "C"),
}
BESIDE = {  # what a setting is nothing without
    "KOTAE_JUDGE_MODEL": ("OPENAI_BASE_URL",),
    "SLACK_BOT_TOKEN": ("SLACK_APP_TOKEN",),
    "SLACK_APP_TOKEN": ("SLACK_BOT_TOKEN",),
    "SLACK_SIGNING_SECRET": ("SLACK_BOT_TOKEN",),
    "SLACK_API_URL": ("SLACK_BOT_TOKEN", "SLACK_APP_TOKEN"),
    "QDRANT_API_KEY": ("QDRANT_URL",),
    "KOTAE_DATABASE_CA": ("KOTAE_DATABASE_TLS",),
    **dict.fromkeys(
        ("DISCORD_API_URL", "DISCORD_GATEWAY_URL", "DISCORD_CDN_URL", "KOTAE_DISCORD_GUILDS"), ("DISCORD_TOKEN",)
    ),
}
FIELDS = {str(field.alias): name for name, field in Settings.model_fields.items()}
LISTS = {"KOTAE_DISCORD_GUILDS": "1, 2,", "KOTAE_COLLECTIONS": "2024, 就業規則", "KOTAE_EDITORS": "slack:U1,discord:2"}


@pytest.mark.parametrize("place", ["environment", "file"])
@pytest.mark.parametrize("name", FIELDS)
def test_each_setting_may_have_one_value(dotenv: Path, monkeypatch: pytest.MonkeyPatch, name: str, place: str) -> None:
    meant = ONE[name][1]
    values = {each: ONE[each][0] for each in (name, *BESIDE.get(name, ()))}
    if place == "environment":
        for each, value in values.items():
            monkeypatch.setenv(each, value)
    else:
        dotenv.write_text("".join(f"{each}={value}\n" for each, value in values.items()), encoding="utf-8")
    found = getattr(load(dotenv), FIELDS[name])
    assert (found.get_secret_value() if isinstance(found, SecretStr) else found) == meant


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("value", ["null", "true", '"a"', "[]"])
def test_a_list_is_never_read_as_json(dotenv: Path, name: str, value: str) -> None:
    beside = {each: ONE[each][0] for each in BESIDE.get(name, ())}
    if name == "KOTAE_DISCORD_GUILDS":
        assert problems(dotenv, **beside, **{name: value})[0].startswith(f"{name} should be server (guild) ids")
    else:
        settings = made(dotenv, **{name: value})
        assert (settings.collections or settings.editors) == (value,)
    assert len(getattr(made(dotenv, **beside, **{name: LISTS[name]}), FIELDS[name])) == 2


def test_the_environment_comes_before_the_file(dotenv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KOTAE_SEARCH_LIMIT", "7")
    settings = made(dotenv, KOTAE_SEARCH_LIMIT="9", KOTAE_MAX_TURNS="3")
    assert (settings.search_limit, settings.max_turns) == (7, 3)


def test_empty_means_unset(dotenv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KOTAE_MODEL", "")
    monkeypatch.setenv("SLACK_BOT_TOKEN", "  ")
    settings = made(dotenv, GEMINI_API_KEY="", KOTAE_SEARCH_LIMIT="", DATABASE_URL="", KOTAE_LANGUAGE="")
    assert settings == load(None)


def test_the_file_may_be_from_windows(dotenv: Path) -> None:
    dotenv.write_bytes("\ufeffKOTAE_DEFAULT_COLLECTION=就業規則\r\nKOTAE_SEARCH_LIMIT=3\r\n".encode())
    settings = load(dotenv)
    assert (settings.default_collection, settings.search_limit) == ("就業規則", 3)


def test_what_the_file_cannot_say_is_said_before_anything_else(dotenv: Path, caplog: pytest.LogCaptureFixture) -> None:
    dotenv.write_text('# at home\nexport KOTAE_HOME = "CANARY\nKOTAE_LANGUAGE=ja\nset it up\nKOTAE_STEPS=some\n')
    with pytest.raises(SettingsError) as wrong:
        load(dotenv)
    assert [line.split(" should")[0] for line in wrong.value.text("en").splitlines()] == [
        f"Line {number} of {dotenv}" for number in (2, 4)
    ]
    assert "2 行目" in wrong.value.text("ja") and "CANARY" not in wrong.value.text("en")
    assert interface_language({}, dotenv) == "ja" and not caplog.records
    for other in ("KOTAE_HOME=資料".encode("cp932"), "KOTAE_HOME=x".encode("utf-16")):
        dotenv.write_bytes(other)
        with pytest.raises(SettingsError, match="UTF-8"):
            load(dotenv)
    dotenv.unlink()
    dotenv.mkdir()
    assert load(dotenv).home == Path(".kotae")


def test_the_judge_is_the_model_that_answers_and_thinking_its_providers(dotenv: Path) -> None:
    settings = made(dotenv, GEMINI_API_KEY="k")
    assert (settings.judge_id, settings.effort) == ("gemini:gemini-3.8-flash", None)
    other = made(dotenv, GEMINI_API_KEY="k", KOTAE_JUDGE_MODEL="gemini:gemini-3.5-flash-lite", KOTAE_THINKING="HIGH")
    assert (other.judge_id, other.effort) == ("gemini:gemini-3.5-flash-lite", "high")


def test_the_model_follows_the_key(dotenv: Path) -> None:
    assert made(dotenv, GEMINI_API_KEY="k").model_id == "gemini:gemini-3.8-flash"
    assert made(dotenv, GEMINI_API_KEY="k", KOTAE_MODEL="extractive").model_id == "extractive"
    assert made(dotenv, OPENAI_BASE_URL="http://h:1/v1", KOTAE_MODEL="openai:a/b:c").model_id == "openai:a/b:c"


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("sqlite:///data/x.db", "sqlite+aiosqlite:///data/x.db"),
        ("sqlite:////srv/x.db", "sqlite+aiosqlite:////srv/x.db"),
        ("sqlite+aiosqlite:///x.db", "sqlite+aiosqlite:///x.db"),
        ("postgres://u:p@h:5432/n", "postgresql+asyncpg://u:p@h:5432/n"),
        ("postgresql://h/n", "postgresql+asyncpg://h/n"),
        ("postgresql+psycopg2://h/n", "postgresql+asyncpg://h/n"),
        (
            "postgresql://u:p@a,b.example:5433/n",
            "postgresql+asyncpg://u:p@/n?host=a:5432&host=b.example:5433&target_session_attrs=read-write",
        ),
        (
            "postgresql://a:1,b:2/n?target_session_attrs=any&ssl=require",
            "postgresql+asyncpg:///n?host=a:1&host=b:2&target_session_attrs=any&ssl=require",
        ),
    ],
)
def test_a_database_address_gets_its_driver(dotenv: Path, given: str, url: str) -> None:
    assert made(dotenv, DATABASE_URL=given).database_url == url


@pytest.mark.parametrize(
    "given",
    [
        *("h:x/n", "a,b:x/n", "a,/n", "a,[::1]/n", "h/n?target_session_attrs=standby", "u:CANARY@a,b:x/n"),
        *("u:CAN@ARY@h/n", "u:CAN/ARY@h/n", "u:CAN#ARY@h/n"),  # passwords as they are
    ],
)
def test_a_database_address_that_is_none_is_a_sentence(dotenv: Path, given: str) -> None:
    with pytest.raises(SettingsError) as wrong:
        made(dotenv, DATABASE_URL=f"postgresql://{given}")
    assert "DATABASE_URL" in wrong.value.text("en") and "%2F" in wrong.value.text("ja")
    assert given not in wrong.value.text("ja") + repr(wrong.value)


@pytest.mark.parametrize(
    ("given", "secrets"),
    [
        ("u:CANARY%2F1@a,b/n", {"CANARY%2F1", "CANARY/1"}),
        ("h/n?user=u&password=CANARY%2F1", {"CANARY/1"}),
        ("u@h/n", set()),
    ],
)
def test_the_password_of_a_database_is_a_secret(dotenv: Path, given: str, secrets: set[str]) -> None:
    assert set(made(dotenv, DATABASE_URL=f"postgresql://{given}").secrets()) == secrets


def test_lists_and_places(dotenv: Path) -> None:
    settings = made(
        dotenv,
        KOTAE_DISCORD_GUILDS="11, 22,",
        DISCORD_TOKEN=DISCORD,
        KOTAE_EDITORS="U1,U2",
        KOTAE_COLLECTIONS="手引き, faq",
        QDRANT_HOST="qdrant",
        QDRANT_PORT="tcp://10.0.0.1:6334",
        KOTAE_TIMEZONE="Asia/Tokyo",
        KOTAE_LOG_LEVEL="debug",
        KOTAE_FUSION="RRF",
    )
    assert settings.discord is not None and settings.discord.guilds == ("11", "22")
    assert settings.editors == ("U1", "U2")
    assert settings.collections == ("手引き", "faq")
    assert settings.qdrant_url == "http://qdrant:6334"
    assert str(settings.timezone) == "Asia/Tokyo"
    assert (settings.log_level, settings.fusion) == ("DEBUG", "rrf")


def test_a_home_may_be_below_the_users(dotenv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/aki")
    assert made(dotenv, KOTAE_HOME="~/kotae").home == Path("/home/aki/kotae")
    assert problems(dotenv, KOTAE_HOME="~nobody-of-this-name/x")[0].startswith("KOTAE_HOME should be a folder")


def test_a_home_that_cannot_be_made_is_a_wrong_setting(tmp_path: Path) -> None:
    make_home(tmp_path / "deep" / "home")
    assert (tmp_path / "deep" / "home").stat().st_mode & 0o777 == 0o700
    with pytest.raises(SettingsError) as refused:
        make_home(tmp_path / ("x" * 300))
    assert "KOTAE_HOME" in refused.value.text("en") and "は作成できません" in refused.value.text("ja")


def test_the_port_of_the_web_pages(dotenv: Path) -> None:
    assert made(dotenv, PORT="5000").web_port == 5000
    assert made(dotenv, PORT="5000", KOTAE_WEB_PORT="0").web_port == 0
    assert made(dotenv, PORT="of another program", KOTAE_WEB_PORT="0").web_port == 0


@pytest.mark.parametrize(
    ("environ", "language"),
    [
        ({"LANG": "ja_JP.UTF-8"}, "ja"),
        ({"LANG": "ja_JP.UTF-8", "LC_ALL": "C"}, "en"),
        ({"LANG": "en_US.UTF-8", "LC_MESSAGES": "ja"}, "ja"),
        ({"LANG": "ja_JP.UTF-8", "LC_ALL": ""}, "ja"),
        ({"LANG": "en_US.UTF-8", "KOTAE_LANGUAGE": "ja"}, "ja"),
        ({"LANG": "ja_JP.UTF-8", "KOTAE_LANGUAGE": "EN"}, "en"),
        ({}, "en"),
    ],
)
def test_the_language_of_the_interface(environ: dict[str, str], language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert load(None).language == language
    assert interface_language(environ, None) == language


def test_a_name_in_a_value_of_the_file_stands_for_its_value_wherever_the_file_is_read(
    dotenv: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPOKEN", "ja")
    dotenv.write_text(
        "HERE=handbook\nKOTAE_DEFAULT_COLLECTION=${HERE}-2\nKOTAE_LANGUAGE='${SPOKEN}'\nGEMINI_API_KEY=${NONE:-k-1}\n"
    )
    settings = load(dotenv)
    assert settings.gemini_key is not None
    read = (settings.default_collection, settings.language, settings.gemini_key.get_secret_value())
    assert read == ("handbook-2", "ja", "k-1")
    assert interface_language(os.environ, dotenv) == "ja"
    found = current(os.environ, dotenv)
    assert tuple(found[name] for name in ("KOTAE_DEFAULT_COLLECTION", "KOTAE_LANGUAGE", "GEMINI_API_KEY")) == read


def test_the_language_is_known_when_the_settings_are_wrong(dotenv: Path) -> None:
    problems(dotenv, KOTAE_LANGUAGE="ja", KOTAE_SEARCH_LIMIT="x")
    assert interface_language({"LANG": "en_US"}, dotenv) == "ja"
    dotenv.write_bytes(b"\xff\xfe\x00KOTAE_LANGUAGE")
    assert interface_language({}, dotenv) == "en"


WRONG = {
    "KOTAE_MODEL": "gpt",
    "GEMINI_BASE_URL": "not-an-address",
    "OPENAI_BASE_URL": "ftp://h",
    "KOTAE_JUDGE_MODEL": "extractive",
    "KOTAE_THINKING": "hard",
    "KOTAE_EMBEDDER": "word2vec",
    "KOTAE_RERANKER": "BAAI/bge-reranker-base",
    "KOTAE_EMBEDDING_DIM": "1.5",
    "QDRANT_URL": "localhost:6333",
    "QDRANT_PORT": "65536",
    "DATABASE_URL": "mysql://u:CANARY@h/n",
    "KOTAE_DATABASE_CONNECTIONS": "7",
    "KOTAE_DATABASE_CONNECT_TIMEOUT": "soon",
    "KOTAE_DATABASE_STATEMENT_TIMEOUT": "0",
    "KOTAE_DATABASE_TLS": "on",
    "SLACK_API_URL": "slack",
    "DISCORD_GATEWAY_URL": "http://h",
    "KOTAE_DISCORD_GUILDS": "my server",
    "KOTAE_WEB_PORT": "http",
    "KOTAE_WEB_URL": "https://kotae.example.com/app/",
    "PORT": "-1",
    "KOTAE_DIGEST_CRON": "monday 9:00",
    "KOTAE_TIMEZONE": "Tokyo",
    "KOTAE_DEFAULT_COLLECTION": "faq,handbook",
    "KOTAE_SEARCH_LIMIT": "0",
    "KOTAE_MIN_RELEVANCE": "1.01",
    "KOTAE_CONFIDENT": "high",
    "KOTAE_CHUNK_SIZE": "4096",
    "KOTAE_FUSION": "sum",
    "KOTAE_MAX_TURNS": "many",
    "KOTAE_STRATEGY": "plan",
    "KOTAE_STEPS": "some",
    "KOTAE_FALLBACK": "on",
    "KOTAE_CONCURRENCY": "",
    "KOTAE_LANGUAGE": "fr",
    "KOTAE_LOG_LEVEL": "loud",
}


@pytest.mark.parametrize("name", [name for name, value in WRONG.items() if value])
def test_a_wrong_value_is_one_line_that_names_it(dotenv: Path, name: str) -> None:
    lines = problems(dotenv, DISCORD_TOKEN=DISCORD, SLACK_BOT_TOKEN=BOT, SLACK_APP_TOKEN=APP, **{name: WRONG[name]})
    assert len(lines) == 1 and lines[0].startswith(f"{name} should be ")
    japanese = ""
    with pytest.raises(SettingsError) as wrong:
        load(dotenv)
    japanese = wrong.value.text("ja")
    assert japanese.startswith(name) and " に使える値: " in japanese


def test_all_wrong_values_are_said_in_one_run(dotenv: Path) -> None:
    wrong = {name: value for name, value in WRONG.items() if value}
    named = {line.split(" ", 1)[0] for line in problems(dotenv, **wrong, SLACK_BOT_TOKEN=BOT)}
    assert named >= wrong.keys() - {"PORT"} | {"SLACK_APP_TOKEN"}  # KOTAE_WEB_PORT goes before PORT


@pytest.mark.parametrize("zone", ["../../etc/passwd", "/etc/localtime", "Asia", "Asia/Atlantis"])
def test_time_zones_that_are_none(dotenv: Path, zone: str) -> None:
    assert "KOTAE_TIMEZONE" in problems(dotenv, KOTAE_TIMEZONE=zone)[0]


def test_a_machine_without_time_zones_is_said_what_it_lacks(dotenv: Path) -> None:
    zoneinfo.reset_tzpath(())
    ZoneInfo.clear_cache()
    try:
        assert "tzdata" in problems(dotenv, KOTAE_TIMEZONE="Asia/Tokyo")[0]
    finally:
        zoneinfo.reset_tzpath()


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"SLACK_BOT_TOKEN": BOT}, ["SLACK_APP_TOKEN is not set", "App-Level Tokens"]),
        ({"SLACK_BOT_TOKEN": BOT}, ["SLACK_SIGNING_SECRET", "Signing Secret"]),
        ({"SLACK_APP_TOKEN": APP}, ["SLACK_BOT_TOKEN is not set", "OAuth & Permissions"]),
        ({"KOTAE_DATABASE_CA": str(CERTIFICATE)}, ["KOTAE_DATABASE_TLS=verify"]),
        ({"SLACK_SIGNING_SECRET": SECRET}, ["SLACK_BOT_TOKEN is not set, but SLACK_SIGNING_SECRET is"]),
        ({"SLACK_API_URL": "http://h/api/"}, ["SLACK_BOT_TOKEN", "SLACK_APP_TOKEN"]),
        ({"DISCORD_API_URL": "http://h"}, ["DISCORD_TOKEN"]),
        ({"KOTAE_DISCORD_GUILDS": "1"}, ["DISCORD_TOKEN"]),
        ({"KOTAE_MODEL": "gemini:gemini-3.8-flash"}, ["GEMINI_API_KEY"]),
        ({"KOTAE_MODEL": "openai:llama"}, ["OPENAI_API_KEY or OPENAI_BASE_URL"]),
        ({"KOTAE_EMBEDDER": "gemini:gemini-embedding-2"}, ["GEMINI_API_KEY"]),
        ({"KOTAE_JUDGE_MODEL": "openai:llama"}, ["KOTAE_JUDGE_MODEL=openai:llama needs OPENAI_API_KEY"]),
        ({"QDRANT_API_KEY": "CANARYKEY"}, ["QDRANT_URL"]),
    ],
)
def test_half_set_is_said(dotenv: Path, values: dict[str, str], expected: list[str]) -> None:
    said = "\n".join(problems(dotenv, **values))
    assert all(part in said for part in expected)


def test_an_app_token_means_socket_mode_and_a_signing_secret_alone_http(dotenv: Path) -> None:
    both = made(dotenv, SLACK_BOT_TOKEN=BOT, SLACK_APP_TOKEN=APP, SLACK_SIGNING_SECRET=SECRET).slack
    assert both is not None and both.app_token is not None and both.signing_secret is None
    alone = made(dotenv, SLACK_BOT_TOKEN=BOT, SLACK_SIGNING_SECRET=SECRET)
    assert alone.slack is not None and alone.slack.app_token is None and alone.platforms == ("Slack",)
    assert alone.slack.signing_secret is not None and SECRET in alone.secrets() and SECRET not in repr(alone)


def test_two_platforms_half_set_and_a_wrong_number_are_one_run(dotenv: Path) -> None:
    lines = problems(dotenv, SLACK_BOT_TOKEN=BOT, KOTAE_DISCORD_GUILDS="1", KOTAE_MAX_TURNS="0")
    assert {line.split()[0] for line in lines} == {"SLACK_APP_TOKEN", "KOTAE_DISCORD_GUILDS", "KOTAE_MAX_TURNS"}


@pytest.mark.parametrize(
    ("values", "kind", "wanted", "where"),
    [
        ({"SLACK_BOT_TOKEN": APP}, "an app-level token (xapp-)", "a bot token (xoxb-)", "OAuth & Permissions"),
        ({"SLACK_BOT_TOKEN": "xoxp-1-CANARY"}, "a user token (xoxp-)", "a bot token (xoxb-)", "OAuth & Permissions"),
        ({"SLACK_BOT_TOKEN": "xoxe-1-CANARY"}, "a refresh token", "a bot token", "OAuth & Permissions"),
        ({"SLACK_BOT_TOKEN": "CANARY"}, "something else", "a bot token", "OAuth & Permissions"),
        ({"SLACK_APP_TOKEN": BOT}, "a bot token (xoxb-)", "an app-level token (xapp-)", "App-Level Tokens"),
        ({"SLACK_APP_TOKEN": "0123456789abcdef" * 2}, "signing secret", "an app-level token", "App-Level Tokens"),
        ({"SLACK_SIGNING_SECRET": APP}, "an app-level token", "a signing secret", "Signing Secret, on the page"),
        ({"DISCORD_TOKEN": CLIENT_SECRET}, "a client secret", "the bot's token", "Reset Token"),
        ({"DISCORD_TOKEN": "118765432109876543"}, "an application or user id", "the bot's token", "Reset Token"),
        ({"DISCORD_TOKEN": f"Bot {DISCORD}"}, "a token with “Bot” before it", "the bot's token", "Reset Token"),
        ({"DISCORD_TOKEN": BOT}, "a Slack token", "the bot's token", "Reset Token"),
    ],
)
def test_a_token_of_another_kind_is_recognised(
    dotenv: Path, values: dict[str, str], kind: str, wanted: str, where: str
) -> None:
    line = next(line for line in problems(dotenv, **values) if line.startswith(f"{next(iter(values))} holds"))
    assert kind in line and wanted in line and where in line


def test_right_tokens_connect(dotenv: Path) -> None:
    settings = made(dotenv, SLACK_BOT_TOKEN=BOT, SLACK_APP_TOKEN=APP, DISCORD_TOKEN=DISCORD)
    assert settings.platforms == ("Slack", "Discord")
    assert settings.slack is not None and settings.slack.bot_token.get_secret_value() == BOT


def test_secrets_are_known_and_never_shown(dotenv: Path) -> None:
    settings = made(
        dotenv,
        SLACK_BOT_TOKEN=BOT,
        SLACK_APP_TOKEN=APP,
        DISCORD_TOKEN=DISCORD,
        GEMINI_API_KEY="gemini-CANARY",
        OPENAI_API_KEY="openai-CANARY",
        QDRANT_URL="http://u:url-CANARY@h",
        QDRANT_API_KEY="qdrant-CANARY",
        GEMINI_BASE_URL="http://u:url-CANARY@h",
        OPENAI_BASE_URL="http://u:url-CANARY@h",
        DATABASE_URL="postgresql://u:db-CANARY@h/n",
    )
    assert "CANARY" not in f"{settings!r} {settings} {settings.slack!r} {settings.discord!r}"
    assert set(settings.secrets()) == {
        BOT, APP, DISCORD, "gemini-CANARY", "openai-CANARY", "qdrant-CANARY", "url-CANARY", "db-CANARY",
    }  # fmt: skip


def test_the_example_names_every_setting_and_sets_none() -> None:
    lines = EXAMPLE.read_text(encoding="utf-8").splitlines()
    named = {match[1] for line in lines if (match := re.match(r"# ([A-Z_]+)=", line))}
    ours = {str(field.alias) for field in Settings.model_fields.values()} - {"LC_ALL", "LC_MESSAGES", "LANG"}
    assert named == ours
    assert all(line.startswith("#") or not line for line in lines)
    assert load(EXAMPLE) == load(None)


def test_the_example_explains_in_both_languages() -> None:
    _, *explained = re.split(r"\n\n+", EXAMPLE.read_text(encoding="utf-8").strip())
    for one in explained:
        told = [line for line in one.splitlines() if not re.match(r"# (?:-- |[A-Z_]+=)", line)]
        spoken = {"ja" if re.search("[ぁ-ヿ一-鿿]", line) else "en" for line in told}
        assert spoken == {"en", "ja"}, one


def test_the_example_is_right_when_uncommented(dotenv: Path) -> None:
    text = EXAMPLE.read_text(encoding="utf-8")
    dotenv.write_text(re.sub(r"^# ([A-Z_]+=)", r"\1", text, flags=re.MULTILINE), encoding="utf-8")
    settings = load(dotenv)
    assert settings.digest_cron == "0 9 * * mon"
    assert settings.platforms == ()
