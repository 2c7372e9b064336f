"""How the app is made in Slack: its page is opened where there is a browser; elsewhere, since a terminal breaks so long
a link, the manifest is offered as a file to paste. Source: newcomer.md row 12; docs.slack.dev/app-manifests."""

from pathlib import Path

from adapters.setup.wizard import FAILED, StopError, Wizard
from adapters.slack.setup import manifest
from retrieval.i18n import Text, filled, os_reason

FILE = "slack-manifest.json"  # beside .env

_OPENED = Text(
    en="""1. A page has opened in your browser: choose your workspace and press Create; everything is filled in.
   If none has, kotae setup slack --no-browser shows its link.
   {paste}""",
    ja="""1. ブラウザーで開いたページでワークスペースを選び、「Create」を押してください（内容は入力済みです）。
   開かなかったときは、kotae setup slack --no-browser でリンクを表示できます。
   {paste}""",
)
_LINK = Text(
    en="""1. Open this link, choose your workspace and press Create; everything is filled in:
{link}
   {paste}""",
    ja="""1. 次のリンクを開き、ワークスペースを選んで「Create」を押してください（内容は入力済みです）:
{link}
   {paste}""",
)
_LABEL = Text(en="make the Slack app", ja="Slack アプリを作成")
_PASTE = Text(
    en="Or: https://api.slack.com/apps → Create New App → From a manifest, and paste what is in {file}.",
    ja="または https://api.slack.com/apps → Create New App → From a manifest で、{file} の内容を貼り付けてください。",
)
_WRITES = Text(
    en="(kotae setup slack --manifest FILE writes the manifest to a file, to paste it instead.)",
    ja="（kotae setup slack --manifest ファイル名 を実行すると、貼り付け用のマニフェストを書き出せます。）",
)
_TOKENS = Text(
    en="""
2. “Install App” → Install. Copy the “Bot User OAuth Token” (xoxb-).
3. On the app's first page: App-Level Tokens → Generate, with the scope connections:write. Copy it (xapp-).""",
    ja="""
2. 「Install App」からインストールし、「Bot User OAuth Token」（xoxb-）をコピーしてください。
3. アプリの最初のページの「App-Level Tokens」でスコープ connections:write を付けて作成し、
   コピーしてください（xapp-）。""",
)
_HTTP_TOKENS = Text(
    en="""
2. “Install App” → Install. Copy the “Bot User OAuth Token” (xoxb-).
3. On the app's first page: Signing Secret → Show. Copy it.
4. Once kotae run runs and {address} leads to it:
   “Event Subscriptions” → Request URL → Retry, until it says Verified.""",
    ja="""
2. 「Install App」からインストールし、「Bot User OAuth Token」（xoxb-）をコピーしてください。
3. アプリの最初のページの「Signing Secret」で「Show」を押し、コピーしてください。
4. kotae run を起動し、{address} から届くようにしてから、
   「Event Subscriptions」の Request URL で「Retry」を押し、「Verified」になることを確かめてください。""",
)
_SHALL_WRITE = Text(
    en="Write the app's manifest to {file}, to paste it where the link cannot be followed? (y, n)",
    ja="リンクを開けない場合に貼り付けられるよう、アプリのマニフェストを {file} に書き出しますか？（y、n）",
)
_REPLACE = Text(
    en="{file} is there already and holds something else. Replace it? (y, n)",
    ja="{file} はすでにあり、内容が異なります。置き換えますか？（y、n）",
)
_THERE = Text(
    en="{file} is there already and holds something else. It was left as it is; name another file.",
    ja="{file} はすでにあり、内容が異なるため、そのままにしました。別のファイル名を指定してください。",
)
_UNWRITABLE = Text(en="{file} cannot be written: {why}.", ja="{file} に書き込めません: {why}。")


def steps(wizard: Wizard, *, made: bool, target: Path | None, folder: Path, address: str | None) -> Text:
    """The steps to take in Slack, with the page opened or the manifest written where somebody is there who wants it.

    `made`: there is an app already. `target`: where the manifest was asked for by a flag. `address`: where Slack posts
    events; None: Socket Mode. Raises StopError when it cannot be written there."""
    terminal = wizard.terminal
    url, made_of = manifest.link(address), manifest.text(address)
    opened = wizard.asks and not made and terminal.open is not None and terminal.open(url)
    written = None
    if target is not None:
        written = _written(wizard, target, made_of)
        if written is None:
            raise StopError(FAILED, filled(_THERE, file=str(target)))
    elif wizard.asks and not made and not opened and wizard.agrees(filled(_SHALL_WRITE, file=str(folder / FILE)), True):
        written = _written(wizard, folder / FILE, made_of)
    paste = filled(_PASTE, file=str(written)) if written else _WRITES
    link = terminal.link(url, _LABEL)
    first = filled(_OPENED, paste=paste) if opened else filled(_LINK, link=link, paste=paste)
    rest = _TOKENS if address is None else filled(_HTTP_TOKENS, address=address)
    return Text(en=first.en + rest.en, ja=first.ja + rest.ja)


def _written(wizard: Wizard, file: Path, text: str) -> Path | None:
    """The file, once the manifest is in it; None: something else is, and stays. Raises StopError."""
    try:
        other = file.exists() and file.read_text(encoding="utf-8", errors="replace") != text
        if other and not (wizard.asks and wizard.agrees(filled(_REPLACE, file=str(file)), False)):
            return None
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StopError(FAILED, filled(_UNWRITABLE, file=str(file), why=os_reason(error))) from None
    return file
