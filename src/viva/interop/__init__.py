"""What other people's tools write, and what they read: lm-evaluation-harness, Inspect, OpenCompass, Hugging Face."""
