"""Strict JSON of every shape, for property tests."""

from hypothesis import strategies as st

from kernel.strict_json import MAX_NUMBER

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
exact_numbers = st.integers(-MAX_NUMBER, MAX_NUMBER) | st.floats(-1e15, 1e15)
json_values = st.recursive(
    st.none() | st.booleans() | exact_numbers | texts,
    lambda inner: st.lists(inner) | st.dictionaries(texts, inner),
)
