package org.apache.spark.sql.tidemark.sources

import scala.collection.mutable

import io.tidemark.{NotedTimeErrors, TidemarkException}
import io.tidemark.core.OriginName
import io.tidemark.core.memory.{BatchStart, Unread}
import io.tidemark.core.noted.SourcePosition
import io.tidemark.core.splits.SplitNameTable

import com.fasterxml.jackson.core.JsonProcessingException
import com.fasterxml.jackson.databind.ObjectMapper

import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute}
import org.apache.spark.sql.catalyst.plans.logical.{EventTimeWatermark, LogicalPlan, Project}
import org.apache.spark.sql.connector.read.streaming._
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.v2.StreamingDataSourceV2ScanRelation
import org.apache.spark.sql.execution.streaming.runtime.{
  FileStreamSource,
  MicroBatchExecution,
  StreamingExecutionRelation
}
import org.apache.spark.sql.tidemark.columns.{KafkaOffsets, OriginsOfPlan, PlanOrigin, SplitMarker}
import org.apache.spark.sql.tidemark.stream.SparkInternals

/** The rows of a query's sources that no batch has read yet. A batch is decided only by what is in Spark's offset log,
  * so that a rerun batch decides the same.
  *
  * @param isRunAgain whether an earlier run has begun a batch
  */
private[tidemark] final class SourceBacklog(
    execution: MicroBatchExecution,
    origins: OriginsOfPlan,
    isRunAgain: Long => Boolean) {
  import KafkaOffsets.{isKafka, offsetsOf, Partition}
  import SourceBacklog._

  private val positions = new SourcePositions(execution, !isHeldBack(_))

  // The last batch that read all files of a source that its limit allows.
  private val lastFull = mutable.Map.empty[SparkDataStream, Long]

  private lazy val below: Map[OriginName, Below] = {
    val nodes = execution.logicalPlan.collect { case node: EventTimeWatermark => node }.groupBy(_.nodeId)
    origins.all.flatMap(origin =>
      nodes.get(origin.nodeId).map(copies => origin.name -> below(copies, origin))).toMap
  }

  /** An input that is used twice, as in a self-join, has a copy of each source for each use. */
  private def below(copies: Seq[EventTimeWatermark], origin: PlanOrigin): Below = {
    val node = copies.last
    Below(streams(node), partitions(node, origin), copies.flatMap(streams).distinct, copies.exists(hasPattern))
  }

  /** The number of the batch that is being planned or run. */
  def batch: Long = SparkInternals.batch(execution).id

  /** The batch that is being planned or run: when it began, and which splits it is about to read. */
  def start: BatchStart = {
    val silences = origins.all.filter(_.rules.idleAfterMillis.nonEmpty).map(_.name)
    BatchStart(
      SparkInternals.batch(execution).timestampMillis,
      silences.flatMap(name => unread(name).map(name -> _)).toMap)
  }

  private def unread(name: OriginName): Option[Unread] = below.get(name).flatMap { at =>
    val offsets = execution.getLatestExecutionContext()
    val read = at.streams.filter(hasRows)
    at.partitions match {
      case Some(order) =>
        val splits = read.flatMap { stream =>
          val begins = offsets.startOffsets.get(stream).fold(Map.empty[Partition, Long])(offsetsOf)
          offsetsOf(offsets.endOffsets(stream)).collect {
            case (partition, end) if begins.get(partition).forall(_ < end) => order.name(partition)
          }
        }
        Option.when(splits.nonEmpty)(Unread.In(splits))
      case None => Option.when(read.nonEmpty)(Unread.Somewhere)
    }
  }

  /** The splits that the source reports, with rows or without (encoded names). */
  def known(name: OriginName): Seq[Array[Byte]] =
    for {
      at <- below.get(name).toSeq
      order <- at.partitions.toSeq
      stream <- at.streams
      end <- execution.getLatestExecutionContext().endOffsets.get(stream).toSeq
      partition <- offsetsOf(end).keys.toSeq
    } yield order.name(partition)

  /** What has been read of an input when this batch has ended.
    * @throws TidemarkException if marks cannot be compared with its sources
    */
  def position(origin: PlanOrigin): Option[SourcePosition] =
    try below.get(origin.name).flatMap { at =>
        if (at.hasPattern)
          throw new IllegalArgumentException("it reads topics that match a pattern, and new ones may come")
        positions.of(at.copies)
      }
    catch {
      case e: IllegalArgumentException =>
        throw new TidemarkException(NotedTimeErrors.NotedSourceUnknown(origin.column, e.getMessage), e)
    }

  /** Whether the batch reads nothing of an input, and nothing is held back: the source had no more when it was asked. */
  def isAtEnd(origin: PlanOrigin): Boolean =
    below.get(origin.name).exists(_.copies.forall(stream => !hasRows(stream) && !isHeldBack(stream)))

  /** Whether an admission limit held rows back in this batch. Which splits have these rows is unknown. */
  def waiting(name: OriginName): Boolean =
    below.get(name).exists(at => at.partitions.isEmpty && at.streams.exists(isHeldBack))

  private def isHeldBack(stream: SparkDataStream): Boolean = {
    val offsets = execution.getLatestExecutionContext()
    val left = offsets.latestOffsets.get(stream).map { latest =>
      offsets.endOffsets.get(stream).flatMap(end => isBefore(stream, end, latest))
    }
    val limit = SparkInternals.readLimit(execution, stream)
    left match {
      case Some(Some(answer)) => answer
      // A run of `AvailableNow` leaves later rows, and some limits hold rows back until there are more.
      case Some(None) if SparkInternals.isForWhatIsAvailable(execution) || limit.exists(holdsBackFew) => true
      case _ =>
        limit match {
          case None | Some(_: ReadAllAvailable) => false
          case Some(limit) => hasRows(stream) && isHeldBack(stream, limit)
        }
    }
  }

  private def isHeldBack(stream: SparkDataStream, limit: ReadLimit): Boolean = (stream, limit) match {
    case (files: FileStreamSource, most: ReadMaxFiles) => isHeldBack(files, most)
    case _ =>
      val offsets = execution.getLatestExecutionContext()
      val data = Option(offsets.newData).flatMap(_.get(stream))
      // A source that does not report what is left has nothing left once a batch has found nothing.
      val seesLaterRows = !SparkInternals.isForWhatIsAvailable(execution)
      TableFormatBacklog.isHeldBack(stream, limit, offsets.endOffsets(stream), data, seesLaterRows).getOrElse(true)
  }

  private def holdsBackFew(limit: ReadLimit): Boolean = limit match {
    case _: ReadMinRows => true
    case all: CompositeReadLimit => all.getReadLimits.exists(holdsBackFew)
    case _ => false
  }

  /** The next batch reads the remaining files of a listing, and no others, even if many have arrived since. */
  private def isHeldBack(files: SparkDataStream, limit: ReadMaxFiles): Boolean = {
    val isFull = filesRead(files) >= limit.maxFiles
    if (isFull) lastFull.update(files, batch)
    // For a batch started by an earlier run, the files it had listed are unknown.
    isFull || isRunAgain(batch) || lastFull.get(files).contains(batch - 1)
  }

  /** Whether the batch reads something from a source. */
  private def hasRows(stream: SparkDataStream): Boolean = {
    val offsets = execution.getLatestExecutionContext()
    offsets.endOffsets.get(stream).exists(end => offsets.startOffsets.get(stream).forall(_.json != end.json))
  }

  private def filesRead(stream: SparkDataStream): Int =
    Option(execution.getLatestExecutionContext().newData).flatMap(_.get(stream)).toSeq.flatMap(_.collect {
      case LogicalRelation(files: HadoopFsRelation, _, _, _, _) => files.location.inputFiles.length
    }).sum

  /** The order in which Kafka's topic and partition form the names of an origin's splits, if they do. */
  private def partitions(node: EventTimeWatermark, origin: PlanOrigin): Option[KafkaPartitions] = {
    val keys = node.collectFirst { case split: SplitMarker if split.id == origin.clocks => split.keys }.getOrElse(Nil)
    val columns = keys.map(key => kafkaColumn(node, key))
    Option.when(streams(node).forall(isKafka) && columns.toSet == Set(Some("topic"), Some("partition")) &&
      columns.size == 2)(
      KafkaPartitions(topicFirst = columns.head.contains("topic")))
  }

  private def kafkaColumn(plan: LogicalPlan, key: Attribute): Option[String] = {
    val from = plan.collectFirst {
      case Project(columns, _) if columns.exists(c => c.isInstanceOf[Alias] && c.exprId == key.exprId) =>
        columns.collectFirst { case a @ Alias(column: Attribute, _) if a.exprId == key.exprId => column }
    }
    from match {
      case Some(column) => column.flatMap(kafkaColumn(plan, _))
      case None =>
        relations(plan).collectFirst {
          case (stream, output) if isKafka(stream) && output.exists(_.exprId == key.exprId) =>
            output.find(_.exprId == key.exprId).get.name
        }
    }
  }
}

private[tidemark] object SourceBacklog {
  import KafkaOffsets.{isKafka, offsetsOf, Partition}

  private val mapper = new ObjectMapper

  /** @param partitions how names are formed if Kafka's partitions are the splits
    * @param copies the sources of all uses of the input
    * @param hasPattern whether topics that are not known yet may be read later
    */
  private final case class Below(
      streams: Seq[SparkDataStream],
      partitions: Option[KafkaPartitions],
      copies: Seq[SparkDataStream],
      hasPattern: Boolean)

  private def hasPattern(plan: LogicalPlan): Boolean = plan.exists {
    case relation: StreamingDataSourceV2ScanRelation =>
      isKafka(relation.stream) && relation.relation.options.containsKey("subscribePattern")
    case _ => false
  }

  private final case class KafkaPartitions(topicFirst: Boolean) {
    def name(at: Partition): Array[Byte] = {
      val texts = Seq(Some(at.topic), Some(at.number))
      SplitNameTable.encode(if (topicFirst) texts else texts.reverse)
    }
  }

  private def streams(plan: LogicalPlan): Seq[SparkDataStream] = relations(plan).map(_._1)

  private def relations(plan: LogicalPlan): Seq[(SparkDataStream, Seq[Attribute])] = plan.collect {
    case relation: StreamingExecutionRelation => relation.source -> relation.output
    case relation: StreamingDataSourceV2ScanRelation => relation.stream -> relation.output
  }

  /** Whether there is something to read between two offsets of a source, by their meaning: one place may have several
    * texts. `None` if that is unknown.
    */
  private def isBefore(stream: SparkDataStream, end: Offset, latest: Offset): Option[Boolean] =
    if (isKafka(stream)) {
      val ends = offsetsOf(end)
      Some(offsetsOf(latest).exists { case (partition, until) => ends.get(partition).forall(_ < until) })
    } else if (end == latest || isSame(end.json, latest.json)) Some(false)
    else compared(end, latest).map(_ < 0)

  private def isSame(json: String, other: String): Boolean =
    json == other ||
      (try mapper.readTree(json) == mapper.readTree(other)
      catch { case _: JsonProcessingException => false })

  private def compared(end: Offset, latest: Offset): Option[Int] = end match {
    case place: Comparable[_] if end.getClass == latest.getClass =>
      Some(place.asInstanceOf[Comparable[Offset]].compareTo(latest))
    case _ => None
  }
}
