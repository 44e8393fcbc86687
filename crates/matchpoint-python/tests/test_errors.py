import subprocess
import threading
import time
import _thread

import pytest

import matchpoint_mpi as mp


def error_of_command(command, *words):
    """Returns the error text of the command, without `error: ` and the usage."""
    done = subprocess.run([command, *words], capture_output=True, text=True)
    assert done.returncode != 0
    return done.stderr.removeprefix("error: ").split("\n\nFor more information")[0].split("\n\nUsage")[0].strip()


def test_missing_trace_has_error_of_command(command):
    with pytest.raises(mp.MatchpointError) as error:
        mp.analyze("traces/missing")
    assert str(error.value) == error_of_command(command, "analyze", "traces/missing")
    assert "\nhint: " in str(error.value)


def test_damaged_trace_raises_in_stream(tmp_path):
    import pyarrow
    import shutil

    folder = shutil.copytree("traces/lulesh-8", tmp_path / "lulesh-8")
    file = sorted(folder.glob("*.bin"))[1]
    content = file.read_bytes()
    middle = len(content) // 2
    file.write_bytes(content[:middle] + b"\xff" * 64 + content[middle + 64 :])
    with pytest.raises(Exception, match="cannot read '.*'") as error:
        pyarrow.table(mp.read_trace(folder))
    assert file.name in str(error.value)


@pytest.mark.parametrize(
    "words, call",
    [
        (["--engine=lisst"], dict(engines="lisst")),
        (["--engine=bins:m=3"], dict(engines=["bins:m=3"])),
        (["--arrivals=never"], dict(arrivals="never")),
        (["--loggp=X=1"], dict(loggp="X=1")),
    ],
)
def test_wrong_option_has_error_of_command(command, words, call):
    with pytest.raises(ValueError) as error:
        mp.analyze("traces/lulesh-8", **call)
    assert str(error.value) == error_of_command(command, "analyze", *words, "traces/lulesh-8")


def test_path_like_option_is_no_option():
    with pytest.raises(mp.MatchpointError, match="cannot read '--help'"):
        mp.analyze("--help")


def test_unwritable_page_has_hint(tmp_path):
    report = mp.analyze("traces/lulesh-8", engines="list")
    with pytest.raises(mp.MatchpointError, match="cannot write '.*missing/a.html'.*\nhint: create the folder"):
        report.to_html(tmp_path / "missing" / "a.html")


def test_interrupt_stops_work():
    timer = threading.Timer(0.5, _thread.interrupt_main)
    begin = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        mp.bench()  # minutes
    assert time.monotonic() - begin < 10


def test_other_threads_run_during_work():
    ticks = 0
    is_done = threading.Event()

    def count():
        nonlocal ticks
        while not is_done.wait(0.001):
            ticks += 1

    thread = threading.Thread(target=count)
    thread.start()
    begin = time.monotonic()
    mp.bench("list", "last:1024", budget=0.3)
    elapsed = time.monotonic() - begin
    is_done.set()
    thread.join()
    # If the work held the interpreter lock, the other thread could not run.
    assert ticks > 20 * elapsed
