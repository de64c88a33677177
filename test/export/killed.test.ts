// A run for files to publish that is killed (S5.1): what there was stays whole, and the next run removes what the killed one left.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { after, before, it } from 'node:test';
import { type Database, openDatabase } from '../../src/db/client.ts';
import { type ExportStand, listExport } from '../../src/db/export.ts';
import { openStorage } from '../../src/media/open-storage.ts';
import type { Storage } from '../../src/media/storage.ts';
import { loadTestCatalogue } from '../support/catalogue.ts';
import { closeAtEnd, onPostgres, waitForWaiter } from '../support/database.ts';
import { setLizenz } from '../support/export.ts';
import { makeSite, runCli, type Site, startCli } from '../support/process.ts';
import { makeRecord } from '../support/records.ts';
import { startFakeServer, startS3Server } from '../support/s3.ts';
import { listFiles } from '../support/storage.ts';
import { waitFor } from '../support/wait.ts';

let site: Site;
let storage: Storage;
/** How many more files are stored before the storage says nothing any more. */
let puts = Number.POSITIVE_INFINITY;
const publish = ['export', 'publish'];

before(async () => {
  const server = await startS3Server();
  const door = await startFakeServer(async ({ method, url, body }, response) => {
    if (method === 'PUT' && --puts < 0) return;
    const answer = await fetch(new URL(url.pathname + url.search, server.settings.endpoint), {
      method,
      ...(method === 'PUT' && { body }),
    });
    response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(Buffer.from(await answer.arrayBuffer()));
  });
  closeAtEnd(server.close);
  closeAtEnd(door.close);
  const { endpoint, accessKeyId, secretAccessKey } = door.settings;
  storage = openStorage({ bucket: 'media', prefix: '', settings: server.settings });
  site = await makeSite({ isMigrated: true });
  Object.assign(site.env, {
    MEDIA_URL: 's3://media',
    AWS_ENDPOINT_URL: endpoint,
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
  });
  await inDatabase(async ({ sql }) => {
    await loadTestCatalogue(sql);
    await setLizenz(sql, 'N');
    await makeRecord(sql, { bereich: 'oeffentlich', status: 'freigegeben' });
  });
});
after(() => site.remove());

/** With the database open, which an embedded one is for one process at a time. */
async function inDatabase<T>(work: (database: Database) => Promise<T>): Promise<T> {
  const { DATABASE_URL, DATA_DIR = '' } = site.env;
  const database = await openDatabase({ databaseUrl: DATABASE_URL || null, dataDir: DATA_DIR });
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

/** What is published: with files that are whole, and nothing beside them in the storage once a run has ended. */
async function readStand(database: Database): Promise<ExportStand> {
  const [stand] = await listExport(database.sql, 'N');
  assert.ok(stand);
  for (const { datei, objekt, sha256 } of stand.dateien) {
    const file = await storage.open(objekt);
    assert.ok(file, datei);
    assert.equal(
      createHash('sha256')
        .update(await buffer(file.stream))
        .digest('hex'),
      sha256,
      datei,
    );
  }
  return stand;
}

const listWork = () => listFiles(join(site.env.DATA_DIR ?? '', 'export'));
async function listStored(): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of storage.listExport()) names.push(name);
  return names.sort();
}

async function publishWell(): Promise<ExportStand> {
  const { code, err } = await runCli(site, publish);
  assert.equal(code, 0, err);
  const stand = await inDatabase(readStand);
  assert.deepEqual([stand.dateien.length, stand.gueltig, stand.fehler], [5, true, null]);
  assert.deepEqual(await listStored(), stand.dateien.map(({ objekt }) => objekt).sort());
  assert.deepEqual(await listWork(), []);
  return stand;
}

async function killWhenStoring(): Promise<void> {
  const before = await listStored();
  puts = 2;
  const child = startCli(site, publish);
  await waitFor('the third file', () => puts < 0);
  child.kill('SIGKILL');
  await once(child, 'close');
  puts = Number.POSITIVE_INFINITY;
  assert.equal((await listStored()).length, before.length + 2, 'there is something to remove');
  assert.equal((await listWork()).length, 5);
}

it('S5.1 killed while it stores, the first run leaves no file, a later one the old files', async () => {
  await killWhenStoring();
  assert.deepEqual((await inDatabase(readStand)).dateien, []);
  const old = await publishWell();
  await inDatabase(({ sql }) => makeRecord(sql, { bereich: 'oeffentlich', status: 'freigegeben' }));
  await killWhenStoring();
  const { dateien, gueltig } = await inDatabase(readStand);
  assert.deepEqual([dateien, gueltig], [old.dateien, true]);
  assert.notDeepEqual((await publishWell()).dateien, old.dateien);
});

it('S5.1 killed while it writes, it leaves the old files', {
  skip: !onPostgres && 'the embedded database is in the process that is killed, and nobody else can make it wait',
}, async () => {
  const old = await publishWell();
  await inDatabase(async (database) => {
    await makeRecord(database.sql, { bereich: 'oeffentlich', status: 'freigegeben' });
    await database.connect().begin(async (tx) => {
      // Read after the head of the archive is written.
      await tx`lock table portal.medium_gezeigt in access exclusive mode`;
      const child = startCli(site, publish);
      await waitForWaiter(database.sql);
      assert.deepEqual(await listWork(), ['dwca.zip']);
      child.kill('SIGKILL');
      await once(child, 'close');
    });
    assert.deepEqual((await readStand(database)).dateien, old.dateien);
  });
  assert.notDeepEqual((await publishWell()).dateien, old.dateien);
});
