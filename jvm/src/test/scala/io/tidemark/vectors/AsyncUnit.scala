package io.tidemark.vectors

import scala.jdk.CollectionConverters._
import scala.util.Random

import io.tidemark.core.calls.AsyncQueue

import com.fasterxml.jackson.databind.JsonNode

/** Asynchronous maps, ordered and not: `a` becomes `a-1` and `a-2`, `a-1` alone, or nothing.
  *
  * In the file watermarks are in the queue, between rows. Here a watermark moves between batches, so a row before it is in
  * an earlier batch than a row behind it, and a batch ends when its queue is empty.
  */
object AsyncUnit {

  def run(vector: Vector): Seq[Mismatch] = {
    val expected = vector.list("ordered").map(texts)
    val also = vector.list("unordered_also").map(texts)
    val input = vector.list("input")
    vector.optional("limit")
    vector.requireNothingElse()
    if (input.isEmpty) throw new Unknown("it says in words only what is to happen")
    val outputs = expected.headOption.toSeq.flatten.filterNot(_.startsWith("{")).groupBy(_.head).view
      .mapValues(_.distinct.sorted).toMap
    def results(row: String): Seq[String] = outputs.getOrElse(row.head, Nil)
    val inOrder = Mismatch.of(
      s"${vector.id} ordered",
      expected.head,
      emitted(input, ordered = true, results, new Random(0))).toSeq
    val unordered = (0 until 20).flatMap { seed =>
      val actual = emitted(input, ordered = false, results, new Random(seed))
      Option.when(!(expected ++ also).contains(actual))(
        Mismatch(s"${vector.id} unordered", (expected ++ also).mkString(" or "), actual.toString))
    }
    inOrder ++ unordered.headOption
  }

  private def texts(outcome: JsonNode): Seq[String] = {
    outcome.elements.asScala.map(one => if (one.isTextual) one.asText else one.toString).toVector
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
    val flying = Iterator.continually(queue.begin()).takeWhile(_.isDefined).flatten.toVector
    random.shuffle(flying).foreach(entry => queue.done(entry, results(entry.row)))
    Iterator.continually(queue.poll()).takeWhile(_.isDefined).flatten.flatMap(_._2).toVector
  }
}
