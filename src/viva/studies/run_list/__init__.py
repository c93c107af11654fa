"""Your runs: date, models, exams, score, cost, what is left."""

HEADING = "Look"
COMMAND = "runs"
