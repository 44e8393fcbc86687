import json
import os
import signal
import subprocess
import time

import polars
import pytest

import matchpoint_mpi as mp


@pytest.fixture
def matrix(tmp_path):
    """A tridiagonal matrix of 64 rows."""
    entries = [(row, column) for row in range(1, 65) for column in (row - 1, row, row + 1) if 1 <= column <= 64]
    lines = ["%%MatrixMarket matrix coordinate real general", f"64 64 {len(entries)}"]
    path = tmp_path / "A0.mtx"
    path.write_text("\n".join(lines + [f"{row} {column} 1" for row, column in entries]) + "\n")
    return path


def test_spmv_equals_command(command, matrix):
    prediction = mp.predict("spmv", matrix, machine="blue-waters", scale=[4, 16])
    words = [command, "predict", "spmv", matrix, "-m", "blue-waters", "--scale", "4,16", "--json", "-"]
    document = json.loads(subprocess.run(words, check=True, capture_output=True).stdout)
    rows = prediction.rows
    assert rows["messages"] == [row["messages"] for row in document["rows"]] == [6, 30]
    assert rows["total_s"] == [row["time"]["total_s"] for row in document["rows"]]
    assert rows["queue_s"] == [row["time"]["queue_s"] for row in document["rows"]]
    assert prediction.engines["engine"] == [row["engine"] for row in document["engines"]]
    assert prediction.notes == document["notes"]
    assert len(prediction.processes) == 20
    assert polars.DataFrame(prediction.processes)["sent"].sum() == 36


def test_levels_are_rows(matrix):
    machine = mp.Machine("blue-waters")
    prediction = mp.predict("amg", matrix.parent, machine=machine, processes=8)
    assert prediction.rows["level"] == ["0", "0"]
    assert prediction.rows["operation"] == ["spmv", "spgemm"]
    assert all(time > 0 for time in prediction.rows["total_s"])


def test_trace_is_predicted_by_phase():
    prediction = mp.predict("trace", "traces/lulesh-8", machine="blue-waters", phases=3, engines=["list"])
    assert [name.split()[0] for name in prediction.rows["phase"]] == ["1", "2", "3"]
    assert prediction.engines["engine"][0] == "list"


def test_machine_has_parameters():
    machine = mp.Machine("machines/blue-waters.toml")
    parameters = {row["parameter"]: row["value"] for row in machine.parameters.rows()}
    assert parameters == {row["parameter"]: row["value"] for row in mp.Machine("blue-waters").parameters.rows()}
    assert 0 < parameters["off_node.eager.alpha_s"] < 1e-3
    assert set(machine.provenance) == {"host", "how", "mpi", "when", "who"}


def test_wrong_predictions_are_reported(matrix):
    with pytest.raises(mp.MatchpointError, match="cannot read 'missing.toml'"):
        mp.Machine("missing.toml")
    with pytest.raises(ValueError, match="unrecognized subcommand 'fft'"):
        mp.predict("fft", matrix, machine="blue-waters", processes=2)
    with pytest.raises(ValueError, match="figures and validate make no prediction"):
        mp.predict("figures", matrix.parent, machine="blue-waters")


def test_interrupt_after_prediction_is_raised(matrix):
    mp.predict("spmv", matrix, machine="blue-waters", processes=4)
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)
