# SPDX-License-Identifier: Apache-2.0
"""The page in a real browser, with the mock arm and the motion server behind it.

Pictures of it are kept in .manipulator3d/pictures of the checkout.
"""

import os
import queue
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import domain_coordinator
import pytest
import rclpy
import yaml
from geometry_msgs.msg import TwistStamped
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from visualization_msgs.msg import MarkerArray

from manipulator3d_dashboard.arm_state import Command
from manipulator3d_dashboard.page import Page
from manipulator3d_description.robot_description import robot_description

# a range that the environment has chosen is kept; none means this computer
RANGE = os.environ.get("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")

sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")

CHROMIUM = Path("/usr/bin/chromium")
PICTURES = Path(__file__).parents[3] / ".manipulator3d" / "pictures"
LIMIT = 150.0
# software rendering, so that it looks the same everywhere; in the background, so that it does not starve the arm
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--use-gl=angle", "--use-angle=swiftshader"]
NODES = {
    "manipulator3d_description.nodes.state_publisher": {},
    "manipulator3d_control.nodes.arm_simulator": {"hardware": "mock"},
    "manipulator3d_control.nodes.motion_server": {"command_lead": 0.25},
    "manipulator3d_dashboard.nodes.dashboard_node": {"port": 0},
}
FIND = "[...document.querySelectorAll('button')].find((button) => button.innerText.trim() === name)"
LONG_PHASES = {"TO PICK", "LIFT", "TO PLACE", "RETREAT", "TO HOME"}
TOKEN, WATCHING = "a-token-of-some-length", "a-token-for-watching"

pytestmark = [
    pytest.mark.skipif(not CHROMIUM.exists(), reason=f"needs {CHROMIUM}: apt install chromium"),
    pytest.mark.slow,
    pytest.mark.timeout(600),
]


class Witness(Node):
    """Hears on ROS what the page shows and asks for."""

    def __init__(self) -> None:
        super().__init__("witness")
        self.joints: dict[str, float] = {}
        self.markers: dict[str, tuple[float, float, float]] = {}
        self.jogs: list[float] = []
        self.create_subscription(JointState, "joint_states", self._on_joints, 1)
        latched = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.create_subscription(MarkerArray, "markers", self._on_markers, latched)
        self.create_subscription(TwistStamped, "jog_twist", lambda m: self.jogs.append(m.twist.linear.z), 50)
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self)

    def listen(self, duration: float) -> None:
        """Take what comes, for s."""
        limit = time.monotonic() + duration
        while (rest := limit - time.monotonic()) > 0.0:
            self._executor.spin_once(timeout_sec=rest)

    def close(self) -> None:
        self._executor.shutdown()
        self.destroy_node()

    def _on_joints(self, message: JointState) -> None:
        self.joints = dict(zip(message.name, message.position, strict=True))

    def _on_markers(self, message: MarkerArray) -> None:
        for marker in message.markers:
            place = marker.pose.position
            self.markers[marker.ns] = (place.x, place.y, place.z)


@pytest.fixture(scope="module")
def domain() -> Iterator[int]:
    with domain_coordinator.domain_id() as number, pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROS_DOMAIN_ID", str(number))
        patch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", RANGE)
        yield number


@pytest.fixture(scope="module")
def witness(domain: int) -> Iterator[Witness]:
    rclpy.init()
    witness = Witness()
    yield witness
    witness.close()
    rclpy.try_shutdown()


@pytest.fixture(scope="module")
def address(domain: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Starts the stack with the mock arm; gives the address of the page."""
    folder = tmp_path_factory.mktemp("stack")
    processes = []
    try:
        for module, parameters in NODES.items():
            if module.endswith("state_publisher"):
                parameters = {"robot_description": robot_description("capstone")}
            file = folder / f"{module}.yaml"
            file.write_text(yaml.safe_dump({"/**": {"ros__parameters": parameters}}))
            program = f"import sys; from {module} import main; sys.exit(main())"
            command = [sys.executable, "-c", program, "--ros-args", "--params-file", str(file)]
            with (folder / f"{module}.log").open("w") as log:
                processes.append(subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT))
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
def browser(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[sync_api.Browser]":
    program = tmp_path_factory.mktemp("browser") / "chromium"
    program.write_text(f'#!/bin/sh\nexec nice -n 19 {CHROMIUM} "$@"\n')
    program.chmod(0o755)
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS, timeout=1000 * LIMIT)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def page(browser: "sync_api.Browser", address: str) -> "Iterator[sync_api.Page]":
    page = opened(browser, 620, 360)
    page.requested = []
    page.on("request", lambda request: page.requested.append(request.url))
    page.goto(address)
    page.locator("#arm-mode").wait_for()
    yield page
    page.close()


def opened(browser: "sync_api.Browser", width: int, height: int) -> "sync_api.Page":
    page = browser.new_page(viewport={"width": width, "height": height})
    page.set_default_timeout(1000 * LIMIT)
    return page


def wait(condition: Callable[[], object], failure: str, page: "sync_api.Page | None" = None) -> None:
    limit = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < limit, failure if page is None else f"{failure}; the page says {headline(page)}"
        time.sleep(0.1)


def keep(page: "sync_api.Page", name: str) -> bytes:
    """Take a picture and keep it for people to look at."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    return page.screenshot(path=PICTURES / f"{name}.png")


def headline(page: "sync_api.Page") -> str:
    return page.locator("#arm-mode").inner_text()


def figures(page: "sync_api.Page") -> str:
    return page.locator("table").first.inner_text()


def button(page: "sync_api.Page", name: str) -> "sync_api.Locator":
    return page.get_by_role("button", name=name, exact=True)


def can_press(page: "sync_api.Page", name: str) -> bool:
    """Whether a button is there and enabled; asked in one go, since buttons come and go while the arm moves."""
    return page.evaluate(f"(name) => {{ const button = {FIND}; return !!button && !button.disabled; }}", name)


def press_if_possible(page: "sync_api.Page", name: str) -> None:
    page.evaluate(f"(name) => {{ const button = {FIND}; if (button && !button.disabled) button.click(); }}", name)


def pause(page: "sync_api.Page") -> None:
    """Play and pause."""

    def paused() -> bool:
        if "MOVING" in headline(page):
            press_if_possible(page, "PAUSE")
        return "PAUSED" in headline(page)

    play_until(page, paused, "the arm does not pause")


def play_until(page: "sync_api.Page", condition: Callable[[], object], failure: str) -> None:
    """Press PLAY, again whenever the arm is at rest: a computer too busy with drawing may end the motion early."""

    def playing() -> bool:
        if condition():
            return True
        if "IDLE" in headline(page):
            press_if_possible(page, "PLAY")
        return False

    wait(playing, failure, page)


def test_the_page_opens_and_asks_nothing_of_other_computers(page: "sync_api.Page", address: str) -> None:
    wait(lambda: "IDLE" in headline(page), "the arm does not come to IDLE", page)
    assert page.get_by_text("E-STOP").is_visible()
    assert "mock, connected, homed" in figures(page)
    local = (address, address.replace("http:", "ws:"), "blob:", "data:")
    assert [url for url in page.requested if not url.startswith(local)] == []


def test_the_page_shows_the_joints_that_are_measured(page: "sync_api.Page", witness: Witness) -> None:
    wait(lambda: witness.listen(0.1) or witness.joints, "no joint_states")
    assert set(witness.joints) == {"base_yaw", "shoulder_pitch", "elbow_pitch"}
    for name, position in witness.joints.items():
        assert f"{name}\t{position:+.3f} rad" in figures(page)


def test_an_unreachable_start_shows_its_reason_and_disables_play(page: "sync_api.Page") -> None:
    wait(lambda: can_press(page, "PLAY"), "PLAY is not enabled with the first targets")
    field = page.get_by_label("START").first
    field.fill("0.6")
    page.get_by_text("farther from the shoulder than the arm reaches").wait_for()
    wait(lambda: not can_press(page, "PLAY"), "PLAY stays enabled with an unreachable START")
    keep(page, "unreachable")
    field.fill("0.25")
    page.get_by_text("farther from the shoulder than the arm reaches").wait_for(state="hidden")
    wait(lambda: can_press(page, "PLAY"), "PLAY stays disabled with a reachable START")


def test_play_shows_every_long_phase_of_a_cycle_and_the_picture_moves(page: "sync_api.Page") -> None:
    at_rest = page.locator("canvas").first.screenshot()
    # kept by the page itself, which misses none that it shows
    page.evaluate(
        """() => {
            window.headlines = [];
            const note = () => window.headlines.push(document.querySelector("#arm-mode")?.innerText ?? "");
            new MutationObserver(note).observe(document.body, {childList: true, subtree: true, characterData: true});
        }"""
    )
    pictures: list[bytes] = []

    def all_seen() -> bool:
        seen = page.evaluate("() => window.headlines.join('\\n')")
        if "MOVING" in seen and not pictures:
            pictures.append(page.locator("canvas").first.screenshot())
            keep(page, "moving")
        return "cycle 2" in seen and all(f"· {phase} ·" in seen for phase in LONG_PHASES)

    play_until(page, all_seen, "not all phases of a cycle were shown")
    assert pictures[0] != at_rest


def test_start_edited_while_paused_is_checked_and_then_used(page: "sync_api.Page", witness: Witness) -> None:
    pause(page)
    field = page.get_by_label("START").first
    field.fill("0.6")
    wait(lambda: not can_press(page, "PLAY"), "PLAY stays enabled with an unreachable START")
    assert page.get_by_text("farther from the shoulder than the arm reaches").is_visible()
    field.fill("0.24")
    wait(lambda: can_press(page, "PLAY"), "PLAY stays disabled with a reachable START")
    button(page, "PLAY").click()
    moved = (0.24, -0.15, 0.06)

    def is_used() -> bool:
        witness.listen(0.1)
        return "MOVING" in headline(page) and witness.markers.get("start") == pytest.approx(moved)

    wait(is_used, "the new START is not used", page)


def test_pause_and_resume(page: "sync_api.Page") -> None:
    pause(page)
    button(page, "RESUME").click()
    wait(lambda: "PAUSED" not in headline(page), "the arm does not resume")


def test_emergency_stop_ends_all_motion_and_reset_starts_none(page: "sync_api.Page") -> None:
    play_until(page, lambda: "MOVING" in headline(page), "the arm does not move")
    button(page, "E-STOP").click()
    page.get_by_text("the emergency stop was pressed").first.wait_for()
    wait(lambda: "FAULT" in headline(page), "no fault is shown")
    assert not can_press(page, "PLAY")
    keep(page, "emergency_stop")
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


def test_a_second_browser_of_a_phones_width_jogs_until_it_is_closed(
    browser: "sync_api.Browser", page: "sync_api.Page", address: str, witness: Witness
) -> None:
    phone = opened(browser, 390, 520)
    phone.goto(address)
    wait(lambda: phone.locator("#arm-mode").is_visible() and "IDLE" in headline(phone), "the arm is not at rest")
    place = button(phone, "E-STOP").bounding_box()
    assert 0 <= place["x"] < place["x"] + place["width"] <= 390
    phone.get_by_text("Arm · Jog").click()
    phone.get_by_text("Jog", exact=True).first.click()
    up = button(phone, "Z +")
    wait(lambda: can_press(phone, "Z +"), "the jog buttons are not enabled")
    keep(phone, "phone")
    # waits until the sheet has come to rest, and scrolls
    up.hover()
    phone.mouse.down()
    wait(lambda: witness.listen(0.1) or len(witness.jogs) >= 5, "a held button makes no stream")
    assert set(witness.jogs) == {0.05}
    phone.close()
    wait(lambda: witness.listen(0.1) or witness.jogs[-1] == 0.0, "closing the page does not end the stream")
    heard = len(witness.jogs)
    witness.listen(0.5)
    assert len(witness.jogs) == heard
    assert "MOVING" not in headline(page) or wait(lambda: "IDLE" in headline(page), "the arm moves on", page) is None


def test_another_site_is_turned_away_by_a_real_browser(browser: "sync_api.Browser", address: str) -> None:
    stranger = opened(browser, 320, 240)
    # a page without an address of its own has the Origin "null"
    outcome = stranger.evaluate(
        """(address) => new Promise((done) => {
            const socket = new WebSocket(address, "viser");
            socket.onopen = () => done("opened");
            socket.onerror = () => done("refused");
        })""",
        address.replace("http:", "ws:"),
    )
    stranger.close()
    assert outcome == "refused"


def test_a_token_is_asked_for_and_a_spectators_buttons_do_nothing(browser: "sync_api.Browser") -> None:
    pressed: queue.SimpleQueue[object] = queue.SimpleQueue()
    served = Page("127.0.0.1", 0, TOKEN, WATCHING, pressed.put)
    context = browser.new_context(viewport={"width": 720, "height": 400})
    try:
        visitor = context.new_page()
        visitor.set_default_timeout(1000 * LIMIT)
        address = f"http://127.0.0.1:{served.port}/"
        assert visitor.goto(address).status == 401
        assert "the token is missing or wrong" in visitor.locator("body").inner_text()
        visitor.goto(f"{address}?token={WATCHING}")
        visitor.locator("#watching").wait_for()
        keep(visitor, "spectator")
        served._panel._buttons[Command.EMERGENCY_STOP].disabled = False
        emergency_stop = button(visitor, "E-STOP")
        wait(lambda: can_press(visitor, "E-STOP"), "the button is not shown as enabled")
        assert emergency_stop.evaluate("(e) => getComputedStyle(e).pointerEvents") == "none"
        # past the greyed button
        emergency_stop.dispatch_event("click")
        visitor.goto(f"{address}?token={TOKEN}")
        wait(lambda: can_press(visitor, "E-STOP"), "the button is not shown as enabled")
        assert visitor.locator("#watching").count() == 0
        emergency_stop.click()
        wait(lambda: not pressed.empty(), "the operator's click does not arrive")
        requests = [request for request in iter(lambda: pressed.get() if not pressed.empty() else None, None)]
        assert requests.count(Command.EMERGENCY_STOP) == 1
    finally:
        context.close()
        served.close()
