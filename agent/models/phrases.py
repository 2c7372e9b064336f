"""What the extractive model says of its own accord, in both languages."""

from collections.abc import Mapping

from agent.routing import Kind
from retrieval.text import Language, Said


def quoted(text: str, language: Language) -> str:
    """`text` in the language's quotation marks, braces made harmless."""
    return f"「{text}」" if language == "ja" else f"“{text}”"


NO_SEARCH: Mapping[Kind, Said] = {
    "greeting": Said(en="This is a greeting; there is nothing to look up.", ja="ご挨拶なので、検索は必要ありません。"),
    "thanks": Said(en="This is thanks; there is nothing to look up.", ja="お礼の言葉なので、検索は必要ありません。"),
    "farewell": Said(
        en="This is a goodbye; there is nothing to look up.", ja="終わりのご挨拶なので、検索は必要ありません。"
    ),
    "smalltalk": Said(en="This is small talk; there is nothing to look up.", ja="雑談なので、検索は必要ありません。"),
    "identity": Said(
        en="This is about me; there is nothing to look up.", ja="私自身についてのご質問なので、検索は必要ありません。"
    ),
    "help": Said(
        en="This is about how to use me; there is nothing to look up.",
        ja="使い方のご質問なので、検索は必要ありません。",
    ),
    "arithmetic": Said(
        en="This is a calculation; I compute it instead of searching.", ja="計算なので、検索せずに求めます。"
    ),
    "programming": Said(
        en="This is general programming, not about the team; the documents would not help.",
        ja="チームの資料ではなく一般的なプログラミングのご質問なので、検索は行いません。",
    ),
    "world": Said(
        en="This is general knowledge, not about the team; the documents would not help.",
        ja="チームの資料ではなく一般的な知識のご質問なので、検索は行いません。",
    ),
    "creative": Said(
        en="This asks for a text of my own; the documents would not help.",
        ja="文章の作成のご依頼なので、検索は行いません。",
    ),
    "now": Said(
        en="This is about right now; the documents would not know.",
        ja="現在の状況についてのご質問なので、検索は行いません。",
    ),
    "injection": Said(
        en="This asks me to set my instructions aside or to disclose them; I do not.",
        ja="私への指示の変更や開示を求める内容なので、応じません。",
    ),
    "empty": Said(en="There is no question in this.", ja="ご質問の内容がありません。"),
    "team": Said(en="This is about the team; I look it up.", ja="チームに関するご質問なので、資料を調べます。"),
}

_NEEDS_MODEL = Said(
    en=" It needs a language model, and I am answering without one. To have such questions answered too, set"
    " GEMINI_API_KEY and restart. Questions about the team’s documents I can look up right now.",
    ja="お答えには言語モデルが必要ですが、現在はモデルなしで動作しています。GEMINI_API_KEY を設定して再起動すると、"
    "このようなご質問にもお答えできるようになります。チームの資料に関するご質問は、このままお調べできます。",
)


def _general(en: str, ja: str) -> Said:
    return Said(en=en + _NEEDS_MODEL.en, ja=ja + _NEEDS_MODEL.ja)


REPLIES: Mapping[Kind, Said] = {
    "greeting": Said(
        en="Hello! Ask me anything about the team’s documents, and I will look it up and cite where it says so.",
        ja="こんにちは。チームの資料に関することでしたら、お調べして出典とともにお答えします。お気軽にご質問ください。",
    ),
    "thanks": Said(
        en="You’re welcome! Ask again whenever something comes up.",
        ja="お役に立てて何よりです。またいつでもご質問ください。",
    ),
    "farewell": Said(en="Goodbye, and see you soon!", ja="お疲れ様でした。またいつでもお声がけください。"),
    "smalltalk": Said(
        en="Thanks for chatting! I am best at finding things in the team’s documents, so ask me whenever you need something.",
        ja="お声がけありがとうございます。チームの資料をお調べするのが得意ですので、お困りのことがあればご質問ください。",
    ),
    "identity": Said(
        en="I am Kotae, the team’s knowledge bot. I search the team’s documents and answer with quotations and their sources."
        " At the moment I work without a language model, so I quote rather than rephrase.",
        ja="Kotae と申します。チームの資料を検索し、出典付きでお答えするボットです。"
        "現在は言語モデルを使わずに動作しているため、資料の文をそのまま引用してお答えします。",
    ),
    "help": Said(
        en="Ask me a question about the team’s systems, settings, errors, policies or procedures. I search the documents and"
        " answer with quotations and their sources; follow-up questions in the thread work too. I can also do arithmetic."
        " What I cannot find is noted and brought to the people who know.",
        ja="チームのシステム、設定、エラー、規程、手続きなどについてご質問ください。資料を検索し、出典付きの引用でお答えします。"
        "スレッドでの続きのご質問や、計算にも対応しています。見つからなかったご質問は記録し、詳しい方に届けます。",
    ),
    "programming": _general("That is a general programming question.", "一般的なプログラミングのご質問ですね。"),
    "world": _general("That is a question of general knowledge.", "一般的な知識についてのご質問ですね。"),
    "creative": _general("That asks me to write something new.", "新しい文章の作成のご依頼ですね。"),
    "now": Said(
        en="I cannot see what is going on right now; I only know the team’s documents. Ask me about those, and I will look it up.",
        ja="現在の状況や最新の情報は確認できず、チームの資料のみをお調べできます。資料に関することでしたらご質問ください。",
    ),
    "injection": Said(
        en="I cannot set my instructions aside or disclose them. If you have a question about the team’s documents, I am glad to"
        " look it up.",
        ja="私への指示を変更したり、その内容を開示したりすることはできません。チームの資料に関するご質問でしたら、お調べします。",
    ),
    "empty": Said(
        en="What would you like to know? Send me your question, and I will look it up.",
        ja="何をお調べしましょうか。ご質問を文章でお送りください。",
    ),
}

UNCLEAR_THOUGHT = Said(
    en="The message points at something that has not been named, so I ask what it is.",
    ja="何を指しているかが分からないため、確認します。",
)
UNCLEAR = Said(
    en="What is that about? Please name the topic once, and I will look it up.",
    ja="何についてのご質問でしょうか。対象を教えていただければ、お調べします。",
)

ALONE = Said(en="the collection “{name}”", ja="コレクション「{name}」")
FOUND: Mapping[str, Said] = {
    "all": Said(en="all of the team’s documents", ja="チームの資料全体"),
    "nothing": Said(en="Nothing relevant came back.", ja="関連する資料が見つかりませんでした。"),
    "irrelevant": Said(en="What came back does not answer this.", ja="見つかった資料では答えになりません。"),
    "frame": Said(en="From the documents:", ja="資料には次の記載があります："),
}
SEARCHES_FIRST: Mapping[str, Said] = {
    "first": Said(
        en="This may be in the team’s documents, so I look it up instead of guessing: I search {where} for {query}.",
        ja="チームの資料に関わるご質問なので、推測せずに調べます。{where}を{query}で検索します。",
    ),
    "followup": Said(
        en="This follows up on {topic}, so I search {where} for {query}.",
        ja="{topic}の続きのご質問と考え、{where}を{query}で検索します。",
    ),
}
BOTH = Said(
    en="There are {count} questions in this, so I search all of the team’s documents for each: {queries}.",
    ja="{count}つのご質問が含まれているため、チームの資料全体をそれぞれ{queries}で検索します。",
)
RETRIES: Mapping[str, Said] = {
    "first": Said(en=" I search {where} for {query}.", ja="{where}を{query}で検索します。"),
    "alone": Said(
        en=" It may be a question of its own: I search {where} for {query}.",
        ja="前の話題とは別のご質問かもしれないので、{where}を{query}で検索します。",
    ),
    "synonyms": Said(
        en=" I try other words in {where}: {query}.", ja="別の言い方に変え、{where}を{query}で検索します。"
    ),
    "keywords": Said(
        en=" I try just the key words in {where}: {query}.", ja="キーワードに絞り、{where}を{query}で検索します。"
    ),
    "language": Said(
        en=" The documents may be in the other language: I search {where} for {query}.",
        ja="英語の資料の可能性があるため、{where}を{query}で検索します。",
    ),
    "collection": Said(en=" I look in {where} in particular: {query}.", ja="{where}を指定し、{query}で検索します。"),
}
ANSWERS = Said(
    en="The passages answer this; I quote the sentences that do: {numbers}.",
    ja="見つかった資料に答えがあるので、該当する文を引用します：{numbers}",
)
GIVES_UP = Said(
    en="After {count} search{count:|es} in different words nothing answers this, so I say so.",
    ja="言い方を変えて {count} 回検索しましたが、答えになる記載が見つからないため、そのようにお伝えします。",
)
NOTHING_ABOUT = Said(
    en="I found nothing about {query} in the documents.", ja="{query}については、資料に記載が見つかりませんでした。"
)

KEPT: Mapping[str, Said] = {
    "quoted": Said(
        en="Each quotation stands in the passage it cites ({count}), and they answer what was asked.",
        ja="引用はすべて出典（{count} 件）の記載どおりで、ご質問に答えています。",
    ),
    "none": Said(en="Nothing is claimed from the documents.", ja="資料に基づく主張は含まれていません。"),
}
NOT_QUOTED = Said(
    en="Not every quotation stands in the passage it cites; what does not is taken out.",
    ja="出典に記載のない引用があるため、取り除きます。",
)
NOT_ANSWERING = Said(
    en="The quotations are true to their sources but do not answer the question.",
    ja="引用は出典どおりですが、ご質問の答えになっていません。",
)
