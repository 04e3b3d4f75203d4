#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Check the Grafana dashboard by Grafana's own schema: the types of the package
# @grafana/schema, by the TypeScript compiler. Grafana's server is neither in Debian nor in the
# npm registry. Needs npm and, once, the registry.
#
# usage: scripts/check/dashboard.sh

set -eu
shopt -s inherit_errexit

cd "$(dirname "$(realpath "$0")")/../.."
. scripts/setup/cache-lib.sh
work=$cache/dashboard-13.2.3
dashboard=$PWD/tools/dashboard/grafana-roce.json

command -v npm > /dev/null || {
	echo "check-dashboard: no npm" >&2
	exit 1
}
mkdir -p "$work"
cd "$work"
[ -d node_modules/@grafana/schema ] ||
	npm install --no-audit --no-fund --ignore-scripts --silent typescript@5.9 @grafana/schema@13.2.3

# To the compiler a JSON string is no member of an enumeration, but its value is one.
{
	cat <<- END
		import type { Dashboard, RowPanel } from '@grafana/schema/dist/types/raw/dashboard/x/types.gen';
		import type { Options, FieldConfig } from '@grafana/schema/dist/types/raw/composable/timeseries/panelcfg/x/types.gen';
		type Plain<T> = T extends string ? \`\${T}\` : T extends (infer E)[] ? Plain<E>[] :
			T extends object ? { [K in keyof T]: Plain<T[K]> } : T;
		type Series = NonNullable<Dashboard['panels']>[number] & {
			type: 'timeseries', options: Options, fieldConfig: { defaults: { custom?: FieldConfig } } };
		type Ours = Omit<Dashboard, 'panels'> & { panels: (Series | RowPanel)[] };
		export const dashboard: Plain<Ours> =
	END
	cat "$dashboard"
} > dashboard.ts
node_modules/.bin/tsc --noEmit --strict --skipLibCheck --module esnext --target es2022 \
	--moduleResolution node10 dashboard.ts
echo "ok   the dashboard has the types of Grafana's schema 13.2.3"
