"""Passages that several tests hold answers against."""

from retrieval.types import Hit, Passage


def hit(
    text: str,
    document: str = "page.md",
    *,
    chunk: int = 0,
    collection: str = "handbook",
    relevance: float = 0.9,
    title: str = "",
    headings: tuple[str, ...] = (),
    question: str | None = None,
    url: str | None = None,
    updated: str = "",
) -> Hit:
    passage = Passage(
        collection=collection,
        document_id=f"id-{document}",
        document=document,
        chunk=chunk,
        text=text,
        scope="team",
        title=title,
        headings=headings,
        question=question,
        url=url,
        updated=updated,
    )
    return Hit(passage, {"dense": relevance, "fused": relevance}, relevance)


REFUNDS = hit(
    "Refunds take 30 days. Contact billing@corp.example to start one. You cannot get a refund for gift cards.",
    "refunds.md",
    chunk=3,
    title="Refunds",
)
LEAVE = hit(
    "Full-time employees accrue 20 days of paid leave per year. Unused leave of up to 5 days carries over to the next "
    "year. Requests must be submitted to your manager at least two weeks in advance.",
    "leave.md",
)
VPN = hit(
    "The VPN client is AnyConnect 4.10. Set the MTU to 1400. If you see error ERR-4041, restart the service with "
    "`systemctl restart vpnd`. Split tunnelling is not supported. Download it from https://vpn.corp.example/get.",
    "vpn.md",
    headings=("Remote access", "Setup"),
    url="https://wiki.corp.example/vpn",
)
DESK = hit(
    "The help desk is open Monday to Friday, 9:00–17:30. On-call support is available 24 hours a day. Call extension "
    "5521 or ask Maria Lopez in Human Resources.",
    "desk.md",
)
EXPENSES = hit(
    "Expense reports are due by the 25th of each month. Meals are reimbursed up to $75 per day. Amounts over $1,500 "
    "need approval from the Finance Director. Alcohol is never reimbursed. Receipts are kept for seven years.",
    "expenses.md",
)
RELEASE = hit(
    "Version 3.2 was released on April 1, 2024. It requires Python 3.11 or later. Support for version 2.8 ended in "
    "December 2023. The upgrade takes about 90 minutes and is optional.",
    "release.md",
)

HENKIN = hit(
    "返金には30日かかります。ギフトカードは返金できません。担当は田中さんです。", "henkin.md", title="返金について"
)
YUKYU = hit(
    "正社員には年20日の有給休暇が付与されます。未使用分は5日まで翌年に繰り越せます。申請は2週間前までに上長へ提出してください。"
    "半日単位でも取得できます。",
    "yukyu.md",
)
VPN_JA = hit(
    "VPN クライアントは AnyConnect 4.10 を使用します。MTU は 1400 に設定してください。エラー ERR-4041 が表示された場合は、"
    "サービスを再起動します。スプリットトンネルには対応していません。",
    "vpn-ja.md",
)
MADOGUCHI = hit(
    "ヘルプデスクの受付時間は平日9時から17時30分までです。緊急時は内線5521に連絡してください。土日は休業です。",
    "madoguchi.md",
)
KEIHI = hit(
    "経費は毎月25日までに申請してください。食事代は1日5,000円まで精算できます。15万円を超える場合は部長の承認が必要です。"
    "酒代は精算できません。領収書は七年間保管します。",
    "keihi.md",
)
KITEI = hit("本規程は令和6年4月1日から施行する。改定は取締役会の承認を得なければならない。", "kitei.md")
ZAITAKU = hit(
    "在宅勤務は週3回まで認められます。初日は出社が必要です。通信費として月3,000円を支給します。申請は不要です。",
    "zaitaku.md",
)
