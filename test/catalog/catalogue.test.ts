// What a catalogue may leave out.
import assert from 'node:assert/strict';
import { appendFile, cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { importCatalogue } from '../../src/catalog/catalogue.ts';
import { ImportError } from '../../src/catalog/csv.ts';
import { arten } from '../support/catalogue.ts';
import { closeAtEnd, openTestDatabase } from '../support/database.ts';

const katalog = fileURLToPath(new URL('../support/katalog', import.meta.url));
const options = { force: false, progress: { step: () => {}, end: () => {} }, warn: () => {} };

it('a species needs no German name, and a tenant no number of its own for it: that is the general one', async () => {
  const database = await openTestDatabase();
  const dir = await mkdtemp(join(tmpdir(), 'katalog-'));
  await cp(katalog, dir, { recursive: true });
  closeAtEnd(() => rm(dir, { recursive: true }));
  await appendFile(join(dir, 'arten.csv'), '\n901,,10,Udea ferrugalis,,\n902,,10,Udea numeralis,,\n');
  await appendFile(join(dir, 'arten_mandanten.csv'), '\nAUE,901,,,,false,,\nBERG,901,Z-1,,,false,,\n');
  await importCatalogue(database, dir, options);
  const rows = await database.sql`
    select a.name_deutsch, am.art_id from portal.art a join portal.art_mandant am on am.art = a.id where a.id = 901 order by am.art_id`;
  assert.deepEqual(
    [...rows],
    [
      { name_deutsch: null, art_id: '901' },
      { name_deutsch: null, art_id: 'Z-1' },
    ],
  );

  // What it stands for must be free, as if it were written there.
  await appendFile(join(dir, 'arten_mandanten.csv'), 'AUE,902,901,,,false,,\n');
  await assert.rejects(importCatalogue(database, dir, options), (error) => {
    assert.ok(error instanceof ImportError);
    assert.match(error.problems[0]?.message ?? '', /^mandant, art_id „aue 901“ steht schon in Zeile \d+$/);
    return true;
  });
});

it('tables of records keep no statistics of their emptiness, by which plans would read all of them ever after; those that hold many get new ones', async () => {
  const database = await openTestDatabase();
  const tables = ['sichtbeobachtung', 'mandant_sichtbeobachtung', 'sichtbeobachtung_gezeigt', 'sichtbeobachtung_exakt'];
  const importAndCount = async () => {
    await importCatalogue(database, katalog, options);
    const rows = await database.sql<{ name: string; known: number }[]>`
      select relname as name, reltuples::float8 as known from pg_class
      where relname = any (${`{${tables}}`}::text[]) and relnamespace = 'portal'::regnamespace`;
    return Object.fromEntries(rows.map(({ name, known }) => [name, known]));
  };
  // -1: the planner knows nothing and expects ten pages.
  assert.deepEqual(await importAndCount(), Object.fromEntries(tables.map((name) => [name, -1])));
  await database.sql`
    insert into portal.sichtbeobachtung (nutzer_id, art, point, datum, bereich)
    select u.id, ${arten.amsel}::integer, st_setsrid(st_makepoint(417000 + n, 5531000), 25832), date '2026-09-01', 'privat'
    from generate_series(1, 2000) n, portal.nutzer u where u.loginname = 'melder'`;
  const known = await importAndCount();
  assert.equal(known.sichtbeobachtung, 2000);
  assert.equal(known.sichtbeobachtung_gezeigt, -1);
});
