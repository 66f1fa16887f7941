package org.apache.spark.sql.tidemark.support

import java.io.File

/** Tests with a mark log in a folder of its own. */
trait MarkLogTest extends WatermarkTest {

  /** A position in a source whose offset is a number, as a mark has it. */
  protected def number(n: Long): String = s"""{"number":$n}"""

  protected def withLog(test: MarkLog => Unit): Unit =
    withTempDir(folder => test(new MarkLog(new File(folder, "_tidemark"))))

  protected def mark(add: => Unit): StreamAction = Execute(_ => add)
}
