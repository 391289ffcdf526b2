# SPDX-License-Identifier: BSD-2-Clause
"""One tcpdump for all cases of a guest, and the part of its capture that belongs to each case.

A marker frame goes out at the guest's tap before the programs of a case start, and another one when they have ended.
The kernel puts the frames of an interface into the capture in the order in which they pass. So a case's frames are
those between its two markers, and all of them are in the file once the second marker is there. Then tcpdump says
how many frames it lost; a case that lost one has failed. Frames between two cases are counted.
"""
import collections, ctypes, os, re, signal, socket, struct, subprocess
from lab import SW, wait_for

MARKER_TYPE = 0x88b5   # IEEE 802's for experiments; the guest drops it, as the address is not its own
MARKER_HEAD = bytes.fromhex('02000000aaaa' '02000000bbbb') + struct.pack('>H', MARKER_TYPE)
MARKER_BYTES = 60
FILE_HEAD, RECORD_HEAD = 24, 16
CLONE_NEWNET = 0x40000000
COUNTS = re.compile(r'(\d+) packets? captured.*?(\d+) packets? dropped by kernel', re.S)
Part = collections.namedtuple('Part', 'begin end frames')   # places in the file, and how many frames


def socket_at(namespace, interface):
    """A packet socket in another network namespace."""
    libc = ctypes.CDLL(None, use_errno=True)

    def enter(fd):
        if libc.setns(fd, CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), 'setns')
    here, there = (os.open(path, os.O_RDONLY) for path in ('/proc/thread-self/ns/net', '/run/netns/' + namespace))
    try:
        enter(there)
        try:
            found = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            found.bind((interface, 0))
        finally:
            enter(here)
    finally:
        os.close(here)
        os.close(there)
    return found


def only(capture, words, to):
    """Writes the frames of `capture`, the bytes of a file, that tcpdump's filter `words` wants into the file `to`."""
    subprocess.run(['tcpdump', '-Z', 'root', '-n', '-r', '-', '-w', to, 'not ether proto 0x%x and (%s)' % (
        MARKER_TYPE, words)], input=capture, check=True, timeout=60, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


class Capture:
    """The capture at the guest's tap. close() ends it; used from one thread, but for write_part()."""

    def __init__(self, lab, path, filters):
        self.lab, self.path, self.log = lab, path, path + '.log'
        self.marks = 0             # how many markers are out
        self.at = FILE_HEAD        # up to here the file has been looked through, and so many frames were there:
        self.frames = self.strays = self.dropped = 0
        self.begin = None          # of the case that runs: after its first marker
        self.socket = socket_at(SW, 'tap0')
        words = ' or '.join('(%s)' % f for f in ['ether proto 0x%x' % MARKER_TYPE] + sorted(filters))
        self.tcpdump = lab.spawn(['ip', 'netns', 'exec', SW, 'tcpdump', '-Z', 'root', '--immediate-mode', '-U', '-B',
                                  '131072', '-n', '-s', str(lab.segment_mtu + 100), '-i', 'tap0', '-w', path, words],
                                 self.log)
        wait_for('the capture to start', 20, lambda: 'listening' in self.said() or self.has_ended())
        self.check_runs()

    def said(self):
        with open(self.log, errors='replace') as f:
            return f.read()

    def has_ended(self):
        return self.tcpdump.poll() is not None

    def check_runs(self):
        if self.has_ended():
            raise OSError('tcpdump ended: ' + self.said().strip())

    def grown(self):
        """Octets of the file since the case began."""
        return os.path.getsize(self.path) - self.begin

    def mark(self):
        """Sends the next marker, and waits until the file has it: the Part of the file from the marker before."""
        self.check_runs()
        begin, frames, number = self.at, 0, self.marks
        self.marks += 1
        self.socket.send((MARKER_HEAD + struct.pack('>I', number)).ljust(MARKER_BYTES, b'\0'))
        end = None

        def has_come():
            nonlocal begin, frames, end
            self.check_runs()
            for frame in self.new_frames():
                if frame[12:14] == MARKER_HEAD[12:]:
                    found, = struct.unpack_from('>I', frame, len(MARKER_HEAD))
                    if found > number:
                        raise ValueError('marker %d of the capture is where %d has to be' % (found, number))
                    if found == number:
                        end = self.at
                        return True
                    begin, frames = self.at, -1   # it was late: the wait for it had failed
                frames += 1
            return False
        wait_for('a marker in the capture', 20, has_come)
        return Part(begin, end, frames)

    def new_frames(self):
        """The frames that the file has since the last call, as far as they are whole."""
        with open(self.path, 'rb') as f:
            f.seek(self.at)
            while len(head := f.read(RECORD_HEAD)) == RECORD_HEAD:
                captured, = struct.unpack_from('<I', head, 8)
                frame = f.read(captured)
                if len(frame) < captured:
                    return
                self.at += RECORD_HEAD + captured
                self.frames += 1
                yield frame

    def start_case(self):
        self.strays += self.mark().frames
        self.begin = self.at

    def end_case(self):
        """The Part of the case that start_case() began; an OSError if tcpdump has lost a frame."""
        part = self.mark()
        told = len(COUNTS.findall(self.said()))
        os.kill(self.tcpdump.pid, signal.SIGUSR1)
        wait_for('tcpdump\'s counts', 20, lambda: len(COUNTS.findall(self.said())) > told or self.has_ended())
        self.check_runs()
        self.check_counts()
        return part

    def check_counts(self):
        captured, dropped = map(int, COUNTS.findall(self.said())[-1])
        lost, self.dropped = dropped - self.dropped, dropped
        if lost:
            raise OSError('tcpdump has lost %d frames' % lost)
        if captured < self.frames:
            raise OSError('tcpdump has captured %d frames, the file has %d' % (captured, self.frames))
        return captured

    def write_part(self, part, words, to):
        """Writes the frames of a Part that the filter `words` wants into the file `to`, and frees their place."""
        with open(self.path, 'rb') as f:
            capture = f.read(FILE_HEAD)
            f.seek(part.begin)
            capture += f.read(part.end - part.begin)
        only(capture, words, to)
        subprocess.run(['fallocate', '--punch-hole', '--offset', str(part.begin), '--length',
                        str(part.end - part.begin), self.path], check=False, stderr=subprocess.DEVNULL)

    def close(self):
        """Ends the capture. An OSError if tcpdump has lost a frame, or counts other frames than the file has."""
        self.socket.close()
        self.lab.stop(self.tcpdump, signal.SIGINT)
        if not self.marks:
            return
        for _ in self.new_frames():
            self.strays += 1
        captured = self.check_counts()
        if captured != self.frames:
            raise OSError('tcpdump has captured %d frames, the file has %d' % (captured, self.frames))
