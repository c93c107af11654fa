"""Analysis of questions: difficulty, item statistics, scores from a sample of questions."""
