package io.tidemark.vectors

import scala.jdk.CollectionConverters._
import scala.util.Random

import io.tidemark.core.calls.AsyncQueue

import com.fasterxml.jackson.databind.JsonNode

/** Asynchronous maps, ordered and not: `a` becomes `a-1` and `a-2`, `a-1` alone, or nothing.
  *
  * In the file watermarks are in the queue, between rows. Here a watermark moves between batches, so a row before it is in
  * an earlier batch than a row behind it, and a batch ends when its queue is empty. What some vectors say in words is run
  * as what it means for such a queue.
  */
object AsyncUnit {

  def run(vector: Vector): Seq[Mismatch] = {
    val expected = vector.list("ordered").map(texts)
    val also = vector.list("unordered_also").map(texts)
    val input = vector.list("input")
    val limit = vector.number("limit", default = 10).toInt
    val words = vector.optional("name").fold("")(_.asText)
    vector.requireNothingElse()
    if (input.isEmpty) Seq(true, false).flatMap(inWords(vector.id, words, limit, _))
    else ofInput(vector.id, input, expected, also)
  }

  private def ofInput(
      id: String,
      input: Seq[JsonNode],
      expected: Seq[Seq[String]],
      also: Seq[Seq[String]]): Seq[Mismatch] = {
    val outputs = expected.headOption.toSeq.flatten.filterNot(_.startsWith("{")).groupBy(_.head).view
      .mapValues(_.distinct.sorted).toMap
    def results(row: String): Seq[String] = outputs.getOrElse(row.head, Nil)
    val inOrder = Mismatch.of(
      s"$id ordered",
      expected.head,
      emitted(input, ordered = true, results, new Random(0))).toSeq
    val unordered = (0 until 20).flatMap { seed =>
      val actual = emitted(input, ordered = false, results, new Random(seed))
      Option.when(!(expected ++ also).contains(actual))(
        Mismatch(s"$id unordered", (expected ++ also).mkString(" or "), actual.toString))
    }
    inOrder ++ unordered.headOption
  }

  private def inWords(id: String, words: String, limit: Int, ordered: Boolean): Option[Mismatch] = {
    val queue = new AsyncQueue[String, Seq[String]](limit, capacity = 10, ordered)
    val (wanted, actual) = words match {
      case "concurrency limit 2: item, wm 0, item -> second item accepted (wm not counted)" =>
        // A watermark is in no queue, so it takes no place of a call.
        Seq("a", "b", "c").foreach(queue.add(_))
        (Seq("a", "b"), begun(queue).map(_.row))
      case "pending item blocks completion; afterwards exactly its result is out" =>
        queue.add("a")
        val calls = begun(queue)
        val before = Seq(s"ended ${queue.isEmpty}") ++ polled(queue)
        calls.foreach(queue.done(_, Seq("a-1")))
        (Seq("ended false", "a-1", "ended true"), before ++ polled(queue) :+ s"ended ${queue.isEmpty}")
      case "foo,foo,wm 10,foo completed in order 0,1,2: ordered foo-0,foo-1,wm,foo-2; unordered: foo-0 and foo-1 precede wm, foo-2 anywhere" =>
        // It comes in the batch behind the watermark, also unordered.
        val out = Seq(Seq("foo-0", "foo-1"), Seq("foo-2")).map { rows =>
          rows.foreach(queue.add(_))
          begun(queue).foreach(entry => queue.done(entry, Seq(entry.row)))
          polled(queue)
        }
        (Seq("foo-0", "foo-1", "wm 10", "foo-2"), (out.head :+ "wm 10") ++ out.last)
      case other => throw new Unknown(s"words '$other'")
    }
    Mismatch.of(s"$id ${if (ordered) "ordered" else "unordered"}", wanted, actual)
  }

  private def texts(outcome: JsonNode): Seq[String] = {
    outcome.elements.asScala.map(value => if (value.isTextual) value.asText else value.toString).toVector
  }

  private def emitted(
      input: Seq[JsonNode],
      ordered: Boolean,
      results: String => Seq[String],
      random: Random): Seq[String] = {
    val out = Vector.newBuilder[String]
    var rest = input
    while (rest.nonEmpty) {
      val (rows, more) = rest.span(_.isTextual)
      out ++= batch(rows.map(_.asText), ordered, results, random)
      out ++= more.take(1).map(_.toString)
      rest = more.drop(1)
    }
    out.result()
  }

  /** The calls of a batch end in any order. */
  private def batch(
      rows: Seq[String],
      ordered: Boolean,
      results: String => Seq[String],
      random: Random): Seq[String] = {
    val queue = new AsyncQueue[String, Seq[String]](concurrency = 10, capacity = 10, ordered)
    rows.foreach(queue.add(_))
    random.shuffle(begun(queue)).foreach(entry => queue.done(entry, results(entry.row)))
    polled(queue)
  }

  private def begun(queue: AsyncQueue[String, Seq[String]]): Seq[AsyncQueue.Entry[String, Seq[String]]] =
    Iterator.continually(queue.begin()).takeWhile(_.isDefined).flatten.toVector

  private def polled(queue: AsyncQueue[String, Seq[String]]): Seq[String] =
    Iterator.continually(queue.poll()).takeWhile(_.isDefined).flatten.flatMap(_._2).toVector
}
