"""Code in every text that a person or a server may write into a run, and the run that has it.

Each piece would leave a trace if anything ran it: a value, a dialog, or a request.
"""

from pathlib import Path

from stithy.results.files import write_json
from stithy.results.layout import RunDirectory
from stithy.results.manifest import Fact
from support.sample_run import Shape, build_run, manifest, window_id

TRACE = "planted"
"""The name of the value that is set by what runs."""

CODE = f"globalThis.{TRACE}=1,alert(1)"
_CALL = f"constructor.constructor('{CODE}')()"

NAMES = (
    f"<img src=x onerror={CODE}>",
    f"<svg onload={CODE}><style>@import 'http:⁄⁄127.0.0.1:9';",
    f'" onmouseover="{CODE}" autofocus onfocus="{CODE}" x="',
    f"'-{CODE}-'`${{{CODE}}}`",
    f"datum.{_CALL}",
    f"{{{{{_CALL}}}}} {{% print({_CALL}) %}}",
    f"javascript:{CODE}",
    f"]]><script>{CODE}<⁄script>",
)
"""Names of candidates: each is a folder as well, and so without a slash."""

TEXT = " ".join(
    [
        f"</script><script>{CODE}</script>",
        f"</style></title></textarea></template></pre>--><script>{CODE}</script>",
        f'<iframe srcdoc="<script>parent.{CODE}</script>"></iframe>',
        f'<img src="http://127.0.0.1:9/{TRACE}.png" onload="{CODE}">',
        f'<link rel="stylesheet" href="http://127.0.0.1:9/{TRACE}.css">',
        '<meta http-equiv="refresh" content="0;url=http://127.0.0.1:9/">',
        f'<a href="javascript:{CODE}" autofocus onfocus="{CODE}">x</a>',
        f'<details open ontoggle="{CODE}"><base href="http://127.0.0.1:9/">',
        *NAMES,
    ]
)
"""What a question, a message of a server, a note, a setting or a fact may hold."""

SHAPE = Shape(
    question=TEXT,
    candidates=NAMES,
    users=(1, 4),
    ramp_up_s=1,
    duration_s=4,
    changes={window_id(NAMES[0], 1, 0): {"errors": 1, "error_text": TEXT}},
    surroundings={window_id(NAMES[1], 4, 0): {"others_cpu_s": 9.0, "others_names": TEXT}},
    memory_limit_enforced=False,
    memory_limit_note=TEXT,
    drives={NAMES[2]: 0.0},
    end="failed",
    end_because=TEXT,
)


def build_planted(directory: Path) -> RunDirectory:
    """The run; its study file, settings, and facts of candidates and machine have it as well."""
    run = build_run(directory, SHAPE)
    plain = manifest(SHAPE)
    settings = {TEXT[:60]: TEXT}
    database = plain.database.model_copy(
        update={"settings": settings, "effective_settings": settings, "server_version": TEXT}
    )
    candidates = tuple(
        each.model_copy(
            update={
                "path": TEXT, "mount_options": TEXT, "filesystem": TEXT,
                "drives": tuple(
                    drive.model_copy(update={"title": TEXT, "profile": TEXT, "assumed": (TEXT,)})
                    for drive in each.drives
                ),
            }
        )
        for each in plain.candidates
    )  # fmt: skip
    note = Fact(value=None, missing_because=TEXT)
    facts = {**plain.environment, "cpu_model": Fact(value=TEXT), "note": note}
    shown = {"database": database, "candidates": candidates, "environment": facts}
    write_json(run.manifest, plain.model_copy(update=shown))
    return run
