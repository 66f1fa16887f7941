package org.apache.spark.sql.tidemark.status

import java.time.ZoneOffset

import io.tidemark.core.OriginName
import io.tidemark.core.why.Words
import io.tidemark.functions.withWatermark

import org.apache.spark.sql.tidemark.support.ReasonTest

/** Which fields the progress of a batch has. */
class ProgressFieldsSuite extends ReasonTest {
  private def fieldsOf(input: Int) = Seq(s"watermark_ms_input-$input", s"behind_ms_input-$input", s"idle_input-$input")

  test("the first ten inputs have fields, and any input is named that holds results") {
    val inputs = (1 to 12).map(n => bare("time") -> s"input-$n")
    val all = inputs.map { case ((_, df), key) => withWatermark(df, "time", "0 seconds", keyed(key)) }
    testStream(counted(all.reduce(_ union _), "time"))(
      Seq(StartStream()) ++ inputs.init.map { case ((stream, _), _) => AddData(stream, (1, at("12:00"))) } ++ Seq(
        ProcessAllAvailable(),
        progress { fields =>
          val ofInputs = fields.schema.fieldNames.filter(_.contains("input-")).toSeq
          assert(ofInputs === (1 to 10).flatMap(fieldsOf))
          assert(fields.getAs[String]("held_by") === "input-12")
        }): _*)
  }

  test("long names are cut and on one line, and each input keeps fields of its own") {
    val long = "x\n" + "k" * 10000
    val names = Seq(OriginName(long, 0), OriginName(long, 1), OriginName("orders", 0))
    val fields =
      ProgressFields.of(names, new Words(ZoneOffset.UTC))(None).columns.map(_._1).filter(_.startsWith("idle_"))
    assert(fields.distinct.size === 3 && fields.last === "idle_orders")
    assert(fields.forall(name => name.length < 130 && !name.contains('\n')), fields)
  }

  test("no field has a value if the query is not known after the batch") {
    val fields = ProgressFields.of(Seq(OriginName("input-1", 0)), new Words(ZoneOffset.UTC))(None)
    assert(fields.columns.map(_._1) === Seq("why", "held_by") ++ fieldsOf(1))
    assert(fields.values() === fields.columns.map(_ => null))
  }
}
