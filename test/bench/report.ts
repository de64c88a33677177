// The figures as tables for the terminal.
import { type Side, sides } from './cases.ts';
import { describeOutcome, type Entry, evaluateTargets, type Results } from './targets.ts';

const columnTitles: Record<Side, string> = {
  db: 'database, 1 client: p50 / p95 ms',
  ceiling: 'pgbench /s',
  http: 'HTTP /s (p50 / p95 ms)',
  again: 'asked again /s (p50 / p95 ms)',
  constant: 'constant body /s',
  naive: 'naive /s',
  postgraphile: 'PostGraphile /s',
};

function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return '–';
  if (value >= 100) return Math.round(value).toString();
  return value.toPrecision(3);
}

function formatCell(side: Side, entry: Entry): string {
  const measure = entry.sides[side];
  if (!measure) return '';
  const kinds = Object.entries(measure.failed).flatMap(([kind, count]) => (count > 0 ? `${count} ${kind}` : []));
  const failed = kinds.length > 0 ? ` (failed: ${kinds.join(', ')})` : '';
  if (side === 'db') return `${formatNumber(measure.p50)} / ${formatNumber(measure.p95)}${failed}`;
  if (side === 'http' || side === 'again') {
    return `${formatNumber(measure.rate)} (${formatNumber(measure.p50)} / ${formatNumber(measure.p95)})${failed}`;
  }
  return `${formatNumber(measure.rate)}${failed}`;
}

function formatSize(size: number): string {
  return size >= 1e6 ? `${size / 1e6} million` : `${size}`;
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
  return toTable([
    ['case', ...sides.map((side) => columnTitles[side])],
    ...entries.map((entry) => [entry.title, ...sides.map((side) => formatCell(side, entry))]),
  ]);
}

function tableOfFigures(results: Results): string {
  return toTable([
    ['what', 'sightings', 'value'],
    ...results.figures.map(({ what, size, value, unit }) => [
      what,
      size === 0 ? '' : formatSize(size),
      `${formatNumber(value)} ${unit}`,
    ]),
    ...results.memory.map(({ size, idle, peak }) => [
      'memory of the web process: after the start, most under load',
      formatSize(size),
      `${idle.toFixed(0)}, ${peak.toFixed(0)} MB`,
    ]),
  ]);
}

function tableOfTargets(results: Results): string {
  return toTable([
    ['what', 'sightings', 'measured', 'must', 'stretch', ''],
    ...evaluateTargets(results).map((outcome) => [
      outcome.what,
      outcome.size === null ? '' : formatSize(outcome.size),
      outcome.measured === null ? '' : `${formatNumber(outcome.measured)} ${outcome.unit}`.trim(),
      `${outcome.must} ${outcome.unit}`.trim(),
      `${outcome.stretch} ${outcome.unit}`.trim(),
      describeOutcome(outcome),
    ]),
  ]);
}

/** Everything, for the terminal. */
export function formatResults(results: Results): string {
  const sizes = [...new Set(results.entries.map((entry) => entry.size))];
  return [
    ...sizes.map((size) => `${formatSize(size)} sightings\n${tableOfSize(results, size)}`),
    tableOfFigures(results),
    tableOfTargets(results),
  ].join('\n\n');
}
