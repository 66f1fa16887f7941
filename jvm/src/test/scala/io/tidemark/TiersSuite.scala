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
      val later = suite.asInstanceOf[Tiered].tags.collect { case (test, tags) if tags(Tiers.More.name) => test }.toSet
      assert(Tiers.more(name, tests).subsetOf(later) && later.subsetOf(tests))
    }
}
