# SPDX-License-Identifier: Apache-2.0
"""The interfaces built from compat/ have the type hashes of the originals, so that both meet on the wire."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from ament_index_python.packages import PackageNotFoundError, get_package_share_directory

# computed by rosidl from the definitions in geometry2 0.39.1 and control_msgs 6.8.0
ORIGINALS = {
    "tf2_msgs/msg/TFMessage": "e369d0f05a23ae52508854b66f6aa0437f3449d652e8cbf22d5abe85d020f087",
    "control_msgs/msg/JointTolerance": "c254f9cece0f3b733017b6990fd46d1326e25242d6b8844398c97d9a88e7d648",
    "control_msgs/msg/JointComponentTolerance": "739ea7566931944d33830fa10f1bf5e7a7fbdc3172bce7a7eaac642bd6e3ffa4",
    "control_msgs/action/FollowJointTrajectory": "ff29901b2693f5deb847e96084a1c2cdb26e70b7c847be21859b70a55fb29cf0",
    "control_msgs/action/FollowJointTrajectory_SendGoal": (
        "b13789dddc325a7a962825c45e28c77d37237ec129dd0c34dc5994562938c57f"
    ),
    "control_msgs/action/FollowJointTrajectory_GetResult": (
        "e3ceb38e3e1867c8dc0f46014df26e90eb93422f27e9e97f936e07f94be4bc8b"
    ),
    "control_msgs/action/FollowJointTrajectory_FeedbackMessage": (
        "95618cc73912d99b9acaa17d2da5e832cb0bfdeede7534fa8ec600feca2a6c4b"
    ),
}


def built_share(package: str) -> Path:
    """The share folder of the package built from compat/."""
    try:
        share = Path(get_package_share_directory(package))
    except PackageNotFoundError:
        pytest.skip(f"{package} is not built; build the workspace")
    maintainer = ElementTree.parse(share / "package.xml").getroot().findtext("maintainer")
    if maintainer != "manipulator3d maintainers":
        pytest.skip(f"the ROS installation has its own {package}")
    return share


@pytest.mark.parametrize("interface", ORIGINALS)
def test_type_hash_is_the_originals(interface: str) -> None:
    package, kind, name = interface.split("/")
    description = built_share(package) / kind / f"{name.partition('_')[0]}.json"
    hashes = {entry["type_name"]: entry["hash_string"] for entry in json.loads(description.read_text())["type_hashes"]}
    assert hashes[interface] == f"RIHS01_{ORIGINALS[interface]}"


def test_constants_are_the_originals() -> None:
    # a type hash does not cover constants
    built_share("control_msgs")
    from control_msgs.action import FollowJointTrajectory
    from control_msgs.msg import JointComponentTolerance

    result = FollowJointTrajectory.Result
    codes = [result.SUCCESSFUL, result.INVALID_GOAL, result.INVALID_JOINTS, result.OLD_HEADER_TIMESTAMP]
    assert codes == [0, -1, -2, -3]
    assert [result.PATH_TOLERANCE_VIOLATED, result.GOAL_TOLERANCE_VIOLATED] == [-4, -5]
    axes = [JointComponentTolerance.X_AXIS, JointComponentTolerance.Y_AXIS, JointComponentTolerance.Z_AXIS]
    assert axes == [1, 2, 3]
    assert [JointComponentTolerance.TRANSLATION, JointComponentTolerance.ROTATION] == [4, 5]
