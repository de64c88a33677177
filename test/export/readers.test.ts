// Files to publish as a reader of another hand takes them: the csv module of Python gives the rows that analysts see (O5).
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { before, it } from 'node:test';
import { licences } from '../../src/export/licences.ts';
import { arten } from '../support/catalogue.ts';
import { hasProgram } from '../support/child.ts';
import { openTestDatabase } from '../support/database.ts';
import { origin, setLizenz, writeFiles } from '../support/export.ts';
import { makeRecord } from '../support/records.ts';

const skip = !hasProgram('python3', '--version') && 'no python3 here';
type Row = Record<string, string>;

const { sql } = await openTestDatabase();
const script = `
import csv, io, json, zipfile
def table(data, **how): return list(csv.DictReader(io.StringIO(data.decode(), newline=''), strict=True, **how))
tabs = {'delimiter': '\\t', 'quoting': csv.QUOTE_NONE}
archive = zipfile.ZipFile('dwca.zip')
print(json.dumps({
    **{name: table(open(name, 'rb').read()) for name in ('sichtbeobachtung.csv', 'cube.csv')},
    **{name: table(archive.read(name), **tabs) for name in ('occurrence.txt', 'multimedia.txt')}}))`;
let read: Record<string, Row[]> = {};

before(async () => {
  if (skip) return;
  const released = { bereich: 'oeffentlich', status: 'freigegeben' };
  await setLizenz(sql, 'N', 'CC-BY-NC-4.0');
  await sql`update portal.art set name_wissenschaftlich = 'Turdus merula, "L."', name_deutsch = '"Amsel", schwarz' where id = ${arten.amsel}`;
  const remarks = ['er\tsagte "nein",\r\n\\N; ja', '=1+1', '"', '', ' \u{1F98B} ', "'", null];
  for (const [index, bemerkung] of remarks.entries())
    await makeRecord(sql, { ...released, bemerkung, x: 410_000.123 + 6000 * index });
  for (const x of [422_000, 449_000]) await makeRecord(sql, { ...released, art: arten.uhu, x, bemerkung: 'am Horst' });
  await sql`
    update portal.sichtbeobachtung
    set stadium_id = 2, aktivitaet_id = 1, anzahl = 3, medien_lizenz = 'CC-BY-4.0', foto = md5(id::text) || '.jpg', audio = md5(id::text) || '.mp3'`;
  const { directory } = await writeFiles(sql, 'N');
  read = JSON.parse(execFileSync('python3', ['-c', script], { cwd: directory, encoding: 'utf8' }));
});

/** What analysts see of the tenant's records, as text, in the order of the files; the place in degrees. */
async function listSeen(): Promise<Row[]> {
  const rows = await sql`
    select row_to_json(v)::text as json
    from (
      select g.*, st_x(st_transform(g.place, 4326)) as lon, st_y(st_transform(g.place, 4326)) as lat
      from gis.sichtbeobachtung g, portal.mandant m
      where m.kuerzel = 'N' and st_intersects(m.boundary, g.place)
      order by g.cell_x, g.cell_y, g.id) v`;
  return rows.map(({ json }) => {
    const { place, zeile, ...row } = JSON.parse(json) as Record<string, unknown>;
    return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, String(value ?? '')]));
  });
}

function assertNear(lon: string | undefined, lat: string | undefined, seen: Row | undefined): void {
  for (const [value, expected] of [
    [lon, seen?.lon],
    [lat, seen?.lat],
  ])
    assert.ok(Math.abs(Number(value) - Number(expected)) < 1e-7, `${value} ${expected}`);
}

it('sichtbeobachtung.csv has the rows of gis.sichtbeobachtung', { skip }, async () => {
  const rows = read['sichtbeobachtung.csv'] ?? [];
  const seen = await listSeen();
  assert.equal(seen.length, 9);
  for (const [index, { lon, lat, zelle_wkt, ...row }] of rows.entries()) {
    assertNear(lon, lat, seen[index]);
    assert.equal(zelle_wkt === '', row.unschaerfe_m === '0');
  }
  // Nothing that a spreadsheet would compute (O2.16).
  const guarded = (value: string) => (value.startsWith('=') ? `'${value}` : value);
  assert.deepEqual(
    rows.map(({ lon, lat, zelle_wkt, ...row }) => row),
    seen.map(({ lon, lat, ...row }) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, guarded(value)]))),
  );
});

it('occurrence.txt has them too, without tabs and line ends', { skip }, async () => {
  const rows = read['occurrence.txt'] ?? [];
  const seen = await listSeen();
  for (const [index, { decimalLongitude, decimalLatitude }] of rows.entries())
    assertNear(decimalLongitude, decimalLatitude, seen[index]);
  assert.deepEqual(
    rows.map((row) => [
      ...[row.catalogNumber, row.occurrenceID, row.scientificName, row.vernacularName, row.eventDate, row.individualCount],
      ...[row.lifeStage, row.behavior, row.occurrenceRemarks, row.modified],
    ]),
    seen.map((row) => [
      ...[row.id, row.guid, row.name_wissenschaftlich, row.name_deutsch, row.datum, row.anzahl, row.stadium, row.aktivitaet],
      ...[row.bemerkung?.replaceAll(/[\t\r\n]/g, ' '), row.geaendert],
    ]),
  );
  // Each row has as many values as the first line has names.
  assert.ok(rows.every((row) => Object.values(row).every((value) => typeof value === 'string') && !('null' in row)));
});

it('multimedia.txt has the rows of gis.medium', { skip }, async () => {
  const rows = read['multimedia.txt'] ?? [];
  const seen = await sql`
    select g.guid::text as guid, m.name, m.urheber
    from gis.medium m join gis.sichtbeobachtung g on g.id = m.sichtbeobachtung_id
    order by g.cell_x, g.cell_y, g.id, m.nummer`;
  assert.equal(seen.length, 14);
  assert.deepEqual(
    rows,
    seen.map(({ guid, name, urheber }) => ({
      occurrenceID: guid,
      type: name.endsWith('.jpg') ? 'StillImage' : 'Sound',
      format: name.endsWith('.jpg') ? 'image/jpeg' : 'audio/mpeg',
      identifier: `${origin}/api/v2/medien/${name}`,
      license: licences['CC-BY-4.0'].url,
      rightsHolder: urheber ?? '',
    })),
  );
});

it('cube.csv counts them', { skip }, async () => {
  const seen = await sql`
    select format('10kmE%sN%s', r.eea10 / 1000, r.eea10 % 1000) as eeacellcode, g.jahr::text as year, a.eu_guid as specieskey,
      g.name_wissenschaftlich as species, count(*)::text as occurrences
    from gis.sichtbeobachtung g
    join gis.sichtbeobachtung_raster r on r.id = g.id
    join gis.art a on a.id = g.art
    group by r.eea10, g.jahr, a.eu_guid, g.art, g.name_wissenschaftlich
    order by r.eea10, g.jahr, g.art`;
  assert.deepEqual(
    (read['cube.csv'] ?? []).map(({ mincoordinateuncertaintyinmeters, ...row }) => row),
    seen.map((row) => ({ ...row })),
  );
});
