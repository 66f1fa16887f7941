package io.tidemark.core.calls

import scala.collection.mutable
import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

class AsyncQueueSuite extends AnyFunSuite {

  private class Calls(concurrency: Int, ordered: Boolean, capacity: Int = 1000) {
    val queue = new AsyncQueue[String, String](concurrency, capacity, ordered)
    private val flying = mutable.LinkedHashMap.empty[String, AsyncQueue.Entry[String, String]]

    def add(rows: String*): Unit = rows.foreach(queue.add(_))
    def addKeyed(rows: String*): Unit = rows.foreach(row => queue.add(row, Some(row.head)))

    /** The rows that are called now. */
    def begun(): Seq[String] = Iterator.continually(queue.begin()).takeWhile(_.isDefined).flatten.map { entry =>
      flying(entry.row) = entry
      entry.row
    }.toVector

    def end(row: String): Unit = queue.done(flying.remove(row).get, row.toUpperCase)
    def fail(row: String): AsyncQueue.Entry[String, String] = {
      val entry = flying.remove(row).get
      queue.failed(entry)
      entry
    }
    def giveUp(row: String): AsyncQueue.Entry[String, String] = {
      val entry = flying.remove(row).get
      queue.gaveUp(entry)
      entry
    }
    def inFlight: Seq[String] = flying.keys.toSeq
    def emitted(): Seq[String] = Iterator.continually(queue.poll()).takeWhile(_.isDefined).flatten.map(_._2).toVector
  }

  private val both = Seq(true, false)

  test("at most so many calls are in flight") {
    for (ordered <- both) {
      val calls = new Calls(2, ordered)
      calls.add("a", "b", "c")
      assert(calls.begun() === Seq("a", "b"))
      calls.end("b")
      assert(calls.begun() === Seq("c"))
    }
  }

  test("in order, a row waits for those before it; otherwise it does not") {
    for ((ordered, first) <- Seq(true -> Nil, false -> Seq("B"))) {
      val calls = new Calls(2, ordered)
      calls.add("a", "b")
      calls.begun()
      calls.end("b")
      assert(calls.emitted() === first)
      calls.end("a")
      assert(first ++ calls.emitted() === (if (ordered) Seq("A", "B") else Seq("B", "A")))
      assert(calls.queue.isEmpty)
    }
  }

  test("a row that is done takes room until it is emitted, and one that is emitted takes none") {
    val calls = new Calls(2, ordered = true, capacity = 2)
    calls.add("a", "b")
    assert(!calls.queue.hasRoom)
    calls.begun()
    calls.end("b")
    assert(!calls.queue.hasRoom)
    calls.end("a")
    assert(calls.emitted() === Seq("A", "B"))
    assert(calls.queue.hasRoom)
  }

  test("calls of one key are made one after another, in the order of the rows") {
    for (ordered <- both) {
      val calls = new Calls(9, ordered)
      calls.addKeyed("a1", "a2", "b1", "a3")
      assert(calls.begun() === Seq("a1", "b1"))
      calls.end("a1")
      assert(calls.begun() === Seq("a2"))
      calls.end("b1")
      assert(calls.begun() === Nil)
      calls.end("a2")
      assert(calls.begun() === Seq("a3"))
    }
  }

  test("a failed call gives its slot back, and is made again before later rows, while its key waits") {
    val calls = new Calls(1, ordered = true)
    calls.addKeyed("a1", "a2", "b1", "c1")
    calls.begun()
    val entry = calls.fail("a1")
    assert(calls.begun() === Seq("b1"))
    calls.queue.again(entry)
    assert(calls.begun() === Nil)
    calls.end("b1")
    assert(calls.begun() === Seq("a1"))
    assert(entry.attempts === 2)
    calls.end("a1")
    assert(calls.begun() === Seq("a2"))
  }

  test("a row that gets a default after its last failure frees no second slot") {
    val calls = new Calls(1, ordered = true)
    calls.add("a", "b", "c")
    calls.begun()
    calls.queue.done(calls.fail("a"), "default")
    assert(calls.begun() === Seq("b"))
    assert(calls.begun() === Nil)
    assert(calls.emitted() === Seq("default"))
  }

  test("a call that is given up keeps its slot until it has ended, and its row may be emitted meanwhile") {
    for (ordered <- both) {
      val calls = new Calls(1, ordered)
      calls.add("a", "b")
      calls.begun()
      val entry = calls.giveUp("a")
      calls.queue.done(entry, "default")
      assert(calls.emitted() === Seq("default"))
      assert(calls.begun() === Nil)
      assert(calls.queue.isWaiting)
      calls.queue.returned(entry)
      assert(calls.begun() === Seq("b"))
      assert(!calls.queue.isWaiting)
    }
  }

  test("a row that is not called takes no slot, waits for no key, and is emitted in its place") {
    for (ordered <- both) {
      val calls = new Calls(1, ordered)
      calls.add("a")
      calls.begun()
      calls.queue.addDone("b", "none")
      assert(calls.emitted() === (if (ordered) Nil else Seq("none")))
      calls.end("a")
      assert(calls.emitted() === (if (ordered) Seq("A", "none") else Seq("A")))
      assert(calls.queue.isEmpty)
    }
  }

  test("a row without a key is called again beside its call that goes on") {
    val calls = new Calls(2, ordered = true)
    calls.add("a")
    calls.begun()
    val entry = calls.giveUp("a")
    calls.queue.again(entry)
    assert(calls.begun() === Seq("a"))
    calls.end("a")
    calls.queue.returned(entry)
    assert(calls.emitted() === Seq("A"))
  }

  test("no call of a key begins beside one that goes on: neither the same row's nor the next one's") {
    val calls = new Calls(9, ordered = true)
    calls.addKeyed("a1", "a2")
    calls.begun()
    val entry = calls.giveUp("a1")
    assert(!calls.queue.isWaitingFor(entry))
    calls.queue.again(entry)
    assert(calls.queue.isWaitingFor(entry))
    assert(calls.begun() === Nil)
    calls.queue.returned(entry)
    assert(calls.begun() === Seq("a1"))
    calls.giveUp("a1")
    calls.queue.done(entry, "default")
    assert(calls.emitted() === Seq("default"))
    assert(calls.queue.isWaitingFor(entry))
    assert(calls.begun() === Nil)
    calls.queue.returned(entry)
    assert(calls.begun() === Seq("a2"))
    calls.queue.done(calls.giveUp("a2"), "default")
    assert(!calls.queue.isWaitingFor(entry))
    calls.addKeyed("b1")
    assert(calls.begun() === Seq("b1"))
  }

  for (seed <- 0 until 40)
    test(s"whatever happens, every row is emitted once, and in order if it is to be: seed $seed") {
      val random = new Random(seed)
      val ordered = random.nextBoolean()
      val concurrency = 1 + random.nextInt(5)
      val calls = new Calls(concurrency, ordered, capacity = 1 + random.nextInt(20))
      val rows = Vector.tabulate(100)(n => f"${('a' + random.nextInt(4)).toChar}%s$n%03d")
      val emitted = Vector.newBuilder[String]
      val begun = mutable.ArrayBuffer.empty[String]
      val failed = mutable.ArrayBuffer.empty[AsyncQueue.Entry[String, String]]
      val goingOn = mutable.ArrayBuffer.empty[AsyncQueue.Entry[String, String]]
      var next = 0
      while (next < rows.size || !calls.queue.isEmpty) {
        if (next < rows.size && calls.queue.hasRoom) {
          calls.addKeyed(rows(next))
          next += 1
        }
        begun ++= calls.begun()
        val open = calls.inFlight ++ goingOn.map(_.row)
        assert(open.size <= concurrency)
        assert(open.map(_.head).distinct.size === open.size)
        if (failed.nonEmpty && random.nextBoolean()) calls.queue.again(failed.remove(0))
        if (calls.inFlight.nonEmpty) {
          val row = calls.inFlight(random.nextInt(calls.inFlight.size))
          random.nextInt(6) match {
            case 0 => failed += calls.fail(row)
            case 1 =>
              val entry = calls.giveUp(row)
              goingOn += entry
              if (random.nextBoolean()) failed += entry else calls.queue.done(entry, row.toUpperCase)
            case _ => calls.end(row)
          }
        }
        if (goingOn.nonEmpty && random.nextInt(3) == 0)
          calls.queue.returned(goingOn.remove(random.nextInt(goingOn.size)))
        emitted ++= calls.emitted()
      }
      val all = emitted.result()
      if (ordered) assert(all === rows.map(_.toUpperCase))
      assert(all.sorted === rows.map(_.toUpperCase).sorted)
      for ((_, own) <- all.groupBy(_.head)) assert(own.map(_.tail) === own.map(_.tail).sorted)
      for ((_, own) <- begun.groupBy(_.head)) assert(own.distinct === own.distinct.sorted)
    }
}
