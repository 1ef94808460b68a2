# SPDX-License-Identifier: Apache-2.0
"""The page in a real browser, with the mock arm and the motion server behind it."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import domain_coordinator
import pytest
import yaml

from manipulator3d_description.robot_description import robot_description

# a range that the environment has chosen is kept; none means this computer
RANGE = os.environ.get("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")

sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")

CHROMIUM = Path("/usr/bin/chromium")
LIMIT = 150.0
# software rendering, so that it looks the same everywhere; in the background, so that it does not starve the arm
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--use-gl=angle", "--use-angle=swiftshader"]
NODES = {
    "manipulator3d_description.nodes.state_publisher": {},
    "manipulator3d_control.nodes.arm_simulator": {"hardware": "mock"},
    "manipulator3d_control.nodes.motion_server": {"command_lead": 0.25},
    "manipulator3d_dashboard.nodes.dashboard_node": {"port": 0},
}

pytestmark = [
    pytest.mark.skipif(not CHROMIUM.exists(), reason=f"needs {CHROMIUM}: apt install chromium"),
    pytest.mark.slow,
    pytest.mark.timeout(600),
]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Starts the stack with the mock arm; gives the address of the page."""
    folder = tmp_path_factory.mktemp("stack")
    processes = []
    with domain_coordinator.domain_id() as domain:
        env = dict(os.environ, ROS_DOMAIN_ID=str(domain), ROS_AUTOMATIC_DISCOVERY_RANGE=RANGE)
        try:
            for module, parameters in NODES.items():
                if module.endswith("state_publisher"):
                    parameters = {"robot_description": robot_description("capstone")}
                file = folder / f"{module}.yaml"
                file.write_text(yaml.safe_dump({"/**": {"ros__parameters": parameters}}))
                program = f"import sys; from {module} import main; sys.exit(main())"
                command = [sys.executable, "-c", program, "--ros-args", "--params-file", str(file)]
                with (folder / f"{module}.log").open("w") as log:
                    processes.append(subprocess.Popen(command, env=env, stdout=log, stderr=subprocess.STDOUT))
            log = folder / "manipulator3d_dashboard.nodes.dashboard_node.log"
            wait(lambda: re.search(r"http://127\.0\.0\.1:\d+/", log.read_text()), "the page is not served")
            yield re.search(r"http://127\.0\.0\.1:\d+/", log.read_text())[0]
        finally:
            for module, process in zip(NODES, processes, strict=False):
                # shown by pytest when a test fails
                print(f"{module}: {process.poll()}\n{(folder / f'{module}.log').read_text()}")
                process.terminate()
            for process in processes:
                process.wait(timeout=LIMIT)


@pytest.fixture(scope="module")
def page(address: str, tmp_path_factory: pytest.TempPathFactory) -> "Iterator[sync_api.Page]":
    program = tmp_path_factory.mktemp("browser") / "chromium"
    program.write_text(f'#!/bin/sh\nexec nice -n 19 {CHROMIUM} "$@"\n')
    program.chmod(0o755)
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS, timeout=1000 * LIMIT)
        page = browser.new_page(viewport={"width": 720, "height": 400})
        page.set_default_timeout(1000 * LIMIT)
        page.requested = []
        page.on("request", lambda request: page.requested.append(request.url))
        page.goto(address)
        page.locator("#arm-mode").wait_for()
        yield page
        browser.close()


def wait(condition: Callable[[], object], failure: str, page: "sync_api.Page | None" = None) -> None:
    limit = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < limit, failure if page is None else f"{failure}; the page says {headline(page)}"
        time.sleep(0.1)


def headline(page: "sync_api.Page") -> str:
    return page.locator("#arm-mode").inner_text()


def figures(page: "sync_api.Page") -> str:
    return page.locator("table").first.inner_text()


def button(page: "sync_api.Page", name: str) -> "sync_api.Locator":
    return page.get_by_role("button", name=name, exact=True)


def play_until(page: "sync_api.Page", condition: Callable[[], object], failure: str) -> None:
    """Press PLAY, again whenever the arm is at rest: a computer too busy with drawing may end the motion early."""

    def playing() -> bool:
        if condition():
            return True
        if "IDLE" in headline(page) and button(page, "PLAY").is_enabled():
            # a click() would wait for ever if the button is disabled just now
            button(page, "PLAY").dispatch_event("click")
        return False

    wait(playing, failure, page)


def test_the_page_opens_and_asks_nothing_of_other_computers(page: "sync_api.Page", address: str) -> None:
    wait(lambda: "IDLE" in headline(page), "the arm does not come to IDLE", page)
    assert page.get_by_text("E-STOP").is_visible()
    assert "mock, connected, homed" in figures(page)
    local = (address, address.replace("http:", "ws:"), "blob:", "data:")
    assert [url for url in page.requested if not url.startswith(local)] == []


def test_an_unreachable_start_shows_its_reason_and_disables_play(page: "sync_api.Page") -> None:
    wait(lambda: button(page, "PLAY").is_enabled(), "PLAY is not enabled with the first targets")
    field = page.get_by_label("START").first
    field.fill("0.6")
    page.get_by_text("farther from the shoulder than the arm reaches").wait_for()
    wait(lambda: button(page, "PLAY").is_disabled(), "PLAY stays enabled with an unreachable START")
    field.fill("0.25")
    page.get_by_text("farther from the shoulder than the arm reaches").wait_for(state="hidden")
    wait(lambda: button(page, "PLAY").is_enabled(), "PLAY stays disabled with a reachable START")


def test_play_runs_a_cycle_and_the_picture_moves(page: "sync_api.Page") -> None:
    at_rest = page.locator("canvas").first.screenshot()
    pictures, phases = [], set()

    def second_cycle() -> bool:
        words = headline(page)
        phases.update(re.findall(r"TO PICK|TO PLACE|TO HOME", words))
        if phases and not pictures:
            pictures.append(page.locator("canvas").first.screenshot())
        return "cycle 2" in words

    play_until(page, second_cycle, "no second cycle began")
    assert pictures[0] != at_rest
    assert len(phases) >= 2, phases


def test_pause_and_resume(page: "sync_api.Page") -> None:
    def paused() -> bool:
        if "MOVING" in headline(page) and button(page, "PAUSE").is_visible() and button(page, "PAUSE").is_enabled():
            button(page, "PAUSE").dispatch_event("click")
        return "PAUSED" in headline(page)

    play_until(page, paused, "the arm does not pause")
    button(page, "RESUME").click()
    wait(lambda: "PAUSED" not in headline(page), "the arm does not resume")


def test_emergency_stop_ends_all_motion_and_reset_starts_none(page: "sync_api.Page") -> None:
    play_until(page, lambda: "MOVING" in headline(page), "the arm does not move")
    button(page, "E-STOP").click()
    page.get_by_text("the emergency stop was pressed").first.wait_for()
    wait(lambda: "FAULT" in headline(page), "no fault is shown")
    assert button(page, "PLAY").is_disabled()
    readings = [""]

    def at_rest() -> bool:
        readings.append(figures(page))
        # the joints are written five times a second
        page.wait_for_timeout(600)
        return readings[-1] == figures(page)

    wait(at_rest, "the arm moves on")
    button(page, "RESET").click()
    wait(lambda: "IDLE" in headline(page), "the fault is not cleared")
    assert at_rest()
    assert readings[-1] == readings[-2]
