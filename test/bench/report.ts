// The figures as one document in Markdown, for a file and for the terminal.
import { type Side, sides } from './cases.ts';
import { type Entry, evaluateTargets, formatNumber, listGrowth, listSizes, type Results } from './targets.ts';

const columnTitles: Record<Side, string> = {
  db: 'database: p50 / p95 ms',
  ceiling: 'pgbench /s',
  http: 'made anew /s (p50 / p95 ms)',
  again: 'kept /s (p50 / p95 ms)',
  constant: 'constant /s',
  naive: 'naive /s',
  postgraphile: 'PostGraphile /s',
};

const explanation = `Database, service and load share the machine. Each case varies its boxes, species, tenants or readers; its sides take turns, and the median of
the rounds counts. *Database* is the very statement that the service sends, by one client of pgbench, *pgbench* by as many as the service has
connections. *Made anew* is the service over HTTP without kept answers, *kept* as it runs by default, while nothing changes. *Constant* is
the newest page from memory on the same HTTP stack, *naive* a handler that makes JSON of the same rows, *PostGraphile* a view of the same
columns. The two-cost bound is what is possible if an answer costs the statement and the constant: 1 / (1 / pgbench + 1 / constant).
Requirements are for 1 and 10 million sightings and, over HTTP, for answers made anew. The service runs in the environment of the shipped units.`;

function formatCell(side: Side, entry: Entry): string {
  const measure = entry.sides[side];
  if (!measure) return '';
  const kinds = Object.entries(measure.failed).flatMap(([kind, count]) => (count > 0 ? `${count} ${kind}` : []));
  const failed = kinds.length > 0 ? ` (failed: ${kinds.join(', ')})` : '';
  const times = `${formatNumber(measure.p50)} / ${formatNumber(measure.p95)}`;
  if (side === 'db') return times + failed;
  return formatNumber(measure.rate) + (side === 'http' || side === 'again' ? ` (${times})` : '') + failed;
}

export function formatSize(size: number): string {
  return size >= 1e6 ? `${size / 1e6} million` : formatNumber(size);
}

/** Rows of cells as a Markdown table whose columns stand below each other. */
function toTable(rows: string[][]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(3, ...rows.map((row) => (row[column] ?? '').length)));
  const toLine = (row: string[]) => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const [head = [], ...body] = rows;
  return [toLine(head), toLine(widths.map((width) => '-'.repeat(width))), ...body.map(toLine)].join('\n');
}

function tableOfSize(results: Results, size: number): string {
  const entries = results.entries.filter((entry) => entry.size === size);
  const used = sides.filter((side) => entries.some((entry) => entry.sides[side]));
  return toTable([
    ['case', ...used.map((side) => columnTitles[side])],
    ...entries.map((entry) => [entry.title, ...used.map((side) => formatCell(side, entry))]),
  ]);
}

/** What jobs, commands and processes need: one row for a figure, one column for a size. */
function tableOfFigures(results: Results): string {
  const memory = results.memory.flatMap(({ size, idle, peak }) => [
    { what: 'memory of the web process after the start', size, value: idle, unit: 'MB' },
    { what: 'memory of the web process, most under load', size, value: peak, unit: 'MB' },
  ]);
  const figures = [...results.figures, ...memory];
  const sizes = listSizes(results);
  return toTable([
    ['what', ...sizes.map(formatSize)],
    ...[...new Set(figures.map(({ what }) => what))].map((what) => [
      what,
      ...sizes.map((size) => {
        const figure = figures.find((candidate) => candidate.what === what && candidate.size === size);
        return figure ? `${formatNumber(figure.value)} ${figure.unit}` : '';
      }),
    ]),
  ]);
}

/** Everything that was measured so far. */
export function formatResults(results: Results): string {
  const sizes = listSizes(results);
  const growth = listGrowth(results);
  const targets = evaluateTargets(results).map(({ what, must, stretch, cells }) => [what, must, stretch, ...cells]);
  const parts: [title: string, ...text: string[]][] = [
    ['What must be reached', toTable([['what', 'must', 'stretch', ...sizes.map(formatSize)], ...targets])],
    ...sizes.map((size): [string, string] => [`${formatSize(size)} sightings`, tableOfSize(results, size)]),
    ['Jobs, commands, memory', tableOfFigures(results)],
  ];
  if (growth.length > 0) {
    const rows = growth.map((row) => [row.title, ...[row.small, row.large, row.growth].map(formatNumber)]);
    parts.push(['Growth: p50 in the database', toTable([['case', '1 million, ms', '10 million, ms', 'ratio'], ...rows])]);
  }
  const about = Object.entries(results.about).map(([name, value]) => `- ${name}: ${value}`);
  return [
    '# Results of the benchmark',
    'Written by `npm run bench`, not by hand.',
    '![Requests per second, next to what they are compared with](results.svg)',
    about.join('\n'),
    explanation,
    ...parts.map(([title, text]) => `## ${title}\n\n${text}`),
  ].join('\n\n');
}
