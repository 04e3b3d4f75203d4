#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Ask Prometheus for what the panels of a Grafana dashboard ask, and keep the answers.

usage: dashboard.py URL DASHBOARD START END ANSWERS

START and END are seconds since 1970. Each expression must be answered with data.
scripts/dashboard/picture draws the panels with the answers.
"""

import json
import sys
import urllib.parse
import urllib.request

url, dashboard, start, end, answers = sys.argv[1:]
VARIABLES = {'$instance': '.*', '$device': '.*', '$__rate_interval': '5s'}
failed = 0


def ask(expression):
    """Series of an expression: Prometheus' list of {metric, values}."""
    for name, value in VARIABLES.items():
        expression = expression.replace(name, value)
    query = urllib.parse.urlencode({'query': expression, 'start': start, 'end': end, 'step': 1})
    with urllib.request.urlopen(f'{url}/api/v1/query_range?{query}', timeout=60) as answer:
        return json.load(answer)['data']['result']


def legend(form, labels):
    for name, value in labels.items():
        form = form.replace('{{' + name + '}}', value)
    return form


def answered(panel):
    """Curves of a panel: their legends and points. Says whether all of it was answered."""
    global failed
    curves = []
    for target in panel['targets']:
        series = ask(target['expr'])
        what = f"{panel['title']}: {len(series)} series"
        print(f"ok   {what}" if series else f"FAIL {what}: expected some for {target['expr']}")
        failed += not series
        curves += [{'legend': legend(target['legendFormat'], one['metric']),
                    'points': [[time, float(value)] for time, value in one['values']]}
                   for one in series]
    return curves


with open(dashboard, encoding='utf-8') as file:
    panels = [panel for panel in json.load(file)['panels'] if panel['type'] != 'row']
with open(answers, 'w', encoding='utf-8') as file:
    json.dump({'start': float(start), 'end': float(end),
               'curves': {panel['id']: answered(panel) for panel in panels}}, file)
sys.exit(1 if failed else 0)
