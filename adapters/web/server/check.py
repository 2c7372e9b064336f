"""The check of `kotae doctor` on the address of the pages and the HTTP API: where it cannot be taken, `kotae run` does
not start."""

from collections.abc import Sequence

from adapters.web.server.sockets import listen
from bot.config.settings import Settings
from bot.doctor.data import owned
from bot.doctor.findings import Check, Remark, Subject, aside, fault, fine, warning
from bot.errors import SettingsError
from retrieval.i18n import Text, filled

_PATIENCE_SECONDS = 5.0

WEB = Subject("web", Text(en="Browser and API", ja="ブラウザーと API"))

_SERVED = Text(
    en="Kotae is running on this home; it printed its address when it started.",
    ja="Kotae が起動中です。アドレスは起動時の表示を確認してください。",
)
_FREE = Text(en="kotae run can listen at {url}.", ja="kotae run は {url} で待ち受けできます。")
_FIRST = Text(
    en="As it is, kotae run does not start. Correct it in .env, then run kotae doctor again.",
    ja="このままでは kotae run を起動できません。.env を直してから、もう一度 kotae doctor を実行してください。",
)
_REACHED = Text(en="People reach it at {url}.", ja="{url} で利用できます。")
_UNREACHED = Text(
    en="KOTAE_WEB_URL={url} does not lead to it from this machine: {why}.",
    ja="このマシンからは KOTAE_WEB_URL={url} で接続できません: {why}",
)
_PASSED_ON = Text(
    en="Look whether the name, the certificate and the proxy are right; docs/deploy.md says what a proxy has to let "
    "through. Nothing is wrong where this machine alone does not reach that address.",
    ja="ドメイン名、証明書、プロキシの設定を確認してください。プロキシに必要な設定は docs/deploy.ja.md にあります。"
    "このマシンからだけ接続できない構成なら、問題ありません。",
)


async def look(settings: Settings) -> Sequence[Remark]:
    if not await aside(lambda: owned(settings.home)):
        return await aside(lambda: [_free(settings)])
    return [fine(_SERVED), *([await _reached(settings.web_url)] if settings.web_url else [])]


async def _reached(url: str) -> Remark:
    import httpx

    try:
        async with httpx.AsyncClient(timeout=_PATIENCE_SECONDS) as client:
            found = await client.get(f"{url}/healthz")
            if found.status_code == 200 and found.json() == {"status": "ok"}:
                return fine(filled(_REACHED, url=url))
            why = f"HTTP {found.status_code}"
    except (httpx.HTTPError, ValueError) as error:  # of what is no JSON
        why = str(error) or type(error).__name__
    return warning(filled(_UNREACHED, url=url, why=why), _PASSED_ON)


def _free(settings: Settings) -> Remark:
    try:
        address = listen(settings.web_host, settings.web_port, token=settings.web_token, front=settings.web_url)
    except SettingsError as error:
        return fault(error.problems[0], _FIRST)
    url = address.url
    for one in address.sockets:
        one.close()
    return fine(filled(_FREE, url=url))


CHECKS = (Check(WEB, look),)
