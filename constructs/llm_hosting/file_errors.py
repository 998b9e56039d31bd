"""The reason why the operating system refuses a file or a connection, in plain words that end a sentence."""

import errno
import socket

_WORDS = {
    errno.ENOENT: "there is no such file or folder",
    errno.EEXIST: "a file of that name is there already",
    errno.EISDIR: "it is a folder",
    errno.ENOTDIR: "its path leads through a file as if that were a folder",
    errno.EACCES: "you are not allowed to",
    errno.EPERM: "you are not allowed to",
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "your share of the disk is used up",
    errno.EROFS: "the disk can only be read",
    errno.ENAMETOOLONG: "its name is too long",
    errno.ELOOP: "its link leads back to itself",
    errno.EADDRINUSE: "another program uses it",
    errno.EADDRNOTAVAIL: "this machine does not have it",
    errno.ECONNREFUSED: "nothing listens there",
    errno.ECONNRESET: "it ended the connection",
    errno.ENETUNREACH: "this machine has no way there",
    errno.EHOSTUNREACH: "this machine has no way there",
}


def why(error: OSError | UnicodeError) -> str:
    """Return the reason, such as "it is a folder"; for an unknown error, the system's own words."""
    if isinstance(error, UnicodeError):
        return "it is not UTF-8 text"
    if isinstance(error, socket.gaierror):
        return "its name is not known here; is this machine on a network?"
    system = error.strerror or str(error)
    return _WORDS.get(error.errno or 0, system[:1].lower() + system[1:])
