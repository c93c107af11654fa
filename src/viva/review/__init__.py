"""The experts' web page: answers to mark, and drafts to approve. It knows items, drafts and marks, and no benchmark."""
