"""One source per file, with `arrays(name, source)`; the file's name is the word in `params.yaml`."""
