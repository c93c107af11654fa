"""How scores grow with size: fits, predictions, breaks."""

HEADING = "Compare"
