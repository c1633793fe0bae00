"""One loop that trains all seeds of a net at once."""
