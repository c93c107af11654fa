"""The experts' pages: answers to mark, and drafts to approve."""
