package io.tidemark.core.noted

import scala.util.Random

import io.tidemark.core.support.MarkModel

import org.scalatest.funsuite.AnyFunSuite

/** Marks against a model of their writers: no row is late by them, whatever is lost and in whatever order they come. */
class MarkModelSuite extends AnyFunSuite {
  import MarkModel._

  private val seeds = 1 to 200

  private def clocks(marks: Iterable[Mark], read: Seq[Int]): Map[String, Long] = times(NotedWriters(
    histories(marks),
    Map.empty,
    position(read),
    None))

  private def times(noted: NotedWriters): Map[String, Long] =
    noted.writers.flatMap { case (writer, progress) => progress.timeMillis.map(writer -> _) }

  private def withoutSome(marks: Iterable[Mark], chance: Random): Seq[Mark] = {
    val share = chance.nextDouble()
    marks.filter(mark => isFirst(mark) || chance.nextDouble() < share).toSeq
  }

  test("no row of a writer behind a position is late by its clock, which never goes back") {
    for (seed <- seeds) {
      val chance = new Random(seed)
      val model = new MarkModel(chance)
      var before = Map.empty[String, Long]
      for (read <- model.reads) {
        val clock = clocks(model.marks, read)
        clock.foreach { case (writer, time) => assert(model.late(read, writer, time) === Nil, seed) }
        assert(before.forall { case (writer, time) => clock.get(writer).exists(_ >= time) }, seed)
        before = clock
        val shuffled = chance.shuffle(model.marks.toSeq ++ model.marks.filter(_ => chance.nextBoolean()))
        assert(clocks(shuffled, read) === clock, seed)
      }
    }
  }

  test("any loss of marks is sound, and never raises a clock") {
    for (seed <- seeds) {
      val chance = new Random(seed)
      val model = new MarkModel(chance)
      for (read <- model.reads) {
        val whole = clocks(model.marks, read)
        for ((writer, time) <- clocks(withoutSome(model.marks, chance), read))
          assert(whole.get(writer).exists(_ >= time), seed)
      }
    }
  }

  test("going on from a state gives the same clocks as reading all marks again") {
    for (seed <- seeds) {
      val chance = new Random(seed)
      val model = new MarkModel(chance)
      var states = Map.empty[String, WriterState]
      var reached = Map.empty[String, Long]
      for (read <- model.reads) {
        val noted = NotedWriters(histories(model.marks), states, position(read), None)
        assert(times(noted).forall { case (writer, time) => reached.get(writer).forall(_ < time) }, seed)
        reached ++= times(noted)
        states = noted.states
        assert(reached === clocks(model.marks, read), seed)
        assert(NotedWriters(histories(model.marks), states, position(read), None).states === states, seed)
      }
    }
  }

  test("marks that come in any order, are purged and are lost leave the clocks sound, from state to state") {
    for (seed <- seeds) {
      val chance = new Random(seed)
      val model = new MarkModel(chance)
      var states = Map.empty[String, WriterState]
      var reached = Map.empty[String, Long]
      for (read <- model.reads) {
        val known = withoutSome(model.marks, chance).filterNot { mark =>
          // Files with only marks that were passed are not read.
          chance.nextBoolean() && states.get(mark.writer).flatMap(_.passed).exists(mark.place <= _)
        }
        val noted = NotedWriters(histories(known), states, position(read), None)
        for ((writer, time) <- times(noted))
          reached += writer -> math.max(time, reached.getOrElse(writer, time))
        for ((writer, time) <- reached) assert(model.late(read, writer, time) === Nil, seed)
        val whole = clocks(model.marks, read)
        assert(reached.forall { case (writer, time) => whole(writer) >= time }, seed)
        for ((writer, state) <- states; place <- state.passed) assert(noted.states(writer).passed.exists(_ >= place))
        states = noted.states
      }
    }
  }

  test("marks with files are complete up to a clock, whatever is purged or lost, from state to state") {
    for (seed <- seeds) {
      val chance = new Random(seed)
      val (marks, files) = chain(chance)
      var states = Map.empty[String, WriterState]
      var read = Set.empty[String]
      var reached = Option.empty[Long]
      var purged = if (chance.nextBoolean()) chance.nextInt(marks.size - 1) else 0
      for (_ <- 1 to 40) {
        if (chance.nextDouble() < 0.1) purged = math.min(purged + chance.nextInt(5), marks.size - 1)
        read ++= files.keys.filter(_ => chance.nextDouble() < 0.1)
        val lost = chance.shuffle(marks.indices.drop(1).toList).take(chance.nextInt(4)).toSet
        val known = marks.indices.drop(purged).filterNot(at => lost(at) && at > purged).map(marks)
        val position = upTo(read, files.keySet)
        val noted = NotedWriters(histories(known), states, position, None)
        reached = (reached ++ noted.writers("w").timeMillis).maxOption
        for (time <- reached) assert(files.filter { case (file, at) => at <= time && !read(file) } === Map.empty, seed)
        val whole = NotedWriters(histories(marks), Map.empty, position, None).writers("w").timeMillis
        assert(reached.forall(time => whole.exists(_ >= time)), seed)
        states = noted.states
      }
      val all = upTo(files.keySet, files.keySet)
      val last = NotedWriters(histories(marks), states, all, None).writers("w")
      assert((reached ++ last.timeMillis).maxOption === marks.flatMap(_.timeMillis).maxOption, seed)
    }
  }

  private def upTo(read: Set[String], listed: Set[String]): SourcePosition =
    new SourcePosition.Files(read, _ => false) {
      override def isDrained: Boolean = read == listed
    }

  test("what is passed is what a plain reading of the rules says") {
    for (seed <- seeds) {
      val chance = new Random(seed)
      val model = new MarkModel(chance)
      for (read <- model.reads; history <- histories(withoutSome(model.marks, chance)).values) {
        val marks = history.marks
        def isPassed(at: Int): Boolean = marks(at).position match {
          case Some(noted) => position(read).hasPassed("w", noted)
          case None if at == 0 => marks(at).number == 0 && marks(at).after.isEmpty
          case None => marks(at).follows(marks(at - 1).place) && isPassed(at - 1)
        }
        // A mark without a position that is not joined says nothing, and a later one may well be passed.
        val passed = history.passed(position(read))
        assert(passed == 0 || isPassed(passed - 1), seed)
        assert(marks.indices.drop(passed).forall(at => marks(at).position.isEmpty || !isPassed(at)), seed)
      }
    }
  }

  /** A writer of files with several lives: its marks, and each file with the time of its only row. */
  private def chain(chance: Random): (IndexedSeq[Mark], Map[String, Long]) = {
    var files = Map.empty[String, Long]
    var floor = 0L
    var epoch = 1L
    val marks = scala.collection.mutable.ArrayBuffer.empty[Mark]
    for (step <- 0 until 40) {
      if (step > 0 && chance.nextDouble() < 0.1) {
        epoch += 1
        marks += Mark("w", epoch, 0, Mark.Alive, None, 0, after = Some(marks.last.place))
      }
      val names = Seq.tabulate(chance.nextInt(3))(at => s"$step-$at")
      files ++= names.map(_ -> (floor + 1 + chance.nextInt(50)))
      floor += chance.nextInt(60)
      val number = marks.lastOption.filter(_.epoch == epoch).fold(0L)(_.number + 1)
      marks += Mark("w", epoch, number, Mark.Note, Some(floor), 0, Some(Position.Files(names.toSet)))
    }
    (marks.toIndexedSeq, files)
  }
}
