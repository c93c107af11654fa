"""Tables for people and for programs: terminal, Markdown, LaTeX, CSV, JSON, frame. And how charts look."""
