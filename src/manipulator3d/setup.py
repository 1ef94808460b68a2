# SPDX-License-Identifier: Apache-2.0
from glob import glob

from setuptools import find_packages, setup

NAME = "manipulator3d"

setup(
    name=NAME,
    version="0.1.0",
    packages=find_packages(exclude=["test"]),
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
        (f"share/{NAME}/launch", glob("launch/*.launch.py")),
    ],
    install_requires=["setuptools", "mcap", "mcap-ros2-support", "zstandard"],
    entry_points={"console_scripts": ["recorder = manipulator3d.nodes.recorder:main"]},
    extras_require={"test": ["pytest"]},
    maintainer="manipulator3d maintainers",
    maintainer_email="maintainers@manipulator3d.org",
    description="Bring-up, command line and Python interface of the manipulator3d arm.",
    license="Apache-2.0",
)
