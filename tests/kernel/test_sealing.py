"""Sealed texts open under their key, in their place, unchanged; and never otherwise."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernel.sealing import Unreadable, derived_key, new_key, seal, unseal

KEY = bytes(range(32))


@given(text=st.binary(), bound=st.binary())
def test_what_was_sealed_comes_back(text: bytes, bound: bytes) -> None:
    assert unseal(KEY, seal(KEY, text, bound=bound), bound=bound) == text


@given(text=st.binary(max_size=50), at=st.integers(0, 10_000), bits=st.integers(1, 255))
def test_a_changed_byte_is_found(text: bytes, at: int, bits: int) -> None:
    sealed = bytearray(seal(KEY, text, bound=b"row"))
    sealed[at % len(sealed)] ^= bits
    with pytest.raises(Unreadable):
        unseal(KEY, bytes(sealed), bound=b"row")


@given(text=st.binary(max_size=50), length=st.integers(0, 78))
def test_what_was_cut_off_is_found(text: bytes, length: int) -> None:
    sealed = seal(KEY, text, bound=b"row")
    with pytest.raises(Unreadable):
        unseal(KEY, sealed[: min(length, len(sealed) - 1)], bound=b"row")


def test_another_place_or_key_opens_nothing() -> None:
    sealed = seal(KEY, b"text", bound=b"row 1")
    with pytest.raises(Unreadable):
        unseal(KEY, sealed, bound=b"row 2")
    with pytest.raises(Unreadable):
        unseal(new_key(), sealed, bound=b"row 1")


def test_the_same_text_is_never_sealed_alike() -> None:
    assert seal(KEY, b"text", bound=b"") != seal(KEY, b"text", bound=b"")


def test_derived_keys_differ_by_salt_and_purpose() -> None:
    keys = {
        derived_key(KEY, salt=salt, purpose=purpose)
        for salt in (b"1", b"2")
        for purpose in (b"a", b"b")
    }
    assert len(keys) == 4
    assert derived_key(KEY, salt=b"1", purpose=b"a") in keys
