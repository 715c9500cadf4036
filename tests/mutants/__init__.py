"""Edits of the source that undo a promise. Some test must fail under each of them."""
