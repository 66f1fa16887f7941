package io.tidemark

import java.nio.file.{Files, Paths}

import scala.jdk.CollectionConverters._
import scala.util.Using

/** The source of all refusals: TidemarkError.scala and the files beside it that are named after their errors. */
object ErrorSources {

  def text: String = {
    val folder = Paths.get(sys.props("tidemark.root"), "jvm/src/main/scala/io/tidemark")
    val files = Using.resource(Files.newDirectoryStream(folder, "*{Error,Errors}.scala"))(_.asScala.toVector.sorted)
    files.map(Files.readString(_)).mkString
  }
}
