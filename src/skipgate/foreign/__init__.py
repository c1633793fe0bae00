"""Weights that somebody else has trained, read as data: nothing of a file is ever executed."""
