"""What the docstrings, the README and the tutorial show is run here."""

import doctest
import importlib
import os
import pathlib
import pkgutil
import re

import pytest

import samplenorm

SOURCE = pathlib.Path(os.environ["SAMPLENORM_SOURCE"])


@pytest.mark.parametrize("name", [module.name for module in pkgutil.iter_modules(samplenorm.__path__) if not module.name.startswith("_")])
def test_the_examples_of_docstrings_run(name):
    results = doctest.testmod(importlib.import_module(f"samplenorm.{name}"))
    assert results.failed == 0


def test_some_examples_are_there():
    finder = doctest.DocTestFinder(exclude_empty=True)
    tests = [test for name in ("conversion", "modules", "fusing", "draws") for test in finder.find(importlib.import_module(f"samplenorm.{name}"))]
    assert sum(bool(test.examples) for test in tests) >= 6


@pytest.mark.parametrize("page", ["README.md", "docs/python.md"])
def test_the_python_of_the_pages_runs(page):
    blocks = re.findall(r"```python\n(.*?)```", (SOURCE / page).read_text(), re.S)
    assert blocks
    names = {}
    for block in blocks:  # one after the other, as a reader would type them
        exec(compile(block, page, "exec"), names)


def test_every_public_name_is_documented():
    for name in samplenorm.__all__:
        if not name.startswith("__"):
            assert getattr(samplenorm, name).__doc__, name
