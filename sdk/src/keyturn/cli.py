"""`keyturn`: asking from shell scripts. It never decides.

    keyturn ask --tool deploy --args @release.json --wait -- ./deploy.sh

asks, waits, uses the approval up, runs the command with the approved arguments on its
standard input, and reports what came of it. Without a command the approved arguments are
printed, and `keyturn report` says what came of it.

Exit codes: 0 approved (and the command ended well), 1 rejected or taken back, 2 expired,
3 refused (by the server, or when it was verified again), 4 nobody has answered yet (or it
is approved and cannot happen yet), 5 answered instead (the answer is printed), 6 changes
are asked for, 7 done or taken up before, 8 approved but the command failed, 9 done and
could not be reported: look before you repeat it, 64 wrong usage, 69 no server, or one that
was busy for as long as --patience, 70 a fault of this program, 76 an answer that this
version cannot read, 130 stopped (a question without --key is taken back then).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NoReturn, TextIO

from keyturn import acting, calls, errors, flows, waiting
from keyturn.acting import Action
from keyturn.asks import Ask
from keyturn.client import Client
from keyturn.documents import Approval

USAGE, UNAVAILABLE, BROKEN, UNREADABLE, STOPPED = 64, 69, 70, 76, 130
_EXITS: Mapping[type[errors.KeyturnError], int] = {
    errors.Expired: 2,
    errors.NotApproved: 1,
    errors.Paused: 4,
    errors.Answered: 5,
    errors.ChangesRequested: 6,
    errors.DoneAlready: 7,
    errors.InDoubt: 7,
    errors.NotConfigured: USAGE,
    errors.NotExact: USAGE,
    errors.KeyReused: USAGE,
    errors.NothingDone: 8,
    errors.Unreported: 9,
    errors.Unintelligible: UNREADABLE,
    errors.Unreachable: UNAVAILABLE,
    flows.Busy: UNAVAILABLE,
    errors.Refused: 3,
}


class CommandFailed(Exception):
    """The command ended badly, and may have done something all the same."""


def main(words: Sequence[str] | None = None, out: TextIO | None = None) -> int:
    """Run one command; its exit code."""
    options = _parser().parse_args(words)
    try:
        with Client(options.url, patience=options.patience) as client:
            work: Callable[[Client, argparse.Namespace], Any] = options.work
            _print(work(client, options), out)
        return 0
    except CommandFailed as failed:
        return _fail(failed, 8)
    except errors.KeyturnError as error:
        if isinstance(error, errors.Answered):
            _print(error.response, out)
        return _fail(error, _exit_code(error))
    except KeyboardInterrupt:
        return STOPPED
    except Exception:  # Python's own 1 would say that somebody rejected it
        traceback.print_exc()
        return BROKEN


def _fail(error: Exception, code: int) -> int:
    print(f"keyturn: {error}", file=sys.stderr)  # noqa: T201 - this is a program
    return code


def _print(value: Any, out: TextIO | None) -> None:
    if value is not None:
        print(json.dumps(value), file=out or sys.stdout)


def _exit_code(error: errors.KeyturnError) -> int:
    return next(
        (code for kind, code in _EXITS.items() if isinstance(error, kind)), BROKEN
    )


# -- ask --------------------------------------------------------------------------------


def ask(client: Client, options: argparse.Namespace) -> Any:
    """Ask, and with `--wait` go on; what is printed."""
    asked = client.request_approval(
        Ask(
            tool=options.tool,
            arguments=options.args,
            target=options.target,
            explanation=options.explanation,
            risk=options.risk,
            decide_within=options.decide_within,
        ),
        subject=options.subject,
        key=options.key and calls.key_from(options.tool, options.key),
    )
    timeout = options.timeout if options.wait else 0
    try:
        _tell(f"asked: {asked.review_url}")  # who reads it may interrupt at once
        if options.command:
            return _act(client, asked, options.command, timeout)
        return _take(client, asked, timeout)
    except KeyboardInterrupt:
        if options.key is None:  # nobody could find it again
            client.drive(waiting.give_up(client, asked))
        raise


def _take(client: Client, asked: Approval, timeout: float | None) -> Any:
    try:
        flow = acting.redeem_when_ready(client, asked.id, timeout=timeout)
        effect = client.drive(flow).effect
    except (errors.Answered, errors.NotApproved, errors.VerificationRefused) as why:
        client.drive(acting.end_run(client, asked.run, reason=str(why)[:2000]))
        raise
    _tell(f"approved: say what comes of it with `keyturn report {effect.id} …`")
    return effect.arguments


def _act(
    client: Client, asked: Approval, command: Sequence[str], timeout: float | None
) -> None:
    def run(**arguments: Any) -> None:
        _run(command, arguments)

    action: Action[None] = Action(
        function=run, tool=asked.tool, nothing_done=(FileNotFoundError,)
    )
    try:
        client.drive(acting.follow_and_end(client, asked, action, timeout=timeout))
    except OSError as error:
        raise CommandFailed(str(error)) from error


def _run(command: Sequence[str], arguments: Mapping[str, Any]) -> None:
    effect = acting.current_effect()
    told = {
        "KEYTURN_EFFECT": effect.id,
        "KEYTURN_IDEMPOTENCY_KEY": effect.idempotency_key,
        "KEYTURN_TOKEN": acting.current_token(),
    }
    done = subprocess.run(  # noqa: S603 - the command is what its user typed
        command,
        input=json.dumps(arguments),
        text=True,
        env={**os.environ, **told},
        check=False,
    )
    if done.returncode:
        raise CommandFailed(f"{command[0]} ended with {done.returncode}")


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)  # noqa: T201 - this is a program


# -- report -----------------------------------------------------------------------------


def report(client: Client, options: argparse.Namespace) -> Any:
    """Say what came of an action; a run that opened for it alone ends."""
    effect = client.get_effect(options.effect)
    attempt = effect.attempts[-1]
    told = client.report_effect(
        effect.id,
        fence=attempt.fence,
        attempt=attempt.number,
        outcome=options.outcome,
        external_id=options.external_id,
    )
    client.drive(acting.end_run_of(client, effect, options.outcome))
    return asdict(told)


# -- What can be said -------------------------------------------------------------------


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(USAGE, f"keyturn: {message}\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="keyturn",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--url", help="where Keyturn is; else $KEYTURN_URL")
    parser.add_argument(
        "--patience",
        type=float,
        default=300.0,
        help="seconds an absent server is tried",
    )
    commands = parser.add_subparsers(required=True, metavar="ask | report")
    _say_ask(commands.add_parser("ask", help="ask for one action", allow_abbrev=False))
    _say_report(
        commands.add_parser("report", help="say what came of it", allow_abbrev=False)
    )
    return parser


def _say_ask(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(work=ask)
    parser.add_argument("--tool", required=True)
    parser.add_argument(
        "--args",
        type=arguments_from,
        default={},
        help="a JSON object, @FILE, or - for standard input",
    )
    parser.add_argument("--target")
    parser.add_argument("--risk", choices=["low", "medium", "high", "critical"])
    parser.add_argument("--explanation", default="")
    parser.add_argument("--subject", help="on whose behalf")
    parser.add_argument("--key", help="the same key finds the same question again")
    parser.add_argument("--decide-within", type=int, metavar="SECONDS")
    parser.add_argument("--wait", action="store_true", help="until somebody answers")
    parser.add_argument("--timeout", type=float, metavar="SECONDS", help="with --wait")
    parser.add_argument("command", nargs="*", help="what to run, after --")


def _say_report(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(work=report)
    parser.add_argument("effect")
    parser.add_argument("outcome", choices=["confirmed", "failed", "unknown"])
    parser.add_argument("--external-id", help="what was made, by its own name")


def arguments_from(text: str) -> dict[str, Any]:
    """The JSON object that was meant. Raises `argparse.ArgumentTypeError`."""
    try:
        told = json.loads(_read(text), object_pairs_hook=_once_each)
    except (OSError, ValueError) as error:
        raise argparse.ArgumentTypeError(f"{text}: {error}") from error
    if not isinstance(told, dict):
        raise argparse.ArgumentTypeError(f"{text}: this is no JSON object")
    return told


def _read(text: str) -> str:
    if text == "-":
        return sys.stdin.read()
    return Path(text[1:]).read_text() if text.startswith("@") else text


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is repeated")
    return found


if __name__ == "__main__":
    sys.exit(main())
