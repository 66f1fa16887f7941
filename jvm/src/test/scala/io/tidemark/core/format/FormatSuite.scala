package io.tidemark.core.format

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path, Paths}
import java.security.MessageDigest

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.scalatest.funsuite.AnyFunSuite

/** The format of checkpoints changes on purpose, with a version of its own, and is described. */
class FormatSuite extends AnyFunSuite {

  private val root = Paths.get(sys.props("tidemark.root"))
  private val kept = root.resolve("jvm/src/test/resources/format")

  /** SHA-256 of the names and bytes of each version's kept files. Old checkpoints have such files, so that a new version
    * adds a line here and changes none.
    */
  private val checksums = Map(
    1 -> "1c9da2cb1ade1942b3be124c5d6a10f7b1010d0ce256756ab3e7075738c9224a",
    2 -> "114b5d91493944edd2b6aa73995b75c55a3d72afeb0a02dc5c20da1cd68ab7dc")

  test("the kept files of a format version never change") {
    assert(checksums.keySet === (1 to SectionFormat.Version).toSet)
    for ((version, checksum) <- checksums)
      assert(
        sha256(kept.resolve(version.toString)) === checksum,
        s"Fix this by restoring the files of version $version: a changed format is a new version.")
  }

  test("docs/format.md describes the version that is written, and CHANGELOG.md names it") {
    val described =
      "This is format version (\\d+):".r.findAllMatchIn(read("docs/format.md")).map(_.group(1).toInt).toSeq
    assert(described === Seq(SectionFormat.Version))
    assert(read("CHANGELOG.md").contains(s"format version ${SectionFormat.Version}"))
  }

  private def read(path: String): String = Files.readString(root.resolve(path))

  private def sha256(folder: Path): String = {
    val digest = MessageDigest.getInstance("SHA-256")
    for (file <- Using.resource(Files.list(folder))(_.iterator.asScala.toSeq).sortBy(_.getFileName.toString)) {
      digest.update(file.getFileName.toString.getBytes(UTF_8))
      digest.update(Files.readAllBytes(file))
    }
    digest.digest().map("%02x".format(_)).mkString
  }
}
