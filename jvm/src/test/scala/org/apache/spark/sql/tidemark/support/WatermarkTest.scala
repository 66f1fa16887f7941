package org.apache.spark.sql.tidemark.support

import java.io.File
import java.sql.Timestamp
import java.time.{LocalDate, LocalTime, ZoneOffset}
import java.time.format.DateTimeFormatter

import io.tidemark.{TidemarkException, Tiered}
import io.tidemark.core.memory.WatermarkEntry

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import org.apache.spark.SparkConf
import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager
import org.apache.spark.sql.execution.streaming.runtime.{MemoryStream, StreamExecution}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.streaming.StreamTest
import org.apache.spark.sql.tidemark.log.EntryWriter
import org.apache.spark.sql.tidemark.query.{QueryLife, QueryWatermarks, RunningQueries}

/** A session with Tidemark, and helpers for its tests. */
trait WatermarkTest extends StreamTest with Tiered with Refusals {

  /** Whether Spark generates code for plans. Compiling it takes longer than most tests do, so only a suite about it
    * asks for it. Others run with both, by `withCode`.
    */
  protected def generatesCode: Boolean = false

  override protected def sparkConf: SparkConf =
    super.sparkConf
      .set(SQLConf.WHOLESTAGE_CODEGEN_ENABLED.key, generatesCode.toString)
      .set(SQLConf.CODEGEN_FACTORY_MODE.key, if (generatesCode) "FALLBACK" else "NO_CODEGEN")
      .set("spark.sql.extensions", "io.tidemark.TidemarkExtension")
      // The check plans each query once more, and has its own suites.
      .set("spark.tidemark.check", "off")
      .set("spark.hadoop.fs.file.impl", classOf[UnforkedFileSystem].getName)
      .set(SQLConf.SHUFFLE_PARTITIONS.key, "2")
      .set(SQLConf.SESSION_LOCAL_TIMEZONE.key, "UTC")

  /** `10:20` on a day of the tests, in the session's time zone. */
  protected def at(clock: String): Timestamp = {
    val time = LocalTime.parse(clock, DateTimeFormatter.ofPattern("H:mm"))
    Timestamp.from(LocalDate.of(2024, 3, 1).atTime(time).toInstant(ZoneOffset.UTC))
  }

  protected def millis(clock: String): Long = at(clock).getTime

  /** A stream of named times with a watermark on `name`. */
  protected def timed(name: String, delay: String, id: String = "id"): (MemoryStream[(Int, Timestamp)], DataFrame) = {
    import testImplicits._
    val stream = MemoryStream[(Int, Timestamp)]
    stream -> stream.toDF().toDF(id, name).withWatermark(name, delay)
  }

  /** The watermarks of the running query, one for each event-time column. */
  protected def watermarksOf(query: StreamExecution): QueryWatermarks =
    RunningQueries.get(query.runId).map(_.life) match {
      case Some(QueryLife.Running(watermarks, _)) => watermarks
      case other => fail(s"the query is not taken over: $other")
    }

  /** The key of each origin, and its watermark as the next batch uses it. */
  protected def originsAre(expected: (String, Option[Long])*): StreamAction =
    Execute { query =>
      val decided = watermarksOf(query).view.get.snapshot.decision
      val actual = watermarksOf(query).origins.names.map(name => name.toString -> decided.origin(name).millis)
      assert(actual.toMap === expected.toMap)
    }

  protected def entryFile(checkpoint: File, batch: Long): File = new File(checkpoint, s"tidemark/$batch")

  /** The entry of a batch. */
  protected def entry(checkpoint: File, batch: Long): WatermarkEntry =
    new EntryWriter(new Path(checkpoint.toURI), new Configuration, retain = 1).read(batch).get

  /** Keeps checkpoints with a file manager of this class. */
  protected def keptBy(files: Class[_ <: CheckpointFileManager])(body: => Unit): Unit =
    withSQLConf(SQLConf.STREAMING_CHECKPOINT_FILE_MANAGER_CLASS.parent.key -> files.getName)(body)

  /** The observed metrics with this name of the last batch that read rows. */
  protected def observed(query: StreamExecution, name: String): Row =
    query.recentProgress.filter(_.numInputRows > 0).last.observedMetrics.get(name)

  /** The query ends with a refusal of this code, and with those of its parameters that are given. */
  protected def expectRefusal(code: String, parameters: (String, String)*): StreamAction =
    ExpectFailure[TidemarkException](assertRefusal(_, code, parameters: _*))

  /** The result of the body on stock Spark. */
  protected def stock[A](body: => A): A = {
    var result: Option[A] = None
    withSQLConf("spark.tidemark.enabled" -> "false") { result = Some(body) }
    result.get
  }

  protected val generated = Seq("CODEGEN_ONLY", "NO_CODEGEN")

  /** Runs the body with whole-stage generated code, or with no generated code. */
  protected def withCode[A](mode: String)(body: => A): A = {
    var result = Option.empty[A]
    withSQLConf(
      SQLConf.WHOLESTAGE_CODEGEN_ENABLED.key -> (mode == "CODEGEN_ONLY").toString,
      SQLConf.CODEGEN_FACTORY_MODE.key -> mode) { result = Some(body) }
    result.get
  }
}
