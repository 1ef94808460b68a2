# SPDX-License-Identifier: Apache-2.0
"""package.xml, setup.py and the sources agree."""

import ast
import json
import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MANIFESTS = sorted([*ROOT.glob("src/*/package.xml"), *ROOT.glob("compat/*/package.xml")])
PYTHON_PACKAGES = sorted(path.parent for path in ROOT.glob("src/*/setup.py"))
# rosdep key of what is imported under another name
ROSDEP_KEYS = {
    "numpy": "python3-numpy",
    "yaml": "python3-yaml",
    "serial": "python3-serial",
    "matplotlib": "python3-matplotlib",
    "websockets": "python3-websockets",
    "PIL": "python3-pil",
}
# rosdep knows no key for these; setup.py names them for pip
PIP_ONLY = {"cobs", "mcap", "mcap_ros2", "ruckig", "viser", "zstandard"}


def text_of(manifest: Path, tag: str) -> str:
    element = ElementTree.parse(manifest).getroot().find(tag)
    assert element is not None, f"{manifest} has no <{tag}>"
    return (element.text or "").strip()


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda path: path.parent.name)
def test_manifest_is_complete(manifest: Path) -> None:
    assert text_of(manifest, "name") == manifest.parent.name
    assert text_of(manifest, "license") == "Apache-2.0"
    assert text_of(manifest, "description").endswith(".")
    maintainer = ElementTree.parse(manifest).getroot().find("maintainer")
    assert maintainer is not None
    # catkin_pkg's own rule; colcon silently treats a package as plain Python where it is broken
    assert re.match(
        r"^[-a-zA-Z0-9_%+]+(\.[-a-zA-Z0-9_%+]+)*@[-a-zA-Z0-9%]+(\.[-a-zA-Z0-9%]+)*\.[a-zA-Z]{2,}$",
        maintainer.attrib["email"],
    )


def test_all_packages_have_one_version() -> None:
    versions = {text_of(manifest, "version") for manifest in MANIFESTS if manifest.parents[1].name == "src"}
    versions |= {re.search(r'version="([^"]+)"', (path / "setup.py").read_text())[1] for path in PYTHON_PACKAGES}
    assert len(versions) == 1


@pytest.mark.parametrize("package", PYTHON_PACKAGES, ids=lambda path: path.name)
def test_manifest_names_what_is_imported(package: Path) -> None:
    root = ElementTree.parse(package / "package.xml").getroot()
    declared = {element.text for element in root if element.tag in ("depend", "exec_depend")}
    setup = (package / "setup.py").read_text()
    missing = set()
    for path in (package / package.name).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names = {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
                names = {node.module.split(".")[0]}
            else:
                continue
            names -= set(sys.stdlib_module_names) | {package.name}
            missing |= {ROSDEP_KEYS.get(name, name) for name in names - PIP_ONLY} - declared
            missing |= {name for name in names & PIP_ONLY if f'"{name.replace("_", "-")}' not in setup}
    assert missing == set()


@pytest.mark.parametrize("package", PYTHON_PACKAGES, ids=lambda path: path.name)
def test_every_node_module_is_installed_as_a_program(package: Path) -> None:
    setup = (package / "setup.py").read_text()
    for path in (package / package.name / "nodes").glob("*.py"):
        has_main = any(isinstance(n, ast.FunctionDef) and n.name == "main" for n in ast.parse(path.read_text()).body)
        entry = f"{path.stem} = {package.name}.nodes.{path.stem}:main"
        assert (entry in setup) == has_main, f"{path} and the entry points in setup.py disagree"


def test_colcon_meta_names_packages_that_exist() -> None:
    names = json.loads((ROOT / "colcon.meta").read_text())["names"]
    assert set(names) <= {manifest.parent.name for manifest in MANIFESTS}


def test_every_source_file_names_its_licence() -> None:
    folders = ("src", "bootstrap", "benchmarks", "tests", "firmware", "compat", "examples")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    assert len(files) > 50
    heads = {path: "".join(path.open().readlines()[:3]) for path in files if path.stat().st_size}
    assert [str(path) for path, head in heads.items() if "SPDX-License-Identifier: Apache-2.0" not in head] == []
