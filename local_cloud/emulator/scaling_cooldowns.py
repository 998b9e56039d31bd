"""How long a scalable target waits after a change of its capacity."""

from dataclasses import dataclass


@dataclass(frozen=True)
class _Activity:
    basis: int
    cooled_at: float


class Cooldowns:
    """The pauses after the changes of one target; moments are seconds of any clock that never goes back."""

    def __init__(self) -> None:
        self._out: _Activity | None = None
        self._in: _Activity | None = None

    def basis_of_scale_out(self, capacity: int, now: float) -> int:
        """From what a scale-out is computed: during the pause after another one, what that one added counts already."""
        return self._out.basis if self._out and now < self._out.cooled_at else capacity

    def may_scale_in(self, now: float) -> bool:
        return not (self._in and now < self._in.cooled_at)

    def begin(self, basis: int, after: int, cooled_at: float) -> None:
        """Note a change from this basis; a scale-out ends the pause after a scale-in, and the other way round."""
        activity = _Activity(basis, cooled_at)
        self._out, self._in = (activity, None) if after > basis else (None, activity)
