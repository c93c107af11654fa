"""What drawing a pool of a dump takes: memory of all processes, and MB a second beside a parser that does nothing.

    python performance/curation.py                                # a dump of 5 GB, made on the spot: about ten minutes
    python performance/curation.py --gigabytes 0.5 --rounds 3     # a smaller one, several times
    python performance/curation.py --only index                   # 60 million posts in memory, without a dump
    python performance/curation.py --keep Posts.xml --only write  # the dump alone

The dump is made up and always the same: rows of 1.6 kB on average, as Stack Overflow's are, with ids up to 80 million.
It is written to a temporary folder (TMPDIR) and removed. It reports and judges nothing but whether the pools are alike.
"""

import argparse
import importlib.util
import json
import random
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import date, timedelta
from pathlib import Path
from xml.sax.saxutils import escape

import machine
from commandline import add_tiny, left_out
from meter import descendants, metered

VIVA = Path(sys.executable).with_name("viva")
SAMPLED_S = 0.1
TIMEOUT_S = 7200
MAX_ID = 80_000_000
BODIES = 3000
BUFFER = 8 << 20
PARTS = ("write", "bare", "pool", "index")
TAGS = (
    *(
        "javascript|reactjs",
        "python|pandas",
        "java|spring",
        "c#|.net",
        "php|laravel",
        "html|css",
        "c++|qt",
        "r|ggplot2",
    ),
    *(
        "flutter|dart",
        "swift|ios",
        "kotlin|android",
        "bash|sed",
        "go",
        "ruby|ruby-on-rails",
        "rust",
        "vba|excel",
        "css",
    ),
    *("sql|mysql", "regex", "json", "haskell", "git", "docker", "python|numpy", "javascript|jquery", "node.js|express"),
)
WORDS = (
    *(
        "the",
        "value",
        "of",
        "a",
        "function",
        "that",
        "returns",
        "list",
        "error",
        "I",
        "tried",
        "to",
        "use",
        "this",
        "code",
    ),
    *(
        "<p>",
        "</p>\n\n",
        "<code>",
        "</code>",
        "<pre><code>",
        "</code></pre>\n",
        'x = "y"',
        "a && b",
        "i < n;",
        "\n    ",
    ),
    *(
        "foo(bar)",
        "object",
        "example",
        "however",
        "doesn't",
        "naïve",
        "数据",
        "=>",
        "return",
        "null",
        "https://example.org/q",
    ),
)
BARE = {
    "expat": """
import sys, pyexpat
parser = pyexpat.ParserCreate()
parser.ParseFile(open(sys.argv[1], "rb"))
""",
    "lxml": """
import sys, lxml.etree
for _, entry in lxml.etree.iterparse(sys.argv[1], events=("end",), huge_tree=True):
    entry.clear()
    while entry.getprevious() is not None:
        del entry.getparent()[0]
""",
    "lines": """
import sys
for line in open(sys.argv[1], "rb"):
    pass
""",
}
INDEX = """
import numpy, polars, sys
from viva.build.stackexchange.posts import Block, Index, Rules
from viva.build.stackexchange.view_line import Line
posts, most, size = int(sys.argv[1]), int(sys.argv[2]), 200_000
dice = numpy.random.default_rng(1)
index = Index(30)
for start in range(0, posts, size):
    ids = (numpy.arange(start, start + size) * (most / posts) + 1).astype("u4")
    columns = {"id": ids, "kind": numpy.where(dice.random(size) < 0.4, 1, 2).astype("u1"),
        "day": dice.integers(14_000, 19_500, size, "u2"), "views": dice.integers(0, 10**6, size, "u4"),
        "accepted": (dice.random(size) < 0.51).astype("u4"), "place": dice.integers(0, 30, size, "u1"),
        "parent": ids - dice.integers(0, min(start + 1, 10**6), size, "u4"), "liked": dice.random(size) < 0.7}
    index.add(Block(posts=polars.DataFrame(columns), lines=size, told=[], broken={}, closed=False))
steps = index.steps(Rules(3, Line(), 19_500, 0, 65_536), 17)
print(index.rows, index.questions, *(int(steps.counts[step].sum()) for step in ("accepted", "seen")))
"""


@dataclass
class Row:
    """One measured run."""

    part: str
    what: str
    round: int
    megabytes: float
    wall_s: float = 0.0
    cpu_s: float = 0.0
    pss_mb: float = 0.0
    """The most that all its processes had together."""
    load: float = 0.0
    others_busy: float = 0.0
    result: str = ""
    problem: str = ""

    @property
    def rate(self) -> float:
        """MB of the dump a second."""
        return self.megabytes / self.wall_s if self.wall_s else 0.0


def main() -> int:
    options = _options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that nothing is left running, or on the disk
    rows: list[Row] = []
    try:
        with tempfile.TemporaryDirectory(prefix="viva-curation-") as name:
            for row in _rows(options, Path(name)):
                rows.append(row)
                told = row.problem or f"{row.wall_s:.1f} s, {row.rate:.0f} MB/s, {row.pss_mb:.0f} MB of memory"
                print(f"{row.part}, {row.what}, round {row.round + 1}: {told}", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print("curation.py: interrupted", file=sys.stderr)
        return 130
    pools = {row.result for row in rows if row.part == "pool" and not row.problem}
    if len(pools) > 1:
        print("curation.py: the pools differ", file=sys.stderr)
    print(_table(rows))
    if options.json:
        report = {"machine": machine.describe(), "rows": [asdict(row) for row in rows]}
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    if any(row.problem for row in rows) or len(pools) > 1:
        return 1
    return left_out("lxml: not installed") if "lxml" in options.bare and not importlib.util.find_spec("lxml") else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gigabytes", type=float, default=5.0, metavar="N", help="of the dump; default 5")
    parser.add_argument("--rounds", type=int, default=1, metavar="N")
    parser.add_argument("--only", type=_parts, default=list(PARTS), metavar="A,B", help=f"of {','.join(PARTS)}")
    parser.add_argument("--jobs", type=_counts, default=sorted({1, machine.describe()["cores"]}), metavar="N,N")
    parser.add_argument(
        "--bare", type=_names, default=list(BARE), metavar="A,B", help=f"of {','.join(BARE)}; default all"
    )
    parser.add_argument("--posts", type=int, default=60_000_000, metavar="N", help="of index; default 60,000,000")
    parser.add_argument(
        "--keep", type=Path, metavar="FILE", help="write the dump there, and leave it; used if it is there"
    )
    parser.add_argument("--json", type=Path, metavar="OUT", help="also write every row there")
    add_tiny(parser, gigabytes=0.003, rounds=1, jobs=[1, 2], posts=300_000)
    options = parser.parse_args()
    if options.rounds < 1 or not 0 < options.gigabytes <= 1000:
        parser.error("at least one round, and more than 0 gigabytes")
    return options


def _parts(names: str, known: Sequence[str] = PARTS) -> list[str]:
    unknown = [name for name in names.split(",") if name not in known]
    if unknown:
        raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: there are {', '.join(known)}")
    return names.split(",")


def _names(names: str) -> list[str]:
    return _parts(names, tuple(BARE))


def _counts(numbers: str) -> list[int]:
    return [max(1, int(number)) for number in numbers.split(",")]


def _rows(options: argparse.Namespace, folder: Path) -> Iterator[Row]:
    dump = options.keep or folder / "Posts.xml"
    if {"write", "bare", "pool"} & set(options.only) and not dump.exists():
        row = Row("write", "the dump", 0, 0.0)
        with metered() as taken:
            write_dump(dump, int(options.gigabytes * 1e9))
        row.megabytes, row.wall_s, row.cpu_s = dump.stat().st_size / 1e6, taken.wall_s, taken.cpu_s
        yield row
    size = dump.stat().st_size / 1e6 if dump.exists() else 0.0
    for now in range(options.rounds):
        if "bare" in options.only:
            for name in (one for one in options.bare if one != "lxml" or importlib.util.find_spec(one)):
                yield _measured(Row("bare", name, now, size), [sys.executable, "-c", BARE[name], str(dump)])
        if "pool" in options.only:
            for jobs in options.jobs:
                out = folder / f"pool-{now}-{jobs}"
                command = [str(VIVA), "build", "infibench", "pool", str(dump), "--out", str(out), "--jobs", str(jobs)]
                row = _measured(Row("pool", f"{jobs} jobs", now, size), [*command, "--progress", "quiet"])
                if not row.problem:
                    row.result = json.loads((out / "build.json").read_text())["fingerprint"]
                yield row
        if "index" in options.only:
            yield _measured(
                Row("index", f"{options.posts:,} posts", now, 0.0),
                [sys.executable, "-c", INDEX, str(options.posts), str(MAX_ID)],
            )


def _measured(row: Row, command: Sequence[str]) -> Row:
    """Run a command, and see to what it takes."""
    ended, highest = threading.Event(), 0

    def watch() -> None:
        nonlocal highest
        while not ended.wait(SAMPLED_S):
            highest = max(highest, sum(map(_pss, descendants())))

    thread = threading.Thread(target=watch)
    with metered() as taken, tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, stdout=said, stderr=said)
        thread.start()
        try:
            code = process.wait(TIMEOUT_S)
        except BaseException:
            process.terminate()
            process.wait()
            raise
        finally:
            ended.set()
            thread.join()
        said.seek(0)
        last = said.read().decode(errors="replace").strip().splitlines()[-1:]
    row.wall_s, row.cpu_s, row.load, row.others_busy = taken.wall_s, taken.cpu_s, taken.load, taken.others_busy
    row.pss_mb = highest / 1024
    row.problem = f"exit code {code}: {''.join(last)[:300]}" if code else ""
    return row


def _pss(pid: int) -> int:
    """Kilobytes of a process, what it shares with others in proportion."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1])
    return 0


def write_dump(path: Path, size: int) -> None:
    """A Posts.xml of at least so many bytes, the same every time."""
    dice = random.Random(42)
    bodies = [_text(dice, int(min(30_000, dice.lognormvariate(6.6, 0.9)))) for _ in range(BODIES)]
    titles = [_text(dice, dice.randrange(20, 90)) for _ in range(BODIES)]
    first = date(2008, 7, 31)
    rows = size // 1600
    written, number = 0, 0
    with path.open("wb") as file:
        written += file.write(b'\xef\xbb\xbf<?xml version="1.0" encoding="utf-8"?>\r\n<posts>\r\n')
        asked = [1]
        while written < size:
            block = []
            for _ in range(2000):
                number += 1
                identity = 1 + number * (MAX_ID // (rows + rows // 4))
                day = first + timedelta(days=min(5700, number * 5700 // (rows + rows // 4)))
                body = bodies[dice.randrange(BODIES)]
                if dice.random() < 0.4:
                    asked.append(identity)
                    block.append(_question(dice, identity, day, body, titles[dice.randrange(BODIES)]))
                else:
                    parent = asked[-1 - min(len(asked) - 1, int(dice.expovariate(0.2)))]
                    block.append(
                        f'  <row Id="{identity}" PostTypeId="2" ParentId="{parent}" CreationDate="{day}T11:55:26.880" '
                        f'Score="{int(dice.expovariate(0.4))}" Body="{body}" OwnerUserId="{dice.randrange(10**7)}" '
                        f'LastActivityDate="{day}T11:55:26.880" CommentCount="0" ContentLicense="CC BY-SA 4.0" />\r\n'
                    )
            written += file.write("".join(block).encode())
            del asked[:-1000]
        file.write(b"</posts>")


def _question(dice: random.Random, identity: int, day: date, body: str, title: str) -> str:
    tags = escape("".join(f"<{tag}>" for tag in dice.choice(TAGS).split("|")))
    accepted = f'AcceptedAnswerId="{identity + 1}" ' if dice.random() < 0.51 else ""
    return (
        f'  <row Id="{identity}" PostTypeId="1" {accepted}CreationDate="{day}T21:42:52.667" '
        f'Score="{dice.randrange(20)}" '
        f'ViewCount="{int(dice.lognormvariate(7.5, 1.8))}" Body="{body}" OwnerUserId="{dice.randrange(10**7)}" '
        f'LastEditorUserId="{dice.randrange(10**7)}" LastEditDate="{day}T05:07:26.033" '
        f'LastActivityDate="{day}T05:07:26.033" Title="{title}" Tags="{tags}" AnswerCount="3" CommentCount="4" '
        'ContentLicense="CC BY-SA 4.0" />\r\n'
    )


def _text(dice: random.Random, length: int) -> str:
    """About so many characters of prose and code, as an attribute has them."""
    words: list[str] = ["naïve", "数据"] if dice.random() < 0.15 else []
    left = length
    while left > 0:
        words.append(dice.choice(WORDS))
        left -= len(words[-1]) + 1
    return escape(" ".join(words), {'"': "&quot;", "\n": "&#xA;", "\r": "&#xD;"})


def _table(rows: Sequence[Row]) -> str:
    lines = ["part   what               wall s   CPU s   MB/s   memory MB   load   others' cores"]
    for row in rows:
        lines.append(
            f"{row.part:<6} {row.what:<18} {row.wall_s:6.1f}  {row.cpu_s:6.1f}  {row.rate:5.0f}   {row.pss_mb:9.0f}   "
            f"{row.load:4.1f}   {row.others_busy:5.1f}"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
