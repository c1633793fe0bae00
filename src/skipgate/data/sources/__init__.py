"""One source per file, with `arrays(name, source)`.

The file's name is the word in `params.yaml`.
"""
