# SPDX-License-Identifier: Apache-2.0
"""Points of any frame in the base frame, with and without tf2_ros."""

import importlib
import math
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from geometry_msgs.msg import Point, PointStamped, Quaternion, Transform, TransformStamped, Vector3
from std_msgs.msg import Header

from manipulator3d_node.error_code import ErrorCode
from manipulator3d_node.nodes.target_frame import FrameRefusal, TargetFrame

NODE: Any = SimpleNamespace()


def stamped(frame: str, x: float = 0.1, y: float = 0.2, z: float = 0.3) -> PointStamped:
    return PointStamped(header=Header(frame_id=frame), point=Point(x=x, y=y, z=z))


class LookupFailed(Exception):
    """What the buffer raises."""


def fake_tf2(transforms: dict[tuple[str, str], Transform]) -> ModuleType:
    """tf2_ros with known transforms, by (target, source)."""

    class Buffer:
        def __init__(self, node: Any) -> None:
            assert node is NODE

        def lookup_transform(self, target: str, source: str, time: Any) -> TransformStamped:
            assert time.nanoseconds == 0  # the latest
            if (target, source) not in transforms:
                raise LookupFailed(f'"{source}" passed to lookupTransform does not exist')
            return TransformStamped(transform=transforms[target, source])

    module: Any = ModuleType("tf2_ros")
    module.Buffer = Buffer
    module.TransformListener = lambda buffer, node: (buffer, node)
    module.TransformException = LookupFailed
    return module


@pytest.fixture
def without_tf2(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> ModuleType:
        raise ModuleNotFoundError(f"No module named '{name}'", name=name)

    monkeypatch.setattr(importlib, "import_module", missing)


@pytest.mark.usefixtures("without_tf2")
@pytest.mark.parametrize("frame", ["", "left_base_link"])
def test_a_point_of_the_base_frame_stays_as_it_is(frame: str) -> None:
    assert TargetFrame(NODE).in_base(stamped(frame), "left_base_link") == (0.1, 0.2, 0.3)


@pytest.mark.usefixtures("without_tf2")
def test_another_frame_without_tf2_names_the_frame_and_what_to_install() -> None:
    assert TargetFrame(NODE).in_base(stamped("table"), "base_link") == FrameRefusal(
        ErrorCode.UNKNOWN_FRAME,
        "frame 'table' is not the arm's base frame 'base_link', and other frames need tf2_ros, which is not installed; "
        "give the point in 'base_link', or install the package tf2_ros of your ROS 2 (ros-$ROS_DISTRO-tf2-ros-py)",
    )


def test_a_known_frame_is_transformed(monkeypatch: pytest.MonkeyPatch) -> None:
    # a quarter turn about z, then half a turn about x: (x, y, z) -> (-y, x, z) -> (-y, -x, -z)
    half = math.sqrt(0.5)
    turn = Quaternion(w=0.0, x=half, y=-half, z=0.0)
    shift = Vector3(x=1.0, y=2.0, z=3.0)
    module = fake_tf2({("base_link", "table"): Transform(translation=shift, rotation=turn)})
    monkeypatch.setitem(sys.modules, "tf2_ros", module)
    assert TargetFrame(NODE).in_base(stamped("table"), "base_link") == pytest.approx((0.8, 1.9, 2.7), abs=1e-12)


def test_a_frame_without_a_transform_is_refused_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tf2_ros", fake_tf2({}))
    refusal = TargetFrame(NODE).in_base(stamped("moon"), "base_link")
    assert refusal == FrameRefusal(
        ErrorCode.UNKNOWN_FRAME,
        "frame 'moon' has no transform to the arm's base frame 'base_link' (\"moon\" passed to lookupTransform does "
        "not exist); publish one on /tf or /tf_static, or give the point in 'base_link'",
    )
