"""A server on this machine that plays every source, well and badly behaved."""

from __future__ import annotations

import datetime as dt
import ipaddress
import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

Route = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: SourceServer

    def do_GET(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        self.content = self.rfile.read(length)
        self.server.seen.append((self.command, self.path, dict(self.headers.items()), self.content))
        route = self.server.routes.get(self.path.partition("?")[0])
        try:
            if route is None:
                self.answer(b"nothing", "text/plain", status=404)
            else:
                route(self)
        except OSError:  # the client has gone
            self.close_connection = True

    do_PROPFIND = do_REPORT = do_GET

    def answer(self, body: bytes, kind: str | None = "application/json", *, status: int = 200, **headers: str) -> None:
        self.head(kind, status=status, Content_Length=str(len(body)), **headers)
        self.wfile.write(body)

    def head(self, kind: str | None, *, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        if kind is not None:
            self.send_header("Content-Type", kind)
        for key, value in headers.items():
            self.send_header(key.replace("_", "-"), value)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


class SourceServer(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = True

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.routes: dict[str, Route] = {}
        self.seen: list[tuple[str, str, dict[str, str], bytes]] = []
        self.stopping = threading.Event()
        self._context = context

    @property
    def port(self) -> int:
        return self.server_address[1]

    def finish_request(self, request, client_address) -> None:
        if self._context is not None:
            try:
                request = self._context.wrap_socket(request, server_side=True)
            except OSError:  # the client refuses the certificate
                return
            with request:
                super().finish_request(request, client_address)
        else:
            super().finish_request(request, client_address)

    def handle_error(self, request, client_address) -> None:
        pass

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        self.shutdown()
        self._thread.join()
        self.server_close()


class Authority:
    """Makes certificates."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test authority")])
        self.certificate = self._sign(self._name, self._key, dt.timedelta(days=2), authority=True)

    def server_context(self, host: str, *, lifetime: dt.timedelta = dt.timedelta(days=1)) -> ssl.SSLContext:
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
        certificate = self._sign(name, key, lifetime, host=host)
        path = self._folder / f"{host}.pem"
        path.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
            + certificate.public_bytes(serialization.Encoding.PEM)
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path)
        return context

    def trust(self) -> ssl.SSLContext:
        pem = self.certificate.public_bytes(serialization.Encoding.PEM).decode()
        return ssl.create_default_context(cadata=pem)

    def _sign(self, name, key, lifetime, *, host=None, authority=False) -> x509.Certificate:
        now = dt.datetime.now(dt.UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(days=30))
            .not_valid_after(now + lifetime)
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
        )
        if authority:
            usage = x509.KeyUsage(
                digital_signature=True, key_cert_sign=True, crl_sign=True, content_commitment=False,
                key_encipherment=False, data_encipherment=False, key_agreement=False, encipher_only=False,
                decipher_only=False,
            )  # fmt: skip
            builder = builder.add_extension(usage, critical=True)
        if host is not None:
            try:
                other: x509.GeneralName = x509.IPAddress(ipaddress.ip_address(host))
            except ValueError:
                other = x509.DNSName(host)
            builder = builder.add_extension(x509.SubjectAlternativeName([other]), critical=False)
        return builder.sign(self._key, hashes.SHA256())
