"""The text of a key: what is issued can be read, and nothing else can."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenants import keys

environments = st.from_regex(keys.ENVIRONMENT, fullmatch=True)
ids = st.uuids()


@given(key_id=ids, environment=environments)
def test_an_issued_key_is_read_back(key_id: UUID, environment: str) -> None:
    text = keys.issue(key_id=key_id, environment=environment)
    parsed = keys.parse(text)
    assert parsed is not None
    assert parsed.environment == environment
    assert parsed.prefix == keys.prefix_of(key_id)
    assert parsed.hash == keys.digest_of(text)
    assert len(parsed.hash) == 32


@given(key_id=ids, data=st.data())
def test_one_wrong_character_is_never_a_key(key_id: UUID, data: st.DataObject) -> None:
    text = keys.issue(key_id=key_id, environment="prod")
    place = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(
        st.sampled_from(keys.ALPHABET + "_- \n").filter(lambda c: c != text[place])
    )
    assert keys.parse(text[:place] + other + text[place + 1 :]) is None


@given(key_id=ids, data=st.data())
def test_a_cut_or_lengthened_key_is_no_key(key_id: UUID, data: st.DataObject) -> None:
    text = keys.issue(key_id=key_id, environment="prod")
    cut = data.draw(st.integers(1, len(text) - 1))
    assert keys.parse(text[:cut]) is None
    assert keys.parse(text + data.draw(st.text(min_size=1))) is None


@given(text=st.text())
def test_other_text_is_no_key(text: str) -> None:
    assert keys.parse(text) is None


@given(key_id=ids)
def test_two_keys_of_one_id_differ(key_id: UUID) -> None:
    one = keys.issue(key_id=key_id, environment="prod")
    assert one != keys.issue(key_id=key_id, environment="prod")


def test_the_secret_has_at_least_160_bits() -> None:
    assert len(keys.ALPHABET) ** keys.SECRET_LENGTH >= 2**160
    assert len(set(keys.ALPHABET)) == len(keys.ALPHABET)
    assert len(keys.ALPHABET) ** keys.PREFIX_LENGTH >= 2**keys.PREFIX_BITS
    assert len(keys.ALPHABET) ** keys.CHECKSUM_LENGTH >= 2**32


@pytest.mark.parametrize("environment", ["", "Prod", "a_b", "-a", "a-", "a" * 33, "ä"])
def test_an_environment_that_would_blur_the_form_is_refused(environment: str) -> None:
    with pytest.raises(ValueError, match="cannot be part of a key"):
        keys.issue(key_id=UUID(int=0), environment=environment)
