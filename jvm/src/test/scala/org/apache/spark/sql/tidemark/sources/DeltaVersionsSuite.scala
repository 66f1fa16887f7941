package org.apache.spark.sql.tidemark.sources

import java.io.{File, IOException}
import java.nio.file.Files

import io.tidemark.core.noted.Position

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.scalatest.funsuite.AnyFunSuite

/** The newest version of a Delta table, and the table's id, by the files in its log. */
class DeltaVersionsSuite extends AnyFunSuite {
  private val metadata = """{"metaData":{"id":"the-table","format":{}}}"""
  private val checksum = """{"txnId":"x","metadata":{"id":"the-table"}}"""
  private val rows = """{"add":{"path":"a"}}"""

  private def name(version: Int, rest: String): String = f"$version%020d.$rest"

  private def latest(files: (String, String)*): Position.Delta = {
    val table = Files.createTempDirectory("tidemark-delta")
    for ((name, text) <- files) {
      val file = table.resolve("_delta_log").resolve(name)
      Files.createDirectories(file.getParent)
      Files.writeString(file, text)
    }
    try new DeltaVersions(new Path(table.toUri), new Configuration).latest
    finally delete(table.toFile)
  }

  private def delete(file: File): Unit = {
    Option(file.listFiles).toSeq.flatten.foreach(delete)
    file.delete()
    ()
  }

  test("the id is in the version that has set the table's metadata") {
    assert(latest(name(0, "json") -> s"$rows\n$metadata\n", name(1, "json") -> rows) ===
      Position.Delta("the-table", 1))
  }

  test("the id is in a checksum file, after that version was deleted") {
    assert(latest(name(7, "json") -> rows, name(7, "crc") -> checksum) === Position.Delta("the-table", 7))
    // The checksum of the newest version may come later than the version.
    assert(latest(name(6, "json") -> rows, name(6, "crc") -> checksum, name(7, "json") -> rows) ===
      Position.Delta("the-table", 7))
  }

  test("a checksum file that is cut or has no id is passed over") {
    for (damaged <- Seq(checksum.take(20), "{}", ""))
      assert(latest(name(0, "json") -> metadata, name(1, "json") -> rows, name(1, "crc") -> damaged) ===
        Position.Delta("the-table", 1))
  }

  test("a version that a catalog has accepted counts before it is published") {
    val staged = "_staged_commits/" + name(8, "0f1e2d3c.json")
    assert(latest(name(7, "json") -> metadata, staged -> rows) === Position.Delta("the-table", 8))
    // Published, and not removed there yet.
    assert(latest(name(7, "json") -> metadata, name(8, "json") -> rows, name(9, "json") -> rows, staged -> rows) ===
      Position.Delta("the-table", 9))
  }

  test("a folder without a version, or without any id, is an error") {
    intercept[IOException](latest())
    intercept[IOException](latest(name(3, "crc") -> checksum))
    intercept[IOException](latest(name(3, "json") -> rows))
  }
}
