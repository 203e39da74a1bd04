"""A URL says the same to libpq, which Stithy's own connections are, and to the hammer."""

import pytest

from stithy.engines.postgresql.connection import connect
from stithy.engines.postgresql.url import parse_url
from stithy.errors import StithyError, UserError
from stithy.hosts.runner import LocalRunner
from stithy.secrets import Secret
from stithy.wire.hammer import Hammer
from stithy.workloads.order_entry import Choice
from support.listening import NOWHERE, Listening, listening

FOLLOWED = (
    "me:sesame@{at}/shop", "me:s%40s%2Fame@{at}/shop", "me:ses?ame:x@{at}/shop", "me@{at}",
    "me@{at}/", "me@{at}/a/b", "m%20e@{at}/sh%40p", "{at}/shop?user=me&password=ses%26ame",
    "you:no@h:1/e?user=me&host=127.0.0.1&port={port}&dbname=d", "me@:{port}/d?host=127.0.0.1",
    "me@localhost:{port}/d?hostaddr=127.0.0.1",
    "me@{at}/d?options=-csearch_path%3Da+b%20-cjit%3Don", "me@{at}/d?connect_timeout=5",
    "me@{at}/d?connect_timeout=-1", "me@{at}/d?connect_timeout=",
    "me@{at}/d?sslmode=disable", "me@{at}/d?sslmode=require&sslmode=allow",
    "me@{at}/d?channel_binding=disable", "me:@{at}/d", "me@{at}/d?password=", "me@{at}/d?",
    "me@{at}/d?ssl%6Dode=prefer", "me@{at}/d?sslmode=prefer&sslrootcert=/no/such",
    "me@{at}/d?dbname=",
)  # fmt: skip
REFUSED = (
    "me@{at}/d?sslcert=c", "me@{at}/d?target_session_attrs=any", "me@{at}/d?application_name=x",
    "me@{at}/d?sslmod=require", "me@{at},{at}/d", "me@{at}/d?host=a,b", "me@[::1],[::1]/d",
    "me:s@same@{at}/d", "me:se/same@{at}/d", "me:se/same?x@{at}/d", "me:se/same?x=y@{at}/d",
    "me:se%same@{at}/d", "me:sesa%@{at}/d", "me:se%00same@{at}/d", "me:se same@{at}/d",
    "me:%ff@{at}/d", "me@{at}/d?password=se&same", "me@{at}/d?password=se&same=x",
    "me@{at}/d?sslmode", "me@{at}/d?=5", "me@{at}/d?&sslmode=prefer", "me@{at}/d?sslmode=sesame",
    "me@{at}/d?sslmode=", "me@{at}/d?channel_binding=sesame", "me@{at}/d?connect_timeout=soon",
    "me@{at}/d?connect_timeout=5s", "me@127.0.0.1:sesame/d", "me@h/d?hostaddr=sesame",
    "me@h:0/d", "me@h:65536/d",
    "me@h:5_4/d", "me@::1/d", "me@[::1/d", "me@[::1]x/d", "{at}/d", "me@/d", "me@{at}/d?user=",
    "me@{at}/d?host=", "", "me@{at}/d?sslmode=verify-full",
    "me@{at}/d?sslmode=require&sslrootcert=system",
    "me@{at}/d?sslmode=verify-ca&sslrootcert=/no/such", "me@{at}/d?ssl=false",
)  # fmt: skip


def _by_libpq(url: Secret) -> None:
    connect(parse_url(url)).close()


def _by_hammer(url: Secret) -> None:
    Hammer(LocalRunner(), url).check(Choice(warehouses=1), quick=True, after_load=False)


def _started(there: Listening) -> dict[bytes, bytes]:
    """What the last connection said of user, database and options."""
    words = there.last()[0][8:].split(b"\0")
    said = dict(zip(words[::2], words[1::2], strict=False))
    said[b"options"] = said.get(b"options", b"").removeprefix(b"-c jit=off").strip()
    return {name: said[name] for name in (b"user", b"database", b"options")}


def test_a_url_that_is_followed_means_the_same() -> None:
    """User, database and options reach the server alike; and so in the URL that the hammer gets."""
    with listening(NOWHERE) as there:
        for url in FOLLOWED:
            text = f"postgresql://{url}".format(at=f"127.0.0.1:{there.port}", port=there.port)
            started = []
            for ask, of in (
                (_by_libpq, Secret(text)), (_by_hammer, Secret(text)),
                (_by_hammer, parse_url(Secret(text)).url),
            ):  # fmt: skip
                with pytest.raises(StithyError, match="nowhere"):
                    ask(of)
                started.append(_started(there))
            assert started[0] == started[1] == started[2], url


def test_an_unfollowed_url_is_refused() -> None:
    """Before anything is connected, as a mistake of its user, who is told to percent-encode it."""
    for url in REFUSED:
        text = f"postgresql://{url}".format(at="127.0.0.1:1")
        problems = []
        for ask in (_by_libpq, _by_hammer):
            with pytest.raises(UserError) as caught:
                ask(Secret(text))
            said = caught.value
            problems.append(said.problem)
            assert not any(piece in str(said) for piece in ("sesame", "same", "se/", "se&")), url
            assert "percent-encode" in said.remedy or "ssl" in url or "leave it out" in said.remedy
        assert problems[0] == problems[1] or "option" in problems[0] or "/no/such" in url, problems
