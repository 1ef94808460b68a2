# SPDX-License-Identifier: Apache-2.0
"""The text that explains a message to a reader without ROS: the ros2msg schema of MCAP."""

import re
from collections.abc import Callable
from pathlib import Path

# https://mcap.dev/spec/registry#ros2msg
_SEPARATOR = "=" * 80
_FIELD = re.compile(r"^\s*([A-Za-z][A-Za-z0-9_/]*)(?:<=\d+)?(?:\[[^\]]*\])?\s+[A-Za-z]\w*\s*(=)?")
_FEEDBACK_MESSAGE = "unique_identifier_msgs/UUID goal_id\n{package}/{action}_Feedback feedback\n"
_FEEDBACK_SUFFIX = "_FeedbackMessage"
_BUILTIN = {
    *("bool", "byte", "char", "float32", "float64", "string", "wstring"),
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
}


def message_definition(type_name: str, share_folder: Callable[[str], str]) -> str:
    """Give the definition of a type followed by those of all types in it, each as its package has installed it.

    Args:
        type_name: such as sensor_msgs/msg/JointState, or pkg/action/Name_FeedbackMessage, whose two fields ROS 2 fixes.
        share_folder: gives a package's share folder; raises LookupError where it is not installed.

    Raises:
        LookupError: a definition is not installed; names the type.
    """
    package, kind, name = type_name.split("/")
    if kind == "action" and name.endswith(_FEEDBACK_SUFFIX):
        action = name.removesuffix(_FEEDBACK_SUFFIX)
        text = _FEEDBACK_MESSAGE.format(package=package, action=action)
        feedback = _installed(share_folder, package, "action", action).split("\n---\n")[2]
        known = {f"{package}/{action}_Feedback": feedback}
    else:
        text, known = _installed(share_folder, package, kind, name), {}
    parts, waiting = [text], _types_in(package, text)
    seen: set[str] = set()
    while waiting:
        needed = waiting.pop(0)
        if needed in seen:
            continue
        seen.add(needed)
        needed_package, needed_name = needed.split("/")
        definition = known.get(needed) or _installed(share_folder, needed_package, "msg", needed_name)
        parts.append(f"{_SEPARATOR}\nMSG: {needed}\n{definition}")
        waiting += _types_in(needed_package, definition)
    return "\n".join(part.rstrip("\n") for part in parts) + "\n"


def without_comments(definition: str) -> str:
    """Give a definition without comments and spacing, which differ between distributions where the fields do not."""
    lines = (" ".join(line.partition("#")[0].split()) for line in definition.splitlines())
    return "\n".join(line for line in lines if line)


def _installed(share_folder: Callable[[str], str], package: str, kind: str, name: str) -> str:
    path = Path(share_folder(package), kind, f"{name}.{kind}")
    if not path.is_file():
        raise LookupError(f"{package}/{kind}/{name} has no definition at {path}; is the package {package} complete?")
    return path.read_text()


def _types_in(package: str, definition: str) -> list[str]:
    """List the types of the fields that are messages themselves, as package/Name."""
    types = []
    for line in definition.splitlines():
        field = _FIELD.match(line)
        if field is None or field[1] in _BUILTIN:
            continue
        parts = field[1].split("/")
        types.append(f"{parts[0]}/{parts[-1]}" if len(parts) > 1 else f"{package}/{parts[0]}")
    return types
