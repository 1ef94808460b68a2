# SPDX-License-Identifier: Apache-2.0
"""Surfaces of primitives."""

import io
import math

import numpy as np
import pytest
import trimesh

from manipulator3d_dashboard.pose import Pose
from manipulator3d_dashboard.solid import Surface, box, cylinder, link_as_glb, sphere, surface_of
from manipulator3d_dashboard.urdf_drawing import Shape

SURFACES = [
    (box(0.1, 0.2, 0.3), 0.006),
    (cylinder(0.05, 0.2), math.pi * 0.05**2 * 0.2),
    (sphere(0.1), 4e-3 / 3 * math.pi),
]


@pytest.mark.parametrize(("surface", "volume"), SURFACES, ids=["box", "cylinder", "sphere"])
def test_a_surface_is_closed_faces_outward_and_holds_its_volume(surface: Surface, volume: float) -> None:
    mesh = trimesh.Trimesh(surface.vertices, surface.faces)
    # the signed volume is positive only if the triangles face outward; chamfers and facets take a little of it
    assert 0.97 * volume < mesh.volume <= volume * (1 + 1e-9)
    corners = surface.vertices[surface.faces]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert (np.einsum("ij,ij->i", across, surface.normals[surface.faces].mean(axis=1)) >= -1e-15).all()
    np.testing.assert_allclose(np.linalg.norm(surface.normals, axis=1), 1.0)


def test_a_shape_stands_where_its_pose_puts_it() -> None:
    quarter = (math.sqrt(0.5), 0.0, math.sqrt(0.5), 0.0)
    shape = Shape("cylinder", (0.01, 0.4), Pose((1.0, 2.0, 3.0), quarter), (1.0, 1.0, 1.0, 1.0))
    vertices = surface_of(shape).vertices
    # a quarter turn around y lays the cylinder along x
    np.testing.assert_allclose(vertices.min(axis=0), (0.8, 1.99, 2.99), atol=1e-4)
    np.testing.assert_allclose(vertices.max(axis=0), (1.2, 2.01, 3.01), atol=1e-4)


def test_a_link_is_written_with_one_material_a_colour_and_read_back_the_same() -> None:
    shapes = [Shape("box", (0.1, 0.2, 0.3), Pose(), (red, 0.0, 0.0, 1.0)) for red in (0.2, 0.9)]
    read = trimesh.load(io.BytesIO(link_as_glb(shapes)), file_type="glb")
    assert sorted(mesh.visual.material.baseColorFactor[0] for mesh in read.geometry.values()) == [51, 230]
    np.testing.assert_allclose(read.bounds, [[-0.05, -0.1, -0.15], [0.05, 0.1, 0.15]], atol=1e-7)
    for mesh in read.geometry.values():
        mesh.merge_vertices(merge_norm=True)
        assert mesh.is_watertight
    ghost = trimesh.load(io.BytesIO(link_as_glb(shapes, ghost=True)), file_type="glb")
    (mesh,) = ghost.geometry.values()
    assert mesh.visual.material.alphaMode == "BLEND"
