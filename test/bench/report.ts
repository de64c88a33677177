// The figures as text: a table for the terminal, RESULTS.md for the project.
import { execFileSync, spawnSync } from 'node:child_process';
import { cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import type { Sql } from '../../src/db/client.ts';
import { type Side, sides } from './cases.ts';
import { clusterSettings, postgresBin, root } from './process.ts';
import { describeOutcome, type Entry, evaluateTargets, type Results } from './targets.ts';

export interface RunFacts {
  date: string;
  machine: string;
  versions: string;
  options: string;
}

export async function readRunFacts(sql: Sql, options: string): Promise<RunFacts> {
  const [server] = await sql<{ postgres: string; postgis: string; fsync: string; commit: string }[]>`
    select current_setting('server_version') as postgres, (select max(default_version) from pg_available_extensions where name = 'postgis') as postgis,
      current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit`;
  const revision = execFileSync('git', ['describe', '--always', '--dirty'], { cwd: root, encoding: 'utf8' }).trim();
  const pgbench = execFileSync(join(postgresBin(), 'pgbench'), ['--version'], { encoding: 'utf8' }).trim();
  return {
    date: new Date().toISOString().slice(0, 10),
    machine: `${cpus().length} cores (${cpus()[0]?.model.trim() ?? 'unknown'}), ${Math.round(totalmem() / 2 ** 30)} GB of memory; database, service and load on the same machine`,
    versions: `this project at ${revision}, Node ${process.versions.node}, PostgreSQL ${server?.postgres} (fsync ${server?.fsync}, synchronous_commit ${server?.commit}), PostGIS ${server?.postgis}, ${pgbench}, ${readWrkVersion()}`,
    options,
  };
}

// `wrk -v` also prints its usage, and ends with 1.
function readWrkVersion(): string {
  const { stdout } = spawnSync('wrk', ['-v'], { encoding: 'utf8' });
  return stdout?.split(' [')[0]?.trim() ?? 'wrk';
}

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
  const failed = measure.failed > 0 ? ` (${measure.failed} failed)` : '';
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

/** RESULTS.md. */
export function formatDocument(results: Results, facts: RunFacts): string {
  const sizes = [...new Set(results.entries.map((entry) => entry.size))];
  return `# Results of the benchmark

Written by \`npm run bench -- --write\`; not edited by hand.

- date: ${facts.date}
- machine: ${facts.machine}
- versions: ${facts.versions}
- PostgreSQL's defaults, but ${Object.entries(clusterSettings)
    .map(([name, value]) => `${name} = ${value}`)
    .join(', ')}
- options: ${facts.options}

Medians over the rounds, which alternate between the sides. "database" is the very statement that the service sends, prepared,
by pgbench; "pgbench /s" the same by as many clients as the service has connections. "HTTP" is the service with
\`ANSWER_CACHE_MB=0\`, so that every answer is made anew; "asked again" the service as \`npm start\` runs it, which keeps answers
as long as nothing changes, while nothing changes. "constant body" is a handler on the same stack that returns a page from
memory, "naive" one that reads the same records as rows and makes JSON of them, "PostGraphile" a view with the same columns.
Cases with several requests vary them: boxes, species, tenants, readers. Before its rounds each case runs for a second that
does not count, so that what it reads is in memory.

## What must be reached

${tableOfTargets(results)}

${sizes.map((size) => `## ${formatSize(size)} sightings\n\n${tableOfSize(results, size)}`).join('\n\n')}

## Other figures

${tableOfFigures(results)}
`;
}
