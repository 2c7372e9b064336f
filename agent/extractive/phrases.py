"""Texts the extractive model says of its own accord, in both languages."""

from collections.abc import Mapping

from agent.routing.router import Kind
from retrieval.i18n import Language, Text

QUOTED = 160  # characters of what is quoted back


def quoted(text: str, language: Language) -> str:
    """`text` in the language's quotation marks, cut where it is long."""
    text = text if len(text) <= QUOTED else text[: QUOTED - 1].rstrip() + "…"
    return f"「{text}」" if language == "ja" else f"“{text}”"


UNSEARCHED: Mapping[Kind, Text] = {
    "greeting": Text(en="This is a greeting; there is nothing to look up.", ja="ご挨拶なので、検索は必要ありません。"),
    "thanks": Text(en="This is thanks; there is nothing to look up.", ja="お礼の言葉なので、検索は必要ありません。"),
    "farewell": Text(
        en="This is a goodbye; there is nothing to look up.", ja="終わりのご挨拶なので、検索は必要ありません。"
    ),
    "arithmetic": Text(
        en="This is a calculation; I compute it instead of searching.", ja="計算なので、検索せずに求めます。"
    ),
    "help": Text(
        en="This asks what I can do; that is in no document.", ja="私についてのご質問なので、検索は必要ありません。"
    ),
    "empty": Text(en="There is no question in this.", ja="ご質問の内容がありません。"),
}

REPLIES: Mapping[Kind, Text] = {
    "greeting": Text(
        en="Hello! Ask me anything about the team’s documents, and I will look it up and cite where it says so.",
        ja="こんにちは。チームの資料に関することでしたら、お調べして出典とともにお答えします。お気軽にご質問ください。",
    ),
    "thanks": Text(
        en="You’re welcome! Ask again whenever something comes up.",
        ja="お役に立てて何よりです。またいつでもご質問ください。",
    ),
    "farewell": Text(en="Goodbye, and see you soon!", ja="お疲れ様でした。またいつでもお声がけください。"),
    "help": Text(
        en="I answer questions from your team’s documents, and show where it says so. What they do not say I tell you "
        "openly, and bring it to the people who can answer it.\n\nAsk me as you would ask a colleague, and go on "
        "asking in the thread. Rate answers with 👍 or 👎: so I learn which were wrong. `/kotae collections` shows "
        "what I can read, `/kotae help` what else there is (in the terminal: /help).",
        ja="チームの資料をもとに、出典を添えてご質問にお答えします。資料にないことは正直にお伝えし、詳しい方に確認します。"
        "\n\n同僚に聞くように質問してください。続きはスレッドでそのまま聞けます。回答に 👍 や 👎 を付けると、誤りを直す"
        "手がかりになります。`/kotae collections` で読める資料、`/kotae help` でその他の使い方を見られます"
        "（ターミナルでは /help）。",
    ),
    "empty": Text(
        en="What would you like to know? Send me your question, and I will look it up.",
        ja="何をお調べしましょうか。ご質問を文章でお送りください。",
    ),
}

ABOUT_ANSWER = Text(
    en="This is about my answer; the same search would show the same again.",
    ja="前の回答についてのお話です。同じ検索では同じ結果になるため、検索しません。",
)
OBJECTED = Text(
    en="Thank you for telling me. I quote the documents, so I cannot put it right myself. Please rate that answer 👎 "
    "(in the terminal: /down) and write what it should say: it is brought to the people who can answer it.",
    ja="ご指摘ありがとうございます。資料を引用しているため、私のほうでは直せません。その回答に 👎 を付けて"
    "（ターミナルでは /down）正しい内容をお書きいただくと、詳しい方に届きます。",
)
COMMENTED = Text(
    en="I quote the documents as they stand, so I can neither vouch for them nor shorten, translate or reword them. "
    "The sources of that answer say what page it is from. If it looks wrong, rate it 👎 (in the terminal: /down): it "
    "is brought to the people who can answer it.",
    ja="資料の記載をそのまま引用しているため、正しさの保証や、要約・翻訳・言い換えはできません。どのページの記載かは、"
    "その回答の出典からご確認いただけます。誤りと思われるときは、回答に 👎 を付けていただくと（ターミナルでは /down）、"
    "詳しい方に届きます。",
)

SEARCHES: Mapping[str, Text] = {
    "first": Text(en="I search the team’s documents for {query}.", ja="チームの資料を{query}で検索します。"),
    "several": Text(
        en="There is more than one question in this, so I search the team’s documents for each: {query}.",
        ja="ご質問が複数あるので、チームの資料をそれぞれ検索します：{query}",
    ),
    "followup": Text(
        en="This may follow up on {earlier}, so I search the team’s documents for that together with {query}.",
        ja="{earlier}の続きのご質問かもしれないので、それと{query}を合わせてチームの資料を検索します。",
    ),
}
FOUND: Mapping[str, Text] = {
    "sure": Text(
        en="Words and meaning agree: I quote what the documents say.",
        ja="言葉も意味も一致する記載があるので、その部分を引用します。",
    ),
    "near": Text(
        en="What I found is only similar: I show the {count} closest passage{count:|s}.",
        ja="見つかったのは近い内容だけなので、最も近い {count} 件をお見せします。",
    ),
}
NOTHING = Text(
    en="Nothing that I found has to do with this, so I say so.",
    ja="ご質問に関係する記載が見つからないため、そのようにお伝えします。",
)

REVIEWS: Mapping[str, Text] = {
    "sure": Text(
        en="Copied from the documents; words and meaning agree with the question.",
        ja="資料の記載をそのまま引用しています。言葉も意味もご質問と一致します。",
    ),
    "near": Text(
        en="Copied from the documents, but only similar to the question: it may not answer it.",
        ja="資料の記載をそのまま引用していますが、ご質問に近いだけで、答えではないかもしれません。",
    ),
}
