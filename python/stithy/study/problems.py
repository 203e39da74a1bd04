"""What can be wrong with a study file: each problem with its place, all of them in one error."""

from collections.abc import Sequence

from stithy.errors import StithyError, UserError


class StudyProblem(UserError):
    """One thing wrong with a study file.

    Its text is `file:line:column: what is wrong: the value: what would be right`; `excerpt` is the
    line of the file with a caret under the place.
    """

    def __init__(self, problem: str, *, where: str, remedy: str, excerpt: str = "") -> None:
        """`where` is `file:line:column`, both from 1, or the file alone where it has no lines."""
        super().__init__(problem, where=where, remedy=remedy)
        self.excerpt = excerpt


class StudyError(UserError):
    """A study file that cannot be used: carries all problems, in the order of the file."""

    def __init__(self, file: str, problems: Sequence[StudyProblem]) -> None:
        """`problems` has at least one entry."""
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        super().__init__(
            f"{count} in this study file", where=file, remedy="mend the file; nothing was done"
        )
        self.problems = tuple(problems)

    def parts(self) -> tuple[StithyError, ...]:
        """The problems."""
        return self.problems
