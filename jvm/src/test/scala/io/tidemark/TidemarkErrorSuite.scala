package io.tidemark

import java.nio.file.{Files, Path, Paths}

import scala.jdk.CollectionConverters._

import io.tidemark.AsyncErrors._
import io.tidemark.CheckpointErrors._
import io.tidemark.NotedTimeErrors._
import io.tidemark.OrderErrors._
import io.tidemark.TidemarkError._

import org.scalatest.funsuite.AnyFunSuite

class TidemarkErrorSuite extends AnyFunSuite {

  private val root: Path = Paths.get(sys.props.getOrElse("tidemark.root", fail("tidemark.root is not set")))
  private val golden: Path = root.resolve("jvm/src/test/resources/golden/errors.txt")
  private def read(path: String): String = Files.readString(root.resolve(path))

  test("a name cannot write lines of its own into a sentence") {
    val name = "a\n2026-11-27 WARN\u001b[2J\u202e\u0000"
    val error = UnionInputLeftOut(0, Seq(name))
    assert(error.what.contains("'a\\n2026-11-27 WARN\\u001b[2J\\u202e\\u0000'"))
    assert(error.message === s"[TIDEMARK.${error.code}] ${error.what} Fix this by ${error.fix}.")
    assert(error.parameters("columns") === name)
    assert(NoLog("x" * 1000000).what.length < 30000)
  }

  /** One of each case, with values that its sentence has from nowhere else. */
  private val examples: Seq[TidemarkError] = Seq(
    SparkVersionMismatch("p1", "p2"),
    JavaTooOld(901),
    DuplicateKey("p1", Seq("p2", "p3")),
    DuplicateKey("p1", Seq("p2", "p2")),
    KeyTwice("p1", "p2", "p3"),
    KeyReadsAsAnother("p1", "p2"),
    UnionWatermarkPosition(901, "p1", 902, Seq("p2", "p3")),
    UnionInputLeftOut(901, Seq("p1", "p2")),
    InputsChangedPlaces("p1", Seq("p2", "p3")),
    EntryDamaged("p1", "p2"),
    EntryEmpty("p1"),
    EntryNewer("p1", 901, 902),
    EntryNotWritten("p1", "p2"),
    EntryTooLong("p1"),
    EntryMissing("p1", "p2"),
    NoLog("p1"),
    NoCut("p1", "p2", "p3"),
    QueryIsRunning("p1", "p2"),
    EntryChanged("p1", 902),
    EntryNotRead("p1", "p2"),
    BatchNotCommitted("p1", 901),
    UnknownKey("p1", "p2", Seq("p3", "p4")),
    UnknownSplit("p1", "p2", "p3", Seq("p4", "p5")),
    UnknownSplit("p1", "p2", "p3", Nil),
    SplitIsWriter("p1", "p2", "p3"),
    NoMarkLog("p1", "p2"),
    MarkChainBroken("p1", "p2", 7),
    MarkPastEnd("p1", "p2", "p3", "p4"),
    MarksDamaged("p1", "p2"),
    MarkFarAhead("p1", "p2", "p3"),
    MarksRemoved("p1"),
    MarkPositionMismatch("p1", "p2", "p3"),
    NotedSourceUnknown("p1", "p2"),
    NoKafkaConnector("p1"),
    NotedNeedsDelay("p1"),
    InvalidNoteTime("p1"),
    NoteTimeNotEventTime("p1", Nil),
    NoteTimeNotEventTime("p1", Seq("p2", "p3")),
    NoteTimeDropped("p1", "p2"),
    NoteTimeCompleteMode("p1"),
    NoteTimeNotPromised("p1", "p2"),
    NoteTimeSinkUnknown("p1", "p2"),
    MarkNotWritten("p1", "p2", "p3"),
    InvalidOrder("p1"),
    MisplacedOrder("p1"),
    OrderNotEventTime("p1", Seq("p2", "p3")),
    OrderOfUpdates("p1", "p2"),
    OrderStateEncoding("p1", "p2"),
    OrderStateChanged("p1"),
    OrderLost("p1", "p2", "p3"),
    OrderNotAdded("p1", "p2"),
    AsyncCallFailed("p1", "p2", 1, "p4"),
    AsyncCallFailed("p1", "p2", 3, "p4"),
    AsyncResultType("p1", "p2", "p3", "p4"),
    AsyncServiceFailed("p1", "p2"),
    AsyncSlotsStuck("p1", "p2", "p3", 4.5),
    AsyncKeySpread("p1", "p2"),
    AsyncOutsideCall(),
    AsyncOnConnect(),
    OrderSettingChanged("p1", 901, 902),
    InvalidSetting("p1", "p2", Seq("p3", "p4")),
    UnknownSetting("p1", "p2"),
    TakeoverFailed("p1", "p2"),
    WatermarkWentBack("p1", "p2"),
    UnboundedJoinSide("p1", "p2")(TidemarkConf.UnboundedJoinPolicy.Hold),
    UnboundedJoinSide("p1", "p2")(TidemarkConf.UnboundedJoinPolicy.Spark, Some("p3")),
    CompleteMode("p1"),
    TimeInsideState("p1", "p2"),
    LeftToSpark("p1", "p2"),
    PlanRefused(Seq("p1.", "p2.")),
    TooManySplits("p1", 901, 902),
    SplitNamesTooLong("p1"),
    SplitNotOrderable("p1", "p2", "p3"),
    SplitCollation("p1", "p2", "p3"),
    SplitNotOfOneRow("p1"),
    ExpectedSplitWidth(901, 902),
    ExpectedSplitType("p1", "p2", "p3"),
    InvalidEventTime("p1"),
    InvalidOption("p1", "p2", Seq("p3")),
    NoWatermark("p1", Nil),
    NoWatermark("p1", Seq("p2", "p3")),
    WatermarkNotRead("p1"),
    NotStreaming("p1"),
    WrongArguments("p1", "p2", 901),
    NotAReport("p1"))

  // By code, so that an error which moves to another file changes nothing.
  private def messages: String = examples.map(_.message).sorted.mkString("", "\n\n", "\n")

  if (sys.props.get("tidemark.golden").contains("write")) {
    val _ = Files.writeString(golden, messages)
  }

  test("every error message is the one that golden/errors.txt has") {
    assert(
      messages == Files.readString(golden),
      """Fix this by make golden and a look at the diff.""")
  }

  test("every error class has an example in this test") {
    val cases = """final case class (\w+)\(""".r.findAllMatchIn(ErrorSources.text)
    assert(cases.map(_.group(1)).toSet == examples.map(_.productPrefix).toSet)
  }

  test("every error message contains the values of all its parameters") {
    for (error <- examples; (name, text) <- error.parameters; value <- text.split(", "))
      assert(error.message.contains(value), s"$name of ${error.message}")
  }

  test("Spark receives the error code and the parameters as text") {
    val refused = new TidemarkException(UnionWatermarkPosition(901, "time", 902, Seq("shown", "clicked")))
    assert(refused.getCondition == "TIDEMARK.UNION_WATERMARK_POSITION")
    assert(
      refused.getMessageParameters.asScala ==
        Map("position" -> "901", "column" -> "time", "input" -> "902", "eventTimes" -> "shown, clicked"))
    assert(refused.getSqlState == null)
    // Spark Connect cannot send a null.
    assert(EntryNotWritten("file", null).parameters == Map("file" -> "file", "reason" -> "null"))
  }

  test("docs/errors.md lists the parameters of each code") {
    val sections =
      read("docs/errors.md").split("(?m)^###? ").map(section => section.takeWhile(_ != '\n') -> section).toMap
    for (error <- examples; name <- error.parameters.keys) {
      val listed = sections(error.code).linesIterator.find(_.startsWith("**Parameters**: ")).getOrElse("")
      assert(listed.contains(s"`$name`"), error.code)
    }
  }
}
