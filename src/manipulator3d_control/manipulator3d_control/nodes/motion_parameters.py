# SPDX-License-Identifier: Apache-2.0
"""Parameters of the motion server."""

from dataclasses import dataclass

from manipulator3d_node.parameter import parameter


@dataclass(frozen=True)
class MotionParameters:
    """See the descriptions of the fields."""

    rate_hz: float = parameter(100.0, "rate of joint_commands", unit="Hz", lower=10.0, upper=500.0)
    command_lead: float = parameter(
        0.15, "how long before the time at which it applies a command is sent", unit="s", lower=0.02, upper=0.25
    )
    blend_radius: float = parameter(
        0.05,
        "how far from the points above pick and place the tool may leave its lines to round the corner; "
        "0: stop in each corner",
        unit="m",
        lower=0.0,
        upper=1.0,
    )
    preferred_elbow: str = parameter("down", "branch taken where nothing else decides", choices=("down", "up"))
    default_approach_height: float = parameter(
        0.08, "height above pick and place where a goal gives none", unit="m", lower=0.0, upper=1.0
    )
    default_speed_scale: float = parameter(1.0, "fraction of the limits where a goal gives none", lower=0.01, upper=1.0)
    tool_speed: float = parameter(
        0.0,
        "largest speed of the tool on lines, drawings and in pick-and-place; 0: as the joints' limits allow",
        unit="m/s",
        lower=0.0,
        upper=10.0,
    )
    tool_acceleration: float = parameter(
        0.0,
        "largest acceleration of the tool on lines, drawings and in pick-and-place; 0: as the joints' limits allow",
        unit="m/s²",
        lower=0.0,
        upper=100.0,
    )
    grasp_tolerance: float = parameter(
        0.01, "largest distance of tool point and object at a grasp", unit="m", lower=1e-4, upper=0.1
    )
    grasp_attempts: int = parameter(
        2, "how often the object is grasped for before a pick-and-place ends", lower=1, upper=10
    )
    grip_time: float = parameter(0.2, "time that the gripper takes to open or close", unit="s", lower=0.0, upper=10.0)
    goal_tolerance: float = parameter(
        0.02, "largest distance of a joint from its goal at the end", unit="rad", lower=1e-4, upper=0.5
    )
    settle_timeout: float = parameter(
        2.0, "time within which a joint must be within goal_tolerance", unit="s", lower=0.1, upper=30.0
    )
    tracking_tolerance: float = parameter(
        0.2, "largest distance of a joint from its command during motion", unit="rad", lower=0.01, upper=3.0
    )
    tracking_time: float = parameter(
        0.1, "how long tracking_tolerance may be exceeded", unit="s", lower=0.0, upper=10.0
    )
    jog_timeout: float = parameter(
        0.25, "how long a velocity of jog_twist or jog_joints counts", unit="s", lower=0.05, upper=1.0
    )
    state_timeout: float = parameter(
        1.0, "age of joint_states from which they count as stale", unit="s", lower=0.05, upper=10.0
    )
    payload_mass: float = parameter(
        0.05, "mass of the object that is picked, for the torques in joint_commands", unit="kg", lower=0.0, upper=5.0
    )
    obstacle_margin: float = parameter(
        0.01, "least distance of the arm's surface from obstacles", unit="m", lower=0.0, upper=0.2
    )
    link_radius: float = parameter(
        0.04, "radius of a link whose description has no box, cylinder or sphere", unit="m", lower=0.001, upper=0.5
    )
    object_radius: float = parameter(
        0.015,
        "radius of the ball around the tool point that a held object is taken for",
        unit="m",
        lower=0.0,
        upper=0.5,
    )
    trajectory_start_tolerance: float = parameter(
        0.05,
        "how far from where the arm stands a trajectory may begin that begins at time 0",
        unit="rad",
        lower=0.0,
        upper=0.5,
    )
    trajectory_max_stretch: float = parameter(
        1.2,
        "how many times slower than asked a trajectory may be run to keep the joints' limits; above, it is refused",
        lower=1.0,
        upper=100.0,
    )
