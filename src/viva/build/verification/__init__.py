"""Have people verify golds, explanations and tags in a spreadsheet."""
