"""Why wrong answers are wrong: CS-Bench's types, by a judge."""

HEADING = "Grade and judge"
