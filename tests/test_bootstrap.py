# SPDX-License-Identifier: Apache-2.0
"""The set-up: what it finds, what it repeats, and how it fails."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bootstrap import debian_packages, workspace_build
from bootstrap.console import StepError, run_step
from bootstrap.debian_packages import install_optional_packages, install_packages
from bootstrap.environment import base_environment, built_environment, keep_on_this_computer
from bootstrap.front_door import VERBS, main
from bootstrap.places import Places
from bootstrap.ros_installation import RosInstallation, find_ros
from bootstrap.stamp import Stamp, fingerprint
from bootstrap.wheel_paths import point_cmake_files_at

ROOT = Path(__file__).resolve().parents[1]


def test_a_failed_step_shows_the_end_of_its_log_and_its_path(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "step.log"
    command = [sys.executable, "-c", "for i in range(100): print('line', i)\nraise SystemExit(4)"]
    with pytest.raises(StepError) as error:
        run_step("Building", command, log, os.environ)
    text = str(error.value)
    assert "line 99" in text
    assert "line 10\n" not in text
    assert text.endswith(f"Building: failed with exit code 4; the whole log: {log}")
    assert "line 0" in log.read_text()


def test_a_step_shows_its_title_and_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_step("Building", [sys.executable, "-c", "print('hidden')"], tmp_path / "log", os.environ)
    shown = capsys.readouterr().err
    assert shown.startswith("Building …\nBuilding: done in ")
    assert "hidden" not in shown


def test_a_missing_program_is_named(tmp_path: Path) -> None:
    with pytest.raises(StepError, match="no-such-program was not found"):
        run_step("Building", ["no-such-program"], tmp_path / "log", os.environ)


def test_a_stamp_holds_only_for_the_same_inputs(tmp_path: Path) -> None:
    source, stamp = tmp_path / "source", Stamp(tmp_path / "stamps" / "step")
    source.write_text("one")
    first = fingerprint([source])
    assert not stamp.holds(first)
    stamp.set(first)
    assert stamp.holds(first)
    source.write_text("two")
    assert not stamp.holds(fingerprint([source]))
    stamp.clear()
    assert not stamp.holds(first)


def test_a_build_that_failed_runs_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = Places(tmp_path)
    firmware = tmp_path / "firmware"
    firmware.mkdir()
    (firmware / "CMakeLists.txt").write_text("project(x)")
    calls: list[str] = []

    def fail_at_second(title: str, *_args: object, **_kwargs: object) -> None:
        calls.append(title)
        if len(calls) == 2:
            raise StepError("compiler stopped")

    monkeypatch.setattr(workspace_build, "run_step", fail_at_second)
    with pytest.raises(StepError, match="compiler stopped"):
        workspace_build.build_emulator(places, os.environ)
    workspace_build.build_emulator(places, os.environ)
    workspace_build.build_emulator(places, os.environ)
    # failed, repeated whole, then nothing left to do
    assert len(calls) == 4


def test_missing_debian_packages_are_named_where_nobody_may_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(debian_packages, "_is_there", lambda package: package != "cmake")
    monkeypatch.setattr(debian_packages, "_root_prefix", lambda: None)
    monkeypatch.setattr(shutil, "which", lambda program: f"/usr/bin/{program}")
    with pytest.raises(StepError) as error:
        install_packages(debian_packages.BUILD_PACKAGES, tmp_path / "log")
    text = str(error.value)
    assert "cmake: builds the interfaces and the emulated board" in text
    assert text.endswith("sudo apt-get install --no-install-recommends cmake")
    assert "g++" not in text


def test_debian_packages_are_installed_with_sudo_where_it_is_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[list[str]] = []
    monkeypatch.setattr(debian_packages, "_is_there", lambda package: False)
    monkeypatch.setattr(debian_packages, "_root_prefix", lambda: ["sudo", "-n"])
    monkeypatch.setattr(debian_packages, "run_step", lambda _title, command, _log, _env: commands.append(command))
    monkeypatch.setattr(shutil, "which", lambda program: f"/usr/bin/{program}")
    install_packages({"cmake": "builds"}, tmp_path / "log")
    assert commands[0] == ["sudo", "-n", "apt-get", "update"]
    assert commands[1][-2:] == ["--no-install-recommends", "cmake"]


def test_an_optional_package_that_cannot_be_had_is_named_and_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(debian_packages, "_is_there", lambda package: False)
    monkeypatch.setattr(debian_packages, "_root_prefix", lambda: [])

    def fail(_title: str, _command: list[str], _log: Path, _env: object) -> None:
        raise StepError("no installation candidate")

    monkeypatch.setattr(debian_packages, "run_step", fail)
    install_optional_packages({"chromium": "opens the page"}, tmp_path / "log")
    assert "Going on without chromium (opens the page); tests that need it are skipped" in "".join(capsys.readouterr())


def installed_ros(prefix: Path) -> Path:
    marker = prefix / "share/ament_index/resource_index/packages/rclpy"
    marker.parent.mkdir(parents=True)
    marker.touch()
    (prefix / "setup.bash").write_text(f"export AMENT_PREFIX_PATH={prefix} ROS_DISTRO={prefix.name}\n")
    return prefix


def test_the_newest_installed_ros_is_sourced(tmp_path: Path) -> None:
    for name in ("jazzy", "kilted", "foxy"):
        installed_ros(tmp_path / name)
    found = find_ros({"PATH": os.environ["PATH"]}, opt=tmp_path)
    assert found is not None
    assert found.distribution == "kilted"
    assert found.env["AMENT_PREFIX_PATH"] == str(tmp_path / "kilted")


def test_a_sourced_ros_wins_over_an_installed_one(tmp_path: Path) -> None:
    installed_ros(tmp_path / "kilted")
    own = installed_ros(tmp_path / "own")
    env = {"PATH": os.environ["PATH"], "ROS_DISTRO": "jazzy", "AMENT_PREFIX_PATH": str(own)}
    found = find_ros(env, opt=tmp_path)
    assert found is not None
    assert found.distribution == "jazzy"


def test_without_ros_and_inside_our_own_environment_the_wheels_are_used(tmp_path: Path) -> None:
    assert find_ros({"PATH": os.environ["PATH"]}, opt=tmp_path) is None
    installed_ros(tmp_path / "kilted")
    assert find_ros({"MANIPULATOR3D_WHEELS": "1", "PATH": os.environ["PATH"]}, opt=tmp_path) is None


def test_two_checkouts_share_no_folder(tmp_path: Path) -> None:
    one, two = Places(tmp_path / "one"), Places(tmp_path / "two")
    for name in ("environment", "python", "install", "firmware_build"):
        assert tmp_path / "one" in getattr(one, name).parents
        assert getattr(one, name) != getattr(two, name)


def test_sources_come_before_what_is_installed() -> None:
    made = built_environment(Places(ROOT), None, {"PATH": "/usr/bin", "PYTHONPATH": "/elsewhere"})
    paths = made["PYTHONPATH"].split(os.pathsep)
    assert paths[0].startswith(str(ROOT / "src"))
    assert "/elsewhere" not in paths
    assert made["AMENT_PREFIX_PATH"].split(os.pathsep)[0] == str(Places(ROOT).install)


def test_an_installed_ros_keeps_its_variables(tmp_path: Path) -> None:
    ros = RosInstallation("jazzy", {"PATH": "/opt/x/bin", "PYTHONPATH": "/opt/x/py", "AMENT_PREFIX_PATH": "/opt/x"})
    made = base_environment(Places(tmp_path), ros, {})
    assert made["AMENT_PREFIX_PATH"] == "/opt/x"
    assert made["PYTHONPATH"].split(os.pathsep)[-1] == "/opt/x/py"
    assert "MANIPULATOR3D_WHEELS" not in made


@pytest.mark.parametrize(
    ("distribution", "variable"),
    [("kilted", "FASTDDS_DEFAULT_PROFILES_FILE"), ("jazzy", "FASTRTPS_DEFAULT_PROFILES_FILE")],
)
def test_traffic_stays_on_this_computer(distribution: str, variable: str) -> None:
    env = {"RMW_IMPLEMENTATION": "rmw_fastrtps_cpp", "ROS_DISTRO": distribution}
    keep_on_this_computer(env, Places(ROOT))
    assert env["ROS_AUTOMATIC_DISCOVERY_RANGE"] == "SYSTEM_DEFAULT"
    profile = Path(env[variable])
    assert "<address>127.0.0.1</address>" in profile.read_text()


@pytest.mark.parametrize(
    "chosen",
    [{"ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET"}, {"FASTDDS_DEFAULT_PROFILES_FILE": "mine.xml"}],
)
def test_a_range_or_profile_that_the_user_chose_is_kept(chosen: dict[str, str]) -> None:
    env = {"RMW_IMPLEMENTATION": "rmw_fastrtps_cpp", "ROS_DISTRO": "kilted", **chosen}
    keep_on_this_computer(env, Places(ROOT))
    assert chosen.items() <= env.items()


def test_another_middleware_gets_the_range_alone() -> None:
    env = {"RMW_IMPLEMENTATION": "rmw_cyclonedds_cpp", "ROS_DISTRO": "kilted"}
    keep_on_this_computer(env, Places(ROOT))
    assert env["ROS_AUTOMATIC_DISCOVERY_RANGE"] == "LOCALHOST"
    assert "FASTDDS_DEFAULT_PROFILES_FILE" not in env


def test_cmake_files_are_pointed_at_this_python(tmp_path: Path) -> None:
    environment = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--system-site-packages", environment], check=True)
    python = environment / "bin" / "python"
    numpy_include = subprocess.run(
        [sys.executable, "-c", "import numpy; print(numpy.get_include())"], capture_output=True, text=True, check=True
    ).stdout.strip()
    (environment / "lib" / f"python3.{sys.version_info[1]}" / "site-packages" / "numpy.pth").write_text(
        str(Path(numpy_include).parents[2])
    )
    file = environment / "share" / "some_msgs" / "cmake" / "export.cmake"
    file.parent.mkdir(parents=True)
    builder = "/opt/python/cp311-cp311"
    file.write_text(
        f'"{builder}/include/python3.11;{builder}/lib/python3.11/site-packages/numpy/_core/include;${{_PREFIX}}/x"'
    )
    assert point_cmake_files_at(python) == 1
    text = file.read_text()
    assert "/opt/python" not in text
    assert numpy_include in text
    assert point_cmake_files_at(python) == 0


@pytest.mark.parametrize(("arguments", "code"), [([], 2), (["--help"], 0), (["dance"], 2)])
def test_usage_needs_no_set_up(
    tmp_path: Path, arguments: list[str], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(tmp_path, arguments) == code
    shown = capsys.readouterr()
    if arguments == ["dance"]:
        assert "there is no verb 'dance'; the verbs are demo, up, test" in shown.err
    else:
        assert all(f"  {verb} " in shown.out for verb in VERBS)
    assert list(tmp_path.iterdir()) == []


def test_every_listed_verb_has_a_module() -> None:
    from manipulator3d.cli.__main__ import _MODULES

    assert set(_MODULES) == set(VERBS)
    for module in _MODULES.values():
        assert (ROOT / "src/manipulator3d/manipulator3d/cli" / f"{module}.py").is_file()


def test_every_requirement_is_pinned_and_says_why() -> None:
    folder = ROOT / "bootstrap" / "requirements"
    pinned = {
        line.split("==")[0].lower().replace("_", "-")
        for line in (ROOT / "bootstrap" / "constraints.txt").read_text().splitlines()
        if "==" in line
    }
    for path in sorted(folder.glob("*.txt")):
        for line in path.read_text().splitlines():
            if not line.strip() or line.startswith("#"):
                continue
            name, _, reason = line.partition("#")
            assert len(reason.strip()) > 5, f"{path.name}: {line} does not say why it is there"
            bare = name.strip().split("<")[0].lower()
            assert bare in pinned, f"{path.name}: {bare} is not pinned in constraints.txt"
