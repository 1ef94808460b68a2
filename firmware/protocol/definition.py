# SPDX-License-Identifier: Apache-2.0
"""Reads and checks messages.yaml."""

import hashlib
import json
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).resolve().parent

# Type of a field -> bytes, smallest and largest value.
TYPES = {
    f"{kind}{bits}": (bits // 8, -(1 << (bits - 1)) if kind == "i" else 0, (1 << (bits - (kind == "i"))) - 1)
    for kind in "ui"
    for bits in (8, 16, 24, 32)
}

# type, sequence number, CRC (2), COBS overhead, delimiter
OVERHEAD_BYTES = 6


@dataclass(frozen=True)
class Field:
    """One field of a message; `minimum`, `maximum` and `default` are wire values."""

    name: str
    type: str
    count: int
    is_array: bool
    unit: str
    resolution: Fraction
    scaled: bool
    minimum: int
    maximum: int
    default: int | None
    doc: str

    @property
    def bytes(self) -> int:
        """Size of one element."""
        return TYPES[self.type][0]

    @property
    def bounded(self) -> bool:
        """True when the bounds are tighter than the type's."""
        return (self.minimum, self.maximum) != TYPES[self.type][1:]

    def value(self, wire: int) -> float | int:
        """Return a wire value in the field's unit."""
        return float(wire * self.resolution) if self.scaled else wire


@dataclass(frozen=True)
class Message:
    """One message."""

    name: str
    id: int
    sender: str
    doc: str
    fields: tuple[Field, ...]

    @property
    def bytes(self) -> int:
        """Size of the payload."""
        return sum(field.bytes * field.count for field in self.fields)


@dataclass(frozen=True)
class Definition:
    """The whole protocol."""

    max_frame_bytes: int
    crc_initial: int
    baud: int
    joints: int
    enums: dict[str, dict[str, Any]]
    flags: dict[str, dict[str, Any]]
    messages: tuple[Message, ...]
    hash: int


def load(path: Path = FOLDER / "messages.yaml") -> Definition:
    """Read the definition.

    Raises:
        ValueError: a field, a message or the definition as a whole makes no sense.
    """
    raw = yaml.safe_load(path.read_text())
    messages = tuple(_message(entry) for entry in raw["messages"])
    if len({m.id for m in messages}) != len(messages) or len({m.name for m in messages}) != len(messages):
        raise ValueError(f"{path.name}: two messages share an id or a name")
    frame = raw["frame"]
    for message in messages:
        if message.bytes + OVERHEAD_BYTES > frame["max_bytes"]:
            raise ValueError(
                f"{message.name}: {message.bytes} bytes of payload and {OVERHEAD_BYTES} of frame are more than "
                f"{frame['max_bytes']}; make fields smaller or split the message"
            )
    return Definition(
        frame["max_bytes"], frame["crc_initial"], frame["baud"], raw["joints"], raw["enums"], raw["flags"], messages,
        _hash(raw),
    )  # fmt: skip


def _message(entry: dict[str, Any]) -> Message:
    fields = tuple(_field(entry["name"], field) for field in entry["fields"])
    return Message(entry["name"], entry["id"], entry["from"], entry["doc"], fields)


def _field(message: str, entry: dict[str, Any]) -> Field:
    unknown = set(entry) - {"name", "type", "unit", "resolution", "min", "max", "default", "doc"}
    base, _, rest = entry["type"].partition("[")
    if unknown or base not in TYPES:
        raise ValueError(f"{message}.{entry['name']}: unknown key or type: {', '.join(sorted(unknown)) or base}")
    _, lowest, highest = TYPES[base]
    resolution = Fraction(str(entry.get("resolution", 1)))

    def wire(value: float) -> int:
        return round(Fraction(str(value)) / resolution)

    minimum = wire(entry["min"]) if "min" in entry else lowest
    maximum = wire(entry["max"]) if "max" in entry else highest
    default = wire(entry["default"]) if "default" in entry else None
    if not lowest <= minimum <= (minimum if default is None else default) <= maximum <= highest:
        raise ValueError(f"{message}.{entry['name']}: bounds {minimum}…{maximum}, default {default} do not fit {base}")
    return Field(
        entry["name"], base, int(rest.rstrip("]") or 1), bool(rest), entry.get("unit", ""), resolution,
        "resolution" in entry, minimum, maximum, default, entry["doc"],
    )  # fmt: skip


def _hash(raw: dict[str, Any]) -> int:
    """Hash what both sides must agree on: everything but the texts."""

    def bare(node: Any) -> Any:
        if isinstance(node, dict):
            return {key: bare(value) for key, value in node.items() if key != "doc"}
        if isinstance(node, list):
            return [bare(value) for value in node]
        return node

    agreed = bare(raw)
    for group in ("enums", "flags"):
        for entry in agreed[group].values():
            entry["values"] = {name: value[0] for name, value in entry["values"].items()}
    text = json.dumps(agreed, sort_keys=True, separators=(",", ":"))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")
