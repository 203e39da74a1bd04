"""What emulated drives ask of a machine and of a study, told before anything is made."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from stithy.errors import PreconditionError, StithyError, UserError
from stithy.hosts.runner import LocalRunner
from stithy.storage.drive_keys import DriveKeys
from stithy.storage.emulated import EmulatedProvider
from stithy.storage.provider import ROLES, Provider, Role, Site

NEEDED: Mapping[Role, int] = dict.fromkeys(ROLES, 10**9)


def provider(tmp_path: Path, **keys: object) -> EmulatedProvider:
    """The provider of a candidate `disk` whose data lie on a drive with these keys."""
    given = DriveKeys.model_validate({"drive": "generic-nvme", **keys})
    site = Site(LocalRunner(), NEEDED, tmp_path / "drives", dict.fromkeys(ROLES, 1))
    return EmulatedProvider({"data": given}, "disk", site)


def refusal(provider: EmulatedProvider) -> StithyError:
    """Why it cannot work; its problem, where and remedy are all there."""
    with pytest.raises(StithyError) as caught:
        provider.check()
    assert caught.value.remedy
    return caught.value


def test_a_user_who_is_not_root_is_offered_directories(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They need no rights, and there is a study to begin with."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    error = refusal(provider(tmp_path))
    assert isinstance(error, PreconditionError)
    assert "need root" in error.problem
    assert "`path`: studies/disk-and-memory.yaml" in error.remedy
    assert error.where == "candidate disk"


@pytest.mark.needs_drive
def test_a_drive_that_can_be_had_is_not_refused(tmp_path: Path) -> None:
    """Also one smaller than its profile, at a scale, in a file."""
    provider(tmp_path).check()
    provider(tmp_path, scale="1/8", size="4 GiB", backing=str(tmp_path)).check()


@pytest.mark.needs_drive
@pytest.mark.parametrize(
    ("keys", "kind", "told"),
    [
        ({"drive": "generic-nvmee"}, UserError, "did you mean generic-nvme?"),
        ({"drive": "./no-such.toml"}, UserError, "cannot be read"),
        ({"size": "512 MiB"}, PreconditionError, "may come to 954 MiB"),
        ({"size": "2 TiB"}, PreconditionError, "larger than its profile generic-nvme says"),
        ({"backing": "/no/such/folder"}, PreconditionError, "mkdir -p /no/such/folder"),
        ({"drive": "generic-7200", "scale": "1/8"}, UserError, "scale"),
    ],
)
def test_what_cannot_be_is_refused_with_the_remedy(
    tmp_path: Path, keys: Mapping[str, object], kind: type[StithyError], told: str
) -> None:
    """Before anything is made."""
    error = refusal(provider(tmp_path, **keys))
    assert isinstance(error, kind)
    parts = (error, *error.parts())
    assert any(told in f"{each.problem}: {each.remedy}" for each in parts), error


@pytest.mark.needs_drive
def test_a_missing_maker_of_file_systems_is_told_with_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The drives themselves could be had."""
    from stithy.drives import filesystems

    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(filesystems, "SYSTEM_FOLDERS", ())
    error = refusal(provider(tmp_path, filesystem="xfs"))
    assert "mkfs.xfs was not found" in error.problem
    assert error.remedy == "apt-get install xfsprogs or dnf install xfsprogs"


@pytest.mark.needs_drive
def test_all_of_a_drive_counts_as_taken(tmp_path: Path) -> None:
    """In memory or on a file system, also while little is written."""
    [memory] = provider(tmp_path, size="4 GiB").rooms()
    assert (memory.takes_bytes, memory.memory_backed, memory.free_bytes) == (2**32, True, None)
    [file] = provider(tmp_path, size="4 GiB", backing=str(tmp_path)).rooms()
    assert file.takes_bytes == 2**32
    assert file.free_bytes is not None


@pytest.mark.needs_drive
def test_two_candidates_never_share_a_mount_point(tmp_path: Path) -> None:
    """Names are drawn anew each time."""
    assert provider(tmp_path).place() != provider(tmp_path).place()


def test_a_profile_of_a_persons_own_must_not_change_under_a_run(tmp_path: Path) -> None:
    """It is known by its text; shipped ones come with the version of Stithy."""
    path = tmp_path / "mine.toml"
    path.write_text("one")
    first = provider(tmp_path, drive=str(path)).fingerprint()
    assert first == provider(tmp_path, drive=str(path)).fingerprint()
    path.write_text("two")
    assert provider(tmp_path, drive=str(path)).fingerprint() not in (first, None)
    assert provider(tmp_path).fingerprint() is None


def test_nothing_of_a_drive_survives_its_run(tmp_path: Path) -> None:
    """The next session makes it anew."""
    made: Provider = provider(tmp_path)
    assert made.survives("r1") is None
