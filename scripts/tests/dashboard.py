#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Ask Prometheus for what the panels of a Grafana dashboard ask, and draw the answers.

usage: dashboard.py URL DASHBOARD START END PICTURE

START and END are seconds since 1970. Each expression must be answered with data. The
picture (SVG) has the dashboard's panels in their places, and is drawn here, not by
Grafana.
"""

import json
import sys
import urllib.parse
import urllib.request
from html import escape

url, dashboard, start, end, picture = sys.argv[1:]
start, end = float(start), float(end)
VARIABLES = {'$instance': '.*', '$device': '.*', '$__rate_interval': '5s'}
COLOURS = ('#56a64b', '#3274d9', '#e02f44', '#f2cc0c', '#8f3bb8', '#ff780a')
COLUMN, ROW = 40, 26		# pixels of a unit of the dashboard's grid
failed = 0


def ask(expression):
    """Series of an expression: a list of (labels, [(time, value)...])."""
    for name, value in VARIABLES.items():
        expression = expression.replace(name, value)
    query = urllib.parse.urlencode({'query': expression, 'start': start, 'end': end, 'step': 1})
    with urllib.request.urlopen(f'{url}/api/v1/query_range?{query}', timeout=60) as answer:
        data = json.load(answer)
    return [(series['metric'], [(float(t), float(v)) for t, v in series['values']])
            for series in data['data']['result']]


def legend(form, labels):
    for name, value in labels.items():
        form = form.replace('{{' + name + '}}', value)
    return form


def number(value, unit):
    """As Grafana writes it: 12.3 MB/s"""
    if unit == 'short':
        return f'{value:g}'
    for prefix in ('', 'k', 'M', 'G'):
        if value < 1000:
            break
        value /= 1000
    return f'{value:.3g} {prefix}{dict(Bps="B/s", pps="p/s")[unit]}'


def text(x, y, words, size=11, anchor='start', colour='#333'):
    return (f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size}" text-anchor="{anchor}" '
            f'fill="{colour}">{escape(words)}</text>')


def curves(all_series, left, top, width, height, unit):
    """The curves, and what there is to read at the axes."""
    most = max((v for _, _, points in all_series for _, v in points), default=0) or 1
    yield text(left - 4, top + 8, number(most, unit), 9, 'end', '#777')
    yield text(left - 4, top + height, '0', 9, 'end', '#777')
    yield text(left + width, top + height + 11, f'{end - start:.0f} s', 9, 'end', '#777')
    for y in (top, top + height / 2, top + height):
        yield (f'<line x1="{left}" y1="{y:.0f}" x2="{left + width}" y2="{y:.0f}" '
               'stroke="#ddd"/>')
    for i, (_, _, points) in enumerate(all_series):
        path = ' '.join(f'{left + (t - start) / (end - start) * width:.1f},'
                        f'{top + height - v / most * height:.1f}' for t, v in points)
        yield (f'<polyline points="{path}" fill="none" stroke-width="1.5" '
               f'stroke="{COLOURS[i % len(COLOURS)]}"/>')


def panel(box, about, all_series):
    x, y, width, height = (box['x'] * COLUMN + 4, box['y'] * ROW + 4,
                           box['w'] * COLUMN - 8, box['h'] * ROW - 8)
    yield (f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="white" '
           'stroke="#ccc"/>')
    yield text(x + 8, y + 16, about['title'], 12)
    unit = about['fieldConfig']['defaults']['unit']
    yield from curves(all_series, x + 70, y + 30, width - 90, height - 70, unit)
    for i, (name, _, _) in enumerate(all_series):
        at = x + 20 + i % 2 * width / 2
        line = y + height - 20 + i // 2 * 12
        colour = COLOURS[i % len(COLOURS)]
        yield f'<rect x="{at:.0f}" y="{line - 7:.0f}" width="10" height="4" fill="{colour}"/>'
        yield text(at + 14, line, name, 10)


def answers(about):
    """[(legend, labels, points)...] of a panel; says whether all of it was answered."""
    global failed
    found = []
    for target in about['targets']:
        series = ask(target['expr'])
        what = f"{about['title']}: {len(series)} series"
        print(f"ok   {what}" if series else f"FAIL {what}: expected some for {target['expr']}")
        failed += not series
        found += [(legend(target['legendFormat'], labels), labels, points)
                  for labels, points in series]
    return found


with open(dashboard, encoding='utf-8') as file:
    panels = json.load(file)['panels']
parts = []
for one in panels:
    grid = one['gridPos']
    if one['type'] == 'row':
        parts.append(text(8, grid['y'] * ROW + 20, one['title'], 14))
    else:
        parts += panel(grid, one, answers(one))
bottom = max(one['gridPos']['y'] + one['gridPos']['h'] for one in panels) * ROW + 8
with open(picture, 'w', encoding='utf-8') as file:
    file.write('<svg xmlns="http://www.w3.org/2000/svg" '
               f'width="{24 * COLUMN}" height="{bottom}" font-family="sans-serif">\n'
               '<rect width="100%" height="100%" fill="#f4f5f5"/>\n')
    file.write('\n'.join(parts) + '\n</svg>\n')
sys.exit(1 if failed else 0)
