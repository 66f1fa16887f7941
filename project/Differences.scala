import Fail.fail
import sbt._

/** A test of Spark's own that asserts what Tidemark changes on purpose.
  *
  * @param suite its name, or several suites' with `*` for what differs; @param test likewise
  */
final case class Difference(suite: String, test: String, reason: String) {
  def isOf(suite: String): Boolean = matches(this.suite, suite)
  def isOf(outcome: Outcome): Boolean = isOf(outcome.suite) && matches(test, outcome.test)

  private def matches(pattern: String, name: String): Boolean =
    name.matches(pattern.split("\\*", -1).map(java.util.regex.Pattern.quote).mkString(".*"))
}

object Differences {

  /** One difference a line, `Suite | name of the test | reason`; `#` begins a comment. */
  def read(list: File): Seq[Difference] =
    IO.readLines(list).map(_.trim).filterNot(line => line.isEmpty || line.startsWith("#")).map { line =>
      line.split("\\s+\\|\\s+") match {
        case Array(suite, test, reason) => Difference(suite, test, reason)
        case _ => fail(s"$list: not `Suite | test | reason`: $line")
      }
    }

  /** What is wrong with a run, in sentences; empty where all went as it should.
    *
    * The list is held to the run in both directions, so that it can neither hide a failure nor outlive its reason.
    *
    * @param sizes how many tests a suite runs, where that is known; of any other it has to be one at least
    */
  def judge(
      suites: Seq[String],
      sizes: Map[String, Int],
      outcomes: Seq[Outcome],
      differences: Seq[Difference]): Seq[String] = {
    val notRun = suites.flatMap { suite =>
      val ran = outcomes.count(o => o.suite == suite && !o.skipped)
      if (sizes.get(suite).fold(ran > 0)(_ == ran)) None
      else Some(s"$suite: ran $ran tests" + sizes.get(suite).fold("")(size => s", where it should be $size"))
    }
    val failed = outcomes.filter(o => o.failed && !differences.exists(_.isOf(o))).map { o =>
      s"${o.suite}: failed: ${o.test}"
    }
    val stale = for (suite <- suites; d <- differences if d.isOf(suite)) yield {
      val found = outcomes.filter(o => o.suite == suite && d.isOf(o))
      if (found.isEmpty) Seq(s"$suite: in the list of differences, but there is no such test: ${d.test}")
      else
        found.filterNot(_.failed).map { o =>
          val how = if (o.skipped) "is skipped" else "passes"
          s"$suite: in the list of differences, but it $how: ${o.test}"
        }
    }
    notRun ++ failed ++ stale.flatten
  }
}
