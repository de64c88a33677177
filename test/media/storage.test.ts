// Where media are kept: the same behaviour of both places, disks that are full or can't be written, and S3 as it should not be (S5.5).
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it, type TestContext } from 'node:test';
import { isMediumName, makeMediumName } from '../../src/media/name.ts';
import { openStorage } from '../../src/media/open-storage.ts';
import { S3Storage } from '../../src/media/s3.ts';
import { type Storage, StorageError } from '../../src/media/storage.ts';
import { codeOfFault } from '../../src/observe/fault.ts';
import { type Call, isSigned, startFakeServer, startS3Server } from '../support/s3.ts';
import { collectMedia, listFiles, mountSmall } from '../support/storage.ts';

const root = await mkdtemp(join(tmpdir(), 'sighting-media-'));
const server = await startS3Server();
after(async () => {
  await server.close();
  await rm(root, { recursive: true });
});

const places: Record<string, (place: string) => Storage> = {
  directory: (place) => openStorage({ directory: join(root, 'not yet there', place) }),
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

async function listNames(storage: Storage): Promise<string[]> {
  return (await collectMedia(storage)).map((medium) => medium.name).sort();
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
      assert.deepEqual(await listNames(storage), names.sort());
      await storage.remove(names);
    });

    it('removes what is there and passes over what is not', async () => {
      const storage = open('b');
      const [first, second, third] = [makeMediumName('jpg'), makeMediumName('mp3'), makeMediumName('m4a')];
      for (const name of [first, second, third]) await storage.put(name, Buffer.from(name), 'application/octet-stream');
      await storage.remove([]);
      await storage.remove([first, makeMediumName('jpg'), second]);
      assert.equal(await storage.get(first), null);
      assert.deepEqual(await listNames(storage), [third]);
      await storage.remove([third, third]);
      assert.deepEqual(await listNames(storage), []);
    });

    it('lists nothing where nothing was put, and each object with its age', async () => {
      const storage = open('c');
      assert.deepEqual(await listNames(storage), []);
      await storage.removePartialFiles(new Date());
      const name = makeMediumName('oga');
      await storage.put(name, Buffer.from('x'), 'audio/ogg');
      const [medium] = await collectMedia(storage);
      assert.equal(medium?.name, name);
      assert.ok(Math.abs(Date.now() - (medium?.modified.getTime() ?? 0)) < 3_600_000);
      await storage.removePartialFiles(new Date(Date.now() + 3_600_000));
      assert.deepEqual(await listNames(storage), [name]);
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
      assert.deepEqual(await listNames(storage), [good]);
      await storage.remove([good]);
    });
  });
}

it('places do not see each other’s objects', async () => {
  const [one, other] = [openBucket('one'), openBucket('one-more')];
  const name = makeMediumName('jpg');
  await one.put(name, Buffer.from('x'), 'image/jpeg');
  assert.equal(await other.get(name), null);
  assert.deepEqual(await listNames(other), []);
  assert.deepEqual(await listNames(openBucket('on')), []);
  assert.deepEqual(await listNames(openBucket('')), []);
  assert.deepEqual(await listNames(one), [name]);
});

describe('the media directory', () => {
  /** A StorageError that tells neither a path nor a name, with this cause. */
  function isDiskFault(code: RegExp) {
    return (error: unknown) => {
      assert.ok(error instanceof StorageError, String(error));
      assert.equal(error.code, 'STORAGE');
      assert.ok(!error.message.includes('/') && !/[0-9a-f]{32}/.test(error.message), error.message);
      assert.match((error.cause as NodeJS.ErrnoException).code ?? '', code);
      return true;
    };
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
    assert.deepEqual(await listNames(storage), [name]);
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
      await assert.rejects(storage.put(refused, Buffer.alloc(600_000, 2), 'image/jpeg'), isDiskFault(/^ENOSPC$/));
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
    await assert.rejects(storage.put(makeMediumName('jpg'), Buffer.from('x'), 'image/jpeg'), isDiskFault(/^EROFS$/));
    await assert.rejects(storage.remove([name]), isDiskFault(/^EROFS$/));
    assert.equal(String(await storage.get(name)), 'photo');
  });

  it('S5.5 a directory without permission fails', async (t) => {
    if (process.getuid?.() === 0 || process.platform === 'win32') return t.skip('root may write everywhere');
    const directory = join(root, 'forbidden');
    await mkdir(directory, { mode: 0o500 });
    t.after(() => chmod(directory, 0o700));
    await assert.rejects(
      openStorage({ directory }).put(makeMediumName('jpg'), Buffer.from('x'), 'image/jpeg'),
      isDiskFault(/^E(ACCES|PERM)$/),
    );
  });

  it('a file in place of the directory fails for every call', async () => {
    const path = join(root, 'file');
    await writeFile(path, '');
    const storage = openStorage({ directory: path });
    const name = makeMediumName('jpg');
    const fault = isDiskFault(/^(ENOTDIR|EEXIST)$/);
    await assert.rejects(storage.put(name, Buffer.from('x'), 'image/jpeg'), fault);
    await assert.rejects(storage.get(name), fault);
    await assert.rejects(storage.remove([name]), fault);
    await assert.rejects(collectMedia(storage), fault);
    await assert.rejects(storage.removePartialFiles(new Date()), fault);
  });
});

const limits = { tries: 3, tryMs: 20_000, totalMs: 60_000, pauseMs: 1 };
// Of a server that never answers; one that does has the time that a busy machine takes.
const impatient = { ...limits, tryMs: 150 };
const name = makeMediumName('jpg');

async function openFake(t: TestContext, answer: (call: Call, response: ServerResponse) => void, patience = limits) {
  const server = await startFakeServer(answer);
  t.after(() => server.close());
  const storage = new S3Storage({ bucket: 'media', prefix: 'portal', settings: server.settings, limits: patience });
  return [storage, server] as const;
}

const operations: Record<string, (storage: Storage) => Promise<unknown>> = {
  put: (storage) => storage.put(name, Buffer.from('photo'), 'image/jpeg'),
  get: (storage) => storage.get(name),
  remove: (storage) => storage.remove([name]),
  list: (storage) => collectMedia(storage),
};

function isFault(error: unknown): boolean {
  assert.ok(error instanceof StorageError, String(error));
  const told = `${error.message} ${error.cause}`;
  for (const secret of ['the-secret', 'THE-ID', '127.0.0.1', name]) assert.ok(!told.includes(secret), told);
  return true;
}

describe('calls of S3', () => {
  for (const [operation, run] of Object.entries(operations)) {
    it(`${operation} is signed, with its content`, async (t) => {
      const [storage, server] = await openFake(t, (_call, response) => response.end('<ListBucketResult/>'));
      await run(storage);
      const [call] = server.calls;
      assert.ok(call && isSigned(call, server.settings));
      assert.ok(!isSigned({ ...call, body: Buffer.from('another') }, server.settings));
      assert.equal(call.url.pathname, operation === 'list' ? '/media' : `/media/portal/${name}`);
    });

    it(`S5.5 ${operation} is given up when the server keeps failing`, async (t) => {
      const [storage, server] = await openFake(t, (_call, response) =>
        response.writeHead(500).end('<Error><Code>InternalError</Code></Error>'),
      );
      await assert.rejects(run(storage), isFault);
      assert.equal(server.calls.length, limits.tries);
    });

    it(`S5.5 ${operation} is given up when the server is silent, or stops in the middle`, async (t) => {
      const [silent] = await openFake(t, () => {}, impatient);
      await assert.rejects(run(silent), isFault);
      const stop = (_call: Call, response: ServerResponse) => response.writeHead(200, { 'content-length': 100 }).write('half');
      const [halting] = await openFake(t, stop, impatient);
      await assert.rejects(run(halting), isFault);
    });

    it(`S5.5 ${operation} is given up when nobody listens`, async (t) => {
      const [storage, server] = await openFake(t, () => {});
      await server.close();
      await assert.rejects(run(storage), isFault);
    });

    it(`S5.5 ${operation} succeeds when the server recovers`, async (t) => {
      let failures = 2;
      const [storage, server] = await openFake(t, (_call, response) =>
        response.writeHead(failures-- > 0 ? 503 : 200).end('<ListBucketResult/>'),
      );
      await run(storage);
      assert.equal(server.calls.length, 3);
    });

    it(`${operation} is not repeated when it is forbidden, and the server’s words stay with it`, async (t) => {
      const words =
        '<Error><Code>SignatureDoesNotMatch</Code><AWSAccessKeyId>THE-ID</AWSAccessKeyId><StringToSign>the-secret</StringToSign></Error>';
      const [storage, server] = await openFake(t, (_call, response) => response.writeHead(403).end(words));
      await assert.rejects(
        run(storage),
        (error) => isFault(error) && /403 SignatureDoesNotMatch$/.test((error as Error).message),
      );
      assert.equal(server.calls.length, 1);
    });

    it(`${operation} does not follow to another server`, async (t) => {
      const [, other] = await openFake(t, (_call, response) => response.end());
      const [storage] = await openFake(t, (_call, response) =>
        response.writeHead(307, { location: `${other.settings.endpoint}/x` }).end(),
      );
      await assert.rejects(run(storage), isFault);
      assert.equal(other.calls.length, 0);
    });

    it(`${operation} fails when the bucket is not there`, async (t) => {
      const server = await startS3Server();
      t.after(() => server.close());
      await assert.rejects(run(new S3Storage({ bucket: 'nowhere', prefix: '', settings: server.settings, limits })), isFault);
    });
  }

  it('that nothing answers say by which code the connection failed, which the log has as the reason', async () => {
    const server = await startFakeServer(() => {});
    await server.close();
    const storage = new S3Storage({ bucket: 'media', prefix: '', settings: server.settings, limits });
    await assert.rejects(storage.get(name), (error: Error) => {
      assert.equal(error.message, 'S3 does not answer (ECONNREFUSED)');
      assert.equal(codeOfFault(error), 'STORAGE');
      return isFault(error);
    });
  });

  it('end when their time is up, however many tries are left', async (t) => {
    const server = await startFakeServer(() => {});
    t.after(() => server.close());
    const patient = { tries: 50, tryMs: 60_000, totalMs: 100, pauseMs: 1 };
    const storage = new S3Storage({ bucket: 'media', prefix: '', settings: server.settings, limits: patient });
    await assert.rejects(storage.get(name), isFault);
    assert.equal(server.calls.length, 1);
  });

  it('an upload says its type and length', async (t) => {
    const [storage, server] = await openFake(t, (_call, response) => response.end());
    await storage.put(name, Buffer.from('photo'), 'image/jpeg');
    const [call] = server.calls;
    assert.equal(call?.headers['content-type'], 'image/jpeg');
    assert.equal(call?.headers['content-length'], '5');
    assert.equal(call?.headers['transfer-encoding'], undefined);
    assert.equal(String(call?.body), 'photo');
  });

  it('a temporary key goes along with its token', async (t) => {
    const [, server] = await openFake(t, (_call, response) => response.end());
    const settings = { ...server.settings, sessionToken: 'token' };
    await new S3Storage({ bucket: 'media', prefix: '', settings, limits }).put(name, Buffer.from('x'), 'image/jpeg');
    const [call] = server.calls;
    assert.equal(call?.headers['x-amz-security-token'], 'token');
    assert.ok(call && isSigned(call, settings));
  });
});

describe('lists of S3', () => {
  const entry = (key: string) => `<Contents><Key>${key}</Key><LastModified>2026-09-01T10:00:00.000Z</LastModified></Contents>`;
  const page = (keys: string[], rest = '<IsTruncated>false</IsTruncated>') =>
    `<?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${rest}${keys.map(entry).join('')}</ListBucketResult>`;

  it('come in pages, up to the last', async (t) => {
    const names = Array.from({ length: 450 }, () => makeMediumName('jpg'));
    const [storage, server] = await openFake(t, ({ url }, response) => {
      const from = Number(url.searchParams.get('continuation-token')?.slice(2) ?? 0);
      const to = from + Number(url.searchParams.get('max-keys'));
      const isLast = to >= names.length;
      const rest = isLast ? '' : `<IsTruncated>true</IsTruncated><NextContinuationToken>+/${to}</NextContinuationToken>`;
      response.end(
        page(
          names.slice(from, to).map((key) => `portal/${key}`),
          rest,
        ),
      );
    });
    const media = await collectMedia(storage);
    const found = media.map((medium) => medium.name);
    assert.deepEqual(found, names);
    assert.equal(media[0]?.modified.toISOString(), '2026-09-01T10:00:00.000Z');
    assert.equal(server.calls.length, 3);
    for (const call of server.calls) {
      assert.equal(call.url.searchParams.get('prefix'), 'portal/');
      assert.ok(isSigned(call, server.settings));
    }
  });

  it('pass over what is not ours, and take one entry, encoded slashes and stray percent signs', async (t) => {
    const [storage] = await openFake(t, (_call, response) =>
      response.end(page(['portal/100%', 'portal/notes.txt', `portal/old/${name}`, `mortal/${name}`, `portal%2F${name}`])),
    );
    assert.deepEqual(await listNames(storage), [name]);
    const [single] = await openFake(t, (_call, response) => response.end(page([`portal/${name}`])));
    assert.equal((await collectMedia(single)).length, 1);
  });

  for (const [what, body] of Object.entries({
    'no XML': 'Service Unavailable',
    'something else': '<html/>',
    nothing: '',
    'a list without its end': page([], '<IsTruncated>true</IsTruncated>'),
    'the same page again and again': page([], '<IsTruncated>true</IsTruncated><NextContinuationToken>x</NextContinuationToken>'),
  }))
    it(`fail on ${what}`, async (t) => {
      const [storage] = await openFake(t, (_call, response) => response.end(body));
      await assert.rejects(collectMedia(storage), isFault);
    });
});

it('S1.9 names have 128 random bits and the ending', () => {
  const names = Array.from({ length: 1_000 }, () => makeMediumName('flac'));
  assert.equal(new Set(names.map((name) => name.slice(0, 8))).size, 1_000);
  for (const name of names) assert.match(name, /^[0-9a-f]{32}\.flac$/);
  assert.throws(() => makeMediumName('../x'), StorageError);
});
