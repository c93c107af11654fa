"""How many questions and answers a decision needs, and what a budget can show."""
