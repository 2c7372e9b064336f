"""A message in chat as a search query: courtesy, filler and what only asks taken away; names and numbers left as written."""

import re

from agent.routing import opened
from retrieval.text import language_of

_POLITE_END_JA = re.compile(
    r"(?:(?:について|に関して|に関する(?:こと|情報)|の(?:こと)?)?(?:を)?(?:(?:お)?教えて|知りたい|お?聞きし?たい|お?伺いし?たい|確認し?たい|調べて|探して|案内して|説明して|まとめて|お?聞かせ)(?:ほしい|欲しい|もらえ|いただけ|頂け|くださ|下さ|くれ|おり|い)?(?:のです|んです|です|ます|ませ|る|ない|まし)?(?:でしょう|たら|と(?:嬉しい|幸い|助かり)|と|ん)?(?:か|が|けど|けれど|ね|よ|い|です|ます|幸いです|助かります)*"
    r"|(?:お?分かり|お?わかり|ご存[知じ])(?:の方|に(?:なり|なる)?|です|になります)?(?:ます|いらっしゃい(?:ます)?|い(?:ます|ませんか))?(?:でしょう)?(?:か|ね)?|(?:誰か|どなたか)?(?:分かる|わかる|知って(?:い)?る)(?:人|方)?(?:は|が)?(?:い(?:ます|る|ませんか)|いらっしゃいますか)?(?:か|ね)?"
    r"|(?:よろしく)?お願い(?:いた|致)?(?:し|でき)?ます(?:か|でしょうか)?|(?:で|って|と)したっけ|(?:でし|だ|まし|ん(?:だ|でし))?たっけ|だっけ|っけ|(?:なん|の)?(?:でしょう|です|だろう|かな)(?:か|かね|ね)?|んですが|のですが|ですけど|なのか?|かしら)[\s。？?！!、…]*$"
)
_LEADING_JA = re.compile(
    r"^(?:(?:あの[うー]?|え[ーっ]*と|ええと|その[、,]|ちなみに|ところで|では|じゃあ?|それでは|そういえば|ついでに|あと|また|さらに|加えて|それと|なお|因みに|で|すみません(?:が)?|恐れ入りますが|お手数ですが|可能であれば|できれば|念のため|誰か|どなたか)[、,\s]+|(?:ちなみに|ところで|そういえば|じゃあ|それでは|もし(?:よろしければ|ご存じでしたら))[、,\s]*)+"
)
LEADING_EN = re.compile(
    r"^(?:(?:so|and|also|ok(?:ay)?|well|but|or|now|then|please|um+|hmm+|btw|by the way|just (?:wondering|curious|checking)|i(?:'m| am| was)? (?:just )?(?:wondering|curious|trying to (?:find out|figure out|understand))(?: about| if| whether)?|does any(?:one|body) (?:here )?(?:know|remember|have (?:an idea|a clue))(?: about| if| whether| of)?|do(?:es)? (?:you|anybody|any of you|we) (?:happen to )?know(?: about| if| whether)?|any(?:one|body) knows?(?: about| if| whether)?"
    r"|(?:can|could|would|will) (?:you|someone|anyone|somebody|anybody)(?: please| kindly| quickly)? (?:please )?(?:tell|remind|explain|show|let|help|point|clarify|give)(?: (?:me|us|to me))?(?: (?:know|understand|to|about|with|out|info(?:rmation)? (?:on|about)))*|(?:please )?(?:tell|remind|show|explain|give)(?: to)? (?:me|us)(?: about)?|i(?:'d| would)? (?:like|want|need) to (?:know|ask|find out|understand|check)(?: about| if| whether)?|(?:i have )?(?:a )?(?:quick )?question(?: about| on|:)?|remind me|any idea(?:s)?(?: about| on| of)?|what do we know about|is there (?:any|some) (?:info(?:rmation)?|docs?|documentation) (?:on|about)|what(?:'s| is) the deal with|help me (?:understand|with))[\s,:;]+)+",
    re.IGNORECASE,
)
_TRAILING_EN = re.compile(
    r"[\s,]+(?:please|thanks(?: in advance| a lot)?|thank you(?: in advance| so much)?|thx|cheers|again|by the way|btw|anyone|anybody|for me|if you know|if possible|right|do you know|you know|though|exactly)(?=[\s?.!]*$)",
    re.IGNORECASE,
)
QUESTION_JA = re.compile(
    r"いつ(?:まで|から|ごろ|頃|まで)?|どこ(?:に|で|へ|から|まで)?|だれ|誰|どなた|なに|何(?:が|を|に|で|か|と|の)?|なぜ|何故|どうして|どう(?:やって|すれば(?:いい|よい)?|したら(?:いい|よい)?|する|なる|なって(?:い)?|いう)?|どのよう(?:に|な)|どの(?:くらい|ぐらい|程度|ような)?|どれ(?:くらい|ぐらい|だけ)?|どちら|どんな|いくら|いくつ|どうなります"
    r"|何(?:日|時間?|年|か月|ヶ月|人|円|回|個|件|%|%|割)(?:まで|から|前|以内|間)?|(?:は|が)?(?:あり|い|でき|なり|し|され|もらえ|使え|いただけ)?ます(?:か|でしょうか)?|ですか|でしょうか|(?:いい|よい|良い)(?:の|ん)?です?か?|ください|は$"
)
QUESTION_EN = re.compile(
    r"\b(?:what(?:'s| is| are| was| were| do| does| did| should| would| can)?|who(?:'s| is| are)?|whom|whose|when(?:'s| is| are| do| does)?|where(?:'s| is| are| do| does| can)?|why|which|how(?:'s)?(?: (?:much|many|long|often|soon|far|do|does|can|should|to))?|is|are|was|were|do|does|did|can|could|should|would|will|may|must|have|has|i|we|you|there|a|an|the|my|our|us|me|be|it|to|of|for)\b"
)

INTERROGATIVE_JA = re.compile(
    r"いつ|どこ|誰|だれ|どなた|何|なに|なぜ|どう|どの|どれ|どちら|どんな|いくら|いくつ|(?:ます|です|でしょう)か"
)
INTERROGATIVE_EN = re.compile(
    r"^(?:who|whom|whose|what|when|where|why|which|how|is|are|do|does|did|can|could|should|will|may|must)\b",
    re.IGNORECASE,
)


def stripped(text: str) -> str:
    """`text` as a search query: greetings, courtesy and filler gone; names, numbers and identifiers as written."""
    query = re.sub(r"\s+", " ", opened(text) or text).strip(" 、。，,.!！?？…〜~")
    if language_of(query) == "ja":
        query = _LEADING_JA.sub("", query)
        for _ in range(3):
            shorter = _POLITE_END_JA.sub("", query).rstrip(" 、。！!?？…")
            if shorter == query or len(shorter) < 2:
                break
            query = shorter
        query = re.sub(r"(?:って(?=[、\s]|$)|について|に関して)$", "", query)
        return re.sub(r"(?<=[^\s])(?:は|が|を|って|とは)$", "", query).strip(" 、。") or text.strip()
    query = LEADING_EN.sub("", query)
    for _ in range(2):
        query = _TRAILING_EN.sub("", query).rstrip(" ,.!?")
    return query.strip() or text.strip()


def keywords(query: str) -> str:
    """`query` reduced to its nouns and names as written: no interrogatives, particles or modifiers."""
    if language_of(query) == "ja":
        words = re.findall(
            r"[A-Za-z0-9ァ-ヴー一-龯々_+#.-]{2,}|[一-龯](?=[はがをのにと]|$)", re.sub(QUESTION_JA, " ", query)
        )
        words = [word for word in words if not re.fullmatch(r"場合|方法|必要|可能|以外|今回|自分|弊社|当社|社内", word)]
    else:
        plain = re.sub(QUESTION_EN.pattern, " ", query, flags=re.IGNORECASE)
        words = [word for word in re.findall(r"\w(?:[\w.'+#-]*\w)?[+#]*", plain) if word.lower() not in LIGHT]
    return " ".join(dict.fromkeys(words))


# What stands around a question and is in no way what it is about.
FILLER = """
soon tell think know there anyone anybody someone somebody everyone please just really actually need want like get got use using
used supposed able allowed going go do does did can could should would will may might must have has had been being was were is
are be am when where what which who whom whose why how if whether that this these those it its they them their we us our you your
i me my mine one ones thing things way ways kind type sort called named many much long often about happen happens hey hi ok until
before after between during while without first ever still yet exactly make made take give let say said ask see look find keep currently usually people case
使う 使え 使い いい よい 良い する ある いる できる 出来る もらえる もらう くれる なる 教える 何 どこ いつ 誰 どう どの どれ いくら
とき 時 場合 方 こと もの ため 必要 方法 やり方 ください 知る 分かる 言う そもそも 気 際 以内 自分 私 皆 人
"""

LIGHT = frozenset(
    [
        "about",
        "any",
        "anyone",
        "need",
        "needs",
        "get",
        "got",
        "getting",
        "make",
        "made",
        "use",
        "using",
        "used",
        "new",
        "old",
        "current",
        "really",
        "actually",
        "currently",
        "usually",
        "please",
        "if",
        "when",
        "with",
        "in",
        "on",
        "at",
        "by",
        "from",
        "as",
        "into",
        "out",
        "up",
        "and",
        "or",
        "not",
        "no",
        "so",
        "that",
        "this",
        "these",
        "those",
        "just",
        "only",
        "also",
        "still",
        "ever",
        "go",
        "want",
        "wants",
        "like",
        "know",
        "work",
        "works",
        "thing",
        "things",
        "much",
        "many",
        "some",
        "all",
        "one",
        "ones",
        "per",
        "their",
        "they",
        "them",
        "your",
        "his",
        "her",
        "who's",
        "what's",
        "allowed",
        "supposed",
        "able",
        "going",
    ]
)
