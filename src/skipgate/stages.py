"""What `dvc.yaml` loops over: `params.yaml` with its defaults filled in, in DVC's own words.

DVC's templating knows neither defaults nor rules, so the list is written out and committed. Names
stand in it only once they have passed `params.load`, so that none can be a command.
"""

import yaml

from skipgate import paths
from skipgate.files import Problem, write_atomically
from skipgate.params import Params

NOTE = "# Written by `python -m pipeline.stages` from params.yaml; edits are lost.\n"
RENEWED = (
    f"{paths.STAGES} listed other nets, data or studies than params.yaml has; it is renewed now: "
    "run the same command again"
)


def listed(params: Params) -> bytes:
    """The content of `specs/stages.yaml`."""
    used = {net.data for net in params.nets.values()}
    loops = {
        "nets": {n: {"study": net.study, "data": net.data} for n, net in params.nets.items()},
        "data": [name for name in params.data if name in used],
        "studies": list(params.studies),
    }
    return (NOTE + yaml.safe_dump({"stages": loops}, sort_keys=False)).encode()


def renew(params: Params) -> bool:
    """Bring the list up to date; says whether it was not."""
    content = listed(params)
    if paths.STAGES.exists() and paths.STAGES.read_bytes() == content:
        return False
    write_atomically(paths.STAGES, content)
    return True


def check(params: Params) -> None:
    """Stop where DVC has read a stale list: it is renewed, but DVC reads it once."""
    if renew(params):
        raise Problem(RENEWED)
