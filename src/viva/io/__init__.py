"""Reading tables of any origin, packed or not, with line numbers in errors; and writing CSV."""
