import pytest

import matchpoint_mpi as mp

ENGINES = ["list", "hybrid", "bins:n=4", "rank_array", "vector"]


@pytest.mark.parametrize("name", ENGINES)
def test_receive_takes_oldest_message(name):
    engine = mp.Engine(name)
    assert [engine.arrive(id, source=id % 2, tag=7) for id in range(4)] == [None] * 4
    assert engine.probe(tag=7) == 0
    assert engine.post(10, source=1, tag=7) == 1
    assert engine.post(11, source=mp.ANY_SOURCE, tag=7) == 0
    assert engine.matched_probe(source=1) == 3
    assert engine.entries("unexpected").rows() == [{"id": 2, "context": 0, "source": 0, "tag": 7}]


@pytest.mark.parametrize("name", ENGINES)
def test_contexts_are_separate(name):
    engine = mp.Engine(name)
    engine.post(1, context=5)
    assert engine.arrive(2, source=0, tag=0, context=6) is None
    assert engine.arrive(3, source=0, tag=0, context=5) == 1
    assert engine.close(6) == ([], [2])
    assert (engine.posted_len, engine.unexpected_len) == (0, 0)


def test_cancel_removes_receive_once():
    engine = mp.Engine("hybrid")
    engine.post(1, source=3)
    assert engine.cancel(1, source=3) is True
    assert engine.cancel(1, source=3) is False
    engine.arrive(2, source=3, tag=1)
    assert engine.retract(2, source=3, tag=1) is True


def test_wildcards_are_listed_as_minus_one():
    engine = mp.Engine("list")
    engine.post(1, source=mp.ANY_SOURCE, tag=9)
    engine.post(2, source=4, tag=mp.ANY_TAG)
    entries = engine.entries("posted")
    assert (entries["source"], entries["tag"]) == ([-1, 4], [9, -1])


def test_counting_engine_counts_attempts():
    engine = mp.Engine("list", counting=True)
    for id in range(10):
        engine.post(id, source=id, tag=0)
    assert engine.arrive(100, source=9, tag=0) == 9
    assert engine.attempts == (10, 0)
    assert mp.Engine("list").attempts == (0, 0)


def test_hint_refuses_wildcard():
    engine = mp.Engine("hybrid")
    engine.set_hints(no_any_source=True)
    with pytest.raises(mp.MatchpointError, match="the engine refused the call: the call breaks an assertion"):
        engine.post(1, source=mp.ANY_SOURCE)
    assert engine.post(1, source=0) is None


def test_unknown_source_is_set_later():
    engine = mp.Engine("hybrid")
    engine.post(1, source=2, tag=5)
    assert engine.arrive_unknown(7, tag=5) is None
    assert engine.readdress(7, tag=5, source=2) == 1
    with pytest.raises(ValueError, match="no message 7 with an unknown source"):
        engine.readdress(7, tag=5, source=2)


def test_failed_source_lists_pending_receives():
    engine = mp.Engine("list")
    engine.post(1, source=2)
    engine.post(2)
    assert engine.fail_source(2) == ([1], [2])


def test_invalid_arguments_raise_value_error():
    engine = mp.Engine("list")
    for call, words in [
        (lambda: engine.arrive(1, source=-1, tag=0), "a source is a rank from 0, not -1"),
        (lambda: engine.post(1, source=-2), "a source is a rank from 0, not -2"),
        (lambda: engine.arrive(1, source=0, tag=-1), "a tag is a number from 0, not -1"),
        (lambda: engine.entries("both"), "there is no queue 'both', only posted and unexpected"),
        (lambda: mp.Engine("bins:n=x"), "bins"),
    ]:
        with pytest.raises(ValueError, match=words):
            call()
