"""The check of `kotae doctor` for more than one process on a database. Source: machines.md §2."""

from collections.abc import Sequence

from bot.config.settings import Settings
from bot.doctor.data import SERVER
from bot.doctor.findings import Check, Remark, Subject, fault, fine, warning
from bot.errors import StoreError
from bot.store.engine import opened
from bot.store.inspection import connections_given, file_of, server_condition
from bot.store.link import LEAST
from bot.store.processes import Processes
from retrieval.i18n import Text, filled

PROCESSES = Subject("processes", Text(en="Processes", ja="プロセス"))

_ALONE = Text(
    en="The search index is on this machine, so no other process may use the database.",
    ja="検索インデックスがこのマシンにあるため、ほかのプロセスはこのデータベースを使えません。",
)
_MANY = Text(
    en="For more than one set QDRANT_URL to a Qdrant server that all of them use; docs/deploy.md says more.",
    ja="複数のプロセスで使うには、共通の Qdrant サーバーを QDRANT_URL に設定してください"
    "（説明は docs/deploy.ja.md にあります）。",
)
_FEW = Text(
    en="The server gives {given} connections at most, and {count} process{count:|es} may take {wanted}: what comes when"
    " all are taken fails.",
    ja="サーバーが許可する接続は最大 {given} ですが、{count} 件のプロセスで最大 {wanted} 使います。"
    "上限に達している間の処理は失敗します。",
)
_MORE = Text(
    en="Let the server give more (max_connections, or the CONNECTION LIMIT of the role or the database), or set"
    " KOTAE_DATABASE_CONNECTIONS lower ({least} at least).",
    ja="サーバーの上限（max_connections、またはロールかデータベースの CONNECTION LIMIT）を上げるか、"
    "KOTAE_DATABASE_CONNECTIONS を減らしてください（{least} 以上）。",
)
_THESE = Text(en="{count} now: {names}.", ja="現在 {count} 件: {names}")
_NONE = Text(en="None is running now.", ja="現在動いているものはありません。")


async def processes(settings: Settings) -> Sequence[Remark]:
    """Nothing where the database is a file, which has one process, or has to be put right first."""
    if file_of(settings.database_url) is not None:
        return []
    try:
        found = await server_condition(settings.database_url, settings.link)
        if found.revision != found.wanted:
            return []
        async with opened(settings.database_url, settings.link) as engine:
            names = [row.id.rpartition(":")[0] for row in await Processes(engine).listed()]
            given = await connections_given(engine)
    except StoreError as error:
        return [fault(error.said, SERVER)]
    wrong = [warning(_ALONE, _MANY)] if settings.qdrant_url is None else []
    count = max(1, len(names))
    wanted = count * (settings.link.connections + 1)  # and the one that each listens with
    if given < wanted:
        wrong.append(warning(filled(_FEW, given=given, count=count, wanted=wanted), filled(_MORE, least=LEAST)))
    return [*wrong, fine(filled(_THESE, count=str(len(names)), names=", ".join(names)) if names else _NONE)]


CHECKS = (Check(PROCESSES, processes),)
