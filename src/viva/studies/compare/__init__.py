"""Whether one contestant is better than another, question by question."""
