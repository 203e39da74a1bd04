"""Files of other tools, profiles and traces: whatever they hold, they are read or refused."""

import random
import re
from pathlib import Path

import pytest

from stithy.errors import StithyError
from stithy.fio import library

PROFILE = (library.FOLDER / "sql-80-20.toml").read_text(encoding="utf-8")
JOB = """\
[global]
ioengine=libaio
iodepth=8
[data]
rw=randrw
rwmixread=70
bssplit=4k/60:8k,64k/10:8k
numjobs=4
random_distribution=zoned:95/5:5/95
[log]
stonewall
rw=write
bs=8k
fdatasync=1
size=10%
"""
PARAMETERS = """\
compratio=2
sd=sd1,lun=/dev/sdx,threads=24,openflags=o_direct
wd=default,xfersize=8192,seekpct=100
wd=mix,sd=sd1,xfersize=(4k,60,8k,40),rdpct=70,range=(50,100)
rd=curve,wd=mix,iorate=curve,curve=(10-120,10),forthreads=(8-24,8)
"""
READS = (f"{n}000 /dev/x read {n * 8192} 8192" for n in range(150))
LOG = "\n".join(["fio version 3 iolog", "0 /dev/x add", *READS])
FILES = (PROFILE, JOB, PARAMETERS, LOG)
WORDS = (
    "", "-1", "0", "1.5", "1e9", "9" * 30, "nan", "inf", "%", "101%", "()", "(", ",", "/", ":", "k",
    "4k/", "1/0", "(1-9,0)", "zoned:50/", "[", "[[", "=", "\t", "\r", "\x00", "${X}", "٣", "\xff",
)  # fmt: skip
PYTHONS = re.compile(r"invalid literal|could not convert|codec|unpack|NoneType|\bobject\b|Errno")


def damaged(text: str, dice: random.Random) -> str:
    """A text with a few of its words, lines or characters replaced, doubled or left out."""
    for _ in range(dice.randint(1, 4)):
        parts = re.split(dice.choice([r"(\n)", r"([\s=,:/()]+)"]), text)
        place = dice.randrange(len(parts))
        parts[place] = dice.choice([dice.choice(WORDS), parts[place] * 2, ""])
        text = "".join(parts)
    return text


def refusal(file: Path) -> str:
    """Why it is no profile; empty where it is one."""
    try:
        assert library.find(str(file)).patterns
    except StithyError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("seed", range(4))
def test_no_file_ends_in_words_of_python(seed: int, tmp_path: Path) -> None:
    """It is a profile, or is refused in words for a person."""
    dice = random.Random(seed)
    for number in range(40):
        file = tmp_path / f"{number}{dice.choice(['', '.fio', '.vdb', '.toml', '.iolog'])}"
        file.write_text(damaged(dice.choice(FILES), dice), encoding="latin-1", errors="replace")
        assert not PYTHONS.search(refusal(file)), file.read_text(encoding="latin-1")
