"""Everything that the OpenAPI document allows, and much that it does not: no answer is a defect."""

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from tests.daemon.http.conftest import Node

schemathesis = pytest.importorskip("schemathesis")

EXAMPLES = 15
"""Of each operation and kind; some 2,000 requests in all."""
ENDLESS = frozenset({"/api/events", "/api/doctor"})
"""Of these the first never ends and the second takes seconds; they have tests of their own."""
KNOWN = {"alarm_id": "wake-up", "entry_id": "tea"}
HOUSE = {
    "alarms": {"wake-up": {"at": "06:45"}},
    "schedule": [{"id": "tea", "at": "15:00", "say": "お茶です。"}],
    "briefings": {"morning": {"sections": [{"kind": "text", "text": "一つ目です。"}]}},
}

pytestmark = [pytest.mark.system, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def node(tmp_path_factory):
    with Node(tmp_path_factory.mktemp("house"), **HOUSE) as node:
        yield node


@pytest.fixture(scope="module")
def schema(node):
    return schemathesis.openapi.from_url(f"http://127.0.0.1:{node.port}/openapi.json")


def operations(schema):
    found = [result.ok() for result in schema.get_all_operations()]
    return [operation for operation in found if operation.path not in ENDLESS]


def known(case):
    """Name something that there is, or nothing deeper is ever reached."""
    for name in case.path_parameters or {}:
        if name in KNOWN:
            case.path_parameters[name] = KNOWN[name]
        elif name == "name":
            case.path_parameters[name] = "morning" if "briefings" in case.operation.path else "mei"


@pytest.mark.parametrize("mode", ["POSITIVE", "NEGATIVE"])
def test_no_request_is_a_defect(node, schema, mode):
    kind = getattr(schemathesis.GenerationMode, mode)
    tried, statuses, style = 0, {}, node.style()
    for operation in operations(schema):
        strategy = operation.as_strategy(generation_mode=kind)

        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            database=None,
            derandomize=True,
            phases=(Phase.explicit, Phase.generate),  # shrinking what was found takes minutes
            suppress_health_check=list(HealthCheck),
        )
        @given(case=strategy)
        def attempt(case):
            nonlocal tried
            if (
                "speaker" in (case.query or {}) and tried % 4
            ):  # a style that there is, or nothing deeper is ever reached
                case.query["speaker"] = style
            if tried % 4:
                known(case)
            answer = case.call(timeout=60)
            tried += 1
            key = (case.operation.label, answer.status_code)
            statuses[key] = statuses.get(key, 0) + 1
            assert answer.status_code < 500, (case.as_curl_command(), answer.content[:500])
            if case.operation.path.startswith("/api/") and answer.status_code >= 400:
                assert answer.headers["content-type"][0] == "application/problem+json"

        attempt()
    assert tried > 400
    print(f"\n{mode}: {tried} requests, {len(statuses)} outcomes")
    for (label, status), count in sorted(statuses.items()):
        print(f"  {label} {status}: {count}")
