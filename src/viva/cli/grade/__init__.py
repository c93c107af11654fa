"""Commands that grade answers, and judge the grading."""
