# SPDX-License-Identifier: Apache-2.0
"""Makes the golden frames: wire values of each message and the bytes of their frame, without the code under test."""

import json

from definition import TYPES, Definition, Field, Message


def emit(definition: Definition) -> str:
    """Return the text of golden_frames.json: a list of message, sequence, wire values by field, and frame in hex."""
    rows = []
    for message in definition.messages:
        for variant in range(3):
            sequence = (message.id * 7 + variant * 85) % 256
            values = {field.name: _values(field, variant) for field in message.fields}
            rows.append(
                {
                    "message": message.name,
                    "sequence": sequence,
                    "wire": {f.name: values[f.name] if f.is_array else values[f.name][0] for f in message.fields},
                    "frame": _frame(definition, message, sequence, values).hex(),
                }
            )
    return "[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n"


def _values(field: Field, variant: int) -> list[int]:
    """The smallest values, the largest ones, and some in between."""
    span = field.maximum - field.minimum
    if variant == 0:
        return [field.minimum] * field.count
    if variant == 1:
        return [field.maximum] * field.count
    return [field.minimum + span * (3 + 2 * index) // 11 for index in range(field.count)]


def _frame(definition: Definition, message: Message, sequence: int, values: dict[str, list[int]]) -> bytes:
    body = bytearray([message.id, sequence])
    for field in message.fields:
        size, lowest, _ = TYPES[field.type]
        for value in values[field.name]:
            body += value.to_bytes(size, "little", signed=lowest < 0)
    body += _crc(bytes(body), definition.crc_initial).to_bytes(2, "little")
    return _cobs(bytes(body)) + b"\0"


def _crc(data: bytes, crc: int) -> int:
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1) ^ 0x1021 if crc & 0x8000 else crc << 1
        crc &= 0xFFFF
    return crc


def _cobs(data: bytes) -> bytes:
    """Encode data shorter than 254 bytes: each run ends at a zero, and its length + 1 stands before it."""
    return b"".join(bytes([len(run) + 1]) + run for run in data.split(b"\0"))
