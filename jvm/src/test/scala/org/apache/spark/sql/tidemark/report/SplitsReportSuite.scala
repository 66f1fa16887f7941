package org.apache.spark.sql.tidemark.report

import java.util.UUID

import scala.jdk.CollectionConverters._

import io.tidemark.core.{OriginName, Watermark}
import io.tidemark.core.memory.{OriginRules, OriginState}
import io.tidemark.core.splits.{OnReturn, SplitNameTable, SplitState}
import io.tidemark.core.support.SplitList

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.scalatest.funsuite.AnyFunSuite

import org.apache.spark.sql.tidemark.columns.PlanOrigin
import org.apache.spark.sql.types.Metadata

/** Who is named in a report, of many splits. */
class SplitsReportSuite extends AnyFunSuite {

  private def report(splits: SplitList.One*): JsonNode = {
    val rules = OriginRules(0L, splitBy = Seq("device"), onReturn = OnReturn.CatchUp)
    val origin =
      PlanOrigin(UUID.randomUUID(), UUID.randomUUID(), OriginName("time", 0), "time", Metadata.empty, rules, None)
    val state = OriginState(SplitList.splits(splits, Watermark.Unknown))
    val mapper = new ObjectMapper
    val shown =
      new SplitsReport(origin, state, state.watermark, 0L, new NotedReport(origin, None, None), countsSilence = true)
    mapper.valueToTree[JsonNode](shown.fields.toMap.asJava).get("splits")
  }

  private def split(name: String, state: SplitState, clock: Option[Long], lastActive: Long = 0L) =
    SplitList.One(SplitNameTable.encode(Seq(Some(name))), state, clock, lastActive)

  private def names(of: JsonNode): Seq[String] = of.elements.asScala.map(_.get("name").asText).toSeq

  test("the report names the five splits that are farthest behind, the farthest first") {
    val splits = report((1 to 100).map(n => split(s"d$n", SplitState.Active, Some(1000L - n))): _*)
    assert(names(splits.get("worst")) === Seq("d100", "d99", "d98", "d97", "d96"))
    assert(splits.get("total").asInt === 100 && splits.get("active").asInt === 100)
  }

  test("the report lists a split without a clock as farthest behind") {
    val splits = report(split("a", SplitState.Active, Some(-5L)), split("b", SplitState.Active, None))
    assert(names(splits.get("worst")) === Seq("b", "a"))
    assert(splits.get("without_clock").asInt === 1)
    assert(splits.get("without_rows").asInt === 1)
    val states = splits.get("worst").elements.asScala.map(_.get("state").asText).toSeq
    assert(states === Seq("without_rows", "active"))
  }

  test("the report lists splits that hold the watermark before splits that are catching up") {
    val behind = (1 to 7).map(n => split(s"c$n", SplitState.CatchingUp, Some(n.toLong)))
    val splits = report(behind :+ split("a", SplitState.Active, Some(900L)): _*)
    assert(names(splits.get("worst")) === Seq("a", "c1", "c2", "c3", "c4"))
    assert(splits.get("catching_up").asInt === 7 && splits.get("active").asInt === 1)
  }

  test("the report lists idle splits separately, the latest to become idle first") {
    val splits = report((1 to 9).map(n => split(s"i$n", SplitState.Idle, Some(0L), lastActive = n.toLong)): _*)
    assert(names(splits.get("worst")) === Nil)
    assert(names(splits.get("idle_ones")) === Seq("i9", "i8", "i7", "i6", "i5"))
  }
}
