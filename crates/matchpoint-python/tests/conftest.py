"""Tests of the package. They run in the root of the repository, because paths of traces are relative."""

import os
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def root(monkeypatch):
    monkeypatch.chdir(ROOT)
    return ROOT


@pytest.fixture(scope="session")
def command():
    """The command `matchpoint` of the same build."""
    return os.environ["MATCHPOINT_COMMAND"]
