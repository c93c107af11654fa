"""Items for review, with drafts of verdicts, and their selection by filters and samples."""
