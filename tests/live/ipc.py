# POSIX message queues, by libc: each line an operation, and 0 or the errno.
#   make NAME | find NAME | talk NAME    (find: open what is there; talk: make, send, receive, remove)
import ctypes
import os
import sys

libc = ctypes.CDLL("libc.so.6", use_errno=True)
libc.mq_receive.restype = ctypes.c_ssize_t


def check(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "")
    return result


operation, name = sys.argv[1], sys.argv[2].encode()
try:
    if operation == "find":
        check(libc.mq_open(name, os.O_RDWR))
    else:
        os.umask(0)
        queue = check(libc.mq_open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666, None))
    if operation == "talk":
        check(libc.mq_send(queue, b"word", 4, 0))
        buffer = ctypes.create_string_buffer(8192)
        assert check(libc.mq_receive(queue, buffer, 8192, None)) == 4 and buffer.value == b"word"
        assert name[1:].decode() in os.listdir("/dev/mqueue")
        check(libc.mq_unlink(name))
    print(operation, 0)
except OSError as e:
    print(operation, e.errno)
