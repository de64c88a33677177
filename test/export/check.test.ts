// `export check` (O5.8): what the next files would change, told before.
import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { it } from 'node:test';
import { compareExport, type ExportedRecord } from '../../src/db/export-check.ts';
import { setLizenz, writeFiles } from '../support/export.ts';
import { startTestService } from '../support/service.ts';

const service = await startTestService();
const { sql } = service.database;

it('O5.8 counts records that come, go and move against those of a file', async () => {
  await setLizenz(sql, 'N');
  const [moves, goes] = [await service.makeReleased(), await service.makeReleased({ lon: '420700' })];
  await service.makeReleased({ lon: '420800' });
  const { bytesOf } = await writeFiles(sql, 'N', ['sichtbeobachtung.csv']);
  const [head = '', ...lines] = bytesOf('sichtbeobachtung.csv').toString().trimEnd().split('\n');
  const at = ['guid', 'lon', 'lat'].map((name) => head.split(',').indexOf(name)) as [number, number, number];
  const stored = lines.map((line) => {
    const cells = line.split(',');
    return { guid: cells[at[0]], lon: cells[at[1]], lat: cells[at[2]] } as ExportedRecord;
  });
  const compare = () => compareExport(sql, 'n', Readable.from([stored]));
  assert.deepEqual(await compare(), { alt: 3, kommen: 0, gehen: 0, wechseln: 0 });

  await sql`update portal.sichtbeobachtung set point = st_translate(point, 100, 0) where id = ${moves}`;
  await sql`delete from portal.sichtbeobachtung where id = ${goes}`;
  await service.makeReleased({ lon: '420900' });
  assert.deepEqual(await compare(), { alt: 3, kommen: 1, gehen: 1, wechseln: 1 });
});
