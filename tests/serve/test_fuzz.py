"""A schema-driven fuzzer over the OpenAPI document: no answer is a server error, and every error has the shape."""

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from starlette.testclient import TestClient

from .conftest import loader
from .conftest import settings as serve_settings
from .fake import FakeEngine
from .test_http import recording

from cosylite.serve.app import create_app  # isort: skip

pytestmark = pytest.mark.filterwarnings("ignore")
ADMIN = "operator-key"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = str(tmp_path_factory.mktemp("voices"))
    engine = FakeEngine(can_clone=True, modes=("zero-shot", "instruct"))
    app = create_app(serve_settings(voices_dir=folder, admin_key=(ADMIN,), max_characters=300), loader(engine))
    with TestClient(app, raise_server_exceptions=False) as started:
        for _ in range(500):
            if app.state.service.warm:
                break
            started.portal.call(_pause)  # type: ignore[union-attr]
        added = started.post(
            "/v1/audio/voices", data={"name": "fuzz", "consent": "yes"}, files={"audio_sample": ("x.wav", recording())}
        )
        assert added.status_code == 200
        yield started


async def _pause() -> None:
    import anyio

    await anyio.sleep(0.01)


@pytest.mark.timeout(240)  # most of it goes into the making of cases
def test_no_server_errors(client: TestClient) -> None:
    schema = schemathesis.openapi.from_dict(client.get("/openapi.json").json())
    operations = [result.ok() for result in schema.get_all_operations()]
    assert len(operations) >= 14
    for operation in operations:
        for mode in (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE):
            fuzz(client, operation.as_strategy(generation_mode=mode))


def fuzz(client: TestClient, strategy: Any) -> None:
    """Send generated cases of one operation."""

    @settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck), database=None, derandomize=True)
    @given(strategy)
    def send(case: schemathesis.Case) -> None:
        call(client, case)

    with contextlib.suppress(Unsatisfiable):  # a route without fields has no wrong ones
        send()


def call(client: TestClient, case: schemathesis.Case) -> None:
    """Send one case and check the answer."""
    arguments = case.as_transport_kwargs(base_url="http://testserver")
    headers = {name: str(value) for name, value in dict(arguments.get("headers") or {}).items()}
    arguments["headers"] = {**headers, "Authorization": f"Bearer {ADMIN}"}
    arguments.pop("cookies", None)
    answer = client.request(**arguments)
    told_when = answer.status_code in (503, 504) and "retry-after" in answer.headers
    assert answer.status_code < 500 or told_when, (case.method, case.path, answer.text)
    if answer.status_code >= 400:
        assert set(answer.json()["error"]) == {"message", "type", "param", "code"}
