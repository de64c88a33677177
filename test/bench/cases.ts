// What is read: each case as the requests that it consists of.
import { getSichtbeobachtung, type SichtbeobachtungFilter } from '../../src/db/sichtbeobachtung.ts';
import { type Call, captureStatement, headersOf, type ListRequest, listCall, type Tenant } from './calls.ts';
import { type Facts, makeVariants, pick, unit } from './facts.ts';

/**
 * Who answers: the database itself, by the very statement that the service sends, with one client or as many as the service has connections
 * (`ceiling`); the service that makes every answer anew (`http`), and the one that keeps answers while nothing changes (`again`); and what
 * it is compared with: a page from memory, the same records as rows that become JSON, and a view with the same columns.
 */
export const sides = ['db', 'ceiling', 'http', 'again', 'constant', 'naive', 'postgraphile'] as const;
export type Side = (typeof sides)[number];

export interface Case {
  name: string;
  title: string;
  sides: Side[];
  calls(facts: Facts): Promise<Call[]>;
}

const both: Side[] = ['db', 'http'];
const all: Side[] = ['db', 'ceiling', 'http', 'again', 'naive', 'postgraphile'];

function listCase(
  name: string,
  title: string,
  request: (facts: Facts, n: number) => Omit<ListRequest, 'tenant'>,
  on = both,
): Case {
  return {
    name,
    title,
    sides: on,
    calls: (facts) => makeVariants((n) => listCall({ tenant: facts.plain, ...request(facts, n) })),
  };
}

/** A box of `km` by `km` around a hot spot; every second one is among the most crowded. */
export function boxOf(facts: Facts, n: number, km: number): number[] {
  const { x, y } = pick(n % 2 === 0 ? facts.places.slice(0, 40) : facts.places, n, 'box');
  const half = km * 500;
  const shift = (seed: string) => Math.round((unit(n, seed) - 0.5) * 4000);
  const [left, bottom] = [Math.round(x) - half + shift('x'), Math.round(y) - half + shift('y')];
  return [left, bottom, left + 2 * half, bottom + 2 * half];
}

function countryOf(n: number): number[] {
  const shift = Math.round(unit(n, 'country') * 2000);
  return [270_000 + shift, 5_230_000, 930_000 + shift, 6_110_000];
}

const boxes = {
  bbox10: ['bbox 10 km', (facts: Facts, n: number) => boxOf(facts, n, 10)],
  bbox100: ['bbox 100 km', (facts: Facts, n: number) => boxOf(facts, n, 100)],
  country: ['bbox country', (_facts: Facts, n: number) => countryOf(n)],
} as const;

function boxCase(name: keyof typeof boxes, tenantOf: (facts: Facts) => Tenant, suffix: string, title: string, on = both): Case {
  const [label, bboxOf] = boxes[name];
  return {
    name: `${name}${suffix}`,
    title: `${label}${title}`,
    sides: on,
    calls: (facts) => makeVariants((n) => listCall({ tenant: tenantOf(facts), filter: { bbox: bboxOf(facts, n) } })),
  };
}

// The frequencies of species are uneven: half of what people ask for is among the first twenty.
function speciesOf(facts: Facts, n: number): Facts['species'][number] {
  return pick(n % 2 === 0 ? facts.species.slice(0, 20) : facts.species, n, 'species');
}

function daysOf(n: number): { datum_von: string; datum_bis: string } {
  const from = Date.UTC(1996, 0, 1) + Math.floor(unit(n, 'days') * 10_900) * 86_400_000;
  const toText = (time: number) => new Date(time).toISOString().slice(0, 10);
  return { datum_von: toText(from), datum_bis: toText(from + 30 * 86_400_000) };
}

const statuses = ['pruefung', 'hinweis', 'freigegeben', 'abgelehnt'] as const;
// Ranks in the order of how much they reported: from 8 % of everything to one in a hundred thousand.
const recorders = [1, 2, 5, 20, 100, 300, 700, 1500];
const recorderOf = (n: number) => pick(recorders, n, 'recorder');
const expertOf = (n: number) => 1981 + (n % 19);

/** The page that begins after `pages` pages of a hundred, or after four fifths of a shorter list; null: there is one page only. */
async function walk(facts: Facts, request: ListRequest, pages: number): Promise<{ id: number; cursor: string } | null> {
  const seen: { id: number; cursor: string }[] = [];
  // A cursor does not depend on `limit`: pages of a thousand get there faster.
  let path = (await listCall({ ...request, limit: 1000 })).path;
  for (let page = 0; page < pages / 10; page++) {
    // 127.0.0.1 is the tenant whose lists are walked.
    const response = await fetch(facts.url + path);
    const body = (await response.json()) as { result: { id: number }[]; next?: string };
    const last = body.result.at(-1);
    if (!body.next || !last) break;
    const next = new URL(body.next);
    seen.push({ id: last.id, cursor: next.searchParams.get('cursor') ?? '' });
    path = next.pathname + next.search;
  }
  return (seen.length >= pages / 10 ? seen.at(-1) : seen[Math.floor(seen.length * 0.8)]) ?? null;
}

async function deepCalls(facts: Facts, filters: Partial<SichtbeobachtungFilter>[]): Promise<Call[]> {
  const calls: Call[] = [];
  for (const filter of filters) {
    const request = { tenant: facts.differing, filter };
    const after = await walk(facts, request, 1000);
    if (after !== null) calls.push(await listCall({ ...request, after }));
  }
  return calls;
}

// Pages of what waits, in either order, of all, of a tenant, of a group.
function queueOf(facts: Facts, n: number): string {
  const order = n % 2 === 0 ? 'alt' : 'auffaellig';
  const filters = [
    '',
    `&mandant=${pick(facts.tenants, n, 'queue').kuerzel}`,
    `&gid=${pick(facts.gids, n, 'queue')}`,
    '&mit_foto=true',
  ];
  return `sortierung=${order}${pick(filters, n, 'filter')}`;
}

async function detailCalls(facts: Facts): Promise<Call[]> {
  const rows = await facts.sql<{ id: number }[]>`
    select s.id from generate_series(1, 200) n
    join portal.sichtbeobachtung s on s.id = 1 + floor(bench.unit(n, 901) * ${facts.size}::bigint)
    where s.bereich = 'oeffentlich' and s.status = 'freigegeben'
    limit 32`;
  return Promise.all(
    rows.map(async ({ id }) => ({
      method: 'GET' as const,
      path: `/api/v2/sichtbeobachtungen/${id}`,
      headers: headersOf(facts.plain, null),
      statement: await captureStatement((sql) => getSichtbeobachtung(sql, facts.plain.id, null, id)),
    })),
  );
}

/** A first page whose client has it already. */
async function unchangedCalls(facts: Facts): Promise<Call[]> {
  const call = await listCall({ tenant: facts.differing });
  const response = await fetch(facts.url + call.path);
  await response.arrayBuffer();
  return [{ ...call, headers: { 'if-none-match': response.headers.get('etag') ?? '' } }];
}

export const readCases: Case[] = [
  listCase('newest', 'newest page', () => ({}), ['db', 'ceiling', 'http', 'again', 'constant', 'naive', 'postgraphile']),
  boxCase('bbox10', (facts) => facts.plain, '', '', all),
  boxCase('bbox100', (facts) => facts.plain, '', ''),
  boxCase('country', (facts) => facts.plain, '', ''),
  listCase(
    'species',
    'species',
    (facts, n) => {
      const { art, artId } = speciesOf(facts, n);
      return { filter: { art_id: artId }, art };
    },
    all,
  ),
  listCase('species-year', 'species + year', (facts, n) => ({
    filter: { art_id: speciesOf(facts, n).artId, jahr: 1996 + (n % 30) },
  })),
  listCase('year', 'year', (_facts, n) => ({ filter: { jahr: 1996 + (n % 30) } })),
  listCase('days', 'date range of a month', (_facts, n) => ({ filter: daysOf(n) })),
  listCase('mandant', 'mandant', (facts, n) => ({ filter: { mandant: pick(facts.tenants, n, 'mandant').kuerzel } })),
  listCase('mandant-group', 'mandant + group', (facts, n) => ({
    filter: { mandant: pick(facts.tenants, n, 'mandant').kuerzel, artengruppe_id: pick(facts.gids, n, 'group') },
  })),
  listCase('status', 'status, logged in', (_facts, n) => ({
    reader: recorderOf(n),
    filter: { status: pick(statuses, n, 'status') },
  })),
  listCase('own', 'own records', (_facts, n) => ({ reader: recorderOf(n), filter: { bereich: 'persoenlich' } })),
  listCase('expert', 'newest page, expert', (_facts, n) => ({ reader: expertOf(n) })),
  listCase('reader-bbox10', 'bbox 10 km, logged in', (facts, n) => ({
    reader: recorderOf(n),
    filter: { bbox: boxOf(facts, n, 10) },
  })),
  listCase('expert-bbox100', 'bbox 100 km, expert', (facts, n) => ({
    reader: expertOf(n),
    filter: { bbox: boxOf(facts, n, 100) },
  })),
  { name: 'deep', title: 'newest, page 1 000', sides: both, calls: (facts) => deepCalls(facts, [{}]) },
  {
    name: 'deep-bbox100',
    title: 'bbox 100 km, page 1 000',
    sides: both,
    calls: async (facts) => deepCalls(facts, await makeVariants((n) => ({ bbox: boxOf(facts, 2 * n, 100) }), 6)),
  },
  listCase('limit1000', 'newest, limit=1000', () => ({ limit: 1000 })),
  {
    ...listCase('xml', 'newest page as XML', () => ({ format: 'xml' })),
    sides: ['http', 'again'],
  },
  { name: 'detail', title: 'one record', sides: both, calls: detailCalls },
  {
    name: 'queue',
    title: 'queue of a reviewer',
    sides: ['http'],
    calls: (facts) =>
      makeVariants(async (n) => ({
        method: 'GET' as const,
        path: `/pruefung/v1/warteschlange?${queueOf(facts, n)}`,
        headers: headersOf(facts.plain, expertOf(n)),
      })),
  },
  { name: 'unchanged', title: '304 for an unchanged page', sides: ['http'], calls: unchangedCalls },
  ...[false, true].map((isReader) =>
    listCase(
      isReader ? 'reader-rare' : 'rare',
      `bbox country, species of 100 records${isReader ? ', logged in' : ''}`,
      (facts, n) => ({
        reader: isReader ? recorderOf(n) : null,
        filter: { bbox: countryOf(n), art_id: pick(facts.rare, n, 'rare').artId },
      }),
    ),
  ),
  listCase('frequent', 'bbox country, frequent species', (facts, n) => ({
    filter: { bbox: countryOf(n), art_id: pick(facts.species.slice(0, 20), n, 'frequent').artId },
  })),
  ...(Object.keys(boxes) as (keyof typeof boxes)[]).map((name) =>
    boxCase(name, (facts) => facts.differing, '-differing', ', tenant with its own list'),
  ),
];
