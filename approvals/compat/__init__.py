"""Other frameworks' questions and answers, in their own words, on the same verbs."""
