# SPDX-License-Identifier: GPL-3.0-or-later
# framebuffer.pl DEVICE show | mode WIDTH HEIGHT VIRTUAL-HEIGHT BITS | pan Y | paint
#
# Sets a framebuffer's mode, moves what is shown of its memory, or paints all of the memory in bars of 20 lines: red, green,
# blue, white, black, and so on. Prints what the mode is then.
use strict;
use warnings;
my ($device, $command, @arguments) = @ARGV;
my ($GET, $PUT, $PAN) = (0x4600, 0x4601, 0x4606);
open(my $file, '+<', $device) or die "$device: $!";
my $var = "\0" x 160;
ioctl($file, $GET, $var) or die "FBIOGET_VSCREENINFO: $!";
my @v = unpack('L40', $var);
if ($command eq 'mode') {
	@v[0 .. 6] = (@arguments[0, 1, 0, 2], 0, 0, $arguments[3]);
	@v[8 .. 19] = $arguments[3] == 16 ? (11, 5, 0, 5, 6, 0, 0, 5, 0, 0, 0, 0) : (16, 8, 0, 8, 8, 0, 0, 8, 0, 0, 0, 0);
	ioctl($file, $PUT, $var = pack('L40', @v)) or die "FBIOPUT_VSCREENINFO: $!";
} elsif ($command eq 'pan') {
	$v[5] = $arguments[0];
	ioctl($file, $PAN, $var = pack('L40', @v)) or die "FBIOPAN_DISPLAY: $!";
} elsif ($command eq 'paint') {
	my ($width, $lines, $bits) = @v[0, 3, 6];
	my $fix = "\0" x 80;
	ioctl($file, 0x4602, $fix) or die "FBIOGET_FSCREENINFO: $!";
	my $stride = unpack('x48 L', $fix);
	my @colors = ([1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1], [0, 0, 0]);
	for my $y (0 .. $lines - 1) {
		my $value = 0;
		for my $c (0 .. 2) {
			my ($offset, $length) = @v[8 + 3 * $c, 9 + 3 * $c];
			$value |= ((1 << $length) - 1) << $offset if $colors[int($y / 20) % 5][$c];
		}
		sysseek($file, $y * $stride, 0);
		syswrite($file, substr(pack('L', $value), 0, $bits / 8) x $width) or die "write: $!";
	}
}
ioctl($file, $GET, $var);
@v = unpack('L40', $var);
print "$device: $v[0]x$v[1] of $v[2]x$v[3] at $v[4],$v[5], $v[6] bits, red $v[9]\@$v[8] green $v[12]\@$v[11] blue $v[15]\@$v[14]\n";
