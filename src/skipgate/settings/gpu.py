"""The GPU by which the cost of trainings is estimated."""

from dataclasses import dataclass

from skipgate.reader import between, positive


@dataclass(frozen=True)
class Gpu:
    """What its makers say of it, and how much of that a training is taken to reach."""

    name: str
    tflops: float
    """Its peak, in 10^12 operations a second."""
    share: float
    """The share of the peak that trainings of convolutional networks reach."""
    launch: float
    """Seconds that it takes at least to start a kernel."""

    def __post_init__(self) -> None:
        positive(tflops=self.tflops, share=self.share, launch=self.launch)
        between(0, 1, share=self.share)

    @property
    def speed(self) -> float:
        """Operations a second."""
        return self.share * self.tflops * 1e12
