// Every filter alone and in pairs, for every kind of reader, against a reference that reads the rules anew and knows no
// index: no trick of the list may lose, repeat or show a record.
// And next, followed to the end while others write (S4.3): who was there throughout is seen once, nobody twice.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { type Account, arten } from '../support/catalogue.ts';
import { makeDice } from '../support/dice.ts';
import { idsOf, walkOgc } from '../support/ogc.ts';
import { startTestService, walkList } from '../support/service.ts';
import { shortenWalks } from '../support/walks.ts';

interface Row {
  id: number;
  nutzer: Account;
  art: number;
  sensibel: boolean;
  datum: string;
  bereich: string;
  status: string;
  x: number;
  y: number;
}

interface Reader {
  as: Account | null;
  exempt: boolean;
}

// Seeded, so that a failure can be repeated.
let seed = 20260901;
function random(): number {
  seed = (seed * 1103515245 + 12345) % 2147483648;
  return seed / 2147483648;
}
const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;

const service = await startTestService();
const { sql } = service.database;
const accounts = await sql<{ id: number; loginname: Account }[]>`select id, loginname from portal.nutzer`;
const recorders = accounts.filter(({ loginname }) => ['melder', 'nachbarin', 'expertin'].includes(loginname));
const made = Array.from({ length: 600 }, () => {
  const bereich = random() < 0.85 ? 'oeffentlich' : 'privat';
  return {
    nutzer_id: pick(recorders).id,
    art: pick(Object.values(arten)),
    // Around the border of N and S, in W, and in nobody's land; some exactly on cell edges.
    lon: random() < 0.1 ? pick([400000, 405000, 450000, 455000]) : pick([445000, 452000, 320000, 380000]) + random() * 12000,
    lat: random() < 0.1 ? pick([5500000, 5505000]) : 5500000 + random() * 20000,
    sensibel: random() < 0.1,
    datum: `${pick([2024, 2025, 2026])}-0${pick([1, 5, 9])}-0${pick([1, 2, 3])}`,
    bereich,
    status:
      bereich === 'privat' ? 'pruefung' : pick(['freigegeben', 'freigegeben', 'freigegeben', 'pruefung', 'hinweis', 'abgelehnt']),
  };
});
await sql`select api.create_sichtbeobachtungen(rows => ${JSON.stringify(made)}::text)`;
const rows = await sql<Row[]>`
  select s.id, u.loginname as nutzer, s.art, s.sensibel, s.datum::text as datum, s.bereich::text as bereich,
    s.status::text as status, st_x(s.point) as x, st_y(s.point) as y
  from portal.sichtbeobachtung s join portal.nutzer u on u.id = s.nutzer_id
  order by s.id desc`;
assert.ok(rows.length > 590);

const tenants = {
  N: { sensitive: [1], x1: 400000, x2: 452000 },
  S: { sensitive: [1, 3], x1: 452000, x2: 500000 },
  W: { sensitive: [1, 4], x1: 300000, x2: 340000 },
} as const;
type Kuerzel = keyof typeof tenants;
const kuerzel = Object.keys(tenants) as Kuerzel[];
const gidOf = (art: number) => (art <= 4 ? 1 : art <= 6 ? 2 : 3);
const cellOf = (value: number) => Math.floor(value / 5000) * 5000;

// The rules of D4, written down a second time.
function placeOf(row: Row, reader: Reader, tenant: Kuerzel): { x: number; y: number; tenants: Kuerzel[] } {
  const left = cellOf(row.x);
  const bottom = cellOf(row.y);
  const touched = kuerzel.filter(
    (k) => tenants[k].x1 <= left + 5000 && tenants[k].x2 >= left && bottom + 5000 >= 5500000 && bottom <= 5560000,
  );
  const here = kuerzel.filter((k) => tenants[k].x1 <= row.x && tenants[k].x2 >= row.x && row.y >= 5500000 && row.y <= 5560000);
  const isSensitive = [...touched, tenant].some((k) => (tenants[k].sensitive as readonly number[]).includes(row.art));
  const masked = (row.sensibel || isSensitive) && !reader.exempt && row.nutzer !== reader.as;
  return masked ? { x: left + 2500, y: bottom + 2500, tenants: touched } : { x: row.x, y: row.y, tenants: here };
}

type Match = (row: Row, reader: Reader, tenant: Kuerzel) => boolean;
const box = (left: number, bottom: number, right: number, top: number): [string, Match] => [
  `bbox=${left},${bottom},${right},${top}`,
  (row, reader, tenant) => {
    const { x, y } = placeOf(row, reader, tenant);
    return x >= left && x <= right && y >= bottom && y <= top;
  },
];
const filters: [string, Match][] = [
  ['', () => true],
  ['titel_deutsch=UHU', (row) => row.art === 1],
  // N calls it Pfauenauge, the others Tagpfauenauge.
  ['titel_deutsch=%25auge', (row) => row.art === arten.tagpfauenauge],
  ['titel_wissenschaftlich=%20Falco%C2%A0%20pere%C2%ADgrinus', (row) => row.art === 3],
  ['titel_wissenschaftlich=falco%E2%80%AF%25', (row) => row.art === 3],
  ['titel_wissenschaftlich=falco%25', (row) => row.art === 3],
  ['eu_guid=eu-4', (row) => row.art === 4],
  ['art_id=N-7', (row, _, tenant) => tenant === 'N' && row.art === 7],
  ['artengruppe_id=1', (row) => gidOf(row.art) === 1],
  ['legacy_regional_artengruppe_id=13', (row) => gidOf(row.art) === 3],
  ['is_animal=true', (row) => gidOf(row.art) !== 3],
  ['jahr=2025', (row) => row.datum.startsWith('2025')],
  ['datum_von=1.5.2025', (row) => row.datum >= '2025-05-01'],
  ['datum_bis=2.5.2025', (row) => row.datum <= '2025-05-02'],
  ['datum_von=2.1.2024&datum_bis=3.9.2024', (row) => row.datum >= '2024-01-02' && row.datum <= '2024-09-03'],
  ['mandant=n', (row, reader, tenant) => placeOf(row, reader, tenant).tenants.includes('N')],
  ['mandant=S', (row, reader, tenant) => placeOf(row, reader, tenant).tenants.includes('S')],
  box(450000, 5500000, 455000, 5510000),
  box(452500, 5502500, 457600, 5517500),
  box(300000, 5000000, 900000, 6000000),
];

const readers: Reader[] = [
  { as: null, exempt: false },
  { as: 'melder', exempt: false },
  { as: 'expertin', exempt: true },
  { as: 'admin', exempt: true },
];

async function listAll(query: string, reader: Reader, tenant: Kuerzel, limit: number): Promise<number[]> {
  const path = `/sichtbeobachtungen?restrict=id&limit=${limit}${query && `&${query}`}`;
  return (await walkList(service, path, { as: reader.as, host: `${tenant.toLowerCase()}.test` })).map(({ id }) => id);
}

async function compare(parts: [string, Match][], reader: Reader, tenant: Kuerzel, limit: number): Promise<void> {
  const texts = parts.map(([text]) => text);
  const query = texts.filter(Boolean).join('&');
  const expected = rows.filter((row) => parts.every(([, match]) => match(row, reader, tenant))).map((row) => row.id);
  const found = await listAll(query, reader, tenant, limit);
  assert.deepEqual(found, expected, `${query} as ${reader.as} at ${tenant}, limit ${limit}`);
}

const published: [string, Match] = [
  '',
  (row, reader) => row.bereich === 'oeffentlich' && (reader.as !== null || row.status === 'freigegeben'),
];

function checkAll(): void {
  for (const reader of readers) {
    it(`every filter alone, as ${reader.as}`, async () => {
      for (const tenant of kuerzel) for (const filter of filters) await compare([published, filter], reader, tenant, 1000);
    });

    it(`every pair of filters, as ${reader.as}`, async () => {
      for (const [index, first] of filters.entries()) {
        for (const second of filters.slice(index + 1)) {
          const names = [...`${first[0]}&${second[0]}`.matchAll(/(\w+)=/g)].map((match) => match[1]);
          if (new Set(names).size === names.length) await compare([published, first, second], reader, pick(kuerzel), 1000);
        }
      }
    });

    it(`in pages of 23, as ${reader.as}`, async () => {
      for (const filter of filters) await compare([published, filter], reader, pick(kuerzel), 23);
    });
  }

  it('one status, the own area and all own records', async () => {
    for (const reader of readers.slice(1)) {
      for (const status of ['freigegeben', 'pruefung', 'hinweis', 'abgelehnt']) {
        const filter: [string, Match] = [`status=${status}`, (row) => row.status === status];
        for (const other of filters) await compare([published, filter, other], reader, 'N', 1000);
      }
      for (const other of filters) {
        const isPrivate: Match = (row) => row.nutzer === reader.as && row.bereich === 'privat';
        await compare([['bereich=privat', isPrivate], other], reader, 'S', 1000);
        await compare([['bereich=persoenlich', (row) => row.nutzer === reader.as], other], reader, 'S', 1000);
      }
    }
  });
}

const boxCount = 40;
const crs = 'http://www.opengis.net/def/crs/EPSG/0/25832';

// What is asked for, as the view has it.
async function expectIds([x1, y1, x2, y2]: number[], since = '1900-01-01'): Promise<number[]> {
  const rows = await sql<{ id: number }[]>`
    select g.id::integer
    from gis.sichtbeobachtung g
    where g.datum >= ${since}::date
      and case when g.unschaerfe_m > 0
        then g.cell_x * 5000 <= ${x2 ?? 0}::integer and g.cell_x * 5000 + 5000 >= ${x1 ?? 0}::integer
          and g.cell_y * 5000 <= ${y2 ?? 0}::integer and g.cell_y * 5000 + 5000 >= ${y1 ?? 0}::integer
        else st_x(g.place) between ${x1 ?? 0}::integer and ${x2 ?? 0}::integer
          and st_y(g.place) between ${y1 ?? 0}::integer and ${y2 ?? 0}::integer end
    order by g.cell_x, g.cell_y, g.id`;
  return rows.map(({ id }) => id);
}

/** Pages of /ogc in a box whose edge cuts cells: what lies there is found by place where little does, and by id where much does (O2.10). */
function checkBoxes(): void {
  for (const limit of [1, 7, 1000]) {
    it(`O2.10 come by cell and then by id, each once, ${limit} a page`, async () => {
      const dice = makeDice(11 + limit);
      let found = 0;
      for (let n = 0; n < boxCount; n++) {
        const [x, y] = [444_000 + dice.below(18_000), 5_499_000 + dice.below(18_000)];
        const box = [x, y, x + 1 + dice.below(10_000), y + 1 + dice.below(10_000)];
        const since = dice.chance(0.5) ? '2025-05-01' : undefined;
        const expected = await expectIds(box, since);
        const path = `/collections/sichtbeobachtung/items?limit=${limit}&bbox=${box}&bbox-crs=${crs}${since ? `&datetime=${since}/..` : ''}`;
        assert.deepEqual(idsOf(await walkOgc(service, path)), expected, path);
        found += expected.length;
      }
      assert.ok(found > 5 * boxCount, 'boxes hold records');
    });
  }
}

describe('the list agrees with the rules', checkAll);

describe('sightings of a box of /ogc', checkBoxes);

describe('the list agrees with the rules where it has to look further than the newest records', () => {
  before(() => shortenWalks(sql));
  checkAll();
  checkBoxes();
});

for (const isKept of [true, false]) {
  it(`everybody is told what a stranger is told, but for the members of logged-in readers, ${isKept ? 'from' : 'without'} the text that rows keep`, async () => {
    if (!isKept) {
      const sql = service.database.connect({ settings: { session_replication_role: 'replica' } });
      await sql`update portal.sichtbeobachtung set kopf_json = null`;
      await sql`update portal.art_mandant set titel_json = null, art_json = null`;
      await sql.end();
    }
    for (const tenant of kuerzel) {
      const read = async (as: Account | null) => {
        const options = { host: `${tenant.toLowerCase()}.test`, ...(as && { as }) };
        return (await service.request(`/sichtbeobachtungen?limit=1000${as ? '&status=freigegeben' : ''}`, options)).json;
      };
      const { result: strangers } = await read('käfer anna');
      const { result: all } = await read(null);
      assert.ok(all.length > 200 && all.some((record: { is_rasterized: boolean }) => record.is_rasterized));
      const common = strangers.map(({ erfasser, uid, bemerkung_experte, ...record }: Record<string, unknown>) => record);
      assert.equal(JSON.stringify(all), JSON.stringify(common));
    }
  });
}

describe('next, followed to the end over 1 000 records while others insert, delete and publish', () => {
  let lasting: number[];
  // Every fifth record is withdrawn, deleted or released anew on the way.
  let fickle: number[];
  before(async () => {
    await sql`delete from portal.sichtbeobachtung`;
    const rows = Array.from({ length: 1000 }, (_, n) => ({
      nutzer_id: accounts.find(({ loginname }) => loginname === 'melder')?.id,
      art: [arten.amsel, arten.uhu, arten.rotmilan][n % 3],
      lon: 400100 + n * 50,
      lat: 5500000 + ((n * 7919) % 60000),
      datum: '2026-05-01',
      bereich: 'oeffentlich',
      status: 'freigegeben',
    }));
    await sql`select api.create_sichtbeobachtungen(rows => ${JSON.stringify(rows)}::text)`;
    const ids = (await sql<{ id: number }[]>`select id from portal.sichtbeobachtung order by id desc`).map((row) => row.id);
    fickle = ids.filter((_, n) => n % 5 === 0);
    lasting = ids.filter((_, n) => n % 5 !== 0);
  });
  let lon = 430_000;
  async function disturb(step: number): Promise<void> {
    const [first, second, third] = fickle.slice(3 * step, 3 * step + 3);
    if (first) await sql`delete from portal.sichtbeobachtung where id = ${first}`;
    if (second) await sql`update portal.sichtbeobachtung set status = 'hinweis' where id = ${second}`;
    if (third) await sql`update portal.sichtbeobachtung set bemerkung = 'neu' where id = ${third}`;
    await service.makeReleased({ lon: String(lon++), lat: '5520000', art: String(arten.amsel) });
  }

  for (const [name, query] of [
    ['the newest', ''],
    ['a box', 'bbox=400000,5500000,460000,5560000'],
    ['a tenant', 'mandant=N'],
    ['a group', 'artengruppe_id=1'],
    ['a range of days', 'datum_von=1.5.2026&datum_bis=1.9.2026'],
  ] as const) {
    it(`S4.3 ${name}: nobody is skipped, nobody is seen twice`, async () => {
      const seen: number[] = [];
      let path = `/sichtbeobachtungen?restrict=id&limit=70&${query}`;
      for (let step = 0; path; step++) {
        const { json } = await service.request(path);
        seen.push(...json.result.map((record: { id: number }) => record.id));
        await disturb(step);
        path = json.next ? json.next.slice(json.next.indexOf('/sichtbeobachtungen')) : '';
      }
      assert.equal(new Set(seen).size, seen.length, 'somebody twice');
      const missing = new Set(lasting);
      for (const id of seen) missing.delete(id);
      assert.deepEqual([...missing], [], 'somebody skipped');
      const newestFirst = [...seen].sort((a, b) => b - a);
      assert.deepEqual(seen, newestFirst);
    });
  }
});
