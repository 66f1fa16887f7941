package org.apache.spark.sql.tidemark.comparison

import io.tidemark.MoreSuite

import org.apache.spark.sql.functions._
import org.apache.spark.sql.tidemark.support.{JoinAgainstOracle, JoinOracle}

/** Joins emit the oracle's rows in the oracle's steps, on histories in which each side advances at its own speed. */
class JoinOracleSuite extends JoinAgainstOracle with MoreSuite {
  import testImplicits._

  private val Kinds = Seq("inner", "left_outer", "right_outer", "full_outer", "left_semi")

  private def byRange(least: Int, most: Int) = expr(
    s"id = id2 AND t2 >= t + INTERVAL $least MINUTES AND t2 <= t + INTERVAL $most MINUTES")

  for (kind <- Kinds) {
    asTheOracleSays(s"$kind, the right up to ten minutes later", kind, JoinOracle.range(0, 10))(byRange(0, 10))

    asTheOracleSays(s"$kind, on windows", kind, JoinOracle.window(10))(
      $"id" === $"id2" && $"w" === $"w2")
  }

  for (kind <- Seq("inner", "full_outer"))
    asTheOracleSays(s"$kind, on equal times", kind, JoinOracle.equal)($"id" === $"id2" && $"t" === $"t2")

  asTheOracleSays("full_outer, the right earlier or later", "full_outer", JoinOracle.range(-10, 5))(byRange(-10, 5))

  asTheOracleSays("full_outer, the right always earlier", "full_outer", JoinOracle.range(-20, -5))(byRange(-20, -5))
}
