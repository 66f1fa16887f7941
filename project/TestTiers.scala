import Fail.fail
import sbt._
import sbt.Keys._
import sbt.complete.DefaultParsers._

/** The tests in tiers: `spark42/tier check`, `tier test` and `tier more`, as `make` runs them.
  *
  * A suite says itself which of its tests are in the tier `more`: `io.tidemark.Tiered`.
  */
object TestTiers {

  // One more than there are processors: a micro-batch often waits, for a clock, a lock, or the disk.
  private val lanes = 3

  /** Seconds of the suites that take long, to begin with these; the order is all that counts. */
  private val seconds: Map[String, Int] = Map(
    // In tier more it waits for a minute in each of two tests, so it is begun first.
    "EventTimeWatermarkSuite" -> 120,
    "RestartSuite" -> 100,
    "StreamingDeduplicationSuite" -> 100,
    "FuzzSuite" -> 70,
    "ChainsSuite" -> 60,
    "EqualWatermarksJoinSuite" -> 60,
    "LeavingSuite" -> 40,
    "OneWatermarkJoinSuite" -> 40,
    "JoinSuite" -> 35,
    "StateStoresSuite" -> 35,
    "StockOperatorsSuite" -> 35,
    "MultiStatefulOperatorsSuite" -> 30,
    "EntryFilesSuite" -> 25,
    "CheckpointTroubleSuite" -> 25,
    "StatelessOperatorsSuite" -> 25,
    "RedefinitionSuite" -> 20,
    "StockAggregationsSuite" -> 20,
    "OriginModelSuite" -> 5,
    "PropagationProperties" -> 5)

  /** All tests of the core are in question for each tier; of the engine's those that `takes` names.
    *
    * @param sparks of Spark's own suites those that it runs, and how many tests each has
    * @param seconds a test that takes longer hangs
    */
  private final case class Tier(
      name: String,
      takes: String => Boolean,
      sparks: Map[String, Int],
      seconds: Int)

  private val tiers = Seq(
    // No Spark is started for these; the core's tests do not even have one on their class path.
    Tier("check", _.startsWith("io.tidemark."), Map.empty, seconds = 120),
    Tier("test", _ => true, Map("EventTimeWatermarkSuite" -> 31), seconds = 120),
    Tier("more", _ => true, SparkSuites.core + ("EventTimeWatermarkSuite" -> 4), seconds = 300))

  val tier = inputKey[Unit]("Tests of one tier: check, test, or more.")

  val settings: Seq[Setting[_]] = Seq(
    tier := {
      val name = (Space ~> tiers.map(t => literal(t.name)).reduce(_ | _)).parsed
      val chosen = tiers.find(_.name == name).get
      val log = streams.value.log
      val root = (ThisBuild / baseDirectory).value
      val ours = (Test / definedTestNames).value.filter(chosen.takes)
      val unpacked = SparkSuites.unpackedTests.value
      val sparks = chosen.sparks.map { case (suite, _) => SparkSuites.className(suite, unpacked) -> suite }
      val folder = target.value / "tiers" / name
      val coreSuites = (core / Test / definedTestNames).value
      val coreLanes = new Lanes(
        (core / target).value,
        (core / Test / fullClasspath).value.files,
        Core.javaOptionsOf(root, _),
        log)
      val engineLanes = new Lanes(
        target.value,
        unpacked +: (Test / fullClasspath).value.files,
        SparkTests.javaOptionsOf(root, _),
        log)
      val start = System.nanoTime()
      val ran = coreLanes.run(lanes, folder / "core", inOrder(coreSuites), name, chosen.seconds) ++
        engineLanes.run(lanes, folder / "engine", inOrder(ours ++ sparks.keys), name, chosen.seconds)
      val minutes = (System.nanoTime() - start) / 60e9

      log.info("The ten slowest suites:")
      ran.sortBy(-_.millis).take(10).foreach { r =>
        log.info(f"${r.millis / 1000.0}%7.1f s  ${simple(r.suite)} (${r.chosen} of ${r.tests} tests)")
      }
      val (theirs, own) = ran.partition(r => sparks.contains(r.suite))
      val outcomes = theirs.flatMap(r => r.outcomes.map(_.copy(suite = sparks(r.suite))))
      val problems =
        own.flatMap(judge) ++
          Differences.judge(
            chosen.sparks.keys.toSeq,
            chosen.sparks,
            outcomes,
            // The one suite of which a tier has a part has its tests counted.
            SparkSuites.listed.value.filter(d => !d.isOf("EventTimeWatermarkSuite") || outcomes.exists(d.isOf)))
      val (ownTests, sparksTests) = (own.map(_.chosen).sum, outcomes.count(!_.skipped))
      Counts.add(ownTests + sparksTests - problems.size, problems.size, ran.flatMap(_.outcomes).count(_.skipped))
      if (problems.nonEmpty)
        fail(problems.mkString(s"Tests of the tier `$name` did not go as they should:\n  ", "\n  ", ""))
      log.info(
        f"tier $name: $ownTests of our ${own.map(_.tests).sum} tests and $sparksTests of Spark's own, in $minutes%.1f minutes")
    })

  private def core = LocalProject("core")

  private def inOrder(suites: Seq[String]): Seq[String] =
    suites.sortBy(suite => (-seconds.getOrElse(simple(suite), 0), suite))

  /** Exactly the tests that are of this tier were run, and none failed. */
  private def judge(ran: Ran): Seq[String] = {
    val failed = ran.outcomes.filter(_.failed).map(o => s"${ran.suite}: failed: ${o.test}")
    val size = ran.outcomes.size
    failed ++ (if (size == ran.chosen) Nil else Seq(s"${ran.suite}: ran $size tests, where it has ${ran.chosen}"))
  }

  private def simple(suite: String): String = suite.split('.').last
}
