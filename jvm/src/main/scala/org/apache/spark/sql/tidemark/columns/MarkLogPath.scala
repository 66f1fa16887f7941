package org.apache.spark.sql.tidemark.columns

import io.tidemark.{TidemarkError, TidemarkException}

import org.apache.hadoop.fs.Path

import org.apache.spark.sql.catalyst.plans.logical.EventTimeWatermark
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2
import org.apache.spark.sql.execution.streaming.runtime.StreamingRelation

/** Where the mark log of an input is if the user has only said that there is one: beside the data. */
private[tidemark] object MarkLogPath {

  /** The mark log beside the data in a path. Spark's file source and Delta's clean-up pass over names that begin with an
    * underscore.
    */
  def in(path: String): String = new Path(path, "_tidemark").toString

  /** Whether a text can be the location of a mark log: a folder, and not a topic. */
  def isFolder(text: String): Boolean = !text.isBlank && !text.startsWith("kafka:")

  /** @throws TidemarkException if the input does not read one path */
  def beside(origin: EventTimeWatermark): String = {
    val paths = origin.child.collect {
      case files: StreamingRelation => files.dataSource.options.get("path")
      case table: StreamingRelationV2 => Option(table.extraOptions.get("path"))
    }
    paths.distinct match {
      case Seq(Some(path)) => in(path)
      case _ =>
        throw new TidemarkException(
          TidemarkError.InvalidOption(
            "noted",
            "true",
            Seq("the location of the mark log, as the input reads no single path")))
    }
  }
}
