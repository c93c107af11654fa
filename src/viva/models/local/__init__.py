"""Weights on a disk, computed here with torch and transformers (`pip install 'viva[hf]'`).

opening.py opens a folder or a name of the Hub, tokens.py makes prompts into tokens, forward.py says how probable a text
is and shares what prompts begin with (sharing.py), generating.py writes. Requests wait in scheduler.py; model.py is
what the engine sees. Nothing here imports torch before a model is used.
"""
