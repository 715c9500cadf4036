"""The one way out reaches what was checked, within its time, and nothing else."""

import datetime
import ipaddress
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from checkpoints import outbound
from checkpoints.addresses import networks, refused_address
from checkpoints.outbound import NotSent, Unanswered, send
from kernel.scope import tenant_transaction
from tests.checkpoints.toolserver import ToolServer
from tests.factories import House

type Answers = dict[str, list[str]]


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Answers:
    """What names mean, and in `asked` how often they were looked up."""
    answers: Answers = {"asked": []}
    real = socket.getaddrinfo

    def look_up(host: str, port: int, *rest: Any, **more: Any) -> Any:
        answers["asked"].append(host)
        found = answers.get(host, [host])
        return [real(each, port, *rest, **more)[0] for each in found]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return answers


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.8.9.10",
        "0.0.0.0",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "100.64.0.1",
        "100.100.100.200",
        "169.254.169.254",
        "192.0.0.192",
        "168.63.129.16",
        "192.0.2.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::127.0.0.1",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "::ffff:0:127.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::1",
        "2002:7f00:1::",
        "2002:a00:1::1",
        "2001:0:7f00:1::",
        "fe80::1",
        "fe80::1%lo",
        "fec0::1",
        "fd00:ec2::254",
        "fc00::1",
        "ff02::1",
        "2001:db8::1",
        "100::1",
        "192.88.99.1",
        "::ffff:192.88.99.1",
        "2002:c058:6301::1",
        "3fff::1",
        "3fff:fff:ffff::1",
        "5f00::1",
        "2606:4700::5efe:10.0.0.1",
        "2606:4700::200:5efe:10.0.0.1",
        "2606:4700:0:0:0:5efe:8.8.8.8",
    ],
)
def test_no_private_address_is_reached_in_any_spelling(address: str) -> None:
    assert refused_address(address, ())


@pytest.mark.parametrize(
    "address",
    [
        "93.184.215.14",
        "2606:4700::1111",
        "::ffff:93.184.215.14",
        "192.88.98.255",
        "2606:4700::5efe",
        "2606:4700::1:5efe:a00:1",
    ],
)
def test_a_public_address_may_be_reached(address: str) -> None:
    assert refused_address(address, ()) == ""


def test_what_is_allowed_is_allowed_however_it_is_written() -> None:
    allowed = networks(("10.0.0.0/8", "fd00::/8"))
    for address in ("10.1.2.3", "::ffff:10.1.2.3", "fd00::7"):
        assert refused_address(address, allowed) == ""
    for address in ("127.0.0.1", "::ffff:127.0.0.1", "169.254.169.254", "fe80::1"):
        assert refused_address(address, allowed)
    assert refused_address("64:ff9b::7f00:1", networks(("64:ff9b::/96",)))


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:9/",
        "http://localhost:9/",
        "http://2130706433:9/",
        "http://0x7f.1:9/",
        "http://[::1]:9/",
        "http://[::ffff:127.0.0.1]:9/",
        "http://[::ffff:a9fe:a9fe]/latest/meta-data",
    ],
)
def test_this_machine_is_refused_under_every_name(url: str) -> None:
    with pytest.raises(NotSent, match="address_refused"):
        send("POST", url, within=5)


def test_a_name_that_means_a_private_address_is_refused(names: Answers) -> None:
    names["inside.example"] = ["10.0.0.5"]
    names["mixed.example"] = ["93.184.215.14", "169.254.169.254"]
    for host in ("inside.example", "mixed.example"):
        with pytest.raises(NotSent, match="address_refused"):
            send("POST", f"http://{host}/", within=5)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.test/",
        "file:///etc/passwd",
        "http:///nowhere",
        "http://user:secret@example.test/",
        "http://example.test@127.0.0.1/",
        "http://example.test\\@127.0.0.1/",
        "http://exam ple.test/",
        "http://example.test/\r\nX: y",
        "http://example.test:99999/",
        "http://[fe80::1%25lo]/",
        "http://[::1/",
        "http://exämple.test/",
        "",
    ],
)
def test_an_address_that_two_parsers_could_read_differently_is_refused(
    url: str, names: Answers
) -> None:
    with pytest.raises(NotSent, match="url_refused"):
        send("POST", url, within=5)
    assert names["asked"] == []


def test_the_checked_address_is_the_one_that_is_reached(
    toolserver: ToolServer, names: Answers
) -> None:
    names["tool.example"] = ["127.0.0.1"]
    answer = send("POST", f"http://tool.example:{toolserver.port}/say/200", within=5)

    assert (answer.status, answer.address) == (200, "127.0.0.1")
    assert names["asked"].count("tool.example") == 1
    (_, _, headers, _), *_ = toolserver.requests
    assert headers["Host"] == f"tool.example:{toolserver.port}"


def test_the_next_address_is_tried_when_one_does_not_answer(
    toolserver: ToolServer, names: Answers
) -> None:
    names["tool.example"] = ["127.0.0.2", "127.0.0.1"]
    answer = send("POST", f"http://tool.example:{toolserver.port}/say/200", within=5)
    assert answer.address == "127.0.0.1"


def test_no_proxy_is_asked(
    toolserver: ToolServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert send("POST", f"{toolserver.url}/say/200", within=5).status == 200


def test_a_redirect_is_an_answer_and_not_followed(toolserver: ToolServer) -> None:
    answer = send("POST", f"{toolserver.url}/redirect", within=5)
    assert (answer.status, answer.headers["location"]) == (307, "/confirm")
    assert len(toolserver.requests) == 1


@pytest.mark.parametrize("habit", ["hang", "drip", "dripbody"])
def test_one_deadline_covers_everything(toolserver: ToolServer, habit: str) -> None:
    began = time.monotonic()
    with pytest.raises(Unanswered, match="timeout"):
        send("POST", f"{toolserver.url}/{habit}", within=1)
    assert time.monotonic() - began < 3


@pytest.mark.parametrize("habit", ["reset", "cut"])
def test_a_connection_that_breaks_after_sending_is_unanswered(
    toolserver: ToolServer, habit: str
) -> None:
    with pytest.raises(Unanswered, match="broken_off"):
        send("POST", f"{toolserver.url}/{habit}", within=5)
    assert len(toolserver.acted) == 1


def test_an_answer_is_read_up_to_its_bound(toolserver: ToolServer) -> None:
    assert len(send("POST", f"{toolserver.url}/huge/1000", within=5, most=1000).body)
    with pytest.raises(Unanswered, match="answer_too_large"):
        send("POST", f"{toolserver.url}/huge/1001", within=5, most=1000)


def test_nobody_listening_means_that_nothing_was_sent(settings: Any) -> None:
    settings.ALLOW_PRIVATE = ["127.0.0.0/8"]
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/"
        with pytest.raises(NotSent, match="not_connected"):
            send("POST", url, within=5)


def test_an_unknown_name_means_that_nothing_was_sent() -> None:
    with pytest.raises(NotSent, match="name_unknown"):
        send("POST", "http://no-such-host.invalid/", within=20)


def test_a_resolver_that_hangs_does_not_hold_us(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    forever = Event()

    def hang(*_: Any, **__: Any) -> list[Any]:
        forever.wait(20)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    with pytest.raises(NotSent, match="timeout"):
        send("POST", "http://slow.example/", within=0.2)
    forever.set()


def test_past_its_time_nothing_is_sent(toolserver: ToolServer) -> None:
    with pytest.raises(NotSent, match="too_late"):
        send(
            "POST",
            f"{toolserver.url}/confirm",
            within=5,
            start_by=time.monotonic(),
        )
    assert toolserver.acted == {}


def test_nothing_is_sent_from_inside_a_transaction(house: House) -> None:
    with tenant_transaction(house.id), pytest.raises(AssertionError):
        send("POST", "http://example.test/", within=5)


@pytest.fixture
def authority(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str], ssl.SSLContext]]:
    """Makes TLS servers of a name, under an authority that this process trusts."""
    root_key = ec.generate_private_key(ec.SECP256R1())
    root = _certificate("Test root", root_key, "Test root", root_key, ca=True)
    trusted = tmp_path / "root.pem"
    trusted.write_bytes(root.public_bytes(serialization.Encoding.PEM))
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    outbound._tls.cache_clear()

    def server(name: str) -> ssl.SSLContext:
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = _certificate(name, key, "Test root", root_key)
        file = tmp_path / f"{name}.pem"
        file.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
            + certificate.public_bytes(serialization.Encoding.PEM)
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        return context

    yield server
    outbound._tls.cache_clear()


def _certificate(
    subject: str,
    key: ec.EllipticCurvePrivateKey,
    issuer: str,
    issuer_key: ec.EllipticCurvePrivateKey,
    *,
    ca: bool = False,
) -> x509.Certificate:
    def name(text: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])

    now = datetime.datetime.now(datetime.UTC)
    day = datetime.timedelta(days=1)
    names: list[x509.GeneralName] = (
        [x509.DNSName(subject)]
        if not ca
        else [x509.IPAddress(ipaddress.ip_address("192.0.2.1"))]
    )
    issuing = x509.AuthorityKeyIdentifier.from_issuer_public_key(
        issuer_key.public_key()
    )
    return (
        x509.CertificateBuilder()
        .subject_name(name(subject))
        .issuer_name(name(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - day)
        .not_valid_after(now + day)
        .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(
            x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False
        )
        .add_extension(issuing, critical=False)
        .add_extension(_usage(ca), critical=True)
        .sign(issuer_key, hashes.SHA256())
    )


def _usage(ca: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not ca,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=ca,
        crl_sign=ca,
        encipher_only=False,
        decipher_only=False,
    )


def test_tls_is_asked_for_the_name_and_checked_against_it(
    authority: Callable[[str], ssl.SSLContext], names: Answers, settings: Any
) -> None:
    settings.ALLOW_PRIVATE = ["127.0.0.0/8"]
    asked: list[str] = []
    context = authority("tool.example")
    context.sni_callback = lambda _, name, __: asked.append(name)
    names["tool.example"] = names["other.example"] = ["127.0.0.1"]
    with ToolServer(tls=context) as server:
        url = f"https://tool.example:{server.port}/say/200"
        assert send("POST", url, within=5).status == 200
        assert asked == ["tool.example"]
        with pytest.raises(NotSent, match="not_connected"):
            send("POST", url.replace("tool.", "other."), within=5)
        assert len(server.requests) == 1
