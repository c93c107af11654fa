"""A question set by every dimension, and how long its texts are."""
