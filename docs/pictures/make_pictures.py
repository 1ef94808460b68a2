# SPDX-License-Identifier: Apache-2.0
"""Makes the pictures of the page from the real page.

    python docs/pictures/make_pictures.py [FOLDER]

in an environment where the stack runs, with playwright, pillow and /usr/bin/chromium. Records what the stack with the
mock arm publishes during one cycle, then shows it to the page at the browser's pace and takes the pictures: without a
graphics card a picture takes longer than the arm gives it.
"""

import io
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import rclpy
import yaml
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright
from rclpy.action import ActionClient
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from visualization_msgs.msg import MarkerArray

from manipulator3d_description.robot_description import robot_description
from manipulator3d_interfaces.action import PickPlace
from manipulator3d_interfaces.msg import ArmStatus, HardwareStatus

CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--use-gl=angle", "--use-angle=swiftshader"]
ARM = ("manipulator3d_control.nodes.arm_simulator", "manipulator3d_control.nodes.motion_server")
PAGE = (
    "manipulator3d_description.nodes.state_publisher",
    "manipulator3d_kinematics.nodes.kinematics_node",
    "manipulator3d_dashboard.nodes.dashboard_node",
)
LIMIT = 120.0
TRIES = 10
LATCHED = QoSProfile(depth=20, durability=DurabilityPolicy.TRANSIENT_LOCAL)
TOPICS = {
    "joint_states": (JointState, 10),
    "arm_status": (ArmStatus, 10),
    "hardware_status": (HardwareStatus, 10),
    "markers": (MarkerArray, LATCHED),
}
GIF_SIZE = (480, 400)
GIF_PERIOD = 0.1
PANEL_WIDTH = 340
CLOSER = "?initialCameraPosition=0.6,-0.52,0.42&initialCameraLookAt=0.09,0.0,0.16"
# from the tab upward, to the largest element with neither the 3D view nor the other panel in it
HIDE_SIDE_PANEL = """() => {
    let part = [...document.querySelectorAll("span")].find((tab) => tab.textContent === "Faults");
    const isWhole = (e) => e.querySelector("canvas") || e.textContent.includes("E-STOP");
    while (!isWhole(part.parentElement)) part = part.parentElement;
    part.style.display = "none";
}"""
Record = list[tuple[float, str, Any]]


@contextmanager
def running(modules: tuple[str, ...], folder: Path) -> Iterator[Path]:
    """Run nodes; gives the file that their output goes to."""
    file, log = folder / "parameters.yaml", folder / "log"
    parameters = {"robot_description": robot_description("capstone"), "hardware": "mock", "port": 0}
    file.write_text(yaml.safe_dump({"/**": {"ros__parameters": parameters | {"command_lead": 0.25}}}))
    processes = []
    try:
        for module in modules:
            program = f"import sys; from {module} import main; sys.exit(main())"
            command = [sys.executable, "-c", program, "--ros-args", "--params-file", str(file)]
            with log.open("a") as output:
                processes.append(subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT))
        yield log
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait()


def wait(condition: Callable[[], object], failure: str, node: Node | None = None) -> None:
    """Wait for a condition, and meanwhile let the node work."""
    limit = time.monotonic() + LIMIT
    while not condition():
        if time.monotonic() > limit:
            raise TimeoutError(failure)
        if node is None:
            time.sleep(0.05)
        else:
            rclpy.spin_once(node, timeout_sec=0.05)


def record_cycle(node: Node) -> Record:
    """Let the arm run one cycle and keep what was published, with times in s from the first move to the pick point."""
    record: Record = []
    status = ArmStatus()

    def keep(topic: str, message: Any) -> None:
        nonlocal status
        record.append((time.monotonic(), topic, message))
        status = message if topic == "arm_status" else status

    listeners = [
        node.create_subscription(kind, topic, lambda message, topic=topic: keep(topic, message), qos)
        for topic, (kind, qos) in TOPICS.items()
    ]
    client = ActionClient(node, PickPlace, "pick_place")
    wait(client.server_is_ready, "no motion server", node)
    wait(lambda: status.mode == ArmStatus.MODE_IDLE, "the arm is not ready", node)
    goal = PickPlace.Goal(approach_height=float("nan"), cycles=1, dwell=0.2)
    goal.pick.point.x, goal.pick.point.y, goal.pick.point.z = 0.25, -0.15, 0.06
    goal.place.point.x, goal.place.point.y, goal.place.point.z = 0.20, 0.20, 0.08
    sent = client.send_goal_async(goal)
    wait(sent.done, "the goal is not answered", node)
    ended = sent.result().get_result_async()
    wait(ended.done, "the cycle does not end", node)
    if not ended.result().result.success:
        raise RuntimeError(ended.result().result.message)
    for listener in listeners:
        node.destroy_subscription(listener)
    client.destroy()
    start = next(t for t, topic, message in record if topic == "arm_status" and message.phase_name == "TO_PICK")
    return [(t - start, topic, message) for t, topic, message in record]


class Player:
    """Publishes a record up to a time, and the last states again and again, so that they stay fresh."""

    def __init__(self, node: Node, record: Record) -> None:
        self._publishers = {topic: node.create_publisher(kind, topic, qos) for topic, (kind, qos) in TOPICS.items()}
        self._record = record
        self._next = 0
        self._last: dict[str, Any] = {}
        self._ended = threading.Event()
        threading.Thread(target=self._repeat, daemon=True).start()

    def show(self, until: float) -> None:
        """Publish what came up to a time in s."""
        while self._next < len(self._record) and self._record[self._next][0] <= until:
            _, topic, message = self._record[self._next]
            self._next += 1
            if topic == "markers":
                self._publishers[topic].publish(message)
            else:
                self._last = self._last | {topic: message}

    def end(self) -> None:
        """Fall silent."""
        self._ended.set()

    def _repeat(self) -> None:
        while not self._ended.wait(0.1):
            for topic, message in self._last.items():
                self._publishers[topic].publish(message)


def open_page(browser: Browser, address: str, width: int, height: int, player: Player, moment: float) -> Page:
    """Open the page without the notice that there is no graphics card."""
    page = browser.new_page(viewport={"width": width, "height": height})
    page.set_default_timeout(1000 * LIMIT)
    page.goto(address)
    page.locator("#arm-mode").wait_for()
    page.locator(".mantine-Notification-closeButton").first.dispatch_event("click")
    limit = time.monotonic() + LIMIT
    while "DISCONNECTED" in page.locator("#arm-mode").inner_text():
        if time.monotonic() > limit:
            raise TimeoutError("the page hears nothing of the arm")
        rest(page, player, moment, 1.0)
    return page


def rest(page: Page, player: Player, moment: float, duration: float) -> None:
    """Keep one moment on the page for a while."""
    limit = time.monotonic() + duration
    while time.monotonic() < limit:
        player.show(moment)
        page.wait_for_timeout(100)


def save(page: Page, path: Path, player: Player, moment: float) -> None:
    """Take a picture, in 256 colours."""
    page.mouse.move(1, 1)
    rest(page, player, moment, 3.0)
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    picture.quantize(256, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(path, optimize=True)
    print(path, path.stat().st_size // 1000, "kB", flush=True)


def film(page: Page, path: Path, player: Player, duration: float) -> None:
    """Film the 3D view at the speed that the arm really has."""
    clip = {"x": 0, "y": 0, "width": GIF_SIZE[0], "height": GIF_SIZE[1]}
    pictures = []
    for number in range(round(duration / GIF_PERIOD)):
        rest(page, player, number * GIF_PERIOD, 0.5)
        pictures.append(Image.open(io.BytesIO(page.screenshot(clip=clip))).convert("RGB"))
    samples = Image.new("RGB", (GIF_SIZE[0], 4 * GIF_SIZE[1]))
    for number in range(4):
        samples.paste(pictures[number * len(pictures) // 4], (0, number * GIF_SIZE[1]))
    # keeps the few pixels of orange and red, which the other methods give up for more greys
    palette = samples.quantize(160, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    frames = [picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures]
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=round(1000 * GIF_PERIOD), loop=0)
    print(path, path.stat().st_size // 1000, "kB", len(frames), "pictures", flush=True)


def main() -> None:
    """Make all pictures."""
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    os.environ |= {"ROS_DOMAIN_ID": "217", "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    rclpy.init()
    node = Node("pictures")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for remaining in reversed(range(TRIES)):
            try:
                with running((*ARM, PAGE[0]), folder):
                    record = record_cycle(node)
                break
            except RuntimeError as error:
                print(f"once more: {error}", flush=True)
                if not remaining:
                    raise
        duration = record[-1][0]
        carrying = next(t for t, topic, message in record if topic == "arm_status" and message.phase_name == "TO_PLACE")
        moment = carrying + 0.5
        with running(PAGE, folder) as log, sync_playwright() as playwright:
            served = re.compile(r"http://127\.0\.0\.1:\d+/")
            wait(lambda: served.search(log.read_text()), "the page is not served")
            address = served.findall(log.read_text())[-1]
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
            player = Player(node, record)
            page = open_page(browser, address + CLOSER, GIF_SIZE[0] + PANEL_WIDTH, GIF_SIZE[1], player, 0.0)
            page.evaluate(HIDE_SIDE_PANEL)
            film(page, target / "demo.gif", player, duration)
            page.close()
            player.end()

            player = Player(node, record)
            page = open_page(browser, address, 1180, 700, player, moment)
            page.get_by_text("View", exact=True).click()
            page.locator("label").filter(has_text="workspace").click()
            page.get_by_text("Arm", exact=True).first.click()
            save(page, target / "page_dark.png", player, moment)
            page.get_by_text("View", exact=True).click()
            page.locator("label").filter(has_text="workspace").click()
            page.get_by_text("dark / light").click()
            page.get_by_label("START").first.fill("0.45")
            page.get_by_text("farther from the shoulder").wait_for()
            save(page, target / "page_light.png", player, moment)
            page.get_by_label("START").first.fill("0.25")
            page.get_by_text("farther from the shoulder").wait_for(state="hidden")
            page.close()
            page = open_page(browser, address, 390, 844, player, moment)
            save(page, target / "page_phone.png", player, moment)
            browser.close()
            player.end()
    node.destroy_node()
    rclpy.try_shutdown()


if __name__ == "__main__":
    main()
