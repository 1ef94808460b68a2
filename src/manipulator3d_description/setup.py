# SPDX-License-Identifier: Apache-2.0
from glob import glob

from setuptools import find_packages, setup

NAME = "manipulator3d_description"

setup(
    name=NAME,
    version="0.1.0",
    packages=find_packages(exclude=["test"]),
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
        (f"share/{NAME}/config/arms", glob("config/arms/*.yaml")),
        (f"share/{NAME}/launch", glob("launch/*.launch.py")),
        (f"share/{NAME}/rviz", glob("rviz/*.rviz")),
        (f"share/{NAME}/urdf", glob("urdf/*.xacro")),
    ],
    install_requires=["setuptools"],
    extras_require={"test": ["pytest"]},
    maintainer="manipulator3d maintainers",
    maintainer_email="maintainers@manipulator3d.org",
    description="Shape, limits and masses of the manipulator3d arm, and what shows them.",
    license="Apache-2.0",
    entry_points={
        "console_scripts": [
            "state_publisher = manipulator3d_description.nodes.state_publisher:main",
        ],
    },
)
