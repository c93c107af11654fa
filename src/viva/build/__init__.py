"""Building data sets: drafted by models, checked by rule, approved by people."""
