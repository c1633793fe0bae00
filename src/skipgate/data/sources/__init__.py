"""One source per file, with `arrays(name, source, content)`.

The file's name is the word in `params.yaml`. Content that has a hash is compared with it
afterwards; without one, the reader sees to it that all is there.
"""
