# SPDX-License-Identifier: Apache-2.0
"""Whole missions among random obstacles: what is accepted keeps the margin, what is refused is truly blocked."""

from typing import Any

import numpy as np
import pytest

from manipulator3d_control.arm_capsules import ArmCapsules
from manipulator3d_control.mission import Mission, PickPlaceRequest, plan_pick_place
from manipulator3d_control.obstacle import Obstacle
from manipulator3d_control.refusal import Refusal
from manipulator3d_control.surroundings import Surroundings
from manipulator3d_description.robot_description import robot_description
from manipulator3d_kinematics import ArmModel, forward_kinematics, link_frames
from manipulator3d_kinematics.urdf_tree import parse_urdf
from manipulator3d_node.error_code import ErrorCode

XML = robot_description("capstone")
ARM = ArmModel.from_urdf(XML)
BODY = ArmCapsules.from_urdf(ARM, XML, 0.04)
MARGIN, OBJECT_RADIUS = 0.01, 0.015
REQUEST = PickPlaceRequest(np.array([0.25, -0.15, 0.06]), np.array([0.20, 0.20, 0.08]), 0.08, "up", "up", 0.05)
STRAIGHT = plan_pick_place(ARM, REQUEST, ARM.home)


def surface_points() -> list[tuple[int, np.ndarray]]:
    """Points all over the collision shapes of upper arm and forearm, by what moves them, in its link frame."""
    at_zero, tree = link_frames(ARM, np.zeros(3)), parse_urdf(XML)
    rng = np.random.default_rng(1)
    found = []
    for link in tree.links:
        mover = sum(joint.name in ARM.joint_names for joint in tree.path(link)) - 1
        for shape in tree.collisions(link) if mover > 0 else []:
            if shape.kind == "box":
                points = rng.uniform(-0.5, 0.5, (400, 3)) * shape.size
                face = rng.integers(3, size=400)
                points[np.arange(400), face] = 0.5 * np.sign(points[np.arange(400), face]) * np.take(shape.size, face)
            else:
                radius, length = shape.size
                angle = rng.uniform(0.0, 2.0 * np.pi, 400)
                across = radius * np.where(rng.random(400) < 0.7, 1.0, np.sqrt(rng.random(400)))
                height = np.where(across < radius, rng.choice([-0.5, 0.5], 400), rng.uniform(-0.5, 0.5, 400)) * length
                points = np.stack([across * np.cos(angle), across * np.sin(angle), height], axis=1)
            pose = np.linalg.inv(at_zero[mover]) @ shape.pose
            found.append((mover, points @ pose[:3, :3].T + pose[:3, 3]))
    return found


POINTS = surface_points()


def least_distance(mission: Mission, obstacles: tuple[Obstacle, ...]) -> float:
    """Of any point of the arm's surface, and of the ball around the tool while it carries, from any obstacle."""
    least = np.inf
    carrying = {id(move) for move in mission.before_release}
    for move in mission.moves:
        times = np.linspace(0.0, move.motion.duration, 40)
        for q in move.motion.sample(times).position:
            frames = link_frames(ARM, q)
            for obstacle in obstacles:
                for mover, points in POINTS:
                    placed = points @ frames[mover][:3, :3].T + frames[mover][:3, 3]
                    least = min(least, float(np.linalg.norm(obstacle.nearest(placed) - placed, axis=1).min()))
                if id(move) in carrying:
                    tool = forward_kinematics(ARM, q)[None]
                    least = min(least, float(np.linalg.norm(obstacle.nearest(tool) - tool)) - OBJECT_RADIUS)
    return least


def random_obstacle(rng: np.random.Generator) -> Obstacle:
    """Something on or near the way on which the tool carries the object."""
    shape, sizes = [("box", 3), ("sphere", 1), ("cylinder", 2)][rng.integers(3)]
    motion = STRAIGHT.before_release[0].motion
    place = forward_kinematics(ARM, motion.sample(rng.uniform(0.3, 0.7) * motion.duration).position)
    pose = np.eye(4)
    pose[:3, 3] = place + rng.uniform(-0.03, 0.03, 3)
    return Obstacle("thing", shape, tuple(rng.uniform(0.015, 0.04, sizes)), pose)


def planned(obstacles: tuple[Obstacle, ...]) -> Mission | Refusal:
    try:
        return plan_pick_place(ARM, REQUEST, ARM.home, Surroundings(BODY, obstacles, MARGIN, OBJECT_RADIUS))
    except Refusal as refusal:
        return refusal


def test_missions_among_random_obstacles_keep_the_margin_or_are_truly_blocked() -> None:
    rng = np.random.default_rng(11)
    outcomes = []
    for _ in range(8):
        obstacles = (random_obstacle(rng),)
        result = planned(obstacles)
        if isinstance(result, Refusal):
            assert result.code is ErrorCode.PATH_BLOCKED
            assert "obstacle 'thing' is in the way: at " in str(result)
            # capsules are a little larger than the shapes, by no more than 2 cm
            assert least_distance(STRAIGHT, obstacles) < MARGIN + 0.02
            outcomes.append("refused")
        else:
            assert least_distance(result, obstacles) >= MARGIN - 1e-6
            blocked = least_distance(STRAIGHT, obstacles) < MARGIN
            outcomes.append("around" if blocked else "clear")
    assert outcomes.count("around") >= 2, outcomes
    assert outcomes.count("refused") >= 1, outcomes


def test_a_mission_far_from_all_obstacles_is_the_straight_one() -> None:
    pose = np.eye(4)
    pose[:3, 3] = (-0.3, 0.0, 0.1)
    around = Surroundings(BODY, (Obstacle("far", "box", (0.1, 0.1, 0.1), pose),), MARGIN, OBJECT_RADIUS)
    mission = plan_pick_place(ARM, REQUEST, ARM.home, around)
    for move, straight in zip(mission.moves, STRAIGHT.moves, strict=True):
        assert move.phases == straight.phases
        assert move.motion.duration == pytest.approx(straight.motion.duration)


def test_what_blocks_a_descent_is_named_with_its_phase_and_never_led_around() -> None:
    pose = np.eye(4)
    pose[:3, 3] = (0.25, -0.15, 0.085)
    lid: Any = Obstacle("lid", "box", (0.08, 0.08, 0.01), pose)
    with pytest.raises(Refusal, match=r"^DESCEND_PICK: obstacle 'lid' is in the way: at ") as caught:
        plan_pick_place(ARM, REQUEST, ARM.home, Surroundings(BODY, (lid,), MARGIN, OBJECT_RADIUS))
    assert caught.value.code is ErrorCode.PATH_BLOCKED
