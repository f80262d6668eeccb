"""The notation, explained."""

import torch

import samplenorm._library  # noqa: F401  loads it

_OPTIONS = """
Options follow a semicolon, as in "BS-4/128;decay=0.7;redraw=step":
  beta=0.5          weight of the virtual rows in a mix
  decay=0.1         weight of the newest statistics in the running ones, in place of the layer's momentum
  first=zero|batch  running statistics begin as torch's do, or with the first batch's
  redraw=epoch|step|never   when a sample is drawn anew
  stat_batch=4      normalizes so many rows together, in place of the whole batch
  least=1024        points a channel at least, where the layer has them: 1,024 by default for LS, 2 for the others
  field=white|spectrum      virtual rows of white noise, or with the data set's power spectrum
  nodes=1/4         with several processes: how many of them contribute
"""


class Methods(str):
    """A text that shows itself in an interactive session."""

    def __repr__(self) -> str:
        return str(self)


def methods() -> str:
    """The notation of every sampling method and option, as a text.

    >>> import samplenorm as sn
    >>> "LS-a/b" in sn.methods()
    True
    """
    lines = ["Where the statistics come from, by the part a/b of the data, as in \"LS-1/64\":"]
    lines += [f"  {name:<10} {title}: {summary}" for name, title, summary in torch.classes.samplenorm.Notation.methods()]
    lines += ["Two are mixed with a plus, as in \"FS-1/64+VDN-2/128\".", *_OPTIONS.rstrip().split("\n")]
    return Methods("\n".join(lines))
