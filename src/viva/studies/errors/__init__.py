"""Why wrong answers are wrong: types of error, labelled by judges."""
