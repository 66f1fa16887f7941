package io.tidemark.oracle

import Query._

/** Makes a failing case as small as it can be, so that a person can see what is wrong. */
object Shrink {

  /** @param fails whether a case still fails; asked `most` times at the most */
  def apply(example: Case, most: Int)(fails: Case => Boolean): Case = {
    var asked = 0
    def stillFails(smaller: Case): Boolean = asked < most && { asked += 1; fails(smaller) }
    var smallest = example
    var next = candidates(smallest).find(stillFails)
    while (next.nonEmpty) {
      smallest = next.get
      next = candidates(smallest).find(stillFails)
    }
    smallest
  }

  private def candidates(example: Case): Iterator[Case] =
    smaller(example.query).map(query => Case(query, example.steps.map(onlyTo(query, _)))) ++
      Iterator(2, 1).flatMap { size =>
        example.steps.indices.reverseIterator.map(at => example.copy(steps = example.steps.patch(at, Nil, size)))
      }.filter(_.steps.nonEmpty) ++
      example.steps.indices.iterator.flatMap { at =>
        val step = example.steps(at)
        val without = step.rows.iterator.flatMap { case (input, rows) =>
          rows.indices.iterator.map(row => step.copy(rows = step.rows.updated(input, rows.patch(row, Nil, 1))))
        } ++ (if (step.restart) Iterator(step.copy(restart = false)) else Iterator.empty)
        without.map(step => example.copy(steps = example.steps.updated(at, step)))
      }

  private def onlyTo(query: Query, step: Step): Step = {
    val inputs = query.nodes.collect { case input: Input => input.number }.toSet
    step.copy(rows = step.rows.filter { case (input, _) => inputs(input) })
  }

  /** Queries with one operator less, of those that are queries still. */
  private def smaller(query: Query): Iterator[Query] = {
    val below = query.inputs.indices.iterator.flatMap { at =>
      smaller(query.inputs(at)).map(input => onInputs(query, query.inputs.updated(at, input)))
    }
    val narrower = query match {
      case it: Windows => it.others.iterator.map(c => it.copy(others = it.others.filterNot(_ == c)))
      case it: Ordered =>
        it.by.iterator.map(column => it.copy(by = it.by.filterNot(_ == column))) ++
          it.ties.iterator.map(column => it.copy(ties = it.ties.filterNot(_ == column)))
      case _ => Iterator.empty
    }
    (query.inputs.iterator ++ below ++ narrower).filter(isQuery)
  }

  private def isQuery(query: Query): Boolean = Carrier.isTimed(query) && Carrier.isWhole(query) && query.nodes.forall {
    case _: Input | _: Without => true
    case it: Through => Carrier.fits(it.carrier, it.input)
    case it if !Carrier.isTimed(it) => false
    case _: Limited => true
    case it: Again => it.input.nullable.isDefinedAt(it.column)
    case it: Union => it.left.nullable.size == it.right.nullable.size
    case it: Join => isWhole(it.left, it.leftTime) && isWhole(it.right, it.rightTime)
    case it: SelfJoin => isWhole(it.input, it.leftTime) && isWhole(it.input, it.rightTime)
    case it: Distinct => isWhole(it.input, it.column)
    case it: Sessions => isWhole(it.input, it.column)
    case _: Once => true
    case it: Running => isWhole(it.input, it.column)
    case it: Groups => isWhole(it.input, it.column)
    case it: Ordered =>
      val others = (it.by ++ it.ties).collect { case Value.Time(column) => column }
      (it.column +: others).forall(it.input.nullable.isDefinedAt)
    case it: Windows => isWhole(it.input, it.column) && it.others.forall(it.input.nullable.isDefinedAt)
  }

  private def isWhole(query: Query, column: Int): Boolean = query.nullable.lift(column).contains(false)
}
