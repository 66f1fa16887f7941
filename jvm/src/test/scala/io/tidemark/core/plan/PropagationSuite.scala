package io.tidemark.core.plan

import io.tidemark.core.{CarriedSlot, OperatorId, UnionSlot}
import io.tidemark.core.Watermark.{Idle, Unknown}
import io.tidemark.core.plan.PlanShape._
import io.tidemark.core.support.Plans

import Plans._
import org.scalatest.funsuite.AnyFunSuite

/** What each operator does with watermarks, by example; joins are in [[JoinPropagationSuite]]. */
class PropagationSuite extends AnyFunSuite {
  private val orders = origin("orders", 1)
  private val payments = origin("payments", 2)
  private val both = decided("orders" -> at(100), "payments" -> at(40))

  private def flow(shape: PlanShape, decision: Decision): Edge = Propagation.levels(shape, decision).root.out

  test("a source without event time has no watermark") {
    assert(flow(Source("files"), both) == Edge.empty)
  }

  test("an origin gives its watermark to its column") {
    assert(flow(orders, both) == {
      val own = AttributedWatermark(at(100), Some(named("orders")))
      Edge(Map(col(1) -> own), Some(own))
    })
  }

  test("an origin that never had a row has an unknown watermark") {
    assert(out(orders, Decision.none) == Map(1L -> Unknown))
  }

  test("a second origin on another column does not change the watermark of the first column") {
    val shape = origin("payments", 2, orders)
    assert(out(shape, both) == Map(1L -> at(100), 2L -> at(40)))
    assert(flow(shape, both).least.map(_.watermark).contains(at(40)))
  }

  test("a second origin on the same column replaces its watermark, which is unknown until a row arrives") {
    val shape = origin("again", 1, orders)
    assert(out(shape, both) == Map(1L -> Unknown))
    assert(out(shape, decided("orders" -> at(100), "again" -> at(70))) == Map(1L -> at(70)))
    assert(out(shape, decided("orders" -> at(100), "again" -> at(700))) == Map(1L -> at(700)))
  }

  test("an origin that is used twice has one clock") {
    val shape = union(orders -> Some(1), origin("orders", 9) -> Some(9))
    assert(out(shape, both) == Map(1L -> at(100)))
    assert(names(shape) == Seq(named("orders")))
  }

  test("a stateless operator renames, doubles and drops columns") {
    val shape = project(origin("payments", 2, orders), 7L -> 1L, 8L -> 1L)
    assert(out(shape, both) == Map(7L -> at(100), 8L -> at(100)))
  }

  test("a column that is not computed from event time has no watermark") {
    assert(out(project(orders, 7L -> 99L), both).isEmpty)
  }

  test("the minimum input watermark stays when its column is dropped") {
    val shape = project(origin("payments", 2, orders), 1L -> 1L)
    assert(flow(shape, both).least.contains(AttributedWatermark(at(40), Some(named("payments")))))
  }

  test("a stateless operator of two inputs keeps the columns of both") {
    val shape = Stateless("static join", Seq(orders, Source("table")), Seq(col(1) -> col(1)))
    assert(out(shape, both) == Map(1L -> at(100)))
  }

  test("a union has the minimum watermark of its inputs on the first input's column, and names the holder") {
    val shape = union(orders -> Some(1), payments -> Some(2))
    assert(flow(shape, both).columns == Map(col(1) -> AttributedWatermark(at(40), Some(named("payments")))))
    assert(Propagation.levels(shape, both).unions == Map(UnionSlot(0, 0) -> at(40)))
  }

  test("a union takes the minimum watermark per column position") {
    val first = origin("b", 2, origin("a", 1))
    val second = origin("d", 4, origin("c", 3))
    val columns = Seq(
      UnionColumn(col(1), 0, Seq(Some(col(1)), Some(col(4)))),
      UnionColumn(col(2), 3, Seq(Some(col(2)), Some(col(3)))))
    val shape = Union("union", Some(5), Seq(first, second), columns)
    val decision = decided("a" -> at(10), "b" -> at(20), "c" -> at(15), "d" -> at(30))
    assert(out(shape, decision) == Map(1L -> at(10), 2L -> at(15)))
    assert(Propagation.levels(shape, decision).unions == Map(UnionSlot(5, 0) -> at(10), UnionSlot(5, 3) -> at(15)))
  }

  test("a union leaves out an input without event time") {
    assert(out(union(orders -> Some(1), Source("table") -> None), both) == Map(1L -> at(100)))
  }

  test("a union with one event-time input neither keeps nor uses a floor") {
    val shape = union(orders -> Some(1), Source("table") -> None).copy(id = None)
    assert(out(shape, both.copy(floors = Floors(Map(UnionSlot(0, 0) -> at(700)), Map.empty))) == Map(1L -> at(100)))
    assert(Propagation.levels(shape, both).unions.isEmpty)
  }

  test("a union input whose event-time column was dropped counts with its minimum watermark") {
    assert(out(union(orders -> Some(1), project(payments) -> None), both) == Map(1L -> at(40)))
  }

  test("a union input without a watermark yet holds the union back") {
    val shape = union(orders -> Some(1), payments -> Some(2))
    assert(out(shape, decided("orders" -> at(100))) == Map(1L -> Unknown))
  }

  test("an idle input does not hold a union back") {
    val shape = union(orders -> Some(1), payments -> Some(2))
    assert(out(shape, decided("orders" -> at(100), "payments" -> Idle(Some(7)))) == Map(1L -> at(100)))
    assert(out(shape, decided("orders" -> Idle(None), "payments" -> at(40))) == Map(1L -> at(40)))
  }

  test("a union of idle inputs has the largest of their watermarks and does not hold a union after it back") {
    val inner = union(orders -> Some(1), payments -> Some(2))
    val column = UnionColumn(col(1), 0, Seq(Some(col(1)), Some(col(3))))
    val outer = Union("union", Some(1), Seq(inner, origin("bills", 3)), Seq(column))
    val idle = decided("orders" -> Idle(Some(30)), "payments" -> Idle(Some(70)), "bills" -> at(500))
    assert(out(inner, idle) == Map(1L -> Idle(Some(70))))
    assert(out(outer, idle) == Map(1L -> at(500)))
    assert(out(outer, idle.copy(floors = Floors(Map(UnionSlot(0, 0) -> at(100)), Map.empty))) == Map(1L -> at(500)))
  }

  test("the watermark of a union does not go back when an input returns with an older clock") {
    val shape = union(orders -> Some(1), payments -> Some(2))
    val floor = both.copy(floors = Floors(Map(UnionSlot(0, 0) -> at(100)), Map.empty))
    assert(flow(shape, floor).columns == Map(col(1) -> AttributedWatermark(at(100), Some(named("payments")))))
    assert(out(shape, decided("orders" -> at(100)).copy(floors = floor.floors)) == Map(1L -> at(100)))
  }

  test("a stateful operator judges rows and evicts state by its active column only") {
    val shape = aggregation(3, origin("payments", 2, orders), active = 1)
    val own = AttributedWatermark(at(100), Some(named("orders")))
    assert(Propagation.levels(shape, both).inputs ==
      Map(left(3) -> InputWatermarks(own, Some(own), Nil, closes = true)))
    assert(out(shape, both) == Map(1L -> at(100)))
  }

  test("a deduplication passes on every column with its own watermark") {
    val input = origin("payments", 2, orders)
    val shape = Stateful("dropDuplicates", OperatorId(3), input, Some(col(1)), Seq(col(1), col(2)), Nil)
    assert(out(shape, both) == Map(1L -> at(100), 2L -> at(40)))
  }

  test("a carried column leaves an operator with its remembered watermark, not with its input watermark") {
    val shape = aggregation(3, origin("payments", 2, orders), 1, carried = 2)
    assert(out(shape, both) == Map(1L -> at(100), 2L -> Unknown))
    val remembered = both.copy(floors = Floors(Map.empty, Map(CarriedSlot(left(3), 0) -> at(35))))
    assert(out(shape, remembered) == Map(1L -> at(100), 2L -> at(35)))
    val levels = Propagation.levels(shape, remembered)
    assert(levels.inputs(left(3)).carried == Seq(AttributedWatermark(at(40), Some(named("payments")))))
    assert(levels.root.out.columns(col(2)).by.contains(named("payments")))
  }

  test("an operator without an active column uses the minimum input watermark") {
    val shape = Stateful("groups", OperatorId(3), project(origin("payments", 2, orders)), None, Nil, Nil)
    assert(Propagation.levels(shape, both).inputs(left(3)).input.watermark == at(40))
    assert(flow(shape, both).least.map(_.watermark).contains(at(40)))
  }

  test("an operator without event time in its input has an unknown watermark, which is 0 in Spark") {
    val shape = Stateful("aggregation", OperatorId(3), Source("files"), None, Nil, Nil)
    val levels = Propagation.levels(shape, both)
    assert(levels.progress(OperatorId(3)).contains(0L))
    assert(levels.root.out == Edge.empty)
  }

  test("a declared column has the watermark of the operator below it") {
    val below = Stateful("transformWithState", OperatorId(3), origin("payments", 2, orders), Some(col(1)), Nil, Nil)
    assert(flow(Declared("event time of state", col(9), below), both) == {
      val own = AttributedWatermark(at(100), Some(named("orders")))
      Edge(Map(col(9) -> own), Some(own))
    })
  }

  test("all aggregations of a chain have the same watermark") {
    val shape = aggregation(1, project(aggregation(2, orders, active = 1), 5L -> 1L), active = 5)
    val levels = Propagation.levels(shape, both)
    assert(levels.inputs.values.map(_.input.watermark).toSet == Set(at(100)))
    assert(out(shape, both) == Map(5L -> at(100)))
  }

  test("the root lists the output watermark of every node") {
    val shape = union(aggregation(1, orders, active = 1) -> Some(1), payments -> Some(2))
    val flow = Propagation.levels(shape, both).root
    assert(flow.inputs.map(_.shape) == shape.inputs)
    assert(flow.inputs.map(_.out.least.get.watermark) == Seq(at(100), at(40)))
  }

  test("every node is listed after its inputs") {
    val shape = aggregation(1, orders, active = 1)
    assert(postOrder(shape) == Seq(orders.input, orders, shape))
  }

  test("the watermark of the query is that of its slowest origin") {
    assert(both.least(Seq(named("orders"), named("payments"))) == at(40))
    assert(both.least(Seq(named("orders"), named("other"))) == Unknown)
    assert(both.least(Nil) == Unknown)
  }
}
