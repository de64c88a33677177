// The bulk import stores what POST stores, in all columns, links and logs; of what it refuses it tells every error by line, and stores nothing.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { v5 } from 'uuid';
import { formatProblems } from '../../src/catalog/csv.ts';
import { describeProblems, ImportError } from '../../src/catalog/problems.ts';
import { listFeld } from '../../src/sichtbeobachtung-felder.ts';
import type { Account } from '../support/catalogue.ts';
import { twoOf } from '../support/felder.ts';
import { counts, importCsv, importCsvWith, problemsOf } from '../support/import.ts';
import { countRows, pluck, startTestService } from '../support/service.ts';

const service = await startTestService();
const { database } = service;
const { sql } = database;

const imported = listFeld().filter(([, { column }]) => column !== undefined);
const columns: string[] = imported.map(([name]) => name);
type Fields = Record<string, string>;

function toCsv(rows: Fields[], names = columns): string {
  const cell = (value = '') => (/[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
  return [names.join(','), ...rows.map((row) => names.map((name) => cell(row[name])).join(','))].join('\n');
}

/** Everything that is stored about an account's records, in their order, without what must differ. */
async function describeRecords(account: Account) {
  const rows = await sql`
    select to_jsonb(s) - '{id,guid,nutzer_id,angelegt}'::text[] as columns,
      st_asewkt(s.point, 17) as point, st_asewkt(s.shown_point, 17) as shown_point, st_asewkt(s.raster_point, 17) as raster_point,
      (select jsonb_agg(to_jsonb(l) - 'sichtbeobachtung_id' order by l.mandant_id)
        from portal.mandant_sichtbeobachtung l where l.sichtbeobachtung_id = s.id) as mandanten,
      (select jsonb_agg(p.audit) from portal.protokoll p where p.sichtbeobachtung_id = s.id) as protokoll,
      (select jsonb_agg(to_jsonb(q) - '{id,sichtbeobachtung_id,nutzer_id,zeitpunkt}'::text[])
        from portal.qs q where q.sichtbeobachtung_id = s.id) as qs
    from portal.sichtbeobachtung s
    join portal.nutzer u on u.id = s.nutzer_id
    where u.loginname = ${account}
    order by s.id`;
  return rows.map((row) => ({ ...row }));
}

const removeRecords = (account: Account) => sql`
  delete from portal.sichtbeobachtung s using portal.nutzer u where u.id = s.nutzer_id and u.loginname = ${account}`;

describe('an imported sighting', () => {
  // N has its eastern, S its western border at 452 000, inside a cell; 340 000 to 400 000 belongs to nobody.
  const places: [lat: string, lon: string, srid: string][] = [
    ['5530000', '420000', ''],
    ['5530000.123456', '420000.7', 'EPSG:25832'],
    ['5530123', '451999.999', 'EPSG:25832'],
    ['5530123', '452000', 'EPSG:25832'],
    ['5530123', '453500', 'EPSG:25832'],
    ['5530000', '370000', ''],
    ['5559999.9', '311111.1', ''],
    ['5e6', '+0', ''],
    ['49.9', '8.1', 'EPSG:4326'],
    ['50.000000001', '7.777777777777777', 'EPSG:4326'],
    ['6428000.55', '890000.25', 'EPSG:3857'],
    ['6446275', '1001875', 'EPSG:3857'],
  ];
  // Each empty too: an empty cell is a field that was not sent.
  const cells: Record<string, string[]> = {
    ...Object.fromEntries(imported.map(([name, feld]) => [name, ['', twoOf(feld).report[0], twoOf(feld).change[0]]])),
    anzahl: ['', '1', '20000', ' 7 ', '+3'],
    sensibel: ['', 'true', 'FALSE', '1', '0', 'True'],
    bereich: ['', 'privat', 'oeffentlich'],
    bemerkung: ['', 'an der Hütte', ' Leerzeichen ', 'a\\b\tc "d", e', 'zwei\r\nZeilen', 'u\u0308ber'],
  };
  const days = ['', '1.9.2026', '01.01.1800', '29.02.2024', ' 3.10.1999 '];
  const rows: Fields[] = places.flatMap(([lat, lon, srid], place) =>
    ['1', '2', '3', '4', '5'].map((art, index) => ({
      ...Object.fromEntries(Object.entries(cells).map(([name, values]) => [name, values[(place + index) % values.length] ?? ''])),
      ...{ art, lat, lon, srid, datum: days[(place * 2 + index) % 5] ?? '' },
    })),
  );

  it('is stored exactly as POST stores it, with its tenants and both logs', async () => {
    for (const row of rows) {
      // POST refuses an empty bereich.
      const form = Object.fromEntries(Object.entries(row).filter(([, value]) => value !== ''));
      const answer = await service.request('/sichtbeobachtungen', { as: 'melder', form });
      assert.equal(answer.status, 201, `${JSON.stringify(row)} ${answer.text}`);
    }
    assert.equal(await importCsv(database, toCsv(rows), 'nachbarin'), rows.length);
    const [posted, imported] = [await describeRecords('melder'), await describeRecords('nachbarin')];
    assert.equal(posted.length, rows.length);
    assert.ok(posted.some((record) => record.schutz !== 0));
    for (const [index, row] of rows.entries()) assert.deepEqual(imported[index], posted[index], JSON.stringify(row));
  });

  it('has the columns that the trigger derives, also one that everybody is shown and one with a guid of its own', async () => {
    const released = rows.map((row, index) => ({
      ...row,
      ...{ bereich: 'oeffentlich', status: 'freigegeben', guid: index % 3 ? '' : v5(`record ${index}`, v5.URL) },
    }));
    assert.equal(await importCsv(database, toCsv(released, [...columns, 'status', 'guid']), 'expertin'), rows.length);
    const read = () => sql`
      select to_jsonb(s) as columns, st_asewkt(s.shown_point, 17) as shown_point
      from portal.sichtbeobachtung s join portal.nutzer u on u.id = s.nutzer_id
      where u.loginname = 'expertin'
      order by s.id`;
    const [made, guids] = [[...(await read())], new Set(released.map(({ guid }) => guid))];
    assert.deepEqual(new Set(made.map(({ columns }) => columns.schutz)), new Set([0, 1, 2]));
    assert.ok(made.every(({ columns }) => columns.kopf_json.includes(columns.guid)));
    assert.equal(made.filter(({ columns }) => guids.has(columns.guid)).length, guids.size - 1);
    await sql`update portal.sichtbeobachtung set kopf_json = null, shown_point = raster_point where true`;
    assert.deepEqual([...(await read())], made);
    await removeRecords('expertin');
  });

  it('is checked again where it is stored, and what follows is derived as ever', async () => {
    const store = (place: string, day: string) =>
      sql.begin(async (tx) => {
        await tx`select api.create_sichtbeobachtung_import()`;
        await tx.unsafe(`
          insert into pg_temp.sichtbeobachtung_import (zeile, art, lat, lon, srid, anzahl, sensibel, datum, bereich, status)
          values (1, 2, ${place}, 25832, 1, false, ${day}, 'privat', 'pruefung')`);
        await tx`select api.prepare_sichtbeobachtung_import((select max(id) from portal.nutzer), null, false)`;
        await tx`select api.create_sichtbeobachtung_of_import(null, 0, 1000)`;
        const derived = await tx`
          insert into portal.sichtbeobachtung (nutzer_id, art, point, datum)
          select max(id), 2, st_setsrid(st_makepoint(420001, 5530001), 25832), '2020-01-01' from portal.nutzer
          returning guid`;
        assert.equal(derived.length, 1);
        await tx`rollback and chain`;
      });
    await store('5530000, 420000', "'2020-01-01'");
    await assert.rejects(store('6530000, 420000', "'2020-01-01'"), { code: 'GBIET' });
    await assert.rejects(store('5530000, 420000', 'current_date + 2'), { code: 'DATUM' });
    await assert.rejects(store('5530000, 420000', "'1799-12-31'"), { code: 'DATUM' });
  });

  it('that is only said to be derived is not stored', async () => {
    const stored = sql.begin(async (tx) => {
      await tx`select set_config('portal.abgeleitet', 'import', true)`;
      await tx`
        insert into portal.sichtbeobachtung (nutzer_id, art, point, datum)
        select max(id), 2, st_setsrid(st_makepoint(420000, 5530000), 25832), '2020-01-01' from portal.nutzer`;
    });
    await assert.rejects(stored, { code: '23502' });
  });

  it('has the guid of its id', async () => {
    const records = await sql<{ id: number; guid: string; namespace: string }[]>`
      select s.id, s.guid, i.guid_namespace as namespace from portal.sichtbeobachtung s, portal.installation i`;
    assert.ok(records.length >= rows.length);
    for (const { id, guid, namespace } of records) assert.equal(guid, v5(String(id), namespace));
  });

  it('changes the version behind the ETags', async () => {
    const standOf = async () => (await sql<{ stand: string }[]>`select api.get_stand_gezeigt() as stand`)[0]?.stand;
    const stand = await standOf();
    await importCsv(
      database,
      toCsv(
        [{ art: '2', lat: '5530001', lon: '420001', bereich: 'oeffentlich', status: 'freigegeben' }],
        ['art', 'lat', 'lon', 'bereich', 'status'],
      ),
    );
    assert.notEqual(await standOf(), stand);
  });
});

describe('a file with few columns', () => {
  it('has the defaults of POST for the others', async () => {
    await removeRecords('käfer anna');
    assert.equal(await importCsv(database, 'lon,art,lat\n420000,7,5530000\n', 'käfer anna'), 1);
    const [record] = await sql`
      select s.art, s.anzahl, s.sensibel, s.bereich, s.status, s.bemerkung, s.stadium_id, s.aktivitaet_id, s.experte_id,
        s.datum = (now() at time zone 'Europe/Berlin')::date as today
      from portal.sichtbeobachtung s join portal.nutzer u on u.id = s.nutzer_id where u.loginname = 'käfer anna'`;
    assert.deepEqual(
      { ...record },
      {
        ...{ art: 7, anzahl: 1, sensibel: false, bereich: 'privat', status: 'pruefung', today: true },
        ...{ bemerkung: null, stadium_id: null, aktivitaet_id: null, experte_id: null },
      },
    );
  });

  it('with a header line alone stores nothing', async () => {
    assert.equal(await importCsv(database, 'lon,art,lat\n', 'käfer anna'), 0);
  });
});

it('the status of an imported sighting is the one given, and is in the QS log of a published one', async () => {
  await removeRecords('nachbarin');
  const statuses = ['', 'pruefung', 'hinweis', 'freigegeben', 'abgelehnt'];
  const place = { art: '2', lat: '5530000' };
  const published = statuses.map((status, index) => ({
    ...place,
    lon: String(430000 + index),
    bereich: 'oeffentlich',
    status,
  }));
  const names = [...columns, 'status'];
  const own = { ...place, lon: '431000', bereich: 'privat', status: 'pruefung' };
  assert.equal(await importCsv(database, toCsv([...published, own], names), 'nachbarin'), 6);
  const records = await describeRecords('nachbarin');
  const wanted = ['pruefung', 'pruefung', 'hinweis', 'freigegeben', 'abgelehnt'];
  assert.deepEqual(pluck(pluck(records, 'columns'), 'status'), [...wanted, 'pruefung']);
  const logged = records.map(({ qs }) => qs && pluck(qs, 'status', 'experte_id'));
  assert.deepEqual(logged, [...wanted.map((status) => [[status, null]]), null]);
  const list = await service.request('/sichtbeobachtungen?bbox=430000,5529999,430010,5530001&restrict=status');
  assert.deepEqual(list.json.result, [{ status: 'Freigegeben' }]);
});

describe('many sightings', () => {
  it('10 000 of them have their tenants, log entries and ids in the order of the file', async () => {
    await removeRecords('melder');
    const rows = Array.from({ length: 10_000 }, (_, index) => ({
      art: String(1 + (index % 6)),
      lat: String(5500000 + ((index * 7919) % 60000)),
      lon: String(400000 + ((index * 104729) % 100000)),
      datum: '1.9.2026',
      bemerkung: `Nummer ${index}`,
    }));
    const steps: string[] = [];
    const progress = {
      step: (label: string, done: number, total: number) => void steps.push(`${label} ${done}/${total}`),
      end() {},
    };
    assert.equal(await importCsv(database, toCsv(rows), 'melder', progress), 10_000);
    assert.deepEqual(
      [steps[0], ...steps.slice(-3)],
      ['Lesen (MB) 1/1', 'Prüfen 0/1', 'Speichern 0/10000', 'Speichern 10000/10000'],
    );
    const [sums] = await sql`
      with own as (
        select s.*, row_number() over (order by s.id) - 1 as position
        from portal.sichtbeobachtung s join portal.nutzer u on u.id = s.nutzer_id where u.loginname = 'melder')
      select count(*)::integer as records,
        (count(*) filter (where own.bemerkung = 'Nummer ' || own.position))::integer as in_order,
        (select count(*)::integer from portal.protokoll p join own on own.id = p.sichtbeobachtung_id where p.audit = 'CREATE') as created,
        (select count(distinct l.sichtbeobachtung_id)::integer
          from portal.mandant_sichtbeobachtung l join own on own.id = l.sichtbeobachtung_id) as placed
      from own`;
    assert.deepEqual({ ...sums }, { records: 10_000, in_order: 10_000, created: 10_000, placed: 10_000 });
  });

  it('are stored part by part when they are long, and the parts are the whole', async () => {
    const bemerkung = 'Lorem ipsum dolor sit amet, consetetur sadipscing elitr. '.repeat(33);
    const rows = Array.from({ length: 4500 }, (_, index) => ({
      art: '2',
      lat: '5530000',
      lon: String(400000 + index),
      datum: '2.9.2026',
      bemerkung: `${index} ${bemerkung}`,
    }));
    const steps: string[] = [];
    const progress = { step: (label: string, done: number) => void steps.push(`${label} ${done}`), end() {} };
    assert.equal(await importCsv(database, toCsv(rows), 'nachbarin', progress), 4500);
    assert.ok(steps.filter((step) => step.startsWith('Speichern')).length > 2, steps.join('; '));
    const [sums] = await sql`
      select count(*)::integer as n, count(distinct split_part(s.bemerkung, ' ', 1))::integer as different
      from portal.sichtbeobachtung s where s.datum = '2026-09-02' and s.bemerkung like '% Lorem ipsum%'`;
    assert.deepEqual({ ...sums }, { n: 4500, different: 4500 });
  });
});

async function assertRefused(content: string | Buffer, problems: string[]): Promise<void> {
  const before = await countRows(service);
  assert.deepEqual(await problemsOf(importCsv(database, content)), problems);
  assert.equal(await countRows(service), before);
}

const good = '2,5530000,420000';
const number = 'erlaubt ist eine Zahl';
const day = 'erlaubt ist ein Tag, den es gibt, als TT.MM.JJJJ oder JJJJ-MM-TT';
const allowed =
  'art,lat,lon,srid,anzahl,sensibel,datum,bereich,bemerkung,stadium_id,aktivitaet_id,medien_lizenz,status,loginname,experte,quelle_id,guid,foto,foto_2,foto_3,biotopfoto,audio';

describe('a cell', () => {
  const header = 'art,lat,lon,srid,anzahl,sensibel,datum,bereich,bemerkung,stadium_id,aktivitaet_id,status';
  const cells: [row: string, ...problems: string[]][] = [
    [',5530000,420000,,,,,,,,,', 'art ist leer, erlaubt ist eine ganze Zahl von 0 bis 2147483647'],
    ['x,5530000,420000,,,,,,,,,', 'art ist „x“, erlaubt ist eine ganze Zahl von 0 bis 2147483647'],
    ['2.5,5530000,420000,,,,,,,,,', 'art ist „2.5“, erlaubt ist eine ganze Zahl von 0 bis 2147483647'],
    ['99999999999,5530000,420000,,,,,,,,,', 'art ist „99999999999“, erlaubt ist eine ganze Zahl von 0 bis 2147483647'],
    ['4711,5530000,420000,,,,,,,,,', 'art ist „4711“: diese Art definiert kein Mandant'],
    ['2,,420000,,,,,,,,,', `lat ist leer, ${number} (Hochwert im Koordinatensystem aus srid)`],
    ['2,"5,530,000",420000,,,,,,,,,', `lat ist „5,530,000“, ${number} (Hochwert im Koordinatensystem aus srid)`],
    ['2,5530000,NaN,,,,,,,,,', `lon ist „NaN“, ${number} (Rechtswert im Koordinatensystem aus srid)`],
    ['2,5530000,Infinity,,,,,,,,,', `lon ist „Infinity“, ${number} (Rechtswert im Koordinatensystem aus srid)`],
    ['2,5530000,1e999,,,,,,,,,', `lon ist „1e999“, ${number} (Rechtswert im Koordinatensystem aus srid)`],
    ['2,5530000,420000,25832,,,,,,,,', 'srid ist „25832“, erlaubt ist EPSG:25832, EPSG:4326 oder EPSG:3857'],
    ['2,91,8,EPSG:4326,,,,,,,,', 'lat ist „91“: das liegt außerhalb des Wertebereichs des Koordinatensystems in srid'],
    ['2,4000000,420000,,,,,,,,,', 'lat ist „4000000“, lon ist „420000“: der Ort liegt außerhalb des Gebiets dieses Dienstes'],
    [
      '2,420000,5530000,,,,,,,,,',
      'lat ist „420000“, lon ist „5530000“: der Ort liegt außerhalb des Gebiets dieses Dienstes; vertauscht lägen lat (Hochwert) und lon (Rechtswert) darin',
    ],
    ['2,5530000,420000,,0,,,,,,,', 'anzahl ist „0“, erlaubt ist eine ganze Zahl von 1 bis 20000'],
    ['2,5530000,420000,,20001,,,,,,,', 'anzahl ist „20001“, erlaubt ist eine ganze Zahl von 1 bis 20000'],
    ['2,5530000,420000,,,ja,,,,,,', 'sensibel ist „ja“, erlaubt ist true oder false'],
    ['2,5530000,420000,,,,31.02.2024,,,,,', `datum ist „31.02.2024“, ${day}`],
    ['2,5530000,420000,,,,29.02.2023,,,,,', `datum ist „29.02.2023“, ${day}`],
    ['2,5530000,420000,,,,2024-2-1,,,,,', `datum ist „2024-2-1“, ${day}`],
    ['2,5530000,420000,,,,31.12.1799,,,,,', 'datum ist „31.12.1799“: erlaubt ist ein Tag zwischen dem 01.01.1800 und heute'],
    ['2,5530000,420000,,,,01.01.2999,,,,,', 'datum ist „01.01.2999“: erlaubt ist ein Tag zwischen dem 01.01.1800 und heute'],
    ['2,5530000,420000,,,,,öffentlich,,,,', 'bereich ist „öffentlich“, erlaubt ist privat oder oeffentlich'],
    [
      '2,5530000,420000,,,,,,a\0b,,,',
      'bemerkung ist „a·b“, erlaubt ist ein Text mit höchstens 4000 Zeichen, ohne NUL und höchstens 30 kombinierenden Zeichen hintereinander',
    ],
    [`2,5530000,420000,,,,,,${'ä'.repeat(32769)},,,`, 'bemerkung ist länger als 65536 Bytes'],
    ['2,5530000,420000,,,,,,,99,,', 'stadium_id ist „99“: dieses Stadium gibt es nicht'],
    ['2,5530000,420000,,,,,,,,99,', 'aktivitaet_id ist „99“: diese Aktivität gibt es nicht'],
    ['2,5530000,420000,,,,,oeffentlich,,,,neu', 'status ist „neu“, erlaubt ist pruefung, hinweis, freigegeben oder abgelehnt'],
    ['2,5530000,420000,,,,,,,,,freigegeben', 'status ist „freigegeben“, erlaubt ist mit bereich privat nur pruefung'],
    ['2,5530000,420000', '3 Felder statt 12'],
    [
      'x,5530000,4,,0,,,,,,99,',
      'art ist „x“, erlaubt ist eine ganze Zahl von 0 bis 2147483647',
      'anzahl ist „0“, erlaubt ist eine ganze Zahl von 1 bis 20000',
      'aktivitaet_id ist „99“: diese Aktivität gibt es nicht',
    ],
  ];
  for (const [row, ...problems] of cells) {
    it(`${JSON.stringify(row.slice(0, 60))} is refused`, () =>
      assertRefused(
        `${header}\n2,5530000,420001,,,,,,,,,\n${row}\n`,
        problems.map((problem) => `3: ${problem}`),
      ));
  }
});

describe('a file', () => {
  const files: [name: string, content: string | Buffer, problems: string[]][] = [
    ['that is empty', '', [`1: Die Kopfzeile fehlt, erwartet: ${allowed}`]],
    ['without lon', 'art,lat\n2,5530000\n', ['1: Spalte lon fehlt']],
    [
      'with an unknown and a doubled column',
      'art,lat,lon,ort,lat\n',
      [
        `1: Spalte „ort“ ist unbekannt oder doppelt, erlaubt: ${allowed}`,
        `1: Spalte „lat“ ist unbekannt oder doppelt, erlaubt: ${allowed}`,
      ],
    ],
    [
      'with a quote that stays open',
      `art,lat,lon,bemerkung\n${good},"offen\n${good},\n`,
      ['2: Die Zeile ist kein gültiges CSV; ein Anführungszeichen wird nicht geschlossen'],
    ],
    [
      'in UTF-8 with a line in latin-1',
      Buffer.concat([Buffer.from(`art,lat,lon,bemerkung\n${good},schön\n`), Buffer.from('2,5530000,420001,über\n', 'latin1')]),
      ['3: Die Zeile ist nicht UTF-8; in Excel: Speichern unter, „CSV UTF-8 (durch Trennzeichen getrennt)“'],
    ],
    [
      'with the same report twice, line breaks before it',
      `art,lat,lon,bemerkung\n${good},"zwei\r\nZeilen"\n${good},noch einmal\n2,5530000.0001,420000.0001,anders geschrieben\n`,
      [
        '4: Diese Beobachtung steht schon in Zeile 2: gleiche Art, gleicher Ort, gleiches Datum',
        '5: Diese Beobachtung steht schon in Zeile 2: gleiche Art, gleicher Ort, gleiches Datum',
      ],
    ],
  ];
  for (const [name, content, problems] of files) it(`${name} is refused`, () => assertRefused(content, problems));

  it('of a German Excel is loaded as it was saved, with what that leaves empty', async () => {
    const rows = ['art;lat;lon;srid;datum;sensibel;bemerkung;;', '2;49,9;8,1;EPSG:4326;01.03.2021;WAHR;Größe: 3,5 cm;;'];
    const csv = [...rows, ...Array(40).fill(';;;;;;;;'), ''].join('\r\n');
    const hints: string[] = [];
    const warn = (sentence: string) => hints.push(sentence);
    assert.deepEqual(await importCsvWith(database, Buffer.from(csv, 'latin1'), { warn }, 'nachbarin'), counts(1));
    assert.deepEqual(hints, ['liste.csv: 40 leere Zeilen ausgelassen']);
    const [record] = await sql`
      select bemerkung, sensibel, st_x(st_transform(point, 4326))::numeric(9, 6)::text as lon
      from portal.sichtbeobachtung order by id desc limit 1`;
    assert.deepEqual({ ...record }, { bemerkung: 'Größe: 3,5 cm', sensibel: true, lon: '8.100000' });
  });

  it('with a report that the account has made already is refused, for another account it is not', async () => {
    assert.equal(await importCsv(database, `art,lat,lon,datum\n${good},1.2.2020\n`), 1);
    const [record] = await sql`select max(id)::integer as id from portal.sichtbeobachtung`;
    const again = `art,lat,lon,datum\n2,5530000,420009,1.2.2020\n${good},1.2.2020\n`;
    await assertRefused(again, [
      `3: Diese Beobachtung ist schon gespeichert (id ${record?.id}): gleiche Art, gleicher Ort, gleiches Datum`,
    ]);
    assert.equal(await importCsv(database, again, 'nachbarin'), 2);
  });

  it('with many errors tells all of them in the order of the lines, on a terminal a hundred and how many of each kind', async () => {
    const rows = Array.from({ length: 300 }, (_, index) => (index % 2 === 0 ? '4711,5530000,420000' : `2,5530000,ost${index}`));
    const before = await countRows(service);
    await assert.rejects(importCsv(database, `art,lat,lon\n${rows.join('\n')}\n`), (error) => {
      assert.ok(error instanceof ImportError);
      assert.match(error.message, /^449 Fehler, nichts wurde geladen\.$/);
      const lines = error.problems.map(({ line }) => line);
      assert.equal(lines.length, 449);
      const sorted = [...lines].sort((a, b) => a - b);
      assert.deepEqual(lines, sorted);
      const shown = describeProblems(error.problems);
      assert.equal(shown[0], 'liste.csv:2: art ist „4711“: diese Art definiert kein Mandant (ebenso in 149 weiteren Zeilen)');
      assert.deepEqual(shown.slice(100), [
        '… und 52 weitere; alle als CSV mit --errors DATEI. Nach Art:',
        '     150 × liste.csv: art ist „…“: diese Art definiert kein Mandant',
        '     150 × liste.csv: lon ist „…“, erlaubt ist eine Zahl (Rechtswert im Koordinatensystem aus srid)',
        '     149 × liste.csv: Diese Beobachtung steht schon in Zeile …: gleiche Art, gleicher Ort, gleiches Datum',
      ]);
      const [header, first, ...others] = formatProblems(error.problems).trimEnd().split('\n');
      assert.equal(header, 'datei,zeile,fehler');
      assert.equal(first, 'liste.csv,2,art ist „4711“: diese Art definiert kein Mandant');
      assert.equal(others.length, 448);
      assert.ok(others.every((line) => /^liste\.csv,\d+,("[^"]*"|[^",]*)$/.test(line)));
      return true;
    });
    assert.equal(await countRows(service), before);
  });
});

describe('with an option', () => {
  it('reports that are there already, or twice in the file, are left out and counted', async () => {
    const first = `art,lat,lon,datum\n2,5530000,421001,2020-02-29\n`;
    assert.deepEqual(await importCsvWith(database, first, {}), counts(1));
    const [stored] =
      await sql`select max(id)::integer as id, max(datum)::text as datum from portal.sichtbeobachtung where datum = '2020-02-29'`;
    assert.equal(stored?.datum, '2020-02-29');
    const rows = [
      '2,5530000,421001,29.2.2020',
      '2,5530000,421002,29.2.2020',
      '2,5530000.0001,421002.0001,2020-02-29',
      '2,5530000,421003,29.2.2020',
    ];
    const again = `art,lat,lon,datum\n${rows.join('\n')}\n`;
    const before = await countRows(service);
    assert.deepEqual(await importCsvWith(database, again, { skipDuplicates: true, dryRun: true }), counts(2, 2));
    assert.equal(await countRows(service), before);
    assert.deepEqual(await importCsvWith(database, again, { skipDuplicates: true }), counts(2, 2));
    assert.deepEqual(await importCsvWith(database, again, { skipDuplicates: true }), counts(0, 4));
    assert.equal(await countRows(service), before + 2);
    // What is wrong otherwise is refused as always.
    await assert.rejects(
      importCsvWith(database, `${again}4711,5530000,421004,1.1.2020\n`, { skipDuplicates: true }),
      ImportError,
    );
    assert.equal(await countRows(service), before + 2);
  });

  it('columns that mean nothing here are left out, but not those that are there twice or must be there', async () => {
    const row = '2,5530000,421005,1.3.2020,egal';
    await assertRefused(`art,lat,lon,datum,observer\n${row}\n`, [
      `1: Spalte „observer“ ist unbekannt oder doppelt, erlaubt: ${allowed}`,
    ]);
    assert.deepEqual(await importCsvWith(database, `art,lat,lon,datum,observer\n${row}\n`, { ignoreColumns: true }), counts(1));
    for (const header of ['art,lat,lon,lat,observer', 'art,lat,datum,observer,x'])
      await assert.rejects(importCsvWith(database, `${header}\n${row}\n`, { ignoreColumns: true }), ImportError, header);
  });

  it('everything is checked and nothing stored', async () => {
    const before = await countRows(service);
    assert.deepEqual(await importCsvWith(database, 'art,lat,lon\n2,5530000,421006\n', { dryRun: true }), counts(1));
    await assert.rejects(importCsvWith(database, 'art,lat,lon\n4711,5530000,421006\n', { dryRun: true }), ImportError);
    assert.equal(await countRows(service), before);
    // The connection's transaction ended too.
    assert.deepEqual(await importCsvWith(database, 'art,lat,lon\n2,5530000,421006\n', {}), counts(1));
  });
});

describe('a file of another kind', () => {
  const kinds: [what: string, content: Buffer, says: string][] = [
    [
      'a workbook',
      Buffer.from('PK\x03\x04\x14\0\x06\0', 'latin1'),
      'Die Datei ist eine Arbeitsmappe (.xlsx, .ods) oder ein ZIP-Archiv',
    ],
    ['an old workbook', Buffer.from('d0cf11e0a1b11ae1', 'hex'), 'Die Datei ist eine Arbeitsmappe von Excel (.xls)'],
  ];
  for (const [what, content, says] of kinds) {
    it(`is called what it is: ${what}`, () =>
      assertRefused(content, [
        `1: ${says}, nötig ist CSV; in Excel: Speichern unter, „CSV UTF-8 (durch Trennzeichen getrennt)“`,
      ]));
  }
});
