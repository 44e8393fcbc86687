import csv
import json
import subprocess
import sys

import pandas
import polars
import pyarrow
import pytest

import matchpoint_mpi as mp

TRACE = "traces/fillboundary-27"
#: The seed is fixed, because the number of compared entries depends on it.
ENGINES = ["list", "hybrid:seed=1"]

TABLES = ["calls", "depths", "engines", "limitations", "matrix", "ranks", "recommendations", "sites", "tags", "timeline"]

#: Endings of columns with measured times, which differ between runs.
MEASURED = ("match_ns", "match_cold_ns")


@pytest.fixture(scope="module")
def report():
    from conftest import ROOT

    return mp.analyze(ROOT / TRACE, engines=ENGINES, arrivals="simulated")


def text(value):
    """Returns a value as the command writes it to a CSV file."""
    return "" if value is None else str(value).lower() if isinstance(value, bool) else value


def test_tables_equal_csv_of_command(report, command, tmp_path):
    options = [word for name in ENGINES for word in ("--engine", name)]
    words = [command, "analyze", *options, "--arrivals", "simulated", "--csv", tmp_path / "csv", TRACE]
    subprocess.run(words, check=True, capture_output=True)
    names = {"depth": "depths"}
    files = sorted((tmp_path / "csv").iterdir())
    assert len(files) == 8
    for file in files:
        with file.open(newline="") as lines:
            expected = list(csv.DictReader(lines))
        table = getattr(report, names.get(file.stem, file.stem))
        assert len(table) == len(expected), file.name
        for row, other in zip(table.rows(), expected):
            assert list(row) == list(other)
            for name, value in row.items():
                if name.endswith(MEASURED):
                    continue
                if isinstance(value, float):
                    assert float(other[name]) == value, name
                else:
                    assert other[name] == str(text(value)), name


@pytest.mark.parametrize("name", TABLES)
def test_libraries_read_table(report, name):
    table = getattr(report, name)
    arrow = pyarrow.table(table)
    arrow.validate(full=True)
    frame = polars.DataFrame(table)
    assert arrow.column_names == frame.columns == table.column_names
    assert arrow.to_pylist() == frame.to_dicts() == table.rows()
    assert list(pandas.DataFrame.from_arrow(table).columns) == table.column_names
    assert pyarrow.schema(table) == arrow.schema


def test_duckdb_queries_table(report):
    import duckdb

    ranks = pyarrow.table(report.ranks)
    assert duckdb.sql("SELECT count(*), sum(calls) FROM ranks").fetchall() == [(27, sum(report.ranks["calls"]))]


def test_verdict_equals_json(report):
    verdict = json.loads(report.to_json())["verdict"]
    assert (report.verdict.answer, report.verdict.rank) == (verdict["answer"], verdict["rank"])
    assert report.verdict.text == str(report) == verdict["text"]
    assert report.verdict.share_low <= report.verdict.share_high


def test_recommendations_and_limitations_equal_json(report):
    advice = json.loads(report.to_json())["advice"]
    assert report.recommendations["title"] + report.limitations["title"] == [advised["title"] for advised in advice]
    assert len(report.recommendations) > 0


def test_html_is_written_and_returned(report, tmp_path):
    page = report.to_html(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text() == page
    assert page.lower().startswith("<!doctype html>")
    shown = report._repr_html_()
    assert shown.startswith("<iframe srcdoc=\"&lt;!") and "<script" not in shown


def test_table_has_rows_and_columns(report):
    ranks = report.ranks
    assert len(ranks) == ranks.num_rows == 27
    assert ranks[0] == ranks.rows()[0] and ranks[-1]["rank"] == 26
    assert ranks["rank"] == list(range(27))
    assert "20 of 27 rows" in ranks._repr_html_()
    with pytest.raises(IndexError, match="the table has 27 rows"):
        ranks[27]
    with pytest.raises(KeyError, match="the table has no column 'nothing', only rank, "):
        ranks["nothing"]


def test_table_outlives_report():
    table = polars.DataFrame(mp.analyze(TRACE, engines="list").engines)
    assert table["engine"].to_list() == ["list"]


FORKED = """
import multiprocessing, matchpoint_mpi as mp
def work(_):
    verdict = mp.analyze("traces/lulesh-8", engines="list").verdict
    return verdict.answer, len(mp.events("traces/lulesh-8", rank=0))
here = work(0)
with multiprocessing.get_context("fork").Pool(1) as pool:
    print(pool.map(work, [0]) == [here])
"""


def test_forked_process_analyzes():
    command = [sys.executable, "-W", "ignore", "-c", FORKED]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    assert (done.stdout, done.stderr) == ("True\n", "")
