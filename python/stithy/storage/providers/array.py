"""An array: drives or devices under a layer, asked for by level or by the policies of the field.

It says no more than a `drive` or `device` with a `layer` does, and those provide it. Policies are
mapped after those of hyper-converged storage: failures to tolerate by copies or by erasure coding,
stripe width. A drive stands for what a host is there: on one machine it is what may fail.
"""

import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    Field,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError

from stithy.errors import UserError
from stithy.registry import plugins
from stithy.storage.layer import Layer, LayerKind, check_members, locate_error
from stithy.storage.provider import (
    NO_FILE_SYSTEM,
    FileSystem,
    Provider,
    Role,
    SetAside,
    Site,
    Storage,
)
from stithy.storage.providers import device, drive
from stithy.storage.providers.drive import COUNT_MAX, MEMORY, DriveKeys
from stithy.units import FrozenModel, make_rule_error, require

CODING = re.compile(r"(0?[2-9]|[1-9]\d)\+([12])")
_IS_CODING = require(
    CODING.fullmatch,
    "not an erasure coding",
    "data and parity, such as 3+1 or 4+2; there may be one or two of parity",
)
PARITY = {1: "raid5", 2: "raid6"}
FTT_MOST = 3
WIDTH_MOST = 12
"""Source of both: vSAN storage policies."""


class ArrayPolicy(FrozenModel):
    """What the data must survive, and over how many drives they are striped."""

    ftt: Annotated[int, Field(ge=0, le=FTT_MOST)] = Field(
        default=1,
        json_schema_extra={"default": "1, or the parity of `erasure_coding`"},
        description="Failures to tolerate: how many drives may fail without loss of data.",
        examples=[1],
    )
    stripe_width: Annotated[int, Field(ge=1, le=WIDTH_MOST)] = Field(
        default=1, description="Over how many drives each copy is striped.", examples=[1]
    )
    erasure_coding: Annotated[str, _IS_CODING] | None = Field(
        default=None,
        json_schema_extra={"default": "none: whole copies"},
        description="Data and parity in a stripe, such as `3+1` (RAID 5) or `4+2` (RAID 6).",
        examples=["3+1"],
    )

    @model_validator(mode="after")
    def _check_combination(self) -> Self:
        if self.erasure_coding is None:
            return self
        _, parity = self.parts
        if "ftt" in self.model_fields_set and self.ftt != parity:
            right = f"{self.erasure_coding} tolerates {parity}: leave out `ftt`"
            raise make_rule_error("two numbers of failures to tolerate", right)
        if self.stripe_width != 1:
            raise make_rule_error(
                "a stripe width beside erasure coding", "leave out `stripe_width`"
            )
        return self

    @property
    def parts(self) -> tuple[int, int]:
        """Data and parity of the erasure coding."""
        data, _, parity = (self.erasure_coding or "0+0").partition("+")
        return int(data), int(parity)

    def choose_level(self, count: int) -> str:
        """The level of an array of `count` drives. Raises what pydantic makes a problem of."""
        if self.erasure_coding is not None:
            data, parity = self.parts
            _need(count, data + parity, f"erasure coding {self.erasure_coding}")
            return PARITY[parity]
        levels, what = {0: "single", 1: "raid1", 2: "raid1c3"}, "no level has four copies"
        right = "tolerate 2 failures, or use erasure coding 4+2"
        if self.stripe_width > 1:
            levels, what = {0: "raid0", 1: "raid10"}, "no level stripes three copies or more"
            right = "`stripe_width: 1`, or erasure coding 4+2, which tolerates two failures"
        if self.ftt not in levels:
            raise make_rule_error(what, right)
        if self.stripe_width > 1:
            needed = (self.ftt + 1) * self.stripe_width
            _need(count, needed, f"{self.ftt + 1} × a stripe width {self.stripe_width}")
        return levels[self.ftt]


def _need(count: int, needed: int, what: str) -> None:
    if count != needed:
        raise make_rule_error(
            f"{count} drives for {what}", f"`drives: {needed}`: arrays use all they have"
        )


USUAL_ENGINE = "btrfs"
OF_ENGINES = ("level", "compression", "deduplication", "checksum", "chunk", "recordsize")
"""Keys that the engine judges, if it has them."""
OF_DRIVES = ("size", "scale", "backing", "seed")


class ArrayKeys(FrozenModel):
    """An array of equal emulated drives, or of given devices."""

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
        BeforeValidator(lambda value: value if value is None else device.read_nodes(value)),
        WithJsonSchema({"type": "array", "items": {"type": "string"}}),
    ] = Field(
        default=None,
        json_schema_extra={"default": "emulated drives"},
        description="Block devices instead of emulated drives, named as with `device`.",
    )
    wipe: bool = Field(
        default=False, description="Consent to lose all that the devices hold.", examples=[False]
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
    policy: ArrayPolicy | None = Field(
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
    def _check_resolvable(self) -> Self:
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
            raise locate_error(
                "engine", self.engine, make_rule_error("not an engine", " or ".join(engines))
            )
        spec = engines[self.engine].keys
        asked = {key: getattr(self, key) for key in OF_ENGINES}
        for key in (key for key, value in asked.items() if value is not None):
            if key not in spec.model_fields:
                having = [name for name, kind in engines.items() if key in kind.keys.model_fields]
                can = f", or use an engine that has it: {', '.join(having)}" if having else ""
                error = make_rule_error(
                    f"the engine {self.engine} has no `{key}`", f"leave it out{can}"
                )
                raise locate_error(key, asked[key], error)
        if self.policy is not None:
            asked["level"] = self._choose_level(self.policy, asked["level"])
        given = {key: value for key, value in asked.items() if value is not None}
        try:
            return Layer(self.engine, spec.model_validate(given))
        except ValidationError as error:
            raise self._locate_problems(error, spec) from error

    @cached_property
    def members(self) -> DriveKeys | device.DeviceSpec:
        """What the array lies on, with the array over it, as the sources of these have it."""
        layer = {self.layer.name: self.layer.spec.model_dump(exclude_unset=True, by_alias=True)}
        common = {"layer": layer, "filesystem": self.filesystem}
        kept = {key: value for key, value in common.items() if value is not None}
        if self.devices:
            asked = {"device": [str(each) for each in self.devices], "wipe": self.wipe}
            return device.DeviceSpec.model_validate({**asked, **kept})
        drives = {key: getattr(self, key) for key in ("drive", *OF_DRIVES)}
        given = {key: value for key, value in drives.items() if value is not None}
        return DriveKeys.model_validate({**given, "count": self.count, **kept})

    def _check_members_named(self) -> None:
        if (self.drive is None) == (self.devices is None):
            right = "`drive` with a profile for emulated drives, or `devices` with a list"
            raise make_rule_error("an array needs one kind of members", right)
        if self.devices is None and self.wipe:
            error = make_rule_error("nothing to wipe", "leave it out: drives are made anew")
            raise locate_error("wipe", True, error)
        given = [key for key in ("drives", *OF_DRIVES) if getattr(self, key) is not None]
        if self.devices is not None and given:
            error = make_rule_error("a key of emulated drives", "leave it out, or use `drive`")
            raise locate_error(given[0], getattr(self, given[0]), error)

    def _choose_level(self, policy: ArrayPolicy, level: str | None) -> str:
        if level is not None:
            raise locate_error(
                "level", level, make_rule_error("a level beside a policy", "leave one of them out")
            )
        try:
            return policy.choose_level(self.count)
        except PydanticCustomError as error:
            raise locate_error("policy", policy.model_dump(exclude_unset=True), error) from error

    def _locate_problems(self, error: ValidationError, spec: type[BaseModel]) -> ValidationError:
        """Its problems at the keys of this section; a level that it lacks may be a policy's."""
        if self.policy is None:
            return error
        [first, *_] = error.errors()
        if first["loc"][:1] != ("level",):
            return error
        levels = spec.model_json_schema()["properties"]["level"].get("enum", [])
        right = f"it has the levels {', '.join(levels)}; or use another engine"
        what = f"the engine {self.engine} cannot honour it: it has no {first['input']}"
        return locate_error(
            "policy", self.policy.model_dump(exclude_unset=True), make_rule_error(what, right)
        )


class ArraySpec(FrozenModel):
    """A candidate that is an array, with one volume."""

    array: ArrayKeys = Field(description="The array: its drives or devices, and what it is.")


def _find_source(spec: ArraySpec) -> Provider:
    (source,) = drive.PLUGINS if isinstance(spec.array.members, DriveKeys) else device.PLUGINS
    return source


class ArrayProvider(Provider):
    """Arrays; emulated drives need more, as the provider `drive` says."""

    name = "array"
    needs = device.NEEDS
    spec = ArraySpec

    def create(self, spec: ArraySpec, candidate: str, site: Site) -> Storage:
        return _find_source(spec).create(spec.array.members, candidate, site)

    def has_emulated_drives(self, spec: ArraySpec) -> bool:
        return isinstance(spec.array.members, DriveKeys)

    def has_block_device(self, spec: ArraySpec) -> bool:
        return spec.array.members.filesystem == NO_FILE_SYSTEM

    def name_drives(self, spec: ArraySpec) -> tuple[str, ...]:
        return _find_source(spec).name_drives(spec.array.members)

    def count_image_bytes(self, spec: ArraySpec, needed_bytes: Mapping[Role, int]) -> int:
        return _find_source(spec).count_image_bytes(spec.array.members, needed_bytes)

    def set_aside(self, spec: ArraySpec, needed_bytes: Mapping[Role, int]) -> SetAside:
        if self.has_emulated_drives(spec):
            return _find_source(spec).set_aside(spec.array.members, needed_bytes)
        return SetAside(None, spec.array.layer.spec.count_redundancy(spec.array.count))

    def is_overlapping(self, spec: ArraySpec, other: ArraySpec) -> bool:
        """Whether two have a device in common; emulated drives are made anew."""
        source = _find_source(spec)
        members = spec.array.members, other.array.members
        return source is _find_source(other) and source.is_overlapping(*members)

    def make_like(self, spec: ArraySpec, ending: str) -> ArraySpec:
        if self.has_emulated_drives(spec):
            return spec
        raise UserError(
            "an array of devices cannot be compared with itself: two candidates would share it",
            where="--null",
            remedy="put a directory or an array of emulated drives first among the candidates",
        )


PLUGINS = (ArrayProvider(),)
