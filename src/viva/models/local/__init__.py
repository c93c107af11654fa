"""Weights on a disk, computed here with torch and transformers (`pip install 'viva[hf]'`).

opening.py opens a folder or a name of the Hub, tokens.py makes prompts into tokens, forward.py computes probabilities
of texts and shares common beginnings of prompts (sharing.py), generating.py writes replies. Requests wait in
scheduler.py; weightsmodel.py has the model for the engine. Nothing here imports torch before a model is used.
"""
