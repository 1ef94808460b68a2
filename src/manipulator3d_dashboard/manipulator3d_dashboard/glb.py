# SPDX-License-Identifier: Apache-2.0
"""Writes surfaces as binary glTF 2.0 (https://registry.khronos.org/glTF/specs/2.0/glTF-2.0.html)."""

import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

_FLOAT, _UNSIGNED_INT = 5126, 5125
_VERTICES, _INDICES = 34962, 34963
_MAGIC, _JSON, _BINARY = 0x46546C67, 0x4E4F534A, 0x004E4942


@dataclass(frozen=True)
class Part:
    """A surface of one material; its depth hides nothing where it is translucent.

    Attributes:
        vertices, normals: (N, 3), m.
        faces: (M, 3), indices of vertices.
        colour: red, green, blue, opacity, 0 to 1.
        metallic, roughness: 0 to 1.
        both_sides: whether it is seen from behind too.
    """

    vertices: np.ndarray
    normals: np.ndarray
    faces: np.ndarray
    colour: tuple[float, float, float, float]
    metallic: float
    roughness: float
    both_sides: bool = False


def glb(parts: Sequence[Part]) -> bytes:
    """Write parts that stand in one frame as one file."""
    binary = bytearray()
    views: list[dict[str, Any]] = []
    accessors: list[dict[str, Any]] = []

    def add(numbers: np.ndarray, kind: int, shape: str, target: int, **bounds: list[float]) -> int:
        data = numbers.tobytes()
        views.append({"buffer": 0, "byteOffset": len(binary), "byteLength": len(data), "target": target})
        count = numbers.size if shape == "SCALAR" else len(numbers)
        accessors.append({"bufferView": len(views) - 1, "componentType": kind, "count": count, "type": shape, **bounds})
        binary.extend(data)
        return len(accessors) - 1

    primitives: list[dict[str, Any]] = []
    materials: list[dict[str, Any]] = []
    for part in parts:
        vertices = part.vertices.astype("<f4")
        low, high = vertices.min(axis=0).tolist(), vertices.max(axis=0).tolist()
        attributes = {
            "POSITION": add(vertices, _FLOAT, "VEC3", _VERTICES, min=low, max=high),
            "NORMAL": add(part.normals.astype("<f4"), _FLOAT, "VEC3", _VERTICES),
        }
        indices = add(part.faces.astype("<u4"), _UNSIGNED_INT, "SCALAR", _INDICES)
        primitives.append({"attributes": attributes, "indices": indices, "material": len(materials)})
        materials.append(
            {
                "pbrMetallicRoughness": {
                    "baseColorFactor": list(part.colour),
                    "metallicFactor": part.metallic,
                    "roughnessFactor": part.roughness,
                },
                "doubleSided": part.both_sides,
                "alphaMode": "OPAQUE" if part.colour[3] >= 1.0 else "BLEND",
            }
        )
    scene = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": primitives}],
        "materials": materials,
        "accessors": accessors,
        "bufferViews": views,
        "buffers": [{"byteLength": len(binary)}],
    }
    text = json.dumps(scene, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    # all numbers are of four bytes, so the binary part needs no padding
    chunks = struct.pack("<II", len(text), _JSON) + text + struct.pack("<II", len(binary), _BINARY) + bytes(binary)
    return struct.pack("<III", _MAGIC, 2, 12 + len(chunks)) + chunks
