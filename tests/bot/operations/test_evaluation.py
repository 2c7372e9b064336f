"""Evaluation: what a folder says, what is measured, and the figures' contract."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from bot.operations.beir import BeirQuery, EvaluationError, read
from bot.operations.evaluation import EvaluatedAnswer, auroc, evaluate, holds, score
from retrieval.embeddings.local import LocalEmbedder
from retrieval.types import Mode

PAGES = [
    ("refunds", "Refunds", "Refunds are paid within 30 days of the request, to the card that was charged."),
    ("servers", "サーバー運用", "サーバーの定期メンテナンスは毎週日曜日の午前２時から４時まで行います。"),
    ("meetings", "会議", "打ち合わせの予約は、前日の正午までにカレンダーで行ってください。"),
    ("empty", "Not written yet", ""),
    ("travel", "Travel", "Book flights in the travel system. Approval takes between a few days and a week."),
]
ASKED: list[tuple[str, str, dict[str, Any]]] = [
    ("q1", "When are refunds paid?", {"kind": "answerable", "answers": ["３０ days"]}),
    ("q2", "サーバのメンテナンスはいつ？", {"answers": ["午前2時から4時"]}),
    ("q3", "What is the boiling point of ethanol?", {"kind": "off_topic"}),
    ("q4", "猫の飼い方を教えてください", {}),
]
RELEVANT = [("q1", "refunds", "2"), ("q1", "travel", "0"), ("q2", "servers", "1")]


def folder(
    path: Path,
    *,
    corpus: str | None = None,
    queries: str | None = None,
    qrels: str | None = None,
) -> Path:
    """A folder in BEIR's layout; a part that is given replaces the good one."""
    good_corpus = "".join(json.dumps({"_id": i, "title": t, "text": x}, ensure_ascii=False) + "\n" for i, t, x in PAGES)
    good_queries = "".join(
        json.dumps({"_id": i, "text": x, "metadata": m}, ensure_ascii=False) + "\n" for i, x, m in ASKED
    )
    good_qrels = "query-id\tcorpus-id\tscore\n" + "".join("\t".join(row) + "\n" for row in RELEVANT)
    (path / "qrels").mkdir(parents=True)
    (path / "corpus.jsonl").write_text(good_corpus if corpus is None else corpus, encoding="utf-8")
    (path / "queries.jsonl").write_text(good_queries if queries is None else queries, encoding="utf-8")
    (path / "qrels" / "test.tsv").write_text(good_qrels if qrels is None else qrels, encoding="utf-8")
    return path


# -- reading ---------------------------------------------------------------------------------------------------------


def test_a_folder_is_read(tmp_path: Path) -> None:
    questions = read(folder(tmp_path / "set"))

    assert [text.id for text in questions.corpus] == [id for id, _, _ in PAGES]
    assert [(query.id, query.kind, query.relevant) for query in questions.queries] == [
        ("q1", "answerable", {"refunds": 2}),
        ("q2", "answerable", {"servers": 1}),
        ("q3", "off_topic", {}),
        ("q4", "unanswerable", {}),
    ]
    assert questions.queries[0].answers == ("３０ days",)


def test_files_of_other_tools_are_read_too(tmp_path: Path) -> None:
    """A byte order mark, blank lines, Windows line ends, numbers for ids, no header, no title, no metadata."""
    made = folder(
        tmp_path / "set",
        corpus='\ufeff{"_id": 1, "text": "one"}\r\n\r\n{"_id": "2", "text": "two", "title": null}\r\n',
        queries='{"_id": 7, "text": "one?", "metadata": null}\n',
        qrels="7\t1\t1.0\r\n",
    )

    questions = read(made)

    assert [(text.id, text.title, text.text) for text in questions.corpus] == [("1", "", "one"), ("2", "", "two")]
    assert questions.queries == (BeirQuery("7", "one?", "answerable", (), {"1": 1}),)


def test_a_query_whose_rows_say_nothing_is_relevant_is_unanswerable(tmp_path: Path) -> None:
    made = folder(tmp_path / "set", qrels="query-id\tcorpus-id\tscore\nq1\trefunds\t0\n")

    assert [query.kind for query in read(made).queries] == ["unanswerable", "unanswerable", "off_topic", "unanswerable"]


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        ({"corpus": '{"_id": "a", "text": "x"}\n{"_id": "b"\n'}, ("corpus.jsonl", "line 2", "JSON")),
        ({"corpus": "[1]\n"}, ("corpus.jsonl", "line 1", "JSON object")),
        ({"corpus": '{"_id": "a"}\n'}, ("corpus.jsonl", "line 1", "“text”")),
        ({"corpus": '{"text": "x"}\n'}, ("corpus.jsonl", "line 1", "“_id”")),
        ({"corpus": '{"_id": "a", "text": "x", "title": 3}\n'}, ("corpus.jsonl", "line 1", "“title”")),
        (
            {"corpus": '{"_id": "a", "text": "x"}\n{"_id": "a", "text": "y"}\n'},
            ("corpus.jsonl", "line 2", "“a”", "twice"),
        ),
        ({"corpus": ""}, ("corpus.jsonl", "nothing")),
        ({"queries": '\n{"_id": "q", "text": "  "}\n'}, ("queries.jsonl", "line 2", "“text”")),
        (
            {"queries": '{"_id": "q", "text": "x", "metadata": {"answers": "30"}}\n'},
            ("queries.jsonl", "line 1", "answers"),
        ),
        ({"queries": '{"_id": "q", "text": "x", "metadata": 3}\n'}, ("queries.jsonl", "line 1", "answers")),
        ({"qrels": "query-id\tcorpus-id\tscore\nq1 refunds 1\n"}, ("test.tsv", "line 2", "tabs")),
        ({"qrels": "q1\trefunds\tmuch\n"}, ("test.tsv", "line 1")),
        ({"qrels": "q9\trefunds\t1\n"}, ("test.tsv", "line 1", "“q9”", "queries.jsonl")),
        ({"qrels": "q1\tnowhere\t1\n"}, ("test.tsv", "line 1", "“nowhere”", "corpus.jsonl")),
    ],
)
def test_what_is_wrong_is_said_with_file_and_line(
    tmp_path: Path, broken: Mapping[str, str], says: Sequence[str]
) -> None:
    made = folder(tmp_path / "set", **broken)

    with pytest.raises(EvaluationError) as raised:
        read(made)

    told = raised.value.text("en")
    assert all(part in told for part in says), told
    assert "行目" in raised.value.text("ja") or "line" not in told


@pytest.mark.parametrize("missing", ["corpus.jsonl", "queries.jsonl", "qrels/test.tsv"])
def test_a_missing_file_is_named(tmp_path: Path, missing: str) -> None:
    made = folder(tmp_path / "set")
    (made / missing).unlink()

    with pytest.raises(EvaluationError, match=Path(missing).name):
        read(made)


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    made = folder(tmp_path / "set")
    (made / "corpus.jsonl").write_bytes('{"_id": "a", "text": "規則"}'.encode("shift_jis"))

    with pytest.raises(EvaluationError, match=r"corpus\.jsonl") as bytes_:
        read(made)
    assert bytes_.value.text("ja").endswith("を読めません: UTF-8 ではありません")


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    made = folder(tmp_path / "set")
    (made / "corpus.jsonl").unlink()
    (made / "corpus.jsonl").mkdir()

    with pytest.raises(EvaluationError, match=r"corpus\.jsonl") as no_file:
        read(made)
    assert no_file.value.text("ja").endswith("を読めません: フォルダーです")


# -- the figures -----------------------------------------------------------------------------------------------------


def answer(
    relevant: Mapping[str, int],
    ranked: Sequence[str] = (),
    *,
    kind: str = "answerable",
    relevance: float = 0.0,
    kept: bool = False,
    answers: tuple[str, ...] = (),
    quoted: str = "",
    ms: float = 1.0,
) -> EvaluatedAnswer:
    modes: tuple[Mode, ...] = ("hybrid", "dense", "sparse")
    rankings = dict.fromkeys(modes, ranked) if relevant else {}
    return EvaluatedAnswer(BeirQuery("q", "?", kind, answers, relevant), rankings, relevance, kept, quoted, ms)


def test_rankings_are_scored_with_grades_and_several_right_documents() -> None:
    report = score(
        [answer({"a": 3, "b": 1}, ["x", "b", "a"]), answer({"c": 1}, ["c"]), answer({"d": 1}, ["x", "y"])],
        chunks_per_s=5.0,
    )

    hybrid = report.rankings["hybrid"]
    assert hybrid is not None
    found = 1 / math.log2(3) + 3 / math.log2(4)
    ideal = 3 / math.log2(2) + 1 / math.log2(3)
    assert hybrid.as_json() == pytest.approx(
        {
            "recall@1": 1 / 3,
            "recall@5": 2 / 3,
            "recall@10": 2 / 3,
            "mrr@10": (1 / 2 + 1) / 3,
            "ndcg@10": (found / ideal + 1) / 3,
        }
    )


def test_only_the_first_ten_documents_count() -> None:
    late = [*(f"x{n}" for n in range(10)), "a"]

    hybrid = score([answer({"a": 1}, late)], chunks_per_s=1.0).rankings["hybrid"]

    assert hybrid is not None and set(hybrid.as_json().values()) == {0.0}


def test_keeping_and_refusing_are_counted_by_kind() -> None:
    report = score(
        [
            answer({"a": 1}, kept=True, relevance=0.9),
            answer({"a": 1}, kept=False, relevance=0.1),
            answer({}, kind="far", kept=False, relevance=0.05),
            answer({}, kind="near", kept=True, relevance=0.5),
            answer({}, kind="near", kept=False, relevance=0.1),
        ],
        chunks_per_s=1.0,
    )

    assert report.kept == 0.5
    assert report.refused == {"far": 1.0, "near": 0.5}
    assert report.auroc == pytest.approx((3 + 1 + 0.5) / 6)


@pytest.mark.parametrize(
    ("ours", "others", "expected"),
    [
        ([0.9, 0.8], [0.1, 0.2], 1.0),
        ([0.1], [0.9], 0.0),
        ([0.5, 0.5], [0.5], 0.5),
        ([0.9, 0.1], [0.5, 0.5], 0.5),
        ([], [0.5], None),
        ([0.5], [], None),
    ],
)
def test_auroc_is_the_share_of_pairs_in_the_right_order(
    ours: list[float], others: list[float], expected: float | None
) -> None:
    assert auroc(ours, others) == expected


@pytest.mark.parametrize(
    ("text", "answers", "expected"),
    [
        ("返金は３０日以内です。", ["30日以内"], True),
        ("Paid within\n30  Days.", ["30 days"], True),
        ("Paid soon.", ["30 days"], False),
        ("Paid soon.", ["never", "soon"], True),
        ("", [""], False),
    ],
)
def test_an_answer_is_found_whatever_its_width_and_spacing(text: str, answers: list[str], expected: bool) -> None:
    assert holds(text, answers) is expected


def test_percentiles_are_by_nearest_rank() -> None:
    report = score([answer({}, ms=float(ms)) for ms in range(1, 21)], chunks_per_s=1.0)

    assert (report.p50_ms, report.p95_ms) == (10.0, 19.0)


def test_what_cannot_be_measured_is_null() -> None:
    shown = score([answer({}, kind="far", ms=3.0)], chunks_per_s=2.0).as_json()

    assert shown == {
        "hybrid": None,
        "dense": None,
        "sparse": None,
        "no_answer": {"auroc": None, "kept": None, "refused": {"far": 1.0}},
        "extractive": {"contains_answer": None},
        "ingest": {"chunks_per_s": 2.0},
        "search": {"p50_ms": 3.0, "p95_ms": 3.0},
    }


# -- the whole -------------------------------------------------------------------------------------------------------


async def test_a_set_is_indexed_asked_and_scored(tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []

    report = await evaluate(
        folder(tmp_path / "set"),
        LocalEmbedder(Path.home() / ".cache" / "kotae"),
        language="ja",
        progress=lambda what, done, total: told.append((what, done, total)),
    )

    shown = report.as_json()
    assert [*shown] == ["hybrid", "dense", "sparse", "no_answer", "extractive", "ingest", "search"]
    assert shown["hybrid"] == {"recall@1": 1.0, "recall@5": 1.0, "recall@10": 1.0, "mrr@10": 1.0, "ndcg@10": 1.0}
    assert shown["no_answer"] == {"auroc": 1.0, "kept": 1.0, "refused": {"off_topic": 1.0, "unanswerable": 1.0}}
    assert shown["extractive"] == {"contains_answer": 1.0}
    assert shown["ingest"]["chunks_per_s"] > 0 and 0 < shown["search"]["p50_ms"] <= shown["search"]["p95_ms"]
    assert json.loads(json.dumps(shown)) == shown
    assert ("インデックスを作成中", len(PAGES), len(PAGES)) in told and told[-1] == ("質問中", len(ASKED), len(ASKED))
    assert all(label and value for language in ("ja", "en") for label, value in report.rows(language))


async def test_only_the_first_questions_are_asked(tmp_path: Path) -> None:
    report = await evaluate(folder(tmp_path / "set"), LocalEmbedder(Path.home() / ".cache" / "kotae"), limit=1)

    assert report.refused == {} and report.auroc is None and report.kept == 1.0
