"""The same answers graded here and on a Ray cluster of which a node is killed: is the scores file the same?

    python performance/scaleout.py                        # 14,700 answers, no program twice: an hour on two cores
    python performance/scaleout.py --shared               # 14,700 answers, the same programs of each model: minutes
    python performance/scaleout.py --models 1 --limit 5   # a part, in minutes

InfiBench's published GPT-4 answers (49 questions, 30 samples) stand for the replies of `--models` models. So that no
two models share a program, each model's programs get a comment of its own (`--shared` leaves them as they are: Viva
runs identical programs once). The cluster is Ray's own test cluster: a head without processors and `--nodes` nodes on
this machine, so it shows that nothing is lost, and not how much faster a larger one is.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import machine
from commandline import add_tiny, left_out

HERE = Path(__file__).parent
ANSWERS = "responses_gpt-4.jsonl.gz"
SAMPLE = HERE.parent / "src" / "viva" / "benchmarks" / "infibench" / "sample"
MARK = {"python": "#", "r": "#", "ruby": "#", "bash": "#"}
FENCE = re.compile(r"^```([A-Za-z+#]+)[ \t]*$", re.MULTILINE)
SLASHED = {"javascript", "js", "typescript", "ts", "java", "go", "cpp", "c++", "csharp", "c#", "dart", "kotlin"}


def main() -> int:
    options = _options()
    data = options.data or Path(os.environ.get("VIVA_DATA") or HERE.parent.parent / "shared" / "data")
    data = data / "infibench" if (data / "infibench").is_dir() else data
    if not _answers(data).exists():
        print(
            f"scaleout.py: {data} has no {ANSWERS}: name the folder of the published files with --data", file=sys.stderr
        )
        return 2
    if importlib.util.find_spec("ray") is None or not Path("/usr/bin/bwrap").exists():
        return left_out("everything: it needs Ray (make peers) and bubblewrap (make toolchains)")
    with tempfile.TemporaryDirectory(prefix="viva-scaleout-") as name:
        folder = options.keep or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        files, answers = _write_answers(data, folder, options)
        print(f"{answers:,} answers of {len(files)} models; {json.dumps(machine.describe())}", flush=True)
        local = _grade(files, data, folder / "local", "local")
        with _Nodes(options, local.programs) as nodes:
            far = _grade(files, data, folder / "ray", nodes.address, nodes)
            killed = nodes.killed
    same = local.scores == far.scores
    print(f"{'':<8}{'wall s':>10}{'programs':>10}  scores.jsonl")
    for one in (local, far):
        print(f"{one.name:<8}{one.wall:>10.1f}{one.programs:>10,}  {one.lines:,} lines, {one.scores}")
    print(f"a node was killed with {killed[0]:,} of {far.programs:,} programs done" if killed else "no node was killed")
    print("the scores files are the same, byte for byte" if same else "THE SCORES FILES DIFFER")
    return 0 if same and (killed or options.nodes == 1) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, metavar="DIR", help="the published files; VIVA_DATA, ../shared/data")
    parser.add_argument("--models", type=int, default=10, metavar="N", help="default 10")
    parser.add_argument("--limit", type=int, metavar="N", help="samples of each question; default all 30")
    parser.add_argument("--questions", type=int, metavar="N", help="questions, evenly spaced; default all 49")
    parser.add_argument("--shared", action="store_true", help="leave programs of several models the same")
    parser.add_argument("--nodes", type=int, default=3, metavar="N", help="default 3; one is killed")
    parser.add_argument("--cpus", type=int, default=1, metavar="N", help="processors that each node claims; default 1")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="leave the run folders there")
    add_tiny(parser, data=SAMPLE, models=2, limit=2, nodes=2)
    options = parser.parse_args()
    for name in ("models", "nodes", "cpus"):
        if getattr(options, name) < 1:
            parser.error(f"--{name} must be at least 1")
    return options


def _answers(data: Path) -> Path:
    return SAMPLE / "answers.jsonl" if data == SAMPLE else data / ANSWERS


def _write_answers(data: Path, folder: Path, options: argparse.Namespace) -> tuple[list[Path], int]:
    """A file for each model, as `viva grade` reads it."""
    path = _answers(data)
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    cases = list(dict.fromkeys(row["case"] for row in rows))
    if options.questions and options.questions < len(cases):
        cases = [cases[number * len(cases) // options.questions] for number in range(options.questions)]
    rows = [row for row in rows if row["case"] in set(cases) and row["sample"] < (options.limit or 1 << 30)]
    (folder / "questions.txt").write_text("".join(f"{case}\n" for case in cases), encoding="utf-8")
    files = []
    for model in range(options.models):
        files.append(folder / f"model-{model}.jsonl")
        with files[-1].open("w", encoding="utf-8") as out:
            for row in rows:
                text = row["text"] if options.shared or not model else _marked(row["text"], model)
                out.write(json.dumps({**row, "text": text}, ensure_ascii=False) + "\n")
    return files, options.models * len(rows)


def _marked(text: str, model: int) -> str:
    """A comment in the first line of every piece of code whose language is known."""

    def mark(found: re.Match[str]) -> str:
        language = found[1].lower()
        sign = MARK.get(language) or ("//" if language in SLASHED else "")
        return f"{found[0]}\n{sign} model {model}" if sign else found[0]

    return FENCE.sub(mark, text)


class _Graded:
    """How the run went."""

    def __init__(self, name: str, wall: float, run: Path) -> None:
        self.name = name
        self.wall = wall
        content = (run / "scores.jsonl").read_bytes()
        self.scores = hashlib.blake2b(content, digest_size=16).hexdigest()
        self.lines = content.count(b"\n")
        self.programs = _lines(run / "executions.jsonl")


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def _grade(files: list[Path], data: Path, run: Path, on: str, nodes: _Nodes | None = None) -> _Graded:
    """Grade all answers by one command. The node goes when half of the programs ran."""
    samples = 1 + max(json.loads(line)["sample"] for line in files[0].read_text(encoding="utf-8").splitlines())
    models = [part for file in files for part in ("--model", f"replay/{file}")]
    command = [
        *(Path(sys.executable).with_name("viva"), "run", "infibench", "--run", run, *models),
        *(() if data == SAMPLE else ("--data", data)),
        *("--questions", files[0].with_name("questions.txt"), "--samples", str(samples)),
        *("--backend", on, "--progress", "quiet"),
    ]
    started = time.monotonic()
    going = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=os.environ | {"RAY_USAGE_STATS_ENABLED": "0"})
    while going.poll() is None:
        time.sleep(0.2)
        if nodes and not nodes.killed and (done := _lines(run / "executions.jsonl")) > nodes.programs // 2:
            nodes.kill(done)
    if going.returncode not in (0, 3):
        raise SystemExit(f"scaleout.py: grading on {on} ended with {going.returncode}")
    return _Graded("local" if on == "local" else "ray", time.monotonic() - started, run)


class _Nodes:
    """Ray's test cluster."""

    def __init__(self, options: argparse.Namespace, programs: int) -> None:
        self.programs = programs
        """How many there are, as the local run found."""
        os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_USAGE_STATS_PROMPT_ENABLED="0")
        from ray.cluster_utils import Cluster

        small: dict[str, Any] = {"object_store_memory": 80 << 20}
        self._cluster = Cluster(
            initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, **small}
        )
        self._nodes = [self._cluster.add_node(num_cpus=options.cpus, **small) for _ in range(options.nodes)]
        self.address: str = self._cluster.address
        self.killed: list[int] = []

    def kill(self, done: int) -> None:
        """End a node and all that runs on it, without a word."""
        if len(self._nodes) > 1:
            self._cluster.remove_node(self._nodes.pop(), allow_graceful=False)
            self.killed.append(done)

    def __enter__(self) -> _Nodes:
        return self

    def __exit__(self, *_: object) -> None:
        self._cluster.shutdown()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("scaleout.py: interrupted", file=sys.stderr)
        sys.exit(130)
