"""Arguments as a tree: every value there, its exact text unchanged."""

from typing import Any

from hypothesis import given

from approvals.presentation.arguments import ArgumentNode, argument_tree, money
from tests.approvals.presentation.test_editing import values


def rebuilt(node: ArgumentNode) -> Any:
    """The value again, from nothing but what the tree says."""
    match node.kind:
        case "object":
            return {child.name: rebuilt(child) for child in node.children}
        case "list":
            return [rebuilt(child) for child in node.children]
        case "table":
            return [
                {cell.name: rebuilt(cell) for cell in row if cell.kind != "absent"}
                for row in node.rows
            ]
        case "text":
            return node.text
        case "number":
            return float(node.text)
        case _:
            return {"true": True, "false": False, "null": None}[node.text]


@given(values)
def test_a_tree_holds_every_value(value: Any) -> None:
    assert rebuilt(argument_tree(value)) == value


def test_a_text_that_could_be_a_number_is_told_apart() -> None:
    text, number = argument_tree(["1", 1]).children
    assert (text.text, text.typed) == ("1", True)
    assert (number.text, number.typed) == ("1", False)


def test_flat_objects_become_a_table_whose_heads_say_the_kind() -> None:
    node = argument_tree([{"a": 1, "b": "x"}, {"b": 2}])
    assert node.kind == "table"
    assert [(head.name, head.kind) for head in node.heads] == [
        ("a", "number"),
        ("b", ""),
    ]
    assert [cell.kind for cell in node.rows[1]] == ["absent", "number"]


def test_pointers_escape_their_steps() -> None:
    [child] = argument_tree({"a/b~c": 1}).children
    assert child.pointer == "/a~1b~0c"


def test_money_stands_beside_its_currency_and_is_not_altered() -> None:
    found = money({"correction": {"amount": "-1240.00", "currency": "EUR"}})
    assert found is not None
    assert (found.name, found.amount, found.currency) == (
        "correction.amount",
        "-1240.00",
        "EUR",
    )


def test_an_amount_without_currency_is_no_money() -> None:
    assert money({"amount": 3}) is None
    assert money([1]) is None
    assert money({"amount": True, "currency": "EUR"}) is None
