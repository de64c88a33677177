// S1.10 for the feed: two services that differ only in places within cells tell a mirror the same, whatever page size, tenant and filter.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { makeDice } from '../support/dice.ts';
import { settleFeed } from '../support/feed.ts';
import { isProtected, startTwins, type TwinRecord, type Twins, tenants } from '../support/twins.ts';

const dice = makeDice(Number(process.env.EIGENSCHAFT_SAAT ?? 14));
const path = '/abgleich/v1/sichtbeobachtungen';
const hosts = ['n.test', 's.test', 'w.test'];
const isHidden = (record: TwinRecord) => tenants.every((tenant) => isProtected(record, tenant));

let twins: Twins;
before(async () => {
  twins = await startTwins(dice);
});

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
    const hidden = twins.records.filter((record) => isHidden(record) && record.stage === 'freigegeben');
    const open = twins.records.filter((record) => !isHidden(record) && record.stage === 'freigegeben');
    for (let round = 0; round < 12; round++) {
      // Only in the second: nothing that it is told may differ.
      const moved = dice.pick(hidden);
      await twins.second.database.sql`
        update portal.sichtbeobachtung s set point = st_translate(s.point, case when st_x(s.point) - 5000 * s.cell_x < 2500 then 7 else -7 end, 0)
        where s.id = ${moved.id}`;
      const record = dice.pick(dice.pick([hidden, open]));
      await twins.change(async (sql) => {
        switch (round % 5) {
          case 0:
            return sql`update portal.sichtbeobachtung set anzahl = anzahl + 1 where id = ${record.id}`;
          case 1:
            return sql`update portal.sichtbeobachtung set status = 'hinweis' where id = ${record.id}`;
          case 2:
            return sql`update portal.sichtbeobachtung set status = 'freigegeben', bereich = 'oeffentlich' where id = ${record.id}`;
          case 3:
            return sql`update portal.art_mandant set name_deutsch = ${`Name ${round}`} where art = ${record.art} and mandant_id = 2`;
          default:
            return sql`update portal.sichtbeobachtung set bemerkung = ${`Bemerkung ${round}`} where id = ${record.id}`;
        }
      });
      for (const mirror of mirrors) await follow(mirror);
    }
  });

  it('S1.10 wake nobody for a move within a cell', async () => {
    const mirror: Mirror = { host: 'n.test', query: '', cursors: [null, null] };
    await follow(mirror);
    const [moved] = twins.records.filter((record) => isHidden(record) && record.stage === 'freigegeben');
    const waiting = step(mirror, 10, 1);
    const before = [...mirror.cursors];
    await twins.second.database.sql`
      update portal.sichtbeobachtung s set point = st_translate(s.point, case when st_x(s.point) - 5000 * s.cell_x < 2500 then 7 else -7 end, 0)
      where s.id = ${moved?.id ?? 0}`;
    const { bytes } = await waiting;
    assert.equal(bytes[1], bytes[0]);
    assert.match(bytes[0], /"result":\[\]/);
    assert.deepEqual(mirror.cursors, before, 'the place stays the same too');
  });

  it('would be seen to differ where a place is shown', async () => {
    const mirror: Mirror = { host: 'n.test', query: '', cursors: [null, null] };
    await follow(mirror);
    const [open] = twins.records.filter((record) => !record.sensibel && record.art === 2 && record.stage === 'freigegeben');
    assert.ok(open);
    await twins.second.database.sql`update portal.sichtbeobachtung set point = st_translate(point, 1, 0) where id = ${open.id}`;
    await settleFeed(twins.second.database.sql);
    const { bytes } = await step(mirror, 10, 0);
    assert.notEqual(bytes[1], bytes[0]);
  });
});
