"""What the programs do in earnest: a payment, written down as a line of a file."""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

from keyturn import Paused, current_effect


@dataclass(frozen=True, slots=True)
class Bank:
    """Its ledger has one line for each payment that was made."""

    ledger: Path

    def send_payment(self, payee: str, amount: str) -> str:
        """Pay. The key of the effect goes along, as a bank would want it."""
        return self.pay(payee, amount, key=current_effect().idempotency_key)

    def pay(self, payee: str, amount: str, *, key: str) -> str:
        line = {"payee": payee, "amount": amount, "key": key}
        with self.ledger.open("a") as file:
            file.write(json.dumps(line) + "\n")
        return f"Paid {amount} to {payee}."


def options() -> argparse.Namespace:
    """`TASK LEDGER`: the run's name, and the bank's file."""
    parser = argparse.ArgumentParser()
    parser.add_argument("task")
    parser.add_argument("ledger", type=Path)
    return parser.parse_args()


def say_paused(paused: Paused) -> None:
    say(f"A person is asked: {paused.review_url}")
    say("Start this again once there is an answer.")


def say(text: str) -> None:
    print(text)  # noqa: T201 - these are programs
