# SPDX-License-Identifier: Apache-2.0
"""Starts the whole stack as processes, without ROS 2's launch."""

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from ament_index_python.packages import get_package_share_directory

from manipulator3d.launch_arguments import LaunchArguments
from manipulator3d.node_command import is_installed, node_command
from manipulator3d.process_group import ProcessGroup
from manipulator3d.stack import stack_nodes
from manipulator3d_description.robot_description import robot_description


class RunningProcesses:
    """The processes of one stack, for use as a context manager: the end of the block stops them all.

    Args:
        arguments: the launch arguments.
        show: receives each line of output.
        env: environment of the processes; None takes this process's.

    Raises:
        ValueError: the arm or an argument is not usable, or a program is not installed; nothing was started.
    """

    def __init__(
        self,
        arguments: LaunchArguments,
        show: Callable[[str], None] | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self._env = dict(os.environ if env is None else env)
        self._folder = Path(tempfile.mkdtemp(prefix="manipulator3d_"))
        self._group = ProcessGroup(show)
        try:
            commands = self._commands(arguments)
        except ValueError:
            shutil.rmtree(self._folder)
            raise
        for name, command, required in commands:
            self._group.start(name, command, self._env, required)

    def __enter__(self) -> "RunningProcesses":
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()

    def ended(self) -> str | None:
        """Tell which required node has ended and how, None while all run."""
        return self._group.ended()

    def stop(self) -> None:
        """Stop all nodes, the last started first."""
        self._group.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _commands(self, arguments: LaunchArguments) -> list[tuple[str, list[str], bool]]:
        description = robot_description(arguments.arm, arguments.tf_prefix)
        rviz_config = str(Path(get_package_share_directory("manipulator3d_description"), "rviz", "manipulator3d.rviz"))
        nodes = stack_nodes(arguments, description, lambda package: is_installed(package, self._env), rviz_config)
        return [(spec.name, node_command(spec, arguments, self._folder, self._env), spec.required) for spec in nodes]
