package io.tidemark

import scala.util.Try

import org.scalatest.funsuite.AnyFunSuite

/** What [[Tiers]] says is of suites and tests that there are: one that was given another name must not change its tier. */
class TiersSuite extends AnyFunSuite {

  for ((name, parts) <- Tiers.essential.toSeq.sortBy(_._1))
    test(s"$name is a suite and has the tests that Tiers.scala names") {
      val suite = Try(Class.forName(s"org.apache.spark.sql.tidemark.$name").getDeclaredConstructor().newInstance())
        .getOrElse(fail(s"There is no suite named $name. Fix this in Tiers.scala."))
      val tests = suite.asInstanceOf[Tiered].testNames
      assert(parts.filterNot(part => tests.exists(_.contains(part))) === Nil, "Fix this in Tiers.scala.")
      val tagged = suite.asInstanceOf[Tiered].tags
      assert(Tiers.later(name, tests).keySet.subsetOf(tagged.keySet) && tagged.keySet.subsetOf(tests))
      val long = tagged.collect { case (test, tags) if tags(Tiers.Long.name) => test }
      assert(
        Tiers.long.getOrElse(name, Nil).filterNot(part => long.exists(_.contains(part))) === Nil,
        "Fix this in Tiers.scala.")
    }

  test("suites with tests that take long are among those of which only some tests are in make test") {
    assert((Tiers.long.keySet -- Tiers.essential.keySet) === Set.empty)
  }
}
