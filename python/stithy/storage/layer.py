"""The seam of layers: several block devices become one volume, and back.

A layer lies between a source, whose provider gives the devices (its members), and the file system.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    create_model,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError, core_schema

from stithy.environment import list_plugin_folders
from stithy.errors import TextError
from stithy.hosts.runner import Runner
from stithy.needs import Need
from stithy.registry import Family, Plugin, plugins
from stithy.storage import provider
from stithy.storage.provider import Record
from stithy.units import FrozenModel, format_size, make_rule_error, parse_size

if TYPE_CHECKING:
    from stithy.storage.space import Usage

SIZE_BYTES_MAX = 2**50

SWITCHES = {"True": "on", "False": "off"}
"""Words for what a key switches."""


@dataclass(frozen=True)
class BuildTask:
    """What a layer is built with.

    `identifier` is a UUID by which blkid knows each member afterwards, so that clean-up sees whose
    it is. `record` is told of everything before it is made that unmounting does not remove.
    """

    identifier: str
    run_id: str
    record: Record
    runner: Runner


class LayerKeys(FrozenModel):
    """The keys of a layer in a study, each with a default, and what follows from them alone.

    The first key names the layer in reports. Only `build` touches the machine.
    """

    def limit_members(self) -> tuple[int, int | None]:
        """Give the least and the greatest number of devices, None where there is none."""
        raise NotImplementedError

    def get_multiple(self) -> int:
        """Give the number of which the devices must be a multiple."""
        return 1

    def count_capacity_bytes(self, sizes_bytes: Sequence[int]) -> int:
        """Count what can be written on members of these sizes, bytes; never too much."""
        raise NotImplementedError

    def count_redundancy(self, count: int) -> float:
        """Count the bytes on that many devices for a byte of files: copies and parity."""
        raise NotImplementedError

    def list_mount_options(self) -> tuple[str, ...]:
        """List the options by which its file system is mounted."""
        return ()

    def list_cautions(self) -> tuple[str, ...]:
        """List what a person must know before it holds data, a sentence each."""
        return ()

    def count_survived(self) -> int:
        """Count the devices that may fail at once, whichever they are."""
        return 0

    def finds_corruption(self) -> bool:
        """Say whether a reader learns of data that a device has changed."""
        return False

    def build(self, devices: Sequence[str], task: BuildTask) -> str:
        """Make it of devices that may be overwritten; give the device that is to be mounted."""
        raise NotImplementedError


@dataclass(frozen=True)
class LayerKind(Plugin):
    """How several devices become one."""

    family: ClassVar = Family("storage.layers")

    name: str
    keys: type[LayerKeys]

    needs: tuple[Need, ...] = ()
    """The programs, kernel features and rights that it needs."""

    is_unequal: bool = False
    """Whether its members must differ in speed: drives of one profile are refused."""

    filesystem: str | None = None
    """The kind of file system that it brings; None where one is made on it."""

    usage: "Callable[[Path, Runner], Usage] | None" = None
    """What the books of its file system say, at a mount point, where it compresses or copies."""

    repair: Callable[[Path, Runner], int] | None = None
    """Restore the redundancy of what is mounted there, and count what was corrected."""

    exchange: Callable[[Path, int, str, Runner], None] | None = None
    """Rebuild what is mounted there on a new device in the place of a lost one, by its number."""

    stored_below: Callable[[Path], int] | None = None
    """What its file system stores of the files below a folder, bytes."""

    usage_below: "Callable[[str, float, Runner], Usage] | None" = None
    """What it stores below a file system, of its device that is mounted and its redundancy."""

    handlers: Mapping[str, Callable[[Mapping[str, str]], None]] = field(default_factory=dict)
    """How each kind of resource that unmounting does not remove is removed, by recorded facts."""


@dataclass(frozen=True)
class Layer:
    """A layer as a study asks for it: its name, and its keys."""

    name: str
    spec: LayerKeys

    @property
    def _kind(self) -> LayerKind:
        return plugins(LayerKind)[self.name]

    @property
    def needs(self) -> tuple[Need, ...]:
        """What it cannot work without on a machine."""
        return tuple(need for need in self._kind.needs if not need.optional)

    @property
    def filesystem(self) -> str | None:
        """The kind of file system that it brings; None where one is made on it."""
        return self._kind.filesystem

    @property
    def facts(self) -> Mapping[str, str]:
        """Its level, or else first key, and all other keys that are not as usual."""
        values = self.spec.model_dump(mode="json", by_alias=True)
        first = next(iter(values), None)
        # Not of validated defaults: a key may have none.
        usual = type(self.spec).model_construct().model_dump(mode="json", by_alias=True)
        said = {key: each for key, each in values.items() if key == first or each != usual.get(key)}
        return {name: SWITCHES.get(str(value), str(value)) for name, value in said.items()}

    def count_usable_bytes(self, filesystem: str, sizes_bytes: Sequence[int]) -> int:
        """How much files may take on members of these sizes, bytes; on the safe side."""
        capacity = self.spec.count_capacity_bytes(sizes_bytes)
        return provider.count_usable_bytes(self.filesystem or filesystem, capacity)

    def count_member_bytes(self, filesystem: str, needed_bytes: int, count: int) -> int:
        """How large each of `count` members must be for files of `needed_bytes`; whole MiB."""
        least, most = provider.DEVICE_BYTES_MIN // provider.MIB, SIZE_BYTES_MAX // provider.MIB
        while least < most:
            middle = (least + most) // 2
            usable_bytes = self.count_usable_bytes(filesystem, [middle * provider.MIB] * count)
            least, most = (least, middle) if usable_bytes >= needed_bytes else (middle + 1, most)
        return least * provider.MIB

    def __str__(self) -> str:
        """`btrfs raid10`, or `btrfs raid5, compression zstd`: its name, and what is asked of it."""
        first, *others = self.facts.items() or [("", "")]
        words = f"{self.name} {first[1]}".rstrip()  # a layer may have no keys
        return ", ".join([words, *(f"{key} {of}" for key, of in others)])


@cache
def _make_model_with(places: tuple[Path, ...]) -> type[BaseModel]:
    """Make it of Stithy's layers and of those in these folders."""
    fields: dict[str, Any] = {
        name: (kind.keys | None, Field(default=None, description=kind.keys.__doc__))
        for name, kind in plugins(LayerKind).items()
    }
    config = ConfigDict(extra="forbid", frozen=True)
    return create_model("Layer", __config__=config, **fields)


class OneLayer:
    """For pydantic: a layer by its name with its keys, as in `{raid: {level: 1}}`.

    Which layers there are is asked when it is needed, so that those of one's own count.
    """

    def make_model(self) -> type[BaseModel]:
        """All layers as keys, of which one is given."""
        return _make_model_with(list_plugin_folders())

    def __get_pydantic_core_schema__(self, _source: Any, _handler: Any) -> core_schema.CoreSchema:
        """Read by `read`, written as in a study file."""
        written = core_schema.plain_serializer_function_ser_schema(
            lambda layer: layer and {layer.name: layer.spec.model_dump(mode="json", by_alias=True)}
        )
        return core_schema.no_info_plain_validator_function(self.read, serialization=written)

    def __get_pydantic_json_schema__(self, _schema: Any, _handler: Any) -> dict[str, Any]:
        """A mapping with one of the layers."""
        kinds = plugins(LayerKind).items()
        schemas = {name: kind.keys.model_json_schema() for name, kind in kinds}
        keys = {name: {**schema, "default": "none"} for name, schema in schemas.items()}
        return {"type": "object", "properties": keys, "minProperties": 1, "maxProperties": 1,
                "additionalProperties": False}  # fmt: skip

    def read(self, value: Any) -> Layer | None:
        """The layer that a study's value describes. Raises what pydantic makes a problem of."""
        if value is None or isinstance(value, Layer):
            return value
        if not isinstance(value, dict) or len(value) != 1:
            names = " or ".join(f"{{{name}: {{…}}}}" for name in plugins(LayerKind))
            raise make_rule_error("not a layer", f"its name with its keys: {names}")
        keys = {name: {} if each is None else each for name, each in value.items()}
        known = self.make_model().model_validate(keys)
        [name] = known.model_fields_set
        return Layer(name, getattr(known, name))


def check_members(
    layer: Layer | None,
    count: int,
    filesystem: str | None,
    counted_by: str,
    *,
    named_by: str = "layer",
    equal: bool = False,
) -> None:
    """Raise what pydantic makes a problem of, where a layer and its members do not fit.

    `filesystem` is the one that the study asks for, None where it leaves that open. `counted_by` is
    the key that says how many members there are, `named_by` the one that says which layer. `equal`:
    they are all of one kind.
    """
    misfit = _find_misfit(layer, count, filesystem, equal)
    if misfit is not None:
        key, value, what, right = misfit
        key = {"count": counted_by, "layer": named_by}.get(key, key)
        raise locate_error(key, value, make_rule_error(what, right))


def locate_error(key: str, value: object, error: PydanticCustomError) -> ValidationError:
    """The same at a key of a section."""
    details = [InitErrorDetails(type=error, loc=(key,), input=value)]
    return ValidationError.from_exception_data("keys", details)


def _find_misfit(
    layer: Layer | None, count: int, filesystem: str | None, equal: bool
) -> tuple[str, object, str, str] | None:
    """Find the key, its value, what is wrong with it, and what would be right."""
    if layer is None:
        right = f"add `layer`, which is one of {', '.join(plugins(LayerKind))}"
        return None if count == 1 else ("count", count, "several devices without a layer", right)
    kind, name = plugins(LayerKind)[layer.name], str(layer)
    least, most = layer.spec.limit_members()
    if count < least:
        return "layer", name, "too few devices for it", f"at least {least}, not {count}"
    if most is not None and count > most:
        return "layer", name, "too many devices for it", f"at most {most}, not {count}"
    of = layer.spec.get_multiple()
    if count % of:
        right = f"a multiple of {of}, not {count}: it would leave {count % of} unused"
        return "layer", name, "not a number of devices for it", right
    if equal and kind.is_unequal:
        right = "use `device` with a slow and a fast one, or `ceph` with `cache`"
        return "layer", name, "a cache that is as slow as what it is in front of", right
    if layer.filesystem is not None and filesystem not in (None, layer.filesystem):
        right = f"leave it out: the layer {layer.name} is the file system {layer.filesystem}"
        return "filesystem", filesystem, "two file systems", right
    return None


def check_power_of_two(value: str | None, most_bytes: int = 2**40) -> str | None:
    """A size of chunks or records as a study gives it, checked; None where it gives none.

    Raises what pydantic makes a problem of.
    """
    if value is None:
        return None
    with suppress(TextError):
        size = parse_size(value)
        if 4096 <= size <= most_bytes and not size & (size - 1):
            return format_size(size)
    right = f"a power of two from 4 KiB to {format_size(most_bytes)}, such as 64 KiB"
    raise make_rule_error("not a size of chunks or records", right)


Level = Literal["single", "raid0", "raid1", "raid1c3", "raid10", "raid5", "raid6"]
COPIES: dict[Level, int] = {"raid1": 2, "raid1c3": 3, "raid10": 2}
PARITY: dict[Level, int] = {"raid5": 1, "raid6": 2}
MEMBERS: dict[Level, tuple[int, int | None]] = {
    "single": (1, None), "raid0": (2, None), "raid1": (2, 2), "raid1c3": (3, 3),
    "raid10": (4, None), "raid5": (3, None), "raid6": (4, None),
}  # fmt: skip
"""The least and most devices of each level: a mirror has as many as copies."""

STRIPED = ("raid0", "raid10", "raid5", "raid6")
LEVELS = (
    "How data lie on the devices: one after the other (`single`), striped (`raid0`), in two or "
    "three copies (`raid1`, `raid1c3`), striped over pairs of copies (`raid10`), striped with "
    "parity (`raid5`, `raid6`)."
)
Chunk = Annotated[str | None, AfterValidator(check_power_of_two)]


def make_chunk_field(usual: str) -> Any:
    """The key `chunk` of an engine; `usual`: what it is where none is given."""
    return Field(
        default=None,
        json_schema_extra={"default": usual},
        description="How much of a stripe lies on one device.",
    )


class LevelKeys(LayerKeys):
    """The keys of layers that have a level, and what follows from it."""

    level: Level = Field(default="raid1", description=LEVELS, examples=["single"])

    def limit_members(self) -> tuple[int, int | None]:
        return MEMBERS[self.level]

    def count_redundancy(self, count: int) -> float:
        """Count copies, or the share of a stripe that is not parity, inverted."""
        if self.level in PARITY:
            return count / (count - PARITY[self.level])
        return float(COPIES.get(self.level, 1))


class RaidKeys(LevelKeys):
    """The keys that engines have alike; each says what its own `chunk` usually is."""

    chunk: Chunk = None

    @model_validator(mode="after")
    def _refuse_chunks_without_stripes(self) -> Self:
        if self.chunk is not None and self.level not in STRIPED:
            right = f"leave out `chunk`, or use {', '.join(STRIPED)}"
            raise make_rule_error(f"{self.level} has no stripes", right)
        return self

    @property
    def is_synchronised(self) -> bool:
        """Whether all of it is read or written once before it is used."""
        return self.level in PARITY

    def list_cautions(self) -> tuple[str, ...]:
        """Say how long synchronising takes: 1 TB at 150 MB/s, as disks write in order."""
        if not self.is_synchronised:
            return ()
        what = "it is synchronised before the first window"
        return (f"{what}, which takes up to 2 hours for each TB of a disk",)
