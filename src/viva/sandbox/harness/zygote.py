# mypy: ignore-errors
# ruff: noqa: B905, D103, PTH123, S112
"""The warm Python interpreter: imports what programs import once, then forks for every program.

It runs inside walls of its own (bubblewrap, no network, nothing writable) and never runs a line of a program itself.
Each program gets a fork that first leaves for new namespaces of everything: its own processes, its own empty folders
in memory, its own network without a way out, an identity without any capability, its own limits, and the system call
filter. So a program sees neither its neighbours nor this process, nor anything that an earlier program left.

    zygote  ──fork──>  monitor (unshares, waits, reports)  ──fork──>  first process of the new pid namespace (builds,
    drops everything, reaps)  ──fork──>  the program

One message on the control socket is one program: JSON, and the descriptors it needs: status socket,
standard input, output, answers, then its files. When the last process outside closes its end, everything here ends.
"""

import array
import ctypes
import fcntl
import gc
import json
import os
import random
import resource
import signal
import socket
import struct
import sys

import answer  # noqa: F401  for python.start
import program  # noqa: F401
import python
import tester  # noqa: F401

NEW_EVERYTHING = 0x00020000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000 | 0x02000000
"""CLONE_NEWNS, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET, NEWCGROUP."""
PRIVATE, NOSUID, NODEV, NOEXEC = 0x40000 | 0x4000, 2, 4, 8
PR_SET_PDEATHSIG, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 1, 22, 38
LIBC = ctypes.CDLL(None, use_errno=True)
MOST_DESCRIPTORS = 253
HUGE, MADV_COLLAPSE = 1 << 21, 25


def call(function, *arguments):
    """Call a function of the C library and return its result. Raises OSError."""
    returned = getattr(LIBC, function)(*arguments)
    if returned < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{function}: {os.strerror(number)}")
    return returned


def fork():
    """Fork without os.fork(), whose work for threads touches a megabyte of shared pages."""
    return call("fork")


def mount(kind, where, options, flags=NOSUID | NODEV):
    call("mount", kind, where, kind, ctypes.c_ulong(flags), options)


def loopback_up():
    """Enable the loopback interface, so that a program may connect to itself."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        fcntl.ioctl(asking, 0x8914, struct.pack("16sh14x", b"lo", 0x1 | 0x40))


def leave_for_new_namespaces(uid, gid):
    """Enter new namespaces of every kind, in which this process keeps its uid and may only mount."""
    call("unshare", NEW_EVERYTHING)
    for name, text in (
        ("setgroups", b"deny"),
        ("uid_map", b"%d %d 1" % (uid, uid)),
        ("gid_map", b"%d %d 1" % (gid, gid)),
    ):
        with open(f"/proc/self/{name}", "wb", 0) as file:
            file.write(text)


def build_walls(request):
    """Mount the program's folders and its /proc over what was there, which stays out of reach."""
    call("mount", b"none", b"/", None, ctypes.c_ulong(PRIVATE), None)
    size = f"mode=0700,size={request['disk']},nr_inodes={request['inodes']}".encode()
    for folder in (b"/tmp", b"/box", b"/dev/shm"):
        mount(b"tmpfs", folder, size)
    mount(b"proc", b"/proc", None, NOSUID | NODEV | NOEXEC)
    loopback_up()


def drop_everything(request, rules):
    """Give up all capabilities for good, set the limits, and last the system call filter."""
    header = struct.pack("=II", 0x20080522, 0)
    call("capset", header, bytes(24))
    call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    for name, (soft, hard) in request["limits"].items():
        resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (soft, hard))
    if rules:
        buffer = ctypes.create_string_buffer(rules, len(rules))
        filter_ = struct.pack("HxxxxxxP", len(rules) // 8, ctypes.addressof(buffer))
        call("prctl", PR_SET_SECCOMP, 2, filter_, 0, 0)


def put_files(names, descriptors):
    for name, descriptor in zip(names, descriptors):
        with os.fdopen(descriptor, "rb") as source, open(f"/box/{name}", "wb") as file:
            file.write(source.read())


def keep_only(source, output, answers, *link):
    """Set up a program's standard streams and move the pipes out of the way; close everything else."""
    kept = [fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 100) for descriptor in (source, answers, *link)]
    null = os.open("/dev/null", os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    for before, after in zip([2, *sorted(kept)], [*sorted(kept), 1024]):
        os.closerange(before + 1, after)
    return kept


def become(request, source, answers, *link):
    """Wait, in the last fork, for Viva's word, then become the program. Never returns."""
    if python.read_line(source) != b"go\n":
        os._exit(1)
    os.write(answers, b"run\n")
    gc.enable()  # imported objects stay frozen: a collection would copy all their pages
    os.environ.clear()
    os.environ.update(request["environment"])
    random.seed()
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(random.getrandbits(32))
    begin, told = python.start(request["mode"])
    if told:
        begin(source, answers, *link)
    os.close(source)
    os.close(answers)
    begin(*link)


def first_process(request, descriptors, rules):
    """Run as first process of the new pid namespace; when it ends, the kernel ends all others. Never returns."""
    os.setsid()
    build_walls(request)
    put_files(request["files"], descriptors[4 + request["link"] :])
    os.chdir("/box")
    kept = keep_only(*descriptors[1 : 4 + request["link"]])
    drop_everything(request, rules)
    # A separate test is made of calls and comparisons: it needs nobody to reap children for it.
    child = 0 if request["mode"] == "test" else os.fork()
    if child == 0:
        try:
            become(request, *kept)
        finally:
            os._exit(1)
    os.closerange(0, 1024)
    while True:
        ended, status = os.wait()
        if ended == child:
            code = os.waitstatus_to_exitcode(status)
            os._exit(code if code >= 0 else 128 - code)


def monitor(request, descriptors, rules):
    """Wait outside of the new pid namespace, and report over the status socket how it ended."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    os.write(descriptors[0], b"{}")
    try:
        leave_for_new_namespaces(os.geteuid(), os.getegid())
        child = fork()
        if child == 0:
            first_process(request, descriptors, rules)
    except BaseException as error:
        os.write(descriptors[3], f"zygote: {error}\n".encode())
        os._exit(1)
    for descriptor in descriptors[1:]:
        os.close(descriptor)
    code = os.waitstatus_to_exitcode(os.wait()[1])
    taken = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    cpu = sum(usage.ru_utime + usage.ru_stime for usage in taken)
    os.write(descriptors[0], b'{"status": %d, "cpu": %f}' % (code if code >= 0 else 128 - code, cpu))
    os._exit(0)


def join_pages():
    """Have the kernel keep what was imported in huge pages: every fork copies an entry for each page, and drops it."""
    with open("/proc/self/maps") as maps:
        for line in maps:
            place, rights, _, _, inode = line.split()[:5]
            first, last = (int(end, 16) for end in place.split("-"))
            first, last = -(-first // HUGE) * HUGE, last // HUGE * HUGE
            if (rights, inode) == ("rw-p", "0") and first < last:
                LIBC.madvise(ctypes.c_void_p(first), ctypes.c_size_t(last - first), MADV_COLLAPSE)


def main():
    """Import, then serve until nobody listens any more."""
    imports, stand_ins, listening = json.loads(sys.argv[1])
    null = os.open("/dev/null", os.O_RDWR)
    for stream in range(3):
        os.dup2(null, stream)
    import traceback  # noqa: F401  before any program can shadow it

    for name in imports:
        try:
            __import__(name)
        except Exception:
            continue
    python.stand_in(stand_ins)
    with open("/viva/rules", "rb") as file:
        rules = file.read()
    sys.path[:] = ["", *(entry for entry in sys.path if entry not in ("", "/viva"))]
    control = socket.socket(fileno=listening)
    LIBC.signal(signal.SIGCHLD, 1)  # SIG_IGN
    gc.collect()
    gc.freeze()
    gc.disable()
    join_pages()
    control.send(b"ready")
    while True:
        room = socket.CMSG_SPACE(MOST_DESCRIPTORS * 4)
        message, ancillary, _, _ = control.recvmsg(1 << 20, room)
        if not message:
            os._exit(0)
        descriptors = array.array("i")
        for level, kind, data in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                descriptors.frombytes(data[: len(data) - len(data) % descriptors.itemsize])
        request = json.loads(message)  # here, because every page that a fork touches is copied
        if fork() == 0:
            try:
                LIBC.signal(signal.SIGCHLD, 0)  # SIG_DFL
                control.close()
                monitor(request, list(descriptors), rules)
            finally:
                os._exit(1)
        for descriptor in descriptors:
            os.close(descriptor)


if __name__ == "__main__":
    main()
