"""Data sets: fetching them whole, loading them, and cutting them into batches."""
