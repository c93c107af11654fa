"""Prompt in, Response out. A provider's module is loaded when a model of it is used (`viva.providers`)."""
