# SPDX-License-Identifier: BSD-2-Clause
"""Line charts as SVG: a few named lines over places that stand at equal distances."""
import math
from dataclasses import dataclass
from html import escape
from typing import Callable

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BELOW = 560, 260, 62, 44, 130, 66
COLOURS = ["#1f5fa8", "#2f8f6b", "#b0642a", "#7a4fa3", "#c02020", "#666666"]


@dataclass
class Chart:
    """`lines`: {name: {place: value}}, with the places in the order of the first; `words`: of a place."""
    title: str
    places_title: str
    unit: str
    lines: dict
    is_log: bool = False
    words: Callable = str

    def top(self):
        most = max(value for line in self.lines.values() for value in line.values())
        step = 10 ** math.floor(math.log10(most))
        return 10 * step if self.is_log else next(n * step for n in (1, 1.5, 2, 3, 4, 5, 6, 8, 10) if n * step >= most)

    def ticks(self):
        top = self.top()
        if not self.is_log:
            return [top * i / 4 for i in range(5)]
        least = min(value for line in self.lines.values() for value in line.values())
        first, last = math.floor(math.log10(least)), round(math.log10(top))
        return [10.0 ** n for n in range(first, last + 1)]

    def y(self, value):
        ticks = self.ticks()
        if self.is_log:
            share = math.log(value / ticks[0]) / math.log(ticks[-1] / ticks[0])
        else:
            share = value / ticks[-1]
        return TOP + HEIGHT * (1 - share)

    def svg(self, note):
        places = list(next(iter(self.lines.values())))
        x = {place: LEFT + WIDTH * (i + 0.5) / len(places) for i, place in enumerate(places)}
        out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + RIGHT} {TOP + HEIGHT + BELOW}" '
               f'font-family="sans-serif" font-size="12" fill="#222">', "<!-- drawn by bench/plots -->",
               '<rect width="100%" height="100%" fill="#fff"/>',
               f'<text x="{LEFT}" y="20" font-size="15" font-weight="bold">{escape(self.title)}</text>',
               f'<text x="{LEFT}" y="36" fill="#666">{escape(self.unit)}</text>',
               f'<rect x="{LEFT}" y="{TOP}" width="{WIDTH}" height="{HEIGHT}" fill="#fbfbfb" stroke="#999"/>']
        for tick in self.ticks():
            out.append(f'<line x1="{LEFT}" y1="{self.y(tick):.1f}" x2="{LEFT + WIDTH}" y2="{self.y(tick):.1f}" '
                       f'stroke="#ddd"/>')
            out.append(f'<text x="{LEFT - 6}" y="{self.y(tick) + 4:.1f}" text-anchor="end">{tick:g}</text>')
        for place in places:
            out.append(f'<text x="{x[place]:.1f}" y="{TOP + HEIGHT + 16}" text-anchor="middle">'
                       f'{escape(self.words(place))}</text>')
        for i, (name, line) in enumerate(self.lines.items()):
            colour = COLOURS[i % len(COLOURS)]
            points = " ".join(f"{x[place]:.1f},{self.y(value):.1f}" for place, value in line.items())
            out.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
            out += [f'<circle cx="{x[place]:.1f}" cy="{self.y(value):.1f}" r="3" fill="{colour}"/>'
                    for place, value in line.items()]
            out.append(f'<text x="{LEFT + WIDTH + 10}" y="{TOP + 16 + 18 * i}" fill="{colour}">{escape(name)}</text>')
        out += [f'<text x="{LEFT + WIDTH / 2}" y="{TOP + HEIGHT + 34}" text-anchor="middle">'
                f'{escape(self.places_title)}</text>',
                f'<text x="{LEFT}" y="{TOP + HEIGHT + 56}" fill="#666" font-size="11">{escape(note)}</text>', "</svg>"]
        return "\n".join(out) + "\n"
