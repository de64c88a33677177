// What must be reached, and what was. Mostly ratios of one run side by side, because machines differ.
import type { Side } from './cases.ts';
import type { Measure } from './measure.ts';
import type { Figure } from './tasks.ts';

export interface Entry {
  size: number;
  name: string;
  title: string;
  sides: Partial<Record<Side, Measure>>;
}

export interface Results {
  /** Date, release, machine, versions, options. */
  about: Record<string, string>;
  entries: Entry[];
  figures: (Figure & { size: number; task: string })[];
  /** Memory of the web process in MB at each size: after the start, and at most. */
  memory: { size: number; idle: number; peak: number }[];
}

const million = 1_000_000;

export const listSizes = ({ entries, figures }: Results) =>
  [...new Set([...entries, ...figures].map(({ size }) => size))].sort((a, b) => a - b);

/** What was measured at one size; NaN: was not. */
class Reading {
  readonly size: number;
  readonly #results: Results;
  constructor(results: Results, size: number) {
    this.#results = results;
    this.size = size;
  }
  read(name: string, side: Side, key: 'rate' | 'p50' | 'p95'): number {
    const entry = this.#results.entries.find((candidate) => candidate.size === this.size && candidate.name === name);
    return entry?.sides[side]?.[key] ?? Number.NaN;
  }
  rate(name: string, side: Side = 'http'): number {
    return this.read(name, side, 'rate');
  }
  figure(text: string): number {
    const isMeant = (figure: Results['figures'][number]) => figure.size === this.size && figure.what.startsWith(text);
    return this.#results.figures.find(isMeant)?.value ?? Number.NaN;
  }
  memory(key: 'idle' | 'peak'): number {
    return this.#results.memory.find(({ size }) => size === this.size)?.[key] ?? Number.NaN;
  }
}

interface Target {
  what: string;
  must: number;
  /** Below `must`: less is better. */
  stretch: number;
  unit: string;
  /** The smallest size that must reach it. */
  from: number;
  measure(at: Reading): number;
}

const target = (
  what: string,
  [must, stretch, unit = '']: [number, number, string?],
  measure: Target['measure'],
  from = million,
): Target => ({ what, must, stretch, unit, from, measure });

const lists = { newest: 'newest page', species: 'species', bbox10: 'bbox 10 km' };
const each = (names: Record<string, string>, make: (name: string, title: string) => Target) =>
  Object.entries(names).map(([name, title]) => make(name, title));

const p50 = (what: string, name: string, must: number, stretch: number) =>
  target(`${what}, p50 in the database`, [must, stretch, 'ms'], (at) => at.read(name, 'db', 'p50'));
const p95 = (what: string, name: string, must: number, stretch: number) =>
  target(`${what}, p95 in the database`, [must, stretch, 'ms'], (at) => at.read(name, 'db', 'p95'), 10 * million);

/** The table of the requirements; answers over HTTP are made anew. */
const targets: Target[] = [
  // The statement and the HTTP stack share the cores: what a second has for one answer is what both cost.
  ...each(lists, (name, title) =>
    target(`${title}, share of the two-cost bound`, [0.85, 0.95], (at) => {
      const bound = 1 / (1 / at.rate(name, 'ceiling') + 1 / at.rate('newest', 'constant'));
      return at.rate(name) / bound;
    }),
  ),
  ...each(lists, (name, title) =>
    target(`${title} / PostGraphile`, [5, 7, 'x'], (at) => at.rate(name) / at.rate(name, 'postgraphile')),
  ),
  ...each(lists, (name, title) => target(`${title} / naive`, [2, 3.5, 'x'], (at) => at.rate(name) / at.rate(name, 'naive'))),
  target('one record / constant body', [0.6, 0.8], (at) => at.rate('detail') / at.rate('newest', 'constant')),
  ...each({ status: 'status, logged in', own: 'own records', expert: "an expert's newest page" }, (name, title) =>
    target(`${title} / newest page of anybody`, [0.8, 0.95], (at) => at.rate(name) / at.rate('newest')),
  ),
  target('POST over HTTP / pgbench', [0.5, 0.65], (at) => at.rate('post') / at.rate('post', 'ceiling')),
  target('import of 200 000', [20_000, 40_000, 'rows/s'], (at) => at.figure('import')),
  p50('tile of zoom 6', 'tile6', 10, 3),
  p50('tile of zoom 10', 'tile10', 5, 3),
  p50('tile of zoom 14', 'tile14', 1.5, 1),
  p50('squares of all species', 'squares-all', 40, 15),
  target('squares of all species over HTTP', [40, 100, '/s'], (at) => at.rate('squares-all')),
  target('OGC items, 1 000 in 100 km, over HTTP', [100, 200, '/s'], (at) => Math.min(at.rate('items'), at.rate('items-degrees'))),
  target('kept answers that hold after a release elsewhere', [90, 99, '%'], (at) =>
    at.figure('kept answers that hold after a release anywhere: boxes'),
  ),
  target('memory of the web process after the start', [200, 150, 'MB'], (at) => at.memory('idle')),
  target('memory of the web process, most under load', [260, 200, 'MB'], (at) => at.memory('peak')),
  p95('bbox 10 km', 'bbox10', 2, 1.5),
  p95('bbox 100 km', 'bbox100', 3, 2),
  p95('bbox country, species of 100 records, logged in', 'reader-rare', 10, 3),
  target('XML page / JSON page', [0.35, 0.6], (at) => at.rate('xml') / at.rate('newest')),
  target('others wait for an XML page of 1 000', [20, 5, 'ms'], (at) => at.figure('others wait')),
  target('report with a photo of 12 megapixels', [0.5, 0.25, 's'], (at) => at.figure('POST with a photo of 12')),
];

/** How much longer the database takes for ten times as many sightings, the worst case first. */
export function listGrowth(results: Results): { title: string; small: number; large: number; growth: number }[] {
  const [at1, at10] = [million, 10 * million].map((size) => new Reading(results, size)) as [Reading, Reading];
  return results.entries
    .filter(({ size }) => size === million)
    .map(({ name, title }) => ({ title, small: at1.read(name, 'db', 'p50'), large: at10.read(name, 'db', 'p50') }))
    .map((pair) => ({ ...pair, growth: pair.large / pair.small }))
    .filter(({ growth }) => growth > 0)
    .sort((a, b) => b.growth - a.growth);
}

/** Each requirement with what was measured, size by size: in bold what falls short; small databases have none to meet. */
export function evaluateTargets(results: Results): { what: string; must: string; stretch: string; cells: string[] }[] {
  const [worst] = listGrowth(results);
  const growth = target(
    `p50 in the database at 10 million / at 1 million${worst ? `, worst: ${worst.title}` : ''}`,
    [1.3, 1.1, 'x'],
    ({ size }) => (worst && size === 10 * million ? worst.growth : Number.NaN),
  );
  return [...targets, growth].map((row) => ({
    what: row.what,
    must: `${formatNumber(row.must)} ${row.unit}`.trim(),
    stretch: `${formatNumber(row.stretch)} ${row.unit}`.trim(),
    cells: listSizes(results).map((size) => describe(row, row.measure(new Reading(results, size)), size)),
  }));
}

function describe({ must, stretch, from }: Target, measured: number, size: number): string {
  if (!Number.isFinite(measured)) return '';
  const number = formatNumber(measured);
  const meets = (limit: number) => (stretch < must ? measured <= limit : measured >= limit);
  if (size < from) return number;
  if (meets(stretch)) return `${number} stretch`;
  if (meets(must)) return `${number} reached`;
  return `**${number}** ${Math.ceil(Math.abs(1 - measured / must) * 100)} % ${stretch < must ? 'over' : 'short'}`;
}

/** Three digits that count, thousands apart. */
export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return '–';
  if (value >= 100) return Math.round(value).toLocaleString('en').replaceAll(',', ' ');
  return String(Number(value.toPrecision(3)));
}
