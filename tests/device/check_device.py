# SPDX-License-Identifier: GPL-3.0-or-later
"""A real boot: a Debian image, booted in QEMU by software emulation; the Debian package there, installed and used over SSH as
docs/DEPLOY.md says (deploy.py), and further.

    check_device.py PACKAGE.deb FOLDER [TEST…]

FOLDER keeps the trees that take minutes to make, the machine's console and the log of the last run. QEMU listens on
127.0.0.1 only, its network reaches nothing else, and it ends with this program. Everything waits for something to happen and
gives up after a time; as the emulation is slow, these times are long.
"""

import contextlib
import functools
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import time

import deploy
from condprof_test import CONDPROFCTL, SOURCE, Result, contains, equal, note, png, run, until

HERE = pathlib.Path(__file__).resolve().parent
PACKAGE = pathlib.Path(sys.argv[1]).resolve()
FOLDER = pathlib.Path(sys.argv[2]).resolve()
del sys.argv[1:3]
BOOT_S = 600      # to the first answer over SSH
ANSWER_S = 180    # one command
LIMIT_S = 2400    # everything
BEGIN = time.monotonic()


class Tee:
    """Standard output, and the log of this run."""

    def __init__(self, *files):
        self.files = files

    def write(self, text):
        for file in self.files:
            file.write(text)

    def flush(self):
        for file in self.files:
            file.flush()


def progress(*words):
    note(f'{time.monotonic() - BEGIN:4.0f} s:', *words)


def debian(*words):
    """debian.sh, its remarks as progress."""
    with subprocess.Popen(['sh', HERE / 'debian.sh', *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors='replace') as process:
        said = []
        for line in process.stdout:
            said.append(line)
            if line.startswith('# '):
                progress(line[2:].strip())
    assert process.returncode == 0, f'debian.sh {words[0]} failed\n' + ''.join(said[-30:])


def need(packages):
    """{program: package}: installs the packages of programs that are missing, or says which they are."""
    missing = [package for program, package in packages.items() if not shutil.which(program)]
    if missing:
        progress('installing', *missing)
        done = subprocess.run(['apt-get', 'install', '-y', '-q', '--no-install-recommends', *missing], check=False,
                              env={**os.environ, 'DEBIAN_FRONTEND': 'noninteractive'}, stdout=subprocess.DEVNULL)
        assert done.returncode == 0, 'these packages are missing: ' + ' '.join(missing)


def free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


class Machine:
    """The emulated device."""

    def __init__(self, folder, key):
        self.folder, self.key, self.port = folder, key, free_port()
        self.console = FOLDER / 'console.log'
        self.process, self.boots = None, False

    def start(self):
        self.console.unlink(missing_ok=True)
        kernel = 'root=/dev/vda rw console=ttyS0 net.ifnames=0 quiet modprobe.blacklist=kvm_amd,powernow_k8,cfg80211'
        words = ['qemu-system-x86_64', '-accel', 'tcg,thread=multi', '-cpu', 'max', '-smp', '2', '-m', '1024',
                 '-nodefaults', '-display', 'none', '-vga', 'std', '-kernel', self.folder / 'vmlinuz', '-initrd',
                 self.folder / 'initrd', '-append', kernel, '-drive',
                 f'file={self.folder}/disk.img,format=raw,if=virtio,snapshot=on,cache=unsafe', '-netdev',
                 f'user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:{self.port}-:22', '-device', 'virtio-net-pci,netdev=net',
                 '-device', 'virtio-rng-pci', '-serial', f'file:{self.console}']
        self.process = subprocess.Popen(['setpriv', '--pdeathsig', 'KILL', *words], stdin=subprocess.DEVNULL)
        progress(f'QEMU runs as process {self.process.pid}, SSH on 127.0.0.1:{self.port}')
        self.boots = True
        try:
            self.wait_for_ssh()
        except AssertionError:
            self.boots = False
            raise

    def ssh_words(self):
        return ['ssh', '-F', 'none', '-i', self.key, '-o', 'StrictHostKeyChecking=no', '-o', 'UserKnownHostsFile=/dev/null',
                '-o', 'LogLevel=ERROR', '-o', 'BatchMode=yes', '-o', 'ConnectTimeout=15']

    def run(self, command, data=None, timeout_s=ANSWER_S):
        """A shell command on the device, over one SSH connection that all commands share."""
        assert self.boots, 'the device did not boot'
        words = [*self.ssh_words(), '-p', str(self.port), '-o', 'ControlMaster=auto', '-o', 'ControlPersist=600', '-o',
                 f'ControlPath={self.folder}/ssh', 'root@127.0.0.1', command]
        done = subprocess.run(words, input=data, capture_output=True, timeout=timeout_s, check=False,
                              **({'stdin': subprocess.DEVNULL} if data is None else {}))
        done.stdout, done.stderr = done.stdout.decode(errors='replace'), done.stderr.decode(errors='replace')
        return Result(done)

    def ok(self, command, **options):
        return self.run(command, **options).ok().out

    def json(self, command, **options):
        return json.loads(self.ok(command, **options))

    def hang_up(self):
        (self.folder / 'ssh').unlink(missing_ok=True)

    def wait_for_ssh(self):
        begin, told = time.monotonic(), 0

        def answers():
            nonlocal told
            assert self.process.poll() is None, f'QEMU ended with {self.process.returncode}'
            if time.monotonic() - begin > told + 20:
                told = time.monotonic() - begin
                lines = self.console.read_text(errors='replace').splitlines() if self.console.exists() else []
                progress('booting;', lines[-1].strip() if lines else 'no line yet')
                assert not any('Kernel panic' in line for line in lines), '\n'.join(lines[-30:])
            with contextlib.suppress(subprocess.TimeoutExpired):
                return self.run('true', timeout_s=40).code == 0
            return False
        until(answers, 'the device over SSH', BOOT_S)
        progress(f'the device answers over SSH, {time.monotonic() - begin:.0f} s after its start')

    def reboot(self):
        boot = self.ok('cat /proc/sys/kernel/random/boot_id')
        self.run('systemctl reboot')
        self.hang_up()

        def another_boot():
            with contextlib.suppress(subprocess.TimeoutExpired):
                answer = self.run('cat /proc/sys/kernel/random/boot_id', timeout_s=40)
                return answer.code == 0 and answer.out != boot
            return False
        until(another_boot, 'the device to boot again', BOOT_S)
        progress('the device has booted again')

    def send(self, *names, folder='/root'):
        """Copies files of this folder."""
        archive = subprocess.run(['tar', '-C', HERE, '-c', *names], stdout=subprocess.PIPE, check=True).stdout
        self.ok(f'mkdir -p {folder} && tar -C {folder} -xm', data=archive)

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()


device = Machine(FOLDER / 'vm', FOLDER / 'key')


def prepare(tree):
    """What docs/DEPLOY.md takes for granted: an address, a key, an account; besides, a journal that stays, and less to start."""
    def write(path, text):
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(text)

    write('etc/hostname', 'device\n')
    write('etc/systemd/network/10-qemu.network', '[Match]\nName=eth0\n[Network]\nAddress=10.0.2.15/24\n'
          'LinkLocalAddressing=no\nIPv6AcceptRA=no\n')
    subprocess.run(['chroot', tree, 'useradd', '--create-home', '--shell', '/bin/bash', 'admin'], check=True)
    for home in ('root', 'home/admin'):
        write(f'{home}/.ssh/authorized_keys', (FOLDER / 'key.pub').read_text())
    (tree / 'var/log/journal').mkdir(exist_ok=True)
    links = tree / 'etc/systemd/system'
    for unit in ('apt-daily.timer', 'apt-daily-upgrade.timer', 'dpkg-db-backup.timer', 'fstrim.timer', 'e2scrub_all.timer',
                 'e2scrub_reap.service', 'systemd-networkd-wait-online.service', 'modprobe@.service', 'getty@tty1.service',
                 'serial-getty@ttyS0.service', 'systemd-logind.service', 'systemd-pstore.service', 'sys-kernel-tracing.mount',
                 'sys-kernel-debug.mount', 'dev-hugepages.mount', 'dev-mqueue.mount'):
        (links / unit).unlink(missing_ok=True)
        (links / unit).symlink_to('/dev/null')
    wanted = links / 'multi-user.target.wants/systemd-networkd.service'
    wanted.unlink(missing_ok=True)
    wanted.symlink_to('/lib/systemd/system/systemd-networkd.service')
    frames = tree / 'srv/condprof/frames'
    frames.mkdir(mode=0o755, parents=True)
    for number, color in enumerate([(0xc0, 0, 0), (0, 0, 0xc0)]):
        (frames / f'{number}.png').write_bytes(png(64, 48, color))


def test_an_image_is_made():
    need({'qemu-system-x86_64': 'qemu-system-x86', 'ssh': 'openssh-client', 'setpriv': 'util-linux'})
    FOLDER.mkdir(exist_ok=True)
    debian('base', FOLDER / 'base')
    debian('machine', FOLDER / 'base', FOLDER / 'machine')
    debian('copy', FOLDER / 'machine', FOLDER / 'tree')
    debian('depends', FOLDER / 'tree', PACKAGE)
    if not device.key.exists():
        subprocess.run(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f', device.key], check=True)
    prepare(FOLDER / 'tree')
    debian('boot', FOLDER / 'tree', FOLDER / 'vm')
    shutil.rmtree(FOLDER / 'tree')


def test_it_boots_with_systemd():
    device.start()
    equal(device.ok('readlink -f /proc/1/exe'), '/usr/lib/systemd/systemd\n')
    equal(device.run('systemctl is-system-running --wait').out, 'running\n', device.run('systemctl --failed').out)
    progress(device.ok('systemd-analyze').splitlines()[0])
    progress(device.ok('uname -sr').strip())


@functools.cache
def desk():
    shutil.rmtree(FOLDER / 'desk', ignore_errors=True)
    return deploy.Desk(FOLDER / 'desk', device, SOURCE.resolve(), PACKAGE, CONDPROFCTL, BOOT_S)


def run_section(section):
    """The commands of a section of docs/DEPLOY.md."""
    deploy.run_section(desk(), (SOURCE / 'docs/DEPLOY.md').read_text(encoding='utf-8'), section, progress)


def test_the_document_from_a_blank_device_to_a_report():
    run_section('Ten commands')
    progress(device.ok('condprofd --version').splitlines()[0])


def test_the_service_is_up():
    equal(device.ok('systemctl is-active condprofd.service condprofd.socket'), 'active\nactive\n')
    equal(device.ok('systemctl is-enabled condprofd.service condprofd.socket'), 'enabled\nenabled\n')
    contains(device.ok('systemctl show condprofd -p User,WatchdogUSec,StatusText'), 'User=condprof', 'WatchdogUSec=30s')
    equal(device.ok('condprofctl --json status | tr -d "\\n "'), '{"schema":1,"sessions":[]}')
    progress(device.ok('systemd-analyze security condprofd | tail -n 1').strip())


def test_start_status_report_stop():
    device.send('kiosk.yaml')
    number = int(device.ok('condprofctl start kiosk.yaml'))
    equal([(one['id'], one['state']) for one in device.json('condprofctl --json status')['sessions']], [(number, 'running')])
    until(lambda: device.json(f'condprofctl --json status {number}')['sessions'][0]['passes'] >= 3, 'three passes', ANSWER_S)
    report = device.json(f'condprofctl report {number} --view conditions --json')
    assert report['conditions'][0]['checks'] >= 3 and report['conditions'][0]['total_ns'] > 0, report
    ended = device.json('condprofctl --json stop')['sessions'][0]
    equal((ended['id'], ended['state'], ended['reason']['code']), (number, 'finished', 'stopped'))
    report = device.json('condprofctl report --json')
    equal((report['session']['id'], report['session']['passes']), (number, ended['passes']))
    time_ns = report['session']['time']
    parts = sum(time_ns[name] for name in time_ns if name.endswith('_ns') and name != 'duration_ns')
    equal(parts + time_ns['processing']['total_ns'], time_ns['duration_ns'], 'the times add up')
    progress(f"session {number}: {ended['passes']} passes in {ended['duration_ns'] / 1e9:.1f} s, "
             f"processing {time_ns['processing']['total_ns'] / 1e6:.1f} ms")


def test_nobody_gets_in_who_should_not():
    refused = device.run('setpriv --reuid nobody --regid nogroup --clear-groups condprofctl status')
    refused.fails(7)
    progress('nobody is told:', refused.err.strip())


def journal(*matches):
    """Entries of the daemon's, as dicts."""
    lines = device.ok('journalctl -o json --no-pager -u condprofd.service ' + ' '.join(matches)).splitlines()
    return [json.loads(line) for line in lines]


def test_the_journal_has_fields():
    number = device.json('condprofctl --json list')['sessions'][-1]['id']
    entries = journal(f'CONDPROF_SESSION={number}')
    assert len(entries) >= 2, journal()
    equal({entry['_SYSTEMD_UNIT'] for entry in entries}, {'condprofd.service'})
    started = [entry for entry in entries if entry.get('CONDPROF_UID') == '0' and int(entry.get('CONDPROF_PID', 0)) > 1]
    assert started, f'no entry of session {number} says who asked for it: {entries}'
    nobody = device.ok('id -u nobody').strip()
    refused = journal(f'CONDPROF_UID={nobody}')
    assert refused, 'no entry says who was refused'
    for entry in (started[0], refused[0]):
        fields = {name: entry[name] for name in sorted(entry) if name.startswith('CONDPROF_') or name == 'MESSAGE_ID'}
        progress(f"journal: {entry['MESSAGE']}", fields)


def sessions(state=None):
    return [one for one in device.json('condprofctl --json list')['sessions'] if state in (None, one['state'])]


def test_scenarios_run_at_boot():
    equal(device.ok('condprofctl install kiosk.yaml'), 'kiosk\n')
    device.ok('systemctl enable condprof-scenario@kiosk')
    equal(sessions('running'), [])
    before = len(sessions())
    device.reboot()
    # console is the document's
    both = until(lambda: len(sessions('running')) == 2 and sessions('running'), 'the scenarios of the boot', ANSWER_S)
    equal({one['scenario'] for one in both}, {'console', 'kiosk'})
    equal(len(sessions()), before + 2)
    equal(device.run('systemctl is-system-running --wait').out, 'running\n', device.run('systemctl --failed').out)
    progress('sessions', *(f"{one['id']} ({one['scenario']})" for one in both), 'run since the boot')
    device.ok('systemctl disable --now condprof-scenario@console && condprofctl remove console')
    equal([one['scenario'] for one in sessions('running')], ['kiosk'])


def test_kill_9_brings_both_back():
    old = sessions('running')[0]['id']
    pid = device.ok('systemctl show -P MainPID condprofd')
    until(lambda: device.json(f'condprofctl --json report {old}')['session']['passes'] >= 10, 'some passes', ANSWER_S)
    device.ok(f'kill -9 {pid}')
    until(lambda: device.run('systemctl show -P MainPID condprofd').out not in (pid, '0\n'), 'the daemon', ANSWER_S)

    def back():
        answer = device.run('condprofctl --json list')
        running = [one for one in answer.json()['sessions'] if one['state'] == 'running'] if answer.code == 0 else []
        return running and running[0]['id'] > old and running
    running = until(back, 'the scenario', ANSWER_S)
    equal(running[0]['scenario'], 'kiosk')
    interrupted = [one for one in sessions() if one['id'] == old][0]
    equal((interrupted['state'], interrupted['reason']['code']), ('interrupted', 'daemon-died'))
    report = device.json(f'condprofctl --json report {old}')['session']
    equal(report['state'], 'interrupted')
    said = [entry['MESSAGE'] for entry in journal('--since=-5min') if 'interrupted' in entry.get('MESSAGE', '')]
    assert said, 'the journal does not say that a session was interrupted'
    progress(f"session {old} {interrupted['state']}, {report['passes']} passes kept; "
             f"session {running[0]['id']} runs; journal: {said[-1]}")


def test_the_document_on_secrets():
    run_section('Secrets')


def test_the_document_on_x_authority():
    run_section('X authority')


def test_the_document_on_recordings():
    run_section('What is sandboxed, and why')


def test_what_the_document_set_up_is_taken_back():
    device.ok('systemctl stop session; rm -rf /etc/systemd/system/condprofd.service.d /etc/condprof/condprofd.conf.d '
              '/etc/condprof/kiosk-password /etc/condprof/secrets && systemctl daemon-reload && systemctl restart condprofd')
    until(lambda: sessions('running'), 'the scenario of the boot', ANSWER_S)


def test_the_sandbox_names_the_drop_in():
    device.send('console.yaml', 'console.sh', 'bars.yaml', 'framebuffer.pl', 'pointer.yaml', 'pointer.pl')
    refused = device.run('condprofctl start console.yaml')
    refused.fails(1)
    contains(refused.err, 'fb.conf')
    progress('without its drop-in:', refused.err.strip())


def drop_in_commands():
    """As the head of the drop-in tells them to whoever opens it."""
    lines = device.ok('cat /usr/share/condprof/drop-ins/fb.conf').splitlines()
    return [line[1:].strip() for line in lines if line.startswith('#   ')]


def test_the_console_is_opened_by_what_is_typed_on_it():
    commands = drop_in_commands()
    assert any('restart condprofd' in command for command in commands), commands
    device.ok('set -e\n' + '\n'.join(commands))
    device.ok('systemd-run --unit=console -p StandardInput=tty -p StandardOutput=tty -p TTYPath=/dev/tty1 -p TTYReset=yes '
              '/bin/sh /root/console.sh')
    done = device.run('condprofctl start console.yaml --wait --json')
    wrong = device.run('cat /run/console.wrong').out
    session = done.json()['session']
    equal((session['reason']['code'], session['reason']['text']), ('stop-action', 'open after 1 tries'), f'typed: {wrong!r}')
    mode = device.ok('perl framebuffer.pl /dev/fb0 show').strip()
    for line in device.ok(f"condprofctl report {session['id']} --view timeline").splitlines()[1:]:
        progress(line)
    progress(f'{mode}, driver', device.ok('cat /sys/class/graphics/fb0/name').strip())


def test_framebuffers_of_16_24_and_32_bits_that_are_panned():
    device.ok('modprobe vfb vfb_enable=1 videomemorysize=8388608')
    until(lambda: device.run('test -c /dev/fb1').code == 0, '/dev/fb1', ANSWER_S)
    for bits in (16, 24, 32):
        mode = device.ok(f'perl framebuffer.pl /dev/fb1 mode 300 200 600 {bits} && perl framebuffer.pl /dev/fb1 paint').splitlines()[-1]
        number = int(device.ok('condprofctl start bars.yaml'))
        until(lambda: len(device.json(f'condprofctl --json report {number} --view timeline')['occurrences']) == 1,
              f'the bars in {bits} bits', ANSWER_S)
        panned = device.ok('perl framebuffer.pl /dev/fb1 pan 40').strip()
        until(lambda: device.json(f'condprofctl --json report {number}')['session']['state'] != 'running', 'its end', ANSWER_S)
        session = device.json(f'condprofctl --json report {number}')['session']
        equal((session['reason']['code'], session['reason']['text']), ('stop-action', 'panned'), f'{mode}; {panned}')
        progress(f"session {number}: {mode}; then {panned.split(', ')[0].split(' at ')[1]}; {session['passes']} passes")


def test_a_click_lands_where_it_should():
    number = int(device.ok('condprofctl start pointer.yaml'))
    with subprocess.Popen([*device.ssh_words(), '-p', str(device.port), '-o', f'ControlPath={device.folder}/ssh',
                           'root@127.0.0.1', 'perl pointer.pl'], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True) as listener:
        equal(listener.stdout.readline(), 'listening\n')
        device.ok('condprofctl emit click')
        heard = listener.communicate(timeout=ANSWER_S)[0]
    axes = dict(re.findall(r'axis (\d) ([\d.]+)', heard))
    assert abs(float(axes['0']) - 320 / 1280) < 1 / 1280 and abs(float(axes['1']) - 600 / 800) < 1 / 800, heard
    equal([value for _, value in re.findall(r'button (\d+) (\d)', heard)], ['1', '0'], 'pressed and released')
    until(lambda: device.json(f'condprofctl --json report {number}')['session']['state'] == 'finished', 'its end', ANSWER_S)
    progress('a click at 320, 600 of 1280x800:', heard.replace('\n', '; '))


def test_the_same_from_afar():
    environment = {**os.environ, 'CONDPROF_SSH': ' '.join(str(word) for word in device.ssh_words())}

    def ctl(*words):
        done = subprocess.run([CONDPROFCTL, '-H', f'root@127.0.0.1:{device.port}', '--timeout', f'{ANSWER_S}s', *words],
                              env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=ANSWER_S + 20,
                              check=False)
        return Result(done)

    contains(ctl('list').ok().out, 'kiosk', 'interrupted')
    session = ctl('start', HERE / 'kiosk.yaml', '--passes', '5', '--wait', '--json').json()['session']
    equal((session['reason']['code'], session['passes']), ('passes', 5))
    page = ctl('report', str(session['id']), '--output', 'html').ok().out
    contains(page, '<html', 'kiosk')
    progress(f"from the host: session {session['id']} {session['state']} after {session['passes']} passes, "
             f'its page of {len(page)} bytes came home')


def test_an_upgrade_keeps_reports_and_configuration():
    version = subprocess.run(['dpkg-deb', '-f', PACKAGE, 'Version'], stdout=subprocess.PIPE, check=True, text=True).stdout.strip()
    debian('version', PACKAGE, version + '+next', FOLDER / 'next.deb')
    device.ok('cat >next.deb', data=(FOLDER / 'next.deb').read_bytes())
    device.ok("sed -i 's/^#max-reports.*/max-reports = 777/' /etc/condprof/condprofd.conf")
    before = [one['id'] for one in sessions() if one['state'] != 'running']
    pid = device.ok('systemctl show -P MainPID condprofd')
    said = device.ok('dpkg -i next.deb 2>&1', timeout_s=BOOT_S)
    contains(device.ok('dpkg -s condprof'), f'Version: {version}+next')
    assert device.ok('systemctl show -P MainPID condprofd') not in (pid, '0\n'), said
    equal(device.ok('systemctl is-active condprofd.service condprofd.socket'), 'active\nactive\n', said)
    contains(device.ok('cat /etc/condprof/condprofd.conf'), 'max-reports = 777')
    running = until(lambda: sessions('running'), 'the scenario of the boot', ANSWER_S)
    equal(running[0]['scenario'], 'kiosk')
    missing = set(before) - {one['id'] for one in sessions()}
    assert not missing, f'reports are gone: {missing}'
    progress(f"upgraded: {len(before)} reports and the configuration are there, session {running[0]['id']} runs")


def test_removing_keeps_reports_and_purging_takes_them():
    said = device.ok('dpkg -r condprof 2>&1', timeout_s=BOOT_S)
    equal(device.run('systemctl is-active condprofd.service condprofd.socket condprof-scenario@kiosk').out.split(),
          ['inactive'] * 3, said)
    device.ok('test -d /var/lib/condprof/reports && test -f /etc/condprof/condprofd.conf && ! test -e /usr/sbin/condprofd')
    said = device.ok('dpkg -P condprof 2>&1')
    equal(device.ok("find / -xdev -name '*condprof*' ! -path '/var/log/*' ! -path '/tmp/*' ! -path '/etc/udev/*'"), '/srv/condprof\n', said)
    equal(device.run('systemctl is-system-running').out, 'running\n', device.run('systemctl --failed').out)
    progress('removed, purged, nothing left but the pictures in /srv/condprof')


def main():
    if os.geteuid() != 0:
        sys.exit('check_device.py: a Debian image is made by root: run `make check-device` as root')
    FOLDER.mkdir(exist_ok=True)
    sys.stdout = Tee(sys.__stdout__, open(FOLDER / 'check-device.log', 'w', encoding='utf-8'))  # to the very end
    try:
        run(globals(), LIMIT_S)
    finally:
        device.stop()


main()
