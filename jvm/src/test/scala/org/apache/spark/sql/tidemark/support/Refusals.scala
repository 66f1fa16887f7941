package org.apache.spark.sql.tidemark.support

import io.tidemark.TidemarkException

import org.scalatest.Assertions

/** Asserts of refusals by their code and their parameters. The sentences are in `golden/errors.txt`. */
trait Refusals extends Assertions {

  /** An error, its cause, the cause of that, and so on. */
  protected def causes(error: Throwable): Iterator[Throwable] =
    Iterator.iterate(error)(_.getCause).takeWhile(_ != null)

  /** The refusal that an error is, or that has caused it. Spark adds what a task's listener has thrown as suppressed. */
  protected def refusalIn(error: Throwable): TidemarkException =
    causes(error).flatMap(cause => cause +: cause.getSuppressed.toSeq).collectFirst {
      case refused: TidemarkException => refused
    }.getOrElse(fail(s"there is no refusal in $error", error))

  /** The refusal that the body ends with. */
  protected def refusalOf(body: => Any): TidemarkException = refusalIn(intercept[Throwable](body))

  /** Asserts the code of the refusal in an error, and those of its parameters that are given. */
  protected def assertRefusal(error: Throwable, code: String, parameters: (String, String)*): Unit = {
    val refused = refusalIn(error)
    assert(refused.getCondition === s"TIDEMARK.$code", refused.getMessage)
    val expected = parameters.toMap
    assert(refused.error.parameters.filter { case (name, _) => expected.contains(name) } === expected)
  }

  /** Asserts that the body itself is refused with this code, and those of the parameters that are given. */
  protected def assertRefused(code: String, parameters: (String, String)*)(body: => Any): Unit =
    assertRefusal(intercept[TidemarkException](body), code, parameters: _*)

  /** The same of a query or a task that the refusal ends, so that Spark throws an error of its own with that cause. */
  protected def assertQueryRefused(code: String, parameters: (String, String)*)(body: => Any): Unit = {
    val error = intercept[Throwable](body)
    assert(!error.isInstanceOf[TidemarkException], "the body itself was refused")
    assertRefusal(error, code, parameters: _*)
  }
}
