# SPDX-License-Identifier: Apache-2.0
"""The verb `tune` in virtual time: a stack of the emulated board and a motion server that moves at once."""

import importlib
import json
import math
from types import SimpleNamespace

import pytest
import yaml
from firmware_paths import rest_to_rest
from virtual_board import HOME, joint_configuration

from manipulator3d_hw_bridge import messages
from manipulator3d_hw_bridge.board_settings import GAINS
from manipulator3d_hw_bridge.messages import Mode

pytest.importorskip("rclpy", reason="the verb needs ROS 2")

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from sensor_msgs.msg import JointState

from manipulator3d.cli import tune
from manipulator3d.stack_error import StackError
from manipulator3d_interfaces.action import MoveTo
from manipulator3d_interfaces.msg import ArmStatus, ErrorCode, LinkTraffic

NAMES = ["base_yaw", "shoulder_pitch", "elbow_pitch"]
FULL_SPEED = 0.7


class VirtualStack:
    """Takes the place of a StackClient; whatever waits lets the board's time pass."""

    def __init__(self, host, **configuration):
        self.host = host
        self.configuration = [joint_configuration(joint, **configuration) for joint in range(3)]
        for joint in self.configuration:
            host.do(joint)
        host.do(messages.BoardConfiguration())
        host.do(messages.SetMode(mode=Mode.HOLD))
        host.run_alive(100)
        host.do(messages.SetMode(mode=Mode.TRACK))
        self.status = ArmStatus(mode=ArmStatus.MODE_IDLE, mode_name="idle", homed=True, link=True)
        self.position = list(HOME)
        self.refuse = lambda goal: None
        self.has_bridge = True
        self.scales = []
        self.node = self
        self._subscribed = {}
        self._write, self._read, self._send = host.port.write, host.port.read, host.send
        host.port.write, host.port.read, host.send = self._to_board, self._from_board, self._commanded

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        return None

    # What a bridge and a motion server publish

    def _to_board(self, data):
        self._tell("link_traffic", LinkTraffic(direction=LinkTraffic.TO_BOARD, data=data))
        self._write(data)

    def _from_board(self):
        data = self._read()
        if data:
            self._tell("link_traffic", LinkTraffic(direction=LinkTraffic.FROM_BOARD, data=data))
        return data

    def _commanded(self, message):
        if isinstance(message, messages.Setpoint):
            self._tell("joint_commands", self._joints(message))
        return self._send(message)

    def _joints(self, message):
        made = JointState(name=NAMES, position=message.position, velocity=message.velocity)
        made.header.stamp.sec, made.header.stamp.nanosec = divmod(message.time * 1000, 10**9)
        return made

    def _tell(self, topic, message):
        for callback in self._subscribed.get(topic, ()):
            callback(message)

    def _pass(self, ms):
        known = len(self.host.received)
        self.host.run_alive(ms)
        self._measured(known)

    def _measured(self, known):
        for message in self.host.received[known:]:
            if isinstance(message, messages.State):
                self._tell("joint_states", self._joints(message))

    # What the verb uses of a StackClient and its node

    def create_subscription(self, _kind, topic, callback, _depth):
        self._subscribed.setdefault(topic, []).append(callback)
        return SimpleNamespace(topic_name="/" + topic)

    def destroy_subscription(self, _subscription):
        return None

    def receive(self, kind, _topic):
        return self.status if kind is ArmStatus else JointState(name=NAMES, position=self.position)

    def spin_until(self, condition, timeout_s):
        for _ in range(round(timeout_s * 50)):
            if condition():
                return True
            self._pass(20)
            if self.has_bridge and self._subscribed.get("diagnostics"):
                values = [
                    KeyValue(key=f"{name}: {gain}", value=f"{getattr(joint, gain):g}")
                    for name, joint in zip(NAMES, self.configuration, strict=True)
                    for gain in ("counts_per_radian", *GAINS)
                ]
                self._tell(
                    "diagnostics", DiagnosticArray(status=[DiagnosticStatus(name="bridge: gains", values=values)])
                )
        return condition()

    def send_goal(self, kind, name, goal, _on_feedback=None):
        assert (kind, name, goal.target_type) == (MoveTo, "move_to", MoveTo.Goal.TARGET_JOINTS)
        result = self.refuse(goal)
        if result is None:
            self.scales.append(goal.speed_scale)
            target = [dict(zip(goal.joints.name, goal.joints.position, strict=True))[joint] for joint in NAMES]
            known = len(self.host.received)
            duration = FULL_SPEED / goal.speed_scale
            self.host.follow(rest_to_rest(self.position, target, duration), duration + 0.1)
            self._measured(known)
            self.position = target
            result = MoveTo.Result(success=True)
        return SimpleNamespace(wait=lambda: result)


@pytest.fixture
def stack(make_host, monkeypatch):
    made = VirtualStack(make_host())
    monkeypatch.setattr(tune, "StackClient", lambda _namespace: made)
    return made


def no_way(code, text):
    return MoveTo.Result(success=False, error_code=int(code), message=text)


def share_of_quintic(level):
    """When 10u³ − 15u⁴ + 6u⁵ reaches a level, by bisection."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if 10 * middle**3 - 15 * middle**4 + 6 * middle**5 < level:
            low = middle
        else:
            high = middle
    return low


def test_the_motor_the_response_and_the_gains_are_told(stack, capsys):
    assert tune.main("tune", ["base_yaw", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    # 12 V and 1.45 V s/rad of the plant; its friction of 0.5 N m at 12 / 5.5 ohm
    assert answer["motor"]["gain"] == pytest.approx(12.0 / 1.45, rel=0.06)
    assert answer["motor"]["friction"] == pytest.approx(0.5 * 12.0 / 5.5 / (1.45 * 12.0), rel=0.06)
    rise = FULL_SPEED * (share_of_quintic(0.9) - share_of_quintic(0.1))
    assert answer["response"]["commanded_rise_time"] == pytest.approx(rise, abs=0.002)
    assert answer["response"]["rise_time"] == pytest.approx(rise, abs=0.01)
    assert 0.0 < answer["response"]["rms_error"] < 1e-3
    assert abs(answer["response"]["steady_state_error"]) < 2 * math.pi / 8384
    assert 0.0 < answer["rms_error_on_board"] < 5e-4
    assert answer["present"]["proportional"] == 40.0
    assert answer["suggested"]["sensitivity"] <= 2.01
    assert answer["setpoints_refused"] == 0
    # at first slowly there and back, to see whether there is room; then each speed twice
    assert stack.scales == [0.35] * 2 + [1.0, 1.0, 0.6, 0.6, 0.35, 0.35] * 2
    assert stack.position == pytest.approx(HOME)


def test_people_get_tables_and_a_parameter_file_that_changes_the_one_joint(stack, capsys):
    assert tune.main("tune", ["elbow_pitch"]) == 0
    shown = capsys.readouterr().out
    assert "rad/s at full drive" in shown
    assert "Garpinger and Hägglund" in shown
    parameters = yaml.safe_load(shown[shown.index("/**/bridge_node") :])["/**/bridge_node"]["ros__parameters"]
    assert set(parameters) == set(GAINS)
    assert all(type(value) is float for row in parameters.values() for value in row)
    assert parameters["proportional"][:2] == [40.0, 40.0]
    assert parameters["proportional"][2] != 40.0


def test_the_picture_is_written(stack, capsys, tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    picture = tmp_path / "step.png"
    assert tune.main("tune", ["base_yaw", "--json", "--plot", str(picture)]) == 0
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_the_other_direction_is_taken_where_one_has_no_room(stack, capsys):
    text = "shoulder_pitch: 1.6 rad is above its limit"
    stack.refuse = lambda goal: no_way(ErrorCode.JOINT_LIMIT, text) if goal.joints.position[1] > 1.3 else None
    assert tune.main("tune", ["shoulder_pitch", "--json"]) == 0
    assert "-0.40 rad" in capsys.readouterr().err
    stack.refuse = lambda goal: no_way(ErrorCode.JOINT_LIMIT, text)
    with pytest.raises(StackError, match=rf"has no room for 0.4 rad in either direction: {text}"):
        tune.main("tune", ["shoulder_pitch"])


def test_a_motion_that_fails_ends_it_with_the_servers_words(stack):
    stack.refuse = lambda goal: no_way(ErrorCode.STOPPED, "stopped") if len(stack.scales) == 5 else None
    with pytest.raises(StackError, match=r"^stopped$"):
        tune.main("tune", ["base_yaw"])
    assert len(stack.scales) == 5


@pytest.mark.parametrize(
    ("status", "text"),
    [
        ({"mode": ArmStatus.MODE_MOVING, "mode_name": "moving"}, "the arm is moving; wait for its end, or run"),
        ({"homed": False}, "the joint positions are not known; run ./manipulator3d home first"),
        ({"link": False}, "the arm is not connected; look at ./manipulator3d status"),
        ({"fault": 304, "fault_message": "stalled; reset"}, "the arm is not ready: stalled; reset"),
    ],
)
def test_an_arm_that_is_not_ready_is_refused_before_it_moves(stack, status, text):
    for name, value in status.items():
        setattr(stack.status, name, value)
    with pytest.raises(StackError) as error:
        tune.main("tune", ["base_yaw"])
    assert text in str(error.value)
    assert stack.scales == []


def test_an_unknown_joint_an_arm_without_motors_and_a_wrong_picture_are_refused(stack, tmp_path, monkeypatch):
    with pytest.raises(StackError, match="there is no joint 'wrist'; the joints are base_yaw, shoulder_pitch, elbow_p"):
        tune.main("tune", ["wrist"])
    stack.has_bridge = False
    with pytest.raises(StackError, match=r"no bridge tells the gains .* hardware:=emulated or hardware:=serial"):
        tune.main("tune", ["base_yaw"])
    with pytest.raises(StackError, match="its folder does not exist; give another --plot"):
        tune.main("tune", ["base_yaw", "--plot", str(tmp_path / "none" / "step.png")])
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(StackError, match=r"needs matplotlib, which is not installed; run ./manipulator3d shell -- pip"):
        tune.main("tune", ["base_yaw", "--plot", "step.png"])
    assert stack.scales == []


@pytest.mark.parametrize(("name", "value"), [("--amplitude", "2"), ("--amplitude", "nan"), ("--repeats", "0")])
def test_senseless_numbers_are_wrong_usage(name, value, capsys):
    with pytest.raises(SystemExit) as ended:
        tune.main("tune", ["base_yaw", name, value])
    assert ended.value.code == 2
    assert f"{name} {value}" in capsys.readouterr().err


def test_setpoints_that_the_board_refuses_are_told(stack, capsys):
    send = stack.host.send
    late = []

    def send_some_late(message):
        if isinstance(message, messages.Setpoint) and len(stack.scales) == 4 and not late:
            late.append(send(messages.Setpoint(time=1, position=message.position, velocity=message.velocity)))
        return send(message)

    stack.host.send = send_some_late
    assert tune.main("tune", ["base_yaw", "--json"]) == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)["setpoints_refused"] == 1
    assert "the board refused 1 setpoints, so the figures may be off" in shown.err
