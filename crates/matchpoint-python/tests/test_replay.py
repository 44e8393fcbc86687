import pathlib
import subprocess
import sys
import threading
import time
import _thread

import pandas
import polars
import pyarrow
import pytest

import matchpoint_mpi as mp

TRACE = "traces/lulesh-8"


@pytest.fixture(scope="module")
def events():
    from conftest import ROOT

    return mp.events(ROOT / TRACE, rank=0)


def played(events, name):
    """Returns the ids that single calls in Python return."""
    engine, matched = mp.Engine(name), []
    for row in events.rows():
        where = dict(source=row["source"], tag=row["tag"], context=row["context"])
        call = getattr(engine, row["event"])
        result = call(**where) if "probe" in row["event"] else call(row["id"], **where)
        matched.append(None if isinstance(result, bool) else result)
    return matched


@pytest.mark.parametrize("name", ["list", "hybrid"])
def test_replay_equals_single_calls(events, name):
    result = mp.replay(events, name)
    assert result.events == len(events) > 100
    assert result.outcomes["matched"] == played(events, name)
    assert 0 < result.seconds < 1


@pytest.mark.parametrize("library", [pandas.DataFrame.from_arrow, polars.DataFrame, pyarrow.table])
def test_replay_takes_tables_of_libraries(events, library):
    matched = mp.replay(events, "list").outcomes["matched"]
    assert mp.replay(library(events), "list").outcomes["matched"] == matched


def test_replay_takes_batches_and_dictionaries(events):
    table = pyarrow.table(events)
    table = table.set_column(0, "event", table["event"].dictionary_encode())
    reader = pyarrow.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=7))
    assert mp.replay(reader, "list").outcomes["matched"] == mp.replay(events, "list").outcomes["matched"]


# The threads of pyarrow's CSV reader read a file object of Python.
THREADED = """
import io, time, pyarrow.csv, matchpoint_mpi as mp
class Slow(io.BytesIO):
    def read(self, size=-1):
        time.sleep(0.01)
        return super().read(size)
file = Slow(b"event,id,source,tag\\n" + b"post,1,0,5\\n" * 20_000)
options = pyarrow.csv.ReadOptions(block_size=10_000)
print(mp.replay(pyarrow.csv.open_csv(file, read_options=options), "hybrid").events)
"""


def test_replay_takes_stream_of_python_threads():
    done = subprocess.run([sys.executable, "-c", THREADED], capture_output=True, text=True, timeout=30)
    assert (done.stdout, done.stderr) == ("20000\n", "")


def worker_threads():
    """Returns the threads of this process that run replays."""
    tasks = pathlib.Path("/proc/self/task").glob("*/comm")
    return {task.parent.name for task in tasks if task.read_text().strip() == "matchpoint-work"}


def test_one_thread_plays_all_batches():
    batch = pyarrow.record_batch({"event": ["post"], "id": [1], "source": [0], "tag": [0]})
    before, seen = worker_threads(), []

    def batches():
        for _ in range(20):
            seen.append(worker_threads() - before)
            yield batch

    mp.replay(pyarrow.RecordBatchReader.from_batches(batch.schema, batches()), "list")
    # At the first batch, the thread may not have its name yet.
    assert len(seen[1]) == 1
    assert seen[1:] == [seen[1]] * 19


def slow_replay(arrivals):
    """Returns arrivals, and an engine with 100,000 receives that are compared with each arrival."""
    engine = mp.Engine("list")
    table = polars.DataFrame({"id": range(100_000)}, schema={"id": polars.UInt64})
    fields = dict(source=polars.lit(0), tag=polars.lit(0))
    mp.replay(table.with_columns(event=polars.lit("post"), **fields), engine)
    fields["tag"] = polars.lit(1)
    return table.head(arrivals).with_columns(event=polars.lit("arrive"), **fields), engine


def test_interrupt_stops_replay():
    events, engine = slow_replay(60_000)
    timer = threading.Timer(0.1, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        mp.replay(events, engine)  # 5 s
    assert engine.unexpected_len < 30_000


def test_threads_run_during_wait_for_engine():
    events, engine = slow_replay(12_000)
    replay = threading.Thread(target=mp.replay, args=(events, engine))
    replay.start()
    time.sleep(0.1)
    waiting = threading.Thread(target=lambda: engine.posted_len)
    waiting.start()
    begin, ticks = time.monotonic(), 0
    while replay.is_alive():
        ticks += 1
        time.sleep(0.001)
    elapsed = time.monotonic() - begin
    waiting.join()
    assert elapsed > 0.05
    assert ticks > 20 * elapsed


def test_interrupt_in_stream_is_raised():
    def batches():
        yield pyarrow.record_batch({"event": ["post"], "id": [1], "source": [0], "tag": [0]})
        raise KeyboardInterrupt

    schema = next(batches()).schema
    with pytest.raises(KeyboardInterrupt):
        mp.replay(pyarrow.RecordBatchReader.from_batches(schema, batches()), "list")


def test_errors_name_row_of_table():
    table = pyarrow.table({"event": ["post", "post", "post", "sent"], "id": range(4), "source": [0] * 4, "tag": [0] * 4})
    reader = pyarrow.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=2))
    with pytest.raises(ValueError, match="row 3: there is no event 'sent'"):
        mp.replay(reader, "list")
    words = table.set_column(0, "event", pyarrow.array(["post", "post", "post", None]))
    reader = pyarrow.RecordBatchReader.from_batches(words.schema, words.to_batches(max_chunksize=2))
    with pytest.raises(ValueError, match="'event' has no value in row 3"):
        mp.replay(reader, "list")


@pytest.mark.parametrize("column", ["source", "tag", "context"])
def test_null_in_event_is_error(column):
    table = {"event": ["post"] * 2, "id": [1, 2], "source": [0, 0], "tag": [0, 0], "context": [0, 0], column: [0, None]}
    with pytest.raises(ValueError, match=f"row 1: the {column} has no value"):
        mp.replay(polars.DataFrame(table), "list")


def test_empty_dictionary_has_no_words():
    def table(rows):
        words = pyarrow.DictionaryArray.from_arrays(pyarrow.array([None] * rows, pyarrow.int32()), pyarrow.array([], pyarrow.string()))
        numbers = pyarrow.array([0] * rows, pyarrow.int64())
        return pyarrow.table([words, numbers, numbers, numbers], ["event", "id", "source", "tag"])

    assert mp.replay(table(0), "list").events == 0
    with pytest.raises(ValueError, match="the column 'event' has no value in row 0"):
        mp.replay(table(1), "list")


def test_engine_keeps_queues_between_replays():
    engine = mp.Engine("hybrid", counting=True)
    posts = polars.DataFrame({"event": ["post"] * 3, "id": [0, 1, 2], "source": [0, 1, -1], "tag": [5, 5, 5]})
    assert mp.replay(posts, engine).outcomes["matched"] == [None] * 3
    rest = polars.DataFrame(
        {"event": ["arrive", "cancel"], "id": [9, 0], "source": [1, 0], "tag": [5, 5]},
    )
    result = mp.replay(rest, engine)
    assert result.outcomes.rows() == [{"matched": 1, "done": None}, {"matched": None, "done": True}]
    assert engine.entries("posted")["id"] == [2]


@pytest.mark.parametrize(
    "table, error, words",
    [
        ({"event": ["post"], "id": [1], "source": [0]}, ValueError, "the events have no column 'tag'"),
        ({"event": ["send"], "id": [1], "source": [0], "tag": [0]}, ValueError, "there is no event 'send', only post"),
        ({"event": ["post"], "id": polars.Series([None], dtype=polars.UInt64), "source": [0], "tag": [0]}, ValueError, "row 0: post needs an id"),
        ({"event": ["arrive"], "id": [1], "source": [-1], "tag": [0]}, ValueError, "a source is a rank from 0"),
        ({"event": [3], "id": [1], "source": [0], "tag": [0]}, TypeError, "the column 'event' has the type Int64"),
        ({"event": ["post"], "id": [0.5], "source": [0], "tag": [0]}, TypeError, "'id' has the type Float64"),
    ],
)
def test_wrong_events_are_reported(table, error, words):
    with pytest.raises(error, match=words):
        mp.replay(polars.DataFrame(table), "list")


def test_objects_without_stream_are_reported():
    with pytest.raises(TypeError, match="'list' is not a table: it has no __arrow_c_stream__"):
        mp.replay([1, 2], "list")


def test_refused_event_is_named():
    engine = mp.Engine("list")
    engine.set_hints(no_any_tag=True)
    table = polars.DataFrame({"event": ["post"] * 2, "id": [1, 2], "source": [0, 0], "tag": [3, -1]})
    with pytest.raises(mp.MatchpointError, match="the engine refused event 1: the call breaks an assertion"):
        mp.replay(table, engine)


def test_missing_rank_is_reported():
    with pytest.raises(ValueError, match="the trace has no calls of rank 8"):
        mp.events(TRACE, rank=8)


def test_events_beyond_limit_are_error(events):
    assert len(mp.events(TRACE, rank=0, limit=len(events))) == len(events)
    limit = len(events) - 1
    with pytest.raises(mp.MatchpointError, match=f"rank 0 has more than {limit} events\nhint: "):
        mp.events(TRACE, rank=0, limit=limit)
