# SPDX-License-Identifier: Apache-2.0
from setuptools import find_packages, setup

NAME = "manipulator3d_node"

setup(
    name=NAME,
    version="0.1.0",
    packages=find_packages(exclude=["test"]),
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
    ],
    install_requires=["setuptools"],
    extras_require={"test": ["pytest"]},
    maintainer="manipulator3d maintainers",
    maintainer_email="maintainers@manipulator3d.org",
    description="Parameters, error codes and process of manipulator3d's nodes.",
    license="Apache-2.0",
)
