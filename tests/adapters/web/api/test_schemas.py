"""The API against its own description: thousands of requests made from it find no server error and no status, header or
body that it does not describe."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.service import Service


@pytest.mark.parametrize(
    "examples", [4, pytest.param(30, marks=pytest.mark.long)]
)  # an operation and way of making them
def test_nothing_happens_that_is_not_described(tmp_path: Path, examples: int) -> None:
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis.errors import Unsatisfiable
    from schemathesis import Case, GenerationMode
    from schemathesis.checks import not_a_server_error
    from schemathesis.core.result import Ok
    from schemathesis.openapi import from_url
    from schemathesis.specs.openapi import checks as openapi

    checks = [
        not_a_server_error,
        openapi.status_code_conformance,
        openapi.content_type_conformance,
        openapi.response_headers_conformance,
        openapi.response_schema_conformance,
        openapi.unsupported_method,
    ]
    calm = settings(
        max_examples=examples,
        database=None,
        derandomize=True,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    seen: dict[str, set[int]] = {}

    def ask(case: "Case[Any]") -> None:
        seen.setdefault(case.operation.label, set()).add(case.call_and_validate(checks=checks).status_code)

    with Service(tmp_path / "home") as service:
        with service.client() as client:
            assert client.post("/documents", json={"name": "a.md", "text": "# Pier\n\nShips moor."}).status_code == 201
        for result in from_url(f"{service.url}/openapi.json").get_all_operations():
            for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
                assert isinstance(result, Ok)
                with suppress(Unsatisfiable):  # an operation without parameters cannot be asked wrongly
                    calm(given(case=result.ok().as_strategy(generation_mode=mode))(ask))()
    assert len(seen) == 11 and {200, 422} <= seen["GET /search"] and {200, 422} <= seen["POST /chat"]
    assert 422 in seen["POST /documents"] and seen["GET /readyz"] == {200}
