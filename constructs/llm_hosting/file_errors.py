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
        return "its name is not known here, or this machine is on no network"
    import ssl  # late: only a few commands need it

    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted ({error.verify_message.rstrip('.')})"
    if isinstance(error, ssl.SSLError):  # its errno is not the system's
        return f"TLS with it fails ({(error.reason or 'for an unknown reason').lower().replace('_', ' ')})"
    system = error.strerror or str(error)
    return _WORDS.get(error.errno or 0, system[:1].lower() + system[1:])
