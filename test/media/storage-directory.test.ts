// The media directory: what is on disk, and disks that are full or can't be written (S5.5).
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, it, type TestContext } from 'node:test';
import { makeMediumName } from '../../src/media/name.ts';
import { openStorage } from '../../src/media/open-storage.ts';
import { StorageError } from '../../src/media/storage-error.ts';
import { collectMedia } from '../support/storage.ts';

let root: string;
before(async () => {
  root = await mkdtemp(join(tmpdir(), 'sighting-disk-'));
});
after(() => rm(root, { recursive: true }));

const listFiles = async (path: string) =>
  (await readdir(path, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile()).map(({ name }) => name);

/** A StorageError that tells neither a path nor a name, with this cause. */
function isFault(code: RegExp) {
  return (error: unknown) => {
    assert.ok(error instanceof StorageError, String(error));
    assert.equal(error.code, 'STORAGE');
    assert.ok(!error.message.includes('/') && !/[0-9a-f]{32}/.test(error.message), error.message);
    assert.match((error.cause as NodeJS.ErrnoException).code ?? '', code);
    return true;
  };
}

/** A small file system in memory, or null where that is not allowed. */
function mountSmall(t: TestContext, path: string): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', path], { stdio: 'ignore' });
  } catch {
    t.skip('mounting a file system needs root');
    return false;
  }
  t.after(() => execFileSync('umount', [path]));
  return true;
}

it('a file lies below its first two digits, and no partial file stays', async () => {
  const directory = join(root, 'a');
  const name = makeMediumName('jpg');
  await openStorage({ directory }).put(name, Buffer.from('photo'), 'image/jpeg');
  assert.equal((await stat(join(directory, name.slice(0, 2), name))).size, 5);
  assert.deepEqual(await listFiles(directory), [name]);
});

it('S2.2 a directory that is made for photos is nobody else’s', {
  skip: process.platform === 'win32' && 'no modes',
}, async () => {
  const directory = join(root, 'p');
  const name = makeMediumName('jpg');
  await openStorage({ directory }).put(name, Buffer.from('photo'), 'image/jpeg');
  for (const path of [directory, join(directory, name.slice(0, 2)), join(directory, '.tmp')])
    assert.equal((await stat(path)).mode & 0o777, 0o700, path);
});

it('partial files are removed when they are old, and never listed, nor are foreign files', async () => {
  const directory = join(root, 'b');
  const storage = openStorage({ directory });
  const name = makeMediumName('jpg');
  await storage.put(name, Buffer.from('photo'), 'image/jpeg');
  const [old, young] = [join(directory, '.tmp', 'old'), join(directory, '.tmp', 'young')];
  for (const path of [old, young]) await writeFile(path, 'half a photo');
  await utimes(old, new Date('2026-01-01'), new Date('2026-01-01'));
  await writeFile(join(directory, 'README'), '');
  await writeFile(join(directory, name.slice(0, 2), 'notes.txt'), '');
  const misplaced = makeMediumName('jpg').replace(/^./, (digit) =>
    name.startsWith(digit) ? (digit === '0' ? '1' : '0') : digit,
  );
  await writeFile(join(directory, name.slice(0, 2), misplaced), '');
  await mkdir(join(directory, 'zz'));
  await writeFile(join(directory, 'zz', makeMediumName('jpg')), '');
  assert.deepEqual(
    (await collectMedia(storage)).map((medium) => medium.name),
    [name],
  );
  await storage.removePartialFiles(new Date('2026-02-01'));
  assert.deepEqual(await readdir(join(directory, '.tmp')), ['young']);
  assert.ok(await storage.get(name));
});

it('a name that several write at once holds one whole content at any time', async () => {
  const storage = openStorage({ directory: join(root, 'c') });
  const name = makeMediumName('jpg');
  const contents = Array.from({ length: 8 }, (_, i) => Buffer.alloc(200_000, i));
  const isWhole = (stored: Uint8Array | null) => stored === null || contents.some((bytes) => bytes.equals(stored));
  const seen = await Promise.all(
    contents.flatMap((bytes) => [storage.put(name, bytes, 'image/jpeg').then(() => null), storage.get(name)]),
  );
  assert.ok(seen.every(isWhole));
  assert.ok(isWhole(await storage.get(name)));
  assert.deepEqual(await listFiles(join(root, 'c')), [name]);
});

it('S5.5 a full disk: the write fails, leaves nothing, and reads and removals go on', async (t) => {
  const directory = join(root, 'full');
  await mkdir(directory);
  if (!mountSmall(t, directory)) return;
  const storage = openStorage({ directory });
  const kept = makeMediumName('jpg');
  await storage.put(kept, Buffer.alloc(600_000, 1), 'image/jpeg');
  const refused = makeMediumName('jpg');
  for (let attempt = 0; attempt < 3; attempt++)
    await assert.rejects(storage.put(refused, Buffer.alloc(600_000, 2), 'image/jpeg'), isFault(/^ENOSPC$/));
  assert.equal(await storage.get(refused), null);
  assert.deepEqual(await listFiles(directory), [kept]);
  assert.equal((await storage.get(kept))?.length, 600_000);
  await storage.remove([kept]);
  await storage.put(refused, Buffer.alloc(600_000, 2), 'image/jpeg');
  assert.equal((await storage.get(refused))?.length, 600_000);
});

it('S5.5 a disk that is mounted read-only: writes and removals fail, reads go on', async (t) => {
  const directory = join(root, 'read-only');
  await mkdir(directory);
  if (!mountSmall(t, directory)) return;
  const storage = openStorage({ directory });
  const name = makeMediumName('jpg');
  await storage.put(name, Buffer.from('photo'), 'image/jpeg');
  execFileSync('mount', ['-o', 'remount,ro', directory]);
  await assert.rejects(storage.put(makeMediumName('jpg'), Buffer.from('x'), 'image/jpeg'), isFault(/^EROFS$/));
  await assert.rejects(storage.remove([name]), isFault(/^EROFS$/));
  assert.equal(String(await storage.get(name)), 'photo');
});

it('S5.5 a directory without permission fails', async (t) => {
  if (process.getuid?.() === 0 || process.platform === 'win32') return t.skip('root may write everywhere');
  const directory = join(root, 'forbidden');
  await mkdir(directory, { mode: 0o500 });
  t.after(() => chmod(directory, 0o700));
  await assert.rejects(
    openStorage({ directory }).put(makeMediumName('jpg'), Buffer.from('x'), 'image/jpeg'),
    isFault(/^E(ACCES|PERM)$/),
  );
});

it('a file in place of the directory fails for every call', async () => {
  const path = join(root, 'file');
  await writeFile(path, '');
  const storage = openStorage({ directory: path });
  const name = makeMediumName('jpg');
  const fault = isFault(/^(ENOTDIR|EEXIST)$/);
  await assert.rejects(storage.put(name, Buffer.from('x'), 'image/jpeg'), fault);
  await assert.rejects(storage.get(name), fault);
  await assert.rejects(storage.remove([name]), fault);
  await assert.rejects(collectMedia(storage), fault);
  await assert.rejects(storage.removePartialFiles(new Date()), fault);
});
