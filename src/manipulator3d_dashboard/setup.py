# SPDX-License-Identifier: Apache-2.0
from setuptools import find_packages, setup

NAME = "manipulator3d_dashboard"

setup(
    name=NAME,
    version="0.1.0",
    packages=find_packages(exclude=["test"]),
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
    ],
    install_requires=["setuptools", "viser"],
    extras_require={"test": ["pytest"]},
    entry_points={
        "console_scripts": [
            "dashboard_node = manipulator3d_dashboard.nodes.dashboard_node:main",
            "target_markers = manipulator3d_dashboard.nodes.target_markers:main",
        ]
    },
    maintainer="manipulator3d maintainers",
    maintainer_email="maintainers@manipulator3d.org",
    description="Web page that shows and steers the arm.",
    license="Apache-2.0",
)
