package org.apache.spark.sql.tidemark.report

import java.io.IOException
import java.time.Instant

import scala.collection.mutable

import io.tidemark.{NotedTimeErrors, TidemarkError, TidemarkException}
import io.tidemark.core.EventTimeUnits
import io.tidemark.core.noted.{Mark, TopicLocation}

import org.apache.hadoop.fs.Path

import org.apache.spark.sql.AnalysisException
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, ExprUtils, GenericInternalRow}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.tidemark.noted.{MarkFileName, MarkFolder, PositionText}
import org.apache.spark.sql.tidemark.session.SqlFunctions
import org.apache.spark.sql.types.{LongType, StringType, StructType, TimestampType}
import org.apache.spark.unsafe.types.UTF8String
import org.apache.spark.util.SerializableConfiguration

/** `tidemark_marks(location, options)`: the marks of a mark log as a table, and the lines that cannot be used. In a folder, a
  * task reads the files of some lives of writers. Nothing is written.
  */
object MarksTable {
  private val name = "tidemark_marks"

  val description: SqlFunctions.TableDescription = SqlFunctions.described(
    getClass,
    name,
    "(location[, options]) - the marks in a mark log, in which writers note their times")(table)

  val schema: StructType = new StructType()
    .add("writer", StringType)
    .add("epoch", LongType)
    .add("number", LongType)
    .add("kind", StringType, nullable = false)
    .add("time", TimestampType)
    .add("time_millis", LongType)
    .add("written", TimestampType)
    .add("position_kind", StringType)
    .add("position", StringType)
    .add("max_time", TimestampType)
    .add("skipped", StringType)

  private val MostTasks = 32

  private def table(arguments: Seq[Expression]): LogicalPlan = {
    def wrong(cause: Throwable = null) = throw new TidemarkException(
      TidemarkError.WrongArguments(
        name,
        "the location of a mark log, as a constant text, and perhaps a map of options,",
        arguments.size),
      cause)
    val location = arguments.headOption.filter(_ => arguments.size <= 2).flatMap(SqlFunctions.constantText)
      .getOrElse(wrong())
    val options =
      try arguments.lift(1).fold(Map.empty[String, String])(ExprUtils.convertToMapData)
      catch { case e: AnalysisException => wrong(e) }
    val session = SparkSession.active
    if (TopicLocation.isTopic(location)) TopicMarksTable(session, location, options).queryExecution.analyzed
    else ofFolder(session, location)
  }

  private def ofFolder(session: SparkSession, location: String): LogicalPlan = {
    val conf = new SerializableConfiguration(session.sessionState.newHadoopConf())
    val lives = this.lives(location, conf)
    val slices = math.max(1, math.min(lives.size, MostTasks))
    val rows = session.sparkContext.parallelize(lives, slices).mapPartitions(some => read(location, conf, some.toSeq))
    session.internalCreateDataFrame(rows, schema).queryExecution.analyzed
  }

  private def folder(location: String, conf: SerializableConfiguration): MarkFolder =
    new MarkFolder(new Path(location), conf.value)

  /** A writer and one of its epochs. */
  private type Life = (String, Long)

  private def lifeOf(file: MarkFolder.File): Life = (file.name.writer, file.name.epoch)

  /** Refused if the location is not a folder: a table without rows would hide a wrong path. */
  private def lives(location: String, conf: SerializableConfiguration): Seq[Life] =
    try {
      val there = folder(location, conf)
      if (!there.exists) throw new TidemarkException(NotedTimeErrors.NoMarkLog(location, "there is no such folder"))
      there.list().map(lifeOf).distinct.sorted
    } catch {
      case e: TidemarkException => throw e
      // Not a path, or its file system is not available.
      case e @ (_: IllegalArgumentException | _: IOException) =>
        throw new TidemarkException(NotedTimeErrors.NoMarkLog(location, e.getMessage), e)
    }

  /** A mark is in up to three files; it has one row. Live files are read before the folder is listed for sealed ones, as in
    * [[org.apache.spark.sql.tidemark.noted.MarkLogReader]].
    */
  private def read(location: String, conf: SerializableConfiguration, lives: Seq[Life]): Iterator[InternalRow] = {
    val log = folder(location, conf)
    val wanted = lives.toSet
    def list(isLive: Boolean) = log.list().filter(file => file.name.isLive == isLive && wanted(lifeOf(file)))
    val live = list(isLive = true).map(file => lifeOf(file) -> lines(log, file.name)).groupMap(_._1)(_._2)
    val sealedFiles = list(isLive = false).groupBy(lifeOf)
    lives.iterator.flatMap { life =>
      val numbers = mutable.HashSet.empty[Long]
      val files = sealedFiles.getOrElse(life, Nil).sortBy(_.name.first).iterator.map(file => lines(log, file.name)) ++
        live.getOrElse(life, Nil)
      files.flatten.collect {
        case Right(mark) if numbers.add(mark.number) => rowOf(mark)
        case Left(skipped) => rowOf(Some(life._1), Some(life._2), skipped)
      }
    }
  }

  /** The marks of a file, and for lines that cannot be used, which and why. */
  private def lines(log: MarkFolder, file: MarkFileName): Seq[Either[String, Mark]] = {
    val found = Vector.newBuilder[Either[String, Mark]]
    log.read(file)((number, line) => found += line.left.map(reason => s"line $number of ${file.text}: $reason"))
    found.result()
  }

  private[report] def rowOf(mark: Mark): InternalRow = row(
    text(mark.writer),
    mark.epoch,
    mark.number,
    text(mark.kind.name),
    mark.timeMillis.map(micros).orNull,
    mark.timeMillis.map(Long.box).orNull,
    micros(mark.writtenMillis),
    mark.position.map(position => text(position.kind)).orNull,
    mark.position.map(position => text(PositionText.write(position))).orNull,
    mark.mostMillis.map(micros).orNull,
    null)

  /** A line or a record that cannot be used. */
  private[report] def rowOf(writer: Option[String], epoch: Option[Long], skipped: String): InternalRow = row(
    writer.map(text).orNull,
    epoch.map(Long.box).orNull,
    null,
    text("skipped"),
    null,
    null,
    null,
    null,
    null,
    null,
    text(skipped))

  private def row(values: Any*): InternalRow = new GenericInternalRow(values.toArray[Any])

  private def text(value: String): UTF8String = UTF8String.fromString(value)

  private val Least = Instant.parse("0002-01-01T00:00:00Z").toEpochMilli
  private val Most = Instant.parse("9999-01-01T00:00:00Z").toEpochMilli

  /** Null for what is not a time of the calendar, which users of Python could not collect. */
  private def micros(millis: Long): Any = if (millis < Least || millis > Most) null else EventTimeUnits.micros(millis)
}
