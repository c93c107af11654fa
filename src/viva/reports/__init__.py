"""Tables for people and for programs: terminal, Markdown, LaTeX, CSV, JSON."""
