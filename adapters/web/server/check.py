"""The check of `kotae doctor` on the address of the pages and the HTTP API: where it cannot be taken, `kotae run` does
not start."""

from collections.abc import Sequence

from adapters.web.server.sockets import listen
from bot.config.settings import Settings
from bot.doctor.data import owned
from bot.doctor.findings import Check, Remark, Subject, aside, fault, fine
from bot.errors import SettingsError
from retrieval.i18n import Text, filled

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


async def look(settings: Settings) -> Sequence[Remark]:
    return await aside(lambda: [_look(settings)])


def _look(settings: Settings) -> Remark:
    if owned(settings.home):
        return fine(_SERVED)
    try:
        address = listen(settings.web_host, settings.web_port, token=settings.web_token)
    except SettingsError as error:
        return fault(error.problems[0], _FIRST)
    url = address.url
    for one in address.sockets:
        one.close()
    return fine(filled(_FREE, url=url))


CHECKS = (Check(WEB, look),)
