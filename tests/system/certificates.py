"""An authority and certificates of its own for a broker and its clients."""

from __future__ import annotations

import datetime as dt
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

NOW = dt.datetime.now(dt.UTC)
DAY = dt.timedelta(days=1)


class Authority:
    def __init__(self, folder: Path, name: str = "authority"):
        self._folder = folder
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._key = ec.generate_private_key(ec.SECP256R1())
        certificate = self._signed(self._name, self._key.public_key(), NOW - DAY, NOW + 30 * DAY, ca=True)
        self.path = folder / f"{name}.pem"
        self.path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    def issue(self, name: str, *, days: int = 10, host: str | None = "127.0.0.1") -> tuple[Path, Path]:
        """Paths of a certificate and its key; a negative number of days is one that has expired."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        first, last = (NOW - 20 * DAY, NOW + days * DAY)
        certificate = self._signed(subject, key.public_key(), first, last, host=host)
        paths = self._folder / f"{name}.pem", self._folder / f"{name}.key"
        paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        paths[1].write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        return paths

    def _signed(self, subject, public_key, first, last, *, ca=False, host=None):
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(public_key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(first)
            .not_valid_after(last)
            .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
        )
        if host is not None:
            try:
                name = x509.IPAddress(ipaddress.ip_address(host))
            except ValueError:
                name = x509.DNSName(host)
            builder = builder.add_extension(x509.SubjectAlternativeName([name]), critical=False)
        return builder.sign(self._key, hashes.SHA256())
