package org.apache.spark.sql.tidemark.noted

import java.io.IOException
import java.nio.charset.StandardCharsets.UTF_8

import io.tidemark.core.noted.{Mark, MarkId, Position, WriterHistory}

import org.scalatest.funsuite.AnyFunSuite

import org.apache.spark.sql.tidemark.support.MemoryTopic

/** A query's writer of marks in a Kafka topic: its lives, and what it does when something fails. */
class NotingTopicSuite extends AnyFunSuite {

  /** Two partitions. What is `hidden` is in an open or aborted transaction. */
  private class PretendedTopic extends MarksOfTopic {
    val all = new MemoryTopic(2)
    val committed = new MemoryTopic(2)
    var sent = Vector.empty[String]
    var problem = Option.empty[String]

    /** What another program writes at the moment of the next sending. */
    var meanwhile: String => Unit = _ => ()
    private var turn = 0

    override def name: String = "t"
    override def open(committedOnly: Boolean): KafkaSource.Stream = (if (committedOnly) committed else all).stream
    override def sender: TopicSender = (key, values) => {
      problem.foreach(why => throw new IOException(why))
      values.foreach { value =>
        val text = new String(value, UTF_8)
        put(text, new String(key, UTF_8))
        sent :+= text
        val once = meanwhile
        meanwhile = _ => ()
        once(text)
      }
    }

    // Clients do not agree on the partition of a key.
    def put(value: String, key: String = "orders\u0000w", hidden: Boolean = false): Unit = {
      turn += 1
      (Seq(all) ++ Option.when(!hidden)(committed)).foreach(_.put(turn % 2, key.getBytes, value.getBytes))
    }

    def writer(now: Long = 100): MarkWriter = MarkWriter.inTopic("kafka:t/orders", this, "orders", "w", () => now)

    def history: WriterHistory = MarkTopic("t", "orders")(committed.stream).read().histories("w")

    /** The time that readers know who have read this far. */
    def time: Option[Long] = history.marks.flatMap(_.timeMillis).maxOption
  }

  private def at(number: Long): Position = Position.Number(number)

  private def mark(epoch: Long, number: Long, time: Long): String =
    s"""{"v":1,"w":"w","e":$epoch,"n":$number,"k":"note","t":$time,"at":5,"p":{"number":1}}"""

  test("a life claims an epoch, says that it is alive, and notes times") {
    val topic = new PretendedTopic
    val writer = topic.writer()
    writer.note(Some(7L), idle = false, at(1))
    writer.note(Some(7L), idle = false, fail("nothing new is written"))
    writer.note(Some(9L), idle = false, at(2))
    assert(topic.sent.head.matches("""\{"v":1,"w":"w","e":100,"k":"claim","id":"[0-9a-f-]{36}","at":100\}"""))
    assert(topic.sent.tail === Seq(
      """{"v":1,"w":"w","e":100,"n":0,"k":"alive","at":100}""",
      """{"v":1,"w":"w","e":100,"n":1,"k":"note","t":7,"at":100,"p":{"number":1}}""",
      """{"v":1,"w":"w","e":100,"n":2,"k":"note","t":9,"at":100,"p":{"number":2}}"""))
    assert(topic.history.marks.map(_.place) === Seq(MarkId(100, 0), MarkId(100, 1), MarkId(100, 2)))
  }

  test("a second life fences off the first one, whose later marks do not count") {
    val topic = new PretendedTopic
    val first = topic.writer()
    first.note(Some(7L), idle = false, at(1))
    // Its clock has run back.
    val second = topic.writer(now = 3)
    second.note(Some(8L), idle = false, at(2))
    assert(topic.sent.filter(_.contains(""""e":101,"n":0,"k":"alive"""")).forall(_.contains(""""after":[100,1]""")))
    intercept[MarkWriter.Fenced](first.note(Some(50L), idle = false, at(3)))
    intercept[MarkWriter.Fenced](first.note(Some(51L), idle = false, at(3)))
    assert(topic.time === Some(8L))
    assert(topic.history.marks.last.place === MarkId(101, 1))
    second.note(Some(9L), idle = false, at(4))
    assert(topic.time === Some(9L))
  }

  test("a life does not note again what an earlier life has noted") {
    val topic = new PretendedTopic
    topic.writer().note(Some(7L), idle = false, at(1))
    val second = topic.writer(now = 200)
    second.note(Some(6L), idle = false, at(1))
    assert(second.timeMillis === Some(7L))
    assert(topic.history.marks.count(_.kind == Mark.Note) === 1)
  }

  test("two lives that claim the same epoch both take another one") {
    val topic = new PretendedTopic
    topic.meanwhile = claim => topic.put(claim.replaceAll("\"id\":\"[^\"]*\"", "\"id\":\"other\""))
    topic.writer().note(Some(7L), idle = false, at(1))
    val epochs = topic.history.marks.map(_.epoch).distinct
    assert(epochs.size === 1 && epochs.head > 100)
  }

  test("a larger epoch that appears while a claim is written is passed by") {
    val topic = new PretendedTopic
    topic.meanwhile = _ => topic.put("""{"v":2,"e":5000}""")
    topic.writer().note(Some(7L), idle = false, at(1))
    assert(topic.history.marks.map(_.epoch).min > 5000)
  }

  test("marks in a transaction that is open or was aborted are not a past, but their epoch is taken") {
    val topic = new PretendedTopic
    topic.put(mark(epoch = 300, number = 0, time = 4))
    topic.put(mark(epoch = 300, number = 1, time = 70), hidden = true)
    val writer = topic.writer()
    writer.note(Some(7L), idle = false, at(1))
    assert(writer.timeMillis === Some(7L))
    assert(topic.history.marks.flatMap(_.after) === Seq(MarkId(300, 0)))
    assert(topic.history.marks.last.epoch === 301)
    // It is committed late, and is behind what the new life goes on from.
    topic.committed.put(0, "orders", "w", mark(epoch = 300, number = 1, time = 70))
    assert(topic.time === Some(7L))
  }

  test("records of other streams and writers, and such that cannot be read, are passed by") {
    val topic = new PretendedTopic
    topic.put(mark(epoch = 900, number = 0, time = 4), key = "orders2\u0000w")
    topic.put(mark(epoch = 900, number = 0, time = 4), key = "orders\u0000v")
    for (odd <- Seq("", "{", "[]", """{"e":"7"}""", """{"e":7.5}""", """{"e":-1}""", """{"e":9223372036854775808}"""))
      topic.put(odd)
    topic.writer().note(Some(7L), idle = false, at(1))
    assert(topic.history.marks.map(_.epoch).distinct === Seq(100))
  }

  test("a life that was killed behind its claim has said nothing, and its epoch is taken") {
    val topic = new PretendedTopic
    topic.put("""{"v":1,"w":"w","e":500,"k":"claim","id":"a","at":5}""")
    topic.writer().note(Some(7L), idle = false, at(1))
    assert(topic.history.marks.map(_.place) === Seq(MarkId(501, 0), MarkId(501, 1)))
    assert(topic.history.marks.flatMap(_.after) === Nil)
    assert(topic.time === Some(7L))
  }

  test("a record with the largest epoch leaves no life, which is an error in words") {
    val topic = new PretendedTopic
    topic.put(s"""{"e":${Long.MaxValue}}""")
    val message = intercept[IOException](topic.writer().note(Some(7L), idle = false, at(1))).getMessage
    assert(message.contains("largest epoch"))
  }

  test("a claim that is not found in the topic is an error, and not tried forever") {
    val topic = new PretendedTopic {
      override def open(committedOnly: Boolean): KafkaSource.Stream = new MemoryTopic(1).stream
    }
    val message = intercept[IOException](topic.writer().note(Some(7L), idle = false, at(1))).getMessage
    assert(message.contains("not found in the topic"))
  }

  test("a mark that could not be sent goes with the next one") {
    val topic = new PretendedTopic
    val writer = topic.writer()
    writer.note(Some(7L), idle = false, at(1))
    topic.problem = Some("no brokers")
    assert(intercept[IOException](writer.note(Some(8L), idle = false, at(2))).getMessage === "no brokers")
    assert(writer.timeMillis === Some(7L))
    topic.problem = None
    writer.note(Some(8L), idle = false, at(3))
    assert(topic.history.marks.map(mark => (mark.number, mark.position)).drop(2) ===
      Seq((2, Some(at(2))), (3, Some(at(3)))))
  }

  test("of marks that list files none is left out, and a later life lists what none of them has") {
    val topic = new PretendedTopic
    val writer = topic.writer()
    val names = (1 to 400).map(_.toString)
    writer.note(Some(6L), idle = false, Position.Files(Set.empty))
    topic.problem = Some("no brokers")
    for (count <- names.indices)
      intercept[IOException](writer.note(Some(7L), idle = false, Position.Files(names.take(count).toSet)))
    topic.problem = None
    writer.note(Some(7L), idle = false, Position.Files(names.toSet))
    assert(topic.history.marks.map(_.number) === (0L to 402L))
    assert(topic.history.marks.flatMap(_.files).flatten === names)
    topic.writer(now = 200).note(Some(8L), idle = false, Position.Files(names.toSet + "new"))
    assert(topic.history.marks.last.files === Some(Set("new")))
  }

  test("brokers that are away for long leave the first mark and the newest ones") {
    val topic = new PretendedTopic
    topic.put(mark(epoch = 5, number = 0, time = 1))
    val writer = topic.writer()
    // The claim can be sent, and nothing after it.
    topic.meanwhile = _ => topic.problem = Some("no brokers")
    for (time <- 2L to 1000) intercept[IOException](writer.note(Some(time), idle = false, at(time)))
    topic.problem = None
    writer.note(Some(1001L), idle = false, at(1001))
    val marks = topic.history.marks
    assert(marks.size < 260)
    assert(marks.flatMap(_.after) === Seq(MarkId(5, 0)))
    assert(marks.last.timeMillis === Some(1001L))
  }

  test("brokers that do not answer when a life begins are asked again") {
    val topic = new PretendedTopic
    topic.all.problem = Some("no brokers")
    val writer = topic.writer()
    intercept[IOException](writer.note(Some(7L), idle = false, at(1)))
    topic.all.problem = None
    writer.note(Some(7L), idle = false, at(1))
    assert(topic.time === Some(7L))
  }

  test("in a topic that is deleted and created again the same life continues") {
    val topic = new PretendedTopic
    val writer = topic.writer()
    writer.note(Some(7L), idle = false, at(1))
    topic.all.empty()
    topic.committed.empty()
    writer.note(Some(8L), idle = false, at(2))
    val history = topic.history
    assert(history.marks.map(_.place) === Seq(MarkId(100, 2)))
  }
}
