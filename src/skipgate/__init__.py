"""Networks that learn identity mappings.

A harness regenerates what was reported about them.
"""
