"""Random interleavings of every verb and fault, judged after each step.

`machine` has the rules, `world` what they act on, `sight` what the database holds after
a step, `judgement` what must be true of it. Nothing in here asks the product whether
the product is right: digests, keys, rights and tables are computed anew.
"""
