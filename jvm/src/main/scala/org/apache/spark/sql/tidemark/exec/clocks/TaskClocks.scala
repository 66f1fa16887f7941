package org.apache.spark.sql.tidemark.exec.clocks

import io.tidemark.{TidemarkError, TidemarkException}
import io.tidemark.core.splits.{MaxEventTimes, SplitNameTable}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.tidemark.columns.SplitText
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** The largest event time of each split in one task. Keys become names when the task ends. Not thread-safe, as a task
  * runs on one thread.
  */
private[tidemark] final class TaskClocks(factory: TaskClocks.Factory) {
  import ClockTables.NoTime
  import TaskClocks._

  // The rows without a key: the input is not split, or its only key is null.
  private var keyless = NoTime
  private val longs = new LongKeyMaxima(factory.limits, factory.column)
  private val shorts = new ShortKeyMaxima(factory.limits, factory.column)
  private val others = new BytesKeyMaxima(factory.limits, factory.column)
  private var farAhead = 0L
  private val latest = factory.limits.latestMillis

  /** Whether an event time may move a clock; if not, it is counted. */
  def believes(millis: Long): Boolean = {
    val near = millis <= latest
    if (!near) farAhead += 1
    near
  }

  /** A row without a key. */
  def observe(millis: Long): Unit = if (millis > keyless) keyless = millis
  def observe(key: Long, millis: Long): Unit = longs.observe(key, millis)

  /** A row whose key is a text. It is passed in parts, so that generated code need not create an object for it.
    *
    * @param base where the text's bytes are, as Spark's `Platform` reads them
    */
  def observe(base: AnyRef, at: Long, size: Int, millis: Long): Unit =
    if (size <= KeyBytes.MostShort)
      shorts.observe(KeyBytes.first(base, at, size), KeyBytes.second(base, at, size), millis)
    else others.observe(base, at, size, millis)
  def observe(key: UnsafeRow, millis: Long): Unit = others.observe(key, millis)

  /** Any of these, for interpreted execution. */
  def noteRow(key: UnsafeRow, millis: Long): Unit = factory.types match {
    case Array() => observe(millis)
    case Array(dataType) if isSimple(dataType) =>
      key.get(0, dataType) match {
        case null => observe(millis)
        case text: UTF8String => observe(text.getBaseObject, text.getBaseOffset, text.numBytes, millis)
        case flag: Boolean => observe(if (flag) 1L else 0L, millis)
        case number => observe(number.asInstanceOf[Number].longValue, millis)
      }
    case _ => observe(key, millis)
  }

  /** The largest event times of the task, by name. */
  private def times: MaxEventTimes = {
    val all = new MaxEventTimes
    val name = new NameBuffer
    if (keyless != NoTime) {
      factory.types.foreach(_ => name.addNull())
      all.noteNew(name.bytes, name.length, keyless)
    }
    if (!longs.isEmpty) {
      val number = new NumberKey(factory.types.head)
      val texts = new Texts(factory.types)
      longs.foreach { (key, millis) =>
        texts.write(number(key), name)
        all.noteNew(name.bytes, name.length, millis)
      }
    }
    factory.types match {
      case Array(_: StringType) =>
        val short = new Array[Byte](KeyBytes.MostShort + 1)
        shorts.foreach { (first, second, millis) =>
          name.clear()
          name.add(UTF8String.fromBytes(short, 0, KeyBytes.write(first, second, short)))
          all.noteNew(name.bytes, name.length, millis)
        }
        others.foreach { (number, millis) =>
          name.clear()
          name.add(others.text(number))
          all.noteNew(name.bytes, name.length, millis)
        }
      case types if !others.isEmpty =>
        val texts = new Texts(types)
        val key = new UnsafeRow(types.length)
        others.foreach { (number, millis) =>
          others.point(key, number)
          texts.write(key, name)
          // Values that differ only in their bytes, as NaN may, have one text.
          all.observe(name.bytes, name.length, millis)
        }
      case _ =>
    }
    all
  }

  private def flush(partition: Int): Unit =
    try factory.into.add(times, partition, farAhead)
    catch {
      case e: SplitNameTable.TooLong => throw new TidemarkException(TidemarkError.SplitNamesTooLong(factory.column), e)
    }
}

private[tidemark] object TaskClocks {

  /** What a task needs to begin; sent to executors.
    * @param column the event-time column's name, for messages
    * @param types the types of the split's expressions
    */
  final case class Factory(
      into: SplitAccumulator,
      column: String,
      types: Array[DataType],
      limits: ClockLimits) {

    /** The clocks of this task; their times are merged into the accumulator when it ends. */
    def begin(): TaskClocks = {
      val clocks = new TaskClocks(this)
      TaskCollector.begin(clocks)(clocks.flush)
    }
  }

  /** Whether a single key of this type is stored as the text or the whole number that it is in Spark's rows. */
  def isSimple(kind: DataType): Boolean = kind match {
    case BooleanType | ByteType | ShortType | IntegerType | LongType | DateType | TimestampType | TimestampNTZType |
        _: YearMonthIntervalType | _: DayTimeIntervalType | _: StringType =>
      true
    case _ => false
  }

  /** Turns a key that is stored as a number back into its row. */
  private final class NumberKey(kind: DataType) {
    private val row = new SpecificInternalRow(Seq(kind))
    private val write: Long => Unit = kind match {
      case BooleanType => key => row.setBoolean(0, key != 0)
      case ByteType => key => row.setByte(0, key.toByte)
      case ShortType => key => row.setShort(0, key.toShort)
      case IntegerType | DateType | _: YearMonthIntervalType => key => row.setInt(0, key.toInt)
      case _ => key => row.setLong(0, key)
    }

    def apply(key: Long): SpecificInternalRow = {
      write(key)
      row
    }
  }

  /** The names of keys: different values have different texts, the same in every session. */
  private final class Texts(types: Array[DataType]) {
    private val texts = UnsafeProjection.create(types.toIndexedSeq.zipWithIndex.map { case (kind, index) =>
      SplitText(BoundReference(index, kind, nullable = true))
    })

    def write(key: InternalRow, name: NameBuffer): Unit = {
      val row = texts(key)
      name.clear()
      var part = 0
      while (part < types.length) {
        if (row.isNullAt(part)) name.addNull() else name.add(row.getUTF8String(part))
        part += 1
      }
    }
  }
}
