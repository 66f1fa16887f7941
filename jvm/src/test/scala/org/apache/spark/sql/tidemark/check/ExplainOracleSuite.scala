package org.apache.spark.sql.tidemark.check

import io.tidemark.oracle.{Case, Oracle, Query, RandomCase}
import io.tidemark.oracle.Query._

import org.apache.spark.sql.tidemark.support.{OracleComparison, SparkQueries}

/** What `explain` says of random queries, beside what the oracle emits while one of their inputs has no rows. */
class ExplainOracleSuite extends OracleComparison {

  /** Whether the last operator emits by its watermark alone, and no input has a second watermark. */
  private def isTold(query: Query): Boolean = {
    val waits = query match {
      case windows: Windows => !windows.updates
      case _: Sessions => true
      case _ => false
    }
    waits && query.nodes.forall {
      case _: Again | _: Running => false
      case _ => true
    }
  }

  private def without(input: Input, example: Case): Case =
    example.copy(steps = example.steps.map(step => step.copy(rows = step.rows - input.number)))

  test("the last operator emits nothing while an input that it is said to wait for has no rows") {
    var waiting = 0
    for (seed <- 1L to 60L; example = RandomCase(seed) if isTold(example.query) && emits(example)) {
      val queries = new SparkQueries(classicSession, example.query)
      val analyzed = queries.texts.queryExecution.analyzed
      val waits = Explanation.of(classicSession, analyzed, queries.mode).inputs.last.waits.evicted.get.map(_.toString)
      // An input with an idle time is left out when it has been silent for so long.
      val inputs = example.query.nodes.collect { case input: Input if input.idleAfter.isEmpty => input }
      for (input <- inputs if waits.contains(queries.columnOf(input))) {
        assert(!emits(without(input, example)), s"seed $seed does not wait for input ${input.number}: $example")
        waiting += 1
      }
    }
    assert(waiting >= 15)
  }

  private def emits(example: Case): Boolean = Oracle.run(example).flatten.exists(_.rows.nonEmpty)
}
