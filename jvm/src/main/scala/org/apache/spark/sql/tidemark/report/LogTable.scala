package org.apache.spark.sql.tidemark.report

import java.io.{FileNotFoundException, IOException}

import io.tidemark.{CheckpointErrors, TidemarkError, TidemarkException}
import io.tidemark.core.{EventTimeUnits, OriginName}
import io.tidemark.core.memory.{OriginState, ReasonText, WatermarkEntry}
import io.tidemark.core.splits.{SplitNameTable, Splits, SplitState}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import org.apache.spark.SparkException
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, GenericInternalRow}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.tidemark.log.{EntryFiles, EntryListing, EntryReader}
import org.apache.spark.sql.tidemark.session.SqlFunctions
import org.apache.spark.sql.types.{BooleanType, LongType, StringType, StructType, TimestampType}
import org.apache.spark.unsafe.types.UTF8String
import org.apache.spark.util.SerializableConfiguration

/** `tidemark_log(checkpoint)`: the watermark entries of a query, running or not, as a table. The query is not started, and
  * nothing is written. A task reads one entry, or a chain of entries of which each continues from the one before.
  */
object LogTable {
  private val name = "tidemark_log"

  val description: SqlFunctions.TableDescription = SqlFunctions.described(
    getClass,
    name,
    "(checkpoint) - the watermark of each input and split of a streaming query after each batch")(table)

  private val why: StructType = new StructType()
    .add("code", StringType, nullable = false)
    .add("sentence", StringType, nullable = false)
    .add("fix", StringType)
    .add("held_by", StringType)
    .add("is_trouble", BooleanType, nullable = false)

  val schema: StructType = new StructType()
    .add("batch", LongType, nullable = false)
    .add("time", TimestampType, nullable = false)
    .add("key", StringType, nullable = false)
    .add("split", StringType)
    .add("clock", TimestampType)
    .add("watermark", TimestampType)
    .add("idle", BooleanType, nullable = false)
    .add("held_by_split", StringType)
    .add("corrected", BooleanType, nullable = false)
    .add("why", why)

  private def table(arguments: Seq[Expression]): LogicalPlan = {
    val checkpoint = arguments match {
      case Seq(argument) => SqlFunctions.constantText(argument)
      case _ => None
    }
    val location = checkpoint.getOrElse {
      val expected = "the location of a checkpoint, as a constant text,"
      throw new TidemarkException(TidemarkError.WrongArguments(name, expected, arguments.size))
    }
    val session = SparkSession.active
    val conf = new SerializableConfiguration(session.sessionState.newHadoopConf())
    val (listing, parts) = this.parts(location, conf)
    val rows = session.sparkContext.parallelize(parts, parts.size).flatMap(read(location, conf, listing, _))
    session.internalCreateDataFrame(rows, schema).queryExecution.analyzed
  }

  /** The rows of the last batches, read by this thread. */
  private[report] def last(location: String, conf: SerializableConfiguration, batches: Int): Iterator[InternalRow] = {
    val (listing, parts) = this.parts(location, conf)
    val first = parts.flatten.max - batches + 1
    val rows = parts.iterator.filter(_.exists(_ >= first)).flatMap(read(location, conf, listing, _))
    rows.filter(_.getLong(schema.fieldIndex("batch")) >= first)
  }

  private def parts(location: String, conf: SerializableConfiguration): (EntryListing, Seq[Seq[Long]]) = {
    val listing = this.listing(location, conf.value)
    val parts = reader(location, conf, listing).parts
    if (parts.isEmpty) throw new TidemarkException(CheckpointErrors.NoLog(location))
    (listing, parts)
  }

  /** The files of a query's log. Refused if the location is none that can be listed. */
  private[report] def listing(location: String, conf: Configuration): EntryListing =
    try new EntryFiles(new Path(location), conf).list()
    catch {
      case e: TidemarkException => throw e
      // Not a path, or its file system is not available.
      case e @ (_: RuntimeException | _: IOException | _: SparkException) =>
        throw new TidemarkException(CheckpointErrors.NoLog(location, e.getMessage), e)
    }

  private def files(location: String, conf: SerializableConfiguration) = new EntryFiles(new Path(location), conf.value)

  private def reader(location: String, conf: SerializableConfiguration, listing: EntryListing) =
    new EntryReader(files(location, conf), listing)

  /** The folder is listed once for all batches, and again only where the query has written or deleted files since then. */
  private def read(
      location: String,
      conf: SerializableConfiguration,
      listing: EntryListing,
      batches: Seq[Long]): Iterator[InternalRow] = {
    val entries = reader(location, conf, listing).readAll(batches)
    var isAsListed = true
    batches.iterator.flatMap { batch =>
      val entry =
        try if (isAsListed) Some(entries.next()) else readAsItIs(location, conf, batch)
        catch {
          case _: FileNotFoundException | _: TidemarkException if isAsListed =>
            isAsListed = false
            readAsItIs(location, conf, batch)
        }
      entry.iterator.flatMap(rowsOf)
    }
  }

  private def readAsItIs(location: String, conf: SerializableConfiguration, batch: Long): Option[WatermarkEntry] = {
    val listing = files(location, conf).list()
    try reader(location, conf, listing).read(batch).map(_.entry)
    catch {
      // The query is running, and has just deleted the file, or is writing it.
      case _: FileNotFoundException => None
      case e: TidemarkException
          if EntryReader.isCutShort(e) && isChanging(listing.entries, batch, location, conf) => None
      // The query was stopped in the middle of a batch, which stock Spark has ended.
      case e: TidemarkException if EntryReader.isEmpty(e) => None
    }
  }

  private def isChanging(
      entries: Seq[Long],
      batch: Long,
      location: String,
      conf: SerializableConfiguration): Boolean =
    entries.lastOption.contains(batch) && !counts(batch, location, conf) ||
      files(location, conf).list().entries.headOption != entries.headOption

  /** Whether Spark has committed a batch. Its entry is final then. */
  private def counts(batch: Long, location: String, conf: SerializableConfiguration): Boolean = {
    val commit = new Path(location, s"commits/$batch")
    commit.getFileSystem(conf.value).exists(commit)
  }

  private def rowsOf(entry: WatermarkEntry): Iterator[InternalRow] = {
    val why = entry.reason.map(reason).orNull
    entry.origins.toSeq.sortBy(_._1.toString).iterator.flatMap { case (name, state) => rowsOf(entry, name, state, why) }
  }

  private def reason(of: ReasonText): InternalRow = {
    def text(value: String) = UTF8String.fromString(value)
    new GenericInternalRow(
      Array[Any](text(of.code), text(of.sentence), text(of.fix.orNull), text(of.heldBy.orNull), of.isTrouble))
  }

  private def rowsOf(
      entry: WatermarkEntry,
      name: OriginName,
      state: OriginState,
      why: InternalRow): Iterator[InternalRow] = {
    val splits = state.splits
    val key = UTF8String.fromString(name.toString)
    val watermark = micros(state.watermark.millis.filter(_ => state.hasTimes))
    val begun = EventTimeUnits.micros(entry.timestampMillis)
    val isCorrected = entry.correction.exists(correction => correction.batch == entry.batch && correction.origins(name))
    val holding = UTF8String.fromString(heldBy(splits).map(nameOf(splits, _)).orNull)
    def row(split: String, clock: Option[Long], isIdle: Boolean) = {
      val named = UTF8String.fromString(split)
      val values =
        Array[Any](entry.batch, begun, key, named, micros(clock), watermark, isIdle, holding, isCorrected, why)
      new GenericInternalRow(values)
    }
    if (splits.size == 0) Iterator.single(row(null, None, state.watermark.isIdle))
    else
      Iterator.range(0, splits.size).map { split =>
        row(
          nameOf(splits, split),
          splits.clock(split).filter(_ => state.hasTimes),
          state.silent || splits.state(split) == SplitState.Idle)
      }
  }

  /** The split that holds the watermark back. */
  private def heldBy(splits: Splits): Option[Int] =
    Iterator.range(0, splits.size).filter(splits.state(_) == SplitState.Active).minByOption(splits.clock)

  /** Null for an input that is not split. */
  private def nameOf(splits: Splits, split: Int): String = splits.name(split) match {
    case Seq() => null
    case texts => SplitNameTable.show(texts)
  }

  private def micros(millis: Option[Long]): Any = millis.map(time => Long.box(EventTimeUnits.micros(time))).orNull
}
