package io.tidemark

import java.nio.file.{Files, Paths}

import org.scalatest.funsuite.AnyFunSuite

/** A change of the public Scala API is made on purpose, and users are told. */
class ApiSuite extends AnyFunSuite {

  private val file = Paths.get(sys.props("tidemark.root"), "jvm/src/test/resources/api.txt")

  if (sys.props.get("tidemark.golden").contains("write")) {
    val _ = Files.writeString(file, PublicApi.text)
  }

  test("the public Scala API is the one that api.txt lists") {
    assert(
      PublicApi.text === Files.readString(file),
      """Fix this by undoing the change, or by make golden and a line """ +
        "in CHANGELOG.md.")
  }

  test("the listed API has the names that users need and no private names") {
    val names = PublicApi.text.linesIterator.toSet
    assert(names.exists(_.startsWith("class io.tidemark.TidemarkExtension extends ")))
    assert(names.contains("object io.tidemark.functions"))
    assert(names.exists(_.startsWith("  def withWatermark(df: ")))
    assert(!PublicApi.text.contains("Durations"))
  }
}
