package io.tidemark.core.splits

import java.io.ObjectOutputStream
import java.lang.invoke.MethodHandles
import java.nio.ByteOrder.LITTLE_ENDIAN
import java.nio.charset.StandardCharsets.UTF_8
import java.util.Arrays

import io.tidemark.core.bytes.{ByteReader, ByteWriter, KeyedHash}

/** Names of splits, numbered from 0 in the order in which they came.
  *
  * A name is a row of texts, one for each expression that the input is split by; any of them may be null. All of them are
  * in one array of bytes behind a hash table of open addressing, which is made when a name is first looked up. Nothing else is
  * allocated, so a million short names take some 25 MB. Names are only ever added. While none is, any thread may read.
  *
  * @param most bytes of all names together
  */
final class SplitNameTable private (
    private var bytes: Array[Byte],
    private var ends: Array[Int],
    private var count: Int,
    most: Int,
    @transient @volatile private var table: Array[Int])
    extends Serializable {

  def this(most: Int = SplitNameTable.MostBytes) = this(new Array[Byte](64), new Array[Int](8), 0, most, null)

  // The first `shared` names lie in arrays that another table also uses, so they must not be moved.
  @transient private var shared = 0

  def size: Int = count

  /** The number of a name; -1 if the table does not have it. */
  def find(name: Array[Byte], from: Int, until: Int): Int = {
    val places = hashed
    places(place(places, name, from, until, SplitNameTable.hash(name, from, until))) - 1
  }

  def find(name: Array[Byte]): Int = find(name, 0, name.length)

  /** The number of a name, which is added if the table does not have it.
    * @throws SplitNameTable.TooLong when there is no room for it
    */
  def add(name: Array[Byte], from: Int, until: Int): Int =
    add(name, from, until, SplitNameTable.hash(name, from, until))

  private def add(name: Array[Byte], from: Int, until: Int, hash: Int): Int = {
    val places = hashed
    val at = place(places, name, from, until, hash)
    if (places(at) > 0) places(at) - 1
    else {
      append(name, from, until)
      places(at) = count
      if (count * 2 > places.length) table = null
      count - 1
    }
  }

  def add(name: Array[Byte]): Int = add(name, 0, name.length)

  /** Adds some names of another table, which are not copied in between. It passes over them several times, so that the
    * processor fetches the memory of many names at the same time.
    *
    * @param from the first of them; @param many how many, at most [[SplitNameTable.Together]]
    * @param numbers is filled with their numbers here; @param places is overwritten
    * @throws SplitNameTable.TooLong when there is no room for all of them
    */
  private[splits] def addAll(
      that: SplitNameTable,
      from: Int,
      many: Int,
      numbers: Array[Int],
      places: Array[Int]): Unit = {
    var i = 0
    while (i < many) {
      places(i) = SplitNameTable.hash(that.bytes, that.start(from + i), that.ends(from + i))
      i += 1
    }
    val table = hashed
    val mask = table.length - 1
    i = 0
    while (i < many) {
      numbers(i) = table(places(i) & mask)
      i += 1
    }
    i = 0
    while (i < many) {
      // An empty place has no name; name 0 serves, because only the memory access counts.
      val probable = math.max(numbers(i) - 1, 0)
      numbers(i) = start(probable)
      i += 1
    }
    // This read only warms the cache; the result is stored so that the JIT keeps it.
    val last = bytes.length - 1
    i = 0
    while (i < many && last >= 0) {
      numbers(i) = bytes(math.min(numbers(i), last)).toInt
      i += 1
    }
    i = 0
    while (i < many) {
      numbers(i) = add(that.bytes, that.start(from + i), that.ends(from + i), places(i))
      i += 1
    }
  }

  /** Makes room for this many names, so that they are not placed again and again as their number grows. */
  private[splits] def reserve(size: Int): Unit =
    if (size > count && (table == null || size.toLong * 2 > table.length)) table = hashAll(size)

  /** The bytes of a name, as [[SplitNameTable.encode]] gave them. */
  def encoded(number: Int): Array[Byte] = Arrays.copyOfRange(bytes, start(number), ends(number))

  /** The texts of a name. */
  def apply(number: Int): Seq[Option[String]] = SplitNameTable.decode(encoded(number))

  def copy(): SplitNameTable = {
    val places = table
    new SplitNameTable(bytes.clone(), ends.clone(), count, most, if (places == null) null else places.clone())
  }

  /** The same names in a table that changes independently. The arrays are copied when one of the tables has to change what
    * the other one has.
    */
  private[core] def sharing(): SplitNameTable = {
    shared = math.max(shared, count)
    val same = new SplitNameTable(bytes, ends, count, most, null)
    same.shared = Int.MaxValue
    same
  }

  /** Takes out the name that was added last, and returns it. */
  private[splits] def removeLast(): Array[Byte] = {
    val name = encoded(count - 1)
    val places = table
    if (places != null) {
      val mask = places.length - 1
      var at = SplitNameTable.hash(name, 0, name.length) & mask
      while (places(at) != count) at = (at + 1) & mask
      // No name has been placed after it, so no search passes over its place.
      places(at) = 0
    }
    count -= 1
    name
  }

  /** Adds a name that is known to be new, without a look-up: that is faster for many names. */
  def addNew(name: Array[Byte], from: Int, until: Int): Unit = {
    table = null
    append(name, from, until)
  }

  /** Whether the names of `that` are the first of these, under the same numbers. */
  def continues(that: SplitNameTable): Boolean = (that eq this) || that.count <= count && {
    val end = that.start(that.count)
    Arrays.equals(ends, 0, that.count, that.ends, 0, that.count) && Arrays.equals(bytes, 0, end, that.bytes, 0, end)
  }

  /** Writes the names from number `from` on: how many, the length of each, and the bytes of all. */
  private[core] def write(out: ByteWriter, from: Int): Unit = {
    out.unsigned((count - from).toLong)
    var number = from
    while (number < count) {
      out.unsigned((ends(number) - start(number)).toLong)
      number += 1
    }
    out.raw(bytes, start(from), start(count))
  }

  /** Writes the length of one name, and its bytes. */
  private[core] def writeOne(out: ByteWriter, number: Int): Unit = {
    out.unsigned((ends(number) - start(number)).toLong)
    out.raw(bytes, start(number), ends(number))
  }

  /** Adds the names that [[write]] wrote. */
  private[core] def read(in: ByteReader): Unit = {
    val lengths = Array.fill(in.count())(in.unsigned())
    lengths.foreach { length =>
      // A length that no file could hold is damage, which the reader finds.
      val name = in.slice(if (length > Int.MaxValue) -1 else length.toInt).restRaw()
      addNew(name, 0, name.length)
    }
  }

  private def start(number: Int): Int = if (number == 0) 0 else ends(number - 1)

  private def append(name: Array[Byte], from: Int, until: Int): Unit = {
    val at = start(count)
    if (until - from > most - at) throw new SplitNameTable.TooLong
    if (count < shared) {
      bytes = bytes.clone()
      ends = ends.clone()
      shared = 0
    }
    val end = at + until - from
    if (end > bytes.length) bytes = Arrays.copyOf(bytes, SplitNameTable.grown(bytes.length, end))
    if (count == ends.length) ends = Arrays.copyOf(ends, SplitNameTable.grown(ends.length, count + 1))
    System.arraycopy(name, from, bytes, at, until - from)
    ends(count) = end
    count += 1
  }

  private def hashed: Array[Int] = {
    if (table == null) table = hashAll(count)
    table
  }

  /** Where a name is in the table, or where it would be. */
  private def place(places: Array[Int], name: Array[Byte], from: Int, until: Int, hash: Int): Int = {
    val mask = places.length - 1
    var at = hash & mask
    while (places(at) > 0 && !isAt(places(at) - 1, name, from, until)) at = (at + 1) & mask
    at
  }

  private def isAt(number: Int, name: Array[Byte], from: Int, until: Int): Boolean =
    Arrays.equals(bytes, start(number), ends(number), name, from, until)

  private def hashAll(room: Int): Array[Int] = {
    val places = SplitNameTable.tableOf(room)
    val mask = places.length - 1
    var number = 0
    while (number < count) {
      var at = SplitNameTable.hash(bytes, start(number), ends(number)) & mask
      while (places(at) > 0) at = (at + 1) & mask
      places(at) = number + 1
      number += 1
    }
    places
  }

  private def writeObject(out: ObjectOutputStream): Unit = {
    bytes = Arrays.copyOf(bytes, start(count))
    ends = Arrays.copyOf(ends, count)
    out.defaultWriteObject()
  }
}

object SplitNameTable {

  /** The most bytes that all names may take together. An array that doubles can still hold them. */
  val MostBytes: Int = 1 << 30

  /** How many names one pass looks up. */
  private[splits] val Together: Int = 256

  /** All names together would take more bytes than they may. */
  final class TooLong extends RuntimeException("names of splits take too many bytes")

  /** The one split of an input that is not split. */
  val Whole: Array[Byte] = encode(Nil)

  /** A name as bytes: for each text a varint, 0 for null, else one more than its length in UTF-8, and the text. */
  def encode(texts: Seq[Option[String]]): Array[Byte] = {
    val out = new ByteWriter
    texts.foreach {
      case None => out.unsigned(0L)
      case Some(text) =>
        val utf8 = text.getBytes(UTF_8)
        out.unsigned(utf8.length + 1L)
        out.raw(utf8)
    }
    out.bytes
  }

  def decode(name: Array[Byte]): Seq[Option[String]] = {
    val in = new ByteReader(name, 0, name.length)
    Iterator
      .continually(())
      .takeWhile(_ => in.position < name.length)
      .map(_ => in.unsigned())
      .map(length => Option.when(length > 0)(in.slice((length - 1).toInt).rest()))
      .toVector
  }

  private val words = MethodHandles.byteArrayViewVarHandle(classOf[Array[Long]], LITTLE_ENDIAN)

  /** A name for people: one text as it is, several in brackets. A text that reads as null is in quotes. */
  def show(name: Seq[Option[String]]): String = name match {
    case Seq(text) => show(text)
    case several => several.map(show).mkString("[", ", ", "]")
  }

  private def show(value: Option[String]): String =
    value.fold("null")(text => if (ReadsAsNull.matcher(text).matches) s"\"$text\"" else text)

  private val ReadsAsNull = "\"*null\"*".r.pattern

  private[core] def hash(name: Array[Byte], from: Int, until: Int): Int = {
    val whole = (until - from) / 8
    val message = new Array[Long](whole + 1)
    var word = 0
    while (word < whole) {
      message(word) = words.get(name, from + 8 * word): Long
      word += 1
    }
    // As SipHash has it: what is left over, and the size in the upper bits, so that no name is the begin of another.
    var last = (until - from).toLong << 56
    var at = from + 8 * whole
    var shift = 0
    while (at < until) {
      last |= (name(at) & 0xffL) << shift
      shift += 8
      at += 1
    }
    message(whole) = last
    KeyedHash.of(message, 0, message.length).toInt
  }

  // At most half full.
  private def tableOf(count: Int): Array[Int] =
    new Array[Int](math.max(16, Integer.highestOneBit(math.max(count, 1)) << 2))

  private def grown(length: Int, needed: Int): Int =
    math.max(needed, math.min(length + (length.toLong >> 1) + 8, Int.MaxValue - 8).toInt)
}
