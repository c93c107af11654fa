"""Runs and question sets in other people's formats. Nothing here asks or grades; `cli` brings what is written."""
