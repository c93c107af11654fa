"""What building registers: commands, each with the function that it is and one line."""

COMMANDS = {"build": ("", "Make sets: of treebanks, dumps, tables of contents, translations.")}
