"""What the live page of a run costs while it is open, as a share of a core: `live_page.py STUDY`.

The study is run with `--page`, and a program reads the page's events as a browser does, in turns of
ten seconds with nobody who reads. The cost is the CPU time of the thread that answers; beside it
stands the whole program's with and without a reader, sampler, display and log included.
"""

import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

from kept import TARGET_MISSED, keep

SHARE_MOST = 0.005
TURN_S, TURNS = 10.0, 12
ASKED = b"GET /events HTTP/1.0\r\nHost: localhost\r\n\r\n"


def main(words: Sequence[str]) -> int:
    """Measure and print; 99 where the target is missed."""
    program = Path(sys.executable).with_name("stithy")
    with tempfile.TemporaryDirectory() as place, subprocess.Popen(
        [program, "run", words[0], "--out", f"{place}/out", "--page", "127.0.0.1:0", "--no-wait"],
        stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
    ) as run:  # fmt: skip
        assert run.stderr is not None
        port = 0
        for line in run.stderr:
            print(line, end="")
            if found := re.search(r"live page: http://127.0.0.1:(\d+)/", line):
                port = int(found[1])
            if port and "(measure)" in line:  # users are at work
                break
        turns = [measure(run.pid, port, reads=bool(turn % 2)) for turn in range(TURNS)]
        run.send_signal(signal.SIGINT)  # nobody wants its results
        for line in run.stderr:
            print(line, end="")
    page = [turn["page_share"] for turn in turns if turn["messages"]]
    whole = [[turn["whole_share"] for turn in turns if bool(turn["messages"]) is reads]
             for reads in (False, True)]  # fmt: skip
    share = sum(page) / len(page)
    print(f"the page: {share:.4%} of a core (at most {SHARE_MOST:.1%}); the whole program "
          f"{sum(whole[0]) / len(whole[0]):.2%} without a reader, "
          f"{sum(whole[1]) / len(whole[1]):.2%} with one")  # fmt: skip
    keep("live-page", {"study": Path(words[0]).name, "turn_s": TURN_S}, {"turns": turns})
    return TARGET_MISSED if share > SHARE_MOST else 0


def measure(pid: int, port: int, *, reads: bool) -> dict[str, float]:
    """Measure a turn: shares of a core, messages and bytes a second."""
    began_s, before = time.monotonic(), read_threads(pid)
    last, answering = before, set[str]()
    messages = size = 0
    with socket.create_connection(("127.0.0.1", port)) if reads else nullcontext() as page:
        if page is not None:
            page.settimeout(0.5)
            page.sendall(ASKED)
        while time.monotonic() < began_s + TURN_S:
            piece = b""
            try:
                if page is None:
                    time.sleep(0.5)
                else:
                    piece = page.recv(1 << 20)
            except TimeoutError:
                pass
            last = last | read_threads(pid)
            answering = answering or (last.keys() - before.keys() if piece else answering)
            messages, size = messages + piece.count(b"\ndata: "), size + len(piece)
    took_s = time.monotonic() - began_s
    used_s = sum(last.values()) - sum(before.values())
    return {"page_share": sum(last[thread] for thread in answering) / took_s,
            "whole_share": used_s / took_s,
            "messages": messages / took_s, "bytes_per_s": size / took_s}  # fmt: skip


def read_threads(pid: int) -> dict[str, float]:
    """Read the CPU seconds of each thread of a process."""
    found = {}
    for path in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        try:
            found[path.parent.name] = int(path.read_text().split()[0]) / 1e9
        except OSError:
            continue  # it has just ended
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
