"""`viva view`: runs in the browser, also while they are running."""
