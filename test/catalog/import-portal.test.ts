// Sightings of another portal: records of many people, numbers and guids of their source, experts, photos.
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { sweepStorage } from '../../src/jobs/media.ts';
import { counts, importCsvWith, problemsOf } from '../support/import.ts';
import { makeJpeg } from '../support/photo.ts';
import { countRows, pluck, startTestService } from '../support/service.ts';

const service = await startTestService();
const { sql } = service.database;

type Options = Parameters<typeof importCsvWith>[2];
const load = (csv: string, options: Options = {}) => importCsvWith(service.database, csv, { nutzerId: null, ...options });

/** What is wrong with a file; nothing of it is stored. */
async function refusalOf(csv: string, options: Options = {}): Promise<string[]> {
  const before = await countRows(service);
  const problems = await problemsOf(load(csv, options));
  assert.equal(await countRows(service), before, 'nothing is stored');
  return problems;
}

async function recordsOn(day: string) {
  const rows = await sql`
    select s.id, s.guid, u.loginname, e.loginname as experte, s.status, h.quelle, h.quelle_id, s.foto, s.biotopfoto, s.audio
    from portal.sichtbeobachtung s
    join portal.nutzer u on u.id = s.nutzer_id
    left join portal.nutzer e on e.id = s.experte_id
    left join portal.sichtbeobachtung_herkunft h on h.sichtbeobachtung_id = s.id
    where s.datum = ${day}::text::date
    order by s.id`;
  return rows.map((row) => ({ ...row })) as Record<string, unknown>[];
}

describe('a row', () => {
  it('belongs to the account that it names, by any spelling of it, and else to that of the import', async () => {
    const csv = `art,lat,lon,datum,loginname
2,5530000,430001,2001-01-01,nachbarin
2,5530000,430001,2001-01-01,MELDER
2,5530000,430002,2001-01-01,
`;
    assert.deepEqual(await refusalOf(csv), ['4: loginname ist leer, erlaubt ist ein Text mit höchstens 254 Zeichen']);
    const [login] = await sql<{ id: number }[]>`select id from portal.nutzer where loginname = 'käfer anna'`;
    assert.deepEqual(await load(csv, { nutzerId: login?.id ?? -1 }), counts(3));
    assert.deepEqual(pluck(await recordsOn('2001-01-01'), 'loginname'), ['nachbarin', 'melder', 'käfer anna']);
  });

  it('is a duplicate only of a report of the same person', async () => {
    const row = '2,5530000,430010,2001-01-02';
    const csv = `art,lat,lon,datum,loginname\n${row},melder\n${row},nachbarin\n${row},Melder\n`;
    const same = 'Diese Beobachtung steht schon in Zeile 2: gleiche Art, gleicher Ort, gleiches Datum';
    assert.deepEqual(await refusalOf(csv), [`4: ${same}`]);
    assert.deepEqual(await load(csv, { skipDuplicates: true }), counts(2, 1));
  });

  it('has the expert who decided on it, in the log of decisions too', async () => {
    const csv = `art,lat,lon,datum,bereich,status,loginname,experte
2,5530000,430020,2001-01-03,oeffentlich,freigegeben,melder,expertin
2,5530000,430021,2001-01-03,oeffentlich,abgelehnt,melder,Expertin
2,5530000,430022,2001-01-03,oeffentlich,freigegeben,melder,
`;
    await load(csv);
    assert.deepEqual(pluck(await recordsOn('2001-01-03'), 'status', 'experte'), [
      ['freigegeben', 'expertin'],
      ['abgelehnt', 'expertin'],
      ['freigegeben', null],
    ]);
    const log = await sql`
      select q.status, e.loginname as experte
      from portal.qs q join portal.nutzer e on e.id = q.experte_id where q.datum_beobachtung = '2001-01-03' order by q.id`;
    assert.deepEqual(pluck(log, 'status', 'experte'), [
      ['freigegeben', 'expertin'],
      ['abgelehnt', 'expertin'],
    ]);
  });

  const guid = '1b4e28ba-2fa1-51d2-883f-0016d3cca427';
  const decided = 'loginname,status,bereich,experte';
  const noExpert = 'kein Konto eines Experten oder Administrators heißt so';
  const refused: [what: string, columns: string, row: string, problem: string][] = [
    ['an unknown account', 'loginname', 'niemand', 'loginname ist „niemand“: dieses Konto gibt es nicht'],
    ['an unknown expert', decided, 'melder,freigegeben,oeffentlich,niemand', `experte ist „niemand“: ${noExpert}`],
    ['an expert who is none', decided, 'melder,freigegeben,oeffentlich,nachbarin', `experte ist „nachbarin“: ${noExpert}`],
    [
      'an expert without a decision',
      'loginname,experte',
      'melder,expertin',
      'status ist „pruefung“, erlaubt ist mit experte nur freigegeben oder abgelehnt',
    ],
    [
      'a guid that is none',
      'loginname,guid',
      `melder,${guid}0`,
      `guid ist „${guid}0“, erlaubt ist eine UUID (8-4-4-4-12 hexadezimale Ziffern)`,
    ],
  ];
  for (const [what, columns, cells, problem] of refused) {
    it(`is refused for ${what}`, async () => {
      assert.deepEqual(await refusalOf(`art,lat,lon,${columns}\n2,5530000,430030,${cells}\n`), [`2: ${problem}`]);
    });
  }

  it('needs the option that says what its column means', async () => {
    assert.deepEqual(await refusalOf('art,lat,lon,quelle_id,foto\n2,5530000,430031,1,a.jpg\n'), [
      '1: Spalte quelle_id braucht --quelle NAME',
      '1: Spalte foto braucht --dateien VERZEICHNIS',
      '1: Spalte loginname fehlt, oder --loginname L',
    ]);
    assert.deepEqual(await refusalOf('art,lat,lon,loginname\n2,5530000,430031,melder\n', { quelle: 'alt' }), [
      '1: Spalte quelle_id fehlt, die zu --quelle gehört',
    ]);
  });
});

describe('the guid of another portal', () => {
  const guid = 'C7AB1AD4-53D4-5D17-8BB9-2C1D9D9F6E55';
  const header = 'art,lat,lon,datum,loginname,guid';

  it('stays, and is given once', async () => {
    await load(`${header}\n2,5530000,430040,2001-02-01,melder,${guid}\n2,5530000,430041,2001-02-01,melder,\n`);
    const [first, second] = await recordsOn('2001-02-01');
    assert.equal(first?.guid, guid.toLowerCase());
    assert.notEqual(second?.guid, first?.guid);
    const again = `${header}
2,5530000,430042,2001-02-01,melder,${guid}
2,5530000,430043,2001-02-01,melder,${second?.guid}
2,5530000,430044,2001-02-01,melder,5d1d1b8e-2f8f-5d6c-9a34-6d2b4f0d4a11
2,5530000,430045,2001-02-01,melder,5D1D1B8E-2F8F-5D6C-9A34-6D2B4F0D4A11
`;
    assert.deepEqual(await refusalOf(again), [
      `2: Diese guid hat oder hatte schon die Beobachtung mit id ${first?.id}`,
      `3: Diese guid hat oder hatte schon die Beobachtung mit id ${second?.id}`,
      '5: Diese guid steht schon in Zeile 4',
    ]);
    await sql`delete from portal.sichtbeobachtung where id = ${first?.id as number}`;
    assert.deepEqual(await refusalOf(`${header}\n2,5530000,430042,2001-02-01,melder,${guid}\n`), [
      `2: Diese guid hat oder hatte schon die Beobachtung mit id ${first?.id}`,
    ]);
  });
});

describe('the number in a source', () => {
  const header = 'art,lat,lon,datum,loginname,quelle_id';
  const rows = (count: number, at = 0) =>
    Array.from({ length: count }, (_, index) => `2,5530000,${431000 + at + index},2001-03-01,melder,A-${at + index}`).join('\n');

  it('is known again: nothing of it is updated, and what was deleted here stays deleted', async () => {
    assert.deepEqual(await load(`${header}\n${rows(3)}\n`, { quelle: 'alt' }), counts(3));
    const records = await recordsOn('2001-03-01');
    assert.deepEqual(pluck(records, 'quelle', 'quelle_id'), [
      ['alt', 'A-0'],
      ['alt', 'A-1'],
      ['alt', 'A-2'],
    ]);
    await sql`delete from portal.sichtbeobachtung where id = ${records[1]?.id as number}`;
    await sql`update portal.sichtbeobachtung set bemerkung = 'hier' where id = ${records[0]?.id as number}`;
    // Known rows are looked at no further: the second is elsewhere now, the fourth is new.
    const again = `${header}\n${rows(3)}\n${rows(1, 3)}\n`;
    assert.deepEqual(await load(again, { quelle: 'alt', dryRun: true }), counts(1, 0, 3));
    assert.deepEqual(await load(again, { quelle: 'alt' }), counts(1, 0, 3));
    assert.deepEqual(pluck(await recordsOn('2001-03-01'), 'quelle_id'), ['A-0', 'A-2', 'A-3']);
    const [kept] = await sql`select bemerkung from portal.sichtbeobachtung where id = ${records[0]?.id as number}`;
    assert.equal(kept?.bemerkung, 'hier');
  });

  it('is that of one source, and stands in a file once', async () => {
    const csv = (day: string) => `${header}\n2,5530000,431100,${day},melder,A-0\n`;
    assert.deepEqual(await load(csv('2001-03-02'), { quelle: 'andere' }), counts(1));
    const twice = `${header}\n2,5530000,431101,2001-03-02,melder,B\n2,5530000,431102,2001-03-02,melder,B\n`;
    assert.deepEqual(await refusalOf(twice, { quelle: 'andere' }), ['3: Diese quelle_id steht schon in Zeile 2']);
    assert.deepEqual(await refusalOf(`${header}\n2,5530000,431101,2001-03-02,melder,\n`, { quelle: 'andere' }), [
      '2: quelle_id ist leer, erlaubt ist ein Text mit höchstens 200 Zeichen',
    ]);
  });

  it('makes of an import that is run twice at once one', async () => {
    const csv = `${header}\n${rows(50, 100)}\n`;
    const results = await Promise.allSettled([load(csv, { quelle: 'doppelt' }), load(csv, { quelle: 'doppelt' })]);
    const stored = results.map((result) => (result.status === 'fulfilled' ? result.value.stored : 0));
    assert.equal(stored[0] as number, stored[1] === 50 ? 0 : 50);
    assert.equal((await recordsOn('2001-03-01')).filter(({ quelle }) => quelle === 'doppelt').length, 50);
  });
});

describe('files', () => {
  let outer = '';
  let directory = '';
  before(async () => {
    outer = await mkdtemp(join(tmpdir(), 'sighting-files-'));
    directory = join(outer, 'bilder');
    await mkdir(join(directory, '2020'), { recursive: true });
    await writeFile(join(outer, 'fremd.jpg'), await makeJpeg({ width: 40, height: 40 }));
    await symlink(join(outer, 'fremd.jpg'), join(directory, 'verweis.jpg'));
    await writeFile(join(directory, '2020', 'a b.jpg'), await makeJpeg({ width: 200, height: 100 }));
    await writeFile(join(directory, 'c.jpg'), await makeJpeg({ width: 100, height: 120 }));
    await writeFile(join(directory, 'kein.jpg'), 'kein Foto');
    await writeFile(join(directory, 'gross.jpg'), Buffer.alloc(12 * 1024 * 1024 + 1));
  });
  after(() => rm(outer, { recursive: true }));

  const media = () => ({ directory, threads: service.media.threads, storage: service.media.storage });
  const header = 'art,lat,lon,datum,bereich,status,loginname,foto,biotopfoto,audio';
  const row = (lon: number, day: string, cells: string, status = 'freigegeben') =>
    `2,5530000,${lon},${day},oeffentlich,${status},melder,${cells}`;

  async function listStored(): Promise<string[]> {
    const names: string[] = [];
    for await (const { name } of media().storage.list()) names.push(name);
    return names.sort();
  }

  it('become photos of their records, each its own, and everybody sees them', async () => {
    const csv = `${header}\n${row(432001, '2001-04-01', '2020/a b.jpg,c.jpg,')}\n${row(432002, '2001-04-01', './2020/../2020/a b.jpg,,')}\n`;
    assert.deepEqual(await load(csv, { media: media() }), counts(2));
    const [first, second] = await recordsOn('2001-04-01');
    const names = [first?.foto, first?.biotopfoto, second?.foto];
    assert.equal(new Set(names).size, 3);
    for (const name of names) {
      const answer = await service.request(`/medien/${name}`);
      assert.equal(answer.status, 200);
      assert.equal(answer.headers.get('content-type'), 'image/jpeg');
    }
    const [left] = await sql`select count(*)::integer as count from portal.medium_import`;
    assert.equal(left?.count, 0);
  });

  const path = 'erlaubt ist der Pfad einer Datei unterhalb des Verzeichnisses von --dateien';
  const refused: [what: string, cells: string, problem: string][] = [
    ['one that there is not', 'nirgends.jpg,,', `foto ist „nirgends.jpg“, ${path}`],
    ['a link that leads outside', 'verweis.jpg,,', `foto ist „verweis.jpg“, ${path}`],
    ['one outside', '../fremd.jpg,,', `foto ist „../fremd.jpg“, ${path}`],
    ['an absolute path', '/etc/passwd,,', `foto ist „/etc/passwd“, ${path}`],
    ['a directory', ',2020,', `biotopfoto ist „2020“, ${path}`],
    ['one that is too large', 'gross.jpg,,', 'foto: die Datei ist zu groß, erlaubt sind 12 MB'],
    ['one that is no photo', 'kein.jpg,,', 'foto ist kein JPEG, erlaubt sind JPEG-Fotos bis 250 Megapixel.'],
    [
      'one that is no sound',
      ',,kein.jpg',
      'audio ist keine Tonaufnahme, die dieser Dienst kennt, erlaubt sind mp3, wav, aac, amr, awb, m4a, oga und flac.',
    ],
  ];
  for (const [what, cells, problem] of refused) {
    it(`refuse the import for ${what}`, async () => {
      const csv = `${header}\n${row(432010, '2001-04-02', 'c.jpg,,')}\n${row(432011, '2001-04-02', cells)}\n`;
      assert.deepEqual(await refusalOf(csv, { media: media() }), [`3: ${problem}`]);
    });
  }

  it('are made once, also when the import is broken off and begun again; the sweep of the storage leaves them a week', async () => {
    await sql`delete from portal.medium_import`;
    const stored = await listStored();
    const good = row(432020, '2001-04-03', '2020/a b.jpg,,');
    await refusalOf(`${header}\n${good}\n${row(432021, '2001-04-03', 'kein.jpg,,')}\n`, { media: media() });
    const made = (await listStored()).filter((name) => !stored.includes(name));
    assert.equal(made.length, 1);
    const soon = new Date(Date.now() + 60_000);
    await sweepStorage(sql, media().storage, soon);
    await load(`${header}\n${good}\n`, { media: media() });
    const [record] = await recordsOn('2001-04-03');
    assert.equal(record?.foto, made[0]);
    assert.equal((await service.request(`/medien/${made[0]}`)).status, 200);
    // A second record with the same file gets one of its own.
    await load(`${header}\n${row(432022, '2001-04-04', '2020/a b.jpg,,')}\n`, { media: media() });
    assert.notEqual((await recordsOn('2001-04-04'))[0]?.foto, made[0]);

    await refusalOf(`${header}\n${row(432023, '2001-04-05', 'c.jpg,,')}\n${row(432021, '2001-04-05', 'kein.jpg,,')}\n`, {
      media: media(),
    });
    const before = await listStored();
    await sql`update portal.medium_import set angelegt = now() - interval '8 days'`;
    await sql`select api.sweep_medium_import()`;
    assert.equal(await sweepStorage(sql, media().storage, soon), 1);
    assert.equal((await listStored()).length, before.length - 1);
  });

  it('are made anew when the storage has them no longer', async () => {
    const good = row(432025, '2001-04-07', '2020/a b.jpg,,');
    await refusalOf(`${header}\n${good}\n${row(432026, '2001-04-07', 'kein.jpg,,')}\n`, { media: media() });
    const [left] = await sql<{ name: string }[]>`select name from portal.medium_import`;
    await media().storage.remove([left?.name ?? '']);
    await load(`${header}\n${good}\n`, { media: media() });
    const [record] = await recordsOn('2001-04-07');
    assert.notEqual(record?.foto, left?.name);
    assert.equal((await service.request(`/medien/${record?.foto}`)).status, 200);
  });

  it('of rows that are known or left out are not looked at, and a dry run stores none', async () => {
    const csv = `art,lat,lon,datum,loginname,quelle_id,foto\n2,5530000,432030,2001-04-06,melder,F-1,c.jpg\n`;
    const before = await readdir(directory);
    const stored = await listStored();
    assert.deepEqual(await load(csv, { media: media(), quelle: 'fotos', dryRun: true }), counts(1));
    assert.deepEqual(await listStored(), stored);
    await load(csv, { media: media(), quelle: 'fotos' });
    assert.deepEqual(await load(csv.replace('c.jpg', 'fort.jpg'), { media: media(), quelle: 'fotos' }), counts(0, 0, 1));
    assert.equal((await listStored()).length, stored.length + 1);
    assert.deepEqual(await readdir(directory), before);
  });
});
