"""Packages: imports of code, and the missing one that made a program fail."""

import re
from typing import Any

from rows import each_row, tables_beside
from viva.scorers.rubric.code import canonical
from viva.scorers.rubric.packages import _table, imported, missing_package, probe


@each_row(*tables_beside(__file__)["imports"])
def test_what_code_imports(language: str, code: str, names: Any) -> None:
    assert imported(language, code) == names


@each_row(
    # language, what was printed, what the test imports, the program → the package
    ("python", "ModuleNotFoundError: No module named 'torch'", (), "", "torch"),
    ("python", "ModuleNotFoundError: No module named 'torch.nn'", (), "", "torch"),
    ("python", "ModuleNotFoundError: No module named 'torchh'", (), "", ""),
    ("python", "ModuleNotFoundError: No module named 'ConfigParser'", (), "", ""),
    ("python", "ModuleNotFoundError: No module named 'own_lib'", ("own_lib",), "", "own_lib"),
    ("python", "ModuleNotFoundError: No module named 'own_lib'", ("own_lib.parts",), "", "own_lib.parts"),
    ("python", "ModuleNotFoundError: No module named 'own_libs'", ("own_lib",), "", ""),
    ("python", "ImportError: cannot import name 'wrong' from 'torch'", (), "", ""),
    ("python", "NameError: name 'np' is not defined", (), "try:\n    import numpy as np\nexcept ImportError:", "numpy"),
    ("python", "NameError: name 'np' is not defined", (), "np.zeros(3)", ""),
    ("python", "NameError: name 'xs' is not defined", (), "import numpy as np", ""),
    ("python", "AssertionError", ("torch",), "import torch", ""),
    ("r", "Error in library(dplyr) : there is no package called ‘dplyr’", (), "", "dplyr"),
    ("r", "there is no package called 'dplyrr'", (), "", ""),
    ("javascript", "Error: Cannot find module 'lodash/fp'", (), "", "lodash"),
    ("javascript", "Error: Cannot find module './lodash'", (), "", ""),
    ("javascript", "Error: Cannot find module 'lodashes'", (), "", ""),
    ("typescript", "Error: Cannot find package '@vue/test-utils' imported from /box", (), "", "@vue/test-utils"),
    ("java", "Main.java:1: error: package org.junit.jupiter.api does not exist", (), "", "org.junit.jupiter.api"),
    ("java", "Main.java:1: error: package org.jsonx does not exist", (), "", ""),
    ("go", 'main.go:2:8: cannot find package "github.com/pkg/errors" in any of:', (), "", "github.com/pkg/errors"),
    ("go", "no required module provides package github.com/lib/pq/oid; to add it", (), "", "github.com/lib/pq"),
    ("csharp", "error CS0246: The type or namespace name `Newtonsoft' could not be found.", (), "", "Newtonsoft"),
    ("csharp", "name `Json' does not exist in the namespace `System.Text'", (), "", "System.Text.Json"),
    ("csharp", "error CS0246: The type or namespace name `Strin' could not be found.", (), "", ""),
    ("cpp", "main.cpp:1:10: fatal error: Eigen/Dense: No such file or directory", (), "", "Eigen"),
    ("cpp", "main.cpp:1:10: fatal error: Eigenvalues.h: No such file or directory", (), "", ""),
    ("ruby", "cannot load such file -- active_support/all (LoadError)", (), "", "active_support"),
    ("bash", "No module named 'torch'", ("torch",), "", ""),
)  # fmt: skip
def test_the_package_over_whose_absence_a_program_failed(
    language: str, said: str, needed: tuple[()] | tuple[str], program: str, package: str
) -> None:
    assert missing_package(language, said, needed, program) == package


@each_row(*_table().items())
def test_the_table_is_sound(language, ecosystem) -> None:
    assert canonical(language) == language
    assert {"name"} <= set(re.compile(ecosystem.missing).groupindex)
    assert len(set(ecosystem.known)) == len(ecosystem.known)
    assert set(ecosystem.probed_by) <= set(ecosystem.known)
    assert all(ecosystem.probed_by.get(name, name) in probe(language, name) for name in ecosystem.known)
