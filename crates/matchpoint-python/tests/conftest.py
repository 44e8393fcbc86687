"""Tests of the package. They run in the root of the repository, because paths of traces are relative."""

import os
import pathlib
import signal

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def root(monkeypatch):
    monkeypatch.chdir(ROOT)
    return ROOT


@pytest.fixture(autouse=True, scope="session")
def interrupts():
    """Enables SIGINT. Python ignores SIGINT if its parent does, as shells do for commands in the background."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def command():
    """The command `matchpoint` of the same build."""
    return os.environ["MATCHPOINT_COMMAND"]
