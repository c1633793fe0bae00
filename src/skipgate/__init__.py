"""Networks that learn identity mappings, and a harness that regenerates what was reported about them."""
