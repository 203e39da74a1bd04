"""What meters by HTTP share: one question, answered with JSON, and how they are logged in to."""

import json
from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import md5, sha256
from http.client import HTTPException
from secrets import token_urlsafe
from typing import Annotated, Any, Literal
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import (
    ProxyHandler,
    Request,
    build_opener,
    parse_http_list,
    parse_keqv_list,
)

from pydantic import AfterValidator, Field, model_validator

from stithy.errors import give_reason
from stithy.meters.meter import SecretKeys, Unreadable
from stithy.secrets import Secret
from stithy.units import make_rule_error

PATIENCE_S = 2.0
BYTES_MAX = 2**20
REFUSED = "it refuses the login: `user` and `password_env` or `password_file` name the right one"


def _check_address(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        right = "such as http://192.168.0.7; `password_env` or `password_file` name a password"
        raise make_rule_error("not an address", right)
    return text.rstrip("/")


Address = Annotated[str, AfterValidator(_check_address)]
"""The address of a device, without a path."""


class LoginKeys(SecretKeys):
    """The keys of a device that may want a user and a password."""

    user: str = Field(
        default="admin",
        min_length=1,
        description="The user whose password it wants.",
        examples=["admin"],
    )

    @model_validator(mode="after")
    def _check_user(self) -> "LoginKeys":
        if "user" in self.model_fields_set and not (self.password_env or self.password_file):
            raise make_rule_error("a user without a password", "add `password_env` for it")
        return self


@dataclass(frozen=True)
class Login:
    """A user and a password, and the scheme by which alone the device is told of them."""

    scheme: Literal["Basic", "Digest"]
    user: str
    password: Secret

    def answer(self, challenges: Iterable[str], path: str, ours: str) -> str:
        """Answer a challenge to a GET of `path`; `ours`: a text that nobody can guess.

        Raises Unreadable where none is of this scheme. Source: RFC 7617, section 2.
        """
        start = self.scheme.lower()
        asked = next((text for text in challenges if text.lower().startswith(start)), None)
        if asked is None:
            raise Unreadable(f"it wants another login than {self.scheme}: is its `kind` right?")
        if self.scheme == "Digest":
            return self._prove(parse_keqv_list(parse_http_list(asked[len(start) :])), path, ours)
        both = f"{self.user}:{self.password.reveal()}".encode()
        return f"Basic {b64encode(both).decode()}"

    def _prove(self, asked: dict[str, str], path: str, ours: str) -> str:
        """Prove the password without telling it. Source: RFC 7616, section 3.4."""
        digest = {"MD5": md5, "SHA-256": sha256}.get(asked.setdefault("algorithm", "MD5"))
        if digest is None or not {"realm", "nonce"} <= asked.keys():
            raise Unreadable("it wants a login by another digest than MD5 or SHA-256")

        def hash_parts(*parts: str) -> str:
            return digest(":".join(parts).encode()).hexdigest()

        count, what = "00000001", hash_parts("GET", path)
        who = hash_parts(self.user, asked["realm"], self.password.reveal())
        proof = hash_parts(who, asked["nonce"], count, ours, "auth", what)
        told = {"username": self.user, "uri": path, "response": proof, "cnonce": ours}
        told |= {key: asked[key] for key in ("realm", "nonce", "opaque") if key in asked}
        texts = ", ".join(f'{key}="{value}"' for key, value in told.items())
        return f"Digest {texts}, algorithm={asked['algorithm']}, qop=auth, nc={count}"


def ask_json(url: str, login: Login | None = None) -> Any:
    """Ask a device in the same network; raises Unreadable for all but JSON."""
    where = url.partition("?")[0]
    # No proxy: these devices stand in the laboratory.
    opener, request = build_opener(ProxyHandler({})), Request(url)
    try:
        try:
            answer = opener.open(request, timeout=PATIENCE_S)
        except HTTPError as error:
            error.close()
            if error.code != 401 or login is None:
                raise
            asked = error.headers.get_all("WWW-Authenticate", [])
            told = login.answer(asked, request.selector, token_urlsafe())
            request.add_unredirected_header("Authorization", told)  # for this device alone
            answer = opener.open(request, timeout=PATIENCE_S)
        with answer:
            return json.loads(answer.read(BYTES_MAX))
    except HTTPError as error:
        error.close()
        code = error.code
        why = REFUSED if code in (401, 403) else f"it answers {code}"
        raise Unreadable(f"{where}: {why}") from error
    except OSError as error:
        raise Unreadable(f"{where}: {explain_silence(error)}") from error
    except (HTTPException, ValueError) as error:
        raise Unreadable(f"{where}: its answer is no JSON") from error


def explain_silence(error: OSError) -> str:
    """Say why a device gave no answer."""
    inner = error.reason if isinstance(error, URLError) else error
    if isinstance(inner, TimeoutError):
        return f"no answer within {PATIENCE_S:g} s"
    return give_reason(inner if isinstance(inner, OSError) else error)


def find_number(answer: Any, *way: str | int) -> float:
    """Find a number below names and indices; raises Unreadable where there is none."""
    found = answer
    for step in way:
        try:
            found = found[step]
        except (KeyError, IndexError, TypeError) as error:
            raise Unreadable(f"its answer has no {'.'.join(map(str, way))}") from error
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise Unreadable(f"its {'.'.join(map(str, way))} is no number")
    return float(found)
