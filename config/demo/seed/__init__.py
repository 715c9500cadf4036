"""The people, rules and requests that a demo begins with, made by the real verbs."""
