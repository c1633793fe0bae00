"""Training many nets at once, into the vault.

DVC stays the judge of what is up to date: it takes trainings from there.
"""
