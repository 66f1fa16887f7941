"""The published jar in a Maven repository, which `make repository` creates in `target`."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree
from zipfile import ZipFile

import pyspark
import pytest
from support.processes import run_script

import tidemark

REPOSITORY = Path(__file__).parents[2] / "target" / "sona-staging"
MINOR = ".".join(pyspark.__version__.split(".")[:2])
ARTIFACT = f"tidemark-spark-{MINOR}_2.13"
VERSION = tidemark.__version__
FOLDER = REPOSITORY / "io" / "tidemark" / ARTIFACT / VERSION
POM = "{http://maven.apache.org/POM/4.0.0}"

pytestmark = [
    pytest.mark.docs,
    pytest.mark.engine,
    pytest.mark.skipif(
        not FOLDER.exists(), reason=f"no {ARTIFACT} in {REPOSITORY}: run make repository"
    ),
]


def test_the_pom_has_every_field_required_by_maven_central() -> None:
    pom = ElementTree.parse(FOLDER / f"{ARTIFACT}-{VERSION}.pom").getroot()
    assert pom.findtext(f"{POM}groupId") == "io.tidemark"
    assert pom.findtext(f"{POM}artifactId") == ARTIFACT
    assert pom.findtext(f"{POM}version") == VERSION
    assert pom.findtext(f"{POM}name") == f"Tidemark for Spark {MINOR}"
    for field in ("description", "url"):
        assert pom.findtext(f"{POM}{field}"), field
    for path in ("licenses/license/name", "scm/url", "scm/connection", "developers/developer/name"):
        assert pom.findtext("/".join(POM + part for part in path.split("/"))), path


def test_the_pom_declares_no_dependencies() -> None:
    pom = ElementTree.parse(FOLDER / f"{ARTIFACT}-{VERSION}.pom").getroot()
    assert pom.findall(f".//{POM}dependency") == []


def test_the_jar_contains_only_tidemark_classes() -> None:
    with ZipFile(FOLDER / f"{ARTIFACT}-{VERSION}.jar") as jar:
        names = [name for name in jar.namelist() if name.endswith(".class")]
    assert "io/tidemark/TidemarkExtension.class" in names
    assert any(name.startswith("io/tidemark/core/") for name in names)
    ours = ("io/tidemark/", "org/apache/spark/sql/tidemark/")
    assert [name for name in names if not name.startswith(ours)] == []


@pytest.mark.parametrize("kind", ["sources", "javadoc"])
def test_source_and_documentation_jars_are_published(kind: str) -> None:
    with ZipFile(FOLDER / f"{ARTIFACT}-{VERSION}-{kind}.jar") as jar:
        names = jar.namelist()
    if kind == "sources":
        assert "io/tidemark/functions.scala" in names
        assert any(name.startswith("io/tidemark/core/") for name in names)
    else:
        assert "io/tidemark/functions$.html" in names
        assert not any(name.startswith(("org/apache/spark/sql/tidemark/", "io/tidemark/core/"))
                       for name in names)  # fmt: skip


def test_spark_submit_resolves_the_jar_with_the_packages_option(tmp_path: Path) -> None:
    submit = [
        str(Path(pyspark.__file__).parent / "bin" / "spark-submit"),
        *("--packages", f"io.tidemark:{ARTIFACT}:{VERSION}"),
        *("--repositories", REPOSITORY.as_uri()),
        *("--conf", f"spark.jars.ivy={tmp_path / 'ivy'}"),
        *("--conf", f"spark.sql.extensions={tidemark.jars.EXTENSION}"),
    ]
    found = run_script(
        "with_jar.py",
        "as it is",
        launcher=submit,
        # Otherwise Spark would contact Maven Central too, and a test must not depend on it.
        DEFAULT_ARTIFACT_REPOSITORY=f"{REPOSITORY.as_uri()}/",
    )
    assert (found["version"], found["problems"]) == (f"{VERSION} spark-{MINOR}", "")
    jar = tmp_path / "ivy" / "jars" / f"io.tidemark_{ARTIFACT}-{VERSION}.jar"
    assert found["jars"] == jar.as_uri()
    assert [path.name for path in jar.parent.iterdir()] == [jar.name]
