"""What follows from results: verdicts on reported numbers, answers to claims, frozen bands, audits."""
