"""What the eye would miss is marked; what people really write is left alone."""
# ruff: noqa: RUF001  look-alike characters are what this is about

import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernel import visible
from kernel.visible import Segment, findings, is_plain, segments, single_line

TRICKS = (
    "ab 1\n\t \u202e\u200b\u200d\ufe0f\x1b[]m\r\0\u0430\u03bfA\uff21\U0001f468\u0301\\"
)
any_text = st.text() | st.text(st.characters(exclude_categories=[]))
tricky_text = st.text(alphabet=TRICKS)


def marked(text: str) -> list[Segment]:
    return [segment for segment in segments(text) if segment.kind != "text"]


@given(any_text | tricky_text)
def test_nothing_is_lost_added_or_changed(text: str) -> None:
    assert "".join(segment.text for segment in segments(text)) == text


@given(any_text | tricky_text)
def test_plain_pieces_hold_nothing_unseen(text: str) -> None:
    for segment in segments(text):
        if segment.kind == "text":
            assert not set(segment.text) & set("\u202e\u200b\x1b\0\uff21")
        else:
            assert segment.name
            assert segment.why
            assert segment.finding
            assert segment.codepoint or segment.kind == "gap"


@given(any_text | tricky_text | st.from_regex(visible._ORDINARY, fullmatch=True))
def test_what_is_taken_for_ordinary_has_nothing_to_mark(text: str) -> None:
    if visible._ORDINARY.fullmatch(text):
        assert visible._marks(text) == []


@given(any_text | tricky_text)
def test_the_findings_are_what_the_segments_say(text: str) -> None:
    counts = findings(text)
    assert sum(counts.values()) == sum(segment.count for segment in marked(text))
    assert is_plain(text) is (not counts)


@given(any_text | tricky_text, any_text | tricky_text)
def test_a_log_line_is_one_line_and_unambiguous(one: str, other: str) -> None:
    line = single_line(one)
    assert not set(line) & set("\n\r\t\0\x1b\x85\u2028\u2029\u202e\u200b")
    assert (line == single_line(other)) is (one == other)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Pay EUR 48,200.00 to Acme Logistics (INV-1042).",
        "one\n\ntwo\r\nthree\tfour",
        "naïve café, Straße, Łódź, đồng, 1ª, 2º, ½, ™, ², µ, §, “quoted” – 5 €",
        "Он сказал: а она с ним, у нас в Москве",
        "Καλημέρα, ο κόσμος",
        "日本語のテキスト、简体中文。",
        "می‌خواهم",
        "क्‍ष",
        "עברית",
        "👩‍👩‍👧 ❤️ 1️⃣ 👍🏽",
        "e\u0301 decomposed",
        "α + ρ = χ",
        "a\n\n\n\nb",
        "x" + " " * 79 + "y",
    ],
)
def test_everyday_text_is_plain(text: str) -> None:
    assert marked(text) == []


@pytest.mark.parametrize(
    ("text", "codepoint", "name", "finding"),
    [
        ("report\u202efdp.exe", "U+202E", "Right-to-left override", "bidi"),
        ("a\u2066b", "U+2066", "Left-to-right isolate", "bidi"),
        ("to\u200btal", "U+200B", "Zero width space", "invisible"),
        ("to\u200dtal", "U+200D", "Zero width joiner", "invisible"),
        ("a\ufeffb", "U+FEFF", "Zero width no-break space", "invisible"),
        ("so\u00adft", "U+00AD", "Soft hyphen", "invisible"),
        ("a\u3164b", "U+3164", "Hangul filler", "invisible"),
        ("a\ufe0fb", "U+FE0F", "Variation selector-16", "invisible"),
        ("x\U000e0141", "U+E0141", "Variation selector-82", "invisible"),
        ("hi\U000e0069", "U+E0069", "Tag latin small letter i", "tag"),
        ("a\u00a0b", "U+00A0", "No-break space", "space"),
        ("a\u2028b", "U+2028", "Line separator", "space"),
        ("a\rb", "U+000D", "Carriage return", "control"),
        ("a\x08b", "U+0008", "Backspace", "control"),
        ("\x1b]0;x", "U+001B", "Escape", "control"),
        ("a\x9bb", "U+009B", "Unnamed character", "control"),
        ("\x1b[31m", "ESC [31m", "Escape sequence", "escape"),
        ("\ue000", "U+E000", "Unnamed character", "unassigned"),
        ("\ud800", "U+D800", "Unnamed character", "unassigned"),
        ("z\u0301\u0301\u0301\u0301", "U+0301", "Combining acute accent", "stacked_mark"),
    ],
)  # fmt: skip
def test_hidden_characters_are_named(
    text: str, codepoint: str, name: str, finding: str
) -> None:
    (segment,) = marked(text)
    assert segment.kind == "codepoint"
    assert (segment.codepoint, segment.name) == (codepoint, name)
    assert segment.finding == finding


@pytest.mark.parametrize(
    ("text", "letters", "why"),
    [
        ("\u0391cme", "\u0391", "looks like Latin A"),
        ("p\u0430yp\u0430l", "\u0430\u0430", "looks like Latin a"),
        ("\u0440\u0430\u0443\u0440\u0430l", "\u0440\u0430\u0443\u0440\u0430", None),
        ("\u0440\u0430\u0443\u0440\u0430.com", "\u0440\u0430\u0443\u0440\u0430", None),
        ("user_\u0430dmin", "\u0430", "looks like Latin a"),
        ("pay \u0430 bill", "\u0430", "looks like Latin a"),
        ("dem\u0436o", "\u0436", "Cyrillic letter among Latin letters"),
        ("\u0436\u0438\u0437nь", "n", "Latin letter among Cyrillic letters"),
        ("\uff21cme", "\uff21", "looks like Latin A"),
        ("\U0001d400cme", "\U0001d400", "looks like Latin A"),
        ("\u24b6cme", "\u24b6", "looks like Latin A"),
        ("\u2163", "", None),
        ("\u2160BM", "\u2160", "looks like Latin I"),
        ("\uff11\uff10", "\uff11\uff10", "looks like 1"),
        ("p\u0251y", "\u0251", "looks like Latin a"),
        ("evil.com\u2215acme.com", "\u2215", "looks like /"),
        ("a\u037eb", "\u037e", "looks like ;"),
    ],
)
def test_letters_that_pass_for_others_are_marked(
    text: str, letters: str, why: str | None
) -> None:
    found = marked(text)
    assert "".join(segment.text for segment in found) == letters
    assert {segment.kind for segment in found} <= {"confusable"}
    assert why is None or found[0].why == why


def test_a_genuine_neighbour_vouches_for_a_word_of_look_alikes() -> None:
    assert is_plain("\u0441\u043e \u0441\u0442\u043e\u043b\u0430")
    assert not is_plain("\u0441\u043e stola")


def test_a_run_of_the_same_character_is_one_mark() -> None:
    (segment,) = marked("a" + "\u200b" * 500 + "b")
    assert segment.count == 500
    assert findings(segment.text) == {"invisible": 500}


@pytest.mark.parametrize("blank", ["", " ", "\t", "\r", "\u00a0", "\u200b", "\u3000"])
def test_blank_lines_are_counted_instead_of_shown(blank: str) -> None:
    found = segments("start\n" + f"{blank}\n" * 300 + "payload")
    assert [segment.kind for segment in found] == ["text", "gap", "text"]
    assert (found[1].name, found[1].count) == ("300 blank lines", 300)
    assert found[2].text == "payload"


def test_a_long_run_of_blanks_is_counted() -> None:
    (gap,) = marked("start" + " \t" * 40 + "payload")
    assert (gap.kind, gap.name) == ("gap", "80 blank characters")


def test_a_text_of_blanks_alone_is_a_gap() -> None:
    (gap,) = segments("\n" * 5)
    assert gap.count == 6


def test_log_lines_escape_what_is_not_plain() -> None:
    text = "a\nb\\n\x1b[2J\u202e\U000e0041 p\u0430y"
    assert single_line(text) == r"a\nb\\n\x1b[2J\u202e\U000e0041 p\u0430y"


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda n: " " * n + "x", id="spaces"),
        pytest.param(lambda n: (" " * 79 + "x") * (n // 80), id="short-runs"),
        pytest.param(lambda n: " \n" * n, id="blank-lines"),
        pytest.param(lambda n: "\x1b[" + "1" * n, id="escape"),
        pytest.param(lambda n: "\x1b[" * n, id="escapes"),
        pytest.param(lambda n: "\u200b" * n, id="run"),
        pytest.param(lambda n: "\u200b\u200c" * n, id="alternating"),
        pytest.param(lambda n: "\u0430a" * n, id="mixed"),
        pytest.param(lambda n: "\u0430 " * n, id="words"),
        pytest.param(lambda n: "\u0301\u0302" * n, id="marks"),
    ],
)
def test_the_cost_grows_with_the_length_and_no_faster(
    make: Callable[[int], str],
) -> None:
    def cost(size: int) -> float:
        text = make(size)
        started = time.process_time()
        segments(text)
        return time.process_time() - started

    small = min(cost(5_000) for _ in range(3))
    large = min(cost(40_000) for _ in range(3))
    assert large < 0.005 + 8 * small * 4  # 8 times the length; quadratic would be 64
