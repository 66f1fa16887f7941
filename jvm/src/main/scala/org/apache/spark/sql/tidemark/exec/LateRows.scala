package org.apache.spark.sql.tidemark.exec

import io.tidemark.core.Input
import io.tidemark.core.splits.{HeavyHitters, SplitNameTable}

import org.apache.spark.sql.catalyst.expressions.{BoundReference, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.tidemark.columns.SplitText
import org.apache.spark.sql.tidemark.exec.clocks.TaskCollector
import org.apache.spark.sql.types.DataType

/** Late rows of one operator's input, counted where they arrive, before any aggregation.
  *
  * @param mostMillis how far the latest of them was behind the watermark (ms); for a window, its end
  * @param splits to which splits they belong, as far as that is known
  */
private[tidemark] final case class LateRows(
    rows: Long,
    mostMillis: Long,
    splits: HeavyHitters = HeavyHitters.none) {
  def +(that: LateRows): LateRows =
    LateRows(rows + that.rows, math.max(mostMillis, that.mostMillis), splits + that.splits)
}

private[tidemark] object LateRows {
  val none: LateRows = LateRows(0L, 0L)

  /** The late rows of one task, in plain fields.
    * @param types those of a split's key; empty if the split of a row is not known
    */
  final class TaskLateRows(into: Accumulator, types: Array[DataType]) {
    private var rows = 0L
    private var most = 0L
    // By the bytes of their keys, which become names when the task ends.
    private val splits = new HeavyHitters.Counter[UnsafeRow](_.copy())

    /** @param key of the row's split */
    def add(behindMicros: Long, key: UnsafeRow): Unit = {
      add(behindMicros)
      splits.add(key)
    }

    /** @param behindMicros how far the row's event time is behind the watermark (µs) */
    def add(behindMicros: Long): Unit = {
      rows += 1
      if (behindMicros > most) most = behindMicros
    }

    private[tidemark] def flush(partition: Int): Unit =
      if (rows > 0) into.add(partition -> LateRows(rows, most / 1000L, named))

    private def named: HeavyHitters =
      if (types.isEmpty) HeavyHitters.none
      else {
        val texts = UnsafeProjection.create(types.toIndexedSeq.zipWithIndex.map { case (kind, index) =>
          SplitText(BoundReference(index, kind, nullable = true))
        })
        splits.result { key =>
          val row = texts(key)
          SplitNameTable.show(types.indices.map { part =>
            Option.unless(row.isNullAt(part))(row.getUTF8String(part).toString)
          })
        }
      }
  }

  /** The late rows of an operator's input in one batch. */
  final class Accumulator extends PartitionSums(none) {
    def begin(types: Array[DataType]): TaskLateRows = {
      val seen = new TaskLateRows(this, types)
      TaskCollector.begin(seen)(seen.flush)
    }

    override protected def sum(left: LateRows, right: LateRows): LateRows = left + right
    override protected def sizeOf(late: LateRows): Long = late.rows
    override protected def empty: Accumulator = new Accumulator
  }

  /** The late rows of one batch, by the input of the operator to which they came.
    * @param passed those that an operator emits nonetheless
    */
  final case class BatchLateRows(dropped: Map[Input, LateRows], passed: Map[Input, LateRows])

  /** The late rows of an operator's input since the query was started.
    *
    * @param last those of the last batch that had any, whose number is `lastBatch`
    */
  final case class Total(all: LateRows, last: LateRows, lastBatch: Long)
}
