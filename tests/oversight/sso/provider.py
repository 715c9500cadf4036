"""An OpenID provider in a process of its own, which can be made to lie.

`python -m tests.oversight.sso.provider` prints its port. POST /control with a JSON object
says who signs in (`claims`), and what is told wrongly (`lies`).
"""

import base64
import hashlib
import json
import secrets
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from subprocess import PIPE, Popen
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

CLIENT = "keyturn-client"
SECRET = "s3cret/with+signs:in it"


@dataclass
class Provider:
    """The process, as tests see it."""

    port: int

    @property
    def issuer(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def signs_in(
        self, subject: str, *, lies: dict[str, Any] | None = None, **claims: Any
    ) -> None:
        """Who is at the provider's keyboard from now on."""
        import httpx

        said = {"claims": {"sub": subject, **claims}, "lies": lies or {}}
        httpx.post(f"{self.issuer}/control", json=said).raise_for_status()

    def answers(self, question: str) -> str:
        """Where the browser is sent after signing in there."""
        import httpx

        return httpx.get(question).headers["location"]


@contextmanager
def running() -> Iterator[Provider]:
    command = [sys.executable, "-m", "tests.oversight.sso.provider"]
    with Popen(command, stdout=PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield Provider(port=int(process.stdout.readline()))
        finally:
            process.terminate()


class State:
    """What one provider knows: its keys, who signs in, and the codes it gave."""

    def __init__(self) -> None:
        from cryptography.hazmat.primitives.asymmetric import ec, rsa

        self.key: Any = ec.generate_private_key(ec.SECP256R1())
        self.other: Any = ec.generate_private_key(ec.SECP256R1())
        self.small: Any = rsa.generate_private_key(65537, 1024)
        self.claims: dict[str, Any] = {"sub": "nobody"}
        self.lies: dict[str, Any] = {}
        self.codes: dict[str, dict[str, str]] = {}


def b64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def jwk(key: Any) -> dict[str, str]:
    from jwt.algorithms import ECAlgorithm, RSAAlgorithm

    algorithm = (
        RSAAlgorithm
        if hasattr(key, "private_numbers") and hasattr(key.private_numbers(), "p")
        else ECAlgorithm
    )
    return {**algorithm.to_jwk(key.public_key(), as_dict=True), "use": "sig"}


class Handler(BaseHTTPRequestHandler):
    state: State

    def log_message(self, *_: object) -> None: ...

    @property
    def issuer(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        if parts.path == "/.well-known/openid-configuration":
            return self.say(self.metadata())
        if parts.path == "/keys":
            kept = "small" if self.state.lies.get("small") else "key"
            return self.say(
                {"keys": [{**jwk(getattr(self.state, kept)), "kid": "one"}]}
            )
        if parts.path == "/authorize":
            return self.authorize({k: v[0] for k, v in parse_qs(parts.query).items()})
        return self.say({}, 404)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/control":
            said = json.loads(body)
            self.state.claims, self.state.lies = said["claims"], said["lies"]
            return self.say({})
        if self.path == "/token":
            return self.token({k: v[0] for k, v in parse_qs(body.decode()).items()})
        return self.say({}, 404)

    def metadata(self) -> dict[str, Any]:
        return {
            "issuer": self.state.lies.get("discovered", self.issuer),
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
            "authorization_response_iss_parameter_supported": True,
        }

    def authorize(self, asked: dict[str, str]) -> None:
        assert asked["response_type"] == "code"
        assert asked["code_challenge_method"] == "S256"
        code = secrets.token_urlsafe(16)
        self.state.codes[code] = asked
        answer = {"code": code, "state": asked["state"]}
        answer["iss"] = self.state.lies.get("answer_iss", self.issuer)
        if self.state.lies.get("no_answer_iss"):
            del answer["iss"]
        self.send_response(302)
        self.send_header("Location", f"{asked['redirect_uri']}?{urlencode(answer)}")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def token(self, given: dict[str, str]) -> None:
        if self.state.lies.get("redirects"):
            self.send_response(302)
            self.send_header("Location", f"{self.issuer}/keys")
            self.send_header("Content-Length", "0")
            return self.end_headers()
        asked = self.state.codes.pop(given["code"], None)
        proved = b64(hashlib.sha256(given["code_verifier"].encode()).digest())
        if (
            asked is None
            or proved != asked["code_challenge"]
            or given["redirect_uri"] != asked["redirect_uri"]
            or not self.is_client()
        ):
            return self.say({"error": "invalid_grant"}, 400)
        return self.say({"token_type": "Bearer", "id_token": self.signed(asked)})

    def is_client(self) -> bool:
        from urllib.parse import unquote_plus

        kind, _, said = self.headers.get("Authorization", "").partition(" ")
        name, _, secret = base64.b64decode(said).decode().partition(":")
        pair = (unquote_plus(name), unquote_plus(secret))
        return kind == "Basic" and pair == (CLIENT, SECRET)

    def signed(self, asked: dict[str, str]) -> str:
        import jwt

        now, lies = int(time.time()), self.state.lies
        claims = {
            "iss": self.issuer,
            "aud": asked["client_id"],
            "nonce": asked["nonce"],
            "iat": now,
            "exp": now + 300,
            **({"auth_time": now} if "max_age" in asked else {}),
            **self.state.claims,
            **lies.get("claims", {}),
        }
        claims = {name: value for name, value in claims.items() if value is not None}
        for name in ("iat", "exp", "auth_time"):
            if name in lies.get("later", {}):  # than now, in seconds
                claims[name] = now + lies["later"][name]
        algorithm = lies.get("alg", "ES256")
        key = {"none": None, "HS256": "k" * 32, "RS256": self.state.small}.get(
            algorithm, self.state.other if lies.get("forged") else self.state.key
        )
        return jwt.encode(
            claims, key, algorithm, headers={"kid": lies.get("kid", "one")}
        )

    def say(self, value: object, status: int = 200) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main() -> None:
    Handler.state = State()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
