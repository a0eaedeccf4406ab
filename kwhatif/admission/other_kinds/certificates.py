"""CertificateSigningRequest. Neither the content of the request nor its signature is checked.

Upstream: pkg/apis/certificates/validation/validation.go, pkg/registry/certificates/certificates/strategy.go.
"""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error
from collections.abc import Callable

from kwhatif.admission.kinds.strategy import Strategy
from kwhatif.admission.request import Request
from kwhatif.admission.response import Object, RequestRefusal
from kwhatif.admission.validation.field_rules import dns_label, dns_subdomain
from kwhatif.admission.validation.metadata import object_table
from kwhatif.admission.validation.problems import Problems

_USAGES = (
    *("any", "cert sign", "client auth", "code signing", "content commitment", "crl sign", "data encipherment"),
    *("decipher only", "digital signature", "email protection", "encipher only", "ipsec end system", "ipsec tunnel"),
    *("ipsec user", "key agreement", "key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing", "s/mime"),
    *("server auth", "signing", "timestamping"),
)
_PEM = re.compile(rb"-----BEGIN CERTIFICATE REQUEST-----\r?\n.*?\n-----END CERTIFICATE REQUEST-----", re.DOTALL)
_LEGACY = "kubernetes.io/legacy-unknown"
_LONGEST_DOMAIN, _LONGEST_SIGNER = 253, 253 + 253 + 63 + 2


def _request_defaults(request: Request, spec: Object) -> None:
    """The API server notes who sent the request, and drops an approval from a new one."""
    for key in ("username", "uid", "groups", "extra"):
        spec.pop(key, None)
    if request.old is None:
        request.object.pop("status", None)


def _unread(request: Request) -> RequestRefusal | None:
    effect = "a server refuses what is no sound request, or is not signed by its own key"
    request.doubt("Validation", f"what CertificateSigningRequest {request.requested_name} asks for is not read", effect)
    return None


def _pem(problems: Problems, text: str, path: str) -> None:
    try:
        match = _PEM.search(b64decode(text))
    except (Error, ValueError):
        match = None
    if match is None:
        problems.invalid(path, text, "PEM block type must be CERTIFICATE REQUEST")


def _usage(problems: Problems, usage: str, path: str) -> None:
    if usage not in _USAGES:
        problems.not_supported(path, usage, _USAGES)


def _signer(problems: Problems, name: str, path: str) -> None:
    """A domain and a path, of labels each."""
    if not name:
        problems.required(path)
        return
    domain, slash, rest = name.partition("/")
    if not slash or "/" in rest:
        why = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        problems.invalid(path, name, why)
        return
    if len(domain.encode()) > _LONGEST_DOMAIN:
        problems.too_long(path, _LONGEST_DOMAIN)
    _labels(problems, domain, path, dns_label)
    if "." not in domain:
        problems.invalid(path, domain, "should be a domain with at least two segments separated by dots")
    _labels(problems, rest, path, dns_subdomain)
    if len(name.encode()) > _LONGEST_SIGNER:
        problems.too_long(path, _LONGEST_SIGNER)


def _labels(problems: Problems, text: str, path: str, rule: Callable[[str], list[str]]) -> None:
    """What is wrong with the first label that is wrong."""
    bad = next((label for label in text.split(".") if rule(label)), None)
    if bad is not None:
        problems.invalid(path, text, *(f'validating label "{bad}": {why}' for why in rule(bad)))


_REQUEST = object_table(
    f"""
    spec.request                 text & _pem
    spec.usages                  required
    spec.usages[]                _usage
    spec.usages                  all_unique
    spec.signerName              invalid if spec.signerName={_LEGACY}:
            the legacy signerName is not allowed via this API version
    spec.signerName              text & _signer unless spec.signerName={_LEGACY}
    spec.expirationSeconds       at_least 600: may not specify a duration less than 600 seconds (10 minutes)
    """,
    *(_pem, _usage, _signer),
    names=lambda name: [],
)
STRATEGIES = {
    "CertificateSigningRequest": Strategy(_request_defaults, _REQUEST, allocate=_unread),
}
