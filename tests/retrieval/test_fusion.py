"""Our fusion is the engine's: same order, same scores, with the branch scores kept."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import qdrant_edge as edge
from hypothesis import given
from hypothesis import strategies as st

from retrieval.search import Fused, fuse, merge
from retrieval.types import Branch, Fusion, Scored

POINTS = 80
BRANCHES: dict[Branch, str] = {"dense": "default", "words": "text-sparse", "ngrams": "text-ngram"}


def scored(id: str, score: float) -> Scored:
    return Scored(id, score)


@pytest.fixture(scope="module")
def shard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[edge.EdgeShard]:
    """Points with a random dense vector and random sparse ones, many of which share no term with a query."""
    folder: Path = tmp_path_factory.mktemp("shard")
    made = edge.EdgeShard.create(
        str(folder),
        edge.EdgeConfig(
            vectors={"default": edge.EdgeVectorParams(size=4, distance=edge.Distance.Cosine)},
            sparse_vectors={
                name: edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf) for name in ("text-sparse", "text-ngram")
            },
        ),
    )
    dice = random.Random(5)

    def sparse(most: int) -> edge.SparseVector:
        terms = sorted(dice.sample(range(12), dice.randint(1, most)))
        return edge.SparseVector(terms, [dice.uniform(0.5, 2.0) for _ in terms])

    made.update(
        edge.UpdateOperation.upsert_points(
            [
                edge.Point(
                    number,
                    {
                        "default": [dice.gauss(0, 1) for _ in range(4)],
                        "text-sparse": sparse(3),
                        "text-ngram": sparse(6),
                    },
                    {},
                )
                for number in range(POINTS)
            ]
        )
    )
    yield made
    made.close()


@given(
    dense=st.lists(st.floats(-1, 1), min_size=4, max_size=4).filter(lambda v: any(abs(x) > 0.01 for x in v)),
    words=st.sets(st.integers(0, 12), min_size=1, max_size=3),
    ngrams=st.sets(st.integers(0, 12), min_size=1, max_size=5),
    limit=st.sampled_from([1, 2, 3, 10, 50]),
    method=st.sampled_from(["dbsf", "rrf"]),
)
def test_it_equals_the_engines_own(
    shard: edge.EdgeShard, dense: list[float], words: set[int], ngrams: set[int], limit: int, method: Fusion
) -> None:
    queries = {
        "dense": edge.Query.Nearest(dense, using="default"),
        "words": edge.Query.Nearest(edge.SparseVector(sorted(words), [1.0] * len(words)), using="text-sparse"),
        "ngrams": edge.Query.Nearest(edge.SparseVector(sorted(ngrams), [1.0] * len(ngrams)), using="text-ngram"),
    }
    branches: dict[Branch, list[Scored]] = {}
    for branch in BRANCHES:
        found = shard.query(edge.QueryRequest(limit=limit, query=queries[branch]))
        branches[branch] = [scored(str(point.id), point.score) for point in found]
    fusion: Any = edge.Fusion.Dbsf() if method == "dbsf" else edge.Fusion.Rrf(k=2)  # the stubs know no common type
    theirs = shard.query(
        edge.QueryRequest(
            limit=POINTS,
            query=fusion,
            prefetches=[edge.Prefetch(limit=limit, query=query) for query in queries.values()],
        )
    )

    ours = fuse(branches, method)

    assert {one.id for one in ours} == {str(point.id) for point in theirs}
    expected = {str(point.id): point.score for point in theirs}
    assert {one.id: one.score for one in ours} == pytest.approx(expected, abs=1e-3)
    assert ours == sorted(ours, key=lambda one: (-one.score, one.id))


def test_each_hit_keeps_what_each_branch_gave_it() -> None:
    branches: dict[Branch, list[Scored]] = {"dense": [scored("a", 0.9), scored("b", 0.8)], "words": [scored("b", 7.0)]}

    by_id = {one.id: one.scores for one in fuse(branches, "rrf")}

    assert by_id == {"a": {"dense": 0.9}, "b": {"dense": 0.8, "words": 7.0}}


@pytest.mark.parametrize("method", ["dbsf", "rrf"])
def test_ties_are_broken_by_id(method: Fusion) -> None:
    same: dict[Branch, list[Scored]] = {"dense": [scored("b", 0.5)], "words": [scored("a", 3.0)]}

    assert [one.id for one in fuse(same, method)] == ["a", "b"]


def test_a_branch_whose_scores_do_not_differ_says_nothing() -> None:
    flat: dict[Branch, list[Scored]] = {
        "dense": [scored("a", 0.5), scored("b", 0.5)],
        "words": [scored("b", 9.0), scored("c", 1.0)],
    }

    order = fuse(flat, "dbsf")

    assert [one.id for one in order] == ["b", "a", "c"]
    assert order[1].score == 0.5


def test_nothing_fused_is_nothing() -> None:
    assert fuse({}, "dbsf") == fuse({"dense": []}, "rrf") == []


def test_a_branch_counts_as_much_as_its_weight() -> None:
    branches: dict[Branch, list[Scored]] = {
        "dense": [scored("a", 0.9), scored("b", 0.8)],
        "words": [scored("b", 9.0), scored("a", 1.0)],
    }

    assert [one.id for one in fuse(branches, "rrf")] == ["a", "b"]  # a tie, by id
    light = fuse(branches, "rrf", {"words": 0.3})
    assert [one.id for one in light] == ["a", "b"]
    assert [one.score for one in light] == pytest.approx([1 / 2 + 0.3 / 3, 1 / 3 + 0.3 / 2])
    assert [one.id for one in fuse(branches, "rrf", {"words": 1.1})] == ["b", "a"]


def test_several_queries_are_merged_by_the_places_of_their_lists() -> None:
    def listed(*ids: str) -> list[Fused]:
        return [Fused(id, 9.0 - place, {"dense": 1.0 - place / 10}) for place, id in enumerate(ids)]

    alone = listed("a", "b")
    assert merge([alone]) == alone

    merged = merge([listed("a", "b", "c"), listed("b", "d"), listed("b", "a", "e")])

    assert [one.id for one in merged] == ["b", "a", "d", "c", "e"]
    assert merged[0].score == pytest.approx(1 / 4 + 2 / 3) and merged[1].score == pytest.approx(1 / 3 + 1 / 4)
    assert merged[0].scores == {"dense": 1.0} and merged[2].scores == {"dense": 0.9}  # of its best place
