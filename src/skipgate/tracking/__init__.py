"""MLflow as a view of the results.

It has one experiment per study, one parent run per net and one child run per seed. Results on disk
are the truth: the database can be deleted, and `sync` writes it again.
"""

from skipgate.tracking.curves import Curves
from skipgate.tracking.entries import LARGEST, LEVEL
from skipgate.tracking.server import KEY, connect, runs_of
from skipgate.tracking.syncing import CONTENT, sync
from skipgate.tracking.views import link, links

__all__ = [
    "CONTENT",
    "KEY",
    "LARGEST",
    "LEVEL",
    "Curves",
    "connect",
    "link",
    "links",
    "runs_of",
    "sync",
]
