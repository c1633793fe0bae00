"""One task per file; the file's name is the word that `params.yaml` uses for it."""
