package io.tidemark.core.plan

import scala.util.Random

import io.tidemark.Tiered
import io.tidemark.core.ColumnId
import io.tidemark.core.plan.OrderStep._
import io.tidemark.core.support.OrderSimulation
import io.tidemark.core.support.OrderSimulation.{plain, Columns, Negated, Plain}

import org.scalatest.funsuite.AnyFunSuite

/** What is known of an order, and that it is never more than is true. */
class OrderFlowSuite extends AnyFunSuite with Tiered {
  import OrderFlowSuite._

  private val (time, id, site, offset) = (Columns(0), Columns(1), Columns(2), Columns(3))
  private val byTime = OrderTerm("time", Plain, Seq(time))
  private val byOffset = OrderTerm("offset", Plain, Seq(offset))
  private val same = Columns.map(column => column -> column).toMap
  private val source = Source("Kafka", 0, Some(Set(site)), "mixed", cut = None)
  private val oneLane = source.copy(lane = Some(Set.empty))
  private val inOrder = InOrder("in order", Seq(byTime, byOffset), Set(id), isOverBatches = true, passesLate = false)

  private def through(steps: OrderStep*): Order =
    steps.foldLeft(Order.Lost("nothing", ""): Order)((below, step) => OrderFlow.after(step, Seq(below)))

  private def lostAt(order: Order): String = order match {
    case Order.Lost(at, _) => at
    case other => fail(s"is known: $other")
  }

  test("an order by the operator's groups needs no sort, and one by others does") {
    val found = OrderFlow.at(Set(id), through(inOrder, Keeps("Project", same)))
    assert(found.sortBy.isEmpty)
    val other = OrderFlow.at(Set(site), through(inOrder, Shuffle("shuffle by site", Some(Set(site)))))
    assert(other.sortBy.map(_.name) === Seq("time", "offset"))
    assert(other.order ===
      Order.Time(Seq("time", "offset"), Seq(byTime, byOffset), Some(Set(site)), isOverBatches = true))
  }

  test("a column that is gone matters as soon as rows must be sorted again") {
    val without = Keeps("Project", Map(id -> id))
    assert(OrderFlow.at(Set(id), through(inOrder, without)).order.isInstanceOf[Order.Time])
    assert(lostAt(OrderFlow.at(Set(id), through(inOrder, without, Shuffle("shuffle", Some(Set(id))))).order) ===
      "Project")
    val prefix =
      OrderFlow.at(Set(id), through(inOrder, Keeps("Project", same - offset), Shuffle("shuffle", Some(Set(id)))))
    assert(prefix.sortBy === Seq(byTime))
  }

  test("a sort by groups and then by the same values makes the order again") {
    val sort = Sort("sort", plain(Set(site)) ++ Seq(byTime, byOffset), isStable = false)
    assert(OrderFlow.at(Set(site), through(inOrder, Shuffle("", None), sort)).sortBy.isEmpty)
    assert(OrderFlow.at(Set(site), through(inOrder, sort.copy(by = Seq(byOffset)))).sortBy.size === 2)
  }

  test("rows of a source's task arrive as they were read, until they are spread by other columns than the operator's") {
    val shuffle = Shuffle("shuffle by id", Some(Set(id)))
    assert(OrderFlow.at(Set(id), through(source, shuffle)).order.isInstanceOf[Order.Arrival])
    val twice = through(source, Shuffle("shuffle by site", Some(Set(site))), shuffle)
    assert(lostAt(OrderFlow.at(Set(id), twice).order) === "shuffle by site")
    assert(isKnown(OrderFlow.at(Set(id, site), twice).order))
    assert(lostAt(through(source, Shuffle("round robin", None))) === "round robin")
    val sort = Sort("sort by id", plain(Set(id)), isStable = false)
    assert(lostAt(through(source, shuffle, sort)) === "sort by id")
    assert(OrderFlow.at(
      Set(id),
      through(source, shuffle, sort.copy(isStable = true))).order.isInstanceOf[Order.Arrival])
  }

  private def isKnown(order: Order): Boolean = order match {
    case Order.Arrival(_, _, _, flaw) => flaw.isEmpty
    case _ => false
  }

  private def flawAt(order: Order): Option[String] = order match {
    case Order.Arrival(_, _, _, flaw) => flaw.map(lost => s"${lost.at}: ${lost.why}")
    case other => fail(s"is not as it was read: $other")
  }

  test("the order of a group is that of the source if all its rows are of one lane, which one task has read") {
    val shuffle = Shuffle("shuffle by id", Some(Set(id)))
    assert(isKnown(OrderFlow.at(Set(id), through(oneLane, shuffle)).order))
    assert(isKnown(OrderFlow.at(Set.empty, through(oneLane)).order))
    assert(flawAt(OrderFlow.at(Set(id), through(source, shuffle)).order) === Some("Kafka: mixed"))
    assert(isKnown(OrderFlow.at(Set(site, id), through(source, Keeps("", same), shuffle)).order))
    val renamed = through(source, Keeps("", Map(site -> id, id -> site)), shuffle)
    assert(isKnown(OrderFlow.at(Set(id), renamed).order))
    val dropped = through(source, Keeps("", same - site), shuffle)
    assert(flawAt(OrderFlow.at(Set(site, id), dropped).order) === Some("Kafka: mixed"))
    val cut = oneLane.copy(cut = Some("cut"))
    assert(flawAt(OrderFlow.at(Set(id), through(cut, shuffle)).order) === Some("Kafka: cut"))
    val union = OrderFlow.after(
      Union("union", Seq(same, same)),
      Seq(through(oneLane), through(oneLane.copy(id = 1, cut = Some("cut")))))
    assert(flawAt(union) === Some("Kafka: cut"))
  }

  test("a union keeps what all its inputs have, but no order over batches") {
    val union = Union("Union", Seq(same, same))
    def of(a: Order, b: Order) = OrderFlow.after(union, Seq(a, b))
    val Order.Time(names, _, groups, isOverBatches, flaw, _) = of(through(inOrder), through(inOrder)): @unchecked
    assert((names, groups, isOverBatches, flaw.map(_.at)) === ((Seq("time", "offset"), None, false, Some("Union"))))
    assert(lostAt(of(through(inOrder), through(source))) === "Union")
    assert(lostAt(of(through(source), through(source))) === "Union")
    val both = of(through(oneLane), through(oneLane.copy(id = 1)))
    assert(flawAt(OrderFlow.at(Set(id), both).order) ===
      Some("Union: rows of its inputs have no order among each other"))
    val swapped =
      OrderFlow.after(Union("Union", Seq(same, Map(time -> offset, offset -> time))), Seq.fill(2)(through(inOrder)))
    assert(lostAt(swapped) === "Union")
  }

  test("late rows that are passed on are a flaw, and an operator with an order of its own loses it") {
    val Order.Time(_, _, _, _, flaw, _) = through(inOrder.copy(passesLate = true)): @unchecked
    assert(flaw.map(_.at) === Some("in order"))
    assert(lostAt(through(inOrder, Breaks("aggregation", "it emits groups"), Keeps("", same))) === "aggregation")
  }

  private final class Drawn(seed: Int) {
    val random = new Random(seed)
    private val simulation = new OrderSimulation(random)
    private var sources = 0

    private def some: Set[ColumnId] = Columns.filter(_ => random.nextInt(3) == 0).toSet
    private def names: Map[ColumnId, ColumnId] =
      if (random.nextBoolean()) same
      else Columns.zip(random.shuffle(Columns)).filter(_ => random.nextInt(5) > 0).toMap
    private def terms = random.shuffle(Columns).take(1 + random.nextInt(2)).map { column =>
      OrderTerm(s"c${column.value}", if (random.nextInt(4) == 0) Negated else Plain, Seq(column))
    }

    def tree(depth: Int): Tree =
      if (depth == 0) {
        sources += 1
        val lane = random.nextInt(3) match {
          case 0 => None
          case 1 => Some(Set.empty[ColumnId])
          case _ => Some(Set(Columns(random.nextInt(Columns.size))))
        }
        Tree(Source("source", sources, lane, "mixed", Option.when(random.nextInt(4) == 0)("cut")), Nil)
      } else
        random.nextInt(9) match {
          case 0 | 1 =>
            val order = InOrder("in order", terms, some, random.nextInt(3) > 0, random.nextInt(4) == 0)
            Tree(order, Seq(tree(depth - 1)))
          case 2 => Tree(Keeps("keeps", names), Seq(tree(depth - 1)))
          case 3 => Tree(Shuffle("shuffle", Option.when(random.nextInt(4) > 0)(some)), Seq(tree(depth - 1)))
          case 4 => Tree(Coalesce("coalesce"), Seq(tree(depth - 1)))
          case 5 => Tree(Sort("sort", plain(some), random.nextBoolean()), Seq(tree(depth - 1)))
          case 6 =>
            val below = Seq.fill(2)(tree(random.nextInt(depth)))
            Tree(Union("union", if (random.nextBoolean()) Seq(same, same) else Seq(names, names)), below)
          case 7 => demanding(tree(depth - 1))
          case 8 => Tree(Keeps("filter", same), Seq(tree(depth - 1)))
        }

    /** What an operator asks for is done as the engine does it: a shuffle by its groups, and a sort. */
    private def demanding(below: Tree): Tree = {
      val keys = some
      val gathered = Tree(Shuffle("gather", Some(keys)), Seq(below))
      OrderFlow.at(keys, claims(gathered, OrderFlow.after)) match {
        case OrderFlow.Found(_, sort) if sort.nonEmpty =>
          Tree(Sort("again", plain(keys) ++ sort, isStable = false), Seq(gathered))
        case _ => gathered
      }
    }

    def claims(tree: Tree, flow: Flow): Order = flow(tree.step, tree.below.map(claims(_, flow)))

    /** The first claim that the rows contradict, in the whole plan. */
    def contradiction(tree: Tree, flow: Flow): Option[String] = {
      def visit(tree: Tree): (Seq[OrderSimulation.Parts], Option[String]) = {
        val (rows, wrong) = tree.below.map(visit).unzip
        val out = simulation.run(tree.step, rows)
        val claim = claims(tree, flow)
        out ->
          wrong.flatten.headOption.orElse(
            simulation.contradiction(claim, out).orElse(ofGroups(tree.step, claim, out)).map(why =>
              s"$claim: $why in $tree"))
      }
      visit(tree)._2
    }

    private def ofGroups(step: OrderStep, claim: Order, out: Seq[OrderSimulation.Parts]): Option[String] = step match {
      case Shuffle(_, Some(keys)) => simulation.contradiction(OrderFlow.at(keys, claim).order, keys, out)
      case _ => None
    }
  }

  test("no run of a random plan contradicts what is known of its orders") {
    val known = for (seed <- 0 until 2000) yield {
      val drawn = new Drawn(seed)
      val tree = drawn.tree(1 + seed % 6)
      assert(drawn.contradiction(tree, OrderFlow.after) === None, s"seed $seed")
      drawn.claims(tree, OrderFlow.after)
    }
    assert(known.count(_.isInstanceOf[Order.Time]) > 300)
    assert(known.count(_.isInstanceOf[Order.Arrival]) > 150)
  }

  /** A flow that takes one kind of step for another. */
  private def mistaking(as: PartialFunction[OrderStep, OrderStep]): Flow =
    (step, below) => OrderFlow.after(as.applyOrElse(step, identity[OrderStep]), below)

  for ((mistake, flow) <- Seq[(String, Flow)](
      "a shuffle keeps a batch's order" -> mistaking { case Shuffle(label, _) => Keeps(label, same) },
      "a round robin keeps what tasks have read" ->
        mistaking { case Shuffle(label, None) => Shuffle(label, Some(Set.empty)) },
      "several lanes are one" -> mistaking { case read: Source => read.copy(lane = Some(Set.empty)) },
      "one task reads each lane" -> mistaking { case read: Source => read.copy(cut = None) },
      "every sort is stable" -> mistaking { case sort: Sort => sort.copy(isStable = true) },
      "coalescing keeps an order" -> mistaking { case Coalesce(label) => Keeps(label, same) },
      "a union has the order of its first input" -> mistaking { case Union(label, names) => Keeps(label, names.head) },
      "late rows are in order" -> mistaking { case order: InOrder => order.copy(passesLate = false) },
      "an order by batches goes on over batches" ->
        mistaking { case order: InOrder => order.copy(isOverBatches = true) },
      "renamed columns keep their names" -> mistaking { case Keeps(label, _) => Keeps(label, same) }))
    moreTestsIf(
      mistake == "coalescing keeps an order")(test(s"the runs would show it if $mistake were wrongly believed") {
      assert((0 until 30000).exists { seed =>
        val drawn = new Drawn(seed)
        drawn.contradiction(drawn.tree(1 + seed % 6), flow).nonEmpty
      })
    })
}

object OrderFlowSuite {
  private type Flow = (OrderStep, Seq[Order]) => Order

  private final case class Tree(step: OrderStep, below: Seq[Tree])
}
