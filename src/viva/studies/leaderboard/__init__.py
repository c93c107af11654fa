"""Rankings of runs beside the papers' rows, as a site."""
