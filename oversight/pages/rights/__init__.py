"""Who could have approved what, at any time: told from the chain, whatever holds now."""
