"""Tables for people and for programs (terminal, Markdown, LaTeX, CSV, JSON, frame), and the look of charts."""
