"""What is reviewed: items with drafts of verdicts, and which of them a reviewer goes through."""
