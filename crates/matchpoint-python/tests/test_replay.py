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
    """The outcomes of single calls in Python."""
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
        ({"event": [3], "id": [1], "source": [0], "tag": [0]}, TypeError, "the column 'event' has no words, but Int64"),
        ({"event": ["post"], "id": [0.5], "source": [0], "tag": [0]}, TypeError, "'id' has no integers, but Float64"),
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
    with pytest.raises(mp.MatchpointError, match="the engine refused event 1: it breaks an assertion"):
        mp.replay(table, engine)


def test_missing_rank_is_reported():
    with pytest.raises(ValueError, match="the trace has no calls of rank 8"):
        mp.events(TRACE, rank=8)


def test_events_beyond_limit_are_error(events):
    assert len(mp.events(TRACE, rank=0, limit=len(events))) == len(events)
    limit = len(events) - 1
    with pytest.raises(mp.MatchpointError, match=f"rank 0 has more than {limit} events\nhint: "):
        mp.events(TRACE, rank=0, limit=limit)
