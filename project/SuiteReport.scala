import scala.xml.XML

import sbt._

/** How one test of one suite ended. */
final case class Outcome(suite: String, test: String, passed: Boolean, skipped: Boolean) {
  def failed: Boolean = !passed && !skipped
}

/** Reads the JUnit XML that ScalaTest writes about a suite. */
object SuiteReport {

  /** Empty where there is no report: a suite that was aborted before its first test does not write one. */
  def read(report: File, suite: String): Seq[Outcome] =
    if (!report.exists) Nil
    else
      (XML.loadFile(report) \ "testcase").map { test =>
        val skipped = (test \ "skipped").nonEmpty
        val failed = (test \ "failure").nonEmpty || (test \ "error").nonEmpty
        Outcome(suite, (test \ "@name").text, passed = !skipped && !failed, skipped)
      }
}
