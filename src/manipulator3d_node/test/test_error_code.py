# SPDX-License-Identifier: Apache-2.0
"""The enumeration and the message agree."""

from manipulator3d_interfaces.msg import ErrorCode as Message
from manipulator3d_node.error_code import ErrorCode


def test_names_and_numbers_are_those_of_the_message() -> None:
    # generated messages keep their constants in the metaclass
    constants = {name: getattr(Message, name) for name in dir(type(Message)) if name.isupper()}
    constants = {name: value for name, value in constants.items() if isinstance(value, int)}
    assert constants == {code.name: code.value for code in ErrorCode}
    assert len(constants) == 24
