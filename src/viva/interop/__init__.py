"""Formats of other tools, read and written: lm-evaluation-harness, Inspect, OpenCompass, Hugging Face."""
