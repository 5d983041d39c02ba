# SPDX-License-Identifier: GPL-3.0-or-later
"""condprofctl -H, by a real sshd on a loopback port: every command, whatever the far login prints and whatever shell it is;
older daemons; links that are cut or dead; what ssh fails at; and that no host ever becomes an option or a command."""

import contextlib
import json
import os
import pathlib
import pty
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

from condprof_test import (CONDPROFCTL, PATIENCE, SOURCE, Daemon, contains, control, ctl, equal, folder, frame,
                           need_program, note, png, run, run_program, take_frame, until, write_frames)

RED, BLACK = (255, 0, 0), (0, 0, 0)
SSHD = need_program('sshd') if shutil.which('sshd', path='/usr/sbin:/usr/bin') else None

_rig = None


class Rig:
    """An sshd for this user with a key of its own, a home of its own, and condprofctl in its PATH; and a daemon there."""

    def __init__(self, home):
        self.home = home
        self.far = home / 'far'
        self.bin = home / 'bin'
        self.far.mkdir()
        self.bin.mkdir()
        for name in ('host', 'key', 'locked'):
            subprocess.run([need_program('ssh-keygen'), '-q', '-t', 'ed25519', '-N', 'secret' if name == 'locked' else '',
                            '-f', home / name], check=True, stdin=subprocess.DEVNULL)
        (home / 'authorized').write_text((home / 'key.pub').read_text() + (home / 'locked.pub').read_text())
        self.daemon = Daemon(socket_path=home / 'socket')
        self.far_program(None)
        self.process = None

    def start(self):
        self.daemon.start()
        if os.geteuid() == 0:
            os.makedirs('/run/sshd', exist_ok=True)
        self.login('exec sh -c "$SSH_ORIGINAL_COMMAND"')
        self.log = open(self.home / 'sshd.log', 'ab')
        until(self.listen, 'sshd')
        return self

    def listen(self):
        """Starts sshd on a port that was free just now. @return whether it still was"""
        with socket.socket() as free:
            free.bind(('127.0.0.1', 0))
            self.port = free.getsockname()[1]
        (self.home / 'sshd_config').write_text(f'''ListenAddress 127.0.0.1
Port {self.port}
HostKey {self.home}/host
PidFile none
AuthorizedKeysFile {self.home}/authorized
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin yes
MaxStartups 200
MaxSessions 100
SetEnv PATH={self.bin}:/usr/bin:/bin HOME={self.far} CONDPROF_SOCKET={self.home}/socket LC_ALL=C.UTF-8
ForceCommand {self.home}/login
''')
        common = f'''HostName 127.0.0.1
Port {self.port}
UserKnownHostsFile {self.home}/known
StrictHostKeyChecking accept-new
IdentitiesOnly yes
IdentityAgent none
KexAlgorithms curve25519-sha256
'''
        (self.home / 'ssh_config').write_text(f'''Host shared
{common}IdentityFile {self.home}/key
ControlMaster auto
ControlPath {self.home}/control
ControlPersist yes
Host locked
{common}IdentityFile {self.home}/locked
Host stranger
{common}IdentityFile {self.home}/host
Host nobody
HostName 127.0.0.1
Port 1
Host plain
{common}IdentityFile {self.home}/key
''')
        (self.home / 'sshd.log').write_text('')
        self.process = subprocess.Popen([SSHD, '-D', '-e', '-f', self.home / 'sshd_config'], stdin=subprocess.DEVNULL,
                                        stdout=self.log, stderr=self.log)
        until(lambda: self.process.poll() is not None or 'Server listening' in (self.home / 'sshd.log').read_text(), 'sshd')
        return self.process.poll() is None

    def stop(self):
        if not self.process:
            return
        subprocess.run(['ssh', '-F', self.home / 'ssh_config', '-O', 'exit', 'shared'], stdin=subprocess.DEVNULL,
                       capture_output=True, check=False)
        for pid in [self.process.pid, *self.sessions()]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()
        self.log.close()
        self.daemon.stop()

    def login(self, script):
        """What the far login does instead of the user's own shell; $SSH_ORIGINAL_COMMAND is what ssh asked for."""
        path = self.home / 'login.new'
        path.write_text('#!/bin/sh\n' + script + '\n')
        path.chmod(0o755)
        path.rename(self.home / 'login')

    def far_program(self, script):
        """condprofctl on the far side: a script, or the real one."""
        path = self.bin / 'condprofctl'
        path.unlink(missing_ok=True)
        if script is None:
            path.symlink_to(CONDPROFCTL)
        else:
            path.write_text('#!/bin/sh\n' + script + '\n')
            path.chmod(0o755)

    @contextlib.contextmanager
    def as_if(self, login=None, program=None):
        """Another login or another condprofctl there, for a while."""
        if login:
            self.login(login)
        if program:
            self.far_program(program)
        try:
            yield
        finally:
            self.login('exec sh -c "$SSH_ORIGINAL_COMMAND"')
            self.far_program(None)

    def environment(self, *options):
        return {'CONDPROF_SSH': ' '.join(['ssh', *options, '-F', str(self.home / 'ssh_config')]), 'SSH_AUTH_SOCK': '',
                'CONDPROF_SOCKET': '/not/here'}

    def ctl(self, *words, host='shared', options=(), **others):
        return ctl('-H', host, *words, environment=self.environment(*options), **others)

    def popen(self, *words, host='plain', options=(), **others):
        names = dict(os.environ, LC_ALL='C.UTF-8', **self.environment(*options))
        others = {'stdin': subprocess.DEVNULL, 'stdout': subprocess.PIPE, 'stderr': subprocess.PIPE, **others}
        return subprocess.Popen([CONDPROFCTL, '-H', host, *map(str, words)], env=names, text=True, **others)

    def sessions(self):
        """Pids of the processes below sshd: its sessions, the shells and bridges in them."""
        parents = {}
        for path in pathlib.Path('/proc').iterdir():
            if path.name.isdigit():
                with contextlib.suppress(OSError, IndexError, ValueError):
                    parent = int(path.joinpath('stat').read_text().rsplit(')', 1)[1].split()[1])
                    parents.setdefault(parent, []).append(int(path.name))
        found, todo = [], [self.process.pid]
        while todo:
            children = parents.get(todo.pop(), [])
            found += children
            todo += children
        return found

    def session(self):
        """The one that an unshared login just made: what sshd started last below itself."""
        return until(lambda: [pid for pid in self.sessions() if pid not in self.before
                              and b'sshd' in command_line(pid)], 'a session of sshd')

    def mark(self):
        """Sessions from here on are those of session()."""
        self.before = set(self.sessions())

    def gone(self):
        """Waits until nothing is left of them."""
        until(lambda: set(self.sessions()) <= self.before, 'the end of the far side')


def command_line(pid):
    try:
        return pathlib.Path(f'/proc/{pid}/cmdline').read_bytes()
    except OSError:
        return b''


def write(name, text):
    path = _rig.home / name
    path.write_text(text)
    return path


def endless():
    write_frames(_rig.far / 'red', [png(16, 16, RED)])
    return write('endless.yaml', f'''scenario: endless
screen: replay:{_rig.far}/red?loop=1
rate: 100/s
counters: {{told: 0}}
screen-events:
  - event: never
    conditions: [{{color: "#00ff00", name: green, area: [0, 0, 4, 4], threshold: 0}}]
    actions: []
trigger-events:
  - event: told
    conditions: [broadcast: go]
    actions: [{{counter: told, add: 1}}]
''')


@contextlib.contextmanager
def running():
    number = int(_rig.daemon.ctl('start', endless()).ok().out)
    try:
        yield number
    finally:
        _rig.daemon.ctl('stop', '--all').ok()


# --- commands ------------------------------------------------------------------------------------------------------------

def test_every_command():
    shown = _rig.ctl('version', '--json').json()
    equal((shown['client']['version'], shown['daemon']['control']), (shown['daemon']['version'], True))
    equal(_rig.ctl('status').ok().out, 'No session is running.\n')
    write_frames(_rig.far / 'red', [png(16, 16, RED)])
    # the image is here, the frames are there
    (_rig.home / 'icon.png').write_bytes(png(4, 4, lambda x, y: RED if x else BLACK))
    scenario = write('kiosk.yaml', f'''scenario: kiosk
screen: replay:{_rig.far}/red?loop=1
rate: unlimited
screen-events:
  - event: seen
    conditions:
      - {{color: "#ff0000", name: red, area: [0, 0, 4, 4]}}
      - {{image: icon.png, present: false}}
    actions: [{{stop: seen}}]
''')
    done = _rig.ctl('start', './kiosk.yaml', '--wait', cwd=_rig.home).ok()
    number = done.out.strip()
    contains(done.err, f'session {number} finished, ok')
    contains(_rig.ctl('list').ok().out, number, 'kiosk')
    contains(_rig.ctl('report', '--output', 'html').ok().out, '<!doctype html>', 'icon.png')
    equal(len(_rig.ctl('report', number, '--view', 'conditions', '--json').json()['conditions']), 2)
    contains(_rig.ctl('advise', number).ok().out, 'kiosk')
    second = _rig.ctl('start', scenario, '--wait').ok().out.strip()
    contains(_rig.ctl('diff', number, second).ok().out, 'red')
    equal(_rig.ctl('install', scenario).ok().out, 'kiosk\n')
    contains(_rig.ctl('scenarios').ok().out, 'kiosk')
    third = _rig.ctl('start', 'kiosk', '--wait').ok().out.strip()
    equal(_rig.ctl('remove', 'kiosk').ok().out, 'kiosk\n')
    _rig.ctl('delete', number, second, third).ok()
    contains(_rig.ctl('try', scenario).ok().out, 'icon.png')
    _rig.ctl('capture', '--screen', f'replay:{_rig.far}/red', 'here.png', cwd=_rig.home).ok()
    assert (_rig.home / 'here.png').read_bytes().startswith(b'\x89PNG')
    kept = _rig.far / 'kept'
    _rig.ctl('start', scenario, '--record', kept, '--wait').ok()
    assert kept.is_dir() and not (_rig.home / 'kept').exists()
    with running():
        contains(_rig.ctl('status').ok().out, 'endless')
        _rig.ctl('rotate').ok()
        _rig.ctl('emit', 'go').ok()
        rows = _rig.ctl('watch', '--interval', '100ms', '--count', '2', '--output', 'csv').ok().out.splitlines()
        equal(len(rows), 3)
        contains(_rig.ctl('report', '--view', 'timeline').ok().out, 'told')
    # here, and no ssh at all
    report = SOURCE / 'tests' / 'data' / 'reports' / 'advised'
    _rig.ctl('report', report, host='nobody').ok()
    _rig.ctl('check', scenario, host='nobody').ok()


def test_folders_there_are_absolute():
    relative = write('relative.yaml', endless().read_text().replace(f'replay:{_rig.far}/', 'replay:'))
    contains(_rig.ctl('start', relative).fails(1).err, 'relative.yaml:2', 'with -H it must be absolute')
    contains(_rig.ctl('check', relative).fails(1).err, 'with -H it must be absolute')
    contains(_rig.ctl('start', endless(), '--screen', 'replay:red').fails(2).err, 'with -H it must be absolute')
    contains(_rig.ctl('start', endless(), '--record', 'kept').fails(2).err, 'with -H it must be absolute')
    contains(_rig.ctl('try', endless(), '--screen', 'replay:red').fails(2).err, 'with -H it must be absolute')


def test_codes_come_home():
    _rig.ctl('stop', '12345').fails(4)
    _rig.ctl('start', 'kisok').fails(4)
    _rig.ctl('emit', 'go').fails(4)
    contains(_rig.ctl('status', '--socket', _rig.home / 'none').fails(3).err, 'shared: no daemon listens at', 'none')
    contains(_rig.ctl('status', '--socket', 'none').fails(2).err, 'absolute')
    _rig.ctl('status', '--socket', _rig.home / 'socket').ok()
    _rig.ctl('version', '--socket', _rig.home / 'none').ok()  # as without -H


# --- what the far login is -------------------------------------------------------------------------------------------

def test_noisy_login_files():
    noisy = _rig.far / 'noisy'
    login = 'exec sh -c "$SSH_ORIGINAL_COMMAND"'
    for noise in ('echo Welcome', 'printf "no newline"', 'printf "\\0\\377\\r\\n\\n\\n"',
                  'head -c 60000 /dev/urandom | base64 -w 0 | head -c 60000',
                  'echo condprof-bridge; echo " condprof-bridge 1"; printf "x condprof-bridge 1"',
                  'printf "%5000s" x; echo refused denied no'):
        noisy.write_text(noise + '\n')
        with _rig.as_if(login=f'. {noisy}\n{login}'):
            equal(_rig.ctl('status').ok().out, 'No session is running.\n')
    noisy.write_text('head -c 100000 /dev/zero\n')
    with _rig.as_if(login=f'. {noisy}\n{login}'):
        contains(_rig.ctl('status').fails(6).err, '64 KiB')


def test_a_noisy_bashrc():
    """bash reads it when sshd starts it, also for a command: seen here as it is, then skipped."""
    (_rig.far / '.bashrc').write_text('echo noise from .bashrc\n')
    with _rig.as_if(login=f'exec env -u SHLVL {need_program("bash")} -c "$SSH_ORIGINAL_COMMAND"'):
        plain = run_program('ssh', '-F', _rig.home / 'ssh_config', 'shared', 'echo command').ok().out
        contains(plain, 'noise from .bashrc\n', 'command\n')
        equal(_rig.ctl('status').ok().out, 'No session is running.\n')
    (_rig.far / '.bashrc').unlink()


def test_other_shells():
    names = ('dash', 'bash', 'zsh', 'fish', 'csh', 'tcsh', 'ksh', 'busybox')
    shells = [path for path in map(shutil.which, names) if path]
    note('shells:', *shells)
    for shell in shells:
        words = f'{shell} sh' if shell.endswith('busybox') else shell
        with _rig.as_if(login=f'exec {words} -c "$SSH_ORIGINAL_COMMAND"'):
            equal(_rig.ctl('status').ok().out, 'No session is running.\n')


def test_the_shell_gets_two_words():
    record = _rig.home / 'asked'
    with _rig.as_if(login=f'echo "$SSH_ORIGINAL_COMMAND" > {record}; exec sh -c "$SSH_ORIGINAL_COMMAND"'):
        _rig.ctl('status', '--socket', "/$(touch x)/';touch x;'").fails(3)
    equal(record.read_text(), 'condprofctl bridge\n')


def test_no_bridge_there():
    with _rig.as_if(program='echo "condprofctl: unknown command bridge" >&2; exit 2'):
        contains(_rig.ctl('status').fails(6).err, 'too old')
    with _rig.as_if(login='echo This account is not available.; exit 1'):
        contains(_rig.ctl('status').fails(3).err, 'exit status 1', 'This account is not available.')
    with _rig.as_if(login='printf "no newline"; exit 7'):
        contains(_rig.ctl('status').fails(3).err, 'exit status 7', 'no newline')
    with _rig.as_if(login='PATH=/nowhere; condprofctl bridge'):
        contains(_rig.ctl('status').fails(3).err, 'has no condprofctl')
    with _rig.as_if(login='kill -9 $$'):
        _rig.ctl('status').fails(255)
    with _rig.as_if(login='cat'):
        contains(_rig.ctl('status', '--timeout', '500ms').fails(5).err, 'in time')
    with _rig.as_if(login='exec >&-; read line'):
        _rig.ctl('status', '--timeout', '500ms').fails(5)


def test_a_bridge_that_says_something_else():
    for says, code, text in (('condprof-bridge 2', 6, 'version 2'), ('condprof-bridge 1\\nrefused denied you may not', 7, 'you may not'),
                             ('condprof-bridge 1\\nrefused no-daemon none', 3, 'none'),
                             ('condprof-bridge 1\\nrefused failed broken', 1, 'broken'),
                             ('condprof-bridge 1\\nrefused because', 6, 'unknown here'), ('condprof-bridge 1\\nhello', 6, 'does not speak'),
                             ('condprof-bridge 1\\nconnected\\nmore', 6, 'condprof'), ('condprof-bridge 1\\nrefused', 6, 'does not speak')):
        with _rig.as_if(program=f"printf '\\n{says}\\n'; read line; exit 0"):
            contains(_rig.ctl('status').fails(code).err, text)


def test_the_bridge_by_hand():
    bridge = [CONDPROFCTL, 'bridge']

    def talk(data):
        return run_program(*bridge, stdin=data, environment={'CONDPROF_SOCKET': str(_rig.home / 'socket')})
    equal(talk('').out, '\ncondprof-bridge 1\n')
    contains(talk('hello\n').out, 'refused failed')
    contains(talk('connectx\n').out, 'refused failed')
    contains(talk('connect \n').out, 'refused failed')
    contains(talk('connect /none\n').out, 'refused no-daemon no daemon listens at /none')
    equal(talk('c' * 10000 + '\n').out, '\ncondprof-bridge 1\n')
    contains(talk('connect\n').out, '\nconnected\n')
    equal(ctl('--help').out.count('bridge'), 0)


# --- older ones --------------------------------------------------------------------------------------------------------

class OldDaemon:
    """Speaks 1.0: answers Hello and status, and does not know the rest."""

    def __init__(self, path):
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(str(path))
        self.listener.listen()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            data = b''
            while True:
                body, data = take_frame(data)
                if body is None:
                    more = peer.recv(65536)
                    if not more:
                        break
                    data += more
                    continue
                request = control.Request.FromString(body)
                kind = request.WhichOneof('body')
                reply = control.Reply(id=request.id, last=True)
                if kind == 'hello':
                    reply.hello.CopyFrom(control.HelloReply(major=1, minor=0, daemon='0.0.9', control=True))
                elif kind == 'status':
                    reply.sessions.SetInParent()
                else:
                    reply.error.CopyFrom(control.Error(code=control.UNSUPPORTED, message='an older daemon'))
                peer.sendall(frame(reply))
            peer.close()


def test_an_older_minor_version():
    path = _rig.home / 'old'
    old = OldDaemon(path)
    equal(_rig.ctl('--socket', path, 'status').ok().out, 'No session is running.\n')
    equal(_rig.ctl('--socket', path, '--json', 'version').json()['daemon']['protocol'], '1.0')
    contains(_rig.ctl('--socket', path, 'start', 'kiosk').fails(1).err, 'older')
    contains(_rig.ctl('--socket', path, 'scenarios').fails(1).err, 'older')
    old.listener.close()


# --- links that end ------------------------------------------------------------------------------------------------------

def first_rows(process, count):
    return [process.stdout.readline() for _ in range(count)]


def finish(process):
    out, err = process.communicate(timeout=PATIENCE)
    return process.returncode, out, err


def watching(**options):
    _rig.mark()
    process = _rig.popen('watch', '--interval', '100ms', '--output', 'csv', **options)
    first_rows(process, 2)
    return process


def test_a_link_that_is_cut():
    with running():
        process = watching()
        for pid in _rig.session():
            os.kill(pid, signal.SIGKILL)
        code, _, err = finish(process)
        equal(code, 3)
        contains(err, 'the link to plain is lost')
        _rig.gone()


def test_a_link_that_is_dead():
    with running():
        process = watching(options=('-oServerAliveInterval=1', '-oServerAliveCountMax=1'))
        stopped = _rig.session()
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        begin = time.monotonic()
        code, _, err = finish(process)
        note(f'noticed after {time.monotonic() - begin:.1f} s')
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
        equal(code, 3)
        contains(err, 'the link to plain is lost')
        _rig.gone()
        process = watching()
        stopped = _rig.session()
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        process.kill()
        process.wait()
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
        _rig.gone()


def test_a_timeout_over_a_dead_link():
    with running():
        process = watching()
        process.kill()
        process.wait()
        _rig.gone()
        _rig.mark()
        process = _rig.popen('watch', '--timeout', '1s', '--interval', '100ms', '--output', 'csv')
        code, _, _ = finish(process)
        equal(code, 5)
        _rig.gone()


def test_a_link_that_is_cut_while_waiting():
    _rig.mark()
    process = _rig.popen('start', endless(), '--wait')
    number = process.stdout.readline().strip()
    for pid in _rig.session():
        os.kill(pid, signal.SIGKILL)
    code, _, err = finish(process)
    equal(code, 3)
    contains(err, 'is lost', f'session {number} keeps running')
    _rig.gone()
    _rig.daemon.ctl('stop', number).ok()


def test_a_link_that_is_cut_in_a_report():
    """A daemon that has sent half of a reply; then the link is cut."""
    path = _rig.home / 'half'
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    listener.listen()
    half = threading.Event()

    def talk():
        peer, _ = listener.accept()
        peer.recv(65536)
        peer.sendall(frame(control.Reply(id=1, last=True, hello=control.HelloReply(major=1, minor=1, daemon='half'))))
        peer.recv(65536)
        reply = frame(control.Reply(id=2, last=False, report=control.ReportChunk(session=1, part=0, data=b'x' * 40000)))
        peer.sendall(reply[:20000])
        half.set()
        peer.recv(65536)
        peer.close()
    thread = threading.Thread(target=talk)
    thread.start()
    _rig.mark()
    process = _rig.popen('report', '--socket', path)
    half.wait(PATIENCE)
    for pid in _rig.session():
        os.kill(pid, signal.SIGKILL)
    code, out, err = finish(process)
    equal((code, out), (3, ''))
    contains(err, 'lost')
    thread.join()
    listener.close()


def test_a_client_that_is_killed_is_missed_there():
    with running():
        for number in (signal.SIGKILL, signal.SIGINT):
            process = watching()
            process.send_signal(number)
            equal(process.wait(PATIENCE), -number)
            _rig.gone()
        # also when it waits for an answer that will not come for long
        _rig.mark()
        process = _rig.popen('start', endless(), '--wait')
        number = process.stdout.readline().strip()
        process.kill()
        process.wait()
        _rig.gone()
        _rig.daemon.ctl('stop', number).ok()


def test_a_daemon_that_is_gone():
    with Daemon() as other:
        _rig.mark()
        other.ctl('start', endless()).ok()
        process = watching_at(other.socket_path)
        other.kill()
        code, _, err = finish(process)
        equal(code, 3)
        contains(err, 'plain: the daemon has gone away')
        _rig.gone()
        other.start()


def watching_at(path):
    process = _rig.popen('watch', '--interval', '100ms', '--output', 'csv', '--socket', path)
    first_rows(process, 2)
    return process


def test_a_reader_that_has_had_enough():
    _rig.mark()
    with running():
        process = watching()
        process.stdout.close()
        equal(process.wait(PATIENCE), -signal.SIGPIPE)
        _rig.gone()


# --- ssh ---------------------------------------------------------------------------------------------------------------

def test_what_ssh_fails_at():
    done = _rig.ctl('status', host='nobody').fails(255)
    contains(done.err, 'Connection refused', 'condprofctl: ssh could not log in to nobody')
    done = _rig.ctl('list', host='stranger').fails(255)
    contains(done.err, 'Permission denied', 'could not log in')
    equal(done.out, '')
    for value, code, text in (('/not/there/ssh', 1, 'CONDPROF_SSH'), ("ssh 'x", 2, 'quote'), ('   ', 2, 'no word'),
                              ('false', 3, 'exit status 1'),
                              ('sh -c "exit 255" x', 255, 'log in'), ('sh -c "kill -9 $$" x', 3, 'signal 9')):
        contains(ctl('-H', 'rig', 'status', environment={'CONDPROF_SSH': value}).fails(code).err, text)


def recorder():
    """An ssh that only writes down what it was asked for."""
    path = _rig.home / 'recorder'
    path.write_text('#!/bin/sh\nprintf "%s\\n" "$@" >> ' + str(_rig.home / 'recorded') + '\nexit 255\n')
    path.chmod(0o755)
    (_rig.home / 'recorded').write_text('')
    return path


def test_hosts():
    program = recorder()
    for host, words in (('rig', ['--', 'rig']), ('me@rig', ['-l', 'me', '--', 'rig']), ('rig:22', ['-p', '22', '--', 'rig']),
                        ('me@192.0.2.7:65535', ['-p', '65535', '-l', 'me', '--', '192.0.2.7']), ('[::1]', ['--', '::1']),
                        ('me@[fe80::1%eth0]:2222', ['-p', '2222', '-l', 'me', '--', 'fe80::1%eth0']),
                        ('me@example.org@a-b_c.d', ['-l', 'me@example.org', '--', 'a-b_c.d'])):
        (_rig.home / 'recorded').write_text('')
        ctl('-H', host, 'status', environment={'CONDPROF_SSH': str(program)}).fails(255)
        asked = (_rig.home / 'recorded').read_text().splitlines()
        equal(asked[asked.index('-oServerAliveCountMax=2') + 1:], words + ['condprofctl bridge'])
    (_rig.home / 'recorded').write_text('')
    ctl('-q', '-H', 'rig', 'status', environment={'CONDPROF_SSH': f'{program} -F "a b" -o\'X Y\'=\\ z'}).fails(255)
    asked = (_rig.home / 'recorded').read_text().splitlines()
    equal((asked[:3], '-oLogLevel=ERROR' in asked), (['-F', 'a b', '-oX Y= z'], True))


def test_what_is_no_host():
    program = recorder()
    for host in ('', '-oProxyCommand=touch x', '-v', 'me@-oProxyCommand=x', '-l@rig', '@rig', 'me@', 'rig:', 'rig:0', 'rig:65536', 'rig:22x',
                 'rig:-1', '::1', 'fe80::1:22', '[::1', '[]', '[::1]22', '[::1]:', '[-x]', '[a b]', 'a b', 'rig;touch x', '$(touch x)', '`x`',
                 'rig\nProxyCommand x', "me'@rig", 'me@rig/x', 'a|b', 'ü', '%h', 'x' * 5000 + '!', 'ssh://rig', '"rig"', '\\rig', '*'):
        for words in (['-H', host, 'status'], [f'--host={host}', 'status'], ['version', '-H', host]):
            contains(ctl(*words, environment={'CONDPROF_SSH': str(program)}).fails(2).err, '-H')
    equal((_rig.home / 'recorded').read_text(), '')


def on_terminal(words, answers):
    """Runs condprofctl on a terminal of its own; answers: [(what it asks, what is typed)]. Returns code and output."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(_rig.environment(), LC_ALL='C.UTF-8')
        os.execv(CONDPROFCTL, [CONDPROFCTL, *words])
    output, deadline = b'', time.monotonic() + PATIENCE
    while True:
        ready, _, _ = select.select([terminal], [], [], max(0, deadline - time.monotonic()))
        assert ready, output
        try:
            data = os.read(terminal, 65536)
        except OSError:
            data = b''
        if not data:
            break
        output += data
        if answers and answers[0][0] in output:
            os.write(terminal, answers.pop(0)[1])
    os.close(terminal)
    return os.waitpid(pid, 0)[1], output.decode(errors='replace')


def test_a_passphrase_on_the_terminal():
    _rig.mark()
    status, output = on_terminal(['-H', 'locked', 'status'], [(b'passphrase', b'secret\n')])
    equal(os.waitstatus_to_exitcode(status), 0)
    contains(output, 'No session is running.')
    _rig.gone()
    status, output = on_terminal(['-H', 'locked', 'status'], [(b'passphrase', b'\x03')])
    equal(os.waitstatus_to_exitcode(status), -signal.SIGINT)
    _rig.gone()
    status, _ = on_terminal(['-H', 'locked', '--timeout', '500ms', 'status'], [])
    equal(os.waitstatus_to_exitcode(status), 5)


def test_ctrl_c_leaves_the_session_running():
    """The terminal sends it to ssh as well: what is said is not that the link is lost."""
    _rig.mark()
    status, output = on_terminal(['-H', 'plain', 'start', str(endless()), '--wait'], [(b' running, ', b'\x03')])
    equal(os.waitstatus_to_exitcode(status), -signal.SIGINT)
    contains(output, 'keeps running')
    _rig.gone()
    _rig.daemon.ctl('stop').ok()


def test_64_clients_at_once():
    """Half of them log in of their own, half share a login."""
    _rig.ctl('status').ok()
    _rig.mark()
    begin = time.monotonic()
    with running() as number:
        processes = [_rig.popen('status', number, '--json', '--timeout', f'{int(PATIENCE)}s',
                                host='shared' if n % 2 else 'plain') for n in range(64)]
        for process in processes:
            code, out, err = finish(process)
            equal(code, 0, err)
            equal(json.loads(out)['sessions'][0]['id'], number)
    note(f'64 clients: {time.monotonic() - begin:.1f} s')
    _rig.gone()


def main():
    global _rig
    if control is None or SSHD is None:
        print('1..0 # SKIP', 'no Python protocol' if SSHD else 'sshd is not installed')
        return 0
    with folder() as home:
        os.chmod(home, 0o755)
        _rig = Rig(home)
        code = 1
        try:
            _rig.start()
            run(globals())
        except SystemExit as done:
            code = done.code
        finally:
            if code:
                note((home / 'sshd.log').read_text()[-1000:])
            _rig.stop()
        return code


if __name__ == '__main__':
    sys.exit(main())
