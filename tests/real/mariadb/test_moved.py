"""A real MariaDB that was copied: a server on the source's files tells which tables differ."""

from contextlib import ExitStack
from dataclasses import replace

import pytest

from stithy.engines.engine import get_engine
from stithy.engines.mariadb.connection import connect
from stithy.engines.mariadb.engine import MariaDB
from stithy.engines.mariadb.url import parse_url
from stithy.scenarios.migration.ways.servers import FileCopy
from stithy.secrets import Secret
from stithy.storage.consent import ASIDE
from stithy.storage.copy import copy_tree
from support.moved import make_move
from support.servers import make_folder, request, server_place, start

pytestmark = pytest.mark.needs_mariadb


def run(url: Secret, *statements: str) -> None:
    """Run statements in the database under test."""
    with connect(parse_url(url)) as session:
        for statement in statements:
            session.run(statement)


@pytest.mark.parametrize(
    "secret", [None, "UPDATE a SET text = 'as it saw'", "DELETE FROM b WHERE n < 3"]
)
def test_a_source_that_follows_tells_which_tables_differ(secret: str | None) -> None:
    """What users did since the copy is the same in both; a row that was copied wrong is not."""
    with server_place() as place, ExitStack() as held:
        made = MariaDB(request())
        made.initialise(place / "data", place)
        begin = replace(start(place), more=get_engine("mariadb").replica_settings)
        first = made.start(begin)
        held.callback(first.stop)
        run(first.control, "CREATE TABLE a (text VARCHAR(10) PRIMARY KEY)",
            "CREATE TABLE b (n INT PRIMARY KEY)", "INSERT INTO a VALUES ('as it was')",
            "INSERT INTO b SELECT seq FROM seq_1_to_1000")  # fmt: skip
        first.stop()
        aside = make_folder(place, ASIDE)
        copy_tree(place / "data", aside)
        target = made.start(begin)
        held.callback(target.stop)
        if secret:
            run(target.control, "SET sql_log_bin = 0", secret)
        run(target.control, "DELETE FROM b WHERE n > 900", "INSERT INTO b VALUES (0)")
        move = make_move("mariadb", made, place, target)
        sums = FileCopy().compare(move)
        same = {name: of[0] == of[1] for name, of in sums.items()}
        assert same == {"a": "a SET" not in str(secret), "b": "FROM b" not in str(secret)}
        assert str(sums["b"][1]).startswith(f"{899 if not same['b'] else 901} rows")
