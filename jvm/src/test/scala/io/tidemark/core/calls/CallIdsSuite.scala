package io.tidemark.core.calls

import java.util.UUID

import org.scalatest.funsuite.AnyFunSuite

class CallIdsSuite extends AnyFunSuite {

  private def ids(task: String, inputs: Int*): Seq[UUID] = {
    val ids = new CallIds(task)
    inputs.map(value => ids.next(Array(value.toByte)))
  }

  test("a task that runs again has the same ids, whatever the order of its rows, and equal rows differ") {
    val found = ids("query/7/0/call", 1, 2, 1, 1)
    assert(found.distinct.size === 4)
    assert(ids("query/7/0/call", 1, 1, 2, 1).toSet === found.toSet)
    assert(ids("query/7/0/call", 2).head === found(1))
  }

  test("another batch, partition or column has other ids") {
    val all = Seq("query/7/0/call", "query/8/0/call", "query/7/1/call", "query/7/0/answer").flatMap(ids(_, 1, 1))
    assert(all.distinct.size === all.size)
  }

  test("an id is known while its call is begun, and only then") {
    assert(CallIds.now() === None)
    val id = UUID.randomUUID()
    CallIds.within(() => id)(assert(CallIds.now() === Some(id)))
    assert(CallIds.now() === None)
    intercept[IllegalStateException](CallIds.within(() => id)(throw new IllegalStateException))
    assert(CallIds.now() === None)
  }
}
