# SPDX-License-Identifier: BSD-2-Clause
"""What a TCP socket does, step by step, as lines that can be compared: once over the kernel's TCP, once under
`nornic run --smc`.

    probe.py peer PORT            the other end: does to its sockets what the probe asks for
    probe.py ADDR PORT [NAME...]  the steps; each is one line, "name: what was seen"

What is seen is waited for until it stays the same for a while, so that it does not depend on how fast the bytes are."""
import array, ctypes, errno, fcntl, json, os, resource, select, signal, socket, struct, subprocess, sys, termios
import threading, time

LIBC = ctypes.CDLL(None, use_errno=True)
NAMES = {select.POLLIN: 'IN', select.POLLOUT: 'OUT', select.POLLPRI: 'PRI', select.POLLRDHUP: 'RDHUP',
         select.POLLHUP: 'HUP', select.POLLERR: 'ERR', select.POLLNVAL: 'NVAL'}
TCP_SAVE_SYN, TCP_SAVED_SYN = 27, 28
F_SETPIPE_SZ, SPLICE_F_NONBLOCK = 1031, 2
ALL = select.POLLIN | select.POLLOUT | select.POLLPRI | select.POLLRDHUP
STEPS = []


# --- the other end ---

def do(data, command, *args):
    """One command at the peer, on the newest data connection; its answer."""
    s = data[-1] if data else None
    if command == 'send':
        s.sendall(bytes(i & 255 for i in range(args[0])) if isinstance(args[0], int) else args[0].encode())
    elif command == 'oob':
        return s.send(args[0].encode(), socket.MSG_OOB)
    elif command == 'recv':
        got = b''
        while len(got) < args[0] and (part := s.recv(args[0] - len(got))):
            got += part
        return got.decode('latin1') if len(got) < 100 else len(got)
    elif command == 'until_end':
        total = 0
        while part := s.recv(65536):
            total += len(part)
        return total
    elif command == 'quiet':  # whether nothing comes for so long
        return not select.select([s], [], [], args[0])[0]
    elif command == 'shut':
        s.shutdown(args[0])
    elif command == 'close':
        if data:  # else it was reset or closed before
            data.pop().close()
    elif command == 'reset':
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
        data.pop().close()
    elif command == 'saved_syn':  # from its IP header on; it is there once
        syn = s.getsockopt(socket.IPPROTO_TCP, TCP_SAVED_SYN, 200)
        at = (syn[0] & 15) * 4 if syn else 0
        return [len(syn) > at + 20, syn[at:at + 2] == struct.pack('!H', s.getpeername()[1]),
                len(s.getsockopt(socket.IPPROTO_TCP, TCP_SAVED_SYN, 200))] if syn else []
    elif command == 'try':  # an error of the next receive
        return attempt(lambda: len(s.recv(10)))
    return None


def peer(port):
    listener = socket.create_server(('0.0.0.0', port), backlog=64)
    print('ready', flush=True)
    while True:
        control, _ = listener.accept()
        data = []
        with control, control.makefile('rw') as f:
            for line in f:
                command = json.loads(line)
                try:
                    if command[0] == 'accept':
                        data.append(listener.accept()[0])
                        data[-1].settimeout(20)
                        answer = None
                    elif command[0] == 'save_syn':
                        listener.setsockopt(socket.IPPROTO_TCP, TCP_SAVE_SYN, command[1])
                        answer = listener.getsockopt(socket.IPPROTO_TCP, TCP_SAVE_SYN)
                    else:
                        answer = do(data, *command)
                except OSError as e:
                    answer = errno.errorcode.get(e.errno, str(e))
                f.write(json.dumps(answer) + '\n')
                f.flush()
        for s in data:
            s.close()


# --- this end ---

class Pair:
    """A connection with the peer: `s` is our end."""
    def __init__(self, before=None):
        self.s = socket.socket()
        if before:
            before(self.s)
        self.s.connect((sys.argv[1], int(sys.argv[2])))
        ask('accept')
        ask('send', 'x')  # both ends are there, and negotiated
        self.s.settimeout(None)
        assert self.s.recv(1) == b'x'

    def __enter__(self):
        return self.s

    def __exit__(self, *_):
        self.s.close()
        ask('close')


def ask(*command):
    CONTROL.write(json.dumps(command) + '\n')
    CONTROL.flush()
    return json.loads(CONTROL.readline())


def step(f):
    STEPS.append(f)
    return f


def attempt(f):
    try:
        r = f()
        return r.decode('latin1') if isinstance(r, bytes) else r
    except OSError as e:
        return errno.errorcode.get(e.errno, str(e))


def raw(name, *args):
    """A call of the C library as it is: its result, or the name of its error."""
    ctypes.set_errno(0)
    r = getattr(LIBC, name)(*args)
    return errno.errorcode[ctypes.get_errno()] if r < 0 else r


def words(events):
    return ' '.join(w for bit, w in NAMES.items() if events & bit) or '-'


def settled(look, hold=0.08, limit=4.0):
    """What `look` says once it says the same for `hold` seconds."""
    seen, since, end = look(), time.monotonic(), time.monotonic() + limit
    while time.monotonic() - since < hold and time.monotonic() < end:
        time.sleep(0.005)
        now = look()
        if now != seen:
            seen, since = now, time.monotonic()
    return seen


def poll_once(fd, events=ALL, timeout=0):
    p = select.poll()
    p.register(fd, events)
    got = p.poll(timeout)
    return words(got[0][1]) if got else '-'


def levels(s, events=ALL):
    return settled(lambda: poll_once(s.fileno(), events))


def readable(s):
    b = array.array('i', [0])
    fcntl.ioctl(s, termios.FIONREAD, b)
    return b[0]


def come(s, n):
    """Waits until n bytes are there."""
    end = time.monotonic() + 5
    while readable(s) < n and time.monotonic() < end:
        time.sleep(0.002)
    return readable(s)


def fill(s):
    """Sends until there is no room."""
    s.setblocking(False)
    total = 0
    end = time.monotonic() + 10
    while time.monotonic() < end:
        try:
            total += s.send(b'f' * 65536)
        except BlockingIOError:
            if settled(lambda: poll_once(s.fileno(), select.POLLOUT), 0.2) == '-':
                break
    return total


# reading and writing

@step
def echo_sizes():
    with Pair() as s:
        out = []
        for n in (1, 2, 1000, 65536, 300000):
            t = threading.Thread(target=s.sendall, args=(b'e' * n,))
            t.start()
            out.append(ask('recv', n))
            t.join()
            ask('send', 1)
            assert len(s.recv(1)) == 1
        return out[2:]


@step
def recv_zero_bytes():
    with Pair() as s:
        ask('send', 'ab')
        come(s, 2)
        return attempt(lambda: len(s.recv(0))), attempt(lambda: s.recv(10))


@step
def send_zero_bytes():
    with Pair() as s:
        return s.send(b'')


@step
def read_zero_bytes():
    # read() of nothing waits for nothing, and sees nothing
    with Pair() as s:
        out = [os.read(s.fileno(), 0), os.readv(s.fileno(), [bytearray(0)]), os.readv(s.fileno(), [])]
        s.setblocking(False)
        return out + [os.read(s.fileno(), 0), attempt(lambda: s.recv(0)), raw('readv', s.fileno(), None, 1025)]


@step
def nonblocking_nothing():
    with Pair() as s:
        s.setblocking(False)
        return attempt(lambda: s.recv(10)), attempt(lambda: s.recv(10, socket.MSG_PEEK))


@step
def dontwait_nothing():
    with Pair() as s:
        return attempt(lambda: s.recv(10, socket.MSG_DONTWAIT))


@step
def peek_then_read():
    with Pair() as s:
        ask('send', 'hello')
        come(s, 5)
        return s.recv(3, socket.MSG_PEEK), s.recv(10, socket.MSG_PEEK), s.recv(10)


@step
def waitall():
    with Pair() as s:
        t = threading.Timer(0.1, ask, ('send', 'world'))
        ask('send', 'hello')
        t.start()
        got = s.recv(10, socket.MSG_WAITALL)
        t.join()
        return got


@step
def waitall_at_eof():
    with Pair() as s:
        ask('send', 'hello')
        ask('shut', socket.SHUT_WR)
        return s.recv(10, socket.MSG_WAITALL), s.recv(10, socket.MSG_WAITALL)


@step
def peek_waitall_at_eof():
    with Pair() as s:
        ask('send', 'hello')
        ask('shut', socket.SHUT_WR)
        return s.recv(10, socket.MSG_WAITALL | socket.MSG_PEEK), s.recv(10)


@step
def peek_waitall_waits():
    with Pair() as s:
        ask('send', 'hello')
        t = threading.Timer(0.1, ask, ('send', 'world'))
        t.start()
        got = s.recv(10, socket.MSG_WAITALL | socket.MSG_PEEK)
        t.join()
        return got


@step
def recv_timeout():
    with Pair() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack('ll', 0, 100000))
        begun = time.monotonic()
        r = attempt(lambda: s.recv(10))
        return r, 0.09 < time.monotonic() - begun < 2


@step
def send_timeout():
    with Pair() as s:
        fill(s)
        s.setblocking(True)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack('ll', 0, 100000))
        begun = time.monotonic()
        while not isinstance(r := attempt(lambda: s.send(b'x' * 10000000)), str) and time.monotonic() - begun < 10:
            pass
        return r


@step
def readv_pieces():
    with Pair() as s:
        ask('send', 'abcdefghij')
        come(s, 10)
        bufs = [bytearray(3), bytearray(0), bytearray(4), bytearray(9)]
        n = os.readv(s.fileno(), bufs)
        return n, [b.decode('latin1').rstrip('\0') for b in bufs]


@step
def writev_pieces():
    with Pair() as s:
        return os.writev(s.fileno(), [b'abc', b'', b'defg']), ask('recv', 7)


@step
def writev_bad_counts():
    with Pair() as s:
        return [raw('writev', s.fileno(), None, n) for n in (-1, 0, 1025)] + [raw('readv', s.fileno(), None, -1)]


@step
def sendmsg_many_pieces():
    with Pair() as s:
        return attempt(lambda: s.sendmsg([b'x'] * 1024)), ask('recv', 1024)


@step
def bad_pointers():
    with Pair() as s:
        ask('send', 'ab')
        come(s, 2)
        return (raw('send', s.fileno(), None, 5, 0), raw('recv', s.fileno(), None, 5, 0),
                raw('write', s.fileno(), ctypes.c_void_p(8), ctypes.c_size_t(1)), attempt(lambda: s.recv(10)))


@step
def recvmsg_fields():
    with Pair() as s:
        ask('send', 'abc')
        come(s, 3)
        data, control, flags, addr = s.recvmsg(10, 100)
        return data, control, flags, addr


@step
def recvfrom_address():
    with Pair() as s:
        ask('send', 'abc')
        come(s, 3)
        return s.recvfrom(10)


@step
def sendto_with_address():
    with Pair() as s:
        return attempt(lambda: s.sendto(b'abc', ('127.0.0.1', 9))), ask('recv', 3)


@step
def recv_trunc_drops():
    with Pair() as s:
        ask('send', 'abcdef')
        come(s, 6)
        return raw('recv', s.fileno(), None, 4, socket.MSG_TRUNC), s.recv(10)


@step
def errqueue_is_empty():
    with Pair() as s:
        return attempt(lambda: s.recvmsg(10, 100, socket.MSG_ERRQUEUE | socket.MSG_DONTWAIT))


@step
def pread_and_lseek():
    with Pair() as s:
        return attempt(lambda: os.pread(s.fileno(), 1, 0)), attempt(lambda: os.lseek(s.fileno(), 0, 0))


@step
def sendfile_whole():
    with Pair() as s, open(__file__, 'rb') as f:
        size = os.fstat(f.fileno()).st_size
        done = 0
        got = []
        t = threading.Thread(target=lambda: got.append(ask('recv', size)))
        t.start()
        while done < size:
            done += os.sendfile(s.fileno(), f.fileno(), done, size - done)
        t.join()
        return got == [size], f.tell()


@step
def sendfile_moves_place():
    with Pair() as s, open(__file__, 'rb') as f:
        n = os.sendfile(s.fileno(), f.fileno(), None, 100)
        return n, os.lseek(f.fileno(), 0, os.SEEK_CUR), ask('recv', 100)


@step
def splice_out_and_in():
    with Pair() as s:
        r, w = os.pipe()
        os.write(w, b'through a pipe')
        n = raw('splice', r, None, s.fileno(), None, ctypes.c_size_t(100), 0)
        got = ask('recv', 14)
        ask('send', 'and back')
        come(s, 8)
        m = raw('splice', s.fileno(), None, w, None, ctypes.c_size_t(100), 0)
        back = os.read(r, 100)
        os.close(r)
        os.close(w)
        return n, got, m, back.decode()


@step
def splice_into_a_pipe_with_little_room():
    with Pair() as s:
        r, w = os.pipe()
        out = lambda flags: raw('splice', s.fileno(), None, w, None, ctypes.c_size_t(9000), flags)
        fcntl.fcntl(w, F_SETPIPE_SZ, 8192)
        os.write(w, b'x' * 8192)
        ask('send', 9000)
        come(s, 9000)
        said = [out(SPLICE_F_NONBLOCK), len(os.read(r, 8192))]
        got = b''
        while len(got) < 9000:  # how much at a time is the kernel's affair
            n = out(0)
            got += os.read(r, n)
        s.setblocking(False)
        said += [got == bytes(i & 255 for i in range(9000)), out(0)]
        os.close(r)
        ask('send', 'z')
        come(s, 1)
        said += [out(0), s.recv(10).decode()]
        os.close(w)
        return said


# ends

@step
def half_close():
    with Pair() as s:
        s.sendall(b'ask')
        s.shutdown(socket.SHUT_WR)
        got = ask('until_end')
        ask('send', 'answer')
        ask('shut', socket.SHUT_WR)
        return got, s.recv(10), s.recv(10), s.recv(10)


@step
def levels_at_rest():
    with Pair() as s:
        return levels(s)


@step
def levels_with_data():
    with Pair() as s:
        ask('send', 'a')
        come(s, 1)
        return levels(s)


@step
def levels_after_fin():
    with Pair() as s:
        ask('shut', socket.SHUT_WR)
        return levels(s)


@step
def levels_with_data_and_fin():
    with Pair() as s:
        ask('send', 'ab')
        ask('shut', socket.SHUT_WR)
        come(s, 2)
        return levels(s)


@step
def levels_after_own_shutdown():
    with Pair() as s:
        s.shutdown(socket.SHUT_WR)
        return levels(s)


@step
def levels_after_shutdown_rd():
    with Pair() as s:
        s.shutdown(socket.SHUT_RD)
        return levels(s), attempt(lambda: s.recv(10))


@step
def levels_after_both_ends():
    with Pair() as s:
        ask('shut', socket.SHUT_WR)
        s.shutdown(socket.SHUT_WR)
        return levels(s)


@step
def levels_after_reset():
    with Pair() as s:
        ask('reset')
        return levels(s)


@step
def reset_then_calls():
    with Pair() as s:
        ask('reset')
        levels(s)
        return [attempt(lambda: s.recv(10)), attempt(lambda: s.recv(10)),
                attempt(lambda: s.send(b'x')), attempt(lambda: s.getpeername()[0])]


@step
def reset_so_error():
    with Pair() as s:
        ask('reset')
        levels(s)
        return [errno.errorcode.get(s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), 0) for _ in range(2)]


@step
def full_has_no_room():
    with Pair() as s:
        n = fill(s)
        before = levels(s, select.POLLOUT)
        t = threading.Thread(target=ask, args=('recv', n))
        t.start()
        t.join()
        return before, levels(s, select.POLLOUT)


@step
def write_after_close():
    with Pair() as s:
        ask('close')
        levels(s)
        first = attempt(lambda: s.send(b'x'))
        settled(lambda: poll_once(s.fileno()), 0.3)
        return first, attempt(lambda: s.send(b'x'))


@step
def close_with_unread_resets():
    p = Pair()
    ask('send', 'unread')
    come(p.s, 6)
    p.s.close()
    time.sleep(0.3)
    r = ask('try')
    ask('close')
    return r


@step
def linger_zero_resets():
    p = Pair()
    p.s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
    p.s.close()
    r = ask('try')
    ask('close')
    return r


@step
def close_delivers_all():
    p = Pair()
    p.s.sendall(b'z' * 100000)
    p.s.close()
    r = ask('until_end')
    ask('close')
    return r


@step
def shutdown_twice():
    with Pair() as s:
        return attempt(lambda: s.shutdown(socket.SHUT_WR)), attempt(lambda: s.shutdown(socket.SHUT_WR))


@step
def shutdown_after_both_closed():
    with Pair() as s:
        s.shutdown(socket.SHUT_WR)
        ask('until_end')
        ask('close')
        levels(s)
        time.sleep(0.3)
        return attempt(lambda: s.shutdown(socket.SHUT_WR))


@step
def shutdown_nonsense():
    with Pair() as s:
        return raw('shutdown', s.fileno(), 7)


@step
def send_after_shutdown():
    with Pair() as s:
        s.shutdown(socket.SHUT_WR)
        return attempt(lambda: s.send(b'x'))


@step
def sigpipe():
    with Pair() as s:
        s.shutdown(socket.SHUT_WR)
        count = []
        old = signal.signal(signal.SIGPIPE, lambda *_: count.append(1))
        attempt(lambda: s.send(b'x', socket.MSG_NOSIGNAL))
        quiet = len(count)
        attempt(lambda: s.send(b'x'))
        signal.signal(signal.SIGPIPE, old)
        return quiet, len(count)


@step
def shutdown_wakes_reader():
    with Pair() as s:
        got = []
        t = threading.Thread(target=lambda: got.append(attempt(lambda: s.recv(10))))
        t.start()
        time.sleep(0.1)
        s.shutdown(socket.SHUT_RDWR)
        t.join(5)
        return got


@step
def shutdown_wakes_poll():
    with Pair() as s:
        got = []
        t = threading.Thread(target=lambda: got.append(poll_once(s.fileno(), select.POLLIN, 5000)))
        t.start()
        time.sleep(0.1)
        s.shutdown(socket.SHUT_RD)
        t.join(6)
        return got


# urgent data

@step
def urgent_byte():
    with Pair() as s:
        ask('send', 'ab')
        ask('oob', 'U')
        ask('send', 'cd')
        seen = levels(s)
        return seen, s.recv(10), s.recv(1, socket.MSG_OOB), s.recv(10)


@step
def urgent_levels():
    with Pair() as s:
        ask('oob', 'U')
        a = levels(s)
        s.recv(1, socket.MSG_OOB)
        return a, levels(s), attempt(lambda: s.recv(1, socket.MSG_OOB))


@step
def urgent_inline():
    with Pair() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_OOBINLINE, 1)
        ask('send', 'ab')
        ask('oob', 'U')
        ask('send', 'cd')
        come(s, 2)
        levels(s)
        return s.recv(10), s.recv(10), attempt(lambda: s.recv(1, socket.MSG_OOB))


@step
def urgent_none():
    with Pair() as s:
        return attempt(lambda: s.recv(1, socket.MSG_OOB))


@step
def at_mark():
    with Pair() as s:
        ask('send', 'ab')
        ask('oob', 'U')
        levels(s)
        def mark():
            b = array.array('i', [7])
            fcntl.ioctl(s, 0x8905, b)
            return b[0]
        a = mark()
        s.recv(2)
        return a, mark()


@step
def urgent_sent():
    with Pair() as s:
        s.send(b'ab')
        return s.send(b'U', socket.MSG_OOB), ask('recv', 2)


# waiting

@step
def poll_timeout():
    with Pair() as s:
        begun = time.monotonic()
        r = poll_once(s.fileno(), select.POLLIN, 100)
        return r, 0.09 < time.monotonic() - begun < 2


@step
def poll_wakes():
    with Pair() as s:
        t = threading.Timer(0.1, ask, ('send', 'a'))
        t.start()
        r = poll_once(s.fileno(), select.POLLIN, 5000)
        t.join()
        return r


@step
def poll_with_others():
    with Pair() as s:
        r, w = os.pipe()
        p = select.poll()
        p.register(s, select.POLLIN)
        p.register(r, select.POLLIN)
        t = threading.Timer(0.1, os.write, (w, b'x'))
        t.start()
        a = [words(e) for fd, e in p.poll(5000)]
        t.join()
        ask('send', 'a')
        come(s, 1)
        b = [words(e) for fd, e in p.poll(5000)]
        os.close(r)
        os.close(w)
        return a, b


@step
def poll_norm_bits():
    with Pair() as s:
        ask('send', 'a')
        come(s, 1)
        p = select.poll()
        p.register(s, 0x40 | 0x100)  # POLLRDNORM, POLLWRNORM
        return [e for _, e in p.poll(1000)]


@step
def poll_many():
    with Pair() as s:
        p = select.poll()
        pipes = [os.pipe() for _ in range(100)]
        for r, _ in pipes:
            p.register(r, select.POLLIN)
        p.register(s, select.POLLIN)
        ask('send', 'a')
        n = len(p.poll(2000))
        for r, w in pipes:
            os.close(r)
            os.close(w)
        return n


@step
def poll_as_many_as_descriptors():
    # more could not be open: the kernel takes no longer list
    with Pair() as s:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        fds = (ctypes.c_int * 400)(*[x for _ in range(199) for x in (s.fileno(), select.POLLIN)],
                                   sys.stdin.fileno(), 0)
        resource.setrlimit(resource.RLIMIT_NOFILE, (200, hard))
        t = threading.Timer(0.1, ask, ('send', 'a'))
        t.start()
        n = raw('poll', fds, 200, 10000)
        t.join()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        return n > 0  # of those that were looked at when it had come, which not all need to be


@step
def select_many():
    with Pair() as s:
        others = [os.pipe() for _ in range(50)]
        ask('send', 'a')
        come(s, 1)
        r, _, _ = select.select([s] + [fd for pair in others for fd in pair], [], [], 5)
        for pair in others:
            os.close(pair[0])
            os.close(pair[1])
        return [fd == s for fd in r]


@step
def cancelled_in_read():
    # the thread's function is fgetc(), which reads; the connection lives on
    with Pair() as s:
        LIBC.fdopen.restype = ctypes.c_void_p
        stream = ctypes.c_void_p(LIBC.fdopen(os.dup(s.fileno()), b'r'))
        thread, result = ctypes.c_ulong(), ctypes.c_void_p()
        LIBC.pthread_create(ctypes.byref(thread), None, LIBC.fgetc, stream)
        time.sleep(0.2)
        LIBC.pthread_cancel(thread)
        LIBC.pthread_join(thread, ctypes.byref(result))
        ask('send', 'abc')
        s.sendall(b'def')
        return result.value == 2 ** 64 - 1, s.recv(10), ask('recv', 3)


    with Pair() as s:
        ask('send', 'a')
        come(s, 1)
        r, w, x = select.select([s], [s], [s], 1)
        ask('oob', 'U')
        levels(s)
        _, _, y = select.select([], [], [s], 1)
        return len(r), len(w), len(x), len(y)


@step
def select_timeout():
    with Pair() as s:
        begun = time.monotonic()
        r = select.select([s], [], [], 0.1)
        return [len(x) for x in r], 0.09 < time.monotonic() - begun < 2


@step
def select_for_ages():
    # 584 years and a quarter of a second; microseconds beyond a second
    with Pair() as s:
        t = threading.Timer(0.6, ask, ('send', 'a'))
        t.start()
        mask = (ctypes.c_ulong * 16)()
        mask[s.fileno() // 64] = 1 << s.fileno() % 64
        out = [raw('select', s.fileno() + 1, mask, None, None, (ctypes.c_long * 2)(18446744073, 959551616 // 1000))]
        t.join()
        return out + [mask[s.fileno() // 64] == 1 << s.fileno() % 64]


    with Pair() as s:
        r, w = os.pipe()
        os.close(r)
        os.close(w)
        return attempt(lambda: select.select([s, r], [], [], 0))


def epolled(s, events):
    e = select.epoll()
    e.register(s, events)
    return e


@step
def epoll_level():
    with Pair() as s:
        e = epolled(s, select.EPOLLIN)
        a = len(e.poll(0))
        ask('send', 'ab')
        b = [words(x) for _, x in e.poll(5)]
        s.recv(1)
        c = len(e.poll(0.1))
        s.recv(1)
        d = len(e.poll(0.1))
        e.close()
        return a, b, c, d


@step
def epoll_edge():
    with Pair() as s:
        e = epolled(s, select.EPOLLIN | select.EPOLLET)
        ask('send', 'ab')
        a = len(e.poll(5))
        b = len(e.poll(0.1))
        s.recv(1)
        c = len(e.poll(0.1))
        ask('send', 'c')
        d = len(e.poll(5))
        e.close()
        return a, b, c, d


@step
def epoll_edge_at_add():
    with Pair() as s:
        ask('send', 'ab')
        come(s, 2)
        e = epolled(s, select.EPOLLIN | select.EPOLLOUT | select.EPOLLET)
        a = [words(x) for _, x in e.poll(5)]
        b = len(e.poll(0.1))
        e.modify(s, select.EPOLLIN | select.EPOLLET)
        c = [words(x) for _, x in e.poll(5)]
        e.close()
        return a, b, c


@step
def epoll_edge_fin():
    with Pair() as s:
        e = epolled(s, select.EPOLLIN | select.EPOLLRDHUP | select.EPOLLET)
        ask('shut', socket.SHUT_WR)
        a = [words(x) for _, x in e.poll(5)]
        b = len(e.poll(0.1))
        e.close()
        return a, b


@step
def epoll_oneshot():
    with Pair() as s:
        e = epolled(s, select.EPOLLIN | select.EPOLLONESHOT)
        ask('send', 'ab')
        a = len(e.poll(5))
        b = len(e.poll(0.1))
        e.modify(s, select.EPOLLIN | select.EPOLLONESHOT)
        c = len(e.poll(5))
        e.close()
        return a, b, c


@step
def epoll_edge_out():
    with Pair() as s:
        n = fill(s)
        e = epolled(s, select.EPOLLOUT | select.EPOLLET)
        a = len(e.poll(0.1))
        ask('recv', n)
        b = [words(x) for _, x in e.poll(5)]
        e.close()
        return a, b


@step
def epoll_out_after_whole_sends():
    # nothing was refused, and there is little room all the same
    with Pair() as s:
        e, sent, end = epolled(s, select.EPOLLOUT), 0, time.monotonic() + 10
        while e.poll(0.1) and time.monotonic() < end:
            sent += s.send(b'x' * 1000)
        return ask('recv', sent) == sent, [words(events) for _, events in e.poll(5)]


@step
def epoll_errors():
    with Pair() as s:
        e = epolled(s, select.EPOLLIN)
        a = attempt(lambda: e.register(s, select.EPOLLIN))
        b = attempt(lambda: e.unregister(s))
        c = attempt(lambda: e.unregister(s)), attempt(lambda: e.modify(s, select.EPOLLIN))
        e.close()
        return a, b, c


@step
def epoll_hup_without_asking():
    with Pair() as s:
        e = epolled(s, 0)
        ask('reset')
        a = [words(x) for _, x in e.poll(5)]
        e.close()
        return a


@step
def epoll_max_events():
    pairs = [Pair() for _ in range(3)]
    e = select.epoll()
    for p in pairs:
        e.register(p.s, select.EPOLLOUT)
    seen = set()
    for _ in range(12):
        seen.update(fd for fd, _ in e.poll(1, 1))
    r = len(e.poll(1, 2)), len(e.poll(1)), len(seen)
    e.close()
    for p in reversed(pairs):
        p.__exit__()
    return r


@step
def epoll_with_others():
    with Pair() as s:
        r, w = os.pipe()
        e = epolled(s, select.EPOLLOUT)
        e.register(r, select.EPOLLIN)
        os.write(w, b'x')
        n = max(len(e.poll(1)) for _ in range(300))
        e.close()
        os.close(r)
        os.close(w)
        return n


@step
def epoll_turns():
    # room for one event, two that are always there
    with Pair() as s:
        e, (r, w) = epolled(s, select.EPOLLIN), os.pipe()
        e.register(r, select.EPOLLIN)
        ask('send', 'a')
        os.write(w, b'b')
        come(s, 1)
        seen = set()
        for i in range(10):
            time.sleep(0.002)
            seen |= {fd for fd, _ in e.poll(0, 1)}
        os.close(r)
        os.close(w)
        return len(seen)


    p = Pair()
    e = epolled(p.s, select.EPOLLIN)
    p.s.close()
    ask('close')
    n = len(e.poll(0.1))
    e.close()
    return n


@step
def epoll_from_two_threads():
    with Pair() as s:
        e = select.epoll()
        got = []
        threads = [threading.Thread(target=lambda: got.append(len(e.poll(5)))) for _ in range(2)]
        for t in threads:
            t.start()
        time.sleep(0.1)
        ask('send', 'a')
        e.register(s, select.EPOLLIN)
        for t in threads:
            t.join(6)
        e.close()
        return got


@step
def epoll_is_pollable():
    with Pair() as s:
        e = epolled(s, select.EPOLLIN)
        a = poll_once(e.fileno(), select.POLLIN, 50)
        t = threading.Timer(0.1, ask, ('send', 'a'))
        t.start()
        b = poll_once(e.fileno(), select.POLLIN, 5000)
        t.join()
        e.close()
        return a, b


# connecting

def connecting(s=None):
    """A connect() under way, which the peer accepts."""
    s = s or socket.socket()
    s.setblocking(False)
    r = s.connect_ex((sys.argv[1], int(sys.argv[2])))
    ask('accept')
    return s, errno.errorcode.get(r, r)


@step
def connect_before_accept():
    s = socket.socket()
    s.setblocking(False)
    s.connect_ex((sys.argv[1], int(sys.argv[2])))
    a = levels(s, select.POLLOUT)
    ask('accept')
    b = levels(s, select.POLLOUT)
    s.close()
    ask('close')
    return a, b


@step
def connect_nonblocking_poll():
    s, r = connecting()
    a = poll_once(s.fileno(), select.POLLOUT, 5000)
    b = s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    s.send(b'abc')
    got = ask('recv', 3)
    s.close()
    ask('close')
    return r, a, b, got


@step
def connect_nonblocking_epoll_edge():
    s, r = connecting()
    e = epolled(s, select.EPOLLIN | select.EPOLLOUT | select.EPOLLET)
    a = [words(x) for _, x in e.poll(5)]
    ask('send', 'a')
    b = [words(x) for _, x in e.poll(5)]
    e.close()
    s.close()
    ask('close')
    return r, a, b


@step
def connect_registered_before():
    s = socket.socket()
    s.setblocking(False)
    e = epolled(s, select.EPOLLOUT | select.EPOLLET)
    e.poll(0)
    connecting(s)
    end = time.monotonic() + 5
    seen = ''
    while seen != 'OUT' and time.monotonic() < end:
        for _, x in e.poll(1):
            seen = words(x)
    e.close()
    s.close()
    ask('close')
    return seen


@step
def connect_refused():
    s = socket.socket()
    a = attempt(lambda: s.connect((sys.argv[1], 1)))
    s.close()
    s = socket.socket()
    s.setblocking(False)
    s.connect_ex((sys.argv[1], 1))
    b = levels(s)
    c = [errno.errorcode.get(s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), 0) for _ in range(2)]
    s.close()
    return a, b, c


@step
def connect_twice():
    with Pair() as s:
        return attempt(lambda: s.connect((sys.argv[1], int(sys.argv[2]))))


@step
def wrong_calls_when_connected():
    with Pair() as s:
        return attempt(lambda: s.bind(('0.0.0.0', 0))), attempt(lambda: s.listen()), attempt(lambda: s.accept())


@step
def unconnected():
    s = socket.socket()
    r = [attempt(lambda: s.recv(1)), attempt(lambda: s.send(b'x')), attempt(s.getpeername), levels(s),
         attempt(lambda: s.shutdown(socket.SHUT_WR))]
    s.close()
    return r


# options, names, descriptors

@step
def names():
    with Pair() as s:
        return s.getpeername()[1] == int(sys.argv[2]), s.getsockname()[1] > 0


@step
def what_it_is():
    with Pair() as s:
        return [s.getsockopt(socket.SOL_SOCKET, o) for o in (socket.SO_TYPE, socket.SO_DOMAIN, socket.SO_PROTOCOL,
                                                             socket.SO_ACCEPTCONN, socket.SO_ERROR)]


@step
def options_read_back():
    with Pair() as s:
        out = []
        tcp, sol = socket.IPPROTO_TCP, socket.SOL_SOCKET
        for level, name, value in ((tcp, socket.TCP_NODELAY, 1), (tcp, 3, 1), (tcp, socket.TCP_KEEPIDLE, 77),
                                   (sol, socket.SO_KEEPALIVE, 1), (sol, socket.SO_RCVLOWAT, 5),
                                   (sol, socket.SO_OOBINLINE, 1), (sol, socket.SO_PRIORITY, 3),
                                   (socket.IPPROTO_IP, socket.IP_TOS, 16)):
            s.setsockopt(level, name, value)
            out.append(s.getsockopt(level, name))
        return out


@step
def options_before_connect():
    def before(s):
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    with Pair(before) as s:
        return (s.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY),
                s.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE))


@step
def nodelay_is_as_it_was_set():
    with Pair() as s:
        out = [s.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)]
        for value in (1, 0, 5, 0):
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, value)
            out.append(s.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        return out + [attempt(lambda: s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, b'x')),
                      raw('setsockopt', s.fileno(), socket.IPPROTO_TCP, socket.TCP_NODELAY, None, 4)]


def times_of(s):
    return [struct.unpack('ll', s.getsockopt(socket.SOL_SOCKET, o, 16))
            for o in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO)]


@step
def times_read_back():
    with Pair() as s:
        out = []
        rcv, snd = socket.SO_RCVTIMEO, socket.SO_SNDTIMEO
        for option, *value in ((rcv, 3, 234567), (snd, 0, 20000), (rcv, 0, 0), (rcv, 0, 1000000), (snd, 7, 0)):
            out.append(attempt(lambda: s.setsockopt(socket.SOL_SOCKET, option, struct.pack('ll', *value))))
            if option == rcv or value[0] == 7:
                out.append(times_of(s))
        return out + [attempt(lambda: s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, 1))]


@step
def bad_options():
    with Pair() as s:
        return (attempt(lambda: s.setsockopt(socket.SOL_SOCKET, 9999, 1)),
                attempt(lambda: s.getsockopt(socket.SOL_SOCKET, 9999)),
                raw('getsockopt', s.fileno(), 1, socket.SO_ERROR, None, None))


@step
def rcvlowat_poll():
    with Pair() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 10)
        ask('send', 'abcde')
        come(s, 5)
        a = levels(s, select.POLLIN)
        ask('send', 'fghij')
        come(s, 10)
        return a, levels(s, select.POLLIN)


@step
def rcvlowat_before_connect():
    with Pair(lambda s: s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 5000)) as s:
        ask('send', 5000)
        return s.getsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT), len(s.recv(9000))


@step
def rcvlowat_fin():
    with Pair() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 10)
        ask('send', 'abcde')
        ask('shut', socket.SHUT_WR)
        return levels(s)


@step
def cork_holds():
    with Pair() as s:
        s.setsockopt(socket.IPPROTO_TCP, 3, 1)
        s.send(b'held')
        a = ask('quiet', 0.1)
        s.setsockopt(socket.IPPROTO_TCP, 3, 0)
        return a, ask('recv', 4)


@step
def msg_more_holds():
    with Pair() as s:
        s.send(b'held', socket.MSG_MORE)
        a = ask('quiet', 0.1)
        s.send(b'gone')
        return a, ask('recv', 8)


@step
def outq_drains():
    with Pair() as s:
        s.sendall(b'x' * 1000)
        ask('recv', 1000)
        def outq():
            b = array.array('i', [0])
            fcntl.ioctl(s, termios.TIOCOUTQ, b)
            return b[0]
        return settled(outq)


@step
def fcntl_nonblock():
    with Pair() as s:
        fcntl.fcntl(s, fcntl.F_SETFL, os.O_NONBLOCK)
        a = attempt(lambda: os.read(s.fileno(), 1)), bool(fcntl.fcntl(s, fcntl.F_GETFL) & os.O_NONBLOCK)
        fcntl.fcntl(s, fcntl.F_SETFL, 0)
        return a, bool(fcntl.fcntl(s, fcntl.F_GETFL) & os.O_NONBLOCK)


@step
def ioctl_nonblock():
    with Pair() as s:
        fcntl.ioctl(s, termios.FIONBIO, array.array('i', [1]))
        return attempt(lambda: os.read(s.fileno(), 1)), bool(fcntl.fcntl(s, fcntl.F_GETFL) & os.O_NONBLOCK)


@step
def nonblock_is_shared_by_dup():
    with Pair() as s:
        d = os.dup(s.fileno())
        os.set_blocking(d, False)
        r = attempt(lambda: os.read(s.fileno(), 1))
        os.close(d)
        return r


@step
def cloexec():
    with Pair() as s:
        d = fcntl.fcntl(s, fcntl.F_DUPFD_CLOEXEC, 50)
        r = fcntl.fcntl(s, fcntl.F_GETFD), fcntl.fcntl(d, fcntl.F_GETFD), d >= 50
        os.close(d)
        return r


@step
def dup_lives_on():
    p = Pair()
    d = os.dup(p.s.fileno())
    p.s.close()
    os.write(d, b'abc')
    got = ask('recv', 3)
    a = ask('quiet', 0.1)
    os.close(d)
    r = ask('until_end')
    ask('close')
    return got, a, r


@step
def dup2_over_it():
    p = Pair()
    r, w = os.pipe()
    os.dup2(r, p.s.fileno())
    os.write(w, b'pipe')
    got = os.read(p.s.fileno(), 10), ask('until_end')
    os.close(r)
    os.close(w)
    p.s.close()
    ask('close')
    return got[0].decode(), got[1]


@step
def closed_while_another_reads():
    p, out = Pair(), []
    t = threading.Thread(target=lambda: out.append(attempt(lambda: p.s.recv(10))), daemon=True)
    t.start()
    time.sleep(0.1)
    os.close(p.s.detach())
    ask('close')
    t.join(8)
    return len(out)


@step
def number_is_used_again():
    with Pair() as s:
        fd = s.detach()
        os.close(fd)
        f = os.open('/dev/null', os.O_RDONLY)
        r = f == fd, os.read(f, 10), attempt(lambda: os.fstat(f).st_rdev)
        os.close(f)
        return r[0], r[1].decode()


@step
def fstat_says_socket():
    with Pair() as s:
        return oct(os.fstat(s.fileno()).st_mode >> 12)


@step
def stdio_over_it():
    with Pair() as s:
        LIBC.fdopen.restype = ctypes.c_void_p
        f = ctypes.c_void_p(LIBC.fdopen(os.dup(s.fileno()), b'r+'))
        LIBC.fprintf(f, b'hello %d\n', 42)
        LIBC.fflush(f)
        got = ask('recv', 9)
        ask('send', 'line\n')
        buf = ctypes.create_string_buffer(100)
        LIBC.fseek(f, 0, 1)
        LIBC.fgets(buf, 100, f)
        n = LIBC.fileno(f) > 2
        LIBC.fclose(f)
        return got, buf.value.decode(), n


@step
def dprintf_over_it():
    with Pair() as s:
        return LIBC.dprintf(s.fileno(), b'%s %d', b'number', 7), ask('recv', 8)


# processes, threads, signals

@step
def fork_shares():
    with Pair() as s:
        ask('send', 'parentchild')
        come(s, 11)
        a = s.recv(6)
        pid = os.fork()
        if pid == 0:
            os.write(s.fileno(), b'child says ' + os.read(s.fileno(), 5))
            os._exit(0)
        os.waitpid(pid, 0)
        return a, ask('recv', 16), attempt(lambda: s.recv(1, socket.MSG_DONTWAIT))


@step
def child_closes_what_the_parent_waits_for():
    with Pair() as s:
        e = epolled(s, select.EPOLLIN)
        assert e.poll(0) == []
        pid = os.fork()
        if pid == 0:
            os.close(s.fileno())
            os._exit(0)
        os.waitpid(pid, 0)
        ask('send', 'abc')
        return [words(events) for _, events in e.poll(5)], s.recv(10)


@step
def options_of_two_processes():
    with Pair() as s:
        pid = os.fork()
        if pid == 0:
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            os._exit(0)
        os.waitpid(pid, 0)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        return s.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@step
def child_keeps_it_open():
    p = Pair()
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(w)
        os.read(r, 1)
        os.write(p.s.fileno(), b'still here')
        os._exit(0)
    p.s.close()
    a = ask('quiet', 0.1)
    os.close(w)
    os.waitpid(pid, 0)
    os.close(r)
    got = ask('recv', 10), ask('until_end')
    ask('close')
    return a, got


@step
def exec_inherits():
    with Pair() as s:
        os.set_inheritable(s.fileno(), True)
        ask('send', 'abc')
        program = 'import os, sys; fd = int(sys.argv[1]); os.write(fd, b"from exec " + os.read(fd, 3))'
        subprocess.run([sys.executable, '-c', program, str(s.fileno())], close_fds=False, check=True)
        return ask('recv', 13)


@step
def exec_keeps_options():
    with Pair() as s:
        s.set_inheritable(True)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack('ll', 0, 100000))
        program = '''
import socket, struct, sys, time
s = socket.socket(fileno=int(sys.argv[1]))
s.settimeout(None)
begun = time.monotonic()
try:
    s.recv(1)
except BlockingIOError:
    print(0.09 < time.monotonic() - begun < 2,
          struct.unpack('ll', s.getsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, 16)),
          s.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
'''
        return subprocess.run([sys.executable, '-c', program, str(s.fileno())], close_fds=False, check=True,
                              capture_output=True, text=True).stdout


@step
def exec_as_stdio():
    with Pair() as s:
        ask('send', 'word\n')
        subprocess.run(['sh', '-c', 'read line; echo "got $line"'], stdin=s, stdout=s, check=True)
        return ask('recv', 9)


@step
def exec_with_streams():
    # programs that read and print by the C library's streams
    with Pair() as s:
        ask('send', 'a line\nanother\n')
        subprocess.run(['sed', '-n', '1p;1q'], stdin=s, stdout=s, check=True)
        out = [ask('recv', 7)]
        subprocess.run(['cat', '/nonexistent'], stderr=s)
        return out + [ask('recv', 10)]


    p = Pair()
    pid = os.fork()
    if pid == 0:
        os.write(p.s.fileno(), b'last words')
        os._exit(0)
    p.s.close()
    os.waitpid(pid, 0)
    r = ask('until_end')
    ask('close')
    return r


@step
def killed_delivers():
    p = Pair()
    pid = os.fork()
    if pid == 0:
        os.write(p.s.fileno(), b'k' * 50000)
        os.kill(os.getpid(), signal.SIGKILL)
    p.s.close()
    os.waitpid(pid, 0)
    r = ask('until_end')
    ask('close')
    return r


def interrupted(s, flags):
    """What a recv() in this thread says when a signal comes, and then data."""
    LIBC.siginterrupt(signal.SIGALRM, flags)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    t = threading.Timer(0.4, ask, ('send', 'abc'))
    t.start()
    buf = ctypes.create_string_buffer(10)
    begun = time.monotonic()
    r = raw('recv', s.fileno(), buf, ctypes.c_size_t(10), 0)
    early = time.monotonic() - begun < 0.35
    t.join()
    return r, early


@step
def signal_interrupts():
    old = signal.signal(signal.SIGALRM, lambda *_: None)
    with Pair() as s:
        r = interrupted(s, 1)
    signal.signal(signal.SIGALRM, old)
    return r


@step
def signal_restarts():
    old = signal.signal(signal.SIGALRM, lambda *_: None)
    with Pair() as s:
        r = interrupted(s, 0)
    signal.signal(signal.SIGALRM, old)
    return r


@step
def two_readers():
    with Pair() as s:
        got = []
        threads = [threading.Thread(target=lambda: got.append(s.recv(1))) for _ in range(2)]
        for t in threads:
            t.start()
        time.sleep(0.05)
        ask('send', 'a')
        ask('send', 'b')
        for t in threads:
            t.join(5)
        return sorted(x.decode() for x in got)


@step
def passed_to_another():
    with Pair() as s:
        a, b = socket.socketpair()
        socket.send_fds(a, [b'x'], [s.fileno()])
        _, fds, _, _ = socket.recv_fds(b, 10, 1)
        os.write(fds[0], b'abc')
        got = ask('recv', 3)
        os.close(fds[0])
        a.close()
        b.close()
        return got


# accepting

@step
def accept_and_inherit():
    listener = socket.create_server((sys.argv[1] if sys.argv[1] == '127.0.0.1' else '0.0.0.0', 0))
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    listener.setblocking(False)
    a = attempt(listener.accept)
    c = socket.create_connection(('127.0.0.1', listener.getsockname()[1]))
    listener.setblocking(True)
    s, addr = listener.accept()
    r = s.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY), addr == c.getsockname(), s.getpeername() == addr
    c.sendall(b'abc')
    got = s.recv(10)
    c.close()
    s.close()
    listener.close()
    return a, r, got


@step
def own_save_syn():
    # of a program that looks at the SYN of its clients; the library has a use of its own for that option
    out = [ask('save_syn', 1)]
    with Pair() as s:
        out += [ask('saved_syn'), ask('send', 'abc'), s.recv(3, socket.MSG_WAITALL)]
    out += [ask('save_syn', 3), ask('save_syn', 2)]
    with Pair() as s:
        out += [ask('send', 'abc'), s.recv(3, socket.MSG_WAITALL)]
    out.append(ask('save_syn', 0))
    with Pair() as s:
        return repr(out + [ask('send', 'abc'), s.recv(3, socket.MSG_WAITALL)])


def main():
    chosen = sys.argv[3:]
    global CONTROL
    control = socket.create_connection((sys.argv[1], int(sys.argv[2])))
    CONTROL = control.makefile('rw')
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    for f in STEPS:
        if chosen and f.__name__ not in chosen:
            continue
        watchdog = threading.Timer(30, lambda: (print(f.__name__ + ': HANGS', flush=True), os._exit(3)))
        watchdog.daemon = True
        watchdog.start()
        try:
            seen = f()
        except Exception as e:
            seen = '%s: %s' % (type(e).__name__, e)
        watchdog.cancel()
        print('%s: %s' % (f.__name__, json.dumps(seen, default=lambda b: b.decode('latin1'))), flush=True)


if sys.argv[1] == 'peer':
    peer(int(sys.argv[2]))
else:
    main()
