import polars
import pytest

import matchpoint_mpi as mp


def test_bench_returns_cells():
    table = polars.DataFrame(mp.bench(["list", "hybrid"], ["last:16", "masks:16"], budget=0.01))
    assert table["engine"].to_list() == ["list", "hybrid"] * 2
    assert table["workload"].to_list() == ["last", "last", "masks", "masks"]
    assert set(table["outcome"]) == {"measured"}
    assert (table["ns_min"] <= table["ns_median"]).all()
    assert (table["samples"] > 0).all()


def test_recorded_workload_is_measured():
    table = mp.bench("hybrid", "trace:traces/lulesh-8", budget=0.01)
    assert table["outcome"] == ["measured"]


def test_unknown_workload_is_reported():
    with pytest.raises(ValueError, match="invalid value 'frist' for '--workload <NAME"):
        mp.bench("list", "frist")
