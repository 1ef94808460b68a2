# SPDX-License-Identifier: Apache-2.0
"""The whole arm keeps the margin along the whole path, seen by another library with the shapes of the description."""

import dataclasses
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manipulator3d_control.arm_capsules import FOREARM, HELD_OBJECT, ArmCapsules
from manipulator3d_control.clearance import RESOLUTION_M, Clearance, Contact, Sampler
from manipulator3d_control.detour import Detours, via_grid
from manipulator3d_control.obstacle import Obstacle
from manipulator3d_description.robot_description import robot_description
from manipulator3d_kinematics import ArmModel, forward_kinematics, inverse_kinematics, link_frames
from manipulator3d_kinematics.urdf_tree import parse_urdf
from manipulator3d_node.error_code import ErrorCode

XML = robot_description("capstone")
ARM = ArmModel.from_urdf(XML)
BODY = ArmCapsules.from_urdf(ARM, XML, 0.04)
MARGIN = 0.01
PI = np.pi
YAW = np.array([1.0, 0.0, 0.0])
GRID = via_grid(ARM, "down")


def line(start: np.ndarray, end: np.ndarray) -> Sampler:
    """The straight way in joint space, s from 0 to 1."""
    return lambda s: (start + s[:, None] * (end - start), np.broadcast_to(end - start, (len(s), 3)))


def block(name: str, centre: tuple[float, float, float], size: tuple[float, ...], shape: str = "box") -> Obstacle:
    pose = np.eye(4)
    pose[:3, 3] = centre
    return Obstacle(name, shape, size, pose)


def random_scene(rng: np.random.Generator, count: int) -> tuple[Obstacle, ...]:
    """Solids in the arm's way, around its base."""
    obstacles = []
    for index in range(count):
        shape, sizes = [("box", 3), ("sphere", 1), ("cylinder", 2)][rng.integers(3)]
        azimuth, radius = rng.uniform(-2.5, 2.5), rng.uniform(0.18, 0.35)
        centre = (radius * np.cos(azimuth), radius * np.sin(azimuth), rng.uniform(0.0, 0.25))
        obstacles.append(block(f"{shape} {index}", centre, tuple(rng.uniform(0.02, 0.08, sizes)), shape))
    return tuple(obstacles)


class TrueShapes:
    """The collision shapes of the moving links, placed and measured by coal."""

    def __init__(self) -> None:
        self.coal: Any = pytest.importorskip("coal", reason="coal, which comes with pin, is not installed")
        tree = parse_urdf(XML)
        at_zero = link_frames(ARM, np.zeros(3))
        self._shapes = []
        for link in tree.links:
            movers = [joint.name for joint in tree.path(link) if joint.name in ARM.joint_names]
            for shape in tree.collisions(link) if len(movers) > 1 else []:
                pose = np.linalg.inv(at_zero[len(movers) - 1]) @ shape.pose
                solid = self.coal.Box(*shape.size) if shape.kind == "box" else self.coal.Cylinder(*shape.size)
                self._shapes.append((len(movers) - 1, pose, solid))

    def clearance(self, q: np.ndarray, obstacles: tuple[Obstacle, ...]) -> float:
        """Least distance of any link to any obstacle."""
        frames = link_frames(ARM, q)
        placed = [(self._transform(frames[mover] @ pose), solid) for mover, pose, solid in self._shapes]
        solids = [(self._transform(obstacle.pose), self._solid(obstacle)) for obstacle in obstacles]
        return min(self._distance(*link, *solid) for link in placed for solid in solids)

    def _solid(self, obstacle: Obstacle) -> Any:
        size = obstacle.size
        if obstacle.shape == "box":
            return self.coal.Box(*size)
        return self.coal.Sphere(*size) if obstacle.shape == "sphere" else self.coal.Cylinder(size[1], size[0])

    def _transform(self, pose: np.ndarray) -> Any:
        return self.coal.Transform3s(pose[:3, :3], pose[:3, 3])

    def _distance(self, link_at: Any, link: Any, obstacle_at: Any, obstacle: Any) -> float:
        result = self.coal.DistanceResult()
        self.coal.distance(link, link_at, obstacle, obstacle_at, self.coal.DistanceRequest(), result)
        return float(result.min_distance)


def test_capsules_contain_the_shapes_of_the_description() -> None:
    tree = parse_urdf(XML)
    q = np.array([0.4, 0.9, -1.1])
    starts, ends = BODY.segments(q[None])
    at_zero, frames = link_frames(ARM, np.zeros(3)), link_frames(ARM, q)
    rng = np.random.default_rng(2)
    seen = 0
    for link in tree.links:
        movers = [joint.name for joint in tree.path(link) if joint.name in ARM.joint_names]
        for shape in tree.collisions(link) if len(movers) > 1 else []:
            seen += 1
            points = rng.uniform(-0.5, 0.5, (2000, 3))
            if shape.kind == "box":
                points *= shape.size
            else:
                points = points[np.hypot(points[:, 0], points[:, 1]) <= 0.5]
                points *= (2.0 * shape.size[0], 2.0 * shape.size[0], shape.size[1])
            placed = frames[len(movers) - 1] @ np.linalg.inv(at_zero[len(movers) - 1]) @ shape.pose
            points = points @ placed[:3, :3].T + placed[:3, 3]
            named = [i for i, capsule in enumerate(BODY.capsules) if capsule.name == link]
            inside = np.zeros(len(points), dtype=bool)
            for i in named:
                axis = ends[0, i] - starts[0, i]
                share = np.clip((points - starts[0, i]) @ axis / (axis @ axis), 0.0, 1.0)
                apart = np.linalg.norm(points - starts[0, i] - share[:, None] * axis, axis=1)
                inside |= apart <= BODY.radii[i] + 1e-9
            assert inside.all(), link
    assert seen == 5


@pytest.mark.parametrize("profile", ["capstone", "classic"])
def test_no_link_point_moves_farther_than_the_joints_travel_allows(profile: str) -> None:
    xml = robot_description(profile)
    arm = ArmModel.from_urdf(xml)
    body = ArmCapsules.from_urdf(arm, xml, 0.04).with_object(0.02)
    rng = np.random.default_rng(3)
    q = rng.uniform(arm.lower, arm.upper, (3000, 3))
    moved = q + rng.normal(size=q.shape) * rng.choice([0.0, 1e-3, 0.1], q.shape)
    allowed = np.abs(moved - q) @ body.travel_weights.T
    for before, after in zip(body.segments(q), body.segments(moved), strict=True):
        assert np.all(np.linalg.norm(after - before, axis=2) <= allowed + 1e-12)


def test_a_description_without_shapes_gets_the_given_radius() -> None:
    bare = XML.replace("<collision>", "<ignored>").replace("</collision>", "</ignored>")
    body = ArmCapsules.from_urdf(ARM, bare, 0.035)
    assert [capsule.name for capsule in body.capsules] == ["upper arm", "upper arm", "forearm"]
    assert np.all(body.radii == 0.035)
    q = np.array([0.3, 0.8, -0.5])
    frames = link_frames(ARM, q)
    starts, ends = body.segments(q[None])
    assert starts[0, 0] == pytest.approx(frames[1][:3, 3])
    assert ends[0, 1] == pytest.approx(frames[2][:3, 3])
    assert ends[0, 2] == pytest.approx(forward_kinematics(ARM, q))
    assert body.fixed == ()


def test_a_held_object_is_at_the_tool_point() -> None:
    body = BODY.with_object(0.02)
    q = np.array([[0.3, 0.8, -0.5], [-1.0, 0.2, 0.4]])
    starts, ends = body.segments(q)
    assert (body.capsules[-1].name, body.capsules[-1].mover, body.radii[-1]) == (HELD_OBJECT, FOREARM, 0.02)
    assert starts[:, -1] == pytest.approx(forward_kinematics(ARM, q))
    assert ends[:, -1] == pytest.approx(forward_kinematics(ARM, q))


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=15, deadline=None)
def test_an_accepted_path_keeps_the_margin_and_a_refused_one_does_not(seed: int) -> None:
    rng = np.random.default_rng(seed)
    obstacles = random_scene(rng, int(rng.integers(1, 4)))
    clearance = Clearance(BODY, obstacles, MARGIN)
    start, end = GRID[rng.integers(len(GRID))], GRID[rng.integers(len(GRID))]
    if not clearance.are_clear(start[None])[0]:
        return
    contact = clearance.first_contact(line(start, end), 1.0)
    dense = start + np.linspace(0.0, 1.0, 4001)[:, None] * (end - start)
    least = clearance.of_positions(dense).min(axis=(1, 2))
    against_base = Clearance(BODY, (), MARGIN).of_positions(dense).min(axis=(1, 2))
    if contact is None:
        assert least[against_base > MARGIN].min(initial=1.0) >= MARGIN
        shapes = TrueShapes()
        assert min(shapes.clearance(q, obstacles) for q in dense[::80]) >= MARGIN - 1e-6
    else:
        assert least.min() < MARGIN + 2.0 * RESOLUTION_M
        before = dense[: int(4000 * contact.fraction) - 4]
        if contact.clearance < MARGIN - 1e-3:
            assert clearance.of_positions(before).min(initial=1.0) >= min(0.0, MARGIN)


def test_a_wall_thinner_than_the_first_samples_are_apart_is_not_missed() -> None:
    wall = block("pane", (0.3, 0.0, 0.15), (0.2, 0.0005, 0.3))
    contact = contact_of(Clearance(BODY, (wall,), 0.0), [-1.5, 0.9, -1.6], [1.5, 0.9, -1.6])
    assert contact is not None
    assert contact.obstacle == "pane"


def contact_of(clearance: Clearance, start: list[float], end: list[float]) -> Contact | None:
    return clearance.first_contact(line(np.array(start), np.array(end)), 1.0)


def test_a_refusal_names_the_obstacle_the_link_and_the_place() -> None:
    post = block("post", (0.30, 0.10, 0.1), (0.2, 0.02), "cylinder")
    clearance = Clearance(BODY, (post,), MARGIN)
    start, end = np.array([-0.5, 0.6, -1.4]), np.array([1.0, 0.6, -1.4])
    contact = clearance.first_contact(line(start, end), 1.0)
    assert contact is not None
    # where the first of many positions on the way is nearer than the margin
    fractions = np.linspace(0.0, 1.0, 2001)
    dense = start + fractions[:, None] * (end - start)
    too_near = clearance.of_positions(dense).min(axis=(1, 2)) < MARGIN
    assert contact.fraction == pytest.approx(fractions[np.argmax(too_near)], abs=1e-3)
    refusal = clearance.refusal(contact)
    assert refusal.code is ErrorCode.PATH_BLOCKED
    assert str(refusal).startswith(f"obstacle 'post' is in the way: at {contact.fraction:.0%} of the path, ")
    assert f"{contact.link} at (" in str(refusal)
    assert "nearer than the margin of 0.01 m; move the obstacle or the target, or lower obstacle_margin" in str(refusal)


def test_what_is_held_is_kept_clear_too() -> None:
    q = np.array([0.3, 0.8, -1.2])
    x, y, z = forward_kinematics(ARM, q)
    low = block("low", (float(x), float(y), float(z) - 0.045), (0.03, 0.03, 0.02))
    start, end = q - YAW * 0.5, q + YAW * 0.5
    assert Clearance(BODY, (low,), 0.005).first_contact(line(start, end), 1.0) is None
    held = Clearance(BODY.with_object(0.03), (low,), 0.005).first_contact(line(start, end), 1.0)
    assert held is not None
    assert held.link == HELD_OBJECT


def test_an_arm_within_the_margin_may_move_away_but_not_nearer() -> None:
    q = np.array([0.0, 0.8, -1.2])
    tool = forward_kinematics(ARM, q)
    # its face is 3 mm beside the tool's surface
    radius = BODY.radii[-1]
    wall = block("wall", (float(tool[0]), float(tool[1]) - 0.013 - float(radius), float(tool[2])), (0.02, 0.02, 0.02))
    clearance = Clearance(BODY, (wall,), MARGIN)
    assert clearance.of_positions(q[None]).min() == pytest.approx(0.003, abs=1e-3)
    away, towards = q + YAW * 0.4, q - YAW * 0.05
    assert clearance.first_contact(line(q, away), 1.0) is None
    nearer = clearance.first_contact(line(q, towards), 1.0)
    assert nearer is not None
    assert nearer.obstacle == "wall"
    # once it has left the margin, it has to keep it
    back = clearance.first_contact(
        lambda s: (q + np.sin(PI * s)[:, None] * (away - q), PI * np.cos(PI * s)[:, None] * (away - q)), 1.0
    )
    assert back is not None
    assert back.fraction > 0.6


def test_an_arm_whose_axis_is_in_an_obstacle_is_refused_at_the_start() -> None:
    q = np.array([0.0, 0.8, -1.2])
    x, y, z = (float(value) for value in forward_kinematics(ARM, q))
    contact = Clearance(BODY, (block("wrong", (x, y, z), (0.1,), "sphere"),), MARGIN).first_contact(
        line(q, q + YAW * 0.5), 1.0
    )
    assert contact is not None
    assert (contact.obstacle, contact.fraction) == ("wrong", 0.0)


def test_the_tool_is_kept_from_the_arms_own_base() -> None:
    clearance = Clearance(BODY, (), MARGIN)
    # on the flange, whose radius is 0.085 m
    q = inverse_kinematics(ARM, [0.075, 0.0, 0.01]).q
    assert q is not None
    contact = clearance.first_contact(line(np.array([0.0, 1.2, -1.6]), q), 1.0)
    assert contact is not None
    assert str(clearance.refusal(contact)).startswith("the arm's own pedestal_link is in the way: at ")


def test_without_a_derivative_at_its_end_a_path_is_still_checked() -> None:
    start, end = np.array([-0.5, 0.6, -1.4]), np.array([1.0, 0.6, -1.4])

    def sample(s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        with np.errstate(divide="ignore", invalid="ignore"):
            return start + np.sqrt(s)[:, None] * (end - start), (0.5 / np.sqrt(s))[:, None] * (end - start)

    clear = Clearance(BODY, (block("far", (0.0, -0.35, 0.1), (0.2, 0.02), "cylinder"),), MARGIN)
    assert clear.first_contact(sample, 1.0) is None
    blocked = Clearance(BODY, (block("post", (0.30, 0.10, 0.1), (0.2, 0.02), "cylinder"),), MARGIN)
    assert blocked.first_contact(sample, 1.0) is not None


def is_free(clearance: Clearance) -> Any:
    return lambda start, end: clearance.first_contact(line(start, end), 1.0) is None


def test_a_free_way_needs_no_via_points() -> None:
    clearance = Clearance(BODY, (block("far", (0.0, -0.35, 0.1), (0.2, 0.02), "cylinder"),), MARGIN)
    start, end = np.array([0.0, 1.2, -1.6]), np.array([1.0, 0.9, -1.4])
    assert Detours(ARM, "down", clearance.are_clear).vias(start, end, is_free(clearance)) == []


def test_a_way_over_a_wall_is_found_and_kept_clear() -> None:
    wall = block("wall", (0.28, 0.0, 0.08), (0.16, 0.02, 0.16))
    clearance = Clearance(BODY.with_object(0.015), (wall,), MARGIN)
    start, end = GRID[nearest_to((0.22, -0.2, 0.12))], GRID[nearest_to((0.2, 0.22, 0.12))]
    assert clearance.are_clear(np.array([start, end])).all()
    assert not is_free(clearance)(start, end)
    vias = Detours(ARM, "down", clearance.are_clear).vias(start, end, is_free(clearance))
    assert vias
    shapes = TrueShapes()
    way = [start, *vias, end]
    for before, after in pairwise(way):
        for fraction in np.linspace(0.0, 1.0, 60):
            assert shapes.clearance(before + fraction * (after - before), (wall,)) >= MARGIN - 1e-6


def nearest_to(point: tuple[float, float, float]) -> int:
    return int(np.argmin(np.linalg.norm(forward_kinematics(ARM, GRID) - np.array(point), axis=1)))


def test_no_single_via_point_gives_a_shorter_way() -> None:
    post = block("post", (0.3, 0.0, 0.1), (0.2, 0.02), "cylinder")
    clearance = Clearance(BODY, (post,), MARGIN)
    start, end = GRID[nearest_to((0.22, -0.2, 0.16))], GRID[nearest_to((0.2, 0.22, 0.16))]
    free = is_free(clearance)
    assert not free(start, end)

    def length(way: list[np.ndarray]) -> float:
        return sum(float(np.linalg.norm((b - a) / ARM.velocity)) for a, b in pairwise(way))

    ways = sorted(([start, via, end] for via in GRID[::8]), key=length)
    shortest = next(way for way in ways if free(way[0], way[1]) and free(way[1], way[2]))
    vias = Detours(ARM, "down", clearance.are_clear).vias(start, end, free)
    assert vias
    assert length([start, *vias, end]) <= 1.02 * length(shortest)


def test_ways_in_random_scenes_are_found_and_keep_the_margin() -> None:
    shapes, found, scenes = TrueShapes(), 0, 0
    rng = np.random.default_rng(5)
    while scenes < 6:
        obstacles = random_scene(rng, 3)
        clearance = Clearance(BODY, obstacles, MARGIN)
        start, end = GRID[rng.integers(len(GRID))], GRID[rng.integers(len(GRID))]
        if not clearance.are_clear(np.array([start, end])).all() or is_free(clearance)(start, end):
            continue
        scenes += 1
        vias = Detours(ARM, "down", clearance.are_clear).vias(start, end, is_free(clearance))
        if vias is None:
            continue
        found += 1
        way = [start, *vias, end]
        for before, after in pairwise(way):
            for fraction in np.linspace(0.0, 1.0, 30):
                assert shapes.clearance(before + fraction * (after - before), obstacles) >= MARGIN - 1e-6
    assert found >= 5


def test_an_arm_that_is_shut_in_finds_no_way() -> None:
    walls = tuple(block(f"wall {y}", (0.25, y, 0.25), (0.6, 0.02, 0.9)) for y in (-0.12, 0.2))
    clearance = Clearance(BODY, walls, MARGIN)
    start, end = GRID[nearest_to((0.3, 0.04, 0.2))], np.array([2.2, 0.9, -1.2])
    assert clearance.are_clear(np.array([start, end])).all()
    assert Detours(ARM, "down", clearance.are_clear).vias(start, end, is_free(clearance)) is None


def test_an_arm_without_via_points_still_takes_the_direct_way() -> None:
    narrow = dataclasses.replace(ARM, lower=ARM.home - 1e-3, upper=ARM.home + 1e-3)
    clearance = Clearance(BODY, (), MARGIN)
    assert len(via_grid(narrow, "down")) == 0
    detours = Detours(narrow, "down", clearance.are_clear)
    assert detours.vias(narrow.lower, narrow.upper, is_free(clearance)) == []
    assert detours.vias(narrow.lower, narrow.upper, lambda _start, _end: False) is None
