"""A review session as a process: `python -m pages.review.serving LOG PORT HOST`, with the items of the tests."""

import sys
from pathlib import Path

from pages.review.hostile import HOSTILE
from pages.review.material import ITEMS, editable, many
from viva.engine.reviews import ReviewLog
from viva.pages.review.reviewpages import serve
from viva.pages.review.reviewsession import Settings

if __name__ == "__main__":
    serve(
        (*ITEMS, *HOSTILE, editable(), *many(60)),
        ReviewLog(Path(sys.argv[1])),
        Settings(title="tests", marks_per_item=2),
        port=int(sys.argv[2]),
        host=sys.argv[3],
        announce=lambda address: print(address, flush=True),
    )
