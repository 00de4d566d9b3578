"""The router by itself: paths, methods, exception handlers and the order of middleware."""

from contextlib import asynccontextmanager

import pytest
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from imprint.web.http.routing import Application, ExceptionHandlers


class Torn(Exception):
    pass


class Burnt(Torn):
    pass


async def read_all(request):
    return PlainTextResponse(f"all by {request.method}")


async def read_one(request):
    return PlainTextResponse(f"one: {request.path_params['name']}")


async def fail(request):
    raise {"torn": Torn, "burnt": Burnt, "lost": LookupError}[request.path_params["how"]]


async def forbid(request):
    raise HTTPException(403)


async def on_torn(request, error):
    return PlainTextResponse(f"{type(error).__name__} at {request.url.path}", 500)


async def on_http(request, error):
    return PlainTextResponse("refused", error.status_code, error.headers)


ROUTES = [
    Route("/notes/{name}", read_one),
    Route("/notes/all", read_all),
    Route("/write/{name}", read_one, methods=["PUT", "DELETE"]),
    Route("/fail/{how}", fail),
    Route("/forbid", forbid),
]
HANDLERS: ExceptionHandlers = {Torn: on_torn, 404: on_http, 405: on_http}


@pytest.fixture
def client():
    return TestClient(Application(ROUTES, [], HANDLERS))


def test_a_fixed_path_takes_precedence_over_a_matching_pattern(client):
    assert client.get("/notes/all").text == "all by GET"
    assert client.get("/notes/al").text == "one: al"


def test_head_is_routed_to_the_endpoint_of_get(client):
    response = client.head("/notes/all")
    assert response.status_code == 200
    assert response.headers["content-length"] == str(len("all by HEAD"))


@pytest.mark.parametrize(
    ("path", "allowed"), [("/notes/all", "GET, HEAD"), ("/write/x", "DELETE, PUT")]
)
def test_the_refusal_of_a_wrong_method_lists_the_allowed_methods_sorted(client, path, allowed):
    response = client.post(path)
    assert (response.status_code, response.headers["allow"]) == (405, allowed)


@pytest.mark.parametrize("path", ["/notes/a%2Fb", "/notes/%2F", "/notes/"])
def test_a_path_parameter_is_one_segment_even_with_an_encoded_slash(client, path):
    assert client.get(path, follow_redirects=False).status_code == 404


@pytest.mark.parametrize(
    ("path", "location"),
    [
        ("/notes/all/", "/notes/all"),
        ("/notes/all%2F", "/notes/all"),
        ("/notes/a%25%5C%0D/?b=%0A", "/notes/a%25%5C%0D?b=%0A"),
    ],
)
def test_a_trailing_slash_is_redirected_for_every_method(client, path, location):
    response = client.post(path, follow_redirects=False)
    assert (response.status_code, response.headers["location"]) == (308, location)


@pytest.mark.parametrize("how", ["torn", "burnt"])
def test_an_exception_is_handled_by_the_handler_of_its_class_or_a_parent(client, how):
    response = client.get(f"/fail/{how}")
    assert (response.status_code, response.text) == (500, f"{how.title()} at /fail/{how}")


def test_the_handler_for_the_nearest_class_is_chosen():
    async def on_burnt(request, error):
        return PlainTextResponse("ashes", 500)

    client = TestClient(Application(ROUTES, [], {**HANDLERS, Burnt: on_burnt}))
    assert client.get("/fail/burnt").text == "ashes"
    assert client.get("/fail/torn").text == "Torn at /fail/torn"


def test_an_exception_without_a_handler_propagates(client):
    with pytest.raises(LookupError):
        client.get("/fail/lost")


def test_an_http_exception_whose_status_has_no_handler_propagates(client):
    with pytest.raises(HTTPException) as caught:
        client.get("/forbid")
    assert caught.value.status_code == 403


@pytest.mark.parametrize("path", ["/notes/all", "/nothing"])
def test_a_previously_stored_refusal_is_raised_before_routing(client, path):
    client.app_state["refusal"] = Torn()
    assert client.get(path).text == f"Torn at {path}"


def test_the_first_middleware_is_the_outermost():
    class Named:
        def __init__(self, app, name):
            self.app, self.name = app, name

        async def __call__(self, scope, receive, send):
            scope["path"] += self.name
            await self.app(scope, receive, send)

    chosen = [Middleware(Named, name="a"), Middleware(Named, name="b")]
    assert TestClient(Application(ROUTES, chosen, HANDLERS)).get("/notes/").text == "one: ab"


def test_requests_are_served_within_the_lifespan():
    steps = []

    @asynccontextmanager
    async def lifespan(app):
        steps.append("start")
        yield
        steps.append("end")

    with TestClient(Application(ROUTES, [], HANDLERS, lifespan)) as client:
        steps.append(client.get("/notes/x").text)
    assert steps == ["start", "one: x", "end"]
