package org.apache.spark.sql.tidemark.report

import java.io.{FileNotFoundException, IOException}

import io.tidemark.{TidemarkError, TidemarkException}
import io.tidemark.core.OriginName
import io.tidemark.core.memory.{OriginState, WatermarkEntry}
import io.tidemark.core.splits.{Coalescer, SplitNameTable, Splits}

import org.apache.hadoop.fs.Path

import org.apache.spark.SparkException
import org.apache.spark.sql.catalyst.{FunctionIdentifier, InternalRow}
import org.apache.spark.sql.catalyst.expressions.{Expression, ExpressionInfo, GenericInternalRow}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.tidemark.log.{EntryFiles, EntryLog}
import org.apache.spark.sql.tidemark.session.SqlFunctions
import org.apache.spark.sql.types.{BooleanType, LongType, StringType, StructType, TimestampType}
import org.apache.spark.unsafe.types.UTF8String
import org.apache.spark.util.SerializableConfiguration

/** `tidemark_log(checkpoint)`: what the log of a query has, running or not, as a table. The query is not started, and
  * nothing is written. Each batch is read by a task of its own.
  */
object LogTable {
  private val name = "tidemark_log"

  /** What Spark takes to make the function known. */
  val description: (FunctionIdentifier, ExpressionInfo, Seq[Expression] => LogicalPlan) = {
    val usage = "(checkpoint) - the watermark of each input and split of a streaming query after each batch"
    (new FunctionIdentifier(name), SqlFunctions.info(getClass, name, usage), table)
  }

  val schema: StructType = new StructType()
    .add("batch", LongType, nullable = false)
    .add("time", TimestampType, nullable = false)
    .add("key", StringType, nullable = false)
    .add("split", StringType)
    .add("clock", TimestampType)
    .add("watermark", TimestampType)
    .add("idle", BooleanType, nullable = false)
    .add("held_by", StringType)

  private def table(arguments: Seq[Expression]): LogicalPlan = {
    val checkpoint = arguments match {
      case Seq(one) if one.foldable && one.dataType == StringType => Option(one.eval()).map(_.toString)
      case _ => None
    }
    val location = checkpoint.getOrElse {
      val takes = "the location of a checkpoint, as a constant text,"
      throw new TidemarkException(TidemarkError.WrongArguments(name, takes, arguments.size))
    }
    val session = SparkSession.active
    val conf = new SerializableConfiguration(session.sessionState.newHadoopConf())
    val (batches, listing) = found(location, conf)
    if (batches.isEmpty) throw new TidemarkException(TidemarkError.NoLog(location))
    val rows = session.sparkContext.parallelize(batches, batches.size).flatMap(read(location, conf, listing, _))
    session.internalCreateDataFrame(rows, schema).queryExecution.analyzed
  }

  private def found(location: String, conf: SerializableConfiguration): (Seq[Long], EntryFiles.Listing) =
    try {
      val log = new EntryLog(new Path(location), conf.value, 0)
      (log.batches, log.listing)
    } catch {
      case e: TidemarkException => throw e
      // No path, or on no file system that is there.
      case e @ (_: IllegalArgumentException | _: IOException | _: SparkException) =>
        throw new TidemarkException(TidemarkError.NoLog(location, e.getMessage), e)
    }

  /** The folder is listed once for all batches, and again only where the query has gone on since then. */
  private def read(
      location: String,
      conf: SerializableConfiguration,
      listing: EntryFiles.Listing,
      batch: Long): Iterator[InternalRow] = {
    val entry =
      try new EntryLog(new Path(location), conf.value, 0, Some(listing)).read(batch)
      catch { case _: FileNotFoundException | _: TidemarkException => readAsItIs(location, conf, batch) }
    entry.iterator.flatMap(rowsOf)
  }

  private def readAsItIs(location: String, conf: SerializableConfiguration, batch: Long): Option[WatermarkEntry] = {
    val log = new EntryLog(new Path(location), conf.value, 0)
    try log.read(batch)
    catch {
      // Of a query that is running: it has just been deleted, or is being written.
      case _: FileNotFoundException => None
      case e: TidemarkException if EntryLog.isCutShort(e) && isChanging(log, batch, location, conf) => None
      // Of one that was stopped in the middle of a batch, which Spark alone has ended.
      case e: TidemarkException if EntryLog.isEmpty(e) => None
    }
  }

  private def isChanging(log: EntryLog, batch: Long, location: String, conf: SerializableConfiguration): Boolean =
    log.batches.lastOption.contains(batch) && !counts(batch, location, conf) ||
      new EntryLog(new Path(location), conf.value, 0).batches.headOption != log.batches.headOption

  /** Whether Spark has counted a batch as done: then nobody writes its entry any more. */
  private def counts(batch: Long, location: String, conf: SerializableConfiguration): Boolean = {
    val commit = new Path(location, s"commits/$batch")
    commit.getFileSystem(conf.value).exists(commit)
  }

  private def rowsOf(entry: WatermarkEntry): Iterator[InternalRow] =
    entry.origins.toSeq.sortBy(_._1.toString).iterator.flatMap { case (name, state) => rowsOf(entry, name, state) }

  private def rowsOf(entry: WatermarkEntry, name: OriginName, state: OriginState): Iterator[InternalRow] = {
    val splits = state.splits
    val key = UTF8String.fromString(name.toString)
    val watermark = micros(state.watermark.millis)
    val holding = UTF8String.fromString(heldBy(splits).map(nameOf(splits, _)).orNull)
    def row(split: String, clock: Option[Long], isIdle: Boolean) = {
      val named = UTF8String.fromString(split)
      val values =
        Array[Any](entry.batch, entry.timestampMillis * 1000L, key, named, micros(clock), watermark, isIdle, holding)
      new GenericInternalRow(values)
    }
    if (splits.size == 0) Iterator.single(row(null, None, state.watermark.isIdle))
    else
      Iterator.range(0, splits.size).map { split =>
        row(nameOf(splits, split), splits.clock(split), state.silent || splits.state(split) == Coalescer.Idle)
      }
  }

  /** Which split the watermark would go on with. */
  private def heldBy(splits: Splits): Option[Int] =
    Iterator.range(0, splits.size).filter(splits.state(_) == Coalescer.Active).minByOption(splits.clock)

  /** Null for an input that is not split. */
  private def nameOf(splits: Splits, split: Int): String = splits.name(split) match {
    case Seq() => null
    case texts => SplitNameTable.show(texts)
  }

  private def micros(millis: Option[Long]): Any = millis.map(one => Long.box(one * 1000L)).orNull
}
