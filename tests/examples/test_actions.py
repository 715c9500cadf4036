"""The agent asks for exactly what the documents show, in arguments its tools take."""

import json
from typing import Any

import jsonschema
import pytest

from examples.invoice.actions import Action, choose_action, reworded
from examples.invoice.comparison import compare, duplicate_of
from examples.invoice.documents import DocumentFolder
from examples.invoice.tool_definitions import TOOLS, WORKFLOW

SCHEMAS = {tool.name: tool.arguments for tool in TOOLS}
ACTED_ON = ["INV-1042", "INV-1044", "INV-1047", "INV-1050"]


def chosen(folder: DocumentFolder, invoice_id: str) -> Action | None:
    invoice = folder.invoice(invoice_id)
    comparison = compare(folder.order(invoice.order_id), invoice)
    duplicate = duplicate_of(invoice, folder.invoices_before(invoice))
    return choose_action(invoice, comparison, duplicate)


def action_on(folder: DocumentFolder, invoice_id: str) -> Action:
    action = chosen(folder, invoice_id)
    assert action is not None
    return action


def check(tool: str, arguments: Any) -> None:
    validator = jsonschema.Draft202012Validator(
        SCHEMAS[tool], format_checker=jsonschema.FormatChecker()
    )
    validator.validate(arguments)


def test_a_matching_invoice_calls_for_nothing(folder: DocumentFolder) -> None:
    assert chosen(folder, "INV-1039") is None


def test_a_price_mismatch_calls_for_a_correction(folder: DocumentFolder) -> None:
    action = action_on(folder, "INV-1042")
    assert action.tool == "send_correction_request"
    assert action.target == "billing@haldenpaper.example"
    message = action.arguments["message"]
    assert dict(action.arguments) == {
        "invoice_id": "INV-1042",
        "purchase_order": "PO-7731",
        "supplier": {
            "id": "SUP-0318",
            "name": "Halden Paper Supply Ltd",
            "email": "billing@haldenpaper.example",
        },
        "lines": [
            {
                "line": 2,
                "item": "Toner cartridge TN-450",
                "quantity": 40,
                "ordered_unit_price": "62.00",
                "invoiced_unit_price": "93.00",
            }
        ],
        "currency": "EUR",
        "amount_delta": "-1240.00",
        "reply_by": "2026-12-07",
        "message": message,
    }


def test_a_quantity_mismatch_names_both_quantities(folder: DocumentFolder) -> None:
    (line,) = action_on(folder, "INV-1047").arguments["lines"]
    assert (line["quantity"], line["ordered_quantity"]) == (28, 24)


def test_a_duplicate_calls_for_a_hold(folder: DocumentFolder) -> None:
    action = action_on(folder, "INV-1044")
    assert (action.tool, action.target) == ("hold_payment", "INV-1044")
    assert action.arguments["duplicate_of"] == "INV-1039"
    assert action.arguments["amount"] == "1303.50"


@pytest.mark.parametrize("invoice_id", ACTED_ON)
def test_arguments_fit_the_tool_in_every_wording(
    folder: DocumentFolder, invoice_id: str
) -> None:
    action = action_on(folder, invoice_id)
    check(action.tool, action.arguments)
    better = reworded(action.tool, action.arguments)
    assert better is not None
    check(action.tool, better)
    assert reworded(action.tool, better) is None


def test_another_wording_changes_nothing_but_the_words(folder: DocumentFolder) -> None:
    before = action_on(folder, "INV-1042").arguments
    after = reworded("send_correction_request", before)
    assert after is not None
    assert {name for name in before if before[name] != after[name]} == {"message"}
    assert "EUR 93.00" in after["message"]
    assert "EUR 62.00" in after["message"]
    assert "1240.00" in after["message"]


def test_words_that_are_not_the_agents_are_not_replaced(folder: DocumentFolder) -> None:
    edited = {**action_on(folder, "INV-1042").arguments, "message": "My own words."}
    assert reworded("send_correction_request", edited) is None


@pytest.mark.parametrize("invoice_id", ACTED_ON)
def test_arguments_survive_json_unchanged(
    folder: DocumentFolder, invoice_id: str
) -> None:
    arguments = dict(action_on(folder, invoice_id).arguments)
    assert json.loads(json.dumps(arguments)) == arguments


def test_a_supplier_s_note_reaches_no_argument(folder: DocumentFolder) -> None:
    assert "pre-approved" in folder.invoice("INV-1047").note
    assert "pre-approved" not in json.dumps(action_on(folder, "INV-1047").fields())


@pytest.mark.parametrize("name", SCHEMAS)
def test_schemas_are_valid_and_closed(folder: DocumentFolder, name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMAS[name])
    acted_on = "INV-1044" if name == "hold_payment" else "INV-1042"
    arguments = dict(action_on(folder, acted_on).arguments)
    for wrong in (
        arguments | {"cc": "a@b.example"},
        arguments | {"currency": "euro"},
        arguments | {"supplier": "Halden"},
        {key: arguments[key] for key in arguments if key != "currency"},
    ):
        with pytest.raises(jsonschema.ValidationError):
            check(name, wrong)


def test_the_workflow_is_consistent() -> None:
    stages = WORKFLOW["stages"]
    assert WORKFLOW["initial"] in stages
    assert {after for ends in stages.values() for after in ends} <= stages.keys()
    for field in WORKFLOW["fields"].values():
        jsonschema.Draft202012Validator.check_schema(field["schema"])
        assert field["authority"] is ("model" not in field["provenance"])
