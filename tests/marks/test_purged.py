"""A dead writer's marks are purged: a batch job that had read all its files goes on, and any other is refused."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from support.between import refused, unless
from support.marks import no_sync
from support.raising import raising

from tidemark import TidemarkError
from tidemark.marks import Cut, FilesPosition, Marks, MarkWriter, NumberPosition
from tidemark_marks._reading.ranges import FilesRange, between

pytestmark = pytest.mark.usefixtures(no_sync.__name__)


class Lake:
    """A mark log whose clock is set by hand, and a job that reads what came since its last cut."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.now = 1000
        self.stored: str | None = None

    @property
    def log(self) -> Marks:
        return Marks(self.folder, clock=lambda: self.now, max_ahead=None)

    def writer(self, name: str) -> MarkWriter:
        return self.log.writer(name)

    def purge(self) -> int:
        """Removes all that is older than the present."""
        self.now += 1000
        return self.log.purge(self.now)

    def new_files(self, time: int) -> tuple[str, ...]:
        """What the job reads now."""
        end = self.log.cut_at(time)
        found = between(Cut.from_text(self.stored), Cut.from_text(end.text), ())
        assert isinstance(found, FilesRange)
        self.stored = end.text
        return found.files


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


@pytest.fixture
def live(lake: Lake) -> MarkWriter:
    writer = lake.writer("live")
    writer.note_time(10, files=["l1"])
    return writer


def after_a_purge(lake: Lake, live: MarkWriter) -> None:
    """The dead are purged, and the one that lives has a new mark."""
    lake.now += 1000
    live.note_time(20, files=["l2"])
    lake.log.purge(lake.now)


def test_a_job_goes_on_when_a_dead_writer_that_it_had_read_is_purged(
    lake: Lake, live: MarkWriter
) -> None:
    lake.writer("dead").note_time(10, files=["d"])
    # It has said more since its last file, but has finished no other.
    lake.writer("dead").alive()
    assert lake.new_files(10) == ("d", "l1")
    lake.writer("dead").close()
    after_a_purge(lake, live)
    assert "dead" not in {mark.writer for mark in lake.log.read().marks}
    assert lake.new_files(20) == ("l2",)
    live.note_time(30, files=["l3"])
    assert lake.new_files(30) == ("l3",)


def test_an_object_that_goes_on_waits_no_more_for_a_writer_that_was_purged(
    lake: Lake, live: MarkWriter
) -> None:
    lake.writer("dead").note_time(10, files=["d"])
    log = lake.log
    assert log.is_complete(10)
    after_a_purge(lake, live)
    assert lake.log.is_complete(20)
    assert log.is_complete(20)
    # It comes back with an earlier time, and holds from then on.
    second_life = lake.writer("dead")
    live.note_time(40, files=["l3"])
    second_life.note_time(15, files=["d2"])
    assert log.is_complete(20) and not log.is_complete(21)
    assert [writer.writer for writer in log.waiting_for(40)] == ["dead"]
    second_life.note_time(30, files=["d3"])
    assert log.is_complete(30) and not log.is_complete(31)


def test_an_object_that_goes_on_is_told_of_another_kind_of_position_after_a_purge(
    lake: Lake, live: MarkWriter
) -> None:
    log = lake.log
    assert log.is_complete(10)
    live.close()
    lake.purge()
    assert not log.is_complete(20)
    lake.writer("new").note_time(20, NumberPosition(1))
    with pytest.raises(TidemarkError) as error:
        log.is_complete(20)
    assert error.value.code == "MARK_POSITION_MISMATCH"


def note_before_and_after_a_cut(lake: Lake) -> None:
    """A writer that lists a file before the job's cut, and another one behind it."""
    dead = lake.writer("dead")
    dead.note_time(10, files=["d1"])
    lake.new_files(10)
    dead.note_time(20, files=["d2"])


def test_files_that_were_noted_after_the_cut_and_purged_are_missed(
    lake: Lake, live: MarkWriter
) -> None:
    note_before_and_after_a_cut(lake)
    after_a_purge(lake, live)
    with raising("CUT_EXPIRED") as error:
        lake.new_files(20)
    assert "'dead'" in str(error.value)


def test_a_writer_that_came_and_went_between_two_cuts_is_missed(
    lake: Lake, live: MarkWriter
) -> None:
    lake.new_files(10)
    lake.writer("short").note_time(20, files=["s"])
    after_a_purge(lake, live)
    assert refused(lambda: lake.new_files(20)) == "CUT_EXPIRED"
    # A job that begins behind that continues.
    lake.stored = lake.log.cut_at(20).text
    assert lake.new_files(20) == ()


def test_a_writer_that_never_listed_a_file_hinders_nobody_when_it_is_purged(
    lake: Lake, live: MarkWriter
) -> None:
    lake.writer("idle").idle()
    lake.writer("none").note_time(15, files=[])
    lake.new_files(10)
    after_a_purge(lake, live)
    assert lake.new_files(20) == ("l2",)
    lake.stored = None
    assert lake.new_files(20) == ("l1", "l2")
    assert [file.name.split(".")[0] for file in lake.folder.glob("*.purged")] == ["none"]


def test_a_writer_that_comes_back_after_a_purge_goes_on_where_the_job_was(
    lake: Lake, live: MarkWriter
) -> None:
    lake.writer("w").note_time(10, files=["w1"])
    lake.new_files(10)
    after_a_purge(lake, live)
    lake.now -= 5000
    # The clock of its host runs behind, but a later life has a larger epoch.
    lake.writer("w").note_time(20, files=["w2"])
    assert lake.new_files(20) == ("l2", "w2")


def test_a_writer_that_comes_back_after_files_were_missed_does_not_hide_them(
    lake: Lake, live: MarkWriter
) -> None:
    writer = lake.writer("w")
    writer.note_time(10, files=["w1"])
    lake.new_files(10)
    writer.note_time(20, files=["w2"])
    after_a_purge(lake, live)
    lake.writer("w").note_time(30, files=["w3"])
    live.note_time(30, files=[])
    assert refused(lambda: lake.new_files(30)) == "CUT_EXPIRED"


def test_lines_that_were_damaged_before_the_purge_may_have_listed_files(
    lake: Lake, live: MarkWriter
) -> None:
    note_before_and_after_a_cut(lake)
    for file in lake.folder.glob("dead.*"):
        file.write_bytes(file.read_bytes()[:-2])
    after_a_purge(lake, live)
    assert refused(lambda: lake.new_files(20)) == "CUT_EXPIRED"


def test_a_new_reader_waits_for_what_was_purged_before_a_writer_came_back(
    lake: Lake, live: MarkWriter
) -> None:
    lake.writer("w").note_time(10, files=["w1"])
    after_a_purge(lake, live)
    lake.writer("w").note_time(20, files=["w2"])
    # No mark is left that lists the file of the first life among those with rows up to the time.
    read = FilesPosition(frozenset(["l1", "l2", "w2"]))
    assert lake.log.window(read).lower_millis is None
    assert lake.log.window(read, is_at_end=True).lower_millis == 20


@pytest.mark.parametrize("text", [b"", b"00000000 {}\n", b"what\n", b"\xff\n"])
def test_a_note_of_a_purge_that_cannot_be_read_promises_nothing(
    lake: Lake, live: MarkWriter, text: bytes
) -> None:
    lake.writer("dead").note_time(10, files=["d"])
    lake.new_files(10)
    after_a_purge(lake, live)
    (note,) = lake.folder.glob("dead.*.purged")
    note.write_bytes(text)
    assert refused(lambda: lake.new_files(20)) == "CUT_EXPIRED"
    note.unlink()
    assert refused(lambda: lake.new_files(20)) == "CUT_EXPIRED"


def test_cuts_that_were_stored_before_purges_were_noted_are_read(
    lake: Lake, live: MarkWriter
) -> None:
    dead = lake.writer("dead")
    dead.note_time(10, files=["d"])
    lake.stored = (
        f'{{"files":["d","l1"],"chains":{{"dead":{{"after":[{dead.epoch},-1],"last":[{dead.epoch},1]}},'
        f'"live":{{"after":[{live.epoch},-1],"last":[{live.epoch},1]}}}}}}'
    )
    after_a_purge(lake, live)
    assert lake.new_files(20) == ("l2",)


class History:
    """All files that writers have ever noted, each with the place of its mark."""

    def __init__(self) -> None:
        self.files: dict[str, dict[str, tuple[int, int]]] = {}

    def note(self, writer: MarkWriter, time: int, files: list[str]) -> None:
        writer.note_time(time, files=files)
        place = (writer.epoch, writer._number - 1)
        self.files.setdefault(writer.name, {}).update(dict.fromkeys(files, place))

    def before(self, cut: Cut) -> set[str]:
        """The files that a reader at a cut has read; all files of a writer that the cut does not have."""
        return {
            file
            for writer, files in self.files.items()
            for file, place in files.items()
            if writer not in cut.chains or place <= cut.chains[writer].last
        }


@pytest.mark.parametrize("seed", range(12))
def test_each_file_is_in_one_range_or_purged_marks_may_have_listed_more(
    tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    lake, history = Lake(tmp_path), History()
    writers: dict[str, MarkWriter] = {}
    read: set[str] = set()
    outcomes: list[str] = []
    for step in range(1, 120):
        lake.now += 10
        name, what = chance.choice(["live", "live", "a", "b", "c"]), chance.random()
        if what < 0.1:
            writers.pop(name, None)
        elif what < 0.6:
            if name not in writers:
                lake.now -= 300
                # The clock of its host is slow.
                writers[name] = lake.writer(name)
                lake.now += 300
            files = [f"{name}{step}-{n}" for n in range(chance.choice([0, 0, 1, 2]))]
            history.note(writers[name], step, files)
        elif what < 0.7:
            lake.log.purge(lake.now - chance.choice([20, 200]))
            there = {mark.writer for mark in lake.log.read().marks}
            writers = {name: writer for name, writer in writers.items() if name in there}
        else:
            outcomes.append(job(lake, history, read, step))
    assert "read" in outcomes


def job(lake: Lake, history: History, read: set[str], step: int) -> str:
    """A run of the job, whose files must be all behind its last cut. A job that is refused starts again."""
    end = unless(lambda: lake.log.cut_at(max(step - 10, 0)), "NO_CUT")
    if end is None:
        return "no cut"
    wanted = history.before(end) - read
    marks = lake.log.read().marks
    kept = {file for mark in marks for file in getattr(mark.position, "files", ())}
    found = unless(lambda: between(Cut.from_text(lake.stored), end, ()), "CUT_EXPIRED")
    if found is None:
        there = {mark.writer for mark in marks}
        # For a writer in the log, nothing says which of its purged marks have listed files.
        assert wanted - kept or any(
            end.chains[writer].after[1] >= 0 for writer in there & set(end.chains)
        )
    else:
        assert isinstance(found, FilesRange)
        assert set(found.files) == wanted
    lake.stored = end.text
    read |= wanted
    return "refused" if found is None else "read"
