package org.apache.spark.sql.tidemark

import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.TimeUnit

import org.openjdk.jmh.annotations._

import org.apache.spark.sql.tidemark.exec.clocks.{ClockLimits, SplitAccumulator, TaskClocks}
import org.apache.spark.sql.types.{DataType, LongType, StringType}
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.types.UTF8String

/** What a row costs that moves its split's clock, without Spark around it.
  *
  * Rows are read from arrays, as from Parquet's columns. Of neighboring rows each is of another split, or, in `runs`, a
  * hundred are of the same one.
  */
@State(Scope.Benchmark)
@BenchmarkMode(Array(Mode.AverageTime))
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 4, time = 1)
@Measurement(iterations = 4, time = 1)
@Fork(value = 1, jvmArgsAppend = Array("-Xmx2g", "--add-opens=java.base/java.nio=ALL-UNNAMED"))
class RowClocksBenchmark {
  import RowClocksBenchmark._

  @Param(Array("1000", "100000", "1000000"))
  var splits: Int = _

  @Param(Array("number", "scattered", "text", "uuid"))
  var keys: String = _

  @Param(Array("1"))
  var run: Int = _

  private var numbers: Array[Long] = _
  private var bytes: Array[Byte] = _
  private var ends: Array[Int] = _
  private var clocks: TaskClocks = _
  private var millis = 0L

  @Setup
  def setUp(): Unit = {
    val split = Array.tabulate(Rows)(row => ((row / run).toLong * 7919 % splits).toInt)
    numbers = split.map(one => if (keys == "scattered") one * 0x9e3779b97f4a7c15L else one.toLong)
    val texts =
      split.map(one => (if (keys == "uuid") f"0b7e2a90-5c1d-4f3e-9a77-$one%012d" else s"device-$one").getBytes(UTF_8))
    bytes = texts.flatten
    ends = texts.scanLeft(0)(_ + _.length)
    val kind: DataType = if (isNumber) LongType else StringType
    clocks = TaskClocks.Factory(new SplitAccumulator(Int.MaxValue), "time", Array(kind), ClockLimits.Unlimited).begin()
  }

  private def isNumber = keys == "number" || keys == "scattered"

  @Benchmark
  @OperationsPerInvocation(Rows)
  def note(): Unit = {
    millis += 1
    if (isNumber) noteNumbers() else noteTexts()
  }

  private def noteNumbers(): Unit = {
    var row = 0
    while (row < Rows) {
      val time = millis + row
      if (clocks.believes(time)) clocks.observe(numbers(row), time)
      row += 1
    }
  }

  private def noteTexts(): Unit = {
    var row = 0
    while (row < Rows) {
      val time = millis + row
      val from = ends(row)
      val text = UTF8String.fromAddress(bytes, Platform.BYTE_ARRAY_OFFSET.toLong + from, ends(row + 1) - from)
      if (clocks.believes(time)) clocks.observe(text.getBaseObject, text.getBaseOffset, text.numBytes, time)
      row += 1
    }
  }
}

object RowClocksBenchmark {
  final val Rows = 1 << 20
}
