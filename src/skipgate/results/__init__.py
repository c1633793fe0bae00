"""Results on disk, which are the truth: reading them, and putting seeds together. No torch."""
