// A refresh of the boundaries: what changes with it, and only that.
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import type { Database, Sql } from '../../src/db/client.ts';
import { type BoundarySettings, type RefreshOptions, refreshBoundaries } from '../../src/jobs/boundaries.ts';
import {
  assertNothingLeftOver,
  assertPlacements,
  frame,
  listChanged,
  listLogged,
  makeCollection,
  makeFeature,
  makeTenants,
  readBoundaries,
  readLastRun,
  readPlacements,
  type Source,
  scatterSichtbeobachtungen,
  startSource,
} from '../support/boundaries.ts';
import { openTestDatabase } from '../support/database.ts';

let database: Database;
let sql: Sql;
let source: Source;
before(async () => {
  source = await startSource();
  database = await openTestDatabase();
  sql = database.sql;
  await scatterSichtbeobachtungen(sql, [296000, 5496000, 510000, 5564000], 600);
  await scatterSichtbeobachtungen(sql, [447000, 5500000, 458000, 5560000], 400);
});

const refresh = (options: RefreshOptions = {}, settings: Partial<BoundarySettings> = {}) =>
  refreshBoundaries(database, { ...source.settings, ...settings }, options);

describe('a refresh', () => {
  it('from a source that says the same changes nothing, and writes nothing but its run', async () => {
    const stored = await readBoundaries(sql);
    for (const answer of [makeTenants(), makeTenants()]) {
      source.serve(answer);
      assert.deepEqual(await refresh(), { mandanten: 0, zugeordnet: 0, maskiert: 0, uebergangen: 0 });
      const { ergebnis, grund, beendet, erzwungen, quelle } = await readLastRun(sql);
      assert.deepEqual(
        { ergebnis, grund, erzwungen, quelle },
        {
          ergebnis: 'unveraendert',
          grund: null,
          erzwungen: false,
          quelle: source.url,
        },
      );
      assert.ok(beendet instanceof Date);
    }
    assert.deepEqual(await readBoundaries(sql), stored);
    await assertNothingLeftOver(sql);
  });

  it('that moves a border by 2 km touches the records between old and new border alone, and logs each once', async () => {
    for (const x of [449900, 452000]) {
      const [before, boundaryOfW] = [
        await readPlacements(sql),
        await sql`select stand, xmin from portal.mandant where kuerzel = 'W'`,
      ];
      source.serve(makeTenants(x));
      let outcome = {};
      const logged = await listLogged(sql, async () => {
        outcome = await refresh();
      });
      await assertPlacements(sql);
      const now = await readPlacements(sql);
      assert.deepEqual(logged, listChanged(before, now));
      assert.ok(logged.length > 100 && logged.length < 500, `${logged.length} records`);
      const remasked = logged.filter((id) => before.get(id)?.schutz !== now.get(id)?.schutz).length;
      assert.ok(remasked > 0);
      assert.deepEqual(outcome, { mandanten: 2, zugeordnet: logged.length, maskiert: remasked, uebergangen: 0 });
      const { ergebnis, mandanten, zugeordnet, maskiert } = await readLastRun(sql);
      assert.deepEqual(
        { ergebnis, mandanten, zugeordnet, maskiert },
        {
          ergebnis: 'erfolgreich',
          mandanten: 2,
          zugeordnet: logged.length,
          maskiert: remasked,
        },
      );
      assert.deepEqual(await sql`select stand, xmin from portal.mandant where kuerzel = 'W'`, boundaryOfW);
      await assertNothingLeftOver(sql);
    }
  });

  it('leaves what a boundary written by SQL leaves', async () => {
    source.serve(makeTenants(454321.5));
    await refresh();
    const strip = async () => {
      const { boundaries, entries, ...derived } = await readBoundaries(sql);
      return derived;
    };
    const byJob = await strip();
    const move = (x: number) => sql`
      update portal.mandant
      set boundary = st_multi(case kuerzel
        when 'N' then st_makeenvelope(400000, 5500000, ${x}::float8, 5560000, 25832)
        else st_makeenvelope(${x}::float8, 5500000, 500000, 5560000, 25832) end)
      where kuerzel in ('N', 'S')`;
    await move(452000);
    assert.notDeepEqual(await strip(), byJob);
    await move(454321.5);
    assert.deepEqual(await strip(), byJob);
    await move(452000);
    await assertPlacements(sql);
  });

  it('tells with each boundary where it comes from and since when', async () => {
    const read = async () => {
      const [row] = await sql`select quelle, stand from portal.mandant where kuerzel = 'S'`;
      return row as { quelle: string; stand: Date };
    };
    const [first] = await sql<{ now: Date }[]>`select now()`;
    source.serve(makeTenants(453000));
    await refresh({}, { url: `${source.url.replace('//', '//anna:geheim@')}?token=geheim` });
    const byJob = await read();
    assert.equal(byJob.quelle, `${source.url}?token=…`);
    assert.ok(first && byJob.stand >= first.now);
    await sql`update portal.mandant set name = name, boundary = boundary where kuerzel = 'S'`;
    assert.deepEqual(await read(), byJob);
    await sql`update portal.mandant set boundary = st_multi(st_makeenvelope(452000, 5500000, 500000, 5560000, 25832)) where kuerzel = 'S'`;
    const bySql = await read();
    assert.equal(bySql.quelle, 'SQL');
    assert.ok(bySql.stand > byJob.stand);
    const [row] =
      await sql`select st_asgeojson(st_transform(boundary, 4326), 9) as geojson, name, domains from portal.mandant where kuerzel = 'S'`;
    await sql`select api.set_mandant('S', ${row?.name}::text, '02', array['s.test', 's2.test'], ${row?.geojson}::text, 'zeigen')`;
    assert.equal((await read()).quelle, 'Katalog');
    source.serve(makeTenants());
    await refresh();
    await assertPlacements(sql);
  });

  it('merges features of a tenant, knows it by schluessel or kuerzel, and counts what names none', async () => {
    const halves = makeCollection([
      makeFeature({ land: '01' }, frame(400000, 430000)),
      makeFeature({ land: 'n' }, frame(430000, 452000)),
      makeFeature({ land: '02' }, frame(452000, 470000), frame(480000, 500000)),
      makeFeature({ land: 'S' }, frame(465000, 485000)),
      makeFeature({ land: 'w' }, frame(300000, 340000)),
      makeFeature({ land: '99' }, frame(600000, 640000)),
      makeFeature({ land: 'Frankreich' }, frame(200000, 290000)),
    ]);
    source.serve(halves);
    const outcome = await refresh({}, { key: 'land' });
    assert.equal(outcome.uebergangen, 2);
    assert.equal((await readLastRun(sql)).uebergangen, 2);
    const rows = await sql`
      select m.kuerzel, st_equals(m.boundary, st_makeenvelope(x1, 5500000, x2, 5560000, 25832)) as same
      from portal.mandant m
      join (values ('N', 400000, 452000), ('S', 452000, 500000), ('W', 300000, 340000)) t (kuerzel, x1, x2) using (kuerzel)`;
    assert.deepEqual(
      rows.map((row) => row.same),
      [true, true, true],
    );
    await assertPlacements(sql);
    assert.deepEqual((await refresh({}, { key: 'land' })).mandanten, 0);
  });

  it('reprojects degrees, with and without a crs member', async () => {
    const [row] = await sql<{ json: string }[]>`
      select json_agg(json_build_object('type', 'Feature', 'properties', json_build_object('kuerzel', m.kuerzel),
        'geometry', st_asgeojson(st_transform(st_segmentize(case m.kuerzel
          when 'S' then st_makeenvelope(452000, 5500000, 502000, 5560000, 25832) else m.boundary end, 5000), 4326), 12)::json))::text as json
      from portal.mandant m`;
    const features = JSON.parse(row?.json ?? '[]') as object[];
    source.serve(makeCollection(features, null));
    await refresh();
    const [moved] = await sql`select st_xmax(boundary) as east from portal.mandant where kuerzel = 'S'`;
    assert.ok(Math.abs(moved?.east - 502000) < 0.01, String(moved?.east));
    await assertPlacements(sql);
    source.serve(makeCollection(features, { type: 'name', properties: { name: 'urn:ogc:def:crs:OGC:1.3:CRS84' } }));
    assert.equal((await refresh()).mandanten, 0);
  });

  it('reads a file', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'sighting-grenzen-'));
    const path = join(dir, 'grenzen.geojson');
    await writeFile(path, JSON.stringify(makeTenants()));
    await refresh({}, { url: pathToFileURL(path).href, allowPrivate: false });
    assert.equal((await readLastRun(sql)).quelle, 'file: grenzen.geojson');
    await rm(dir, { recursive: true });
    await assertPlacements(sql);
  });

  it('S5.6 accepts a large change by force only, and a self-intersecting boundary made valid', async () => {
    const smaller = makeCollection([
      makeFeature({ kuerzel: 'N' }, frame(400000, 452000)),
      makeFeature({ kuerzel: 'S' }, frame(452000, 496000)),
      // the upper half crosses itself at a single point
      makeFeature({ kuerzel: 'W' }, [
        [300000, 5500000],
        [340000, 5500000],
        [340000, 5559000],
        [330000, 5559000],
        [320000, 5561000],
        [330000, 5561000],
        [320000, 5559000],
        [300000, 5560000],
      ]),
    ]);
    source.serve(smaller);
    await assert.rejects(refresh(), /Fläche von S änderte sich um -8,3 %/);
    assert.equal((await refresh({ force: true })).mandanten, 2);
    const { erzwungen, ergebnis } = await readLastRun(sql);
    assert.deepEqual({ erzwungen, ergebnis }, { erzwungen: true, ergebnis: 'erfolgreich' });
    const [valid] = await sql`select bool_and(st_isvalid(boundary)) as valid from portal.mandant`;
    assert.equal(valid?.valid, true);
    await assertPlacements(sql);
    source.serve(makeTenants());
    await refresh({ force: true });
    await assertPlacements(sql);
  });
});
