"""The stand-in for Qdrant refuses what a server refuses and qdrant-client's local mode takes."""

from typing import Any

import aiohttp
import pytest

from tests.fakes.qdrant import KEY, FakeQdrant

VECTORS = {"vectors": {"default": {"size": 2, "distance": "Cosine"}}, "sparse_vectors": {"text-sparse": {}}}
ASKED = {"query": [1.0, 0.0], "using": "default"}


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "points/query/batch", {"searches": [ASKED | {"limit": 1}]}, 200),
        ("POST", "points/query/batch", {"searches": [ASKED | {"limit": 0}]}, 422),
        ("POST", "points/query/batch", {"searches": [ASKED | {"query": [1.0], "limit": 1}]}, 400),
        ("POST", "points/scroll", {"limit": 0}, 422),
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
        async with http.request(method, f"/collections/one/{path}", json=body) as answer:
            assert answer.status == status
