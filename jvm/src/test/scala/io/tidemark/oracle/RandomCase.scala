package io.tidemark.oracle

import scala.util.Random

import Query._

/** Draws queries of 1 to 4 inputs and up to 5 operators, and what happens to them: rows out of order, bursts, silence,
  * triggers without rows, restarts. The same seed draws the same.
  */
object RandomCase {

  def apply(seed: Long): Case = drawn(new Random(seed), oneWatermark = false)

  /** A query with a single watermark, which stock Spark runs in the same way. */
  def ofOneWatermark(seed: Long): Case = drawn(new Random(seed), oneWatermark = true)

  /** The like with carriers between its operators, and now and then a table that is joined with itself, or an input with a
    * leftover mark.
    */
  def carried(seed: Long): Case = carried(new Random(seed), oneWatermark = false)

  /** The same of queries with a single watermark. */
  def carriedOfOneWatermark(seed: Long): Case = carried(new Random(seed), oneWatermark = true)

  /** The like with orders between its operators. */
  def ordered(seed: Long): Case = {
    val random = new Random(seed)
    val drawn = new Queries(random, oneWatermark = false).draw()
    val query = new RandomOrders(random).in(drawn)
    Case(query, steps(random, query))
  }

  /** The like with asynchronous calls between its operators, and in every other case orders too. */
  def called(seed: Long): Case = {
    val random = new Random(seed)
    val drawn = new Queries(random, oneWatermark = false).draw()
    val query = new RandomCalls(random).in(if (random.nextBoolean()) new RandomOrders(random).in(drawn) else drawn)
    Case(query, steps(random, query))
  }

  private def carried(random: Random, oneWatermark: Boolean): Case = {
    val query = new RandomCarriers(random).in(new Queries(random, oneWatermark).draw(), oneWatermark)
    Case(query, steps(random, query))
  }

  private def drawn(random: Random, oneWatermark: Boolean): Case = {
    val query = new Queries(random, oneWatermark).draw()
    Case(query, steps(random, query))
  }

  private final class Queries(random: Random, oneWatermark: Boolean) {
    private val hasIdle = !oneWatermark && random.nextInt(4) == 0
    private val hasSplits = !oneWatermark && random.nextInt(3) == 0
    private var inputs = 0
    private var operators = 0
    private val MostOperators = 5

    private def anyOf[A](all: A*): A = all(random.nextInt(all.size))

    def draw(): Query = {
      val parts = Vector.fill(if (oneWatermark) 1 else anyOf(1, 1, 2, 2, 2, 3, 3, 4))(input())
      val grown = (1 to random.nextInt(4)).foldLeft(parts) { (all, _) =>
        val at = random.nextInt(all.size)
        all.updated(at, on(all(at)))
      }
      val joined = Iterator.iterate(grown)(combined).dropWhile(_.size > 1).next().head
      val all = (1 to random.nextInt(3)).foldLeft(joined)((query, _) => on(query))
      // Something that waits for a watermark is worth the run.
      val worth = if (all.nodes.exists(waits)) all else windows(all)
      random.nextInt(8) match {
        case 0 =>
          // Spark lets nothing with state read what a function with event-time timeouts emits.
          val groups = Groups(worth, whole(worth), anyOf(2, 5, 10))
          if (random.nextInt(3) == 0) Without(groups, random.nextInt(3)) else groups
        case 1 => updating(worth)
        case 2 => outer(worth)
        case _ => worth
      }
    }

    private def waits(node: Query): Boolean = node match {
      case _: Windows | _: Sessions | _: Join => true
      case _ => false
    }

    /** What Spark has in update mode: one aggregation. */
    private def updating(query: Query): Query = query match {
      case counts: Windows if !counts.input.nodes.exists(keepsSome) => counts.copy(updates = true)
      case other => other
    }

    private def keepsSome(node: Query): Boolean = node match {
      case _: Distinct | _: Once | _: Limited | _: Running => true
      case other => waits(other)
    }

    /** Of a whole query: no column is left that every row has. */
    private def outer(query: Query): Query = query match {
      case join: Join => join.copy(kind = "full_outer")
      case other => other
    }

    private def input(): Query = {
      inputs += 1
      val idleAfter = if (hasIdle && random.nextBoolean()) Some(anyOf(2, 4)) else None
      val splits =
        if (hasSplits && random.nextBoolean()) Some(anyOf(Set.empty[Int], Set.empty[Int], Set(0, 2))) else None
      val rows = Input(
        inputs - 1,
        anyOf(0, 0, 3, 10),
        idleAfter,
        splits,
        catchesUp = idleAfter.nonEmpty && random.nextBoolean(),
        rises = idleAfter.nonEmpty && random.nextInt(3) == 0,
        advances = idleAfter.nonEmpty && random.nextInt(3) == 0,
        follows = idleAfter.nonEmpty && random.nextInt(3) == 0)
      if (random.nextInt(6) == 0) Once(rows) else rows
    }

    private def combined(parts: Vector[Query]): Vector[Query] = {
      val left +: right +: rest = random.shuffle(parts): @unchecked
      val sameWidth = left.nullable.size == right.nullable.size
      rest :+ (if (sameWidth && random.nextInt(3) == 0) union(left, right) else join(left, right))
    }

    private def union(left: Query, right: Query): Query = {
      operators += 1
      Union(left, right)
    }

    /** A column that every row has. */
    private def whole(query: Query): Int = anyOf(query.nullable.zipWithIndex.collect { case (false, c) => c }: _*)

    private def join(left: Query, right: Query): Query = {
      operators += 1
      // Spark moves a left semi join below a union: then it is two, each with the watermark of its own input. And it moves
      // one below an aggregation, where it finds other state, in those batches in which the right side is empty.
      val staysPut = left.nodes.forall {
        case _: Union | _: Windows | _: Sessions => false
        case _ => true
      }
      // It keeps fewer rows than could still match, and so advances by the clock less often.
      val advancesByClock = (left.nodes ++ right.nodes).exists {
        case input: Input => input.advances
        case _ => false
      }
      val kinds =
        Seq("inner", "inner", "left_outer", "right_outer") ++ Option.when(staysPut && !advancesByClock)("left_semi")
      val kind = anyOf(kinds: _*)
      val least = anyOf(-10, -5, 0, 4)
      val most = if (least == 0 && random.nextBoolean()) 0 else least + anyOf(5, 10, 20)
      Join(kind, left, right, whole(left), whole(right), least, most)
    }

    private def on(query: Query): Query =
      if (operators >= MostOperators) query
      else {
        operators += 1
        random.nextInt(8) match {
          case 0 => if (random.nextInt(3) == 0) Limited(query) else Without(query, random.nextInt(3))
          case 1 | 2 if !oneWatermark => Again(query, random.nextInt(query.nullable.size), anyOf(0, 2, 5))
          case 3 if query.nullable.size <= 2 => Distinct(query, whole(query))
          case 4 if !query.isInstanceOf[Sessions] => Sessions(query, whole(query), anyOf(2, 4, 8), random.nextBoolean())
          case 5 if !oneWatermark && random.nextBoolean() => Running(query, whole(query), anyOf(0, 2, 5))
          case _ => windows(query)
        }
      }

    private def windows(query: Query): Query = {
      val column = whole(query)
      val others = query.nullable.indices.filter(c => c != column && random.nextBoolean()).toVector
      Windows(query, column, anyOf(5, 10, 10, 20), others, random.nextBoolean())
    }
  }

  private def steps(random: Random, query: Query): Seq[Step] = {
    val inputs = query.nodes.collect { case input: Input => input }
    val ids = 1 + random.nextInt(3)
    val lines = inputs.map { input =>
      val Seq(offset, pace, jitter) = Seq(Seq(0, 0, 5, -20), Seq(2, 5, 12), Seq(1, 4, 15, 30)).map { all =>
        all(random.nextInt(all.size))
      }: @unchecked
      var silent = false
      input.number ->
        ((step: Int) => {
          if (random.nextInt(4) == 0) silent = !silent
          val rows = if (silent) 0 else if (random.nextInt(8) == 0) 9 else random.nextInt(4)
          Seq.fill(rows)((random.nextInt(ids), Begin + offset + pace * step - random.nextInt(jitter)))
        })
    }
    val ordinary = (0 until 4 + random.nextInt(6)).flatMap { step =>
      val rows = lines.map { case (number, next) => number -> next(step) }.toMap
      val restart = step > 0 && random.nextInt(6) == 0
      Step(seconds(random), rows, restart) +: quiet(random, random.nextInt(3))
    }
    // In the end all of them jump, so that what is still waiting comes out.
    val ends = Seq(200, 400).flatMap { end =>
      Step(1, inputs.map(_.number -> Seq(0 -> (Begin + end))).toMap) +: quiet(random, 2)
    }
    ordinary ++ ends
  }

  private def quiet(random: Random, triggers: Int): Seq[Step] = Seq.fill(triggers)(Step(seconds(random), Map.empty))

  private def seconds(random: Random): Int = if (random.nextInt(5) == 0) 3 else 1

  /** Seconds; the clock begins there as well, and an idle input may follow it. */
  val Begin = 1000
}
