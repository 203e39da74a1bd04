"""A URL says the same to Stithy itself, which for PostgreSQL is libpq, and to the hammer."""

import pytest

from stithy.engines.engine import find_engine_of
from stithy.engines.postgresql.connection import connect
from stithy.engines.postgresql.url import parse_url
from stithy.errors import InfrastructureError, StithyError, UserError
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


AT = "127.0.0.1:1"
"""Nobody listens there."""

READ = (
    f"me:sesame@{AT}/shop", f"me:s%40s%2Fame@{AT}/shop", f"me:ses?ame:x@{AT}/shop", f"me@{AT}/a/b",
    f"m%20e@{AT}/sh%40p", "me@localhost:%31/d", "me@[::1]:1/d", f"me@{AT}/d?", f"me@{AT}/d#x",
    f"me@{AT}/d?password=ses%26ame", f"me:@{AT}/d?password=&connect_timeout=", f"me@{AT}/d?ca=",
    f"me@{AT}/d?connect_timeout=-1", f"me@{AT}/d?connect%5Ftimeout=%2B5&",
)  # fmt: skip
UNREAD = (
    "", f"{AT}/d", f"me@{AT}", f"me@{AT}/", f":sesame@{AT}/d", "me@/d", "me@:1/d", "me@::1/d",
    "me@[::1/d", "me@[::1]x/d", "me@h:0/d", "me@h:65536/d", "me@h:-1/d", "me@h:5_4/d",
    "me@h:sesame/d", "me@h,i/d", f"me:s@same@{AT}/d", f"me:se/same@{AT}/d", f"me:se%same@{AT}/d",
    f"me:sesa%@{AT}/d", f"me:se%00same@{AT}/d", f"me:se same@{AT}/d", f"me:%ff@{AT}/d",
    f"me@{AT}/d?password=se&same", f"me@{AT}/d?&ca=", f"me@{AT}/d?&", f"me@{AT}/d?=5",
    f"me@{AT}/d?connect_timeout=soon", f"me@{AT}/d?connect_timeout=2147483648",
    f"me@{AT}/d?ssl=true", f"me@{AT}/d?sslmode=prefer",
    f"me@{AT}/d?connect_timeout=1&connect_timeout=1",
    f"me:sesame@{AT}/d?password=sesame", f"me@{AT}/d?Password=sesame",
)  # fmt: skip
READ_BY = {
    "mariadb": (
        "me@/d?socket=/no/such", "me@localhost:7/d?socket=%2Fno%2Fsuch", f"me@{AT}/d?tls=require",
        f"me@{AT}/d?tls=prefer&ca=/no/such", f"me@{AT}/d?ca=system", f"me@{AT}/d?socket=",
        f"me@{AT}/d?tls=verify-full&ca=system",
    ),
    "sqlserver": (
        f"me@{AT}/d?encrypt=false", f"me@{AT}/d?encrypt=true&trustServerCertificate=true",
        f"me@{AT}/d?encrypt=&trustServerCertificate=", f"me@{AT}/d?trustServerCertificate=false",
    ),
}  # fmt: skip
UNREAD_BY = {
    "mariadb": (
        f"me@{AT}/d?socket=/no/such", "me@/d?socket=such", f"me@{AT}/d?tls=allow",
        f"me@{AT}/d?tls=", f"me@{AT}/d?tls=verify-ca", f"me@{AT}/d?tls=require&ca=system",
        f"me@{AT}/d?tls=verify-ca&ca=/no/such", "me@/d?socket=/no/such&tls=verify-full&ca=system",
        f"me@{AT}/d?encrypt=true",
    ),
    "sqlserver": (
        f"me@{AT}/d?encrypt=yes", f"me@{AT}/d?trustServerCertificate=1", f"me@{AT}/d?ca=/no/such",
        f"me@{AT}/d?trustServerCertificate=true&ca=/no/such", f"me@{AT}/d?socket=/no/such",
    ),
}  # fmt: skip


def _by_stithy(url: Secret) -> None:
    find_engine_of(url).locate(url)


@pytest.mark.parametrize("scheme", READ_BY)
def test_both_readers_follow_the_same(scheme: str) -> None:
    """Each goes to the same place; what is left out, as `passfile`, is what Stithy reads itself."""
    for url in (*READ, *READ_BY[scheme]):
        given = Secret(f"{scheme}://{url}")
        place, _, database = find_engine_of(given).locate(given).rpartition(", database ")
        named = place if place.startswith("/") else " port ".join(place.rsplit(":", 1))
        for of in (given, find_engine_of(given).connect(given).url):
            with pytest.raises(InfrastructureError) as caught:
                _by_hammer(of)
            assert f"{named}, database {database}" in caught.value.text, url


@pytest.mark.parametrize("scheme", UNREAD_BY)
def test_both_readers_refuse_the_same(scheme: str) -> None:
    """As a mistake of its user; nothing of a password is said."""
    for url in (*UNREAD, *UNREAD_BY[scheme]):
        for ask in (_by_stithy, _by_hammer):
            refused = ""
            try:
                ask(Secret(f"{scheme}://{url}"))
            except UserError as error:
                refused = str(error)
            assert refused, f"{ask.__name__} follows {url}"
            assert not any(part in refused for part in ("sesame", "same@", "se%")), url
