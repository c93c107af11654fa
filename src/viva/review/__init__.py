"""The experts' web page: a room that knows items, drafts and marks, and no benchmark."""
