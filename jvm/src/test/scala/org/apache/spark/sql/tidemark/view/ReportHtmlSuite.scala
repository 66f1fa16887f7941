package org.apache.spark.sql.tidemark.view

import java.nio.file.{Files, Path, Paths}

import scala.xml.{Elem, Node, XML}

import io.tidemark.VerdictTable

import org.scalatest.funsuite.AnyFunSuite

import org.apache.spark.sql.tidemark.support.ReportSample

/** What a report looks like as a part of a page. No Spark runs here.
  *
  * Write the golden files again with `make golden`.
  */
class ReportHtmlSuite extends AnyFunSuite {
  import ReportHtmlSuite._

  private val isWriting = sys.props.get("tidemark.golden").contains("write")
  private val folder: Path = Paths.get(sys.props("tidemark.root"), "jvm/src/test/resources/drawings")

  private def matches(name: String, markup: String): Unit = {
    val file = folder.resolve(name)
    // One element a line, so that a difference can be read.
    val lines = markup.replace("><", ">\n<") + "\n"
    if (isWriting) { val _ = Files.writeString(file, lines) }
    val _ = assert(lines === Files.readString(file))
  }

  private def words(of: ReportSample): String = wordsOf(ReportHtml.fragment(of.json))
  private def wordsOf(page: String): String = XML.loadString(page).text.replaceAll("\\s+", " ")

  test("a report of an input that holds results back matches its golden page") {
    matches("held.html", ReportHtml.fragment(ReportSample().json))
  }

  test("a report of splits matches its golden page") {
    matches("splits.html", ReportHtml.fragment(ReportSample(keys = 1, points = Some(3), splits = 4).json))
  }

  test("the drawing of a history matches its golden file") {
    matches("history.svg", ReportHtml.svg(ReportSample().json))
  }

  test("the splits of an input with noted time are called writers") {
    val noted = Paths.get(sys.props("tidemark.root"), "jvm/src/test/resources/golden/reports/noted.json")
    val text = wordsOf(ReportHtml.fragment(Files.readString(noted).replace("worst", "furthest")))
    assert(text.contains("6 writers, 4 active, 2 idle") &&
      text.contains("Writers of orders that the watermark waits for"))
    assert(!text.contains("last row"))
  }

  test("what is left out of the splits of inputs and of their writers is called by both names") {
    val noted = """{"noted": {}, "splits": {"total": 1}}"""
    val split = """{"split_by": ["device"], "splits": {"total": 1}}"""
    def text(inputs: String*) = wordsOf(ReportHtml.fragment(s"""{"inputs": [${inputs.mkString(", ")}]}"""))
    assert(text(Seq.fill(5)(noted): _*).contains("The writers of 1 input more are left out."))
    assert(text(Seq.fill(5)(noted) :+ split: _*).contains("The splits and writers of 2 inputs more are left out."))
    assert(text(split, noted).contains("1 split") && text(split, noted).contains("1 writer"))
  }

  test("in the list of queries, an input without a watermark is behind all others") {
    val json =
      """{"inputs": [{"key": "orders", "watermark_ms": 0, "max_event_time_ms": 60000}, {"key": "payments", "watermark_ms": null}]}"""
    val table = ReportList.table(Seq(ReportList.Row("#", "running", json)))
    assert(table.text.contains("payments, no watermark yet"))
    val known = json.replace("null", "-60000")
    assert(ReportList.table(Seq(ReportList.Row("#", "running", known))).text.contains("payments, 2 minutes"))
  }

  test("a page begins with the query and the sentence, also where no drawing is shown") {
    val text = words(ReportSample())
    assert(
      text.trim.startsWith("hourly, batch 20 Nothing comes out: aggregation #0 waits for input 1. Fix this by setting"))
  }

  test("what holds results back is marked on each edge to the sink by a word and not by its colour alone") {
    val holds = texts(XML.loadString(ReportHtml.fragment(ReportSample(
      keys = 3,
      operators = 2).json))).filter(_.endsWith(" holds"))
    // Four edges, and the legend of the lines.
    assert(holds.size === 5)
  }

  test("watermarks are above edges that go down, and below those that rise") {
    val svg = XML.loadString(ReportHtml.svg(ReportSample().json))
    val times = (svg \\ "text").filter(_.text.startsWith("12:")).take(4).map(text => (text \ "@y").text.toDouble)
    // The middle of each box: the sink and the aggregation are beside the union of two inputs.
    val (upper, between, lower) = (54.0, 87.0, 120.0)
    assert(times.count(_ == between - 6) === 2)
    assert(times.contains(upper - 6) && times.contains(lower + 13))
  }

  for ((code, word) <- Seq("FAR_AHEAD" -> "ahead", "ALL_LATE" -> "ahead", "CLOCK_FAR_AHEAD" -> "a clock is far ahead"))
    test(s"an input that ran ahead is marked as what it is and holds nothing: $code") {
      val json = ReportSample(keys = 3, operators = 2).json.replace("HELD_BY_INPUT", code)
      val (page, held) = (
        XML.loadString(ReportHtml.fragment(json)),
        XML.loadString(ReportHtml.fragment(ReportSample(
          keys = 3,
          operators = 2).json)))
      assert(!texts(page).exists(_.endsWith(" holds")))
      // Its own edge or its box, and the legend of the lines.
      assert(texts(page).count(_.endsWith(word)) === 2)
      assert(texts(page).contains(s"watermark, $word"))
      def dashed(page: Elem) = (page \\ "rect").count(rect => (rect \ "@stroke-dasharray").nonEmpty)
      assert(dashed(page) === 1 && dashed(held) === 4)
    }

  test("each code of an input that holds nothing is one that the engine has") {
    assert(Cause.others.keySet.subsetOf(VerdictTable.codes))
  }

  test("a plan names the day of its watermarks once, and at each of them if they are of several days") {
    val midnight = 1714521600000L // 2024-05-01T00:00:00Z
    def plan(zone: String, millis: Option[Long]*): Seq[String] = {
      val leaves = millis.map(out =>
        s"""{"operator": "withWatermark", "columns": [{"out_ms": ${out.fold("null")(_.toString)}}]}""")
      val json = s"""{"zone": "$zone", "plan": {"operator": "union", "children": [${leaves.mkString(", ")}]}}"""
      texts(XML.loadString(ReportHtml.svg(json)))
    }
    val heading = "The plan, and the watermark that each operator passes on"
    val one = plan("UTC", Some(midnight), Some(midnight + 3600000), None)
    assert(one.contains(s"$heading (times of 2024-05-01)"))
    assert(one.contains("00:00:00") && one.contains("01:00:00") && !one.contains("2024-05-01"))
    // The first of them is still of the day before in New York.
    for (texts <- Seq(
        plan("America/New_York", Some(midnight), Some(midnight + 8 * 3600000)),
        plan("UTC", Some(midnight), Some(4102444800000L)))) {
      assert(texts.contains(heading))
      assert(texts.count(_.matches(raw"\d{4}-\d\d-\d\d")) === 2)
    }
    assert(plan("UTC", Some(midnight), Some(4102444800000L)).contains("2100-01-01"))
    assert(plan("UTC", None).contains(heading))
  }

  for (points <- Seq(0, 1, 512)) test(s"a history of $points batches is drawn") {
    val text = words(ReportSample(points = Some(points)))
    assert(text.contains("No batch has ended yet in this run") === (points == 0))
    assert(text.contains("Event time over processing time") === (points > 0))
  }

  test("a report without a history says so, and is drawn otherwise") {
    val text = words(ReportSample(points = None))
    assert(text.contains("This report has no history"))
    assert(text.contains("aggregation #0"))
  }

  test("a report that has hardly anything is drawn") {
    for (json <- Seq("{}", """{"query": null, "plan": null, "inputs": 7, "history": {}, "why": []}""")) {
      assert(ReportHtml.fragment(json).startsWith("<div"))
      assert(ReportHtml.svg(json).startsWith("<svg"))
    }
  }

  test("times of the far future and nulls do not press the other lines into a corner") {
    val times = "\"max_event_time_ms\":["
    val json = ReportSample().json.replace(s"${times}1709294400000,1709294460000,", s"${times}4102444800000,0,")
    assert(json.contains("4102444800000"))
    // A tick of event time; processing time begins later.
    assert(ReportHtml.svg(json).contains(">11:55<"))
  }

  test("what is not a JSON object is refused") {
    for (json <- Seq("", "[]", "7", "{", "null"))
      assertThrows[IllegalArgumentException](ReportHtml.fragment(json))
  }

  test(
    "a query with 40 inputs, 2,310 splits each and 500 operators is drawn in less than 1 MB, and says what is left out") {
    val large = ReportSample(keys = 40, points = Some(512), splits = 2310, operators = 500, name = _ + "x" * 10000)
    // With such names alone the report has more than the function takes, but that is not a reason for a larger page.
    val page = ReportHtml.fragment(large.json)
    assert(page.length < 1000000)
    val text = wordsOf(page)
    assert(text.contains("The plan has 541 operators; a drawing has at most 60."))
    assert(text.contains("The lines are those of the 8 inputs furthest behind; 32 inputs more are left out."))
    assert(text.contains("the 50 furthest behind of 2,310"))
    assert(text.contains("The splits of 36 inputs more are left out."))
    assert(text.contains("400 operators more are left out."))
  }

  test("the lines of the most inputs that are drawn stay below 1 MB, with 512 batches") {
    assert(ReportHtml.svg(ReportSample(keys = 32, points = Some(512)).json).length < 300000)
  }

  for ((kind, text) <- hostile) test(s"names with $kind are shown as text, and are nothing else") {
    val sample = ReportSample(splits = 2, name = _ + text)
    for (markup <- Seq(ReportHtml.fragment(sample.json), ReportHtml.svg(sample.json))) {
      val page = XML.loadString(markup)
      assert(elements(page) === elements(XML.loadString(
        if (markup.startsWith("<svg")) ReportHtml.svg(ReportSample(splits = 2).json)
        else ReportHtml.fragment(ReportSample(splits = 2).json))))
      assertIsHarmless(page)
      assert(!markup.exists(c => Character.getType(c) == Character.FORMAT || (Character.isISOControl(c) && c != '\n')))
    }
  }

  test("a page has no script, loads nothing and names no address") {
    for (sample <- Seq(ReportSample(), ReportSample(points = None, splits = 60), ReportSample(keys = 40)))
      assertIsHarmless(XML.loadString(ReportHtml.fragment(sample.json)))
  }

  test("drawings are made without Spark and without unescaped markup") {
    val sources = Paths.get(sys.props("tidemark.root"), "jvm/src/main/scala/org/apache/spark/sql/tidemark/view")
    val files = Files.list(sources).toArray.map(file => Files.readString(file.asInstanceOf[Path]))
    assert(files.length >= 10)
    for (text <- files) {
      assert(!text.contains("Unparsed") && !text.contains("PCData"))
      assert(raw"import org\.apache\.spark".r.findFirstIn(text).isEmpty)
    }
  }

  /** Only elements and attributes that are known to do nothing. */
  private def assertIsHarmless(page: Elem): Unit = page.descendant_or_self.foreach {
    case element: Elem =>
      assert(Elements(element.label), element.label)
      element.attributes.foreach { attribute =>
        assert(Attributes(attribute.key), attribute.key)
        assert(!attribute.value.text.contains("//") && !attribute.value.text.contains("url("))
      }
    case _ =>
  }
}

object ReportHtmlSuite {
  private val hostile = Seq(
    "a script" -> "<script>alert(1)</script>",
    "an attribute" -> "\"><svg onload=alert(1)>",
    "the end of a section" -> "]]>",
    "an entity" -> "&lt;b&gt;&#x3c;",
    "text from right to left" -> "\u202egnp.exe",
    "ten thousand characters" -> "y" * 10000,
    "a NUL and other control characters" -> "\u0000\u0007\u001b[31m\n",
    "half a character" -> "\ud800")

  private val Elements = Set(
    "div",
    "p",
    "b",
    "ul",
    "li",
    "table",
    "caption",
    "tbody",
    "tr",
    "th",
    "td",
    "svg",
    "title",
    "g",
    "text",
    "path",
    "rect",
    "circle")

  private val Attributes = Set(
    "style",
    "viewBox",
    "width",
    "height",
    "role",
    "font-family",
    "font-size",
    "font-weight",
    "text-anchor",
    "transform",
    "x",
    "y",
    "rx",
    "cx",
    "cy",
    "r",
    "d",
    "fill",
    "fill-opacity",
    "stroke",
    "stroke-width",
    "stroke-opacity",
    "stroke-dasharray")

  private def elements(page: Elem): Seq[String] = page.descendant_or_self.collect { case element: Elem =>
    element.label
  }

  private def texts(page: Node): Seq[String] = (page \\ "text").map(_.text)
}
