// What must be reached, and what was. Ratios of one run side by side, because machines differ.
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
  entries: Entry[];
  figures: (Figure & { size: number; task: string })[];
  /** Memory of the web process in MB at each size: after the start, and at most. */
  memory: { size: number; idle: number; peak: number }[];
}

export interface Outcome {
  what: string;
  size: number | null;
  measured: number | null;
  must: number;
  stretch: number;
  unit: string;
  /** Less is better. */
  isBound: boolean;
}

type Read = (size: number, name: string) => Entry['sides'];

const firstPages = [
  ...['newest', 'bbox10', 'bbox100', 'country', 'species', 'species-year', 'year', 'days', 'mandant', 'mandant-group'],
  ...['status', 'own', 'expert', 'reader-bbox10', 'expert-bbox100', 'limit1000', 'detail', 'rare', 'frequent'],
];
const boxes = ['bbox10', 'bbox100', 'country'];

/** The table of the requirements, for every size that was measured. */
export function evaluateTargets(results: Results): Outcome[] {
  const sizes = [...new Set(results.entries.map((entry) => entry.size))].sort((a, b) => a - b);
  const read: Read = (size, name) => results.entries.find((entry) => entry.size === size && entry.name === name)?.sides ?? {};
  const ratio = (a: number | undefined, b: number | undefined) => (a === undefined || b === undefined || !(b > 0) ? null : a / b);
  const outcomes: Outcome[] = [];
  const add = (
    what: string,
    size: number | null,
    measured: number | null | undefined,
    limits: [number, number, string],
    isBound = false,
  ) =>
    outcomes.push({
      what,
      size,
      measured: Number.isFinite(measured) ? (measured ?? null) : null,
      must: limits[0],
      stretch: limits[1],
      unit: limits[2],
      isBound,
    });

  for (const size of sizes) {
    const rate = (name: string, side: Side) => read(size, name)[side]?.rate;
    // As it answers in quiet times, and with every answer made anew.
    for (const [side, how] of [
      ['again', 'asked again'],
      ['http', 'made anew'],
    ] as const) {
      const share = (name: string) => ratio(rate(name, side), rate(name, 'ceiling'));
      add(`newest page over HTTP / pgbench, ${how}`, size, share('newest'), [0.75, 0.9, '']);
      add(`bbox 10 km over HTTP / pgbench, ${how}`, size, share('bbox10'), [0.7, 0.85, '']);
      for (const [name, must, stretch] of [
        ['newest', 4, 7],
        ['bbox10', 3, 4],
        ['species', 3, 4],
      ] as const) {
        const times = ratio(rate(name, side), rate(name, 'postgraphile'));
        add(`${name} / PostGraphile, ${how}`, size, times, [must, stretch, 'x']);
      }
      for (const name of ['newest', 'bbox10', 'species']) {
        add(`${name} / naive, ${how}`, size, ratio(rate(name, side), rate(name, 'naive')), [1.8, 3.5, 'x']);
      }
      add(`304 / full page, ${how}`, size, ratio(rate('unchanged', 'http'), rate('newest', side)), [4, 8, 'x']);
    }
    const inserted = ratio(rate('post', 'http'), rate('post', 'ceiling'));
    add('POST over HTTP / pgbench', size, inserted, [0.4, 0.6, '']);
    const imported = results.figures.find((figure) => figure.size === size && figure.task === 'import');
    add('bulk import', size, imported?.value, [20_000, 50_000, 'rows/s']);
    for (const name of boxes) {
      const worse = ratio(read(size, `${name}-differing`).db?.p50, read(size, name).db?.p50);
      add(`${name} at a tenant with its own list / plain, p50`, size, worse, [2, 1.2, 'x'], true);
    }
    const memory = results.memory.find((entry) => entry.size === size);
    add('memory of the web process under load', size, memory?.peak, [200, 150, 'MB'], true);
  }

  for (const size of sizes) {
    const rate = (name: string, side: Side) => read(size, name)[side]?.rate;
    add('tile of zoom 10, kept / newest page, kept', size, ratio(rate('tile10', 'again'), rate('newest', 'again')), [0.8, 1, '']);
  }
  const largest = 10_000_000;
  if (sizes.includes(largest)) {
    const p95 = (what: string, name: string, must: number, stretch: number) =>
      add(`${what}, p95 in the database`, largest, read(largest, name).db?.p95, [must, stretch, 'ms'], true);
    for (const name of ['newest', 'species', 'mandant', 'own', 'year', 'days', 'status']) p95(name, name, 3, 1.5);
    p95('bbox 10 km', 'bbox10', 2, 1.5);
    p95('bbox 100 km', 'bbox100', 3, 2);
    p95('bbox country', 'country', 5, 3);
    p95('bbox 100 km, page 1 000', 'deep-bbox100', 25, 5);
    p95('bbox country, species of 100 records', 'rare', 10, 3);
    for (const name of ['feed-copy', 'feed-changes']) p95(name, name, 20, 8);
    for (const name of ['items', 'items-degrees']) p95(name, name, 25, 10);
    p95('squares of a frequent species', 'squares-species', 100, 30);
    p95('squares of all species', 'squares-all', 400, 100);
    p95('tile of zoom 6', 'tile6', 150, 60);
    p95('tile of zoom 10', 'tile10', 80, 30);
    p95('tile of zoom 14', 'tile14', 40, 15);
    if (sizes.includes(1_000_000)) {
      for (const name of firstPages) {
        const growth = ratio(read(largest, name).db?.p50, read(1_000_000, name).db?.p50);
        add(`${name}: p50 in the database at 10 million / at 1 million`, null, growth, [1.5, 1.1, 'x'], true);
      }
    }
  }
  return outcomes;
}

/** `reached`, `stretch reached`, or by how much it falls short. */
export function describeOutcome({ measured, must, stretch, isBound }: Outcome): string {
  if (measured === null) return 'not measured';
  const meets = (limit: number) => (isBound ? measured <= limit : measured >= limit);
  if (meets(stretch)) return 'stretch reached';
  if (meets(must)) return 'reached';
  const short = isBound ? measured / must - 1 : 1 - measured / must;
  return `**short by ${(short * 100).toFixed(0)} %**`;
}
