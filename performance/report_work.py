"""The peers of a table over many scores: Polars and pandas, told to do only the means, in a process of their own.

python performance/report_work.py polars SCORES.jsonl     # what a table cannot be quicker than
python performance/report_work.py pandas SCORES.jsonl
"""

import sys
from pathlib import Path


def main() -> int:
    tool, path = sys.argv[1], Path(sys.argv[2])
    groups = ["model", "subject"]
    if tool == "polars":
        import polars as pl

        rows = pl.read_ndjson(path).select("model", pl.col("tags").struct.field("subject"), "value")
        table = rows.group_by(groups).agg(pl.col("value").mean(), pl.len())
        print(table.height)
    else:
        import pandas as pd

        rows = pd.read_json(path, lines=True)
        rows["subject"] = [tags["subject"] for tags in rows["tags"]]
        print(len(rows.groupby(groups)["value"].agg(["mean", "count"])))
    return 0


if __name__ == "__main__":
    sys.exit(main())
