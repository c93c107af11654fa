"""Derive lengths.csv: how long real replies are, as quantiles; the replies themselves are not shipped.

    python performance/lengths.py ../shared/data/mmlupro/replies/*.jsonl.gz > performance/lengths.csv

Any files of JSON lines with a reply in each do. What the table is for is in latency.py.
"""

import argparse
import gzip
import json
import sys
from pathlib import Path
from statistics import fmean

from commandline import add_tiny
from latency import quantiles

HERE = Path(__file__).parent
SAMPLE = HERE.parent / "src" / "viva" / "benchmarks" / "infibench" / "sample" / "answers.jsonl"
SOURCE = "MMLU-Pro's evaluation repository (Apache-2.0), five-shot, chain of thought"
SHARES = (*(number / 100 for number in range(100)), 0.995, 0.999, 0.9999, 1.0)
"""Closer together at the end: a few replies are ten times as long as the others, and a run waits for them."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="*", metavar="REPLIES.jsonl[.gz]")
    parser.add_argument("--field", default="reply", metavar="NAME", help="of the reply in each line; default reply")
    parser.add_argument("--source", default=SOURCE, metavar="TEXT", help="of the replies, for the table's head")
    add_tiny(parser, files=[SAMPLE], field="text", source="The bundled sample of InfiBench")
    options = parser.parse_args()
    lengths = [length for path in options.files for length in _lengths(path, options.field)]
    if not lengths:
        parser.error("name at least one file that holds replies")
    print(f"# Characters of {len(lengths):,} replies of {len(options.files)} models: mean {fmean(lengths):.1f}.")
    print(f"# {options.source}; derived by lengths.py.")
    print("share,characters")
    for share, length in zip(SHARES, quantiles(lengths, SHARES), strict=True):
        print(f"{share:g},{length}")
    return 0


def _lengths(path: Path, field: str) -> list[int]:
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
        return [len(json.loads(line)[field] or "") for line in lines]


if __name__ == "__main__":
    sys.exit(main())
