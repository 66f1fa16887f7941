package org.apache.spark.sql.tidemark.comparison

import io.tidemark.oracle.{Carrier, Case, Oracle, Query, RandomCase, Shrink, Step}
import io.tidemark.oracle.Query.{Distinct, Input, Join, Running, SelfJoin, Through, Union, Windows}

import org.apache.spark.sql.tidemark.support.{FuzzNumber, OracleComparison}

/** Compares the engine with the oracle on random queries and histories. `make fuzz N=1000 SEED=7` runs more of them. */
class FuzzSuite extends OracleComparison {
  private val seed = FuzzNumber("seed", 1)
  private val shrinks = FuzzNumber("shrink", 60)
  private val MostAtOnce = 50
  // `make fuzz` sets the number of cases.
  private val fuzzing = sys.props.contains("tidemark.fuzz.n")

  compared(seed, FuzzNumber("n", 2), FuzzNumber("carried", 1), FuzzNumber("ordered", 1), FuzzNumber("called", 1))
  if (!fuzzing) moreTests(compared(seed + 1000, 8, 4, 4, 8))

  private def compared(seed: Int, cases: Int, carried: Int, ordered: Int, called: Int): Unit = {
    each(seed, cases, "random queries", "rows, batches and late rows match the oracle") { (from, many) =>
      val seen = check(from, many, RandomCase(_))(engine, Oracle.run)
      assert(seen.exists(_.rows.nonEmpty) && seen.exists(_.late > 0))
    }
    each(seed, math.max(1, cases / 4), "random queries with one watermark", "rows of each batch match stock Spark") {
      (from, many) =>
        val seen = check(from, many, RandomCase.ofOneWatermark)(
          example => rowsOf(engine(example)),
          example => stock(rowsOf(engine(example))))
        assert(seen.exists(_.rows.nonEmpty))
    }
    each(seed, carried, "random queries with mapped columns", "rows, batches and late rows match the oracle") {
      (from, many) =>
        val seen = check(from, many, RandomCase.carried)(engine, Oracle.run)
        assert(seen.exists(_.rows.nonEmpty) && seen.exists(_.late > 0))
    }
    each(seed, ordered, "random queries with orders", "rows, batches and late rows match the oracle") { (from, many) =>
      val seen = check(from, many, RandomCase.ordered)(engine, Oracle.run)
      assert(seen.exists(_.rows.nonEmpty) && seen.exists(_.late > 0))
    }
    each(seed, called, "random queries with asynchronous calls", "rows, batches and late rows match the oracle") {
      (from, many) =>
        val seen = check(from, many, RandomCase.called)(engine, Oracle.run)
        assert(seen.exists(_.rows.nonEmpty) && seen.exists(_.late > 0))
    }
    moreTestsIf(!fuzzing) {
      each(
        seed,
        math.max(1, carried / 2),
        "random queries with mapped columns and one watermark",
        "rows match stock Spark") { (from, many) =>
        val seen = check(from, many, RandomCase.carriedOfOneWatermark)(
          example => rowsOf(Oracle.run(example)),
          example => stock(rowsOf(engine(example))))
        assert(seen.exists(_.rows.nonEmpty))
      }
    }
  }

  /** Splits the cases into tests of at most 50, because a test may take 20 minutes. */
  private def each(seed: Int, cases: Int, what: String, promise: String)(body: (Int, Int) => Any): Unit =
    for (from <- 0 until cases by MostAtOnce; many = math.min(MostAtOnce, cases - from))
      test(s"$many $what from seed ${seed + from}: $promise")(body(seed + from, many))

  private def rowsOf(batches: Seq[Option[Oracle.Batch]]) = batches.map(_.map(_.copy(late = 0)))

  test("windows of what a function with state emits, by a watermark of their own, match the oracle") {
    val counts = Windows(Input(0, 2), 0, 5, Vector.empty, byId = true)
    val query = Windows(Running(counts, 0, delay = 2), 0, 10, Vector.empty, byId = true)
    val steps = Seq(
      says(0 -> 1000, 1 -> 1004),
      says(0 -> 1016),
      says(0 -> 1018),
      // Late: windows up to 1014 have closed.
      says(0 -> 1003, 1 -> 1015),
      Step(1, Map(0 -> Seq(0 -> 1040)), restart = true),
      says(1 -> 1017),
      says(0 -> 1200),
      says(0 -> 1400),
      says(0 -> 1600)) ++ quiet(1, 1)
    val example = Case(query, steps)
    assert(Oracle.run(example).flatten.exists(_.rows.nonEmpty) && Oracle.run(example).flatten.exists(_.late > 0))
    assert(difference(example)(engine, Oracle.run) === None)
  }

  test("the comparison detects that stock Spark differs from the oracle") {
    val apart = Case(
      Union(
        Windows(Input(0, 0), 0, 10, Vector.empty, byId = false),
        Windows(Input(1, 0), 0, 10, Vector.empty, byId = false)),
      Seq(Step(1, Map(0 -> Seq(0 -> 1000, 0 -> 1020), 1 -> Seq(0 -> 1000))), Step(1, Map.empty)))
    val expected = Seq(Some(Oracle.Batch(Nil, 0)), Some(Oracle.Batch(Seq("0@1009999999x1"), 0)))
    assert(Oracle.run(apart) === expected)
    assert(engine(apart) === expected)
    assert(stock(engine(apart)) !== expected)
  }

  test("regression: a left semi join matches the oracle if rows of both sides arrive and are evicted in one batch") {
    def windows(input: Int) = Windows(Input(input, 0), 0, 5, Vector.empty, byId = true)
    def both(time: Int) = Step(1, Map(0 -> Seq(0 -> time), 1 -> Seq(0 -> time)))
    val steps = Seq(both(1200), both(1400), Step(1, Map.empty))
    val example = Case(Join("left_semi", windows(0), windows(1), 0, 0, least = 0, most = 8), steps)
    assert(difference(example)(engine, Oracle.run) === None)
  }

  private def says(rows: (Int, Int)*) = Step(1, Map(0 -> rows))
  private def quiet(seconds: Int*) = seconds.map(Step(_, Map.empty))

  for (restarts <- Seq(false, true))
    test(s"no row is late after a pause of all splits, one behind and one never active again; restart: $restarts") {
      val input = Input(0, 0, idleAfter = Some(4), splits = Some(Set.empty))
      val steps = Seq(says(0 -> 1010, 1 -> 1003, 2 -> 1008), says(0 -> 1012, 2 -> 1010)) ++ quiet(3) ++
        Seq(Step(3, Map.empty, restarts)) ++ quiet(3) ++ Seq(says(0 -> 1014), says(0 -> 1016), says(1 -> 1005)) ++
        (1 to 8).map(n => says(0 -> (1016 + n), 1 -> (1006 + n))) ++ quiet(1, 3, 3) ++
        Seq(says(1 -> 1200), says(0 -> 1200))
      val example = Case(Windows(input, 0, 5, Vector.empty, byId = true), steps)
      assert(difference(example)(engine, Oracle.run) === None)
      assert(Oracle.run(example).flatten.map(_.late).sum === 0)
    }

  test("a query whose watermark advances with the clock runs a no-data batch only if something may be due") {
    val input = Input(0, 3, idleAfter = Some(2), advances = true)
    val steps = Seq(says(0 -> 1001, 1 -> 1003)) ++ quiet(Seq.fill(14)(1): _*) ++ Seq(says(0 -> 1030)) ++
      quiet(Seq.fill(8)(3): _*) ++ Seq(says(0 -> 1016), says(1 -> 1070)) ++ quiet(1, 1, 1)
    for (query <- Seq(Windows(input, 0, 5, Vector.empty, byId = true), Distinct(input, 0))) {
      val example = Case(query, steps)
      assert(difference(example)(engine, Oracle.run) === None)
      // Many steps of the clock run no batch.
      assert(Oracle.run(example).count(_.isEmpty) > 8)
    }
  }

  /** One of two left rows finds a match. Then both sides advance far enough, and a row on the right is late. */
  private val oneWithoutMatch = Seq(
    Step(1, Map(0 -> Seq(0 -> 1000, 1 -> 1001), 1 -> Seq(0 -> 1000))),
    Step(1, Map(0 -> Seq(0 -> 1200), 1 -> Seq(0 -> 1200))),
    Step(1, Map.empty),
    Step(1, Map(0 -> Seq(0 -> 1400), 1 -> Seq(0 -> 1400, 1 -> 1001))),
    Step(1, Map.empty))

  private def outer(left: Query, right: Query) =
    Case(Join("left_outer", left, right, 0, 0, least = 0, most = 10), oneWithoutMatch)

  for (carrier <- Carrier.all ++ Carrier.calls)
    test(s"regression: an outer join evicts, emits and drops the same rows if its columns pass through $carrier") {
      val (left, right) = (Input(0, 0), Input(1, 0))
      val wanted = Oracle.run(outer(left, right))
      assert(wanted.flatten.exists(_.rows.exists(_.startsWith("1@"))) && wanted.flatten.exists(_.late > 0))
      assert(engine(outer(Through(left, carrier), Through(right, carrier))) === wanted)
    }

  test("regression: a join side with a leftover mark uses the watermark of the other side, as in stock Spark") {
    val example = outer(Input(0, 0), Input(1, 0, leftover = true))
    assert(difference(example)(engine, Oracle.run) === None)
    assert(stock(engine(example)).map(_.map(_.rows)) === Oracle.run(example).map(_.map(_.rows)))
  }

  test("regression: a semi join keeps its state over a restart if a side with a leftover mark had no rows before") {
    val example = Case(
      Join("left_semi", Input(0, 0, leftover = true), Input(1, 0), 0, 0, least = 0, most = 0),
      Seq(Step(1, Map(1 -> Seq(0 -> 982))), Step(1, Map(0 -> Seq(0 -> 1036), 1 -> Seq(0 -> 1036)), restart = true)))
    assert(Oracle.run(example).flatten.exists(_.rows.nonEmpty))
    assert(difference(example)(engine, Oracle.run) === None)
  }

  test("regression: a common table expression joined with itself has one watermark, as in stock Spark") {
    val example = Case(SelfJoin("left_outer", Input(0, 0), 0, 0, least = 1, most = 10), oneWithoutMatch)
    assert(difference(example)(engine, Oracle.run) === None)
    assert(stock(engine(example)).map(_.map(_.rows)) === Oracle.run(example).map(_.map(_.rows)))
  }

  private def check(seed: Int, many: Int, draw: Long => Case)(
      actual: Case => Seq[Option[Oracle.Batch]],
      expected: Case => Seq[Option[Oracle.Batch]]): Seq[Oracle.Batch] = {
    val seen = seeds(seed, many, draw).map { from =>
      // Only some cases run generated code: it is slow to compile, and has tests of its own.
      from -> withCode(if (from % 8 == 0) "CODEGEN_ONLY" else "NO_CODEGEN")(agreed(from, draw(from), actual, expected))
    }
    val batches = seen.flatMap(_._2).flatten
    info(
      s"${seen.count(_._2.nonEmpty)} of $many agree, in ${batches.size} batches with ${batches.map(_.rows.size).sum} " +
        s"rows out and ${batches.map(_.late).sum} late")
    assert(seen.collect { case (from, None) => from } === Nil)
    batches
  }

  /** Seeds from `seed` on. With a fixed seed only cases count that emit rows and drop late ones: a fourth of all. */
  private def seeds(seed: Int, many: Int, draw: Long => Case): Seq[Long] = {
    def telling(from: Long): Boolean = {
      val batches = Oracle.run(draw(from)).flatten
      batches.exists(_.rows.nonEmpty) && batches.exists(_.late > 0)
    }
    Iterator.iterate(seed.toLong)(_ + 1).filter(fuzzing || telling(_)).take(many).toSeq
  }

  /** The expected batches, if the actual ones are the same. */
  private def agreed(
      from: Long,
      drawn: Case,
      actual: Case => Seq[Option[Oracle.Batch]],
      expected: Case => Seq[Option[Oracle.Batch]]): Option[Seq[Oracle.Batch]] = {
    val first = difference(drawn)(actual, expected)
    first.foreach { found =>
      // Printed here, and not after the last case.
      println(s"seed $from: $found")
      val smallest = Shrink(drawn, shrinks)(difference(_)(actual, expected).nonEmpty)
      println(s"the smallest like it: ${difference(smallest)(actual, expected).getOrElse("comes and goes")}")
    }
    if (first.isEmpty) Some(expected(drawn).flatten) else None
  }
}
