package io.tidemark.vectors

/** Which suite of the conformance file is run by what. */
object Suites {

  type Runner = Vector => Seq[Mismatch]

  /** For what is not here yet: windows, writers, and stock Spark's global rule. */
  val Later: Set[String] = Set(
    "hz.lateDrop",
    "hz.slidingWindow",
    "pravega.controller",
    "pravega.reader",
    "spark.global")

  val Now: Map[String, Runner] = Map(
    "hz.coalescer" -> HazelcastUnit.run,
    "hz.keyed" -> KeyedUnit.run,
    "hz.eventTimeMapper" -> MapperUnit.run,
    "hz.insertWatermarks" -> MapperUnit.runInputs,
    "hz.designDocs" -> HazelcastUnit.run,
    "hz.streamJoin.inner" -> JoinUnit.run,
    "hz.streamJoin.outer" -> JoinUnit.run,
    "derived.streamJoin" -> JoinUnit.run,
    "derived.keyed" -> KeyedUnit.runAnswers,
    "diff.hazelcast-vs-flink" -> (vector => HazelcastUnit.runAnswers(vector) ++ FlinkUnit.runAnswers(vector)),
    "hz.async" -> AsyncUnit.run,
    "hz.preserveOrder" -> OrderUnit.run,
    "flink.valve" -> FlinkUnit.run)

  /** Vectors that contradict the design, and why the design is right. */
  val Exceptions: Map[String, String] = Map(
    "hz-d-02" ->
      ("lets a column's watermark pass as soon as nothing older is buffered, though a row of the other input may still " +
        "match an older row that is yet to come; here a side's watermark waits for the bound of its state"))
}
