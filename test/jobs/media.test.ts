// Files that no record names any more, or never did.
import assert from 'node:assert/strict';
import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, it } from 'node:test';
import { removeEntfernt, sweepStorage } from '../../src/jobs/media.ts';
import { makeMediumName } from '../../src/media/name.ts';
import { makeJpeg } from '../support/photo.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
before(async () => {
  service = await startTestService();
});

async function listNames(): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of service.media.storage.list()) names.push(name);
  return names.sort();
}
let places = 0;
async function makeWithPhoto(): Promise<{ id: number; name: string }> {
  const photo = new Blob([await makeJpeg({ width: 16, height: 16 })]);
  const form = { art: '2', lat: '5530000', lon: String(410_000 + ++places), datum: '1.9.2026', foto: photo };
  const { json } = await service.request('/sichtbeobachtungen', { as: 'melder', form });
  const id = json.result[0].id as number;
  const [row] = await service.database.sql<{ foto: string }[]>`select foto from portal.sichtbeobachtung where id = ${id}`;
  return { id, name: row?.foto as string };
}

it('S1.9 files of records that SQL deletes or changes are removed; one that another record names stays', async () => {
  const { database, media } = service;
  const [deleted, changed, moved, heir] = [
    await makeWithPhoto(),
    await makeWithPhoto(),
    await makeWithPhoto(),
    await makeWithPhoto(),
  ];
  await database.sql`delete from portal.sichtbeobachtung where id = ${deleted.id}`;
  await database.sql`update portal.sichtbeobachtung set foto = null where id = ${changed.id}`;
  await database.sql`update portal.sichtbeobachtung set foto = null where id = ${moved.id}`;
  await database.sql`update portal.sichtbeobachtung set foto_2 = ${moved.name}, bemerkung = 'geerbt' where id = ${heir.id}`;
  assert.equal((await listNames()).length, 4);
  await removeEntfernt(database.sql, media.storage);
  assert.deepEqual(await listNames(), [moved.name, heir.name].sort());
  const [left] = await database.sql`select count(*)::integer as n from portal.medium_entfernt`;
  assert.equal(left?.n, 0);
});

it('a removal that fails is tried again', async () => {
  const { database, media } = service;
  const { id, name } = await makeWithPhoto();
  const remove = media.storage.remove.bind(media.storage);
  media.storage.remove = async () => Promise.reject(new Error('away'));
  assert.equal((await service.request(`/sichtbeobachtungen/${id}`, { as: 'melder', method: 'DELETE' })).status, 200);
  assert.ok((await listNames()).includes(name));
  await assert.rejects(removeEntfernt(database.sql, media.storage));
  media.storage.remove = remove;
  await removeEntfernt(database.sql, media.storage);
  assert.ok(!(await listNames()).includes(name));
});

it('S5.1 what killed uploads left is swept when it is a day old, and nothing else', async () => {
  const { database, media, mediaDirectory } = service;
  const kept = await makeWithPhoto();
  const orphan = makeMediumName('jpg');
  await media.storage.put(orphan, new Uint8Array([1]), 'image/jpeg');
  const named = await listNames();
  assert.equal(await sweepStorage(database.sql, media.storage, new Date(Date.now() - 3_600_000)), 0);
  assert.deepEqual(await listNames(), named);
  assert.equal(await sweepStorage(database.sql, media.storage, new Date(Date.now() + 60_000)), 1);
  assert.deepEqual(
    await listNames(),
    named.filter((name) => name !== orphan),
  );
  assert.ok((await listNames()).includes(kept.name));

  const uploads = join(mediaDirectory, 'uploads');
  await mkdir(uploads, { recursive: true });
  await writeFile(join(uploads, 'alt'), 'x');
  await utimes(join(uploads, 'alt'), 0, 0);
  await writeFile(join(uploads, 'neu'), 'x');
  await media.uploads.removeLeftovers(new Date(Date.now() - 3_600_000));
  assert.deepEqual(await readdir(uploads), ['neu']);
});
