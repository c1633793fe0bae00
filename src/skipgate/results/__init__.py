"""From result files to judgements and pages. Nothing here imports torch, so a report renders anywhere."""
