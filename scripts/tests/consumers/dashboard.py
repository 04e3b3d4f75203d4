#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Send the queries of a Grafana dashboard's panels to Prometheus.

usage: dashboard.py URL DASHBOARD START END

START and END are seconds since 1970. Each expression must return data.
"""

import json
import sys
import urllib.parse
import urllib.request

url, dashboard, start, end = sys.argv[1:]
VARIABLES = {'$instance': '.*', '$device': '.*', '$__rate_interval': '5s'}
failed = 0


def ask(expression):
    """Series of an expression: Prometheus' list of {metric, values}."""
    for name, value in VARIABLES.items():
        expression = expression.replace(name, value)
    query = urllib.parse.urlencode({'query': expression, 'start': start, 'end': end, 'step': 1})
    with urllib.request.urlopen(f'{url}/api/v1/query_range?{query}', timeout=60) as answer:
        return json.load(answer)['data']['result']


with open(dashboard, encoding='utf-8') as file:
    panels = [panel for panel in json.load(file)['panels'] if panel['type'] != 'row']
for panel in panels:
    for target in panel['targets']:
        what = panel['title']
        series = ask(target['expr'])
        print(f"ok   {what}: {len(series)} series" if series else
              f"FAIL {what}: expected series for {target['expr']}")
        failed += not series
sys.exit(1 if failed else 0)
