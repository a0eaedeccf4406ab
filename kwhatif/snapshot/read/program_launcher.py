"""Gives up what a program of others must not have, and becomes that program.

``python -I -S program_launcher.py ADDRESS_SPACE SECONDS FILE_BYTES 0|1 PROGRAM WORDS...`` is a process of its own:
between a fork and the program nothing else may run where there are threads. What a system lacks is left out: the
network is empty on Linux only, where the user may have a namespace.
"""

import os
import sys

_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000
_DIE_WITH_PARENT, _NO_NEW_PRIVILEGES = 1, 38
_KILL = 9


def _limit(space: int, seconds: int, file_bytes: int) -> None:
    # Windows, which has no launcher, lacks it.
    import resource

    limits = {"AS": space, "CPU": seconds, "FSIZE": file_bytes, "CORE": 0}
    for name, most in limits.items():
        which = getattr(resource, f"RLIMIT_{name}", None)
        if which is None:
            continue
        hard = resource.getrlimit(which)[1]
        # Go's programs do not heed the soft limit.
        bound = most if hard == resource.RLIM_INFINITY else min(most, hard)
        try:
            resource.setrlimit(which, (bound, bound))
        except (OSError, ValueError):
            continue


def _leave_network() -> None:
    """A network without any device but a loopback that is down."""
    import ctypes

    library = ctypes.CDLL(None)
    library.prctl(_DIE_WITH_PARENT, _KILL, 0, 0, 0)
    library.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    user, group = os.geteuid(), os.getegid()
    if library.unshare(_NEW_USER | _NEW_NETWORK):
        library.unshare(_NEW_NETWORK)
        return
    # Files belong to whom they belonged before.
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        try:
            file = os.open(f"/proc/self/{name}", os.O_WRONLY)
            os.write(file, text.encode())
            os.close(file)
        except OSError:
            continue


def main() -> None:
    """Become the program that the words name."""
    space, seconds, file_bytes, isolated, program, *words = sys.argv[1:]
    if isolated == "1" and sys.platform == "linux":
        _leave_network()
    _limit(int(space), int(seconds), int(file_bytes))
    os.execv(program, [os.path.basename(program), *words])


if __name__ == "__main__":
    main()
