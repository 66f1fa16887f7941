package org.apache.spark.sql.tidemark.noted

import java.io.IOException
import java.nio.charset.StandardCharsets
import java.util.UUID

import scala.util.Random

import io.tidemark.core.noted.{Mark, MarkId, Position}

/** One life of a writer of marks in a Kafka topic.
  *
  * Kafka has no file that only one can make. So a life writes a claim, and reads all partitions after that: whichever of two
  * lives reads last sees the other one. Epochs are looked for among all records. What earlier lives have said is taken from
  * committed records only. A mark in a transaction that is still open does not count later either: this life is behind it.
  *
  * Where positions are absolute, a mark that is lost is no more than a mark left out. Marks of files are a chain, and all of them
  * are sent.
  */
private[noted] final class TopicLife private (
    key: Array[Byte],
    val epoch: Long,
    val last: Option[MarkId],
    val timeMillis: Option[Long],
    val files: Set[String],
    positions: Seq[(String, Position)],
    records: TopicRecords,
    sender: TopicSender,
    epochs: TopicEpochs)
    extends WriterLife {
  import TopicLife._

  private var unsent = Vector.empty[Array[Byte]]
  private var isChain = false

  override def others: Iterator[(String, Position)] = positions.iterator

  /** As far as the last look has shown: each mark ends with one. */
  override def standing: WriterLife.Standing =
    if (epochs.latest > epoch) WriterLife.Fenced else WriterLife.Current

  override def add(mark: Mark): Unit = {
    unsent :+= MarkText.json(mark)
    isChain ||= mark.files.isDefined
    // The first one says which marks of earlier lives count. Of the others, any may be left out.
    if (unsent.size > MostUnsent && !isChain) unsent = unsent.head +: unsent.takeRight(MostUnsent / 2)
    sender.send(key, unsent)
    unsent = Vector.empty
    look(records, epochs)
  }

  override def close(): Unit = records.close()
}

private[noted] object TopicLife {

  // While brokers do not answer, a mark is added every few seconds.
  private val MostUnsent = 256

  private val Attempts = 20

  /** Claims an epoch that is larger than all before and no smaller than the clock.
    * @throws java.io.IOException if the topic cannot be read or written
    */
  def begin(topic: MarksOfTopic, stream: String, writer: String, nowMillis: Long): TopicLife = {
    val key = s"$stream\u0000$writer".getBytes(StandardCharsets.UTF_8)
    val records = new TopicRecords(topic.name, topic.open(committedOnly = false))
    try {
      val sender = topic.sender
      val epochs = new TopicEpochs(key)
      look(records, epochs)
      val epoch = claimed(writer, nowMillis, nowMillis, Attempts, records, sender, epochs, key)
      val past = MarkTopic(topic.name, stream)(topic.open(committedOnly = true))
      val histories =
        try past.read().histories
        finally past.close()
      val counted = histories.get(writer).fold(IndexedSeq.empty[Mark])(_.marks)
      val others = histories.removed(writer).toSeq.flatMap { case (other, history) =>
        history.marks.flatMap(_.position).headOption.map(other -> _)
      }
      val time = counted.flatMap(_.timeMillis).maxOption
      val files = counted.flatMap(_.files).flatten.toSet
      new TopicLife(key, epoch, counted.lastOption.map(_.place), time, files, others, records, sender, epochs)
    } catch {
      case e: Throwable =>
        records.close()
        throw e
    }
  }

  @scala.annotation.tailrec
  private def claimed(
      writer: String,
      fromEpoch: Long,
      nowMillis: Long,
      attempts: Int,
      records: TopicRecords,
      sender: TopicSender,
      epochs: TopicEpochs,
      key: Array[Byte]): Long = {
    if (attempts == 0) throw new IOException(s"what writer '$writer' writes is not found in the topic")
    if (epochs.latest == Long.MaxValue) throw new IOException(s"a record of writer '$writer' has the largest epoch")
    val epoch = math.max(epochs.latest + 1, fromEpoch)
    val claim = UUID.randomUUID.toString
    sender.send(key, Seq(MarkText.claim(writer, epoch, claim, nowMillis)))
    look(records, epochs)
    if (epochs.isLatest(epoch, claim)) epoch
    // Two lives that have met must not meet again.
    else claimed(writer, epoch + 1 + Random.nextInt(1000), nowMillis, attempts - 1, records, sender, epochs, key)
  }

  /** A later life reads the past after it has claimed its epoch. So either it reads what was written before, or it is seen. */
  private def look(records: TopicRecords, epochs: TopicEpochs): Unit =
    records.news(() => epochs.forget())(epochs.add)
}
