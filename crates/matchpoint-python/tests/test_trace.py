import csv
import pathlib
import subprocess
import time

import pandas
import polars
import pyarrow
import pytest

import matchpoint_mpi as mp


def converted(command, trace, tmp_path):
    """Returns the rows of the CSV file that `matchpoint convert` writes."""
    subprocess.run([command, "convert", trace, "-o", tmp_path / "calls.csv"], check=True, capture_output=True)
    with (tmp_path / "calls.csv").open(newline="") as lines:
        return list(csv.reader(lines))


def cell(value):
    """Returns a value as the command writes it: spaces separate list elements, `-` is an unknown element."""
    if isinstance(value, list):
        return " ".join("-" if item is None else cell(item) for item in value)
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


@pytest.mark.parametrize("trace", ["traces/dumpi-testmpi-4", "traces/imb-mpi1-4", "traces/gather_fds-4"])
def test_rows_equal_convert(command, trace, tmp_path):
    header, *rows = converted(command, trace, tmp_path)
    calls = mp.read_trace(trace)
    assert calls.column_names == header
    table = pyarrow.table(calls)
    table.validate(full=True)
    assert [[cell(value) for value in row.values()] for row in table.to_pylist()] == rows


def test_libraries_read_calls():
    calls = mp.read_trace("traces/lulesh-8", ranks=[3, 5])
    frame = polars.DataFrame(calls)
    assert frame["rank"].unique().sort().to_list() == calls.ranks == [3, 5]
    assert len(pandas.DataFrame.from_arrow(calls)) == len(frame)
    assert frame.schema["requests"] == polars.List(polars.UInt32)
    assert (calls.num_ranks, calls.format) == (8, "DUMPI 13.0.0")


def readers():
    """Returns the number of reading threads of this process."""
    names = [thread.read_text().strip() for thread in pathlib.Path("/proc/self/task").glob("*/comm")]
    return names.count("matchpoint-read")


def wait_for_readers(number):
    until = time.monotonic() + 10
    while readers() != number and time.monotonic() < until:
        time.sleep(0.01)
    assert readers() == number


def test_closed_stream_stops_reading():
    calls = mp.read_trace("traces/gather_fds-4")
    assert len(list(pyarrow.RecordBatchReader.from_stream(calls))) > 2
    wait_for_readers(0)
    reader = pyarrow.RecordBatchReader.from_stream(calls)
    assert reader.read_next_batch().num_rows == 32768
    # The thread waits, because the test reads no second batch.
    wait_for_readers(1)
    del reader
    wait_for_readers(0)


def test_missing_rank_is_reported():
    with pytest.raises(ValueError, match="the trace has no calls of rank 8"):
        mp.read_trace("traces/lulesh-8", ranks=[8])
