package org.apache.spark.sql.tidemark.noted

import java.io.IOException

import io.tidemark.core.noted.{MarkId, SourcePosition, TopicLocation}
import io.tidemark.core.noted.WriterHistorySuite.everything

import org.scalatest.funsuite.AnyFunSuite

import org.apache.spark.sql.tidemark.support.MemoryTopic

/** Reading a mark log in a Kafka topic, again and again. */
class MarkTopicSuite extends AnyFunSuite {

  private def log(topic: MemoryTopic, stream: String = "orders", mostMarks: Int = 1000): MarkTopic =
    MarkTopic("t", stream, mostMarks)(topic.stream)

  private def mark(number: Long, epoch: Long = 1, writer: String = "w", more: String = ""): String =
    s"""{"v":1,"w":"$writer","e":$epoch,"n":$number,"k":"note","t":$number,"at":5,"p":{"number":$number}$more}"""

  private def file(number: Long): String = mark(number).replace(s""""number":$number""", s""""files":["f$number"]""")

  private def numbers(read: MarkLogContents, writer: String = "w"): Seq[Long] =
    read.histories.get(writer).toSeq.flatMap(_.marks).map(_.number)

  test("the marks of a stream are read from all partitions, and claims are none") {
    val topic = new MemoryTopic(3)
    topic.put(0, "orders", "w", """{"v":1,"w":"w","e":1,"k":"claim","id":"a","at":1}""")
    topic.put(0, "orders", "w", mark(1))
    topic.put(2, "orders", "w", mark(2))
    topic.put(1, "orders2", "w", mark(3))
    topic.put(1, "", "w", mark(4))
    topic.put(1, "orders", "v", mark(7, writer = "v"))
    val read = log(topic).read()
    assert(numbers(read) === Seq(1, 2))
    assert(numbers(read, "v") === Seq(7))
    assert(read.skipped === Map.empty)
    assert(numbers(log(topic, stream = "").read()) === Seq(4))
    assert(log(topic).read(isWanted = _ == "v").histories.keySet === Set("v"))
  }

  test("each record is read once, and marks before a passed one are forgotten") {
    val topic = new MemoryTopic(2)
    val marks = log(topic)
    (1L to 4).foreach(number => topic.put((number % 2).toInt, "orders", "w", mark(number)))
    assert(numbers(marks.read()) === (1L to 4))
    topic.put(0, "orders", "w", mark(5))
    topic.served = 0
    assert(numbers(marks.read(Map("w" -> MarkId(1, 3)))) === (3L to 5))
    assert(topic.served === 1)
    assert(numbers(marks.read(Map("w" -> MarkId(1, 5)))) === Seq(5))
  }

  test("records that cannot be used are counted by their reason, and the others are read") {
    val topic = new MemoryTopic(1)
    for (value <- Seq(null, "{", mark(1, writer = "v"), mark(1).replace(""""v":1""", """"v":2"""), " " * (2 << 20)))
      topic.put(0, "orders\u0000w".getBytes, Option(value).map(_.getBytes).orNull)
    for (key <- Seq(null, "orders".getBytes, "orders\u0000".getBytes :+ 0xff.toByte))
      topic.put(0, key, mark(1).getBytes)
    topic.put(0, "orders", "w", mark(9))
    val read = log(topic).read()
    assert(read.skipped === Map("json" -> 2, "writer" -> 1, "version" -> 1, "long" -> 1, "key" -> 3))
    assert(numbers(read) === Seq(9))
  }

  test("files wait for a first mark that cannot be read, but not for a record between two neighbors") {
    val topic = new MemoryTopic(1)
    def passed(marks: MarkTopic) = marks.read().histories("w").passed(everything)
    topic.put(0, "orders", "w", file(1))
    topic.put(0, "orders", "w", "torn")
    topic.put(0, "orders", "w", file(2))
    assert(passed(log(topic)) === 2)
    topic.empty()
    topic.put(0, "orders", "w", "torn")
    topic.put(0, "orders", "w", file(2))
    assert(passed(log(topic)) === 0)
  }

  test("a writer of which no record can be used holds") {
    for (value <- Seq("torn", mark(1, epoch = 3).replace(""""v":1""", """"v":2"""))) {
      val topic = new MemoryTopic(1)
      topic.appendedMillis = 12345
      topic.put(0, "orders", "w", value)
      val history = log(topic).read().histories("w")
      assert(history.isUnreadable && !history.isDone && history.isCutOff(None) && history.passed(everything) === 0)
      assert(history.marks.map(_.writtenMillis) === Seq(12345))
    }
  }

  test("a writer has not ended if its newest record cannot be used") {
    val topic = new MemoryTopic(2)
    val marks = log(topic)
    def isDone: Boolean = marks.read().histories("w").isDone
    def end(number: Long, epoch: Long): String = mark(number, epoch).replace("note", "end")
    topic.put(0, "orders", "w", end(4, epoch = 3))
    assert(isDone)
    // A later life has ended since.
    topic.put(1, "orders", "w", mark(9, epoch = 2).replace(""""v":1""", """"v":2"""))
    assert(isDone)
    topic.put(0, "orders\u0000w".getBytes, null)
    assert(isDone)
    topic.put(0, "orders", "w", mark(5, epoch = 3).replace(""""v":1""", """"v":2"""))
    assert(!isDone)
    topic.put(0, "orders", "w", end(6, epoch = 3))
    assert(isDone)
    topic.put(0, "orders", "w", "torn")
    assert(!isDone)
  }

  test("marks are dated by the broker's clock if the topic has it") {
    val topic = new MemoryTopic(1)
    topic.appendedMillis = 12345
    topic.put(0, "orders", "w", mark(0))
    assert(log(topic).read().histories("w").marks.map(_.writtenMillis) === Seq(12345))
  }

  test("a topic that is deleted and created again is read from its beginning") {
    val topic = new MemoryTopic(1)
    val marks = log(topic)
    (1L to 3).foreach(number => topic.put(0, "orders", "w", mark(number)))
    assert(numbers(marks.read()) === (1L to 3))
    topic.empty()
    topic.put(0, "orders", "w", mark(1, epoch = 8))
    assert(marks.read().histories("w").marks.map(_.epoch) === Seq(8))
  }

  test("a reader that knows no writer learns that older marks were removed, and one that has passed some does not") {
    val topic = new MemoryTopic(2)
    (0L to 3).foreach(number => topic.put(0, "orders", "w", mark(number)))
    topic.put(1, "other", "v", mark(0, writer = "v"))
    assert(!log(topic).read().isCut)
    topic.remove(0, before = 2)
    val marks = log(topic)
    assert(marks.read().isCut && marks.read().isCut)
    assert(numbers(marks.read()) === Seq(2, 3))
    assert(!log(topic).read(Map("w" -> MarkId(1, 1))).isCut)
    // All records of the partition are gone.
    topic.remove(0, before = 4)
    assert(log(topic).read().isCut)
    topic.empty()
    topic.put(0, "orders", "w", mark(9))
    assert(!marks.read().isCut)
  }

  test("a topic that cannot be read is an error, and the next reading goes on") {
    val topic = new MemoryTopic(1)
    val marks = log(topic)
    topic.put(0, "orders", "w", mark(1))
    topic.problem = Some("no brokers")
    assert(intercept[IOException](marks.read()).getCause.getMessage === "no brokers")
    topic.problem = None
    assert(numbers(marks.read()) === Seq(1))
    assert(org.apache.spark.TaskContext.get() === null)
  }

  test("of many marks some are left out, but neither the last one nor one that fences off a life") {
    val topic = new MemoryTopic(1)
    (1L to 499).foreach(number => topic.put(0, "orders", "w", mark(number)))
    topic.put(0, "orders", "w", mark(0, epoch = 2, more = ""","after":[1,400]"""))
    topic.put(0, "orders", "w", mark(500, epoch = 2))
    val history = log(topic, mostMarks = 50).read().histories("w")
    assert(history.marks.size < 60)
    assert(history.marks.last.place === MarkId(2, 500))
    assert(history.marks.forall(mark => mark.epoch == 2 || mark.number <= 400))
    for (read <- Seq(10L, 100L, 399L, 500L))
      assert(history.lastNote(history.passed(SourcePosition.Number(read))).forall(_._2 <= read))
  }

  test("files are a chain, of which no mark is left out") {
    val topic = new MemoryTopic(1)
    (1L to 200).foreach(number => topic.put(0, "orders", "w", file(number)))
    assert(numbers(log(topic, mostMarks = 50).read()) === (1L to 200))
  }

  test("a location is a topic, and perhaps a stream") {
    assert(TopicLocation.parse("kafka:marks") === Some(TopicLocation("marks", "")))
    assert(TopicLocation.parse("kafka:marks/eu/orders") === Some(TopicLocation("marks", "eu/orders")))
    for (wrong <- Seq("kafka:", "kafka:marks/", "kafka:a b", "kafka:a/b\u0000c", "marks", "/kafka:marks"))
      assert(TopicLocation.parse(wrong) === None, wrong)
  }
}
