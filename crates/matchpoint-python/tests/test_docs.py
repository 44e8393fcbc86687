import ast
import collections.abc
import doctest
import inspect
import pathlib

import pytest

import matchpoint_mpi as mp
from matchpoint_mpi import _native

OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def test_examples_of_docstrings_hold():
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner(optionflags=OPTIONS)
    tests = finder.find(mp, "matchpoint_mpi", globs=dict(vars(mp)))
    for name in ("Engine", "Machine", "Table"):
        tests += finder.find(getattr(mp, name), name, module=False, globs={})
    for test in tests:
        runner.run(test)
    assert runner.summarize(verbose=False).failed == 0
    assert runner.tries > 30


@pytest.mark.parametrize("name", mp.__all__)
def test_public_names_have_docstrings(name):
    value = getattr(mp, name)
    assert isinstance(value, (int, str)) or value.__doc__


def stubs():
    """Yields the names of classes and functions in the stub file, with the members of each class."""
    tree = ast.parse((pathlib.Path(mp.__file__).parent / "_native.pyi").read_text())
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            members = {of.name for of in node.body if isinstance(of, ast.FunctionDef)}
            yield node.name, members
        elif isinstance(node, ast.FunctionDef):
            yield node.name, None


def test_stubs_have_all_members():
    listed = dict(stubs())
    found = {name for name in vars(_native) if not name.startswith("_")}
    assert set(listed) == found
    for name, members in listed.items():
        if members is not None and name != "MatchpointError":
            names = {of for of in vars(getattr(_native, name)) if not of.startswith("__")}
            assert {of for of in members if not of.startswith("__")} == names, name


def test_signatures_show_default_values():
    functions = [of for of in vars(_native).values() if callable(of)]
    functions += [of for name in mp.__all__ if isinstance(getattr(mp, name), type) for of in vars(getattr(mp, name)).values()]
    for function in filter(callable, functions):
        try:
            parameters = inspect.signature(function).parameters.values()
        except ValueError:
            continue
        assert all(of.default is not ... for of in parameters), function


def test_table_is_iterable():
    engine = mp.Engine("list")
    engine.post(1, source=0, tag=7)
    engine.post(2, source=0, tag=8)
    table = engine.entries("posted")
    assert isinstance(table, collections.abc.Iterable)
    assert list(table) == table.rows()
