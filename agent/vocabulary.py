"""General workplace words in Japanese and English: another wording for a search that found nothing."""

import re

from agent.queries import FILLER, LIGHT, QUESTION_EN
from retrieval.text import language_of, normalise

# Synonyms within a cell are divided by "、" or ","; the first is the one a query is rewritten with.
_PAIRS: tuple[tuple[str, str], ...] = (
    ("有給休暇、有給、有休、年次有給休暇、年休", "paid leave, annual leave, vacation, PTO, paid time off"),
    ("休暇、休み", "leave, time off, holiday, vacation"),
    ("夏季休暇、夏期休暇、夏休み", "summer vacation, summer holiday, summer leave"),
    ("年末年始", "year-end holidays, new year holidays"),
    ("産休、産前産後休業", "maternity leave"),
    ("父親", "father, paternity"),
    ("育児休業、育休、育児休暇", "parental leave, childcare leave, maternity leave, paternity leave"),
    ("病気休暇、病欠", "sick leave, sick day"),
    ("介護休業、介護休暇", "family care leave, caregiver leave"),
    ("欠勤", "absence"),
    ("祝日、休日", "public holiday, national holiday"),
    ("勤務時間、就業時間、労働時間", "working hours, work hours, business hours"),
    ("勤務予定、シフト", "work schedule, shift"),
    ("残業、時間外労働", "overtime"),
    ("休憩", "break"),
    ("在宅勤務、テレワーク、リモートワーク、リモート勤務", "remote work, telework, work from home, WFH"),
    ("フレックスタイム、フレックス", "flextime, flexible hours"),
    ("勤怠", "attendance, timesheet, time tracking"),
    ("給与、給料、賃金", "salary, pay, wages, payroll"),
    ("給与明細", "payslip, pay stub"),
    ("賞与、ボーナス", "bonus"),
    ("手当", "allowance, stipend, benefit"),
    ("補助、補助金、助成", "subsidy, allowance, stipend, reimbursement, benefit"),
    ("昇給", "raise, pay increase"),
    ("年末調整", "year-end tax adjustment"),
    ("税金", "tax"),
    ("社会保険", "social insurance"),
    ("健康保険", "health insurance"),
    ("健康診断、健診", "health check, medical checkup"),
    ("福利厚生", "benefits, perks"),
    (
        "退職、離職、オフボーディング、最終出社日",
        "resignation, leaving, offboarding, i leave, you leave, we leave, they leave, last day, quit",
    ),
    ("退職金", "severance, retirement allowance"),
    ("入社、オンボーディング", "joining, onboarding"),
    ("採用", "hiring, recruiting, recruitment"),
    ("面接", "interview"),
    ("応募者、候補者", "applicant, candidate"),
    ("雇用契約", "employment contract"),
    ("契約社員", "contract employee"),
    ("業務委託", "contractor, outsourcing"),
    ("正社員", "full-time employee, permanent employee"),
    ("派遣社員", "temporary staff, temp"),
    ("試用期間", "probation, trial period"),
    ("評価、人事評価", "performance review, evaluation, appraisal"),
    ("昇進、昇格", "promotion"),
    ("異動", "transfer"),
    ("研修", "training"),
    ("上司、上長", "manager, supervisor, boss"),
    ("同僚", "colleague, coworker, teammate"),
    ("従業員、社員", "employee, staff"),
    ("部署、部門", "department, division"),
    ("人事", "human resources, HR"),
    ("総務", "general affairs, administration"),
    ("経理", "accounting"),
    ("財務", "finance"),
    ("法務", "legal"),
    ("営業", "sales"),
    ("広報", "public relations, PR"),
    ("購買、調達", "procurement, purchasing"),
    ("経費、費用", "expense, expenses"),
    ("経費精算、精算", "expense report, expense claim, reimbursement"),
    ("領収書、レシート", "receipt"),
    ("請求書", "invoice"),
    ("見積書、見積、見積もり", "quote, estimate, quotation"),
    ("発注、注文", "order, purchase order"),
    ("購入", "purchase, buy"),
    ("支払、支払い", "payment"),
    ("予算", "budget"),
    ("上限、限度", "limit, maximum, cap"),
    ("金額", "amount"),
    ("料金、価格", "price, fee, rate"),
    ("割引", "discount"),
    ("返金、払い戻し", "refund"),
    ("交通費", "transportation expense, travel cost, commuting cost, transit"),
    (
        "通勤手当、通勤費、交通費補助、通勤補助",
        "transit subsidy, transit benefit, commuter benefit, commuting allowance",
    ),
    ("通勤", "commute, commuting"),
    ("定期券", "commuter pass, transit pass"),
    ("出張", "business trip, travel"),
    ("宿泊、宿泊費", "lodging, accommodation, hotel"),
    ("日当", "per diem, daily allowance"),
    ("航空券、飛行機", "flight, airfare"),
    ("駐車場", "parking"),
    ("法人カード", "corporate card, company credit card"),
    ("クレジットカード", "credit card"),
    ("申請", "request, application, apply"),
    ("承認", "approval, approve"),
    ("却下", "rejection, reject"),
    ("申込、申し込み、申し込む、申し込め、申込み、加入", "enroll, sign up, registration, apply, enrollment"),
    ("登録", "registration, register"),
    ("提出", "submission, submit"),
    ("期限、締め切り、締切", "deadline, due date"),
    ("更新", "renewal, update"),
    ("変更", "change"),
    ("取り消し、キャンセル", "cancel, cancellation"),
    ("延長", "extension, extend"),
    ("例外", "exception"),
    ("規程、規則、規定", "policy, rule, regulation"),
    ("就業規則", "employment rules, work regulations"),
    ("方針", "policy, guideline"),
    ("手順、方法", "procedure, process, steps, how to"),
    ("手続き", "procedure, process"),
    ("書類、文書", "document, paperwork"),
    ("書式、様式", "form, template"),
    ("テンプレート、雛形、ひな形", "template"),
    ("契約、契約書", "contract, agreement"),
    ("秘密保持契約", "non-disclosure agreement, NDA"),
    ("署名、サイン", "signature, sign"),
    ("捺印、押印、印鑑、ハンコ", "seal, stamp"),
    ("連絡先、連絡", "contact"),
    ("問い合わせ、問合せ", "inquiry, contact, support"),
    ("ヘルプデスク、窓口", "help desk, helpdesk, contact point"),
    ("担当者、担当", "person in charge, owner, responsible"),
    ("責任者", "person responsible, lead"),
    ("住所", "address"),
    ("電話番号、電話", "phone number, telephone"),
    ("郵便", "mail, post"),
    ("荷物、宅配", "package, parcel, delivery"),
    ("会議、打ち合わせ、打合せ、ミーティング", "meeting"),
    ("会議室", "meeting room, conference room"),
    ("議事録", "minutes, meeting notes"),
    ("予約", "reservation, booking, book"),
    ("予定、日程、スケジュール", "schedule, calendar"),
    ("受付", "reception, front desk"),
    ("来客、訪問者", "visitor, guest"),
    ("入館証、社員証", "badge, ID card"),
    ("鍵", "key"),
    ("座席、席", "seat, desk"),
    ("備品", "supplies, equipment"),
    ("文房具", "stationery, office supplies"),
    ("機器、機材、設備", "equipment, device"),
    (
        "ノートパソコン、ノートPC、ラップトップ、パソコン、PC、端末、コンピューター、コンピュータ",
        "laptop, computer, notebook computer",
    ),
    ("画面、モニター、ディスプレイ", "monitor, display, screen"),
    ("キーボード", "keyboard"),
    ("携帯電話、スマートフォン、スマホ", "mobile phone, smartphone, cell phone"),
    ("印刷、プリンター、プリンタ、複合機", "printer, printing, print"),
    ("返却", "return"),
    ("貸出、貸し出し", "loan, lending, borrow"),
    ("故障", "broken, malfunction, failure"),
    ("修理", "repair"),
    ("交換", "replacement, replace"),
    ("紛失", "lost, loss"),
    ("盗難", "theft, stolen"),
    ("廃棄", "disposal, dispose"),
    ("パスワード", "password"),
    ("再設定、リセット", "reset"),
    ("認証", "authentication"),
    ("二段階認証、二要素認証、多要素認証", "two-factor authentication, 2FA, MFA, multi-factor authentication"),
    ("アカウント", "account"),
    ("権限、アクセス権", "permission, access, access rights"),
    ("管理者", "administrator, admin"),
    ("利用者、ユーザー", "user"),
    ("ログイン、サインイン", "login, log in, sign in"),
    ("暗号化、暗号", "encryption, encrypt"),
    ("機密情報、機密、秘密情報", "sensitive information, confidential information"),
    ("個人情報", "personal information, personal data, PII"),
    ("情報漏洩、漏洩、漏えい", "data breach, leak"),
    ("セキュリティ", "security"),
    ("インシデント、事故", "incident"),
    ("障害", "outage, failure, incident"),
    ("エラー、不具合、バグ", "error, bug, defect"),
    ("報告、通報、知らせ、届け出、届出", "report, notify, tell, inform, reporting"),
    ("緊急", "emergency, urgent"),
    ("避難", "evacuation"),
    ("災害", "disaster"),
    ("安否確認", "safety confirmation"),
    ("監査", "audit"),
    ("ソフトウェア、ソフト", "software"),
    ("アプリ、アプリケーション", "app, application"),
    ("インストール", "install, installation"),
    ("ライセンス", "license, licence"),
    ("設定", "settings, configuration, setup"),
    ("接続", "connection, connect"),
    ("無線LAN、Wi-Fi、ワイファイ", "Wi-Fi, wifi, wireless network"),
    ("ネットワーク", "network"),
    ("サーバー、サーバ", "server"),
    ("データベース", "database"),
    ("バックアップ", "backup"),
    ("保存、保管", "storage, retention, store"),
    ("削除", "deletion, delete, remove"),
    ("復旧、復元", "recovery, restore"),
    ("監視", "monitoring"),
    ("環境", "environment"),
    ("本番、本番環境", "production"),
    ("検証環境、ステージング", "staging"),
    ("開発", "development"),
    ("公開、リリース", "release"),
    ("デプロイ", "deploy, deployment"),
    ("移行", "migration"),
    ("顧客、お客様、取引先", "customer, client"),
    ("仕入先、業者、ベンダー", "vendor, supplier"),
    ("苦情、クレーム", "complaint"),
    ("保証", "warranty, guarantee"),
    ("在庫", "stock, inventory"),
    ("配送、発送", "shipping, delivery"),
    ("社内、内部", "internal"),
    ("社外、外部", "external"),
    ("オフィス、事務所", "office"),
    ("本社", "headquarters, head office"),
    ("質問", "question"),
    ("不要、いらない、要らない", "not required, unnecessary, not needed"),
    ("名刺", "business card"),
    ("組織", "organization, org"),
    ("買う、買い", "buy, purchase"),
    ("カード", "card"),
    ("月額", "monthly fee"),
    ("コード", "code"),
    ("コマンド", "command"),
    ("ファイアウォール", "firewall"),
    ("有効", "enable, turn on"),
    ("無効", "disable, turn off"),
    ("食堂、社員食堂、社食", "cafeteria, canteen, lunchroom"),
    ("献立、メニュー", "menu"),
    ("昼食、ランチ", "lunch"),
    ("バグバウンティ、脆弱性報奨金", "bug bounty"),
    ("脆弱性", "vulnerability"),
    ("持株会", "employee stock ownership, stock plan"),
    ("奨励金", "incentive"),
    ("忘年会", "year-end party"),
    ("会場", "venue"),
    ("メールアドレス、電子メール", "email address, email"),
    ("内線", "extension"),
    ("パスワード管理ツール、パスワードマネージャー、パスワードマネージャ、パスワード管理ソフト", "password manager"),
    ("パスコード", "passcode"),
    ("USBメモリ、USBメモリー、USBドライブ、USBスティック", "USB drive, USB stick, thumb drive, flash drive"),
    ("クリアランス", "clearance"),
    ("最高機密", "top secret"),
    ("四半期", "quarter, quarterly"),
    ("決算", "earnings, financial results"),
    ("株主", "shareholder, stockholder"),
    ("投資家", "investor"),
    ("副業、兼業", "side job, outside employment, second job"),
    ("社用車", "company car"),
    ("買い取り、買取", "buyback, buy out, purchase"),
    ("寄付", "donation, donate"),
    ("電源を切、シャットダウン", "turn off, shut down, power off"),
    ("ブラウザ、ブラウザー", "browser"),
    ("違い、差異", "difference"),
    ("チーム", "team"),
    ("資格", "qualification, qualified, certification"),
    ("服装", "dress code, clothing"),
    ("懇親会", "social gathering, team dinner"),
    ("リリース候補", "release candidate"),
    ("切り戻し、ロールバック", "rollback, roll back, take back"),
    ("承認者", "approver"),
    ("賠償", "compensation"),
    ("育児", "childcare, parenting"),
    ("子ども、子供、お子さん", "child, children"),
    ("家族", "family"),
    ("配偶者", "spouse"),
    ("結婚", "marriage, wedding"),
    ("引っ越し、転居", "moving, relocation"),
    ("休業", "closure, leave of absence"),
)


def _cell(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in re.split(r"[、,]", text))


_LIGHT_JA = re.compile(
    r"場合|方法|必要|可能|以[内上下外前後]|今回|自分|弊社|当社|社内|何[一-龯]*|教|時|際|誰|使|買|作|行|見|出|取|気|私|我々|大丈夫|具体|詳[細し]|[年月日時分]+"
)
_FILLER = frozenset(FILLER.split())
_KATAKANA = re.compile(r"[ァ-ヴー]+")
_ENTRIES = tuple((_cell(ja), _cell(en)) for ja, en in _PAIRS)
_FORMS = sorted(
    (
        (normalise(form), number, side)
        for number, entry in enumerate(_ENTRIES)
        for side, forms in enumerate(entry)
        for form in forms
    ),
    key=lambda known: -len(known[0]),
)


def _known(text: str) -> list[tuple[int, int, int, int]]:
    """(start, end, entry, side) of the vocabulary's words in `text`, longest first where they overlap, in order."""
    plain = normalise(text)
    taken: list[tuple[int, int, int, int]] = []
    for form, entry, side in _FORMS:
        if form not in plain:
            continue
        latin = form.isascii()
        if latin:
            pattern = rf"(?<![a-z0-9]){re.escape(form)}(?:s|es|ed|ing)?(?![a-z0-9])"
        elif len(form) <= 3 and _KATAKANA.fullmatch(form):  # バグ is not in バグバウンティ
            pattern = rf"(?<![ァ-ヴー]){re.escape(form)}(?![ァ-ヴー])"
        else:
            pattern = re.escape(form)
        for match in re.finditer(pattern, plain):
            if all(match.end() <= start or match.start() >= end for start, end, _, _ in taken):
                taken.append((match.start(), match.end(), entry, side))
    return sorted(taken)


def synonyms(text: str) -> list[tuple[str, tuple[str, ...]]]:
    """Each known word of `text` as it stands there, with all its forms in both languages, in order."""
    plain = normalise(text)
    return [(plain[start:end], _ENTRIES[entry][0] + _ENTRIES[entry][1]) for start, end, entry, _ in _known(text)]


def unknown(text: str) -> list[str]:
    """The content words of `text` that the vocabulary does not know, as written."""
    rest = list(normalise(text))
    for start, end, _, _ in _known(text):
        rest[start:end] = "\x00" * (end - start)
    plain = "".join(rest)
    if language_of(text) == "ja":
        found = re.findall(r"[一-龯々]{2,}|[ァ-ヴー]{2,}|[a-z0-9][a-z0-9._-]+", plain)
        return [word for word in found if not _LIGHT_JA.fullmatch(word)]
    asking = QUESTION_EN.sub(" ", plain)
    return [word for word in re.findall(r"[a-z0-9][\w'’-]{2,}", asking) if word not in LIGHT | _FILLER]


def translations(text: str) -> list[str]:
    """The words of the other language for what the vocabulary knows of `text`, all synonyms, in order."""
    other = 1 if language_of(text) == "ja" else 0
    return list(dict.fromkeys(word for _, _, entry, _ in _known(text) for word in _ENTRIES[entry][other]))


def translated(text: str) -> str:
    """A query in the other language: known words translated, Latin names and numbers kept; empty if nothing is known."""
    other = 1 if language_of(text) == "ja" else 0
    known = _known(text)
    plain = normalise(text)
    words: list[tuple[int, str]] = [(start, _ENTRIES[entry][other][0]) for start, _, entry, _ in known]
    if not words:
        return ""
    if other == 1:  # names, products and numbers are written alike in both languages
        for name in re.finditer(r"[a-z0-9][a-z0-9._-]*", plain):
            if all(name.end() <= start or name.start() >= end for start, end, _, _ in known):
                words.append((name.start(), name.group()))
    else:
        for name in re.finditer(r"(?<![A-Za-z])(?:[A-Z][\w-]*[A-Z0-9][\w-]*|\d[\w.-]*)", text):
            words.append((name.start(), name.group()))
    return " ".join(dict.fromkeys(word for _, word in sorted(words)))


def rephrased(text: str) -> str:
    """`text` with each known word replaced by another of the same language; empty if none has one."""
    plain = normalise(text)
    pieces: list[str] = []
    at = 0
    changed = False
    for start, end, entry, side in _known(text):
        forms = _ENTRIES[entry][side]
        used = plain[start:end]
        other = next((form for form in forms if normalise(form) not in used and used not in normalise(form)), None)
        pieces += [plain[at:start], other or used]
        changed = changed or other is not None
        at = end
    return ("".join(pieces) + plain[at:]).strip() if changed else ""
