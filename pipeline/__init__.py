"""Stage scripts: each reads, calls and writes.

`python -m pipeline.STAGE --help` says what a stage does.
"""
