"""The words by which a message is told to be a greeting, a calculation, about the team … as patterns over normal forms."""

import re

OPENING = re.compile(
    r"^(?:(?:<@[^>]+>|@\S+|hi|hello|hey|hiya|yo|howdy|greetings|good (?:morning|afternoon|evening|day)|morning|dear|folks|all|everyone|team|there|guys|kotae|bot"
    r"|(?:quick|one|a|just a|another)(?: quick)? question|sorry(?: to bother you)?|excuse me|thanks in advance|thank you in advance|hope you(?:'re| are) (?:well|doing well)"
    r"|こんにちは|こんばんは|おはよう(?:ございます)?|お疲れ(?:様|さま)(?:です|でした)?|おつかれ(?:さま|様)?(?:です|でした)?|お世話になって(?:い|お)ります|お世話になります|はじめまして|初めまして"
    r"|やあ|どうも|すみません(?:が)?|すいません(?:が)?|失礼(?:いた)?します|恐れ入りますが|お忙しいところ|皆さん|みなさん|各位|教えてください(?=[、。])|(?:ちょっと)?質問(?:です|があります|なんですが|ですが)?|ご?相談(?:です|があります)?"
    r"|よろしくお願い(?:し|いたし|致し)ます|👋|🙏|😊)(?![a-z])(?:[\s、。,.!！~〜…:：;-]|が、)*)+"
)

GREETING = re.compile(
    r"(?:hi|hello|hey|hiya|howdy|yo|sup|what'?s up|good (?:morning|afternoon|evening|day|night)|morning|how are you(?: doing)?(?: today)?|how'?s it going|nice to meet you"
    r"|こんにち[はわ]|こんばん[はわ]|おはよう(?:ございます)?|お疲れ(?:様|さま)(?:です|でした)?|おつかれ(?:さま|様)?(?:です|でした)?|はじめまして|初めまして|どうも|やあ|やっほー|ハロー|よろしく(?:お願い(?:し|いたし|致し)ます|ね)?"
    r"|元気(?:です|でした)?か?|調子はどう(?:です)?か?|お元気ですか|there|all|everyone|team|folks|again|today|kotae|bot|you|みなさん|皆さん|今日も|一日|ございます)"
)
THANKS = re.compile(
    r"(?:thanks|thank you|thx|ty|cheers|much appreciated|appreciate(?: it| that)?|great|perfect|awesome|nice|cool|got it|ok(?:ay)?|understood|i see|makes sense|that (?:helps|helped|works|worked|makes sense)|you(?:'re| are) (?:great|the best|awesome)|good (?:bot|job|work)|well done|very|so|a lot|much|for (?:the|your) (?:help|answer|info|reply|quick \w+)|never ?mind|no problem|sounds good|will do"
    r"|ありがとう(?:ござい(?:ます|ました))?|ありがと|感謝(?:です|します|いたします)?|助かり(?:ます|ました)|助かった|どうも|サンキュー|了解(?:です|しました|いたしました)?|承知(?:です|しました|いたしました)?|分かりました|わかりました|分かった|わかった|なるほど|理解(?:です|しました)|すごい(?:です)?ね?|さすが(?:です)?ね?|いいね|大丈夫です|ok(?:です)?|おけ|とても|よく|すごく|大変|本当に|教えてくれて|回答|返信|早速|の|も|で|と|ね|よ|！)"
)
FAREWELL = re.compile(
    r"(?:bye|goodbye|good ?bye|see you(?: later| tomorrow| soon)?|see ya|later|have a (?:good|nice|great) (?:day|one|weekend|evening)|good night|take care|さようなら|またね|また(?:明日|今度|後で)|お先に(?:失礼(?:し|いたし)ます)?|失礼(?:し|いたし)ます|おやすみ(?:なさい)?|じゃあね|バイバイ)"
)
FILL = re.compile(r"^[\W_ー〜～\U0001f000-\U0001faff]*$")

IDENTITY = re.compile(
    r"\bwho (?:are|r) (?:you|u)\b|\bwhat are you\b(?! (?:talking|referring|waiting))|\bwhat(?:'s| is) your name\b|\bare you (?:a |an )?(?:bot|human|robot|ai|real|chatgpt|gpt|gemini|person|machine|llm)\b|\bwho (?:made|built|created|wrote) you\b|\bintroduce yourself\b|\btell me about yourself\b|\bwhich (?:model|llm|ai) are you\b|\bwhat model are you\b|\bhow old are you\b"
    r"|(?:あなた|君|きみ|お前|おまえ|あんた|kotae|ボット|bot)(?:さん)?(?:って|は|の(?:名前|正体)(?:は|って)?|について)?(?:いったい)?(?:誰|だれ|何者|なにもの|何(?:です|なの|\?|？|$)|なに|人間|ai|ロボット|自己紹介)|^(?:あなた|君|きみ|お前|kotae|ボット|bot)の(?:お?名前|正体)(?:は|って|を).{0,12}$|自己紹介(?:して|を|お願い)|^お?名前(?:は(?:何|なん)|を教えて|は[?？])(?:です)?|^あなたの名前"
)
HELP = re.compile(
    r"^(?:help|ヘルプ|(?:kotae|ボット|bot)?の?使い方|\?)[?？]?$|\bwhat (?:can|do|could) you (?:do|help|answer|know)\b|\bhow (?:do|can|should) i (?:use|talk to|ask) (?:you|this bot|kotae)\b|\bhow do you work\b|\bwhat (?:are your|kind of) (?:capabilities|features|questions|commands)\b|\bwhat can i ask\b|\bcan you help(?: me)?\??$|\bwhat do you know\b|\byour (?:features|capabilities)\b"
    r"|(?:あなた|君|kotae|ボット|bot|きみ)(?:に|は|って)?.{0,4}(?:何が(?:でき|出来)|何を(?:聞|答え|知って|して)|できること|どう使|使い方|どうやって使)|^(?:ここでは)?何が(?:でき|出来)(?:ます|る)|^できることは|^何を(?:聞い|質問し)(?:たら|て|ても)|^どんな(?:質問|こと)(?:が|に|を)(?:でき|答え|聞)|どうやって使(?:うの|えば|います)(?:か|いい)?[?？。]?$"
)
INJECTION = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass|skip|drop)\b.{0,40}\b(?:instructions?|prompts?|rules|guidelines|guardrails|directions|restrictions|constraints|programming|training)\b"
    r"|\b(?:your|system|initial|original|hidden|secret|developer|full|above|previous) (?:system )?(?:prompts?|instructions?|messages?|rules)\b.{0,30}\b(?:verbatim|word for word|exactly|in full|out loud|above)\b"
    r"|\b(?:show|print|reveal|repeat|display|output|leak|tell|give|dump|expose|share|write|copy|paste|translate|summari[sz]e|what(?:'s| is| are| were))\b.{0,30}\b(?:your|the|its) (?:(?:initial|original|hidden|secret|full|entire|complete|internal|developer)\s*)*(?:system ?(?:prompts?|messages?|instructions?)|(?<=your )prompt|(?<=your )(?:instructions|rules|configuration|api ?keys?|tokens?|secrets?|credentials?|environment)|(?:initial|hidden|secret|original|developer) (?:prompts?|instructions?))"
    r"|\b(?:you are|act|behave|respond|pretend)\b.{0,15}\b(?:now|as if|to be|like)?\b.{0,20}\b(?:dan|jailbroken|unrestricted|unfiltered|no (?:restrictions|rules|limits)|evil|developer mode|another ai|without (?:restrictions|rules|limits|filters))\b|\b(?:jailbreak|do anything now|developer mode|god mode|sudo mode)\b"
    r"|\brepeat (?:everything|all|the (?:text|words)) (?:above|before|you were)\b|\bnew instructions?:|\[(?:system|inst)\]|<\|?(?:system|im_start)\|?>|^system:"
    r"|(?:これまで|今まで|以前|上記|前|すべて|全て|全部|元|最初|与えられた)の.{0,8}(?:指示|命令|プロンプト|ルール|制約|設定).{0,12}(?:無視|忘れ|破棄|取り消|解除|上書き|従わ)|(?:指示|命令|ルール|制約|制限|ガイドライン)(?:は|を|を全て|をすべて|なんて)?(?:無視|忘れ|破棄|解除)"
    r"|(?:あなた|君|きみ|お前|自分|ボット|bot|kotae)(?:自身)?(?:の|に(?:与えられた|設定された)|が(?:受け取った|持つ|持っている))(?:システム|内部|初期|隠された|秘密の)?.{0,4}(?:プロンプト|指示|指示文|命令文|命令|apiキー|トークン|認証情報|秘密|環境変数|設定内容)(?:は(?:何|なに|どんな)|を|の(?:内容|全文))"
    r"|(?:システムプロンプト|システムメッセージ|システム指示|初期プロンプト|内部プロンプト|隠しプロンプト)(?:(?:を|の(?:全文|内容|中身)を?|って|は).{0,10}|(?:全部|全て|すべて|そのまま|今すぐ|[、\s])*)(?:表示|出力|見せ|教え|開示|公開|書き出|全文|そのまま|なに|何)|(?:脱獄|ジェイルブレイク|開発者モード)(?:し|モード|に|を|で)|(?:制限|検閲)(?:の|が)ない(?:ai|モード|アシスタント)"
)

# What marks a message as being about this team: then it is searched, whatever else it looks like.
TEAM = re.compile(
    r"\b(?:we|our|ours|us|my team|the team|company|office|intranet|in-?house|internal(?:ly)?|colleague|coworker|employee|handbook|wiki|runbook|policy|policies|guidelines?|onboarding|standards?|convention|style guide|approved?|allowed|permitted"
    r"|production|prod|staging|deploy(?:ment|s|ed)?|our repo|repo(?:sitory)?|ci|pipeline|jenkins|vpn|ticket|jira|confluence|slack|zoom|expense|reimburse\w*|vacation|pto|payroll|salary|manager|hr|helpdesk|help desk|project|customer|client|server|cluster|license|laptop|channel|who (?:owns|maintains|approves|is responsible|do i|should i|can i)|(?:where|how) do i (?:request|get access|submit|apply|report|book|order|find the|find our)|collections?|documents?|docs|readme|meeting)\b"
    r"|社内|弊社|当社|自社|我が社|会社|うち(?:の|で|は)|チーム|部署|部門|部内|私たち|我々|弊チーム|本番|ステージング|検証環境|開発環境|デプロイ|リリース|リポジトリ|規約|規程|規定|規則|ガイドライン|ポリシー|手順書|ドキュメント|資料|マニュアル|ハンドブック|wiki|申請|承認|経費|精算|有給|休暇|給与|勤怠|出張|領収書|備品|貸与|入社|退職|上長|上司|担当|窓口|総務|人事|経理|情シス|ヘルプデスク|顧客|案件|プロジェクト|サーバ|環境構築|vpn|アカウント|権限|チャンネル|会議|使って(?:い|る|ます|よい|いい)|利用して(?:い|る|ます)|採用して(?:い|る)|標準|社員|オフィス|コレクション"
)
LANGUAGES = r"python|javascript|typescript|java|c\+\+|c#|golang|go言語|rust|ruby|php|perl|swift|kotlin|scala|haskell|sql|html|css|bash|shell|シェルスクリプト|powershell|正規表現|regex|regular expressions?|react|vue|numpy|pandas|django|flask|node\.?js|git|vim|lua|elixir|excel|エクセル|スプレッドシート|latex|markdown|json|yaml|docker|c言語|パイソン|ジャバスクリプト"
CONSTRUCTS = (
    r"lists?|arrays?|dict(?:ionar(?:y|ies))?|tuples?|sets?|strings?|integers?|floats?|loops?|for ?loop|while|functions?|lambda|class(?:es)?|inheritance|decorators?|generators?|iterators?|comprehensions?|async(?:io)?|await|promises?|closures?|threads?|exceptions?|try|catch|pointers?|syntax|variables?|types?|generics|interfaces?|enums?|modules?|imports?|joins?|left join|inner join|group by|select|index(?:es)?|sort(?:ing)?|reverse|recursion|regex|regular expressions?|hash ?maps?|stack|queue|binary (?:search|tree)|linked list|algorithm|big o|merge|rebase|cherry-?pick|commit|branch|stash|vlookup|pivot|flexbox|grid|selector|dom|garbage collect\w+|mutable|immutable|semicolons?|operators?|f-?strings?|null|none|undefined|boolean|datetime|json|csv|parse|read a file|open a file|file"
    r"|リスト|配列|辞書|タプル|文字列|整数|ループ|繰り返し|for文|while文|if文|関数|ラムダ|クラス|継承|デコレータ|ジェネレータ|イテレータ|内包表記|非同期|例外|ポインタ|構文|文法|変数|型|ジェネリクス|インターフェース|列挙|モジュール|インポート|結合|ソート|並べ替え|逆順|再帰|正規表現|ハッシュ|スタック|キュー|二分探索|アルゴリズム|マージ|リベース|コミット|ブランチ|関数型|オブジェクト指向|演算子|三項演算子|ファイル(?:を|の)(?:読|開|書)|改行|条件分岐|日付|重複"
)
PROGRAMMING = re.compile(
    rf"(?:^|[^a-z])(?:{LANGUAGES})(?![a-z]).{{0,60}}(?:{CONSTRUCTS})|(?:{CONSTRUCTS}).{{0,40}}(?:\bin|で|using|with|of)?\s*(?<![a-z])(?:{LANGUAGES})(?![a-z])"
    rf"|\b(?:write|code|implement|create|generate)\b.{{0,30}}\b(?:function|script|program|code|class|algorithm|query|regex|snippet|one-liner|unit test)\b|(?:関数|スクリプト|プログラム|コード|クエリ|正規表現)を(?:書い|作っ|生成し|実装し)て"
    rf"|\bdifference between\b.{{0,40}}\b(?:list|tuple|array|let|var|const|==|===|class|struct|process|thread|interface|abstract|get|post|left join|inner join|tcp|udp|stack|heap|null|undefined|merge|rebase)\b"
    rf"|\bwhat(?:'s| is| are) (?:a |an |the )?(?:closures?|recursion|polymorphism|decorators?|list comprehensions?|pointers?|lambda|big o(?: notation)?|binary (?:search|tree)|linked list|hash ?map|garbage collection|design patterns?|object.oriented programming|functional programming|dependency injection|singleton|mutex|deadlock|race condition)\b"
    rf"|^(?:クロージャ|再帰|ポリモーフィズム|デコレータ|内包表記|ポインタ|オブジェクト指向|関数型プログラミング|二分探索|デザインパターン|ハッシュテーブル|ガベージコレクション|デッドロック)(?:と|って|とは)"
)
CREATIVE = re.compile(
    r"\b(?:write|compose|make up|create|draft|generate|give me)\b.{0,20}\b(?:poem|haiku|song|story|essay|joke|limerick|novel|lyrics|rap|screenplay|cover letter|birthday (?:message|card)|slogan)s?\b|\btell me (?:a|another|some) (?:joke|story|fun fact|riddle)s?\b|\b(?:translate|proofread|rewrite|paraphrase)\b.{0,60}(?:\b(?:into|to|in) (?:english|japanese|french|german|spanish|chinese|korean)\b|[:：\"“「])|\bhow do (?:you|i) say\b.{0,40}\bin (?:english|japanese|french|german|spanish|chinese|korean)\b|\b(?:recommend|suggest)\b.{0,20}\b(?:movie|book|song|restaurant|recipe|anime|game|novel)s?\b|\brecipe for\b"
    r"|(?:詩|俳句|川柳|短歌|小説|物語|歌詞|作文|エッセイ|ポエム|ラップ|キャッチコピー|誕生日メッセージ)(?:を|でも)?.{0,6}(?:書い|作っ|詠ん|考え|つくっ|一つ|ひとつ)|(?:冗談|ジョーク|面白い話|小話|なぞなぞ|ダジャレ|怖い話)(?:を|でも)?.{0,6}(?:言っ|教え|して|話し|聞か|一つ|ひとつ)|(?:英語|日本語|中国語|韓国語|フランス語|ドイツ語|スペイン語)(?:に|へ)(?:翻訳|訳し)|を(?:翻訳|校正|添削)して(?:ください|くれ|ほしい)?|(?:英語|フランス語|ドイツ語|スペイン語|中国語|韓国語)で(?:何|なん)(?:と|て)(?:言|いう|いい)|(?:おすすめ|お勧め|オススメ)の(?:映画|本|曲|レシピ|アニメ|ゲーム|小説|漫画|レストラン|ランチ)|の(?:レシピ|作り方を教えて)"
)
NOW = re.compile(
    r"\bweather\b|\bwill it rain\b|\bwhat time is it\b|\bwhat(?:'s| is) the (?:time|date)(?: now| today)?\??$|\bwhat(?:'s| is) today'?s? (?:date|the date)\b|\bwhat day is (?:it|today)\b|\b(?:latest|today'?s) news\b|\b(?:stock price|exchange rate)\b.{0,20}(?:today|now|of)|\bwho won\b.{0,40}(?:game|match|world cup|election|super bowl)"
    r"|(?:今日|明日|明後日|週末|今週|東京|大阪|京都|外)の?(?:お?天気|気温)|天気(?:は|を|予報|どう|いい|が)|雨(?:が)?降(?:り|る)|^(?:今|いま)(?:は)?何時|^今日(?:は|って)何(?:日|曜日)|(?:今日|最新|最近)の(?:ニュース|株価|為替)|(?:株価|為替レート|ドル円)(?:は|を|教え)"
)
COUNTRY = r"japan|france|germany|italy|spain|china|india|canada|brazil|australia|egypt|mexico|russia|korea|england|the uk|the us|the usa|the united (?:states|kingdom)|america|portugal|peru|norway|sweden|finland|kenya|thailand|vietnam|turkey|greece|poland|austria|switzerland|argentina|nepal|the world|earth|europe|asia|africa"
PLACES_JA = r"日本|フランス|ドイツ|イタリア|スペイン|中国|インド|カナダ|ブラジル|オーストラリア|エジプト|メキシコ|ロシア|韓国|イギリス|アメリカ|ポルトガル|ペルー|ノルウェー|スウェーデン|タイ|ベトナム|トルコ|ギリシャ|世界|地球|太陽|月|ヨーロッパ|アジア|アフリカ"
WORLD = re.compile(
    rf"(?:^|\bwhat(?:'s| is| are)|\bwho(?:'s| is))(?: the)? ?(?:current )?(?:capital|population|currency|president|prime minister|king|queen|flag|national anthem|official language|area|gdp) (?:city )?of (?:{COUNTRY})\b|\b(?:tallest|highest|longest|largest|biggest|deepest|smallest|fastest|oldest)\b.{{0,25}}\b(?:mountain|river|ocean|lake|desert|country|animal|planet|continent|building|tree|city)\b.{{0,12}}(?:\bin (?:the world|{COUNTRY})\b|$|\?)"
    r"|\bspeed of (?:light|sound)\b|\bboiling point of\b|\bchemical (?:symbol|formula)\b|\bhow far (?:away )?is the (?:moon|sun)\b|\bdistance (?:to|from|between).{0,20}\b(?:moon|sun|earth)\b|\bwho (?:wrote|painted|composed|discovered|invented|directed)\b.{0,10}(?:hamlet|romeo|the mona lisa|mona lisa|macbeth|gravity|penicillin|the telephone|the light ?bulb|electricity|radium|don quixote|war and peace|the odyssey|star wars|guernica)|\bwhen did (?:world war|wwi|wwii|the (?:second|first) world war|the roman empire|the berlin wall)|\bwhy is the sky blue\b|\bmeaning of life\b|\bhow many (?:planets|continents|oceans|countries (?:are )?(?:there )?in)\b|\bexplain (?:quantum \w+|relativity|photosynthesis|black holes?|gravity|evolution)\b|\bwhat is (?:photosynthesis|quantum \w+|relativity|a black hole|gravity|dna)\b"
    rf"|(?:{PLACES_JA})の(?:首都|人口|通貨|面積|大統領|首相|国旗|国歌|公用語|大きさ|重さ|直径|温度|距離)|(?:世界|日本|地球)(?:一|で(?:一番|最も|いちばん))(?:高い|大きい|長い|広い|深い|古い|速い|小さい)|光の速さ|光速(?:は|って)|音速(?:は|って)|水の沸点|元素記号|(?:モナ・?リザ|ハムレット|源氏物語|枕草子|坊っちゃん|吾輩は猫である|走れメロス|ひまわり|運命|相対性理論|万有引力|電話|電球)(?:を(?:書い|描い|作曲し|発見し|発明し|作っ)た(?:の|人)は|の(?:作者|発明者|発見者|作曲者)は)|(?:第[一二三]次世界大戦|関ヶ原の戦い|明治維新|フランス革命|鎌倉幕府)(?:は|が|って|の).{{0,10}}(?:いつ|何年|終|始)|空(?:は|が)(?:なぜ|どうして)青|人生の意味|太陽系の惑星|(?:量子力学|相対性理論|光合成|ブラックホール|進化論)(?:と|って|を|について|とは)"
)
SMALLTALK = re.compile(
    r"^(?:i(?:'m| am) (?:so |very |really )?(?:tired|bored|hungry|happy|sad|sleepy|stressed|back)|how was your (?:day|weekend)|do you (?:ever |really |actually )?(?:like|love|dream|sleep|eat|have feelings|have a favou?rite)\b.*|what(?:'s| is) your favou?rite\b.*|(?:it'?s )?(?:nice|beautiful|lovely) (?:day|weather)\b.*|happy (?:friday|monday|new year|birthday)|tgif|lol|haha+|i love you|are you (?:ok|okay|there|happy|busy|free|awake|online)|you there|testing|test|ping|let'?s chat|merry christmas|congrat\w*|long time no see|what do you think about life)[\s.!?]*$"
    r"|^(?:今日は|もう|ちょっと|すごく|めっちゃ|最近|なんか)*(?:眠い|眠たい|疲れた|お腹(?:が)?(?:すい|空い)た|暇|ひま|暑い|寒い|楽しい|嬉しい|悲しい|辛い|忙しい|帰りたい|だるい|いい天気)(?:です|だ|な|ね|よ|なあ|なぁ|わ|ー|〜|、|。|！|!|けど|…|\.)*$|好きな(?:食べ物|色|映画|音楽|もの|動物|季節|スポーツ)(?:は|って|を)|^(?:あけまして|明けまして)おめでとう|^(?:メリークリスマス|おめでとう)|^(?:テスト|てすと|ping|もしもし|聞こえ(?:ます|てます)か|いますか|起きて(?:る|ます)か?)[?？。]*$|^(?:雑談|おしゃべり)(?:しよう|したい|しましょう)|^(?:笑|www+|草|はは+)$|(?:彼女|彼氏|恋人)(?:は|って)?い(?:ます|る)|^愛して(?:る|ます)|^今日(?:は|も)?(?:一日)?頑張|いい天気(?:です)?ね"
)
GENERAL_KNOWLEDGE = re.compile(
    r"wiki|百科|encyclop|事典|news|ニュース|trivia|雑学|general knowledge|一般(?:知識|常識)|地理|geograph|歴史|history"
)

COURTESY = re.compile(f"(?:{FAREWELL.pattern}|{THANKS.pattern}|{GREETING.pattern})")
