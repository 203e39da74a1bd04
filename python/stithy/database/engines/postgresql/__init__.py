"""PostgreSQL: what the study file may say about it.

This file imports nothing, so that a study is read without touching what starts servers.
"""

NAME = "postgresql"

_PLACE = "Stithy puts the files of each instance on its candidate's volume"
_REACH = "an instance is reached through a private socket only"
_WATCH = "Stithy keeps the server's messages with the window they belong to"

OWNED_SETTINGS = {
    "data_directory": _PLACE,
    "config_file": _PLACE,
    "hba_file": _PLACE,
    "ident_file": _PLACE,
    "external_pid_file": _PLACE,
    "include": _PLACE,
    "include_dir": _PLACE,
    "include_if_exists": _PLACE,
    "listen_addresses": _REACH,
    "port": _REACH,
    "unix_socket_directories": _REACH,
    "unix_socket_group": _REACH,
    "unix_socket_permissions": _REACH,
    "password_encryption": "the password of each instance is generated, and hashed as Stithy asks",
    "logging_collector": _WATCH,
    "log_destination": _WATCH,
    "log_directory": _WATCH,
    "log_filename": _WATCH,
    "huge_pages": "huge pages would escape the memory limit, so they are off for every candidate",
}
"""Settings that a study may not give, with the reason; all others are passed through."""
