"""The stand-in for Qdrant refuses what a server refuses and qdrant-client's local mode takes."""

from io import BytesIO
from typing import Any

import aiohttp
import pytest

from tests.fakes.qdrant import KEY, LARGEST, FakeQdrant

VECTORS = {"vectors": {"default": {"size": 2, "distance": "Cosine"}}, "sparse_vectors": {"text-sparse": {}}}
ASKED = {"query": [1.0, 0.0], "using": "default"}


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "points/query/batch", {"searches": [ASKED | {"limit": 1}]}, 200),
        ("POST", "points/query/batch", {"searches": [ASKED | {"limit": 0}]}, 422),
        ("POST", "points/query/batch", {"searches": [ASKED | {"query": [1.0], "limit": 1}]}, 400),
        ("POST", "points/query/batch", {"searches": [ASKED | {"limit": 1001}]}, 400),
        ("POST", "points/scroll", {"limit": 0}, 422),
        ("POST", "points/scroll", {"limit": 1001}, 400),
        ("POST", "points/scroll", {"limit": "one"}, 400),
        ("POST", "points/scroll", {"filter": {"must": [{"key": "born", "range": {"gte": 1}}]}}, 200),
        ("POST", "points/scroll", {"filter": {"must": [{"key": "born", "match": {"value": 1}}]}}, 400),
        ("POST", "points/scroll", {"filter": {"must": [{"key": "chunk", "range": {"gte": 1}}]}}, 400),
        ("PUT", "points", {"points": [{"id": 1, "vector": {"default": [1.0]}, "payload": {}}]}, 400),
        ("PUT", "points", {"points": [{"id": 1, "vector": {"other": [1.0, 0.0]}, "payload": {}}]}, 400),
        ("PUT", "points", {"points": []}, 422),
        *(
            ("PUT", "points", {"points": [{"id": 1, "vector": {"text-sparse": vector}, "payload": {}}]}, status)
            for vector, status in (
                ({"indices": [1, 2], "values": [0.5, 0.5]}, 200),
                ({"indices": [1, 1], "values": [0.5, 0.5]}, 422),
                ({"indices": [1], "values": [0.5, 0.5]}, 422),
            )
        ),
    ],
)
async def test_the_stand_in_refuses_what_qdrant_refuses(method: str, path: str, body: Any, status: int) -> None:
    async with FakeQdrant() as server, aiohttp.ClientSession(server.url, headers={"api-key": KEY}) as http:
        async with http.put("/collections/one", json=VECTORS) as made:
            assert made.status == 200
        index = {"field_name": "born", "field_schema": {"type": "integer", "lookup": False, "range": True}}
        async with http.put("/collections/one/index", params={"wait": "true"}, json=index) as made:
            assert (await made.json())["result"]["status"] == "completed"
        async with http.request(method, f"/collections/one/{path}", json=body) as answer:
            assert answer.status == status


async def test_a_write_that_is_not_waited_for_is_only_acknowledged() -> None:
    point = {"id": 1, "vector": {"default": [1.0, 0.0]}, "payload": {}}
    async with FakeQdrant() as server, aiohttp.ClientSession(server.url, headers={"api-key": KEY}) as http:
        async with http.put("/collections/one", json=VECTORS):
            pass
        for wait, status in (("false", "acknowledged"), ("true", "completed")):
            async with http.put("/collections/one/points", params={"wait": wait}, json={"points": [point]}) as answer:
                assert (await answer.json())["result"]["status"] == status


async def test_a_request_that_is_too_large_is_refused() -> None:
    body = BytesIO(b" " * (LARGEST + 1))
    async with (
        FakeQdrant() as server,
        aiohttp.request("PUT", f"{server.url}/collections/one/points", data=body) as answer,
    ):
        assert answer.status == 400 and "larger than allowed" in await answer.text()
