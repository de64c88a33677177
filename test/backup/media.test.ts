// The files of a backup, from one kind of storage to another.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, it } from 'node:test';
import { promisify } from 'node:util';
import { checkMedia, copyMedia, formatList, openCopy, readList, restoreMedia } from '../../src/backup/media.ts';
import { makeMediumName } from '../../src/media/name.ts';
import { openStorage } from '../../src/media/open-storage.ts';
import { type S3Server, startS3Server } from '../support/s3.ts';

let s3: S3Server;
let home: string;
before(async () => {
  s3 = await startS3Server();
  home = await mkdtemp(join(tmpdir(), 'sighting-backup-'));
});
after(async () => {
  await s3.close();
  await rm(home, { recursive: true });
});
const ignore = () => {};

it('come from S3 into the directory and back, with their types; only what is not there as it was is put back', async () => {
  const source = openStorage({ bucket: 'media', prefix: 'quelle', settings: s3.settings });
  const files = new Map(
    ['jpg', 'mp3', 'flac', 'jpg'].map((ending, n) => [makeMediumName(ending), new Uint8Array([1, 2, 3, n])] as const),
  );
  for (const [name, bytes] of files) await source.put(name, bytes, 'image/jpeg');
  const lost = makeMediumName('jpg');
  const copy = openCopy(home);
  const { list, copied, missing } = await copyMedia(source, copy, [...files.keys(), lost], new Map(), ignore);
  assert.deepEqual([list.size, copied, missing], [4, 4, [lost]]);

  const path = join(home, 'medien.sha256');
  await writeFile(path, formatList(list));
  assert.deepEqual(await readList(path), new Map([...list].sort()));
  const { stdout } = await promisify(execFile)('sha256sum', ['--check', '--strict', path], { cwd: home });
  assert.equal(stdout.match(/: OK$/gm)?.length, 4);
  assert.deepEqual(await checkMedia(copy, list, ignore), []);

  const types = new Map<string, string>();
  const target = openStorage({ bucket: 'media', prefix: 'ziel', settings: s3.settings });
  const [there = '', altered = ''] = files.keys();
  await target.put(there, files.get(there) ?? new Uint8Array(), 'image/jpeg');
  await target.put(altered, new Uint8Array([0]), 'audio/mpeg');
  const put = target.put.bind(target);
  target.put = (name, bytes, type) => {
    types.set(name, type);
    return put(name, bytes, type);
  };
  assert.equal(await restoreMedia(copy, target, list, ignore), 3);
  assert.deepEqual([...types.values()].sort(), ['audio/flac', 'audio/mpeg', 'image/jpeg']);
  for (const [name, bytes] of files) assert.deepEqual(new Uint8Array((await target.get(name)) ?? []), bytes);
});
