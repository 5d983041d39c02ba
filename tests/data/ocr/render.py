#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
# Makes the pictures of this folder and lines.txt, which says where in them which text stands. Needs python3-pil and the
# fonts of fonts-dejavu-core and fonts-noto-core; the pictures are kept, so that tests need neither.
#   tests/data/ocr/render.py        writes beside itself
# A line of lines.txt: picture, area (x y width height), font's size in px, "text" or the number's format, what it says.
import os

from PIL import Image, ImageDraw, ImageFont

FOLDER = os.path.dirname(os.path.abspath(__file__))
TRUETYPE = '/usr/share/fonts/truetype/'
FONTS = {'sans': TRUETYPE + 'dejavu/DejaVuSans.ttf',
         'mono': TRUETYPE + 'dejavu/DejaVuSansMono.ttf',
         'serif': TRUETYPE + 'noto/NotoSerif-Regular.ttf'}
GROUNDS = {'light': (24, 252), 'dark': (228, 36)}  # gray of letters, of the ground
SIZES = (12, 14, 16, 20, 24, 32, 48)
TEXTS = ('Sign in', 'Settings', 'Password required', 'Low battery', 'Connection lost', 'Retry 3 of 10', 'Cancel',
         'User name:', 'Updates are ready')
NUMBERS = (('auto', '42'), ('auto', '7'), ('dot', '1,234.5'), ('comma', '1.234.567,890'), ('auto', '-17'), ('auto', '8'),
           ('auto', '3.14'), ('auto', '12 500'), ('comma', '42,588'), ('auto', '1.234.567'), ('dot', '0.75'), ('auto', '0'),
           ('auto', '-5'), ('auto', '1000'))
PAD = 6
WIDTH = 800


def cells(ground):
    """(size, kind, what) of a picture; its texts go round, so that no size has always the same."""
    for i, size in enumerate(SIZES):
        turn = i + 3 * list(GROUNDS).index(ground)
        for k in range(3):
            yield size, 'text', TEXTS[(turn + 3 * k) % len(TEXTS)]
        for k in range(3):
            yield (size, *NUMBERS[(turn + 5 * k) % len(NUMBERS)])


def draw(name, font_path, ground, lines):
    letters, paper = GROUNDS[ground]
    sheet = Image.new('L', (WIDTH, 2000), paper)
    pen = ImageDraw.Draw(sheet)
    x = y = height = 0
    for size, kind, what in cells(ground):
        font = ImageFont.truetype(font_path, size)
        width = font.getbbox(what)[2] + 2 * PAD
        if x + width > WIDTH or size * 3 // 2 + 2 * PAD != height:
            x, y = 0, y + height
            height = size * 3 // 2 + 2 * PAD
        pen.text((x + PAD, y + PAD), what, font=font, fill=letters)
        lines.append(f'{name}.png {x} {y} {width} {height} {size} {kind} {what}')
        x += width
    sheet.crop((0, 0, WIDTH, y + height)).quantize(16).save(os.path.join(FOLDER, name + '.png'), optimize=True)


def main():
    lines = []
    for face, path in FONTS.items():
        for ground in GROUNDS:
            draw(f'{face}-{ground}', path, ground, lines)
    with open(os.path.join(FOLDER, 'lines.txt'), 'w', encoding='utf-8') as out:
        out.write('\n'.join(lines) + '\n')


main()
