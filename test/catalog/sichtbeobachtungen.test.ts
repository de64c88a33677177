// The bulk import stores what POST stores, in all columns, links and logs.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { v5 } from 'uuid';
import { listFeld } from '../../src/sichtbeobachtung-felder.ts';
import type { Account } from '../support/catalogue.ts';
import { twoOf } from '../support/felder.ts';
import { importCsv } from '../support/import.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
before(async () => {
  service = await startTestService();
});

const imported = listFeld().filter(([, { column }]) => column !== undefined);
const columns: string[] = imported.map(([name]) => name);
type Fields = Record<string, string>;

function toCsv(rows: Fields[], names = columns): string {
  const cell = (value = '') => (/[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
  return [names.join(','), ...rows.map((row) => names.map((name) => cell(row[name])).join(','))].join('\n');
}

/** Everything that is stored about an account's records, in their order, without what must differ. */
async function describeRecords(account: Account) {
  const rows = await service.database.sql`
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

const removeRecords = (account: Account) => service.database.sql`
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
    assert.equal(await importCsv(service.database, toCsv(rows), 'nachbarin'), rows.length);
    const [posted, imported] = [await describeRecords('melder'), await describeRecords('nachbarin')];
    assert.equal(posted.length, rows.length);
    assert.ok(posted.some((record) => record.schutz !== 0));
    for (const [index, row] of rows.entries()) assert.deepEqual(imported[index], posted[index], JSON.stringify(row));
  });

  it('has the guid of its id', async () => {
    const records = await service.database.sql<{ id: number; guid: string; namespace: string }[]>`
      select s.id, s.guid, i.guid_namespace as namespace from portal.sichtbeobachtung s, portal.installation i`;
    assert.ok(records.length >= rows.length);
    for (const { id, guid, namespace } of records) assert.equal(guid, v5(String(id), namespace));
  });

  it('changes the version behind the ETags', async () => {
    const standOf = async () =>
      (await service.database.sql<{ stand: string }[]>`select api.get_stand_gezeigt() as stand`)[0]?.stand;
    const stand = await standOf();
    await importCsv(
      service.database,
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
    assert.equal(await importCsv(service.database, 'lon,art,lat\n420000,7,5530000\n', 'käfer anna'), 1);
    const [record] = await service.database.sql`
      select s.art, s.anzahl, s.sensibel, s.bereich, s.status, s.bemerkung, s.stadium_id, s.aktivitaet_id, s.experte_id,
        s.datum = (now() at time zone 'Europe/Berlin')::date as today
      from portal.sichtbeobachtung s join portal.nutzer u on u.id = s.nutzer_id where u.loginname = 'käfer anna'`;
    assert.deepEqual(
      { ...record },
      {
        art: 7,
        anzahl: 1,
        sensibel: false,
        bereich: 'privat',
        status: 'pruefung',
        bemerkung: null,
        stadium_id: null,
        aktivitaet_id: null,
        experte_id: null,
        today: true,
      },
    );
  });

  it('with a header line alone stores nothing', async () => {
    assert.equal(await importCsv(service.database, 'lon,art,lat\n', 'käfer anna'), 0);
  });
});

describe('the status of an imported sighting', () => {
  it('is the one given, and is in the QS log of a published one', async () => {
    await removeRecords('nachbarin');
    const statuses = ['', 'pruefung', 'hinweis', 'freigegeben', 'abgelehnt'];
    const published = statuses.map((status, index) => ({
      art: '2',
      lat: '5530000',
      lon: String(430000 + index),
      bereich: 'oeffentlich',
      status,
    }));
    const names = [...columns, 'status'];
    const own = { art: '2', lat: '5530000', lon: '431000', bereich: 'privat', status: 'pruefung' };
    assert.equal(await importCsv(service.database, toCsv([...published, own], names), 'nachbarin'), 6);
    const records = (await describeRecords('nachbarin')) as {
      columns: { status: string };
      qs: { status: string; experte_id: null }[] | null;
    }[];
    const wanted = ['pruefung', 'pruefung', 'hinweis', 'freigegeben', 'abgelehnt'];
    assert.deepEqual(
      records.map((record) => record.columns.status),
      [...wanted, 'pruefung'],
    );
    assert.deepEqual(
      records.map((record) => record.qs?.map(({ status, experte_id }) => [status, experte_id])),
      [...wanted.map((status) => [[status, null]]), undefined],
    );
    const list = await service.request('/sichtbeobachtungen?bbox=430000,5529999,430010,5530001&restrict=status');
    assert.deepEqual(list.json.result, [{ status: 'Freigegeben' }]);
  });
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
    assert.equal(await importCsv(service.database, toCsv(rows), 'melder', progress), 10_000);
    assert.deepEqual(
      [steps[0], ...steps.slice(-3)],
      ['Lesen (MB) 1/1', 'Prüfen 0/1', 'Speichern 0/10000', 'Speichern 10000/10000'],
    );
    const [sums] = await service.database.sql`
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
    assert.equal(await importCsv(service.database, toCsv(rows), 'nachbarin', progress), 4500);
    assert.ok(steps.filter((step) => step.startsWith('Speichern')).length > 2, steps.join('; '));
    const [sums] = await service.database.sql`
      select count(*)::integer as n, count(distinct split_part(s.bemerkung, ' ', 1))::integer as different
      from portal.sichtbeobachtung s where s.datum = '2026-09-02' and s.bemerkung like '% Lorem ipsum%'`;
    assert.deepEqual({ ...sums }, { n: 4500, different: 4500 });
  });
});
