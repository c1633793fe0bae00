"""What a probe is given."""

from dataclasses import dataclass

from skipgate.evaluation import Images, evaluate
from skipgate.nets.network import Network


@dataclass(frozen=True)
class Subject:
    """A trained network, and the images to test it on in batches of the size its recipe names."""

    network: Network
    images: Images
    batch: int

    def errors(self) -> list[float]:
        """Test error in % by seed, of the network as it is now."""
        return evaluate(self.network, self.images, self.network.replicas, self.batch)[0].tolist()
