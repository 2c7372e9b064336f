"""Words and phrases of office life that mean the same, in English and Japanese, for `bot.unanswered.paraphrases.paraphrases`.

Narrower than synonyms for a search would be: what stands together here may be put in each other's place in a
question without changing its answer. Left out is whatever means two things; a word that is not here means only itself.
"""


def _set(names: str) -> frozenset[str]:
    return frozenset(names.split(", "))


# A line is one meaning: English, a slash, Japanese. `*` stands after an English verb that is also meant where it is
# inflected; irregular forms are written out.
ALIKE = """
paid leave, annual leave, pto, paid time off, paid vacation, paid holiday / 有給休暇、有給、有休、年次有給休暇、年休
sick leave / 病気休暇、病欠
parental leave, childcare leave / 育児休業、育児休暇、育休
maternity leave / 産休、産前産後休業
bereavement leave / 忌引、忌引き、忌引休暇、忌引き休暇
summer vacation, summer holiday, summer leave / 夏季休暇、夏期休暇、夏休み
year-end holidays, new year holidays / 年末年始休暇、年末年始の休み、年末年始休み
lunch break / 昼休み、昼休憩、昼の休憩
public holiday, national holiday / 祝日
business day, working day / 営業日
work from home*, wfh, work remotely*, remote work, remote working, telework, teleworking, home office work / 在宅勤務、テレワーク、リモートワーク、リモート勤務
flextime, flexitime, flexible hours, flexible working hours / フレックスタイム、フレックスタイム制、フレックス制、フレックス勤務
working hours, work hours / 勤務時間、就業時間、労働時間
overtime / 残業、時間外労働、時間外勤務
overtime pay / 残業代、残業手当、時間外手当
salary / 給与、給料
payday, pay day, salary payment date / 給料日、給与日、給与支給日、給料の支給日、給与の支給日、給与の振込日、給料の振込日、給与振込日
payslip, pay slip, pay stub, salary slip / 給与明細、給料明細、給与の明細、給料の明細
bonus / 賞与、ボーナス
pay raise, salary increase / 昇給
year-end tax adjustment, year-end adjustment / 年末調整
withholding tax slip, withholding slip / 源泉徴収票
health check, health checkup, health check-up, medical checkup, medical check-up, medical examination / 健康診断、健診
health insurance / 健康保険
social insurance / 社会保険
pension / 年金
side job, side business, second job / 副業、兼業
resign*, resignation, leave the company* / 退職
severance pay, severance / 退職金
join the company* / 入社
new hire, new employee, new joiner, new starter / 新入社員
probation, probation period, probationary period / 試用期間
performance review, performance evaluation, performance appraisal / 人事評価、人事考課
evaluate*, evaluation / 評価
training / 研修
permanent employee, full-time employee, full-time worker, regular employee / 正社員
part-time employee, part-time worker, part-timer, part timer / パート、パートタイム、パートタイマー、パートタイム従業員、パート社員、パート従業員
contract employee / 契約社員
temporary staff, temp staff, temp worker, agency worker / 派遣社員
contractor, freelancer / 業務委託
employee, staff member / 従業員、社員
intern / インターン、インターン生
manager, boss, supervisor / 上司、上長
colleague, coworker, co-worker, teammate / 同僚
customer, client / 顧客、お客様、お客さん
guest, visitor / ゲスト、来客、来訪者、訪問者
vendor, supplier / ベンダー、仕入先、業者
spouse / 配偶者
child, kid, children / 子ども、子供、お子さん
parent / 親
father / 父、父親
mother / 母、母親
man, men, male / 男性
woman, women, female / 女性
administrator, admin / 管理者
user / ユーザー、利用者
department, division / 部署、部門
human resources, hr / 人事部、人事
accounting / 経理、経理部
sales department, sales team, sales / 営業、営業部
marketing / マーケティング、マーケ
company / 会社
cost / 費用、コスト
amount / 金額
general affairs / 総務、総務部
legal team, legal department, legal / 法務、法務部
help desk, helpdesk / ヘルプデスク
business trip, work trip / 出張
abroad, overseas, international / 海外、国外
domestic / 国内
per diem, daily allowance / 日当
hotel, lodging, accommodation / 宿泊、ホテル、宿
hotel rate, hotel cost, lodging cost, accommodation cost, hotel expense / 宿泊費、宿泊代、ホテル代
flight / 飛行機、航空便
train / 電車
taxi, cab, taxi ride, taxis / タクシー
transportation cost, transportation expense, travel cost, travel expense / 交通費
commuting allowance, commuter allowance, commuting benefit / 通勤手当、通勤費
commuter pass / 定期券、通勤定期
commute*, commuting / 通勤
company car / 社用車、社有車
parking, parking lot, parking space, car park / 駐車場
bicycle parking, bike parking, bicycle parking lot / 駐輪場
bicycle, bike / 自転車
expense report, expense claim, expense reimbursement / 経費精算、経費の精算
expense / 経費
receipt / 領収書、レシート
invoice, bill / 請求書、インボイス
quote, quotation, estimate / 見積書、見積もり、見積、見積り
purchase order / 発注書、注文書
budget / 予算
corporate card, company card, company credit card / 法人カード、コーポレートカード、会社のクレジットカード
credit card / クレジットカード、クレカ
bank transfer, wire transfer / 銀行振込、銀行振り込み
bank account / 銀行口座、口座
fee, price / 料金、価格、値段
discount / 割引、値引き
refund*, give a refund*, get a refund*, issue a refund* / 返金、払い戻し
payment due date, payment deadline, payment term / 支払期限、支払い期限、支払期日、支払い期日
deadline, due date / 締め切り、締切、締切日、締め切り日、締切り、期限、期日、提出期限、提出締切、提出の締切、提出の期限、申請期限、申請の期限、予約期限、申込期限
expiry date, expiration date, validity period / 有効期限、有効期間
limit, maximum, max, cap, ceiling / 上限、限度、最大、限度額、上限額
minimum, min / 最低、最小、下限
contract, agreement / 契約書、契約
nda, non-disclosure agreement / 秘密保持契約、nda
seal, stamp / 押印、捺印、判子を押す、はんこを押す、ハンコを押す、印鑑を押す
signature / 署名、サイン
document, paperwork / 書類
form / フォーム、書式、様式
template / テンプレート、ひな形、雛形
business card / 名刺
badge, employee badge, id card, id badge, employee card, employee id card, company badge / 社員証
key card, access card, keycard, entry card / 入館証、カードキー、入館カード、セキュリティカード
key / 鍵
locker / ロッカー
seat / 座席、席
office / オフィス、事務所
head office, headquarters / 本社
cafeteria, canteen / 社員食堂、食堂、社食
dress code / 服装規定、ドレスコード
meeting room, conference room / 会議室
meeting / 会議、打ち合わせ、打合せ、ミーティング
minutes of the meeting, meeting minutes, meeting notes / 議事録
package, parcel / 荷物、小包
stationery, office supplies / 文房具、文具
equipment / 備品
laptop, laptop computer, notebook computer, notebook pc / ノートパソコン、ノートpc、ラップトップ
pc, computer / パソコン、pc、コンピューター
monitor, display, screen / モニター、ディスプレイ
keyboard / キーボード
printer / プリンター、複合機
mobile phone, cell phone, smartphone / 携帯電話、携帯、スマートフォン、スマホ
password / パスワード
account / アカウント
permission, access rights, access right, access permission / 権限、アクセス権、アクセス権限
access / アクセス
two-factor authentication, 2fa, mfa, multi-factor authentication, two factor authentication / 二段階認証、二要素認証、多要素認証、2段階認証、2要素認証
authentication / 認証
vpn / vpn
wi-fi, wifi / wi-fi、wifi、ワイファイ、無線lan
network / ネットワーク
server / サーバー
database, db / データベース、db
backup, back up* / バックアップ
log / ログ
repository, repo / リポジトリ、レポジトリ
branch / ブランチ
pull request, merge request / プルリクエスト、プルリク
code review / コードレビュー
release / リリース
deploy*, deployment / デプロイ
roll back*, rollback / ロールバック、切り戻し、切り戻す
production, production environment, prod, live environment / 本番環境、本番
staging, staging environment / ステージング環境、ステージング
test environment / テスト環境
development environment, dev environment / 開発環境
environment / 環境
rate limit, rate limiting / レート制限、レートリミット
version / バージョン
certificate / 証明書
license, licence / ライセンス
software / ソフトウェア、ソフト
app, application software / アプリ、アプリケーション
browser / ブラウザー
notification / 通知
calendar / カレンダー
email, e-mail / メール、電子メール、eメール
email address, e-mail address, mail address / メールアドレス
phone number, telephone number / 電話番号
address / 住所
mailing list / メーリングリスト
channel / チャンネル
incident / インシデント
outage / 障害
bug / バグ
error / エラー
security / セキュリティ
personal information, personal data / 個人情報
confidential information, sensitive information / 機密情報、秘密情報
customer data / 顧客データ、顧客情報
project / プロジェクト
plan / プラン
file / ファイル
data / データ
policy, rule / 規程、規則、規定、ルール、ポリシー
newsletter / ニュースレター
person in charge, in charge of, in charge, responsible for, responsible / 担当者、担当
project manager / プロジェクトマネージャー
approve*, approval, sign off on / 承認、決裁
approver / 承認者、決裁者
reject*, rejection, turn down* / 却下
request*, apply for* / 申請
submit*, submission, hand in*, turn in* / 提出
reserve*, reservation, book*, booking / 予約
cancel*, cancellation / キャンセル、取り消し、取り消す、取消
change*, modify* / 変更、変える、変わる
update* / アップデート
extend*, extension / 延長、延ばす
reset* / リセット、再設定
set up*, setting up, setup, configure*, configuration / 設定、セットアップ
install*, installation / インストール
uninstall*, uninstallation / アンインストール
create*, creation / 作成、作る
delete*, deletion / 削除、消す
remove*, removal / 外す
add*, addition / 追加、加える
invite*, invitation / 招待
register*, registration / 登録
enroll*, enrol*, enrollment, join / 加入
enable*, turn on*, switch on* / 有効、オン
disable*, turn off*, switch off* / 無効、オフ
start*, begin*, began / 開始、始まる、始める
stop* / 停止、止める、止まる
end*, finish* / 終了、終わる、終える
open* / 開く、開ける
close* / 閉まる、閉める、閉じる
send*, sent / 送る、送付、送信
receive*, receipt of / 受け取る、受領、受信
share* / 共有、シェア
buy*, bought, purchase* / 購入、買う
sell*, sold / 売る、売却
order*, place an order for / 注文、発注
borrow* / 借りる
lend*, lent / 貸す、貸し出す、貸し出し、貸出
return*, give back*, gave back / 返却、返す
repair*, fix* / 修理、直す
replace*, replacement / 交換、取り替える
lose*, lost / 紛失、なくす、失くす
forget*, forgot, forgotten / 忘れる
break*, broke, broken / 壊れる、故障
steal*, stole, stolen / 盗む、盗難
pay*, paid, payment / 支払う、払う、支払い、支払
contact* / 連絡
inquire*, inquiry / 問い合わせる、問い合わせ
ask* / 聞く、尋ねる
ask for a favor / 頼む、依頼、お願いする
tell*, told, say*, said / 言う、伝える
report* / 報告
carry over*, carry forward*, roll over* / 繰り越し、繰り越す、繰越、持ち越す、持ち越し
unused / 未使用、使っていない、使わなかった、使い切れなかった
store*, kept, do we keep, save*, retain*, retention / 保存、保管
restore*, restoration / 復元、リストア
export* / エクスポート
import* / インポート
download* / ダウンロード
upload* / アップロード
connect*, connection / 接続、つながる、つなぐ、繋がる、繋ぐ
log in*, login, sign in* / ログイン、サインイン
log out*, logout, sign out* / ログアウト、サインアウト
print*, printing / 印刷
search* / 検索
find*, found / 探す、見つける
view*, see*, saw, seen / 見る、閲覧
check* / 確認
use*, used / 使う、利用、使用
read* / 読む
write*, wrote, written / 書く
calculate*, calculation / 計算
merge* / マージ、統合
restart*, reboot* / 再起動
escalate*, escalation / エスカレーション、エスカレ
happen*, occur*, occurrence / 起きる、起こる、発生
unsubscribe* / 配信停止、購読解除
get*, got / もらう、支給
hold, held / 開催、行う
take*, took, taken / 取る、取れる、取得
enter* / 入る、入れる、入館
new / 新しい、新規
old / 古い
temporary, temporarily / 一時的、一時
urgent, urgently / 緊急、至急
external, outside the company / 社外、外部
internal, within the company / 社内、内部
monday / 月曜日、月曜
tuesday / 火曜日、火曜
wednesday / 水曜日、水曜
thursday / 木曜日、木曜
friday / 金曜日、金曜
saturday / 土曜日、土曜
sunday / 日曜日、日曜
weekday / 平日
weekend / 週末
morning / 朝、午前
afternoon / 午後
night / 夜、夜間
today / 今日、本日
tomorrow / 明日
yesterday / 昨日
this week / 今週
next week / 来週、翌週
last week / 先週
this month / 今月
next month / 来月、翌月
last month, previous month / 先月、前月
this year / 今年、本年
next year, following year / 来年、翌年
last year, previous year / 去年、昨年、前年
fiscal year / 年度
quarter / 四半期
day / 日、日間
week / 週、週間
month / 月、か月、ヶ月、カ月、ヵ月、か月間、ヶ月間
year / 年、年間
hour / 時間
minute / 分、分間
times / 回
floor / 階
people, person / 人、名
yen, jpy / 円
dollar, usd / ドル
euro, eur / ユーロ
percent, % / パーセント、%
tokyo / 東京
osaka / 大阪
kyoto / 京都
nagoya / 名古屋
fukuoka / 福岡
sapporo / 札幌
yokohama / 横浜
japan / 日本
china / 中国
india / インド
united states, usa / アメリカ、米国
english / 英語
japanese / 日本語
"""

# What is asked, and the few words whose meaning the rule itself knows, by the names it knows them by.
ASKED = {
    "?when": "when / いつ",
    "?time": "what time, at what time / 何時",
    "?date": "what day, which day, what date, which date, on what day, on what date / 何日に、何月何日",
    "?weekday": "what day of the week, which day of the week / 何曜日、何曜",
    "?where": "where, in which place / どこ、何処",
    "?who": "who, whom / 誰、だれ、どなた",
    "?why": "why, for what reason, what is the reason / なぜ、何故、どうして、なんで",
    "?how": "how, what is the way, what is the way of, what are the steps, what is the procedure, what is the process,"
    " what do i do, what should i do, what to do / どう、どうやって、どうすればいい、どうすれば、どうしたらいい、どうしたら、どのように、どのようにすれば、どのようにして",
    "+way": "the way, the best way, the steps, procedure, the procedure, the process for, the process of, process for"
    " / 方法、やり方、仕方、手順、手続き、対処方法、対処法、対処",
    "?amount": "how much, what amount / いくら、幾ら、何円",
    "?number": "how many, what number of, the number of / いくつ",
    "?long": "how long, for how long, how much time, what length of time / どのくらいの期間、どれくらいの期間、どのくらいの間、どれくらいの間",
    "+period": "period, duration / 期間",
    "?often": "how often, how frequently, at what frequency / どのくらいの頻度、どれくらいの頻度、どのくらいおきに",
    "+frequency": "frequency / 頻度",
    "?deadline": "by when / いつまでに",
    "?outcome": "what happens, what happen, what will happen / どうなる",
    "?which": "which / どの、どんな、どれ、どちらの、どういう",
    "+may": "can, may i, may we, possible, allowed, permitted, able, ok, okay, could / できる、可能、許可、て良い、ても良い、て大丈夫、ても大丈夫、て構わない、ても構わない",
    "+need": "need, needs, needed, necessary, require, requires, required, mandatory, obligatory / 必要、要る、必須",
    "+must": "must, have to, has to, need to, needs to / 必要がある、べき、なければならない、なければいけない、ないといけない、なくてはいけない、"
    "なければなりません、なければいけません、ないといけません",
    "+exist": "is there, are there, available, do we have, does the company have, exist, exists / ある",
    "-not": "not, no, cannot, never / ない、ず、ぬ、まい、無い",
    "-unneeded": "unnecessary, optional / 不要、要らない、必要ない、任意",
    "-forbidden": "forbidden, prohibited, banned, not allowed / 禁止、不可",
}

# Meanings that may as well stand where another of their kind stands, so that who does what, from where, matters.
PEOPLE = _set(
    "permanent employee, part-time employee, contract employee, temporary staff, contractor, employee, intern, new hire,"
    " manager, colleague, customer, guest, vendor, spouse, child, parent, father, mother, man, woman, administrator, user,"
    " department, human resources, accounting, general affairs, legal team, sales department, marketing, company, help desk,"
    " person in charge, approver, people, project manager"
)
PLACES = _set(
    "tokyo, osaka, kyoto, nagoya, fukuoka, sapporo, yokohama, japan, china, india, united states, abroad, domestic, office,"
    " head office, yen, dollar, euro, english, japanese, production, staging, test environment, development environment"
)

# Stood before or behind, they say when, from where, without what, over or under how many.
RELATIONS = {
    "from": "from / から",
    "until": "until, till / まで",
    "before": "before, prior to / 前、前に、以前",
    "after": "after / 後、後に、てから",
    "since": "since / 以降、以来",
    "without": "without / なし、無し、なしに、なしで、ずに、抜き",
    "except": "except, except for, other than, excluding, apart from / 以外、を除く、を除いて",
    "than": "than / より、よりも",
    "at least": "at least / 以上",
    "at most": "at most, up to, no more than / 以下",
    "over": "over, more than, above, exceeding / 超、を超える、を超えて、を超えた、より多い",
    "under": "under, less than, fewer than, below / 未満、より少ない",
    "within": "within / 以内、内、以内に",
    "by": "by / によって、により",
    "between": "between / 間",
    "every": "every, each / 毎、ごと、ごとに、おき、おきに、ずつ",
    "only": "only / だけ、のみ、しか",
}
