"""Errors that callers may want to tell apart."""


class InfeasibleError(ValueError):
    """A problem that has no solution: an LCP whose rows contradict each other, a cone program without a lower bound.

    ``problems`` holds the batch index of each problem without solution; an unbatched call has the one index ``()``.
    """

    def __init__(self, message, problems=((),)):
        super().__init__(message)
        self.problems = tuple(problems)
