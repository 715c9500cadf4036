"""One program per framework: the same payment, asked about, edited, and made once."""
