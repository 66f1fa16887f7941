package io.tidemark

import org.scalactic.source.Position
import org.scalatest.Tag
import org.scalatest.funsuite.AnyFunSuiteLike

/** Marks a test that `make test` leaves to `make test-more-scala`. A test without it is in `make test`. */
object More extends Tag("io.tidemark.More")

/** A suite that can leave some of its tests to `make test-more-scala`: variations of what `make test` proves. */
trait Tiered extends AnyFunSuiteLike {

  /** Whether the tests declared at this moment are left out of `make test`. */
  private var isMore: Boolean = wholeSuiteIsMore

  private[tidemark] def wholeSuiteIsMore: Boolean = false

  protected def testMore(name: String)(body: => Any)(implicit position: Position): Unit = moreTests(test(name)(body))

  /** Leaves out all tests that `declarations` declares. */
  protected def moreTests(declarations: => Unit): Unit = moreTestsIf(true)(declarations)

  /** The same if `condition` holds: for tests that are declared in a loop. */
  protected def moreTestsIf(condition: Boolean)(declarations: => Unit): Unit = {
    val before = isMore
    isMore ||= condition
    try declarations
    finally isMore = before
  }

  override protected def test(name: String, tags: Tag*)(body: => Any)(implicit position: Position): Unit =
    super.test(name, (if (isMore) More +: tags else tags): _*)(body)
}

/** A suite of which `make test` runs nothing. */
trait MoreSuite extends Tiered {
  private[tidemark] override def wholeSuiteIsMore: Boolean = true
}
