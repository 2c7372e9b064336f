import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from math import log
from pathlib import Path

import bm25s  # type: ignore[import-untyped]
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.sparse import TOKENIZER, SparseEncoder, term_id

ROOT = Path(__file__).parents[2]

ENCODER = SparseEncoder()

CORPUS = (
    "経費の精算書は翌月の五営業日までに、領収書を添えて経理部へ提出してください。",
    "サーバーの定期メンテナンスは毎週日曜日に行われ、その間サービスは停止します。",
    "打ち合わせの議事録は、終了後二十四時間以内に共有フォルダーへ保存します。",
    "VPN の MTU は 1420 に設定します。接続できないときはネットワーク担当に連絡してください。",
    "有給休暇は入社から半年後に十日付与され、申請は上長の承認を必要とします。",
    "サーバーの証明書は九十日ごとに更新します。更新に失敗すると ERR_1234 が記録されます。",
    "Refunds are paid within 30 days of the request, to the card that was charged.",
    "To rotate the API key, open Settings, revoke the old key and issue a new one.",
    "On-call engineers hand over every Monday; the outgoing engineer summarises open incidents.",
    "The server logs every failed request. Logs are kept for 30 days and then deleted.",
    "Set KOTAE_HOME before the first start, or the bot writes to .kotae in the working folder.",
    "Expense reports need a receipt for every request above 5,000 yen.",
)
QUESTIONS = (
    "経費の精算はいつまで？",
    "サーバの証明書を更新したい",
    "打合せの議事録はどこに保存しますか",
    "ERR_1234 とは何ですか",
    "How long do refunds take?",
    "How long are the server's logs kept?",
    "expense request receipts",
    "VPN につながらない",
)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("サーバ", "サーバー"),
        ("ｻｰﾊﾞｰ", "サーバー"),
        ("打合せ", "打ち合わせ"),
        ("申込", "申し込み"),
        ("問合せ", "問い合わせ"),
        ("引越し", "引っ越し"),
        ("インタフェース", "インターフェイス"),
        ("セキュリティ", "セキュリティー"),
        ("子ども", "子供"),
        ("行なう", "行う"),
        ("ＶＰＮ設定", "vpn設定"),
        ("第１四半期", "第一四半期"),
        ("二〇二四年十月", "2024年10月"),
        ("３，０００円", "3000円"),
        ("グーグル", "Google"),
        ("ワイファイ", "Wi-Fi"),
        ("停止しました", "停止する"),
        ("refunds", "Refund"),
        ("the user’s requests", "user request"),
        ("ＫＯＴＡＥ＿ＨＯＭＥ", "kotae_home"),
        ("1,234,567", "1234567"),
    ],
)
def test_spellings_of_one_thing_have_the_same_terms(one: str, other: str) -> None:
    assert ENCODER.terms(one)
    assert set(ENCODER.terms(one)) == set(ENCODER.terms(other))


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("export KOTAE_HOME=/srv/kotae", "kotae_home"),
        ("export KOTAE_HOME=/srv/kotae", "home"),
        ("KOTAE_HOMEを設定します", "KOTAE-HOME"),
        ("Upgrade to v2.1 first.", "v2.1"),
        ("Upgrade to v2.1 first.", "2.1"),
        ("v2.1へ更新", "2.1"),
        ("the foo-bar service", "foobar"),
        ("the foo-bar service", "bar"),
        ("ERR_1234が出る", "1234"),
        ("ERR_1234が出る", "ERR-1234"),
        ("エラー E-1042", "e1042"),
        ("エラー E-1042", "1042"),
        ("by e-mail", "email"),
        ("10.0.0.1 へ接続", "10.0.0.1"),
        ("written in C++", "c++"),
        ("written in C#", "c#"),
        ("on Node.js", "node"),
        ("16GBのメモリー", "16 GB"),
        ("16GBのメモリー", "gb"),
        ("## DiskAlmostFull", "almost"),
        ("## DiskAlmostFull", "diskalmostfull"),
        ("DiskAlmostFullが鳴ったら", "disk"),
        ("getHTTPResponse()", "http"),
    ],
)
def test_an_identifier_is_found_whole_and_by_its_parts(written: str, asked: str) -> None:
    wanted = ENCODER.terms(asked)[0]
    assert wanted in ENCODER.terms(written)


def test_languages_are_told_apart_by_their_identifiers() -> None:
    assert not set(ENCODER.terms("C++")) & set(ENCODER.terms("C#"))
    assert ENCODER.terms("1.5") == ["1.5"]


@pytest.mark.parametrize("text", ["", " \n", "している。ある、なる。", "What is the of and?", "、。！？", "🎉", "___"])
def test_text_without_content_has_no_words(text: str) -> None:
    words, _ = ENCODER.query(text)
    assert words.indices == words.values == ()


def test_content_words_stay_and_grammar_goes() -> None:
    assert ENCODER.terms("サーバーを停止しているのは誰ですか") == ["サーバ", "停止"]
    assert ENCODER.terms("Who stopped the servers?") == ["stop", "server"]


def test_ngrams_are_characters_and_pairs_without_hiragana_alone() -> None:
    assert ENCODER.ngrams("経費の精算 VPN v1.5") == [
        "vpn",
        "v1",
        "5",
        "経",
        "費",
        "精",
        "算",
        "経費",
        "費の",
        "の精",
        "精算",
    ]
    assert ENCODER.ngrams("していること") == []


def test_numbers_of_terms_never_change() -> None:
    assert term_id("サーバ") == 4241895257
    assert term_id("server") == 1517147638
    assert TOKENIZER.startswith("kotae ") and "sudachidict" in TOKENIZER


def test_scores_are_those_of_bm25s() -> None:
    """A query's counts times idf times a document's weights is BM25 (Lucene's idf), up to its constant factor k1 +
    1."""
    lists = [ENCODER.terms(text) for text in CORPUS]
    encoder = SparseEncoder(average_words=sum(map(len, lists)) / len(lists))
    documents = [dict(zip(v.indices, v.values, strict=True)) for v in (encoder.document(text).words for text in CORPUS)]
    peer = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    peer.index(lists, show_progress=False)
    for question in QUESTIONS:
        asked = encoder.query(question)[0]
        ours = np.zeros(len(CORPUS))
        for term, count in zip(asked.indices, asked.values, strict=True):
            having = sum(term in document for document in documents)
            idf = log(1 + (len(CORPUS) - having + 0.5) / (having + 0.5))
            ours += [count * idf * document.get(term, 0.0) for document in documents]
        theirs = peer.get_scores(encoder.terms(question))
        assert ours.max() > 0
        np.testing.assert_allclose(ours, theirs * 2.2, rtol=1e-4)


def test_a_repeated_word_counts_twice_in_a_question_and_less_in_a_document() -> None:
    asked, _ = ENCODER.query("更新 更新")
    assert asked.values == (2.0,)
    once, twice = (ENCODER.document(text).words.values[0] for text in ("更新", "更新 更新"))
    assert once < twice < 2 * once


def test_a_passage_in_parts_is_the_passage_and_tells_the_words_of_each() -> None:
    whole, parts = ENCODER.document("VPN の設定\n更新の手順"), ENCODER.document("VPN の設定", "", "更新の手順")
    assert (parts.words, parts.ngrams) == (whole.words, whole.ngrams)
    assert parts.parts == tuple(frozenset(ENCODER.query(text)[0].indices) for text in ("VPN の設定", "", "更新の手順"))
    assert whole.parts == (parts.parts[0] | parts.parts[2],)


def test_text_of_any_length_is_read_to_its_end() -> None:
    sentences = "サーバーを再起動します。" * 20_000 + "末尾に領収書。"
    terms = ENCODER.terms(sentences)
    assert terms.count("サーバ") == 20_000
    assert terms[-1] == "領収書" or terms[-2:] == ["領収", "書"]
    assert ENCODER.ngrams("𠮷" * 40_000).count("𠮷") == 40_000  # four bytes each, no place to cut
    assert ENCODER.terms("𠮷" * 40_000 + "領収")[-1] == "領収"


def test_threads_share_an_encoder() -> None:
    encoder = SparseEncoder()
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(encoder.document, CORPUS * 20))
    assert found == [ENCODER.document(text) for text in CORPUS] * 20


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=200))
def test_any_text_gives_ordered_finite_vectors(text: str) -> None:
    encoded = ENCODER.document(text)
    for vector in (encoded.words, encoded.ngrams, *ENCODER.query(text)):
        assert list(vector.indices) == sorted(set(vector.indices))
        assert all(0 <= index < 2**32 for index in vector.indices)
        assert len(vector.indices) == len(vector.values)
        assert all(0 < value < 1000 for value in vector.values)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells which pages are whose")
def test_loading_the_dictionary_leaves_none_of_it_in_the_process() -> None:
    """It is 110 MB, of which loading reads 26."""
    program = (
        "from pathlib import Path; from retrieval import sparse; from tests.retrieval.test_memory import resident;"
        "kept = sparse.dictionary(); print(resident(next(sparse._FOLDER.rglob('system.dic')), 's'))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"


@pytest.mark.parametrize("name", ["iPhone", "LaTeX", "DevOps2", "McDonald's", "JavaScript", "FAQs"])
def test_a_name_that_is_one_word_stays_whole(name: str) -> None:
    assert len(ENCODER.terms(name)) == 1
