"""Planning: the number of questions and answers that a decision needs, and the power of a budget."""
