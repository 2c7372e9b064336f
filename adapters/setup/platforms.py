"""`kotae setup`: what is asked for Slack, Discord and Gemini, and what each of them says to it at once.

Source: newcomer.md ("Habits worth having", rows 7, 9 and 12); product.md §5.
"""

from base64 import urlsafe_b64decode
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from adapters.discord.setup import check as discord
from adapters.setup.wizard import FAILED, UNCHECKED, USAGE, FlagValues, StopError, Terminal, Wizard, WizardQuestion
from adapters.slack.events import POSTED_TO
from adapters.slack.setup import app_creation
from adapters.slack.setup import check as slack
from bot.config.dotenv import EnvFileError, ProbeError, digest_channel, machine_timezone, problem
from bot.config.settings import ENV_FILE, Settings
from bot.config.tokens import (
    DISCORD_AT,
    GEMINI_AT,
    SLACK_APP_AT,
    SLACK_BOT_AT,
    SLACK_SECRET_AT,
    discord_token,
    gemini_key,
    slack_app_token,
    slack_bot_token,
    slack_signing_secret,
)
from bot.doctor.findings import warning
from bot.errors import SettingsError
from retrieval.i18n import Text, filled

What = Literal["slack", "discord", "gemini"]
WHATS: tuple[What, ...] = ("slack", "discord", "gemini")
EMBEDDER = "gemini:gemini-embedding-2"


def _setting(name: str) -> Callable[[str], Text | None]:
    return lambda value: problem(name, value)


BOT_TOKEN = WizardQuestion(
    "SLACK_BOT_TOKEN",
    "--bot-token",
    Text(en="Bot User OAuth Token (xoxb-)", ja="Bot User OAuth Token（xoxb-）"),
    slack_bot_token,
    SLACK_BOT_AT,
    secret=True,
)
APP_TOKEN = WizardQuestion(
    "SLACK_APP_TOKEN",
    "--app-token",
    Text(en="App-level token (xapp-)", ja="アプリレベルトークン（xapp-）"),
    slack_app_token,
    SLACK_APP_AT,
    secret=True,
)
SIGNING_SECRET = WizardQuestion(
    "SLACK_SIGNING_SECRET",
    "--signing-secret",
    Text(en="Signing secret", ja="Signing Secret"),
    slack_signing_secret,
    SLACK_SECRET_AT,
    secret=True,
)
DISCORD_TOKEN = WizardQuestion(
    "DISCORD_TOKEN",
    "--token",
    Text(en="The bot's token", ja="ボットのトークン"),
    discord_token,
    DISCORD_AT,
    secret=True,
)
KEY = WizardQuestion(
    "GEMINI_API_KEY", "--key", Text(en="Gemini API key", ja="Gemini の API キー"), gemini_key, GEMINI_AT, secret=True
)
GUILDS = WizardQuestion(
    "KOTAE_DISCORD_GUILDS",
    "--guilds",
    Text(
        en="Servers whose members are the team (ids, with commas between)",
        ja="メンバーをチームとして扱うサーバー（ID をコンマ区切りで）",
    ),
    _setting("KOTAE_DISCORD_GUILDS"),
)
DIGEST_CHANNEL = WizardQuestion(
    "KOTAE_DIGEST_CHANNEL",
    "--digest-channel",
    Text(
        en="Channel for the weekly digest of unanswered questions (its name or id; empty: none)",
        ja="答えられなかった質問の週次ダイジェストを投稿するチャンネル（名前か ID。空欄なら投稿しません）",
    ),
    _setting("KOTAE_DIGEST_CHANNEL"),
)
TIMEZONE = WizardQuestion(
    "KOTAE_TIMEZONE", "--timezone", Text(en="Time zone", ja="タイムゾーン"), _setting("KOTAE_TIMEZONE")
)
LANGUAGE = WizardQuestion(
    "KOTAE_LANGUAGE",
    "--language",
    Text(en="Language of the interface (ja, en)", ja="画面の言語（ja、en）"),
    _setting("KOTAE_LANGUAGE"),
)
QUESTIONS: Mapping[What, tuple[WizardQuestion, ...]] = {
    "slack": (BOT_TOKEN, APP_TOKEN, DIGEST_CHANNEL, TIMEZONE, LANGUAGE),
    "discord": (DISCORD_TOKEN, GUILDS, DIGEST_CHANNEL, TIMEZONE, LANGUAGE),
    "gemini": (KEY,),
}

_SLACK_OVER_HTTP = (BOT_TOKEN, SIGNING_SECRET, *QUESTIONS["slack"][2:])

# -- words -----------------------------------------------------------------------------------------------------------

_WHICH = Text(en="What should be set up? (slack, discord, gemini)", ja="何を設定しますか？（slack、discord、gemini）")
_NAME_ONE = Text(
    en="Name what to set up: kotae setup slack, kotae setup discord or kotae setup gemini.",
    ja="何を設定するか指定してください: kotae setup slack、kotae setup discord、kotae setup gemini",
)
_NOT_FOR = Text(en="{flag} is not for kotae setup {what}.", ja="{flag} は kotae setup {what} では使えません。")
_NO_ADDRESS = Text(
    en="--http should be the address at which Slack reaches kotae run, such as https://kotae.example.com.",
    ja="--http には、Slack から kotae run に届くアドレスを指定してください（例: https://kotae.example.com）。",
)
_SOCKET_FIRST = warning(
    Text(
        en="SLACK_APP_TOKEN is set too, and then events come over Socket Mode.",
        ja="SLACK_APP_TOKEN も設定されているため、イベントは Socket Mode で受け取られます。",
    ),
    Text(en="Take SLACK_APP_TOKEN out.", ja="SLACK_APP_TOKEN を外してください。"),
)
_SLACK_THEN = Text(
    en="""In Slack:
  1. In the channel where people ask:  /invite @{name}
  2. Ask something:  @{name} What do you know?""",
    ja="""Slack で:
  1. 質問を受け付けるチャンネルで:  /invite @{name}
  2. 質問してみる:  @{name} 何を知っていますか？""",
)
_WAIT = Text(
    en="Wait for the first mention now, to see that it arrives? (y, n)",
    ja="最初のメンションが届くか、今ここで待って確かめますか？（y、n）",
)
_WAITING = Text(
    en="Invite @{name} to a channel and mention it there; waiting for up to {minutes} minutes (Ctrl-C ends it) …",
    ja="@{name} をチャンネルに招待してメンションしてください。最大 {minutes} 分待ちます（Ctrl-C で終了）…",
)
_DISCORD_STEPS = Text(
    en="""1. https://discord.com/developers/applications → New Application.
2. “Bot” → Reset Token. Copy the token.
3. On the same page, if Kotae should read the rest of a thread: Message Content Intent.""",
    ja="""1. https://discord.com/developers/applications → New Application
2. 「Bot」→「Reset Token」を押し、トークンをコピーしてください。
3. スレッドのほかの発言も読ませる場合は、同じページで「Message Content Intent」を有効にしてください。""",
)
_INVITE = Text(en="Invite the bot to your server: {url}", ja="次の URL からボットをサーバーに招待してください: {url}")
_ITS_GUILDS = Text(en="It is in: {guilds}", ja="参加しているサーバー: {guilds}")
_GEMINI_STEPS = Text(
    en="Make a key: https://aistudio.google.com/apikey → Create API key.",
    ja="キーを作成してください: https://aistudio.google.com/apikey →「API キーを作成」",
)
_LEAVES = Text(
    en="With Gemini as the model, Google is sent each question, what was said before it in the thread, and the passages"
    " found for it.",
    ja="モデルに Gemini を使うと、質問、同じスレッドのそれまでのやり取り、見つかった文書の抜粋が Google に送られます。",
)
_STAYS = Text(en="Search itself stays on this machine.", ja="検索そのものはこのマシンの中で行います。")
_EMBEDDINGS = Text(
    en="Search by Gemini's embeddings too? It finds more of what is asked in other words, in both languages; the text "
    "of every document is then sent to Google, and each search's words. (y, n)",
    ja="検索にも Gemini の埋め込みを使いますか？ 言い回しの違う質問や日英をまたぐ質問に強くなりますが、"
    "すべての文書の本文と検索語が Google に送られます。（y、n）",
)
_EMBEDS = Text(
    en="Search uses {embedder}: the text of every document and each search's words are sent to Google.",
    ja="検索に {embedder} を使います。すべての文書の本文と検索語が Google に送られます。",
)
_REINDEX = Text(
    en="{count} document{count:|s} {count:is|are} indexed with another embedder: stop Kotae if it runs, then kotae "
    "reindex. Until then it does not start.",
    ja="登録済みの {count} 件の文書は別の埋め込みモデルでインデックスされています。Kotae を止めてから kotae reindex を"
    "実行してください。実行するまで起動できません。",
)
_OTHER_MODEL = Text(
    en="KOTAE_MODEL={model} stays as it is; take it out of .env to answer with Gemini.",
    ja="KOTAE_MODEL={model} はそのままです。Gemini で回答するには .env から外してください。",
)


async def set_up(
    what: str | None, given: FlagValues, terminal: Terminal, environ: Mapping[str, str], env_file: Path = ENV_FILE
) -> int:
    """The exit status: 0, 1 when a platform refuses or something is left to be put right, 2 for wrong usage."""
    try:
        if not what and terminal.read and not given.yes:
            what = terminal.read(f"{_WHICH.to(terminal.language)} [slack]", False).strip() or "slack"
        chosen = next((name for name in WHATS if name == (what or "").strip().lower()), None)
        if chosen is None:
            raise StopError(USAGE, _NAME_ONE)
        questions = _SLACK_OVER_HTTP if chosen == "slack" and given.http is not None else QUESTIONS[chosen]
        known = {each.name: each.flag for all_of in (*QUESTIONS.values(), _SLACK_OVER_HTTP) for each in all_of}
        fitting = {question.name for question in questions}
        flags = [known[name] for name in given.values if name not in fitting]
        flags += ["--manifest"] if given.manifest and chosen != "slack" else []
        flags += ["--embeddings"] if given.embeddings is not None and chosen != "gemini" else []
        flags += ["--http"] if given.http is not None and chosen != "slack" else []
        strange = [filled(_NOT_FOR, flag=flag, what=chosen) for flag in flags]
        if strange:
            raise StopError(USAGE, *strange)
        wizard = Wizard(questions, terminal, given, environ, env_file)
        match chosen:
            case "slack":
                return await _slack(wizard, environ, env_file)
            case "discord":
                return await _discord(wizard, environ)
            case "gemini":
                return await _gemini(wizard)
    except StopError as stop:
        terminal.complain(*stop.lines)
        return stop.status
    except EnvFileError as error:
        terminal.complain(error.said)
        return FAILED


async def _slack(wizard: Wizard, environ: Mapping[str, str], env_file: Path) -> int:
    terminal, api_url = wizard.terminal, wizard.now.get("SLACK_API_URL")
    made = any(BOT_TOKEN.name in known for known in (wizard.now, wizard.given.values))
    address = None if wizard.given.http is None else _posted_to(wizard.given.http)
    target, folder = wizard.given.manifest, env_file.parent
    wizard.begin(app_creation.steps(wizard, made=made, target=target, folder=folder, address=address))
    bot: slack.SlackBot | None = None

    async def whose(token: str) -> None:
        nonlocal bot
        bot = await slack.identify(token, api_url)
        terminal.show([slack.connected(bot), *slack.scopes(bot)])

    async def connects(token: str) -> None:
        await slack.connects(token, api_url)
        terminal.show([slack.SOCKET_IS_ON])

    async def postable(value: str) -> None:
        channel = digest_channel(value, "slack", alone=DISCORD_TOKEN.name not in wizard.now)
        if bot and channel is not None:
            terminal.show(await slack.digest(slack.web_client(bot_token, api_url), bot, channel))

    bot_token = await wizard.answer(BOT_TOKEN, whose)
    app_token = None
    if address is None:
        app_token = await wizard.answer(APP_TOKEN, connects)
    else:
        await wizard.answer(SIGNING_SECRET)
    await wizard.answer(DIGEST_CHANNEL, postable)
    await _common(wizard, environ)
    wizard.save()
    if address is not None and APP_TOKEN.name in wizard.then:
        terminal.show([_SOCKET_FIRST])
    if bot:
        client = slack.web_client(bot_token, api_url)
        of_tokens = [] if app_token is None else await slack.same_app(client, bot, app_token)
        terminal.show([*of_tokens, *await slack.membership(client, bot)])
    if bot and app_token is not None and _shall_wait(wizard):
        from adapters.slack.setup.first_mention import WAIT_SECONDS, first_mention

        terminal.say(filled(_WAITING, name=bot.name, minutes=f"{WAIT_SECONDS / 60:.0f}"))
        terminal.show(await first_mention(bot, bot_token, app_token, api_url, terminal.language))
    else:
        terminal.say(filled(_SLACK_THEN, name=bot.name if bot else "kotae"))
    return wizard.end("kotae run")


def _posted_to(address: str) -> str:
    """The address that events are posted to. Raises StopError."""
    parts = urlsplit(address.strip())
    if parts.scheme != "https" or not parts.hostname or parts.query or parts.fragment:
        raise StopError(USAGE, _NO_ADDRESS)
    return address.strip().rstrip("/").removesuffix(POSTED_TO) + POSTED_TO


def _shall_wait(wizard: Wizard) -> bool:
    if wizard.given.wait is not None:
        return wizard.given.wait
    return wizard.asks and wizard.agrees(_WAIT, True)


async def _discord(wizard: Wizard, environ: Mapping[str, str]) -> int:
    terminal, api_url = wizard.terminal, wizard.now.get("DISCORD_API_URL")
    wizard.begin(_DISCORD_STEPS)
    bot: discord.DiscordBot | None = None

    async def whose(token: str) -> None:
        nonlocal bot
        bot = await discord.identify(token, api_url)
        terminal.show([discord.connected(bot), *discord.intents(bot)])

    async def postable(value: str) -> None:
        channel = digest_channel(value, "discord", alone=BOT_TOKEN.name not in wizard.now)
        if bot and channel is not None:
            guilds = [each.strip() for each in wizard.then.get(GUILDS.name, "").split(",") if each.strip()]
            terminal.show(await discord.digest(token, api_url, bot, channel, guilds))

    token = await wizard.answer(DISCORD_TOKEN, whose)
    application = bot.application if bot else _application(token)
    if application:
        terminal.say(filled(_INVITE, url=discord.invite(application)))
    if bot and len(bot.guilds) > 1 and wizard.asks:
        terminal.say(filled(_ITS_GUILDS, guilds=", ".join(guild.shown for guild in bot.guilds)))
        await wizard.answer(GUILDS)
    elif GUILDS.name in wizard.given.values:
        await wizard.answer(GUILDS)
    await wizard.answer(DIGEST_CHANNEL, postable)
    await _common(wizard, environ)
    wizard.save()
    if bot:
        chosen = wizard.then.get(GUILDS.name, "")
        guilds = [part.strip() for part in chosen.split(",") if part.strip()]
        terminal.show(discord.team(bot, guilds, await _known_team(wizard)))
    return wizard.end("kotae run")


def _application(token: str) -> str:
    """The application's id, which a bot's token begins with; empty where it does not."""
    first = token.partition(".")[0]
    with suppress(ValueError):
        found = urlsafe_b64decode(first + "=" * (-len(first) % 4)).decode("ascii")
        return found if found.isdigit() else ""
    return ""


async def _common(wizard: Wizard, environ: Mapping[str, str]) -> None:
    await wizard.answer(TIMEZONE, default=machine_timezone(environ))
    await wizard.answer(LANGUAGE, default=wizard.terminal.language)


async def _gemini(wizard: Wizard) -> int:
    wizard.begin(_GEMINI_STEPS)
    model = wizard.now.get("KOTAE_MODEL", "")
    other = bool(model) and not model.startswith("gemini:")

    async def replies(key: str) -> None:
        from bot.doctor.services import KEYS  # it loads the models
        from bot.doctor.services import model as probe

        chosen = {} if other or not model else {"KOTAE_MODEL": model}
        remarks = await probe(Settings.model_validate({**_near(wizard), **chosen, KEY.name: key}))
        for remark in remarks:
            if remark.level == "fault":
                raise ProbeError(remark, token=remark.todo is KEYS["gemini"])
        wizard.terminal.show(remarks)

    key = await wizard.answer(KEY, replies)
    wizard.terminal.say(_LEAVES)
    before = wizard.now.get("KOTAE_EMBEDDER", "local")
    if before.startswith("gemini:"):
        wizard.terminal.say(filled(_EMBEDS, embedder=before))
    elif _shall_embed(wizard):
        await _embed(wizard, key)
    elif not before.startswith("openai:"):
        wizard.terminal.say(_STAYS)
    wizard.save()
    if other:
        wizard.terminal.say(filled(_OTHER_MODEL, model=model))
    if "KOTAE_EMBEDDER" in wizard.changes and (count := await _indexed(wizard)):
        wizard.terminal.say(filled(_REINDEX, count=count))
        return wizard.end("kotae reindex")
    platform = any(name in wizard.now for name in (BOT_TOKEN.name, DISCORD_TOKEN.name))
    return wizard.end("kotae run" if platform else "kotae chat")


def _shall_embed(wizard: Wizard) -> bool:
    if wizard.given.embeddings is not None:
        return wizard.given.embeddings
    return wizard.asks and wizard.agrees(_EMBEDDINGS, False)


async def _embed(wizard: Wizard, key: str) -> None:
    """Choose Gemini's embedder, once it has embedded something. Raises StopError."""
    from bot.doctor.services import embedder as probe

    chosen = {"KOTAE_EMBEDDER": EMBEDDER}
    if wizard.given.check:
        remarks = await probe(Settings.model_validate({**_near(wizard), **chosen, KEY.name: key}))
        wizard.terminal.show(remarks)
        if any(remark.level == "fault" for remark in remarks):
            raise StopError(FAILED, UNCHECKED)
    wizard.changes |= chosen
    wizard.terminal.say(filled(_EMBEDS, embedder=EMBEDDER))


def _near(wizard: Wizard) -> dict[str, str]:
    """The host where Gemini is asked."""
    return {name: wizard.now[name] for name in ("GEMINI_BASE_URL", "GEMINI_API_VERSION") if name in wizard.now}


async def _known_team(wizard: Wizard) -> str | None:
    from bot.doctor.data import team

    try:
        return await team(Settings.model_validate(wizard.then))
    except SettingsError:  # said by whatever starts next
        return None


async def _indexed(wizard: Wizard) -> int:
    """How many documents are there already."""
    from bot.doctor.data import indexed

    try:
        return await indexed(Settings.model_validate(wizard.then))
    except SettingsError:  # said by whatever starts next
        return 0
