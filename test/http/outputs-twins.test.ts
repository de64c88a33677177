// O0.4, S1.10 for the outputs beside the interface: two services that differ only in places within cells answer alike, whatever is asked
// on whichever route, and tell a mirror the same, whatever page size, tenant and filter.
// ZWILLINGE says how many requests, EIGENSCHAFT_SAAT begins another sequence.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { countPruefung } from '../../src/db/pruefung.ts';
import { arten } from '../support/catalogue.ts';
import { onPostgres } from '../support/database.ts';
import { makeDice } from '../support/dice.ts';
import { settleFeed } from '../support/feed.ts';
import { makeOutputRequests, outputRoutes, placeRecords } from '../support/output-requests.ts';
import { isProtected, startTwins, type TwinRecord, tenants } from '../support/twins.ts';

const dice = makeDice(Number(process.env.EIGENSCHAFT_SAAT ?? 15));
const total = Number(process.env.ZWILLINGE ?? (onPostgres ? 1000 : 200));
// The general view masks what any tenant protects.
const isMasked = (record: TwinRecord) => tenants.some((tenant) => isProtected(record, tenant));
// Where one tenant shows the place, a move is a change that somebody sees.
const isHidden = (record: TwinRecord) => tenants.every((tenant) => isProtected(record, tenant));

const twins = await startTwins(dice);
const placed = await placeRecords(twins.first.database.sql, twins.records);
const released = (isOf: (record: TwinRecord) => boolean) =>
  twins.records.filter((record) => record.stage === 'freigegeben' && isOf(record));

interface Told {
  status: number;
  /** Status, headers and body, without what is each database's own. */
  bytes: string;
  etag: string | null;
  length: number;
}

async function ask(path: string, headers: Record<string, string> = {}): Promise<[Told, Told]> {
  const told = await Promise.all(
    [twins.first, twins.second].map(async ({ app }) => {
      const answer = await app.request(`http://n.test${path}`, { headers });
      const body = Buffer.from(await answer.arrayBuffer());
      const heads = [...answer.headers].filter(([name]) => !['etag', 'x-request-id'].includes(name));
      const bytes = `${answer.status}\n${JSON.stringify(heads)}\n${body.toString('latin1')}`
        .replace(/"stand":"[^"]+"/g, '')
        // When it was answered, and when a boundary was set.
        .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, '');
      return { status: answer.status, bytes, etag: answer.headers.get('etag'), length: body.length };
    }),
  );
  return told as [Told, Told];
}

/** Asks both, until so many requests were alike; returns how often each route answered with 200. */
async function compare(count: number): Promise<Map<string, number>> {
  for (const { database } of [twins.first, twins.second]) await countPruefung(database.sql);
  const requests = makeOutputRequests(dice, placed);
  const answered = new Map<string, number>();
  for (let asked = 0; asked < count; asked++) {
    const { route, path, headers } = requests.make();
    const [first, second] = await ask(path, headers);
    assert.equal(second.bytes, first.bytes, path);
    if (first.status === 200 && first.length > 0) answered.set(route, (answered.get(route) ?? 0) + 1);
  }
  return answered;
}

/** A record whose place everybody sees. */
async function showOne(): Promise<TwinRecord> {
  const open = dice.pick(released((record) => !isMasked(record)));
  await twins.change(
    (sql) => sql`update portal.sichtbeobachtung set status = 'freigegeben', bereich = 'oeffentlich' where id = ${open.id}`,
  );
  return open;
}

/** Moves a record within its cell, in the second service only. */
async function moveHidden(record: TwinRecord): Promise<void> {
  await twins.second.database.sql`
    update portal.sichtbeobachtung s set point = st_translate(s.point, case when st_x(s.point) - 5000 * s.cell_x < 2500 then 7 else -7 end, 0)
    where s.id = ${record.id}`;
}

const path = '/abgleich/v1/sichtbeobachtungen';
const hosts = ['n.test', 's.test', 'w.test'];
/** A mirror of both: where it came to in each. */
interface Mirror {
  host: string;
  query: string;
  cursors: [string | null, string | null];
}

/** One page of both, without the cursors, which are numbers of each database. */
async function step(mirror: Mirror, limit: number, wait: number): Promise<{ bytes: [string, string]; more: boolean }> {
  const { first, second } = twins;
  const answers = await Promise.all(
    [first, second].map((service, which) => {
      const seit = mirror.cursors[which] === null ? '' : `&seit=${mirror.cursors[which]}`;
      return service.request(`${path}?limit=${limit}&warten=${wait}${mirror.query}${seit}`, { below: '', host: mirror.host });
    }),
  );
  const [one, two] = answers;
  assert.deepEqual([one?.status, two?.status], [200, 200], one?.text);
  mirror.cursors = [one?.json.cursor, two?.json.cursor];
  const bytes = answers.map(({ text, headers, json }) =>
    [text.replace(json.cursor, 'CURSOR'), headers.get('cache-control'), headers.get('vary'), headers.get('content-type')].join(
      '\n',
    ),
  );
  return { bytes: bytes as [string, string], more: one?.json.weitere };
}

async function follow(mirror: Mirror): Promise<number> {
  for (const { database } of [twins.first, twins.second]) await settleFeed(database.sql);
  for (let pages = 1; ; pages++) {
    const { bytes, more } = await step(mirror, dice.pick([1, 2, 7, 50, 1000]), 0);
    assert.equal(bytes[1], bytes[0], `${mirror.host} ${mirror.query} page ${pages}`);
    if (!more) return pages;
  }
}

const makeMirrors = (): Mirror[] =>
  hosts.flatMap((host) =>
    ['', '&mandant=N', '&mandant=S', '&mandant=W'].map((query) => ({ host, query, cursors: [null, null] as [null, null] })),
  );

describe('the feeds of two services that differ within cells', () => {
  it('S1.10 are the same from the beginning, at every host and for every tenant', async () => {
    await twins.arrange(isHidden);
    let pages = 0;
    for (const mirror of makeMirrors()) pages += await follow(mirror);
    assert.ok(pages > 24);
  });

  it('S1.10 tell nothing of a move within a cell, and the same of every other change', async () => {
    const mirrors = makeMirrors();
    for (const mirror of mirrors) await follow(mirror);
    const [hidden, open] = [released(isHidden), released((record) => !isHidden(record))];
    for (let round = 0; round < 12; round++) {
      // Only in the second: nothing that it is told may differ.
      const moved = dice.pick(hidden);
      await moveHidden(moved);
      const record = dice.pick(dice.pick([hidden, open]));
      await twins.change(
        async (sql) =>
          [
            sql`update portal.sichtbeobachtung set anzahl = anzahl + 1 where id = ${record.id}`,
            sql`update portal.sichtbeobachtung set status = 'hinweis' where id = ${record.id}`,
            sql`update portal.sichtbeobachtung set status = 'freigegeben', bereich = 'oeffentlich' where id = ${record.id}`,
            sql`update portal.art_mandant set name_deutsch = ${`Name ${round}`} where art = ${record.art} and mandant_id = 2`,
            sql`update portal.sichtbeobachtung set bemerkung = ${`Bemerkung ${round}`} where id = ${record.id}`,
          ][round % 5],
      );
      for (const mirror of mirrors) await follow(mirror);
    }
  });

  it('S1.10 wake nobody for a move within a cell', async () => {
    const mirror: Mirror = { host: 'n.test', query: '', cursors: [null, null] };
    await follow(mirror);
    const moved = dice.pick(released(isHidden));
    const waiting = step(mirror, 10, 1);
    const before = [...mirror.cursors];
    await moveHidden(moved);
    const { bytes } = await waiting;
    assert.equal(bytes[1], bytes[0]);
    assert.match(bytes[0], /"result":\[\]/);
    assert.deepEqual(mirror.cursors, before, 'the place stays the same too');
  });

  it('would be seen to differ where a place is shown', async () => {
    const mirror: Mirror = { host: 'n.test', query: '', cursors: [null, null] };
    const open = await showOne();
    await follow(mirror);
    await twins.second.database.sql`update portal.sichtbeobachtung set point = st_translate(point, 1, 0) where id = ${open.id}`;
    await settleFeed(twins.second.database.sql);
    const { bytes } = await step(mirror, 10, 0);
    assert.notEqual(bytes[1], bytes[0]);
  });
});

describe('the outputs of two services that differ within cells', () => {
  before(async () => {
    await twins.arrange(isMasked);
    // Enough of each species to compare reports with.
    await twins.change(
      (sql) => sql`
        insert into portal.sichtbeobachtung (nutzer_id, art, point, datum, stadium_id, bereich, status)
        select (select min(u.id) from portal.nutzer u), a, st_setsrid(st_makepoint(${420000}::integer + 100 * n, 5521000), 25832),
          date '2022-05-01' + n, 1, 'oeffentlich', 'freigegeben'
        from unnest(array[${arten.amsel}, ${arten.hornisse}]::integer[]) a, generate_series(1, 30) n`,
    );
  });

  it('S1.10 answer alike on every route', async (t) => {
    const answered = await compare(Math.ceil(total * 0.6));
    t.diagnostic([...answered].map(([route, count]) => `${route} ${count}`).join(', '));
    const silent = outputRoutes.filter((route) => !answered.has(route));
    if (total >= 500) assert.deepEqual(silent, [], 'every route has answered');
  });

  it('S1.10 answer alike after every change, and a move within a cell changes no version', async () => {
    const [hidden, open] = [released(isHidden), released((record) => !isMasked(record))];
    for (let round = 0; round < 10; round++) {
      const etag = (await ask('/tiles/v1/tiles.json'))[1].etag;
      await moveHidden(dice.pick(hidden));
      const marked = dice.pick(hidden);
      assert.equal((await ask('/tiles/v1/tiles.json'))[1].etag, etag, 'the version after a move within a cell');
      const record = dice.pick(dice.pick([hidden, open]));
      await twins.change(
        async (sql) =>
          [
            sql`update portal.sichtbeobachtung set datum = datum - 400 where id = ${record.id}`,
            sql`update portal.sichtbeobachtung set status = 'hinweis' where id = ${record.id}`,
            sql`update portal.sichtbeobachtung set status = 'freigegeben', bereich = 'oeffentlich' where id = ${record.id}`,
            sql`update portal.sichtbeobachtung set sensibel = true where id = ${marked.id}`,
            sql`update portal.sichtbeobachtung set bemerkung = ${`Bemerkung ${round}`} where id = ${record.id}`,
          ][round % 5],
      );
      await compare(Math.ceil(total * 0.04));
    }
  });

  it('would be seen to differ where a place is shown', async () => {
    const open = await showOne();
    const path = `/ogc/collections/sichtbeobachtung/items/${open.id}`;
    await twins.second.database.sql`update portal.sichtbeobachtung set point = st_translate(point, 1, 0) where id = ${open.id}`;
    const [first, second] = await ask(path);
    assert.equal(first.status, 200);
    assert.notEqual(second.bytes, first.bytes);
  });
});

describe('the routes of the application', () => {
  // Asked by the twins of /api/v2 (schutz-property.test.ts), or of the feed.
  const interfaceRoute = /^\/api\/v2(\/|$)/;
  const others: Record<string, string> = {
    '/': 'leads to the map or the documentation',
    '/abgleich/v1/sichtbeobachtungen': 'asked as mirrors do, above',
    '/export/v1/': 'the same as without the slash',
    '/export/v1/:kuerzel/:datei': 'files that gis_public has made, as all outputs are',
    '/karte': 'a page that reads nothing but licences',
    '/karte/': 'leads to the page',
    '/karte/:version': 'files of the pages',
    '/pruefung': 'a page that reads nothing but names of tenants',
    '/pruefung/': 'leads to the page',
    '/ogc/': 'leads to /ogc',
    '/pruefung/v1/warteschlange': 'of records in charge, asked for by twins of the interface',
    '/pruefung/v1/nachrichten/:id': 'of records in charge and own ones',
    '/pruefung/v1/entscheidungen': 'of records in charge',
    '/pruefung/v1/entscheidungen.csv': 'of records in charge',
    '/pruefung/v1/mitteilungen': 'a setting of the own account',
    '/pruefung/v1/mitteilungen/abmelden/:token': 'changes that setting',
    '/pruefung/v1/beobachtung/:token': 'the own record',
    '/favicon.ico': 'a picture of the documentation',
    '/health/live': 'says that the process runs',
    '/health/ready': 'says whether the database answers',
    '/metrics': 'figures of the process, for operators',
  };

  it('O0.4 are all asked by twins, or have a reason not to be', () => {
    const routes = twins.first.app.routes
      .filter(({ path, method }) => !path.includes('*') && method !== 'ALL')
      .map(({ path }) => path.replace(/^\/karte\/[^/]+\/(?:[\w-]+\/)*[\w-]+\.\w+$/, '/karte/:version'));
    const unknown = [...new Set(routes)].filter(
      (path) => !interfaceRoute.test(path) && !(outputRoutes as readonly string[]).includes(path) && !(path in others),
    );
    assert.deepEqual(unknown, []);
    const gone = [...outputRoutes, ...Object.keys(others)].filter((path) => !routes.includes(path));
    assert.deepEqual(gone, [], 'listed, but no route');
  });
});
