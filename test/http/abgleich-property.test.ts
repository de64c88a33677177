// The property of O1.2 and O1.4: whatever is written at once, in whatever order it is committed or rolled back, a mirror that follows the
// feed holds what the list shows, and never again what it was told to be gone.
// ABGLEICH_AENDERUNGEN says how many changes, ABGLEICH_SPIEGEL how many mirrors, EIGENSCHAFT_SAAT begins another sequence.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Sql, Transaction } from '../../src/db/client.ts';
import { arten } from '../support/catalogue.ts';
import { onPostgres } from '../support/database.ts';
import { type Dice, makeDice } from '../support/dice.ts';
import { settleFeed } from '../support/feed.ts';
import { type Json, startTestService, walkList } from '../support/service.ts';

const changes = Number(process.env.ABGLEICH_AENDERUNGEN ?? (onPostgres ? 600 : 200));
const mirrorCount = Number(process.env.ABGLEICH_SPIEGEL ?? (onPostgres ? 10 : 3));
const seed = Number(process.env.EIGENSCHAFT_SAAT ?? 21);
const writers = onPostgres ? 6 : 1;

const service = await startTestService();
const { sql } = service.database;
await insert(sql, 80, { art: arten.amsel, x: 420_000 });

/** So many at once, each a metre east of the one before. */
async function insert(
  tx: Sql | Transaction,
  count: number,
  { art, x, bereich = 'oeffentlich', status = 'freigegeben' }: { art: number; x: number; bereich?: string; status?: string },
): Promise<void> {
  await tx`
    insert into portal.sichtbeobachtung (nutzer_id, art, point, datum, bereich, status)
    select (select min(id) from portal.nutzer), ${art}::integer, st_setsrid(st_makepoint(${x}::integer + i, 5538000), 25832), '2024-01-01',
      ${bereich}::text::portal.bereich, ${status}::text::portal.status
    from generate_series(1, ${count}::integer) i`;
}

/** What a writer does in one transaction. */
async function change(tx: Transaction, dice: Dice): Promise<void> {
  const species = dice.pick([arten.amsel, arten.amsel, arten.rotmilan, arten.uhu, arten.wanderfalke]);
  const x = 440_000 + dice.below(24_000);
  const status = dice.pick(['freigegeben', 'freigegeben', 'pruefung', 'abgelehnt']);
  // A record that nobody else writes just now, so that writers wait for each other only where the service makes them.
  const chosen = tx`
    (select s.id from portal.sichtbeobachtung s where s.id % 7 = ${dice.below(7)}::integer
     order by random() limit 1 for update skip locked)`;
  const report = () => insert(tx, 1, { art: species, x, bereich: dice.pick(['oeffentlich', 'oeffentlich', 'privat']), status });
  const review = () => tx`update portal.sichtbeobachtung set status = ${status}, bereich = 'oeffentlich' where id = ${chosen}`;
  const breakOff = async (inner: Transaction) => {
    await inner`update portal.sichtbeobachtung set anzahl = 77 where id = ${chosen}`;
    if (dice.chance(0.5)) throw new Error('back');
  };
  const changes: (() => Promise<unknown>)[] = [
    () => insert(tx, 60, { art: species, x }),
    ...[report, report, report, review, review],
    () => tx`update portal.sichtbeobachtung set anzahl = 1 + (anzahl + 1) % 100 where id = ${chosen}`,
    () => tx`
      update portal.sichtbeobachtung set point = st_setsrid(st_makepoint(${x}, 5538000), 25832), sensibel = ${dice.chance(0.3)}
      where id = ${chosen}`,
    // A tenth of all, so that there are not more and more in a long run.
    () => tx`
      delete from portal.sichtbeobachtung where id in (
        select s.id from portal.sichtbeobachtung s order by random()
        limit (select count(*) / 10 + 1 from portal.sichtbeobachtung) for update skip locked)`,
    () => tx.savepoint(breakOff).catch(() => {}),
    () => tx`update portal.sichtbeobachtung set bemerkung_experte = ${String(x)} where id = ${chosen}`,
    () =>
      dice.chance(0.5)
        ? tx`update portal.art_mandant set name_deutsch = ${`Name ${x}`} where art = ${species} and mandant_id = 1`
        : tx`update portal.art_mandant set sensibel = not sensibel where art = ${species} and mandant_id = 2`,
  ];
  await dice.pick(changes)();
}

/** A copy that follows the feed of one tenant's host, with or without a filter. */
class Mirror {
  readonly records = new Map<number, string>();
  readonly host: string;
  readonly filter: string;
  cursor: string | null = null;
  pages = 0;

  constructor(host: string, filter: string) {
    this.host = host;
    this.filter = filter;
  }

  async step(limit: number): Promise<boolean> {
    const query = `?limit=${limit}${this.filter}${this.cursor === null ? '' : `&seit=${this.cursor}`}`;
    const { status, json, text } = await service.request(`/abgleich/v1/sichtbeobachtungen${query}`, {
      below: '',
      host: this.host,
    });
    assert.equal(status, 200, text);
    this.pages++;
    const seen = new Set<number>();
    for (const { id, geloescht, sichtbeobachtung } of json.result as Json[]) {
      assert.ok(!seen.has(id), `${id} twice in a page`);
      seen.add(id);
      assert.ok(!(geloescht && this.cursor === null), 'the beginning tells of nothing that is gone');
      if (geloescht) this.records.delete(id);
      else this.records.set(id, JSON.stringify(sichtbeobachtung));
    }
    this.cursor = json.cursor;
    return json.weitere;
  }
}

/** All that the list shows. */
async function readList(host: string, filter: string): Promise<Map<number, string>> {
  const rows = await walkList(service, `/sichtbeobachtungen?limit=1000${filter}`, { host });
  return new Map(rows.map((row) => [row.id, JSON.stringify(row)]));
}

describe('mirrors of a service that is written to', () => {
  it('hold in the end what the list shows', { timeout: 600_000 + changes * 100 }, async (t) => {
    const { database } = service;
    let left = changes;
    const isOver = () => left <= 0;
    const write = async (number: number) => {
      const dice = makeDice(seed * 100 + number);
      const sql = database.connect({ settings: { lock_timeout: 2000 } });
      while (!isOver()) {
        left--;
        await sql
          .begin(async (tx) => {
            await change(tx, dice);
            // A number of its own, taken early and committed late.
            if (writers > 1 && dice.chance(0.2)) await sleep(dice.below(300));
            if (dice.chance(0.3)) await change(tx, dice);
            if (dice.chance(0.1)) throw new Error('back');
          })
          // Rolled back, waited too long for a lock, a deadlock: all of it happens.
          .catch(() => {});
      }
    };
    const mirrors = Array.from(
      { length: mirrorCount },
      (_, n) => new Mirror(['n.test', 's.test', 'w.test'][n % 3] ?? '', ['', '', '&mandant=N', '&mandant=S'][n % 4] ?? ''),
    );
    const mirror = async (copy: Mirror, number: number) => {
      const dice = makeDice(seed * 1000 + number);
      while (!isOver()) {
        const more = await copy.step(dice.pick([1, 3, 20, 100, 1000]));
        if (!more || dice.chance(0.1)) await sleep(dice.below(changes > 5000 ? 1000 : 100));
      }
    };
    await Promise.all([
      ...Array.from({ length: writers }, (_, number) => write(number)),
      ...mirrors.map((copy, number) => mirror(copy, number)),
    ]);
    let records = 0;
    for (const copy of mirrors) {
      await settleFeed(database.sql);
      while (await copy.step(1000));
      const expected = await readList(copy.host, copy.filter);
      records += expected.size;
      const wrong = [...new Set([...expected.keys(), ...copy.records.keys()])].filter(
        (id) => expected.get(id) !== copy.records.get(id),
      );
      assert.deepEqual(wrong, [], `${copy.host} ${copy.filter}`);
    }
    t.diagnostic(
      `${changes} changes, ${mirrors.length} mirrors, ${mirrors.reduce((sum, { pages }) => sum + pages, 0)} pages, ${records} records, no difference`,
    );
    assert.ok(records > 0);
  });
});
