// SPDX-License-Identifier: GPL-2.0
// A page with the panels of a Grafana dashboard, drawn by Grafana's components
// (@grafana/ui): its frame, legend, axes, units and colours. "dashboard" and "answers" are
// the files that are named to "picture".

import { createElement } from 'react';
import { createRoot } from 'react-dom/client';
import { createTheme, dateTime, FieldType, getDisplayProcessor, ThemeContext } from '@grafana/data';
import { GlobalStyles, PanelChrome, TimeSeries } from '@grafana/ui';
import dashboard from 'dashboard';
import answers from 'answers';

// Grafana's own grid: 24 columns, and rows of 30 pixels with 8 between them ("picture" has
// the window that holds them)
const COLUMN = 58, ROW = 38, GAP = 8;

// What Grafana gives to panels that do not say it
const DEFAULTS = { color: { mode: 'palette-classic' } };
const CUSTOM = { drawStyle: 'line', lineWidth: 1, fillOpacity: 0, showPoints: 'auto', pointSize: 5 };

const theme = createTheme({ colors: { mode: 'light' } });
const from = dateTime(answers.start * 1000), to = dateTime(answers.end * 1000);
const timeRange = { from, to, raw: { from, to } };

function frameOf(curve, index, { defaults }) {
	const time = {
		name: 'Time', type: FieldType.time, config: {},
		values: curve.points.map(([seconds]) => seconds * 1000),
	};
	const value = {
		name: 'Value', type: FieldType.number, state: { seriesIndex: index },
		config: {
			...DEFAULTS, ...defaults, custom: { ...CUSTOM, ...defaults.custom },
			displayName: curve.legend,
		},
		values: curve.points.map(([, number]) => number),
	};
	value.display = getDisplayProcessor({ field: value, theme });
	return { length: curve.points.length, fields: [time, value] };
}

function series(panel) {
	const frames = answers.curves[panel.id].map(
		(curve, index) => frameOf(curve, index, panel.fieldConfig));

	return (width, height) => createElement(TimeSeries, {
		frames, width, height, timeRange, timeZone: 'utc',
		legend: panel.options.legend, options: panel.options,
	});
}

function placed(panel) {
	const { x, y, w, h } = panel.gridPos;
	const style = { position: 'absolute', left: x * COLUMN + GAP, top: y * ROW + GAP };
	const size = { width: w * COLUMN - GAP, height: h * ROW - GAP };

	return createElement('div', { key: panel.id, style }, panel.type === 'row' ?
		createElement('h6', {}, panel.title) :
		createElement(PanelChrome, { title: panel.title, ...size }, series(panel)));
}

createRoot(document.getElementById('panels')).render(
	createElement(ThemeContext.Provider, { value: theme },
		createElement(GlobalStyles, {}), dashboard.panels.map(placed)));
