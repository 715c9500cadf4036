"""Become another program, one that ends when the process that started it does.

Run as a script with nothing but the standard library:
`python -I -S child.py PARENT PROGRAM ARGUMENT…`. A supervisor that is killed cannot stop
its children; the kernel can.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1  # from <linux/prctl.h>


def main() -> None:
    parent, *command = sys.argv[1:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != int(parent):  # it ended before we could ask
        sys.exit(1)
    try:
        os.execvp(command[0], command)  # noqa: S606 - no shell is what we want
    except OSError as error:
        sys.exit(f"{command[0]}: {error.strerror}")


if __name__ == "__main__":
    main()
