// Boundaries that change while others read and write: what is computed beforehand still holds when it becomes valid.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { Database, Sql } from '../../src/db/client.ts';
import {
  createGrenzlauf,
  createGrenzlaufGebiet,
  createMandantEntwurf,
  getProtokollStand,
  listGrenzlaufMangel,
  setGrenzlaufGrenze,
  setMandantEntwurf,
} from '../../src/db/grenzlauf.ts';
import { refreshBoundaries } from '../../src/jobs/boundaries.ts';
import { readFeatures } from '../../src/jobs/boundary-features.ts';
import {
  assertPlacements,
  listChanged,
  listLogged,
  makeTenants,
  readPlacements,
  scatterSichtbeobachtungen,
  startSource,
} from '../support/boundaries.ts';
import { arten } from '../support/catalogue.ts';
import { onPostgres, openTestDatabase, waitForWaiter } from '../support/database.ts';
import { makeDice } from '../support/dice.ts';
import { makeRecord, setBorders } from '../support/records.ts';

// Two connections at once; the embedded database runs one transaction at a time.
const skip = onPostgres ? false : 'needs PostgreSQL: two transactions at once';

let database: Database;
let sql: Sql;
before(async () => {
  database = await openTestDatabase();
  sql = database.sql;
  await scatterSichtbeobachtungen(sql, [440000, 5500000, 462000, 5560000], 300);
});

/** The steps of a run one by one, up to the moment before its boundaries become valid. */
async function prepare(x: number): Promise<{ finish: () => Promise<{ zugeordnet: number }>; end: () => Promise<void> }> {
  const run = database.connect({ settings: { lock_timeout: 1000 } });
  const id = await createGrenzlauf(run, 'Probe', false);
  for (const gebiet of readFeatures(Buffer.from(JSON.stringify(makeTenants(x))), 'kuerzel', null)) {
    await createGrenzlaufGebiet(run, id, gebiet);
  }
  const mandantIds = await createMandantEntwurf(run, id);
  assert.deepEqual(await listGrenzlaufMangel(run, id), []);
  const stand = await getProtokollStand(run);
  for (const mandantId of mandantIds) await setMandantEntwurf(run, mandantId, stand);
  return { finish: () => setGrenzlaufGrenze(run, id, mandantIds, 0), end: () => run.end({ timeout: 5 }) };
}

const bringBack = async () => {
  const { finish, end } = await prepare(452000);
  await finish();
  await end();
};

describe('what happens between the computation and the change', () => {
  it('records that come, move, change and go meanwhile are placed as all others, and logged once more', async () => {
    const [stays, moves, hides] = [
      await makeRecord(sql, { x: 451000 }),
      await makeRecord(sql),
      await makeRecord(sql, { x: 451001 }),
    ];
    const gone = await makeRecord(sql, { x: 451002 });
    const { finish, end } = await prepare(449900);

    const fresh = await makeRecord(sql, { art: arten.uhu, x: 451000 });
    await sql`update portal.sichtbeobachtung set point = st_setsrid(st_makepoint(451500, 5530000), 25832) where id = ${moves}`;
    await sql`update portal.sichtbeobachtung set sensibel = true where id = ${hides}`;
    await sql`delete from portal.sichtbeobachtung where id = ${gone}`;
    // A species becomes sensitive: its records are re-masked by the cells of the old boundary.
    await sql`update portal.art_mandant set sensibel = true where art = ${arten.hornisse} and mandant_id = (select min(id) from portal.mandant)`;

    const before = await readPlacements(sql);
    const logged = await listLogged(sql, finish);
    await end();
    await assertPlacements(sql);
    assert.deepEqual(logged, listChanged(before, await readPlacements(sql)));
    for (const id of [stays, moves, hides, fresh]) assert.ok(logged.includes(id), `${id} is logged`);
    await bringBack();
    await assertPlacements(sql);
  });

  it('a boundary, a tenant or its definition that somebody else changes meanwhile stops the run', async () => {
    const changes = [
      () => setBorders(sql, 'S', 452000, 500001),
      () => sql`
        insert into portal.mandant (kuerzel, name, domains, boundary)
        values ('X', 'X', '{x.test}', st_multi(st_makeenvelope(700000, 5500000, 720000, 5560000, 25832)))`,
    ];
    for (const change of changes) {
      const { finish, end } = await prepare(449900);
      await change();
      await assert.rejects(finish(), { code: 'GRAEN' });
      await end();
      await assertPlacements(sql);
    }
    await sql`delete from portal.mandant where kuerzel = 'X'`;
  });

  it('a draft that was computed against another boundary is not used', async () => {
    const spoil = () => sql`
      update portal.mandant_entwurf
      set alt = st_multi(st_makeenvelope(1, 5500000, 2, 5560000, 25832)), sichtbeobachtung_id = '{}'`;
    const first = await prepare(449900);
    await spoil();
    await assert.rejects(first.finish(), { code: 'GRAEN' });
    await first.end();
    const second = await prepare(449900);
    await spoil();
    await sql`update portal.mandant m set boundary = e.boundary from portal.mandant_entwurf e where e.mandant_id = m.id`;
    await second.end();
    await assertPlacements(sql);
    await bringBack();
  });

  it('a boundary that is written by SQL while the run begins is the one that counts', { skip }, async () => {
    const run = database.connect();
    const writer = database.connect();
    let written: Promise<unknown> = Promise.resolve();
    await run.begin(async (tx) => {
      const id = await createGrenzlauf(tx as unknown as Sql, 'Probe', false);
      for (const gebiet of readFeatures(Buffer.from(JSON.stringify(makeTenants(449900))), 'kuerzel', null)) {
        await createGrenzlaufGebiet(tx as unknown as Sql, id, gebiet);
      }
      await createMandantEntwurf(tx as unknown as Sql, id);
      written = setBorders(writer, 'S', 453500, 500000);
      written.catch(() => {});
      await waitForWaiter(sql);
    });
    await written;
    await assertPlacements(sql);
    await Promise.all([run.end({ timeout: 5 }), writer.end({ timeout: 5 })]);
    await setBorders(sql, 'S', 452000, 500000);
  });

  it('a writer that has not committed yet is waited for before anything is computed', { skip }, async () => {
    const run = database.connect({ settings: { lock_timeout: 100 } });
    await sql.begin(async (tx) => {
      await makeRecord(tx, { x: 451000 });
      await assert.rejects(getProtokollStand(run), { code: '55P03' });
    });
    assert.ok((await getProtokollStand(run)) > 0);
    await run.end({ timeout: 5 });
  });

  it('readers see the old boundaries until the change is committed, and wait for nothing', { skip }, async () => {
    const { finish, end } = await prepare(449900);
    // The change itself has no statement at which it could be stopped: its lock is taken first, by somebody who lets it wait.
    const holder = database.connect();
    const reader = database.connect({ settings: { lock_timeout: 100, statement_timeout: 2000 } });
    const list = () => reader<{ ids: string }[]>`
      select (select string_agg(r ->> 'id', ' ') from json_array_elements(result::json) r) as ids
      from api.list_sichtbeobachtung(1, 1, '{"bereich":"persoenlich","mandant":"S"}'::jsonb, null, 1000)`;
    const before = (await list())[0]?.ids;
    let changed: Promise<unknown> = Promise.resolve();
    await holder.begin(async (tx) => {
      await tx`select * from portal.mandant_sichtbeobachtung for share`;
      changed = finish();
      changed.catch(() => {});
      // It holds the catalogue lock now, and waits for a link.
      await waitForWaiter(sql);
      assert.equal((await list())[0]?.ids, before);
    });
    await changed;
    assert.notEqual((await list())[0]?.ids, before);
    await Promise.all([end(), holder.end({ timeout: 5 }), reader.end({ timeout: 5 })]);
    await assertPlacements(sql);
  });
});

describe('writers beside refreshes', () => {
  it('end up right, whatever they write: twelve borders, three writers', { skip }, async () => {
    const source = await startSource();
    let done = false;
    let writes = 0;
    const species = Object.values(arten);
    // Like the service's own connections: a writer that waits too long is told so, and comes again.
    const writer = async (seed: number) => {
      const connection = database.connect({ settings: { lock_timeout: 1500 } });
      const { roll, pick, below } = makeDice(seed);
      const mine: number[] = [];
      while (!done) {
        const x = 447000 + 10000 * roll();
        const art = pick(species);
        const id = mine[below(mine.length)];
        const turn = roll();
        try {
          if (id === undefined || turn < 0.5) mine.push(await makeRecord(connection, { art, x }));
          else if (turn < 0.7)
            await connection`update portal.sichtbeobachtung set point = st_setsrid(st_makepoint(${x}::float8, 5530000), 25832) where id = ${id}`;
          else if (turn < 0.9)
            await connection`update portal.sichtbeobachtung set sensibel = not sensibel, art = ${art} where id = ${id}`;
          else await connection`delete from portal.sichtbeobachtung where id = ${id}`;
          writes++;
        } catch (error) {
          if ((error as { code?: string }).code !== '55P03') throw error;
        }
      }
      await connection.end({ timeout: 5 });
    };
    const writers = [1, 2, 3].map(writer);
    for (let round = 0; round < 12; round++) {
      source.serve(makeTenants([452000, 450500, 449900, 453100][round % 4]));
      await refreshBoundaries(database, source.settings, { force: true });
    }
    done = true;
    await Promise.all(writers);
    assert.ok(writes > 100, `${writes} writes`);
    await assertPlacements(sql);
  });
});
