"""Commands that ask models, and what they need."""
