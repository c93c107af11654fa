"""Questions that anybody can write, in YAML or JSON: see docs/data.md."""
