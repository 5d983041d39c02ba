# SPDX-License-Identifier: GPL-3.0-or-later
"""The commands of docs/DEPLOY.md, run as they stand there, and what the page promises of each.

    deploy.py DEPLOY.md     prints the commands and what checks them; fails when one has no check, or a check no command

Commands are what stands in the page's code blocks. On the desk they run on, `rig` is the device under test: a name in the
ssh configuration there, so that no command has to be rewritten. Every command is to succeed; KNOWN has what else is to be.
"""

import pathlib
import re
import struct
import subprocess
import sys
import textwrap

from condprof_test import equal, until

PASSWORD = 'Correct-Horse 7'
OTHER_PASSWORD = 'Battery-Staple 8'
SESSION = 'DISPLAY=:0 XAUTHORITY=/home/admin/.Xauthority'  # of the X session that the page speaks of


# --- the page --------------------------------------------------------------------------------------------------------

def split(block):
    """A block's commands: one a line, or up to the EOF of a line that ends with <<EOF."""
    return re.findall(r'^.*<<EOF\n(?:.*\n)*?EOF$|^.+$', block, re.MULTILINE)


def commands(page):
    """[(section, command)] in order. Code is what four blanks or more set off."""
    found, section, block = [], '', []
    for line in [*page.splitlines(), '']:
        if line.startswith('    '):
            block.append(line)
            continue
        found += [(section, command) for command in split(textwrap.dedent('\n'.join(block)))]
        block = []
        if line.startswith('## '):
            section = line[3:]
    return found


def check_of(command):
    """The function that runs a command and sees to what it is to do; or why it is not run."""
    known = [check for part, check in KNOWN.items() if part in command + '\n']
    assert len(known) == 1, f'DEPLOY.md has a command that {len(known)} checks of tests/device/deploy.py know: {command}'
    return known[0]


def check_page(page):
    """That the test knows all commands, and no others."""
    found = commands(page)
    for _, command in found:
        check_of(command)
    for part in KNOWN:
        assert any(part in command + '\n' for _, command in found), f'DEPLOY.md has no command with “{part.strip()}” any more'
    hidden = re.findall(r'`((?:ssh|scp|make|install|\./condprofctl) [^`]*)`', page.replace('`make check-device`', ''))
    assert not hidden, f'DEPLOY.md has commands in its text; put them in blocks, where they are tried: {hidden}'
    assert sum(section == 'Ten commands' for section, _ in found[:10]) == 10, 'DEPLOY.md has no ten commands'
    return found


# --- the desk --------------------------------------------------------------------------------------------------------

class Desk:
    """A folder that looks like the one where condprof was built, on a machine whose ssh knows the device as `rig`."""

    def __init__(self, folder, device, source, package, program, patience_s):
        self.folder, self.device, self.patience_s = folder, device, patience_s
        (folder / 'bin').mkdir(parents=True)
        for name, target in (('condprofctl', program), ('docs', source / 'docs'), ('deb', package.parent)):
            (folder / name).symlink_to(target)
        words = device.ssh_words()
        options = [str(word).replace('=', ' ', 1) for before, word in zip(words, words[1:]) if before == '-o']
        (folder / 'ssh_config').write_text('\n\t'.join(['Host rig', 'HostName 127.0.0.1', f'Port {device.port}',
                                                        f'IdentityFile {device.key}', *options]) + '\n')
        for name in ('ssh', 'scp'):
            (folder / 'bin' / name).write_text(f'#!/bin/sh\nexec /usr/bin/{name} -F {folder}/ssh_config "$@"\n')
            (folder / 'bin' / name).chmod(0o755)

    def run(self, command, data=None):
        """@return the exit code and all that was printed"""
        done = subprocess.run(['sh', '-c', f'PATH={self.folder}/bin:$PATH\n{command}'], cwd=self.folder, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=self.patience_s,
                              **({'stdin': subprocess.DEVNULL} if data is None else {'input': data.encode()}))
        return done.returncode, done.stdout.decode(errors='replace')

    def ok(self, command, data=None):
        code, said = self.run(command, data)
        assert code == 0, f'exit code {code} of: {command}\n{said}'
        return said

    def refused(self, command, *parts):
        code, said = self.run(command)
        assert code != 0 and all(part in said for part in parts), f'exit code {code} of: {command}\n{said}'

    def is_picture(self, name, size):
        head = (self.folder / name).read_bytes()[:24]
        assert head.startswith(b'\x89PNG') and struct.unpack('>II', head[16:]) == size, (name, head, size)
        (self.folder / name).unlink()


# --- what each command is to do --------------------------------------------------------------------------------------
# A check runs its command by go(), which fails when the command does, and returns what it printed.

def check_copy(desk, go):
    desk.device.ok('! ls /tmp/condprof_*')
    go()
    desk.device.ok('test -s /tmp/condprof_*.deb')


def check_package(desk, go):
    desk.device.ok('! command -v condprofd && ! getent passwd condprof')
    go()
    equal(desk.device.ok('systemctl is-active condprofd.service condprofd.socket'), 'active\nactive\n')
    desk.device.ok('getent passwd condprof')


def check_group(desk, go):
    desk.refused('./condprofctl -H admin@rig status')
    go()
    desk.ok('./condprofctl -H admin@rig status')
    desk.ok('./condprofctl -H root@rig status')


def check_framebuffer_drop_in(desk, go):
    desk.refused('./condprofctl -H admin@rig capture --screen fb:/dev/fb0 early.png', 'fb.conf')
    go()
    assert 'fb.conf' in desk.device.ok('systemctl show -P DropInPaths condprofd')


def check_framebuffer_capture(desk, go):
    go()
    size = desk.device.ok('cat /sys/class/graphics/fb0/virtual_size')
    desk.is_picture('screen.png', tuple(int(number) for number in size.split(',')))


def check_dry_run(desk, go):
    go()
    last = desk.device.json('condprofctl --json list')['sessions'][-1]
    equal((last['scenario'], last['state'], last['reason']['code']), ('console', 'finished', 'duration'))
    assert last['passes'] > 1, last


def check_install(desk, go):
    go()
    assert 'console' in desk.ok('./condprofctl -H admin@rig scenarios')


def running(desk):
    return [one['scenario'] for one in desk.device.json('condprofctl --json status')['sessions'] if one['state'] == 'running']


def check_enable(desk, go):
    go()
    equal(desk.device.ok('systemctl is-enabled condprof-scenario@console'), 'enabled\n')
    until(lambda: running(desk) == ['console'], 'the scenario to run', desk.patience_s)


def check_page_of_report(desk, go):
    go()
    page = (desk.folder / 'report.html').read_text()
    assert '<html' in page and 'console' in page and '</html>' in page, page[:1000]


def check_list(desk, go):
    lines = [line for line in go().splitlines() if 'console' in line]
    assert len(lines) == 2, lines


def check_journal(desk, go):
    assert 'condprofd' in go()


def check_stop(desk, go):
    go()
    equal(running(desk), [])
    until(lambda: desk.device.run('systemctl is-active condprof-scenario@console').out == 'inactive\n', 'its unit to end', desk.patience_s)


def just_run(desk, go):
    go()


def types_the_secret(desk, value):
    """That a scenario with it runs, and that it is seen nowhere."""
    desk.device.ok('condprofctl start /root/secret.yaml --wait')
    for place in ('journalctl -u condprofd', 'condprofctl report --json', 'condprofctl report --view timeline',
                  'cat /var/lib/condprof/reports/*/*'):
        found = desk.device.ok(f'{place} | grep -ac -e "{value}"; true')
        equal((place, found), (place, '0\n'))


def check_credential(desk, go):
    desk.device.send('secret.yaml')
    refused = desk.device.run('condprofctl start /root/secret.yaml')
    assert refused.code and 'there is no secret "kiosk-password"' in refused.err, refused.err
    go(PASSWORD + '\n')
    equal(desk.device.ok('stat -c "%U %a" /etc/condprof/kiosk-password'), 'root 600\n')


def check_credential_drop_in(desk, go):
    go()
    desk.device.ok('grep -qx LoadCredential=kiosk-password:/etc/condprof/kiosk-password '
                   '/etc/systemd/system/condprofd.service.d/secrets.conf')


def check_restart(desk, go):
    pid = desk.device.ok('systemctl show -P MainPID condprofd')
    go()
    assert desk.device.ok('systemctl show -P MainPID condprofd') not in (pid, '0\n')
    types_the_secret(desk, PASSWORD)


def check_secrets(desk, go):
    go(f'kiosk-password = {OTHER_PASSWORD}\n')
    equal(desk.device.ok('stat -c "%U %a" /etc/condprof/secrets'), 'condprof 600\n')


def check_secrets_file(desk, go):
    # Without the credential, or that would count.
    desk.device.ok('rm /etc/systemd/system/condprofd.service.d/secrets.conf && systemctl daemon-reload && systemctl restart condprofd')
    go()
    types_the_secret(desk, OTHER_PASSWORD)
    desk.device.ok('chmod 0644 /etc/condprof/secrets')
    refused = desk.device.run('condprofctl start /root/secret.yaml')
    assert refused.code and 'can be read by others' in refused.err, refused.err


CAPTURE_X = './condprofctl -H admin@rig capture --screen x11::0 screen.png'


def check_x11_drop_in(desk, go):
    """The session that the page speaks of is admin's, with nothing in it."""
    desk.device.ok('runuser -u admin -- xauth -q -f /home/admin/.Xauthority add :0 . $(mcookie) && systemd-run -q --unit=session '
                   '-p User=admin Xvfb :0 -screen 0 640x480x24 -auth /home/admin/.Xauthority -nolisten tcp -noreset')
    until(lambda: desk.device.run(f'{SESSION} runuser -u admin -- xset q').code == 0, 'the X server', desk.patience_s)
    desk.refused(CAPTURE_X, 'x11.conf')
    go()
    desk.refused(CAPTURE_X)


def check_let_in_by_name(desk, go):
    go()
    desk.ok(CAPTURE_X)
    desk.is_picture('screen.png', (640, 480))
    desk.device.ok(f'{SESSION} runuser -u admin -- xhost -SI:localuser:condprof')
    desk.refused(CAPTURE_X)


def check_key_drop_in(desk, go):
    """A copy of the session's key stands where LightDM has root's."""
    desk.device.ok('install -D -m 0600 /home/admin/.Xauthority /run/lightdm/root/:0')
    go()


def check_let_in_by_key(desk, go):
    go()
    equal(desk.device.ok('stat -c "%U %a" /run/condprof/xauthority'), 'condprof 600\n')


def check_x11_capture(desk, go):
    go()
    desk.is_picture('screen.png', (640, 480))


def check_recording(desk, go):
    go()
    desk.device.ok('test -n "$(ls /srv/condprof/recordings/first)"')


# What a command contains: what runs and checks it, or why nothing does.
KNOWN = {
    'make deb': '`make check-device` has just done it',
    'scp deb/condprof_': check_copy,
    'apt-get install': check_package,
    'control-group =': check_group,
    'drop-ins/fb.conf': check_framebuffer_drop_in,
    'capture --screen fb:': check_framebuffer_capture,
    '--dry-run --duration 10s --wait\n': check_dry_run,
    'install docs/examples/console.yaml': check_install,
    'enable --now condprof-scenario@console': check_enable,
    'report --output html > report.html': check_page_of_report,
    'admin@rig list': check_list,
    'advise latest': just_run,
    'journalctl -u condprofd': check_journal,
    'admin@rig stop': check_stop,
    'cat > /etc/condprof/kiosk-password': check_credential,
    'LoadCredential=': check_credential_drop_in,
    "rig 'systemctl daemon-reload && systemctl restart": check_restart,
    '/dev/stdin /etc/condprof/secrets': check_secrets,
    'secrets-file =': check_secrets_file,
    'drop-ins/x11.conf': check_x11_drop_in,
    'xhost +SI:': check_let_in_by_name,
    'ExecStartPre=': check_key_drop_in,
    'xauthority =': check_let_in_by_key,
    'capture --screen x11:': check_x11_capture,
    'install -d -o condprof': just_run,
    '--record /srv/condprof/recordings/first': check_recording,
}


def run_section(desk, page, section, said):
    """Runs a section's commands in order. said() is told of each."""
    found = [command for name, command in check_page(page) if name == section]
    assert found, f'DEPLOY.md has no commands in “{section}”'
    for command in found:
        check = check_of(command)
        if isinstance(check, str):
            said(f'not run, {check}: {command}')
            continue
        # The one that is given in the X session on the device; all others are given on the desk.
        local = not command.startswith('xhost ')
        ran = []

        def go(data=None, command=command, local=local, ran=ran):
            ran.append(command)
            return desk.ok(command, data) if local else desk.device.ok(f'{SESSION} runuser -u admin -- {command}')
        check(desk, go)
        assert ran == [command], f'{check.__name__} did not run: {command}'
        said(f'ok: {command}')


if __name__ == '__main__':
    for name, line in check_page(pathlib.Path(sys.argv[1]).read_text(encoding='utf-8')):
        checked = check_of(line)
        print(f'{name}: {checked if isinstance(checked, str) else checked.__name__}: {line}')
