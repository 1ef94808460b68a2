# SPDX-License-Identifier: Apache-2.0
"""Who may open the page."""

import pytest

from manipulator3d_dashboard.door import Door, Refusal, Welcome

TOKEN = "a-token-of-some-length"
WEBSOCKET = {"upgrade": "websocket"}


def reason(door: Door, path: str = "/", **headers: str) -> str:
    verdict = door.judge(path, headers)
    return verdict.reason if isinstance(verdict, Refusal) else ""


@pytest.mark.parametrize("host", ["127.0.0.1:8080", "localhost:8080", "[::1]:9000", "LOCALHOST:1", "127.0.0.1"])
def test_a_local_page_answers_to_this_computers_names(host: str) -> None:
    door = Door("127.0.0.1", 8080)
    assert door.judge("/", {"host": host}) is None
    assert door.judge("/", {"host": host, "origin": f"http://{host}", **WEBSOCKET}) is None


@pytest.mark.parametrize(
    "host", ["evil.example:8080", "192.168.0.7:8080", "127.0.0.1.evil.example", "", "[", "[::2]:1"]
)
def test_a_local_page_answers_to_no_other_name(host: str) -> None:
    assert "is not this computer; open the page as http://127.0.0.1" in reason(Door("127.0.0.1", 8080), host=host)


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "http://localhost:3000",
        "http://127.0.0.1:8081",
        "null",
        "",
        "file://",
        "http://[",
        "http://127.0.0.1",
    ],
)
def test_another_site_is_turned_away(origin: str) -> None:
    door = Door("127.0.0.1", 8080)
    assert f"Origin {origin} is not this page" in reason(door, host="127.0.0.1:8080", origin=origin)
    assert f"Origin {origin} is not this page" in reason(door, host="127.0.0.1:8080", origin=origin, **WEBSOCKET)


def test_a_websocket_must_name_its_origin() -> None:
    assert "Origin is missing" in reason(Door("127.0.0.1", 8080), host="127.0.0.1:8080", **WEBSOCKET)


def test_an_address_that_others_reach_needs_a_token() -> None:
    for host in ("0.0.0.0", "::", "", "192.168.0.7", "robot.local"):
        with pytest.raises(ValueError, match=r"set parameter token, or leave host at 127\.0\.0\.1"):
            Door(host, 8080)
    Door("0.0.0.0", 8080, TOKEN)


@pytest.mark.parametrize(
    ("token", "text"),
    [("short", "5 characters are too few; at least 16"), ("with spaces in the token", "only letters, digits, - and _")],
)
def test_a_weak_token_is_refused(token: str, text: str) -> None:
    with pytest.raises(ValueError, match="parameter token") as error:
        Door("127.0.0.1", 8080, token)
    assert text in str(error.value)


def test_the_token_is_asked_for_once_and_then_known_by_its_cookie() -> None:
    door = Door("0.0.0.0", 8080, TOKEN)
    at = {"host": "robot.local:8080"}
    assert "the token is missing or wrong" in reason(door, **at)
    assert "the token is missing or wrong" in reason(door, "/?token=another-token-of-length", **at)
    welcome = door.judge(f"/?token={TOKEN}", at)
    assert isinstance(welcome, Welcome)
    assert welcome.location == "/"
    cookie, *rules = welcome.cookie.split("; ")
    assert {"HttpOnly", "SameSite=Lax"} <= set(rules)
    assert door.judge("/", {**at, "cookie": f"other=1; {cookie}"}) is None
    origin = {"origin": "http://robot.local:8080", **WEBSOCKET}
    assert door.judge("/", {**at, **origin, "cookie": cookie}) is None
    assert "the token is missing or wrong" in reason(door, **at, **origin)
    assert "Origin http://evil.example" in reason(
        door, **{**at, **origin, "origin": "http://evil.example"}, cookie=cookie
    )


def test_a_websocket_gets_no_cookie() -> None:
    door = Door("127.0.0.1", 8080, TOKEN)
    headers = {"host": "127.0.0.1:8080", "origin": "http://127.0.0.1:8080", **WEBSOCKET}
    assert isinstance(door.judge(f"/?token={TOKEN}", headers), Refusal)


def test_a_spectator_comes_in_with_a_token_of_its_own_and_may_not_steer() -> None:
    watching = "a-token-for-watching"
    door = Door("0.0.0.0", 8080, TOKEN, watching)
    at = {"host": "robot.local:8080"}
    cookies = {}
    for secret in (TOKEN, watching):
        welcome = door.judge(f"/?token={secret}", at)
        assert isinstance(welcome, Welcome)
        cookies[secret] = {**at, "cookie": welcome.cookie.partition(";")[0]}
        assert door.judge("/", cookies[secret]) is None
    assert door.may_steer(cookies[TOKEN])
    assert not door.may_steer(cookies[watching])
    assert not door.may_steer(at)
    # showing the other token again changes sides
    welcome = door.judge(f"/?token={TOKEN}", cookies[watching])
    assert isinstance(welcome, Welcome)
    assert TOKEN in welcome.cookie


def test_without_a_token_everybody_on_this_computer_may_steer() -> None:
    assert Door("127.0.0.1", 8080).may_steer({"host": "127.0.0.1:8080"})


@pytest.mark.parametrize(
    ("token", "spectator", "text"),
    [
        ("", "a-token-for-watching", "without a token everybody may steer; set parameter token as well"),
        (TOKEN, TOKEN, "it is the same as token; set another"),
        (TOKEN, "short", "5 characters are too few; at least 16"),
    ],
)
def test_a_spectators_token_that_is_of_no_use_is_refused(token: str, spectator: str, text: str) -> None:
    with pytest.raises(ValueError, match="parameter spectator_token: ") as error:
        Door("127.0.0.1", 8080, token, spectator)
    assert text in str(error.value)
