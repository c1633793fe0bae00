"""What follows from results.

Verdicts on reported numbers, answers to claims, frozen bands, audits.
"""
