"""The metadata for pip and the package's page, in the wheel and the sdist of `python/pyproject.toml`."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest

import tidemark

ROOT = Path(__file__).parents[2]
NAME = f"tidemark-{tidemark.__version__}"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with a wheel and an sdist, both built with an empty file as a jar."""
    source = tmp_path_factory.mktemp("package")
    leave_out = shutil.ignore_patterns("__pycache__", "_jars")
    shutil.copytree(ROOT / "python", source, ignore=leave_out, dirs_exist_ok=True)
    shutil.copy(ROOT / "LICENSE", source)
    (source / "tidemark" / "_jars").mkdir()
    (source / "tidemark" / "_jars" / "some.jar").touch()
    subprocess.run([sys.executable, "-m", "hatchling", "build"], cwd=source, check=True)
    return source / "dist"


@pytest.fixture(scope="module", params=["wheel", "sdist"])
def metadata(built: Path, request: pytest.FixtureRequest) -> Message:
    if request.param == "wheel":
        with zipfile.ZipFile(built / f"{NAME}-py3-none-any.whl") as wheel:
            text = wheel.read(f"{NAME}.dist-info/METADATA").decode()
    else:
        with tarfile.open(built / f"{NAME}.tar.gz") as sdist:
            file = sdist.extractfile(f"{NAME}/PKG-INFO")
            assert file
            text = file.read().decode()
    return Parser().parsestr(text)


def test_the_package_description_is_its_readme(metadata: Message) -> None:
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert metadata.get_payload() == (ROOT / "python" / "README.md").read_text()


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


def test_the_classifiers_name_the_oldest_python_and_the_one_that_is_tested() -> None:
    text = (ROOT / "python" / "pyproject.toml").read_text()
    named = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', text)
    (oldest,) = re.findall(r'^requires-python = ">=(.*)"$', text, flags=re.MULTILINE)
    action = (ROOT / ".github" / "actions" / "setup" / "action.yml").read_text()
    (tested,) = re.findall(r'description: The version of Python\n\s+default: "(.*)"', action)
    assert named == [oldest, tested]
    assert re.findall(r'^python_version = "(.*)"$', text, flags=re.MULTILINE) == [oldest]


def test_the_package_metadata_links_to_the_project_pages(metadata: Message) -> None:
    urls = dict(url.split(", ", 1) for url in metadata.get_all("Project-URL") or ())
    assert set(urls) == {"Homepage", "Documentation", "Repository", "Issues", "Changelog"}
    assert all(url.startswith("https://") for url in urls.values())


def test_the_package_readme_has_only_absolute_links() -> None:
    # A package page has no folder that a relative link could start from.
    text = (ROOT / "python" / "README.md").read_text()
    assert [line for line in text.splitlines() if "](" in line and "](https://" not in line] == []


def test_the_wheel_and_the_sdist_contain_the_jars(built: Path) -> None:
    with zipfile.ZipFile(built / f"{NAME}-py3-none-any.whl") as wheel:
        assert "tidemark/_jars/some.jar" in wheel.namelist()
    with tarfile.open(built / f"{NAME}.tar.gz") as sdist:
        names = set(sdist.getnames())
    assert {
        f"{NAME}/{file}" for file in ("README.md", "LICENSE", "tidemark/_jars/some.jar")
    } <= names
