"""Tasks of dm_control's suite (arXiv 1801.00690, 2006.12983), a file a domain; `common.py` has what they share.

Models come out of the package dm_control, which is looked for and never imported. Observations are those of the suite,
in its order, in one array.
"""
