"""The running service compared with its own OpenAPI description."""

import itertools
import os
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest
import schemathesis
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import Status, events, from_schema
from schemathesis.engine.recorder import ScenarioRecorder
from schemathesis.schemas import BaseSchema
from tests.fuzz.live import Live, run_live
from tests.web.narrowed import narrow

from imprint.web.docs.openapi import OPERATIONS

pytestmark = pytest.mark.timeout(3600)

LABELS = [
    f"{each.method.upper()} {path}"
    for each in OPERATIONS
    for path in (each.path, each.alias)
    if path is not None
]

IGNORES_EMPTY = ["/posts", "/me/library", "/me/posts", "/me/sales", "/ipfs/{cid}"]
"""Paths that treat an empty parameter, which violates its schema, as absent.

Some of them refuse a limit that is valid only for CSV, unless `text/csv` is requested.
"""

UNPROMISED = ["/filesByNextPageToken"]
"""Paths that need a page token, which no pattern can generate."""

UNREAD = ["/webhook/provider-b/publish", "/webhook/quicknode/publish"]
"""Paths where any request without the three signature headers is a connection test."""

TAGGED = [
    each.path
    for each in OPERATIONS
    if any(parameter.schema in ("Hashtag", "Hashtags") for parameter in each.parameters)
]
"""Paths with hashtags. A text that violates the narrowed hashtag pattern may still be a
valid hashtag with letters of a rarer script."""

REFUSED = [400, 401, 403, 404, 405, 406, 409, 413, 415, 422, 428, 429, "5xx"]
"""Permitted statuses for a request that violates its schema, including "too large"."""

LOGOUT = "/auth/logout"
"""The path that would end the session that the other requests still need."""

CASES = int(os.environ.get("CASES", "0"))
"""The minimum number of requests to send. 0 means one short round."""

EXAMPLES = min(100, max(5, CASES // len(LABELS)))
"""Number of random requests per operation and round, besides examples and edge cases."""


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with run_live(tmp_path_factory.mktemp("live")) as running:
        yield running


@pytest.fixture(scope="module")
def description(live: Live) -> dict[str, Any]:
    """The OpenAPI description, narrowed to this service, with examples that name existing data."""
    facts = httpx2.get(f"{live.origin}/.well-known/imprint.json", timeout=60).json()
    described = narrow(httpx2.get(f"{live.origin}/openapi.json", timeout=60).json(), facts)
    real = {
        ("/fileByCid", "cid"): live.draft_cid,
        ("/filesMetaData", "cid"): live.draft_cid,
        ("/ipfs/{cid}", "cid"): live.thumbnail_cid,
        ("/fileByPostId", "user"): live.reader,
        ("/fileByPostId", "postId"): str(live.paid_post),
        ("/freeFileByPostId", "postId"): str(live.free_post),
        ("/pendingFilesByOwner", "owner"): live.reader,
        ("/filesByNextPageToken", "next_page_token"): live.page_token,
    }
    for (path, name), value in real.items():
        parameters = described["paths"][path]["get"]["parameters"]
        next(each for each in parameters if each["name"] == name)["example"] = value
    return described


def configure(live: Live, seed: int) -> SchemathesisConfig:
    lenient = {"positive_data_acceptance": {"enabled": False}}
    unread = {"negative_data_rejection": {"enabled": False}}
    return SchemathesisConfig.from_dict(
        {
            "seed": seed,
            "base-url": live.origin,
            "headers": live.session,
            "generation": {"max-examples": EXAMPLES, "database": "none"},
            "phases": {"stateful": {"enabled": False}},
            "checks": {"negative_data_rejection": {"expected-statuses": REFUSED}},
            "operations": [
                {"include-path": LOGOUT, "headers": live.ending},
                *({"include-path": path, "checks": lenient | unread} for path in IGNORES_EMPTY),
                *({"include-path": path, "checks": lenient} for path in UNPROMISED),
                *({"include-path": path, "checks": unread} for path in (*UNREAD, *TAGGED)),
            ],
        }
    )


@dataclass(slots=True)
class Findings:
    """The results of the whole run for one operation."""

    cases: int = 0
    statuses: set[int] = field(default_factory=set)
    failures: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def findings(description: dict[str, Any], live: Live) -> dict[str, Findings]:
    """Fuzz the whole API in rounds with different seeds. Results are sorted by method and path."""
    found: dict[str, Findings] = defaultdict(Findings)
    seeds = itertools.count(1)
    while not found or count_cases(found) < CASES:
        config = configure(live, next(seeds))
        fuzz(schemathesis.openapi.from_dict(description, config=config), found)
    return found


def fuzz(schema: BaseSchema, found: dict[str, Findings]) -> None:
    """Run one round and add its results to `found`."""
    for event in from_schema(schema).execute():
        if isinstance(event, events.FatalError):
            raise event.exception
        if isinstance(event, events.NonFatalError):
            found[event.label].failures.append(repr(event.value))
        if isinstance(event, events.ScenarioFinished):
            record(event.recorder, found[event.recorder.label])


def count_cases(found: dict[str, Findings]) -> int:
    return sum(each.cases for each in found.values())


def record(recorder: ScenarioRecorder, findings: Findings) -> None:
    responses = [each.response for each in recorder.interactions.values() if each.response]
    findings.cases += len(responses)
    findings.statuses |= {response.status_code for response in responses}
    for case, checks in recorder.checks.items():
        for check in checks:
            if check.status is Status.FAILURE and check.failure_info is not None:
                request = recorder.cases[case].value.as_curl_command()
                failure = f"{check.name}: {check.failure_info.failure}\n{request}"
                findings.failures.append(failure)


@pytest.mark.parametrize("label", LABELS)
def test_every_response_matches_the_api_description(
    label: str, findings: dict[str, Findings]
) -> None:
    assert findings[label].statuses, "nothing was asked"
    assert not findings[label].failures, "\n\n".join(findings[label].failures)


def test_no_generated_request_causes_a_server_error(findings: dict[str, Findings]) -> None:
    statuses = {label: each.statuses for label, each in findings.items()}
    assert {status for each in statuses.values() for status in each if status >= 500} == set()


def test_the_requested_number_of_cases_is_sent(
    findings: dict[str, Findings], capsys: pytest.CaptureFixture[str]
) -> None:
    assert count_cases(findings) >= max(CASES, len(LABELS) * EXAMPLES // 2)
    if CASES:
        with capsys.disabled():
            print(f"\n{count_cases(findings)} requests to {len(findings)} operations")


@pytest.mark.parametrize(
    "path",
    [
        "/fileByCid",
        "/fileByPostId",
        "/freeFileByPostId",
        "/pendingFilesByOwner",
        "/filesByNextPageToken",
        "/filesMetaData",
    ],
)
def test_the_examples_of_read_operations_get_200(
    path: str, description: dict[str, Any], live: Live
) -> None:
    parameters = description["paths"][path]["get"]["parameters"]
    query = {each["name"]: each["example"] for each in parameters if "example" in each}
    response = httpx2.get(f"{live.origin}{path}", params=query, headers=live.session, timeout=60)
    assert response.status_code == 200, response.text
