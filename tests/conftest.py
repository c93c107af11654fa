"""Settings that all tests share."""

import gc
import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

import tiers
from servers.compiled import compile_once
from threads import use_one_thread

use_one_thread()
compile_once()

# Fixtures of every folder. Imported by name, each would be one more fixture, with processes of its own.
pytest_plugins = ("servers.fixtures", "servers.browser", "benchmarks.published")

# A shell's background job does not hear Ctrl-C, nor does what it starts; the commands here are to, as in a terminal.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine is no defect: how long reading takes is tested where it matters, with bounds of its own.
# The suite is to be quick, and to say the same of the same commit; VIVA_THOROUGH=1 looks at many more examples of every
# property, and at others each time.
settings.register_profile("viva", deadline=None, max_examples=50, derandomize=True)
settings.register_profile("quick", settings.get_profile("viva"), max_examples=10)
settings.register_profile("thorough", deadline=None, max_examples=500)
settings.load_profile("thorough" if os.environ.get("VIVA_THOROUGH") else "viva")


CONFIGURATION = pytest.StashKey["tempfile.TemporaryDirectory[str]"]()
LEFT_OUT = pytest.StashKey[Counter[str]]()
MODULES = pytest.StashKey[int]()
MANY_MODULES = 300
"""As many as a large library has: pandas, statsmodels, torch."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="leave out the slow tier")


def pytest_configure(config: pytest.Config) -> None:
    gc.disable()  # until all tests are collected: nothing of them is rubbish, and every worker looked through them
    # No test makes or reads the secret of the user who runs it: the tests have their own, which goes with them.
    config.stash[CONFIGURATION] = tempfile.TemporaryDirectory(prefix="viva-tests-")
    config.add_cleanup(config.stash[CONFIGURATION].cleanup)
    os.environ["VIVA_CONFIG"] = config.stash[CONFIGURATION].name
    if "PYTEST_XDIST_WORKER" not in os.environ:  # workers share what is dear to make, such as the charts' library
        os.environ["VIVA_CACHE"] = os.path.join(config.stash[CONFIGURATION].name, "cache")
    config.stash[LEFT_OUT] = Counter()
    if config.getoption("quick") and not os.environ.get("VIVA_THOROUGH"):
        os.environ["VIVA_QUICK"] = "1"
        settings.load_profile("quick")  # before tests are collected: some ask for a part of the examples
    for tier, description in tiers.DESCRIPTIONS.items():
        config.addinivalue_line("markers", f"{tier}: {description}")
    if config.getoption("numprocesses", None) and config.args_source is config.ArgsSource.TESTPATHS:
        compile_for_all_workers()


def compile_for_all_workers() -> None:
    """In a fresh clone every worker would compile all tests and rewrite their assertions, for five seconds each."""
    files = sorted(map(str, Path(__file__).parent.rglob("test_*.py")))
    if not sys.dont_write_bytecode and not any(Path(__file__).with_name("api").glob("__pycache__/test_*")):
        collecting = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-n0"]
        halves = [subprocess.Popen([*collecting, *files[at::2]], stdout=subprocess.DEVNULL) for at in range(2)]
        assert {half.wait() for half in halves} == {0}, "tests that cannot be collected"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what cannot run here, and count it."""
    quick = bool(config.getoption("quick"))
    kept, gone = [], []
    # Modules with torch first, so that few workers import it: five seconds of a processor.
    heavy = {item.path for item in items if item.get_closest_marker("torch")}
    for item in sorted(items, key=lambda item: item.path not in heavy):
        if not quick and tiers.is_part(item):
            gone.append(item)
        elif tier := tiers.left_out(item, quick=quick):
            config.stash[LEFT_OUT][tier] += 1
            gone.append(item)
        else:
            kept.append(item)
    if gone:
        config.hook.pytest_deselected(items=gone)
    items[:] = kept


@pytest.hookimpl(wrapper=True)
def pytest_sessionfinish(session: pytest.Session) -> Iterator[None]:
    """Tell pytest-xdist's controller, which collects nothing itself, what a worker left out."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_out"] = dict(session.config.stash[LEFT_OUT])
    yield
    keep_what_is_loaded(session.config)  # pytest looks for rubbish twice from here, and Python as it ends


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Every worker collects the same tests, so that the last one speaks for all."""
    if counts := getattr(node, "workeroutput", {}).get("left_out"):
        node.config.stash[LEFT_OUT] = Counter(counts)


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if not config.getoption("collectonly"):
        skipped = len(terminalreporter.stats.get("skipped", ()))
        terminalreporter.write_line(tiers.summary(config.stash[LEFT_OUT], skipped))


def pytest_collection_finish(session: pytest.Session) -> None:
    """The tests themselves are here to stay: they are not looked through for rubbish, not even once."""
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """So are libraries: with every model that is closed, rubbish was looked for in all of torch, for 0.25 s."""
    if len(sys.modules) > item.config.stash.get(MODULES, 0) + MANY_MODULES:
        keep_what_is_loaded(item.config)


def keep_what_is_loaded(config: pytest.Config) -> None:
    """Look for rubbish now, and never again among what is there now."""
    gc.collect()
    gc.freeze()
    config.stash[MODULES] = len(sys.modules)


@pytest.hookimpl(optionalhook=True)  # pytest-xdist's, which is not needed to run tests one by one
def pytest_xdist_auto_num_workers() -> int:
    """More than cores: tests wait for browsers, servers, kills and limits of time. With two for a core a fifth of the
    processors idled, in whatever order tests came.

    Not many more: each worker collects all tests, and imports most of what they test, for six seconds of a processor.
    """
    return 5 * len(os.sched_getaffinity(0)) // 2


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Neighbours go to one worker, for they share what is dear: a browser, an encoder, a world of hostile programs.

    pytest-xdist's own default deals tests out by turns, and every worker makes everything.
    """
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log) if config.getvalue("dist") == "load" else None
