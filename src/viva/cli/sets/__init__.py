"""Commands that make and check exams."""
