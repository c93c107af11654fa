"""Tables of any origin, packed or not: read with line numbers in errors, written."""
