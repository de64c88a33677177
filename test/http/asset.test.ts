// Files that come with the service.
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { readOnce } from '../../src/http/wire/asset.ts';

it('a file is read once, and again where it could not be read', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'sighting-asset-'));
  t.after(() => rm(directory, { recursive: true }));
  const path = join(directory, 'a.css');
  const read = readOnce(path);
  await assert.rejects(Promise.all([read(), read()]), { code: 'ENOENT' });
  await writeFile(path, 'eins');
  const first = await read();
  assert.equal(Buffer.from(first).toString(), 'eins');
  await writeFile(path, 'zwei');
  assert.equal(await read(), first);
});
