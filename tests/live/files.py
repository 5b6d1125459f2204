# SPDX-License-Identifier: Apache-2.0
# The hands of hands.sh: reads one operation a line, "OP PATH [PATH]", and prints the errno, 0 for success. What
# succeeds and changes an entry is undone at once.
import fcntl, mmap, os, struct, sys

def opened(path, flags):
    os.close(os.open(path, flags | os.O_CLOEXEC, 0o600))

def text(path):
    with open(path) as file:
        return file.read().strip()

def created(path):
    opened(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    os.unlink(path)

def made(path):
    os.mkdir(path)
    os.rmdir(path)

def removed(path):
    old = text(path)
    os.unlink(path)
    with open(path, "w") as file:
        file.write(old + "\n")

def directory_removed(path):
    os.rmdir(path)
    os.mkdir(path)

def moved(old, new):
    os.rename(old, new)
    os.rename(new, old)

def linked(old, new):
    os.link(old, new)
    os.unlink(new)

def symlinked(path):
    os.symlink("nowhere", path)
    os.unlink(path)

def appended(path):
    with open(path, "a") as file:
        file.write("more\n")

def attribute(path):
    os.setxattr(path, "user.sbpf", b"x")

def executed(path):
    os.waitpid(os.posix_spawn(path, [path], {}), 0)

def mapped(path):
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        mmap.mmap(fd, 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC).close()
    finally:
        os.close(fd)

# An ioctl of btrfs at a directory: with a name, and the subvolume that a snapshot is of.
def subvolume(command, directory, name, source=None):
    target = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    fd = os.open(source, os.O_RDONLY | os.O_DIRECTORY) if source else 0
    newer = command in (0x50009417, 0x50009418, 0x5000943f)  # struct btrfs_ioctl_vol_args_v2
    try:
        fcntl.ioctl(target, command, bytearray(struct.pack("qQQ32s4040s" if newer else "q4088s", fd, *([0, 0, b""] if newer else []), name.encode())))
    finally:
        os.close(target)
        if source:
            os.close(fd)

def controlled(path, command):
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.ioctl(fd, int(command, 16), bytearray(8))
    finally:
        os.close(fd)

def leased(path):
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    finally:
        os.close(fd)

OPERATIONS = {
    "r": lambda p: opened(p, os.O_RDONLY),
    "w": lambda p: opened(p, os.O_WRONLY),
    "rw": lambda p: opened(p, os.O_RDWR),
    "t": lambda p: opened(p, os.O_WRONLY | os.O_TRUNC),
    "create": created, "append": appended, "mkdir": made, "rm": removed, "rmdir": directory_removed, "mv": moved,
    "ln": linked, "symlink": symlinked, "xattr": attribute,
    "ls": os.listdir, "stat": os.stat, "readlink": os.readlink,
    "chmod": lambda p: os.chmod(p, 0o700),
    "chown": lambda p: os.chown(p, 0, 0),
    "utime": os.utime,
    "exec": executed, "map": mapped, "ioctl": controlled, "lease": leased,
    # These stay: to be looked at from outside.
    "keep": lambda p: opened(p, os.O_WRONLY | os.O_CREAT | os.O_EXCL),
    "snapshot": lambda of, d: subvolume(0x50009401, d, "snapshot", of), "snapshot-v2": lambda of, d: subvolume(0x50009417, d, "snapshot", of),
    "subvolume": lambda d, name: subvolume(0x5000940e, d, name), "subvolume-v2": lambda d, name: subvolume(0x50009418, d, name),
    "unsubvolume": lambda d, name: subvolume(0x5000940f, d, name), "unsubvolume-v2": lambda d, name: subvolume(0x5000943f, d, name),
    "keepdir": os.mkdir, "keeplink": os.link, "drop": os.unlink, "dropdir": os.rmdir, "move": os.rename,
}

for line in sys.stdin:
    operation, *paths = line.split()
    try:
        if operation == "cat":
            print(text(*paths), flush=True)
        else:
            OPERATIONS[operation](*paths)
            print(0, flush=True)
    except OSError as error:
        print(error.errno, flush=True)
