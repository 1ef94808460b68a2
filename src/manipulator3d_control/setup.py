# SPDX-License-Identifier: Apache-2.0
from setuptools import find_packages, setup

NAME = "manipulator3d_control"

setup(
    name=NAME,
    version="0.1.0",
    packages=find_packages(exclude=["test"]),
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
    ],
    install_requires=["setuptools", "ruckig"],
    extras_require={"test": ["pytest"]},
    entry_points={
        "console_scripts": [
            "arm_simulator = manipulator3d_control.nodes.arm_simulator:main",
            "motion_server = manipulator3d_control.nodes.motion_server:main",
        ]
    },
    maintainer="manipulator3d maintainers",
    maintainer_email="maintainers@manipulator3d.org",
    description="Paths, time laws, motion server and simulated arm of manipulator3d.",
    license="Apache-2.0",
)
