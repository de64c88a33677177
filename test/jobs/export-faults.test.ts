// Files to publish when something goes wrong while they are made: a change that hides, a full disk, a storage that is away (O5.2, S5.5).
import assert from 'node:assert/strict';
import { mkdir, readdir, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { beforeEach, describe, it, type TestContext } from 'node:test';
import { type ExportStand, listExport, listExportFaellig } from '../../src/db/export.ts';
import { watchService } from '../../src/http/service-metrics.ts';
import { type ExportWork, publishExport } from '../../src/jobs/export.ts';
import { type Storage, StorageError } from '../../src/media/storage.ts';
import { createLog } from '../../src/observe/log.ts';
import { createMetrics } from '../../src/observe/metrics.ts';
import { arten } from '../support/catalogue.ts';
import { onPostgres } from '../support/database.ts';
import { makeDirectory } from '../support/end.ts';
import { readArchive, setLizenz } from '../support/export.ts';
import { makeRecord, setSensibel } from '../support/records.ts';
import { startTestService } from '../support/service.ts';
import { mountSmall } from '../support/storage.ts';

const service = await startTestService();
const { database } = service;
const { sql } = database;
const { storage } = service.media;
const work: ExportWork = { storage, dataDir: await makeDirectory(), publicUrl: 'https://{domain}', log: createLog('silent') };
await setLizenz(sql, 'N');

const publish = (over: Partial<ExportWork> = {}) => publishExport(database.served, 'N', { ...work, ...over });
async function readStand(): Promise<ExportStand> {
  const [stand] = await listExport(sql, 'N');
  assert.ok(stand);
  return stand;
}
const ask = (path: string, method = 'GET') => service.request(`/export/v1/${path}`, { below: '', method });
/** A storage that does this before it takes a file. */
const before = (put: () => Promise<unknown>): Storage =>
  new Proxy(storage, {
    get: (target, name) =>
      name === 'putFile'
        ? async (...file: Parameters<Storage['putFile']>) => {
            await put();
            await target.putFile(...file);
          }
        : (target[name as keyof Storage] as () => void).bind(target),
  });

let records = 0;
/** A record that is in no file yet, with a remark and a photo of its own. */
async function makeNew(art: number = arten.amsel) {
  const bemerkung = `am Horst ${++records}`;
  const foto = `${String(records).padStart(32, '0')}.jpg`;
  const id = await makeRecord(sql, { art, bereich: 'oeffentlich', status: 'freigegeben', bemerkung });
  await sql`update portal.sichtbeobachtung set foto = ${foto}, medien_lizenz = 'CC-BY-4.0' where id = ${id}`;
  const [row] = await sql`select guid from portal.sichtbeobachtung where id = ${id}`;
  return { id, guid: row?.guid as string, bemerkung, foto };
}

beforeEach(async () => {
  assert.equal(await publish(), null);
});

describe('O5.2 what is hidden while files are made of it', {
  skip: !onPostgres && 'the embedded database runs one transaction at a time',
}, () => {
  type New = Awaited<ReturnType<typeof makeNew>>;
  const hiding: Record<string, { art?: number; hide: (record: New) => Promise<unknown>; hidden: keyof New }> = {
    withdrawal: {
      hide: ({ id }) => sql`update portal.sichtbeobachtung set status = 'pruefung', experte_id = null where id = ${id}`,
      hidden: 'guid',
    },
    deletion: { hide: ({ id }) => sql`delete from portal.sichtbeobachtung where id = ${id}`, hidden: 'guid' },
    sensitivity: { art: arten.hornisse, hide: () => setSensibel(sql, 'N', arten.hornisse, true), hidden: 'bemerkung' },
    'a licence of a photo': {
      hide: ({ id }) => sql`update portal.sichtbeobachtung set medien_lizenz = '' where id = ${id}`,
      hidden: 'foto',
    },
  };
  for (const [what, { art, hide, hidden }] of Object.entries(hiding))
    it(`${what}: the new files are not served, and the next run mends it`, async () => {
      const record = await makeNew(art);
      let done: Promise<unknown> | undefined;
      const readTexts = async () => {
        const archive = (await readStand()).dateien.find(({ datei }) => datei === 'dwca.zip');
        const file = await storage.open(archive?.objekt ?? '');
        assert.ok(file);
        return [...(await readArchive(await buffer(file.stream))).texts.values()].join('\n');
      };
      // Once, and committed before the first file is stored.
      const hides = before(() => {
        done ??= hide(record);
        return done;
      });
      assert.equal(await publish({ storage: hides }), null);
      assert.ok((await readTexts()).includes(String(record[hidden])), 'the run does not know of it');
      assert.equal((await readStand()).gueltig, false);
      assert.equal((await ask('N/dwca.zip', 'HEAD')).status, 503);
      assert.deepEqual(await listExportFaellig(sql, false), ['N']);

      assert.equal(await publish(), null);
      assert.equal((await readStand()).gueltig, true);
      assert.equal((await ask('N/dwca.zip', 'HEAD')).status, 200);
      assert.ok(!(await readTexts()).includes(String(record[hidden])));
    });
});

describe('S5.5 what keeps new files from being made', () => {
  const full = 'Auf dem Datenträger ist kein Platz mehr (ENOSPC).';
  /** With so many bytes left in the data directory; null where that can't be made. */
  async function fill(t: TestContext, left: number): Promise<Partial<ExportWork> | null> {
    const dataDir = join(await makeDirectory(), 'full');
    await mkdir(dataDir);
    if (!mountSmall(t, dataDir)) return null;
    const { bavail, bsize } = await statfs(dataDir);
    await writeFile(join(dataDir, 'other'), Buffer.alloc(bavail * bsize - left));
    return { dataDir };
  }
  const faults: Record<string, { fehler: string; over: (t: TestContext) => Promise<Partial<ExportWork> | null> }> = {
    'a disk without a byte left': {
      fehler: full,
      over: (t) => fill(t, 0),
    },
    'a disk on which a GeoPackage has no place': {
      fehler: full,
      over: (t) => fill(t, 40_960),
    },
    'a storage that is away': {
      fehler: 'Die Ablage der Dateien geht nicht.',
      over: async () => ({ storage: before(() => Promise.reject(new StorageError('S3 answers 503'))) }),
    },
  };
  for (const [what, { fehler, over }] of Object.entries(faults))
    it(`${what}: the old files are served, and page and figures tell of it`, async (t) => {
      const broken = await over(t);
      if (broken === null) return;
      await makeNew();
      const { dateien: old } = await readStand();
      assert.equal(await publish(broken), fehler);
      const { dateien, gueltig, ...run } = await readStand();
      assert.deepEqual([dateien, gueltig, run.fehler], [old, true, fehler]);
      for (const { datei, sha256 } of old) {
        const { status, headers } = await ask(`N/${datei}`);
        assert.deepEqual([status, headers.get('etag')], [200, `"${sha256}"`], datei);
      }
      assert.deepEqual(await readdir(join(broken.dataDir ?? work.dataDir, 'export')), [], 'nothing is left to work with');
      assert.ok((await ask('?f=html')).text.includes(`gescheitert: ${fehler}`));
      assert.match(await collect(), /^export_run_age_seconds\{mandant="N",outcome="failure"\} \d/m);

      assert.equal(await publish(), null);
      assert.notDeepEqual((await readStand()).dateien, old);
      assert.doesNotMatch((await ask('?f=html')).text, /gescheitert/);
      assert.match(await collect(), /^export_run_age_seconds\{mandant="N",outcome="success"\} \d/m);
      assert.doesNotMatch(await collect(), /outcome="failure"/);
    });

  function collect(): Promise<string> {
    const metrics = createMetrics();
    watchService(metrics, { sql, feed: null, hasBoundarySource: false });
    return metrics.collect();
  }
});
