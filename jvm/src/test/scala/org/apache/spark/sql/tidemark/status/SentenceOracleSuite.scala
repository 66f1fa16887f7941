package org.apache.spark.sql.tidemark.status

import io.tidemark.oracle.{Case, Oracle, RandomCase}
import io.tidemark.oracle.Oracle.Moment
import io.tidemark.oracle.Query.Input

import org.apache.spark.sql.tidemark.support.{FuzzNumber, OracleComparison}

/** What the report of a random query says after each trigger is true of what comes out. `make fuzz` runs more of them. */
class SentenceOracleSuite extends OracleComparison {
  private val MostAtOnce = 50

  private def truthful(seeds: Seq[Int]): Unit =
    test(s"what is said of ${seeds.size} random queries from seed ${seeds.head} is true at every moment") {
      val all = seeds.flatMap { seed =>
        val drawn = if (seed % 4 == 0) RandomCase.ordered(seed.toLong) else RandomCase(seed.toLong)
        said(drawn).map { case (what, wrong) => what -> wrong.map(text => s"seed $seed, $text") }
      }
      val counts = all.groupMapReduce(_._1)(_ => 1)(_ + _)
      info(s"${all.size} claims: ${counts.toSeq.sorted.mkString(", ")}")
      assert(all.flatMap(_._2) === Nil)
      for (what <- Seq("has emitted", "resumes")) assert(counts.getOrElse(what, 0) > 0, what)
    }

  private val cases = FuzzNumber("said", 0)
  private val seed = FuzzNumber("seed", 1)
  // Of these, much is said that is easily false: behind joins with a time range, and of rows in order.
  if (cases == 0) truthful(Seq(80, 117, 300, 3379))
  for (seeds <- (seed until seed + cases).grouped(MostAtOnce)) truthful(seeds)
  moreTestsIf(cases == 0)(truthful(1001 to 1040))

  /** Each claim with what is wrong of it. */
  private def said(example: Case): Seq[(String, Seq[String])] = {
    var all = Seq.empty[(String, Seq[String])]
    removeHadoopDefaults()
    withTempDir { checkpoint =>
      val driver = new Driver(example.query, checkpoint)
      val inputs = example.query.nodes.collect { case input: Input if !input.leftover => input }
      val said = new SaidOf(example.query, inputs.map(input => driver.queries.columnOf(input) -> input).toMap)
      val oracle = new Oracle(example.query)
      try example.steps.zipWithIndex.foldLeft(Moment.begin) { case (before, (step, number)) =>
          val batch = driver.take(step)
          val (now, expected) = oracle.step(before, step)
          // What the sink has is what the claims are held against.
          assert(batch.toSeq.flatMap(_.rows) === expected.toSeq.flatMap(_.rows), s"step $number of $example")
          val why = driver.why
          val (code, sentence) = (why.get("code").asText, why.get("sentence").asText)
          val fix = Option(why.get("fix")).filterNot(_.isNull).map(_.asText)
          all ++= said.check(now, sentence, code, fix).toSeq.map { case (what, wrong) =>
            what -> wrong.map(text => s"step $number, $what: $text\n  $code: $sentence\n  fix: $fix\n  $example")
          }
          now
        }
      finally driver.stop()
    }
    all
  }
}
