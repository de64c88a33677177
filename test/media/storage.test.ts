// Both places where media are kept: the same behaviour.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { isMediumName, makeMediumName } from '../../src/media/name.ts';
import { openStorage } from '../../src/media/open-storage.ts';
import type { Storage } from '../../src/media/storage.ts';
import { StorageError } from '../../src/media/storage-error.ts';
import { type S3Server, startS3Server } from '../support/s3.ts';
import { collectMedia } from '../support/storage.ts';

let directory: string;
let server: S3Server;
before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'sighting-media-'));
  server = await startS3Server();
});
after(async () => {
  await server.close();
  await rm(directory, { recursive: true });
});

const places: Record<string, (place: string) => Storage> = {
  directory: (place) => openStorage({ directory: join(directory, 'not yet there', place) }),
  s3: (place) => openBucket(place),
  's3 without a prefix': () => openBucket(''),
};
const openBucket = (prefix: string) => openStorage({ bucket: 'media', prefix, settings: server.settings });

const digits = 'a'.repeat(32);
const badNames = [
  ...['', '.', '..', 'foto.jpg', '../../etc/passwd', digits, `${digits}.`, `${digits}a.jpg`, `${digits.slice(1)}.jpg`],
  ...[`${'A'.repeat(32)}.jpg`, `${'g'.repeat(32)}.jpg`, `${digits}.jpg/`, `${digits}.jpg\n`, `${digits}.jpg\0`],
  ...[`${digits}.j/pg`, `/${digits}.jpg`, `aa/${digits}.jpg`, `${digits}.jpegs`],
];

async function collectNames(storage: Storage): Promise<string[]> {
  return (await collectMedia(storage)).map(({ name }) => name).sort();
}

for (const [what, open] of Object.entries(places)) {
  describe(`storage in ${what}`, () => {
    it('gives back what was put, byte for byte, and null for what never was', async () => {
      const storage = open('a');
      const contents = [Buffer.alloc(0), Buffer.from([0, 13, 10, 255]), randomBytes(500_000)];
      const names = contents.map(() => makeMediumName('jpg'));
      assert.equal(await storage.get(names[0] ?? ''), null);
      for (const [i, bytes] of contents.entries()) {
        await storage.put(names[i] ?? '', bytes, 'image/jpeg');
        assert.ok(Buffer.from((await storage.get(names[i] ?? '')) ?? 'none').equals(bytes));
      }
      assert.equal(await storage.get(makeMediumName('jpg')), null);
      assert.deepEqual(await collectNames(storage), names.sort());
      await storage.remove(names);
    });

    it('removes what is there and passes over what is not', async () => {
      const storage = open('b');
      const [first, second, third] = [makeMediumName('jpg'), makeMediumName('mp3'), makeMediumName('m4a')];
      for (const name of [first, second, third]) await storage.put(name, Buffer.from(name), 'application/octet-stream');
      await storage.remove([]);
      await storage.remove([first, makeMediumName('jpg'), second]);
      assert.equal(await storage.get(first), null);
      assert.deepEqual(await collectNames(storage), [third]);
      await storage.remove([third, third]);
      assert.deepEqual(await collectNames(storage), []);
    });

    it('lists nothing where nothing was put, and each object with its age', async () => {
      const storage = open('c');
      assert.deepEqual(await collectNames(storage), []);
      await storage.removePartialFiles(new Date());
      const name = makeMediumName('oga');
      await storage.put(name, Buffer.from('x'), 'audio/ogg');
      const [medium] = await collectMedia(storage);
      assert.equal(medium?.name, name);
      assert.ok(Math.abs(Date.now() - (medium?.modified.getTime() ?? 0)) < 3_600_000);
      await storage.removePartialFiles(new Date(Date.now() + 3_600_000));
      assert.deepEqual(await collectNames(storage), [name]);
      await storage.remove([name]);
    });

    it('puts a new content in place of the old as a whole', async () => {
      const storage = open('d');
      const name = makeMediumName('jpg');
      for (const bytes of [Buffer.alloc(200_000, 1), Buffer.from('short')]) {
        await storage.put(name, bytes, 'image/jpeg');
        assert.ok(Buffer.from((await storage.get(name)) ?? '').equals(bytes));
      }
      assert.equal((await collectMedia(storage)).length, 1);
      await storage.remove([name]);
    });

    it('refuses every name that it did not make', async () => {
      const storage = open('e');
      for (const name of badNames) {
        assert.equal(isMediumName(name), false, name);
        for (const call of [storage.put(name, Buffer.from('x'), 'image/jpeg'), storage.get(name), storage.remove([name])])
          await assert.rejects(call, StorageError, JSON.stringify(name));
      }
      const good = makeMediumName('jpg');
      await storage.put(good, Buffer.from('x'), 'image/jpeg');
      await assert.rejects(storage.remove([good, '../x']), StorageError);
      assert.deepEqual(await collectNames(storage), [good]);
      await storage.remove([good]);
    });
  });
}

it('places do not see each other’s objects', async () => {
  const [one, other] = [openBucket('one'), openBucket('one-more')];
  const name = makeMediumName('jpg');
  await one.put(name, Buffer.from('x'), 'image/jpeg');
  assert.equal(await other.get(name), null);
  assert.deepEqual(await collectNames(other), []);
  assert.deepEqual(await collectNames(openBucket('on')), []);
  assert.deepEqual(await collectNames(openBucket('')), []);
  assert.deepEqual(await collectNames(one), [name]);
});

describe('names', () => {
  it('S1.9 have 128 random bits and the ending', () => {
    const names = Array.from({ length: 1_000 }, () => makeMediumName('flac'));
    assert.equal(new Set(names.map((name) => name.slice(0, 8))).size, 1_000);
    for (const name of names) assert.match(name, /^[0-9a-f]{32}\.flac$/);
    assert.throws(() => makeMediumName('../x'), StorageError);
  });
});
