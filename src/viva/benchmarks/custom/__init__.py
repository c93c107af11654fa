"""Custom question files in YAML or JSON: see docs/data.md."""
