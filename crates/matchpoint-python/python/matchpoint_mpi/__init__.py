"""Message matching in MPI: analyze traces, try engines, predict costs.

Tables have the Arrow PyCapsule interface: pandas, polars, pyarrow and DuckDB read them without copies. Names of columns
contain the units: `_ns` nanoseconds, `_s` seconds, `_bytes` bytes. A share is a fraction from 0 to 1.

>>> import matchpoint_mpi as mp
>>> report = mp.analyze("traces/fillboundary-27", engines=["list", "hybrid"])
>>> report
<Report of 'traces/fillboundary-27': 27 ranks, 16869 calls>
>>> report.engines["engine"]
['list', 'hybrid']
"""

from __future__ import annotations

import os
from typing import Iterable, Sequence, Union

from . import _native
from ._native import Calls, Engine, Machine, MatchpointError, Prediction, Replay, Report, Table, Verdict, __version__
from ._progress import progress

__all__ = [
    "ANY_SOURCE",
    "ANY_TAG",
    "Calls",
    "Engine",
    "Machine",
    "MatchpointError",
    "Prediction",
    "Replay",
    "Report",
    "Table",
    "Verdict",
    "__version__",
    "analyze",
    "bench",
    "events",
    "predict",
    "read_trace",
    "replay",
]

#: `MPI_ANY_SOURCE` of events, engines and traces.
ANY_SOURCE = -1

#: `MPI_ANY_TAG` of events, engines and traces.
ANY_TAG = -1

Path = Union[str, "os.PathLike[str]"]


def analyze(
    path: Path,
    engines: Sequence[str] | str | None = None,
    arrivals: str | None = None,
    *,
    compare_arrivals: bool = False,
    loggp: str | None = None,
) -> Report:
    """Replays a trace, and returns the cost of matching: the command `matchpoint analyze`.

    `path`: a recorded trace, a folder of DUMPI files, or an .otf2 file.
    `engines`: names of engines; "all" adds every other engine. The verdict is about the first engine. Default: the
    engine that searches as the traced library does, then all.
    `arrivals`: "recorded", "timestamps", "simulated" or "at_wait". Default: the best that the trace permits.
    `compare_arrivals`: also replay under the other arrival orders.
    `loggp`: network of a simulated arrival order, such as "L=1500,o=400" (L, o, g in ns, G in ns per byte).

    >>> report = analyze("traces/lulesh-8", engines=["list", "hybrid"])
    >>> report.verdict.answer in ("no", "a_little", "yes", "cannot_tell")
    True
    >>> report.ranks.column_names[:3]
    ['rank', 'calls', 'sends']
    >>> analyze("traces/missing")
    Traceback (most recent call last):
        ...
    matchpoint_mpi.MatchpointError: cannot read 'traces/missing': ...
    """
    words = ["analyze", *_options(engine=_list(engines), arrivals=arrivals, loggp=loggp)]
    words += ["--compare-arrivals"] if compare_arrivals else []
    with progress("analyze") as notify:
        return _native.analyze([*words, "--", os.fspath(path)], notify)


def read_trace(path: Path, ranks: Sequence[int] | None = None) -> Calls:
    """Opens a trace as a table of all calls, with the columns of `matchpoint convert`.

    The trace is read when a library requests the data, in batches of some megabytes. Times are nanoseconds of the
    rank's clock. `ranks`: only the calls of these ranks.

    >>> calls = read_trace("traces/lulesh-8", ranks=[0])
    >>> calls.column_names[:6]
    ['rank', 'thread', 'call', 'function', 'enter_ns', 'leave_ns']
    """
    return _native.Calls(os.fspath(path), None if ranks is None else list(ranks))


def events(path: Path, rank: int, *, arrivals: str | None = None, limit: int = 2_000_000) -> Table:
    """Returns the posts, arrivals, probes and cancels of one rank of a trace, in the order of the replay.

    Columns: `event` (post, arrive, probe, matched_probe, cancel, retract), `id`, `context`, `source`, `tag`; -1 is a
    wildcard. `limit`: maximum number of events; more events are an error. An event needs about 200 bytes of memory.

    >>> table = events("traces/lulesh-8", rank=0)
    >>> table.column_names
    ['event', 'id', 'context', 'source', 'tag']
    """
    with progress("events") as notify:
        return _native.events(os.fspath(path), rank, arrivals, limit, notify)


def replay(events: object, engine: Engine | str) -> Replay:
    """Calls an engine with each event of a table, at full speed and batch by batch.

    `events`: any table with `__arrow_c_stream__` and the columns of `events`; `context` is optional. A null is an
    error, except the id of a probe.
    `engine`: an engine, or a name. The engine keeps its queues after the replay.
    Returns the time of the engine's calls in seconds, and a table of outcomes: `matched` is the id of the entry that
    matched or was found, and `done` is the result of a cancel or retract.

    >>> engine = Engine("list", counting=True)
    >>> result = replay(events("traces/lulesh-8", rank=0), engine)
    >>> result.events == len(result.outcomes)
    True
    >>> engine.posted_len, engine.unexpected_len
    (0, 0)
    """
    engine = Engine(engine) if isinstance(engine, str) else engine
    return _native.replay(events, engine, None)


def predict(
    what: str,
    path: Path,
    second: Path | None = None,
    *,
    machine: Machine | Path,
    processes: int | None = None,
    scale: Iterable[int] | None = None,
    ppn: int | None = None,
    sockets: int | None = None,
    topology: Path | None = None,
    partition: Path | None = None,
    order: str | None = None,
    value_bytes: int | None = None,
    index_bytes: int | None = None,
    engines: Sequence[str] | str | None = None,
    phases: int | None = None,
    arrivals: str | None = None,
    loggp: str | None = None,
) -> Prediction:
    """Predicts the cost of messages on a machine: the command `matchpoint predict`.

    `what`: "spmv" (a matrix and a vector), "spgemm" (two matrices), "amg" (all levels of a multigrid hierarchy) or
    "trace" (a traced application). `path`: a Matrix Market file, a folder of levels, or a trace. `second`: the second
    matrix of "spgemm".
    `machine`: a `Machine`, a machine file, or "blue-waters".
    `processes`: number of processes; `scale`: several numbers. `ppn`: processes per node.
    The other options are those of the command. Times are in seconds.

    >>> prediction = predict("trace", "traces/lulesh-8", machine="blue-waters", phases=2)
    >>> len(prediction.rows), prediction.rows["processes"]
    (2, [8, 8])
    >>> predict("amg", "levels", machine="blue-waters", processes=0)
    Traceback (most recent call last):
        ...
    ValueError: invalid value '0' for '--processes <P>': must be a number of processes from 1 to 1048576, such as 512
    """
    options = _options(
        machine=machine.path if isinstance(machine, Machine) else machine,
        processes=processes,
        scale=None if scale is None else ",".join(map(str, scale)),
        ppn=ppn,
        sockets=sockets,
        topology=topology,
        partition=partition,
        order=order,
        value_bytes=value_bytes,
        index_bytes=index_bytes,
        engine=_list(engines),
        phases=phases,
        arrivals=arrivals,
        loggp=loggp,
    )
    paths = [os.fspath(path)] + ([] if second is None else [os.fspath(second)])
    with progress(f"predict {what}") as notify:
        return _native.predict(["predict", what, *options, "--", *paths], notify)


def bench(
    engines: Sequence[str] | str | None = None,
    workloads: Sequence[str] | str | None = None,
    *,
    cold: bool = False,
    budget: float | None = None,
) -> Table:
    """Measures engines on the standard workloads: the command `matchpoint bench`.

    `engines`: names of engines; default: all. `workloads`: names with sizes ("last:1024"), or "trace:PATH"; default:
    all. `cold`: flush the caches before every call. `budget`: seconds per engine and workload.
    Columns: times in ns per matched message (one post and one arrival), entries compared per message, peak memory in
    bytes. `outcome` is "measured", "too_slow", "differs", "full" or "wrong".

    >>> table = bench(["list", "hybrid"], "last:16", budget=0.001)
    >>> table["engine"], table["n"]
    (['list', 'hybrid'], [16, 16])
    """
    words = ["bench", *_options(engine=_list(engines), workload=_list(workloads), budget=budget)]
    words += ["--cold"] if cold else []
    with progress("bench") as notify:
        return _native.bench(words, notify)


def _list(names: Sequence[str] | str | None) -> list[str] | None:
    """Returns a list of names, from a list or a single name."""
    return [names] if isinstance(names, str) else None if names is None else list(names)


def _options(**options: object) -> list[str]:
    """Returns the options of a command line. A list becomes several options of the same name."""
    words: list[str] = []
    for name, value in options.items():
        for item in value if isinstance(value, list) else [] if value is None else [value]:
            words.append(f"--{name.replace('_', '-')}={os.fspath(item) if isinstance(item, os.PathLike) else item}")
    return words
