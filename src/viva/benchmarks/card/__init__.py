"""Exam cards: a short YAML file that says how a table is an exam."""
