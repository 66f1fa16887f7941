package org.apache.spark.sql.tidemark.support

import java.io.File

import io.tidemark.WatermarkOptions
import io.tidemark.core.memory.ReasonText

import com.fasterxml.jackson.databind.JsonNode
import org.apache.hadoop.fs.Path

import org.apache.spark.sql.Row

/** Why nothing comes out of a running query: the sentence of the report, and that which each batch leaves behind. */
trait ReasonTest extends RefusalsTest {
  protected def why(check: JsonNode => Unit): StreamAction = report(all => check(all.get("why")))

  protected def code(expected: String): StreamAction = why(why => assert(why.get("code").asText === expected))

  protected def keyed(key: String) = WatermarkOptions(key = Some(key))

  /** That of the last batch with rows. */
  protected def progress(check: Row => Unit): StreamAction = Execute(query => check(observed(query, "tidemark")))

  /** The reason after the last batch with rows, which its progress and its entry in the checkpoint both have. */
  protected def kept(check: ReasonText => Unit): StreamAction = Execute { query =>
    val batch = query.recentProgress.filter(_.numInputRows > 0).last
    val fields = batch.observedMetrics.get("tidemark")
    val reason = entry(new File(new Path(query.resolvedCheckpointRoot).toUri.getPath), batch.batchId).reason.get
    assert(fields.getAs[String]("why") === reason.sentence)
    assert(fields.getAs[String]("held_by") === reason.heldBy.orNull)
    check(reason)
  }
}
