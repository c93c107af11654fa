"""The experts' web page. It knows items, drafts and marks, and no benchmark."""
