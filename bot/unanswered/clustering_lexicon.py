"""Words of office life that keep two questions on one subject apart, in Japanese and English.

Two questions that name different members of one family ask for different things: to request and to cancel, this year
and last year, the guests' and the staff's. Vectors of short questions hardly show that difference.
"""

import re
from collections.abc import Mapping

from retrieval.text import normalise

# family → member → the beginnings of words that name it. Japanese ones are found anywhere, English ones where a word begins;
# a trailing $ asks for the whole English word. Longer ones come first where one holds another (uninstall, install).
_SAID: Mapping[str, Mapping[str, str]] = {
    "asked": {
        "time": "いつ(?!も) 何時(?!間) 何日に 日程 何曜日 リリース日 終了日 予定日 時期は 時間帯 スケジュール 締切 締め切 締切り 期限(?!が?切れ) 期日 納期 when's when_(?:is|are|do|does|did|will|can|should|was) by_when since_when ^when what_time what_date what_day which_day deadline due$ how_soon",
        "person": "誰(?!か|に(?:頼|聞|言|伝|連絡|相談|報告|依頼|お願)) だれ(?!か) どなた(?!か) 何方 担当者 担当って who(?!(?:_should|_do|_can)_i)(?![a-z]) whom$ who's whose$ approver",
        "frequency": "頻度 何日おき どのくらいおき 間隔 how_often how_frequently",
        "reason": "なぜ 何故 (?<![要いた])なんで(?!す|しょ) どうして 理由 原因 why$ reason",
        "way": "どこ 何処 どうやって どうすれば どうしたら 方法 やり方 仕方 手順 対処 するには にはどう how_do how_can how_to who_should_i who_do_i"
        " how_would where$ where's where_ steps",
        "permission": "ていい てもいい て良い ても良い 可能 大丈夫 できますか できる？ 使えますか 要りますか 必要 can_i$ can_we$ may_i$"
        " allowed ok_to okay_to possible do_i_need do_we_need need_approval",
        "money": "いくら 何円 金額 上限 限度 how_much limit$ maximum cost$ costs$ price",
        "number": "何回 何日(?!に) 何人 何名 何個 何分 何秒 何文字 何年 何か月 何ヶ月 何ヵ月 何時間 何件 何枚 何歳 何[%％割mgk] いくつ どれくらい どのくらい どれぐらい どのぐらい 上限 限度 最大 回数 人数 期間は how_many how_long limit$ maximum minimum",
    },
    "done": {
        "cancel": "取り消 取消 キャンセル 取りやめ 中止 撤回 cancel withdraw call_off",
        "return": "返却 (?<!り)返し 返品 give_back return",
        "undo": "切り戻 ロールバック 戻す 巻き戻 roll_back rollback roll_it_back revert undo",
        "restore": "復元 リストア 復旧 restor recover",
        "backup": "バックアップ back_up backed_up backup backs_up",
        "uninstall": "アンインストール uninstall",
        "install": "(?<!アン)インストール 入れたい セットアップ install set_up setup",
        "delete": "削除 消去 (?<!取り)消し 消す 抹消 外し(?:た|て) delet remov erase offboard",
        "create": "作成 発行 作り 作る 新規 開設 creat make_a new_account set_up_an_account issue_a",
        "add": "追加 加え に入れ(?:て|た|る) 招待 権限くだ 権限つけ add$ adding invit get_access",
        "disable": "無効 停止 止め 来ないよう オフに ミュート 解除 disabl deactivat mute mutin turn_off turn_them_off switch_off block revoke"
        " unsubscrib silence",
        "enable": "有効 オンに 再開 開始 enabl activat turn_on switch_on unmute",
        "reset": "リセット 再設定 忘れ reset forgot",
        "change": "変更 変え 変わ 切り替 替え(?:た|て|ら|る) 差し替 修正 (?<!まだ)更新 アップデート chang switch_to switch_the updat replac edit$ to_edit",
        "book": "予約 取るんで 押さえ 申し込 book reserv sign_up",
        "obtain": "申請 申し込 応募 依頼 (?<!て)もらえ (?<!て)もらいた (?<!て)ほしい (?<!て)欲し 取得 取れ 発行 招待 権限くだ (?<!pull\\s)request(?!s) apply apply_for application get_a get_an get_access give_me invite",
        "submit": "提出 出せば 締切 締め切 締切り いつまでに submit hand_in turn_in deadline",
        "approve": "承認 許可 決裁 approv sign_off",
        "report": "報告 通報 連絡先 連絡し 届け出 report_(?:a|an|it|this|the)$ to_report who_should_i_tell who_do_i_tell",
        "repair": "修理 直す 直し 壊れ 故障 割れ repair fix broke broken crack",
        "lose": "紛失 なくし 無くし 失くし lost lose losing",
        "carry": "繰り越 繰越 持ち越 carry roll_over rollover carries",
        "pay": "支払 振り込 振込 入金 払わ 払って 負担 出してくれ 出してほし 出してもら 補助 paid pay$ pays$ payout payment reimburs cover$ covers subsid",
        "buy": "購入 買う 買っ buy purchas",
        "connect": "つなが 繋が 接続 つなぐ 繋ぐ connect",
        "open": "開い 開く 開き 開場 (?<!an\\s)open$ opens opening",
        "close": "閉ま 閉め 閉じ 閉館 close$ closes closing",
        "export": "エクスポート 書き出 ダウンロード 保存し export download save_(?:a|it|the|as)",
        "import": "インポート 取り込 読み込 アップロード import upload",
        "send": "送る 送信 送り 送付 send sent$ mail_to",
        "receive": "届か 届き 受け取 受信 receiv arriv",
        "share": "共有 シェア share sharing",
        "renew": "更新 延長 延ば 延び renew extend extension",
        "encrypt": "暗号 encrypt",
        "deploy": "デプロイする デプロイの手順 deploy_a deploy_the to_deploy",
        "join": "入社 オンボ 新しく入 新入社員 新人 new_hire new_starter onboard joiner",
        "leave": "退職 退社 辞め 離職 leaver resign quit$ who_left offboarding",
        "enter": "加入 入会 参加し 参加す join enrol sign_me_up",
        "quit": "抜け 退会 脱退 unsubscribe leave_the opt_out",
        "upgrade": "(?<!ダウン)アップグレード 上位 有料プラン upgrad",
        "downgrade": "ダウングレード 下位 downgrad",
        "borrow": "借り 貸し 貸出 borrow rent lend",
        "raise": "上げ 引き上げ 増や raise increas turn_up",
        "lower": "下げ 引き下げ 減ら lower reduc decreas turn_down",
        "merge": "統合 結合 まとめたい マージ merg combin",
        "move": "移動 移行 移し 移せ 異動 to_move move_my migrat transfer",
        "save": "保存 保管 残り 残し save$ saved stor(?:e|age|ed) kept keep$ retention",
        "search": "検索 探し 調べ search look_up looking_for",
        "view": "見られ 見たい 見れ 閲覧 確認 see$ view$ look_at",
        "write": "書く 書け 書き(?!出) 記入 入力 記載 write written wrote fill_in fill_out enter$",
        "decide": "決め 決ま decid",
        "sign": "署名 締結 サインし 押印 捺印 社印 sign(?!(?:ed)?[\\s-](?:up|in))(?:$|ed|ing) signature seal$",
        "begin": "始ま 始め 開始 start begin",
        "end": "終わ (?<!強制)終了 満了 失効 期限が?切れ end$ ends finish shut_down expire",
        "configure": "設定 構成 configur set_up setup setting",
        "clean": "掃除 清掃 拭く 拭き clean wipe",
        "unlock": "ロックを解除 ロックが外 ロック解除 解錠 unlock release_it",
        "refill": "補充 refill",
        "test": "テストす 試験 検証 test",
        "attend": "出席 参加 登壇 attend",
        "publish": "(?<!非)公開 掲載 publish",
        "hide": "非公開 隠す 隠し hide private",
        "throw": "捨て 廃棄 処分 throw dispos discard",
        "speed": "速く 高速化 短く speed_up faster",
        "decline": "断る 断っ refuse declin",
        "accept": "受け取って 受領 いただいて accept",
        "call": "電話を 電話が 電話に 呼び出 (?<!on-)(?<!on\\s)call$ paged",
        "hear": "聞こえ hear",
        "print": "印刷 print",
        "order": "注文 発注 (?<!of\\s)order$ ordering",
        "swap": "交換 交代 代わっ 代わり 入れ替 取り替 ローテーション swap exchang rotat",
        "hand over": "引き継 引継 交代 hand_over hands_over handover rotation",
    },
    "about": {
        "expenses": "経費 立替 立て替え 精算 expense",
        "receipt": "領収書 レシート receipt",
        "invoice": "請求書 インボイス invoice billing",
        "budget": "予算 budget",
        "contract": "契約書 契約 contract$ agreement nda$",
        "allowance": "手当 日当 補助 per_diem allowance subsidy stipend",
        "commute": "通勤 定期券 交通費 commut",
        "trip": "出張 business_trip travel",
        "hotel": "宿泊 ホテル hotel lodging accommodation",
        "flight": "航空券 飛行機 フライト flight$ flights$ plane",
        "train": "新幹線 電車 train$ trains$ shinkansen",
        "taxi": "タクシー taxi cab$",
        "dinner": "会食 接待 飲み会 dinner entertain",
        "payslip": "給与明細 給料明細 明細 payslip pay_slip pay_stub",
        "salary": "給料日 給料(?!明細) 給与(?!明細) salary payday pay_day",
        "bonus": "賞与 ボーナス bonus",
        "tax": "年末調整 税 源泉 tax$ taxes",
        "insurance": "保険 insurance",
        "pension": "年金 pension 401k",
        "vacation": "有給 有休 休暇 休み 年休 vacation pto$ time_off annual_leave days_off day_off paid_leave holiday",
        "sick": "病気 病欠 診断書 体調不良 sick doctor's",
        "parental": "育休 産休 育児 出産 parental maternity paternity",
        "overtime": "残業 時間外 overtime",
        "attendance": "勤怠 打刻 タイムカード timesheet time_sheet clock_in attendance",
        "remote": "在宅 リモート(?!デスク) テレワーク remote$ remotely work_from_home working_from_home wfh$ telework",
        "side job": "副業 兼業 side_job side_business second_job moonlight",
        "laptop": "ノートpc パソコン pc$ ノートパソコン laptop computer",
        "monitor": "モニタ ディスプレイ monitor(?!ing) external_display second_screen",
        "phone": "携帯 スマホ 社用電話 phone mobile",
        "headset": "ヘッドセット イヤホン マイク headset headphone microphone",
        "keyboard": "キーボード マウス keyboard mouse$",
        "desk": "デスク(?!トップ) 椅子 机 desk$ chair$",
        "printer": "プリンタ 印刷 コピー機 print",
        "badge": "社員証 入館証 セキュリティカード カードキー badge key_card keycard access_card id_card",
        "locker": "ロッカー locker",
        "parking": "駐車 駐輪 parking park_",
        "office": "オフィス 事務所 会社(?:って|は何|に入) (?<!of-)(?<!of\\s)office",
        "meeting room": "会議室 meeting_room conference_room",
        "business card": "名刺 business_card",
        "mail": "メール email e-mail mail$",
        "attachment": "添付 attachment attached",
        "phishing": "怪しい 不審 フィッシング 迷惑メール phishing suspicious scam spam",
        "calendar": "カレンダー calendar",
        "notification": "通知 アラート notif alert",
        "channel": "チャンネル channel",
        "account": "アカウント account",
        "password": "パスワード password passphrase",
        "two factor": "二段階 二要素 多要素 認証アプリ 2fa mfa$ two-factor two_factor authenticator",
        "license": "ライセンス licen[sc]e",
        "permission": "権限 アクセス権 permission access$",
        "vpn": "vpn",
        "wifi": "wi-?fi 無線lan wireless",
        "repository": "リポジトリ レポジトリ repo$ repos$ repositor org$ 組織",
        "pipeline": "パイプライン ビルド actions ci$ pipeline build$",
        "review": "レビュー code_review review",
        "release": "リリース(?!ノート) デプロイ release(?!_notes) deploy",
        "release notes": "リリースノート 変更履歴 release_notes changelog",
        "incident": "障害 インシデント incident outage",
        "on call": "オンコール 当番 on-?call",
        "log": "ログ(?!イン) logs$ log_file",
        "database": "db$ データベース database",
        "backup": "バックアップ back_up backed_up backup",
        "api key": "apiキー api_key",
        "rate limit": "レート制限 レートリミット 呼べ rate_limit requests_per per_minute",
        "timeout": "タイムアウト timeout time_out",
        "version": "バージョン version",
        "certificate": "証明書 certificate ssl$ tls$",
        "server": "サーバ server",
        "test": "テスト test",
        "customer": "顧客 お客 customer our_clients",
        "refund": "返金 払い戻し refund",
        "price": "価格 料金 値段 pricing price",
        "discount": "割引 値引 discount",
        "shipping": "配送 送料 発送 shipping delivery",
        "training": "研修 勉強会 training workshop",
        "book": "書籍 本の購入 books$ a_book$",
        "health check": "健康診断 人間ドック health_check checkup medical_exam",
        "evaluation": "評価 査定 人事考課 1on1 appraisal performance_review evaluation",
        "interview": "面接 採用 interview hiring recruit",
    },
    "year": {
        "this": "今年 今期 this_year this_fiscal",
        "next": "来年 翌年 来期 翌期 next_year new_year next_fiscal",
        "last": "去年 昨年 前年 前期 last_year previous_year last_fiscal",
    },
    "month": {
        "this": "今月 this_month",
        "next": "来月 翌月 next_month",
        "last": "先月 前月 last_month previous_month",
    },
    "week": {
        "this": "今週 this_week",
        "next": "来週 翌週 next_week",
        "last": "先週 前週 last_week",
    },
    "stage": {
        "production": "本番 production prod$ live_system",
        "staging": "ステージング 検証環境 staging",
        "development": "開発環境 ローカル環境 dev_environment local_environment",
    },
    "people": {
        "guests": "来客 ゲスト 訪問者 guest visitor",
        "outsiders": "業務委託 派遣 外注 契約社員 contractor freelanc temp_staff",
        "staff": "社員用 正社員 従業員 employee permanent",
    },
    "direction": {
        "domestic": "国内 domestic",
        "abroad": "海外 国外 abroad overseas another_country international",
    },
    "size": {
        "largest": "最大 上限 一番大き 最高 largest biggest maximum",
        "smallest": "最小 下限 最低 一番小さ smallest minimum",
    },
    "side": {
        "front": "フロントエンド frontend front-end",
        "back": "バックエンド backend back-end",
    },
    "system": {
        "windows": "ウィンドウズ windows",
        "mac": "マック macos mac$ macbook",
        "linux": "リナックス linux ubuntu",
    },
    "phone": {
        "ios": "アイフォン iphone ios$ ipad",
        "android": "アンドロイド android",
    },
}

FAMILIES = tuple(_SAID)
_MAY = frozenset({"permission"})

_TROUBLE = re.compile(
    r"(?<!あり)(?<!わかり)(?<!分かり)(?<!もらえ)(?<!いけ)(?<!なり)(?<!くれ)(?<!頂け)(?<!いただけ)ません(?!か[？?]?$)|られない|(?:[かがさたなばまらわけせてねべめれえ]|でき)な(?:い(?!よう|と|でほ|でく)|くて|くな[っり])"
    r"|失敗|落ち(?:る|た|て|ま)|止ま(?:り|っ|る)|壊れ|故障|割れ|詰ま|エラー|重い|重く|重すぎ|遅い|遅く|遅すぎ|おかしい|変な|すぎ|消え(?:た|て|ま)|不具合|フリーズ|漏れ|真っ黒"
    r"|失効|切れ(?:た|て|ま)|なくし|無くし|紛失|忘れ|ロックされ|寒|暑|障害|間違|誤って"
    r"|(?<![a-z])(?:won't|doesn't|didn't|can't|cannot|isn't|aren't|not working|fail|crash|stuck|hang|broke|error|slow|forever|block|jam|out of order|keeps? |black$|empty"
    r"|locked|expired|lost|forgot|freezing|cold|noisy|trouble|problem|wrong|by accident|by mistake)"
)

_OPPOSITES = tuple(
    pair.split("/")
    for pair in [
        "open/close",
        "close/open",
        "enable/disable",
        "disable/enable",
        "install/uninstall",
        "create/delete",
        "add/delete",
        "join/leave",
        "leave/join",
        "import/export",
        "export/import",
        "send/receive",
        "receive/send",
        "obtain/cancel",
        "book/cancel",
        "obtain/return",
        "buy/return",
        "deploy/undo",
        "backup/restore",
        "connect/disable",
        "upgrade/downgrade",
        "raise/lower",
        "enter/quit",
        "add/quit",
        "publish/hide",
        "begin/end",
        "create/disable",
        "obtain/disable",
        "enter/leave",
    ]
)


def _pattern(said: str) -> re.Pattern[str]:
    return re.compile("|".join(_alternative(word) for word in said.split()))


def _alternative(word: str) -> str:
    if not word.isascii():
        return word
    whole = word.endswith("$")
    words = word.removesuffix("$").replace("_", r"[\s_-]+")
    return rf"(?<![a-z0-9]){words}" + ("(?![a-z0-9])" if whole else "")


_PATTERNS = {family: {member: _pattern(said) for member, said in members.items()} for family, members in _SAID.items()}


def named(text: str) -> dict[str, frozenset[str]]:
    """Family → the members that a question names; families it does not touch are left out."""
    plain = normalise(text).replace("\u2019", "'")
    found = {
        family: frozenset(member for member, pattern in members.items() if pattern.search(plain))
        for family, members in _PATTERNS.items()
    }
    if found["asked"] != _MAY:  # "how can I" asks for the way
        found["asked"] -= _MAY
    return {family: members for family, members in found.items() if members}


def trouble(text: str) -> bool:
    """Whether something is said not to work, to be lost or to hurt."""
    return bool(_TROUBLE.search(normalise(text).replace("\u2019", "'")))


def opposite(ours: frozenset[str], theirs: frozenset[str]) -> bool:
    """Whether the one does what the other undoes, and the other does not: to book, and to cancel a booking; of members of
    the family `done`."""
    return any((a in ours and b in theirs - ours) or (b in ours - theirs and a in theirs) for a, b in _OPPOSITES)
