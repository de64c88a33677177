// Files to publish: made, made anew, wrong from the commit of a change that hides, and as they were when something fails (O5).
import assert from 'node:assert/strict';
import { readdir, readlink, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, it } from 'node:test';
import { listExport, listExportFaellig } from '../../src/db/export.ts';
import { type ExportWork, publishExport, sweepExport } from '../../src/jobs/export.ts';
import { makeExportName } from '../../src/media/name.ts';
import { type Storage, StorageError } from '../../src/media/storage.ts';
import { createLog } from '../../src/observe/log.ts';
import { makeDirectory } from '../support/end.ts';
import { startTestService } from '../support/service.ts';

const service = await startTestService();
const { database } = service;
const { sql } = database;
const { storage } = service.media;
const dataDir = await makeDirectory();
const work: ExportWork = { storage, dataDir, publicUrl: 'https://{domain}', log: createLog('silent') };
await sql`
  update portal.mandant set lizenz = 'CC0-1.0', herausgeber = 'Land', kontakt = 'x@example.org', titel = 'Arten', beschreibung = 'Alle'
  where kuerzel = 'N'`;
const id = await service.makeReleased();

const publish = (over: Partial<ExportWork> = {}) => publishExport(database.served, 'N', { ...work, ...over });
const stand = async () => {
  const [found] = await listExport(sql, 'n');
  assert.ok(found);
  return found;
};
const listStored = async () => {
  const names: string[] = [];
  for await (const { name } of storage.listExport()) names.push(name);
  return names.sort();
};
/** A storage that can do all but this. */
const failing = (put: Storage['putFile']): Storage =>
  new Proxy(storage, {
    get: (target, name) => (name === 'putFile' ? put : (target[name as keyof Storage] as () => void).bind(target)),
  });

beforeEach(async () => {
  assert.equal(await publish(), null);
});

it('a run makes all files; a second one with the same data stores nothing and changes no time', async () => {
  const before = await stand();
  assert.deepEqual([before.dateien.length, before.gueltig, before.fehler], [5, true, null]);
  assert.deepEqual(await listStored(), before.dateien.map(({ objekt }) => objekt).sort());
  assert.equal(await publish({ storage: failing(() => assert.fail('stored anew')) }), null);
  assert.deepEqual((await stand()).dateien, before.dateien);
  assert.deepEqual(await readdir(join(dataDir, 'export')), [], 'nothing is left to work with');
  assert.deepEqual(await listExportFaellig(sql, false), []);
});

it('a new record makes no file wrong; what it replaces is removed', async () => {
  const before = await stand();
  await service.makeReleased({ lon: '421000' });
  assert.equal((await stand()).gueltig, true);
  assert.equal(await publish(), null);
  const after = await stand();
  assert.equal(after.dateien.length, 5);
  assert.notDeepEqual(after.dateien, before.dateien);
  assert.deepEqual(await listStored(), after.dateien.map(({ objekt }) => objekt).sort());
});

const makePublished = async (lon: string) => {
  const made = await service.makeReleased({ lon });
  assert.equal(await publish(), null);
  return made;
};
const hiding: Record<string, () => Promise<unknown>> = {
  'another domain, to which links lead': async () => sql`
    update portal.mandant set domains = '{n3.test}' || domains where kuerzel = 'N'`,
  withdrawal: async () => sql`
    update portal.sichtbeobachtung set status = 'pruefung', experte_id = null where id = ${await makePublished('431000')}`,
  deletion: async () => sql`delete from portal.sichtbeobachtung where id = ${await makePublished('432000')}`,
  'a boundary that moved': async () => sql`
    update portal.mandant set boundary = st_multi(st_makeenvelope(400000, 5500000, 425000, 5560000, 25832)) where kuerzel = 'N'`,
  sensitivity: async () => sql`
    update portal.art_mandant set sensibel = true where art = 2 and mandant_id = (select m.id from portal.mandant m where m.kuerzel = 'N')`,
};
for (const [what, hide] of Object.entries(hiding))
  it(`O5.2 ${what} makes the files wrong from its commit, and the next run mends it`, async () => {
    await hide();
    assert.equal((await stand()).gueltig, false);
    assert.deepEqual(await listExportFaellig(sql, false), ['N']);
    assert.equal(await publish(), null);
    assert.equal((await stand()).gueltig, true);
  });

it('S5.5 a storage that fails leaves the old files, and a sentence that tells nothing', async () => {
  const before = await stand();
  await service.makeReleased({ lon: '415000' });
  const fails = failing(() => Promise.reject(new StorageError('S3 answers 403 geheim')));
  assert.equal(await publish({ storage: fails }), 'Die Ablage der Dateien geht nicht.');
  const after = await stand();
  assert.deepEqual([after.dateien, after.fehler], [before.dateien, 'Die Ablage der Dateien geht nicht.']);
  assert.deepEqual(await listExportFaellig(sql, false), [], 'it is tried again later');
  await sql`update portal.export_lauf set beendet = now() - interval '11 minutes'`;
  assert.deepEqual(await listExportFaellig(sql, false), ['N']);
});

it('leaves no file open that it could not finish', { skip: process.platform !== 'linux' && 'needs /proc' }, async () => {
  const listOpen = async () => {
    const numbers = await readdir('/proc/self/fd');
    const paths = await Promise.all(numbers.map((number) => readlink(`/proc/self/fd/${number}`).catch(() => '')));
    return paths.filter((path) => path.includes(dataDir));
  };
  await sql`revoke select on gis.medium from gis_public`;
  try {
    assert.notEqual(await publish(), null);
  } finally {
    await sql`grant select on gis.medium to gis_public`;
  }
  assert.deepEqual(await listOpen(), []);
});

it('S5.1 what a killed run left is swept, and a lost file is stored again under its name', async () => {
  const { dateien } = await stand();
  const path = join(dataDir, 'x');
  await writeFile(path, 'x');
  await storage.putFile(makeExportName('N', 'cube.csv'), path, 'text/csv');
  await sweepExport(database.served, storage);
  const names = dateien.map(({ objekt }) => objekt).sort();
  assert.deepEqual(await listStored(), names);
  await storage.remove(names.slice(1));
  await rm(join(dataDir, 'export'), { recursive: true });
  assert.equal(await publish(), null);
  assert.deepEqual(await listStored(), names);
});

it('a tenant without a licence has no files any more', async () => {
  await sql`update portal.mandant set lizenz = null where kuerzel = 'N'`;
  assert.deepEqual(await listExportFaellig(sql, false), ['N']);
  assert.equal(await publish(), null);
  assert.deepEqual([await listStored(), await listExport(sql, null)], [[], []]);
  assert.ok(id > 0);
});
