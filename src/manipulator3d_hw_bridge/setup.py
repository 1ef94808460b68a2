# SPDX-License-Identifier: Apache-2.0
from setuptools import find_packages, setup

NAME = "manipulator3d_hw_bridge"

setup(
    name=NAME,
    version="0.1.0",
    packages=find_packages(exclude=["test"]),
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
    ],
    install_requires=["setuptools", "cobs", "pyserial"],
    extras_require={"test": ["pytest"]},
    maintainer="manipulator3d maintainers",
    maintainer_email="maintainers@manipulator3d.org",
    description="Serial protocol, session and bridge node between ROS and the arm's firmware.",
    license="Apache-2.0",
    entry_points={"console_scripts": ["bridge_node = manipulator3d_hw_bridge.nodes.bridge_node:main"]},
)
