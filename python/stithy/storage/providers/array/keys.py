"""What a study says about an array: its drives, its level or policy, the engine that makes it.

Storage policies in the field's words, and the level of an array that honours each.
Mapped after the policies of hyper-converged storage: failures to tolerate by copies or by erasure
coding, stripe width. A drive stands for what a host is there: on one machine it is what may fail.
"""

import re
from functools import cached_property
from pathlib import Path
from typing import Annotated, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError

from stithy.registry import plugins
from stithy.storage.layer import Layer, LayerKind, at, check_members, rule
from stithy.storage.providers import device
from stithy.storage.providers.drive.keys import COUNT_MAX, MEMORY, DriveKeys
from stithy.storage.sizes import FileSystem

CODING = re.compile(r"(\d{1,2})\+(\d)")
PARITY = {1: "raid5", 2: "raid6"}
FTT_MOST = 3
WIDTH_MOST = 12
"""Source of both: vSAN storage policies."""


def _coding(value: str) -> str:
    found = CODING.fullmatch(value)
    if found is None or int(found[2]) not in PARITY or int(found[1]) < 2:
        right = "data and parity, such as 3+1 or 4+2; there may be one or two of parity"
        raise rule("not an erasure coding", right)
    return value


class Policy(BaseModel):
    """What the data must survive, and over how many drives they are striped."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    ftt: Annotated[int, Field(ge=0, le=FTT_MOST)] = Field(
        default=1,
        json_schema_extra={"default": "1, or the parity of `erasure_coding`"},
        description="Failures to tolerate: how many drives may fail without loss of data.",
        examples=[1],
    )
    stripe_width: Annotated[int, Field(ge=1, le=WIDTH_MOST)] = Field(
        default=1,
        description="Over how many drives each copy is striped.",
        examples=[1],
    )
    erasure_coding: Annotated[str, AfterValidator(_coding)] | None = Field(
        default=None,
        json_schema_extra={"default": "none: whole copies"},
        description="Data and parity in a stripe, such as `3+1` (RAID 5) or `4+2` (RAID 6).",
        examples=["3+1"],
    )

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        if self.erasure_coding is None:
            return self
        _, parity = self.parts
        if "ftt" in self.model_fields_set and self.ftt != parity:
            right = f"{self.erasure_coding} tolerates {parity}: leave out `ftt`"
            raise rule("two numbers of failures to tolerate", right)
        if self.stripe_width != 1:
            raise rule("a stripe width beside erasure coding", "leave out `stripe_width`")
        return self

    @property
    def parts(self) -> tuple[int, int]:
        """Data and parity of the erasure coding."""
        data, _, parity = (self.erasure_coding or "0+0").partition("+")
        return int(data), int(parity)

    def level(self, count: int) -> str:
        """The level of an array of `count` drives. Raises what pydantic makes a problem of."""
        if self.erasure_coding is not None:
            data, parity = self.parts
            _need(count, data + parity, f"erasure coding {self.erasure_coding}")
            return PARITY[parity]
        if self.stripe_width > 1:
            return self._striped(count)
        levels = {0: "single", 1: "raid1", 2: "raid1c3"}
        if self.ftt not in levels:
            raise rule("no level has four copies", "tolerate 2 failures, or use erasure coding 4+2")
        return levels[self.ftt]

    def _striped(self, count: int) -> str:
        levels = {0: "raid0", 1: "raid10"}
        if self.ftt not in levels:
            right = "`stripe_width: 1`, or erasure coding 4+2, which tolerates two failures"
            raise rule("no level stripes three copies or more", right)
        copies = self.ftt + 1
        _need(count, copies * self.stripe_width, f"{copies} × a stripe width {self.stripe_width}")
        return levels[self.ftt]


def _need(count: int, needed: int, what: str) -> None:
    if count != needed:
        raise rule(f"{count} drives for {what}", f"`drives: {needed}`: arrays use all they have")


USUAL_ENGINE = "btrfs"
OF_ENGINES = ("level", "compression", "deduplication", "checksum", "chunk", "recordsize")
"""Keys that the engine judges, if it has them."""
OF_DRIVES = ("size", "scale", "backing", "seed")


class ArrayKeys(BaseModel):
    """An array of equal emulated drives, or of given devices."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    drives: Annotated[int | None, Field(ge=1, le=COUNT_MAX)] = Field(
        default=None,
        json_schema_extra={"default": "the number of `devices`"},
        description="How many emulated drives it has.",
        examples=[4],
    )
    drive: str | None = Field(
        default=None,
        json_schema_extra={"default": "none, with `devices`"},
        description="The profile of each drive: the name of a shipped one, or the path of a file.",
        examples=["generic-sata"],
    )
    devices: Annotated[
        tuple[Path, ...] | None,
        BeforeValidator(lambda value: value if value is None else device.nodes(value)),
        WithJsonSchema({"type": "array", "items": {"type": "string"}}),
    ] = Field(
        default=None,
        json_schema_extra={"default": "emulated drives"},
        description="Block devices instead of emulated drives, named as with `device`.",
    )
    wipe: bool = Field(
        default=False,
        description="Consent to lose all that the devices hold.",
        examples=[False],
    )
    engine: str = Field(
        default=USUAL_ENGINE,
        description="The layer that makes the array; `stithy doctor` lists those that work here.",
        examples=[USUAL_ENGINE],
    )
    level: str | None = Field(
        default=None,
        json_schema_extra={"default": "by `policy`, else as the engine has it"},
        description=(
            "`single`, `raid0`, `raid1`, `raid1c3`, `raid10`, `raid5` or `raid6`, as far as the "
            "engine offers it."
        ),
    )
    policy: Policy | None = Field(
        default=None,
        json_schema_extra={"default": "by `level`"},
        description="What the data must survive, instead of a level.",
    )
    compression: str | None = Field(
        default=None,
        json_schema_extra={"default": "as the engine has it"},
        description="What compresses all data, such as `zstd:1`, if the engine can.",
        examples=["zstd:1"],
    )
    deduplication: bool | None = Field(
        default=None,
        json_schema_extra={"default": "as the engine has it"},
        description="Whether what is equal is stored once, if the engine can.",
    )
    checksum: bool | None = Field(
        default=None,
        json_schema_extra={"default": "as the engine has it"},
        description="Whether data have checksums, if the engine leaves the choice.",
        examples=[True],
    )
    chunk: str | None = Field(
        default=None,
        json_schema_extra={"default": "as the engine has it"},
        description="How much of a stripe lies on a drive, such as `64 KiB`, if the engine can.",
    )
    recordsize: str | None = Field(
        default=None,
        json_schema_extra={"default": "as the engine has it"},
        description="How large the records of files are, such as `16 KiB`, if the engine has any.",
    )
    size: str | None = Field(
        default=None,
        json_schema_extra={"default": "the space that the plan needs"},
        description="Size of each emulated drive.",
        examples=["8 GiB"],
    )
    scale: str | int | None = Field(
        default=None,
        json_schema_extra={"default": "1"},
        description="Scale model: capacity, IOPS and bandwidth of each drive are multiplied by it.",
        examples=["1/8"],
    )
    backing: str | None = Field(
        default=None,
        json_schema_extra={"default": MEMORY},
        description="Where the drives keep their data: `memory`, or a directory.",
        examples=["/var/tmp"],
    )
    seed: int | None = Field(
        default=None,
        json_schema_extra={"default": "from the study's seed"},
        description="Seed of the drives' own random choices.",
        examples=[7],
    )
    filesystem: FileSystem | None = Field(
        default=None,
        json_schema_extra={"default": "ext4, unless the engine is one"},
        description="The file system on the array, if its engine is none itself.",
    )

    @model_validator(mode="after")
    def _resolves(self) -> Self:
        self._check_members_named()
        counted = "drives" if self.drive else "devices"
        default = counted if self.engine == USUAL_ENGINE else "engine"
        named = "policy" if self.policy else "level" if self.level else default
        equal = self.drive is not None
        check_members(self.layer, self.count, self.filesystem, counted, named_by=named, equal=equal)
        _ = self.members
        return self

    @property
    def count(self) -> int:
        """How many drives it has."""
        return len(self.devices) if self.devices else self.drives or 1

    @cached_property
    def layer(self) -> Layer:
        """The engine with what the study asks of it. Raises what pydantic makes a problem of."""
        engines = plugins(LayerKind)
        if self.engine not in engines:
            raise at("engine", self.engine, rule("not an engine", " or ".join(engines)))
        spec = engines[self.engine].keys
        asked = {key: getattr(self, key) for key in OF_ENGINES}
        for key in (key for key, value in asked.items() if value is not None):
            if key not in spec.model_fields:
                having = [name for name, kind in engines.items() if key in kind.keys.model_fields]
                can = f", or use an engine that has it: {', '.join(having)}" if having else ""
                error = rule(f"the engine {self.engine} has no `{key}`", f"leave it out{can}")
                raise at(key, asked[key], error)
        if self.policy is not None:
            asked["level"] = self._level(self.policy, asked["level"])
        given = {key: value for key, value in asked.items() if value is not None}
        try:
            return Layer(self.engine, spec.model_validate(given))
        except ValidationError as error:
            raise self._refused(error, spec) from error

    @cached_property
    def members(self) -> DriveKeys | device.Spec:
        """What the array lies on, with the array over it, as the sources of these have it."""
        layer = {self.layer.name: self.layer.spec.model_dump(exclude_unset=True, by_alias=True)}
        common = {"layer": layer, "filesystem": self.filesystem}
        kept = {key: value for key, value in common.items() if value is not None}
        if self.devices:
            asked = {"device": [str(each) for each in self.devices], "wipe": self.wipe}
            return device.Spec.model_validate({**asked, **kept})
        drives = {key: getattr(self, key) for key in ("drive", *OF_DRIVES)}
        given = {key: value for key, value in drives.items() if value is not None}
        return DriveKeys.model_validate({**given, "count": self.count, **kept})

    def _check_members_named(self) -> None:
        if (self.drive is None) == (self.devices is None):
            right = "`drive` with a profile for emulated drives, or `devices` with a list"
            raise rule("an array needs one kind of members", right)
        if self.devices is None and self.wipe:
            raise at("wipe", True, rule("nothing to wipe", "leave it out: drives are made anew"))
        given = [key for key in ("drives", *OF_DRIVES) if getattr(self, key) is not None]
        if self.devices is not None and given:
            error = rule("a key of emulated drives", "leave it out, or use `drive`")
            raise at(given[0], getattr(self, given[0]), error)

    def _level(self, policy: Policy, level: str | None) -> str:
        if level is not None:
            raise at("level", level, rule("a level beside a policy", "leave one of them out"))
        try:
            return policy.level(self.count)
        except PydanticCustomError as error:
            raise at("policy", policy.model_dump(exclude_unset=True), error) from error

    def _refused(self, error: ValidationError, spec: type[BaseModel]) -> ValidationError:
        """Its problems at the keys of this section; a level that it lacks may be a policy's."""
        if self.policy is None:
            return error
        [first, *_] = error.errors()
        if first["loc"][:1] != ("level",):
            return error
        levels = spec.model_json_schema()["properties"]["level"].get("enum", [])
        right = f"it has the levels {', '.join(levels)}; or use another engine"
        what = f"the engine {self.engine} cannot honour it: it has no {first['input']}"
        return at("policy", self.policy.model_dump(exclude_unset=True), rule(what, right))
