"""What a study says of a Prometheus exporter on another host."""

from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from stithy.secrets import VARIABLE, Secret, read_given_secret
from stithy.units import FrozenModel, Seconds, format_duration, limit_quantity, make_rule_error

LOOPBACK = ("localhost", "127.0.0.1", "::1")

Role = Literal["database", "storage", "other"]


def _check_url(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        right = "such as http://db.example:9100/metrics"
        raise make_rule_error("not the address of a page of metrics", right)
    if "@" in parts.netloc or parts.query:
        right = "leave user, password and query out; `token_env` or `token_file` name a token"
        raise make_rule_error("an address that may hold a secret", right)
    return text


class ExporterKeys(FrozenModel):
    """A page of metrics in Prometheus' text format or OpenMetrics."""

    url: Annotated[str, AfterValidator(_check_url)] = Field(
        description="The address of its page of metrics.",
        examples=["http://db.example:9100/metrics"],
    )
    map: str | None = Field(
        default=None,
        min_length=1,
        json_schema_extra={"default": "recognised by what its page has"},
        description="What its names mean: a shipped map, or the path of one of your own (`.toml`).",
        examples=["node_exporter"],
    )
    role: Role | None = Field(
        default=None,
        json_schema_extra={"default": "database if the candidates are URLs, else other"},
        description=(
            "What runs on its host. What limits a window is judged by the CPUs of `database`, "
            "and by those of `storage`; `other` is only shown."
        ),
        examples=["storage"],
    )
    every_s: Annotated[Seconds, limit_quantity(1, 60, format_duration)] | None = Field(
        default=None,
        alias="every",
        json_schema_extra={"default": "as its map says, else 1 s"},
        description="How often its page is read; one that is made anew more rarely needs longer.",
        examples=["5 s"],
    )
    token_env: str | None = Field(
        default=None,
        pattern=VARIABLE,
        json_schema_extra={"default": "no token"},
        description="Environment variable that holds its bearer token.",
        examples=["DB_METRICS_TOKEN"],
    )
    token_file: str | None = Field(
        default=None,
        json_schema_extra={"default": "no token"},
        description="File that holds it instead; its owner alone may read it.",
        examples=["~/.stithy-metrics"],
    )
    ca: Path | None = Field(
        default=None,
        json_schema_extra={"default": "those that the machine trusts"},
        description="File with the certificates (PEM) that vouch for its server.",
        examples=["/etc/ssl/laboratory.pem"],
    )
    candidates: tuple[str, ...] | None = Field(
        default=None,
        min_length=1,
        strict=False,
        json_schema_extra={"default": "all"},
        description="The candidates in whose windows it is read.",
        examples=[["db-a"]],
    )
    devices: tuple[str, ...] = Field(
        default=(),
        strict=False,
        json_schema_extra={"default": "none: devices are shown, and no rule judges by them"},
        description=(
            "All block devices under the database, by their names there. What limits a window is "
            "then judged by them, too."
        ),
        examples=[["nvme0n1"]],
    )
    metrics: tuple[str, ...] = Field(
        default=(),
        strict=False,
        json_schema_extra={"default": "none"},
        description="Further metrics of its page, by their names there: gauges and counters.",
        examples=[["node_load1"]],
    )

    @model_validator(mode="before")
    @classmethod
    def _take_address(cls, data: Any) -> Any:
        """An address alone is one without further keys."""
        return {"url": data} if isinstance(data, str) else data

    @model_validator(mode="after")
    def _check_token(self) -> "ExporterKeys":
        if self.token_env and self.token_file:
            raise make_rule_error("two tokens", "name one of `token_env` and `token_file`")
        parts = urlsplit(self.url)
        is_open = parts.scheme == "http" and parts.hostname not in LOOPBACK
        if is_open and (self.token_env or self.token_file):
            right = "use https, or a tunnel that ends at 127.0.0.1"
            raise make_rule_error("a token that would be sent in clear text", right)
        if self.ca and parts.scheme == "http":
            raise make_rule_error("certificates for an address without TLS", "use https")
        return self

    def read_token(self) -> Secret | None:
        """Read its token; None without one. Raises UserError where it is not there."""
        return read_given_secret(self.token_env, self.token_file, "token_file")

    def applies_to(self, candidate: str) -> bool:
        """Whether it is read in windows of a candidate."""
        return self.candidates is None or candidate in self.candidates
