"""Questions by what they tell: difficulty, statistics of items, scores from some of them."""
