"""The two distributions: their metadata for pip, their pages, and what is in each wheel and sdist."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path
from typing import NamedTuple

import pytest
from support.pages import blocks

import tidemark
import tidemark_marks

ROOT = Path(__file__).parents[2]


class Distribution(NamedTuple):
    """A distribution: its folder below `python`, its package, and its version."""

    folder: str
    package: str
    version: str

    @property
    def source(self) -> Path:
        return ROOT / "python" / self.folder

    @property
    def stem(self) -> str:
        return f"{self.package}-{self.version}"

    @property
    def wheel(self) -> str:
        return f"{self.stem}-py3-none-any.whl"


TIDEMARK = Distribution("tidemark", "tidemark", tidemark.__version__)
MARKS = Distribution("tidemark-marks", "tidemark_marks", tidemark_marks.__version__)
BOTH = pytest.mark.parametrize("of", [TIDEMARK, MARKS], ids=lambda of: of.folder)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the wheels and the sdists, with an empty file as a jar."""
    found = tmp_path_factory.mktemp("dist")
    for of in (TIDEMARK, MARKS):
        source = tmp_path_factory.mktemp(of.folder)
        leave_out = shutil.ignore_patterns("__pycache__", "_jars")
        shutil.copytree(of.source, source, ignore=leave_out, dirs_exist_ok=True)
        shutil.copy(ROOT / "LICENSE", source)
        if of is TIDEMARK:
            (source / "tidemark" / "_jars").mkdir()
            (source / "tidemark" / "_jars" / "some.jar").touch()
        build = [sys.executable, "-m", "hatchling", "build", "--directory", str(found)]
        subprocess.run(build, cwd=source, check=True)
    return found


@pytest.fixture(params=["wheel", "sdist"])
def metadata(built: Path, of: Distribution, request: pytest.FixtureRequest) -> Message:
    if request.param == "wheel":
        with zipfile.ZipFile(built / of.wheel) as wheel:
            text = wheel.read(f"{of.stem}.dist-info/METADATA").decode()
    else:
        with tarfile.open(built / f"{of.stem}.tar.gz") as sdist:
            file = sdist.extractfile(f"{of.stem}/PKG-INFO")
            assert file
            text = file.read().decode()
    return Parser().parsestr(text)


@BOTH
def test_the_package_description_is_its_readme(metadata: Message, of: Distribution) -> None:
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert metadata.get_payload() == (of.source / "README.md").read_text()


@BOTH
def test_the_package_metadata_names_its_license_audience_and_python_version(
    metadata: Message,
) -> None:
    assert metadata["Summary"]
    assert metadata["Author"] == "The Tidemark maintainers"
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["License-File"] == "LICENSE"
    assert metadata["Requires-Python"] == ">=3.10"
    classifiers = metadata.get_all("Classifier")
    assert classifiers
    assert {"Intended Audience :: Developers", "Typing :: Typed"} <= set(classifiers)


@BOTH
def test_the_classifiers_name_the_oldest_python_and_the_one_that_is_tested(
    of: Distribution,
) -> None:
    text = (of.source / "pyproject.toml").read_text()
    named = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', text)
    (oldest,) = re.findall(r'^requires-python = ">=(.*)"$', text, flags=re.MULTILINE)
    action = (ROOT / ".github" / "actions" / "setup" / "action.yml").read_text()
    (tested,) = re.findall(r'description: The version of Python\n\s+default: "(.*)"', action)
    assert named == [oldest, tested]
    mypy = (ROOT / "mypy.ini").read_text()
    assert re.findall(r"^python_version = (.*)$", mypy, flags=re.MULTILINE) == [oldest]


@BOTH
def test_the_package_metadata_links_to_the_project_pages(metadata: Message) -> None:
    urls = dict(url.split(", ", 1) for url in metadata.get_all("Project-URL") or ())
    assert set(urls) == {"Homepage", "Documentation", "Repository", "Issues", "Changelog"}
    assert all(url.startswith("https://") for url in urls.values())


@BOTH
def test_the_package_readme_has_only_absolute_links(of: Distribution) -> None:
    # A package page has no folder that a relative link could start from.
    text = (of.source / "README.md").read_text()
    assert [line for line in text.splitlines() if "](" in line and "](https://" not in line] == []


def test_the_wheel_and_the_sdist_contain_the_jars(built: Path) -> None:
    name = TIDEMARK.stem
    with zipfile.ZipFile(built / TIDEMARK.wheel) as wheel:
        assert "tidemark/_jars/some.jar" in wheel.namelist()
    with tarfile.open(built / f"{name}.tar.gz") as sdist:
        names = set(sdist.getnames())
    assert {
        f"{name}/{file}" for file in ("README.md", "LICENSE", "tidemark/_jars/some.jar")
    } <= names


def test_each_wheel_has_its_own_package_alone_and_mark_logs_are_small(built: Path) -> None:
    for of in (TIDEMARK, MARKS):
        with zipfile.ZipFile(built / of.wheel) as wheel:
            tops = {name.split("/")[0] for name in wheel.namelist()}
        assert tops == {of.package, f"{of.stem}.dist-info"}
    assert (built / MARKS.wheel).stat().st_size < 200_000


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    """An environment of Python that has no packages."""
    venv.create(tmp_path / "env")
    return tmp_path / "env"


def installed(env: Path, wheel: Path) -> str:
    """Python in an environment to which a wheel of pure Python was added, as pip adds it."""
    (packages,) = env.glob("lib/python*/site-packages")
    with zipfile.ZipFile(wheel) as file:
        file.extractall(packages)
    return str(env / "bin" / "python")


def test_mark_logs_work_in_an_empty_environment(built: Path, empty: Path) -> None:
    python = installed(empty, built / MARKS.wheel)
    example, output = blocks(MARKS.source / "README.md", "python", "text")
    done = subprocess.run([python, "-c", example.text], capture_output=True, text=True, check=True)
    assert done.stdout == output.text
    log = empty / "log"
    command = [python, "-m", "tidemark_marks", "complete", str(log), "2026-11-23T03:00:00Z"]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 1


def test_tidemark_is_imported_with_the_two_wheels_alone(built: Path, empty: Path) -> None:
    installed(empty, built / MARKS.wheel)
    python = installed(empty, built / TIDEMARK.wheel)
    code = "import tidemark; print(tidemark.marks.Marks.__module__)"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "tidemark_marks._marks\n"
