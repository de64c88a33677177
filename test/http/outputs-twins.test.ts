// O0.4, S1.10 for the outputs beside the interface: two services that differ only in places within cells answer alike, whatever is asked
// on whichever route. ZWILLINGE says how many requests, EIGENSCHAFT_SAAT begins another sequence.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { onPostgres } from '../support/database.ts';
import { makeDice } from '../support/dice.ts';
import { makeOutputRequests, outputRoutes, type Placed, placeRecords } from '../support/output-requests.ts';
import { isProtected, startTwins, type TwinRecord, type Twins, tenants } from '../support/twins.ts';

const dice = makeDice(Number(process.env.EIGENSCHAFT_SAAT ?? 15));
const total = Number(process.env.ZWILLINGE ?? (onPostgres ? 1000 : 200));
// The general view masks what any tenant protects.
const isHidden = (record: TwinRecord) => tenants.some((tenant) => isProtected(record, tenant));

let twins: Twins;
let placed: Placed[];
before(async () => {
  twins = await startTwins(dice);
  placed = await placeRecords(twins.first.database.sql, twins.records);
  await twins.arrange(isHidden);
});

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

/** Moves a record within its cell, in the second service only. */
async function moveHidden(record: TwinRecord): Promise<void> {
  await twins.second.database.sql`
    update portal.sichtbeobachtung s set point = st_translate(s.point, case when st_x(s.point) - 5000 * s.cell_x < 2500 then 7 else -7 end, 0)
    where s.id = ${record.id}`;
}

describe('the outputs of two services that differ within cells', () => {
  it('S1.10 answer alike on every route', async (t) => {
    const answered = await compare(Math.ceil(total * 0.6));
    t.diagnostic([...answered].map(([route, count]) => `${route} ${count}`).join(', '));
    if (total >= 500)
      assert.deepEqual(
        outputRoutes.filter((route) => !answered.has(route)),
        [],
        'every route has answered',
      );
  });

  it('S1.10 answer alike after every change, and a move within a cell changes no version', async () => {
    // Where one tenant shows the place, a move is a change that somebody sees.
    const hidden = twins.records.filter(
      (record) => tenants.every((tenant) => isProtected(record, tenant)) && record.stage === 'freigegeben',
    );
    const open = twins.records.filter((record) => !isHidden(record) && record.stage === 'freigegeben');
    for (let round = 0; round < 10; round++) {
      const etag = (await ask('/tiles/v1/tiles.json'))[1].etag;
      await moveHidden(dice.pick(hidden));
      assert.equal((await ask('/tiles/v1/tiles.json'))[1].etag, etag, 'the version after a move within a cell');
      const record = dice.pick(dice.pick([hidden, open]));
      await twins.change(async (sql) => {
        switch (round % 5) {
          case 0:
            return sql`update portal.sichtbeobachtung set datum = datum - 400 where id = ${record.id}`;
          case 1:
            return sql`update portal.sichtbeobachtung set status = 'hinweis' where id = ${record.id}`;
          case 2:
            return sql`update portal.sichtbeobachtung set status = 'freigegeben', bereich = 'oeffentlich' where id = ${record.id}`;
          case 3:
            return sql`update portal.sichtbeobachtung set sensibel = true where id = ${dice.pick(hidden).id}`;
          default:
            return sql`update portal.sichtbeobachtung set bemerkung = ${`Bemerkung ${round}`} where id = ${record.id}`;
        }
      });
      await compare(Math.ceil(total * 0.04));
    }
  });

  it('would be seen to differ where a place is shown', async () => {
    const open = twins.records.find((record) => !isHidden(record) && record.stage === 'freigegeben');
    assert.ok(open);
    const path = `/ogc/collections/sichtbeobachtung/items/${open.id}`;
    await twins.second.database.sql`update portal.sichtbeobachtung set point = st_translate(point, 1, 0) where id = ${open.id}`;
    const [first, second] = await ask(path);
    assert.equal(first.status, 200);
    assert.notEqual(second.bytes, first.bytes);
  });
});

describe('the routes of the application', () => {
  // Asked by the twins of /api/v2 (schutz-property.test.ts), or of the feed (abgleich-twins.test.ts).
  const interfaceRoute = /^\/api\/v2(\/|$)/;
  const others: Record<string, string> = {
    '/': 'leads to the map or the documentation',
    '/abgleich/v1/sichtbeobachtungen': 'abgleich-twins.test.ts',
    '/karte': 'a page that reads nothing',
    '/karte/': 'leads to the page',
    '/karte/:version': 'files of the page',
    '/ogc/': 'leads to /ogc',
    '/favicon.ico': 'a picture of the documentation',
    '/health/live': 'says that the process runs',
    '/health/ready': 'says whether the database answers',
    '/metrics': 'figures of the process, for operators',
  };

  it('O0.4 are all asked by twins, or have a reason not to be', () => {
    const routes = twins.first.app.routes
      .filter(({ path, method }) => !path.includes('*') && method !== 'ALL')
      .map(({ path }) => path.replace(/^\/karte\/[^/]+\/[\w-]+\.\w+$/, '/karte/:version'));
    const unknown = [...new Set(routes)].filter(
      (path) => !interfaceRoute.test(path) && !(outputRoutes as readonly string[]).includes(path) && !(path in others),
    );
    assert.deepEqual(unknown, []);
    assert.deepEqual(
      [...outputRoutes, ...Object.keys(others)].filter((path) => !routes.includes(path)),
      [],
      'listed, but no route',
    );
  });
});
