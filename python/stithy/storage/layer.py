"""The interface of a layer: several block devices become one volume, and back.

A layer lies between a source, whose provider gives the devices (its members), and the file system.
It is one module in `layers/` with

- `NAME`, `Spec` (a pydantic model of its keys in the study file), `NEEDS` (see `stithy.needs`),
- `members(spec)`: the least and the greatest number of devices, None where there is none,
- `capacity_bytes(spec, sizes_bytes)`: how much can be written, from the sizes of its members,
- `build(spec, devices, task)`: makes it of empty devices, and gives the device to be mounted,
- `redundancy(spec, count)`: bytes on that many devices for a byte of files,
- `multiple(spec)`, if the number of devices must be a multiple of more than one,
- `UNEQUAL`, if its members must differ in speed: drives of one profile are refused then,
- `FILESYSTEM`, if it brings a file system of its own: the kind by which that is mounted,
- `mount_options(spec)`, if its keys are options of mounting it,
- `cautions(spec)`, if a person must know something before it holds data,
- `usage(mount_point, runner)`, if that compresses or keeps copies: what its books say
  (`stithy.storage.space.Usage`); and `stored_below(folder)`, what is stored of files in a folder,
- `usage_below(device, redundancy, runner)`, if it compresses below a file system: the same, of its
  device that is mounted,
- `HANDLERS`, if it makes what unmounting does not remove: as a provider has them.

`Spec`, `members`, `capacity_bytes` and `redundancy` judge by the study alone.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic_core import InitErrorDetails, PydanticCustomError, core_schema

from stithy.errors import TextError
from stithy.hosts.runner import Runner
from stithy.needs import Need
from stithy.registry import plugins
from stithy.storage import sizes
from stithy.storage.provider import Record
from stithy.units import format_size, parse_size

SIZE_BYTES_MAX = 2**50


@dataclass(frozen=True)
class Task:
    """What a layer is built with.

    `identifier` is a UUID by which blkid knows each member afterwards, so that clean-up sees whose
    it is. `record` is told of everything before it is made that unmounting does not remove.
    """

    identifier: str
    run_id: str
    record: Record
    runner: Runner


@dataclass(frozen=True)
class Layer:
    """A layer as a study asks for it: its name, and its keys."""

    name: str
    spec: BaseModel

    @property
    def _module(self) -> ModuleType:
        return plugins("layer")[self.name]

    @property
    def needs(self) -> tuple[Need, ...]:
        """What it cannot work without on a machine."""
        return tuple(each for each in self._module.NEEDS if not each.optional)

    @property
    def filesystem(self) -> str | None:
        """The kind of file system that it brings; None where one is made on it."""
        return getattr(self._module, "FILESYSTEM", None)

    @property
    def facts(self) -> Mapping[str, str]:
        """Its level, or else first key, and all other keys that are not as usual."""
        values = self.spec.model_dump(mode="json", by_alias=True)
        first = next(iter(values), None)
        # Not of validated defaults: a key may have none.
        usual = type(self.spec).model_construct().model_dump(mode="json", by_alias=True)
        said = {key: each for key, each in values.items() if key == first or each != usual.get(key)}
        return {name: str(value) for name, value in said.items()}

    def usable_bytes(self, filesystem: str, sizes_bytes: Sequence[int]) -> int:
        """How much files may take on members of these sizes, bytes; on the safe side."""
        capacity: int = self._module.capacity_bytes(self.spec, sizes_bytes)
        return sizes.usable_bytes(self.filesystem or filesystem, capacity)

    def member_bytes(self, filesystem: str, needed_bytes: int, count: int) -> int:
        """How large each of `count` members must be for files of `needed_bytes`; whole MiB."""
        least, most = sizes.DEVICE_BYTES_MIN // sizes.MIB, SIZE_BYTES_MAX // sizes.MIB
        while least < most:
            middle = (least + most) // 2
            enough = self.usable_bytes(filesystem, [middle * sizes.MIB] * count) >= needed_bytes
            least, most = (least, middle) if enough else (middle + 1, most)
        return least * sizes.MIB

    def redundancy(self, count: int) -> float:
        """Bytes on `count` devices for a byte of files: copies and parity."""
        return float(self._module.redundancy(self.spec, count))

    @property
    def mount_options(self) -> tuple[str, ...]:
        """Options by which its file system is mounted, as its keys ask for."""
        return self._told("mount_options")

    @property
    def cautions(self) -> tuple[str, ...]:
        """What a person must know before the layer holds data, a sentence each."""
        return self._told("cautions")

    def _told(self, what: str) -> tuple[str, ...]:
        asked = getattr(self._module, what, None)
        return tuple(asked(self.spec)) if asked else ()

    def build(self, devices: Sequence[str], task: Task) -> str:
        """Make it of devices that may be overwritten; the device that is to be mounted."""
        built: str = self._module.build(self.spec, devices, task)
        return built

    def __str__(self) -> str:
        """`btrfs raid10`, or `btrfs raid5, compression zstd`: its name, and what is asked of it."""
        first, *others = self.facts.items() or [("", "")]
        words = f"{self.name} {first[1]}".rstrip()  # a layer may have no keys
        return ", ".join([words, *(f"{key} {of}" for key, of in others)])


class OneLayer:
    """For pydantic: a layer by its name with its keys, as in `{raid: {level: 1}}`.

    Which layers there are is asked when it is needed, so that those of one's own count.
    """

    def model(self) -> type[BaseModel]:
        """All layers as keys, of which one is given."""
        fields: dict[str, Any] = {
            name: (module.Spec | None, Field(default=None, description=module.Spec.__doc__))
            for name, module in plugins("layer").items()
        }
        config = ConfigDict(extra="forbid", frozen=True)
        return create_model("Layer", __config__=config, **fields)

    def __get_pydantic_core_schema__(self, _source: Any, _handler: Any) -> core_schema.CoreSchema:
        """Read by `read`, written as in a study file."""
        written = core_schema.plain_serializer_function_ser_schema(_written)
        return core_schema.no_info_plain_validator_function(self.read, serialization=written)

    def __get_pydantic_json_schema__(self, _schema: Any, _handler: Any) -> dict[str, Any]:
        """A mapping with one of the layers."""
        specs = {name: module.Spec.model_json_schema() for name, module in plugins("layer").items()}
        keys = {name: {**each, "default": "none"} for name, each in specs.items()}
        return {"type": "object", "properties": keys, "minProperties": 1, "maxProperties": 1,
                "additionalProperties": False}  # fmt: skip

    def read(self, value: Any) -> Layer | None:
        """The layer that a study's value describes. Raises what pydantic makes a problem of."""
        if value is None or isinstance(value, Layer):
            return value
        if not isinstance(value, dict) or len(value) != 1:
            names = " or ".join(f"{{{name}: {{…}}}}" for name in plugins("layer"))
            raise rule("not a layer", f"its name with its keys: {names}")
        keys = {name: {} if each is None else each for name, each in value.items()}
        known = self.model().model_validate(keys)
        [name] = known.model_fields_set
        return Layer(name, getattr(known, name))


def _written(value: Layer | None) -> dict[str, Any] | None:
    if value is None:
        return None
    return {value.name: value.spec.model_dump(mode="json", by_alias=True)}


def rule(what: str, right: str) -> PydanticCustomError:
    """An error in a study's value: what is wrong, and what would be right."""
    context = {"what": what, "right": right}
    return PydanticCustomError("rule", "{what}: {right}", context)


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
    found = _misfit(layer, count, filesystem, equal)
    if found is not None:
        key, value, error = found
        raise at({"count": counted_by, "layer": named_by}.get(key, key), value, error)


def at(key: str, value: object, error: PydanticCustomError) -> ValidationError:
    """The same at a key of a section."""
    details = [InitErrorDetails(type=error, loc=(key,), input=value)]
    return ValidationError.from_exception_data("keys", details)


def _misfit(
    layer: Layer | None, count: int, filesystem: str | None, equal: bool
) -> tuple[str, object, PydanticCustomError] | None:
    if layer is None:
        names = ", ".join(plugins("layer"))
        error = rule("several devices without a layer", f"add `layer`, which is one of {names}")
        return None if count == 1 else ("count", count, error)
    module = plugins("layer")[layer.name]
    least, most = module.members(layer.spec)
    if count < least:
        return "layer", str(layer), rule("too few devices for it", f"at least {least}, not {count}")
    if most is not None and count > most:
        return "layer", str(layer), rule("too many devices for it", f"at most {most}, not {count}")
    of = module.multiple(layer.spec) if hasattr(module, "multiple") else 1
    if count % of:
        right = f"a multiple of {of}, not {count}: it would leave {count % of} unused"
        return "layer", str(layer), rule("not a number of devices for it", right)
    if equal and getattr(module, "UNEQUAL", False):
        right = "use `device` with a slow and a fast one, or `ceph` with `cache`"
        return "layer", str(layer), rule("a cache that is as slow as what it is in front of", right)
    if layer.filesystem is not None and filesystem not in (None, layer.filesystem):
        right = f"leave it out: the layer {layer.name} is the file system {layer.filesystem}"
        return "filesystem", filesystem, rule("two file systems", right)
    return None


def power_of_two(value: str | None, most_bytes: int = 2**40) -> str | None:
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
    raise rule("not a size of chunks or records", right)
