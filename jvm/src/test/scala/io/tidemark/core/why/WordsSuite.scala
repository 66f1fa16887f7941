package io.tidemark.core.why

import java.time.ZoneOffset

import org.scalatest.funsuite.AnyFunSuite

/** Times, names and lengths of time in sentences. */
class WordsSuite extends AnyFunSuite {
  private val words = new Words(ZoneOffset.UTC)

  test("times are in the session's zone, with their offset") {
    val newYork = new Words(java.time.ZoneId.of("America/New_York"))
    assert(newYork.at(1700000000000L) === "2023-11-14T17:13:20-05:00")
    assert(newYork.at(1700000000001L) === "2023-11-14T17:13:20.001-05:00")
    assert(newYork.at(Long.MaxValue) === s"${Long.MaxValue} ms")
  }

  test("names are on one line, whatever is in them") {
    assert(words.name("a\nb\u202e\"\\\u0000") === "\"a\\nb\\u202e\\\"\\\\\\u0000\"")
    assert(words.name("\ud83d\ude00") === "\"\ud83d\ude00\"")
    assert(words.name("x" * 10000) === "\"" + "x" * 60 + "\"...")
  }

  test("a name in code is not cut, so that it can be pasted") {
    assert(Words.quoted("a\n\"b\\") === "\"a\\n\\\"b\\\\\"")
    assert(Words.quoted("x" * 10000) === "\"" + "x" * 10000 + "\"")
  }

  test("the lengths of options are exact") {
    assert(Words.exact(0) === "0 seconds")
    assert(Words.exact(1) === "1 ms")
    assert(Words.exact(1000) === "1 second")
    assert(Words.exact(600000) === "10 minutes")
    assert(Words.exact(5400000) === "1 hour 30 minutes")
    assert(Words.exact(86400000 + 1500) === "1 day 1.5 seconds")
    assert(Words.exact(368 * 86400000L) === "368 days")
  }

  test("lengths of time have their two largest units") {
    assert(Words.length(0) === "0 ms")
    assert(Words.length(999) === "999 ms")
    assert(Words.length(1500) === "1.5 seconds" && Words.length(1000) === "1 second")
    assert(Words.length(3600000) === "1 hour")
    assert(Words.length(2 * 86400000L + 3 * 3600000L + 5000) === "2 days 3 hours")
    assert(Words.length(86400000L + 5000) === "1 day")
  }
}
