// Files to publish, beside media: the same behaviour of both places, of any size, whole or not there.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { after, describe, it, type TestContext } from 'node:test';
import { makeExportName, makeMediumName } from '../../src/media/name.ts';
import { openStorage } from '../../src/media/open-storage.ts';
import { S3Storage } from '../../src/media/s3.ts';
import { type ByteRange, type Storage, StorageError } from '../../src/media/storage.ts';
import { type Call, isSigned, startFakeServer, startS3Server } from '../support/s3.ts';
import { listFiles, listNames, mountSmall } from '../support/storage.ts';

const root = await mkdtemp(join(tmpdir(), 'sighting-files-'));
const server = await startS3Server();
after(async () => {
  await server.close();
  await rm(root, { recursive: true });
});

const partBytes = 100_000;
const limits = { tries: 3, tryMs: 20_000, totalMs: 60_000, pauseMs: 1 };
const places: Record<string, (place: string) => Storage> = {
  directory: (place) => openStorage({ directory: join(root, 'not yet there', place) }),
  s3: (prefix) => openStorage({ bucket: 'media', prefix, settings: server.settings }),
  's3 without a prefix': () => openStorage({ bucket: 'media', prefix: '', settings: server.settings }),
  's3 in parts': (place) => new S3Storage({ bucket: 'media', prefix: `parts-${place}`, settings: server.settings, partBytes }),
};

async function makeFile(bytes: Uint8Array): Promise<string> {
  const path = join(root, randomBytes(8).toString('hex'));
  await writeFile(path, bytes);
  return path;
}

async function read(storage: Storage, name: string, range?: ByteRange): Promise<[size: number, bytes: Buffer] | null> {
  const opened = await storage.open(name, range);
  return opened && [opened.size, await buffer(opened.stream)];
}

async function listExported(storage: Storage): Promise<string[]> {
  const names: string[] = [];
  for await (const { name, modified } of storage.listExport()) {
    assert.ok(Math.abs(Date.now() - modified.getTime()) < 3_600_000);
    names.push(name);
  }
  return names.sort();
}

const digits = 'a'.repeat(32);
const badNames = [
  ...[
    '',
    'export',
    'export/',
    `export/n/${digits}`,
    `export/n/${digits}.csv`,
    `export//${digits}.cube.csv`,
    `${digits}.cube.csv`,
  ],
  ...[
    `export/../${digits}.cube.csv`,
    `export/n/x/${digits}.cube.csv`,
    `export/n/${digits}.cube.csv\n`,
    `/export/n/${digits}.cube.csv`,
  ],
  ...[
    `export/n/${digits}.c/be.csv`,
    `export/n/${digits}a.cube.csv`,
    `export/n.m/${digits}.cube.csv`,
    `import/n/${digits}.cube.csv`,
  ],
];

for (const [what, open] of Object.entries(places)) {
  describe(`files to publish in ${what}`, () => {
    it('come back byte for byte, whole and in part, and null for what never was', async () => {
      const storage = open('a');
      for (const length of [1, partBytes - 1, partBytes, partBytes + 1, 3 * partBytes + 5]) {
        const [bytes, name] = [randomBytes(length), makeExportName('Köln', 'dwca.zip')];
        assert.equal(await storage.open(name), null);
        await storage.putFile(name, await makeFile(bytes), 'application/zip');
        // The server of these tests takes an end of 0 for none.
        const ends = [[0, length - 1] as const, [0, Math.min(1, length - 1)] as const, [length >> 1, length - 1] as const];
        assert.ok((await read(storage, name))?.[1].equals(bytes), `${length}`);
        for (const [start, end] of ends) {
          const [size, part] = (await read(storage, name, { start, end })) ?? [];
          assert.equal(size, length);
          assert.ok(part?.equals(bytes.subarray(start, end + 1)), `${start} to ${end} of ${length}`);
        }
        await storage.remove([name]);
        assert.equal(await storage.open(name), null);
      }
    });

    it('and media are never taken for each other', async () => {
      const storage = open('b');
      const [medium, name] = [makeMediumName('jpg'), makeExportName('N', 'sichtbeobachtung.geojson')];
      assert.match(name, /^export\/n\/[0-9a-f]{32}\.sichtbeobachtung\.geojson$/);
      await storage.put(medium, Buffer.from('photo'), 'image/jpeg');
      await storage.putFile(name, await makeFile(Buffer.from('{}')), 'application/geo+json');
      assert.deepEqual(await listNames(storage), [medium]);
      assert.deepEqual(await listExported(storage), [name]);
      await storage.removePartialFiles(new Date(Date.now() + 3_600_000));
      await assert.rejects(storage.get(name), StorageError);
      await assert.rejects(storage.put(name, Buffer.from('x'), ''), StorageError);
      await assert.rejects(storage.open(medium), StorageError);
      await assert.rejects(storage.putFile(medium, await makeFile(Buffer.from('x')), ''), StorageError);
      await storage.remove([name, medium, makeExportName('N', 'cube.csv')]);
      assert.deepEqual([await listNames(storage), await listExported(storage)], [[], []]);
    });

    it('have no other names', async () => {
      const storage = open('c');
      const path = await makeFile(Buffer.from('x'));
      for (const name of badNames) {
        await assert.rejects(storage.putFile(name, path, ''), StorageError, name);
        await assert.rejects(storage.open(name), StorageError, name);
        await assert.rejects(storage.remove([name]), StorageError, name);
      }
      assert.throws(() => makeExportName('../x', 'cube.csv'), StorageError);
    });
  });
}

describe('a file to publish in a directory', () => {
  it('is copied aside and nobody else’s; other files beside it are passed over', async () => {
    const directory = join(root, 'd');
    const storage = openStorage({ directory });
    const [name, path] = [makeExportName('N', 'cube.csv'), await makeFile(Buffer.from('x'))];
    await storage.putFile(name, path, 'text/csv');
    assert.equal(String(await readFile(path)), 'x', 'the file stays');
    for (const part of ['export', 'export/n', '.tmp']) assert.equal((await stat(join(directory, part))).mode & 0o777, 0o700);
    await writeFile(join(directory, 'export', 'n', 'notes.txt'), '');
    assert.deepEqual(await listExported(storage), [name]);
    assert.deepEqual((await listFiles(directory)).sort(), [name.slice(9), 'notes.txt'].sort());
  });

  it('S5.5 is not there when the disk is full, and leaves nothing', async (t) => {
    const directory = join(root, 'full');
    await mkdir(directory);
    if (!mountSmall(t, directory)) return;
    const storage = openStorage({ directory });
    const [name, path] = [makeExportName('N', 'cube.csv'), await makeFile(randomBytes(2_000_000))];
    await assert.rejects(storage.putFile(name, path, ''), StorageError);
    assert.deepEqual([await storage.open(name), await listFiles(directory)], [null, []]);
  });
});

const name = makeExportName('N', 'cube.csv');

async function openFake(t: TestContext, answer: (call: Call, response: ServerResponse) => void) {
  const fake = await startFakeServer(answer);
  t.after(() => fake.close());
  const place = { bucket: 'media', prefix: 'p', settings: fake.settings };
  return [new S3Storage({ ...place, limits, partBytes }), fake] as const;
}

const begun = '<InitiateMultipartUploadResult><UploadId>a+/=</UploadId></InitiateMultipartUploadResult>';
const stepOf = ({ method, url: { searchParams } }: Call) => `${method} ${searchParams.get('partNumber') ?? ''}`.trim();

describe('a file to publish in S3', () => {
  it('goes in parts, each signed; then they are put together in order', async (t) => {
    const [storage, fake] = await openFake(t, (call, response) =>
      response
        .writeHead(200, { etag: `"tag ${call.url.searchParams.get('partNumber')}"` })
        .end(call.url.searchParams.has('uploads') ? begun : '<CompleteMultipartUploadResult/>'),
    );
    const bytes = randomBytes(2 * partBytes + 7);
    await storage.putFile(name, await makeFile(bytes), 'text/csv');
    assert.deepEqual(fake.calls.map(stepOf), ['POST', 'PUT 1', 'PUT 2', 'PUT 3', 'POST']);
    for (const call of fake.calls) assert.ok(isSigned(call, fake.settings));
    const [first, ...others] = fake.calls;
    assert.equal(first?.headers['content-type'], 'text/csv');
    for (const { url } of others) assert.equal(url.searchParams.get('uploadId'), 'a+/=');
    assert.ok(Buffer.concat(fake.calls.slice(1, 4).map(({ body }) => body)).equals(bytes));
    const parts = [1, 2, 3].map((n) => `<Part><PartNumber>${n}</PartNumber><ETag>"tag ${n}"</ETag></Part>`);
    assert.equal(String(others.at(-1)?.body), `<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`);
  });

  const failures: Record<string, [failing: string, status: number, steps: string[]]> = {
    'a part is refused': ['PUT 2', 403, ['POST', 'PUT 1', 'PUT 2', 'DELETE']],
    'it turns out at the end that they do not fit': ['POST', 200, ['POST', 'PUT 1', 'PUT 2', 'POST', 'DELETE']],
  };
  for (const [what, [failing, status, steps]] of Object.entries(failures))
    it(`S5.5 is taken back when ${what}`, async (t) => {
      const [storage, fake] = await openFake(t, (call, response) => {
        if (call.url.searchParams.has('uploads')) response.end(begun);
        else if (stepOf(call) === failing) response.writeHead(status).end('<Error><Code>InvalidPart</Code></Error>');
        else response.writeHead(call.method === 'DELETE' ? 500 : 200).end();
      });
      await assert.rejects(storage.putFile(name, await makeFile(randomBytes(partBytes + 7)), ''), (error: Error) => {
        assert.ok(error instanceof StorageError);
        return error.message === `S3 answers ${status} InvalidPart`;
      });
      assert.deepEqual([...new Set(fake.calls.map(stepOf))], [...new Set(steps)]);
      assert.equal(fake.calls.filter((call) => stepOf(call) === 'DELETE')[0]?.url.searchParams.get('uploadId'), 'a+/=');
    });

  it('S5.5 is tried again when it opens with a fault, and read for as long as its reader likes', async (t) => {
    let failures = 2;
    const { promise: isAsked, resolve: ask } = Promise.withResolvers<void>();
    const fake = await startFakeServer((_call, response) => {
      if (failures-- > 0) return response.writeHead(503).end();
      response.writeHead(206, { 'content-range': 'bytes 0-3/100', 'content-length': 4 }).write('ab');
      void isAsked.then(() => response.end('cd'));
    });
    t.after(() => fake.close());
    const hasty = { tries: 3, tryMs: 2000, totalMs: 2000, pauseMs: 1 };
    const storage = new S3Storage({ bucket: 'media', prefix: 'p', settings: fake.settings, limits: hasty });
    const opened = await storage.open(name, { start: 0, end: 3 });
    assert.equal(opened?.size, 100);
    assert.deepEqual(
      fake.calls.map(({ headers }) => headers.range),
      Array(3).fill('bytes=0-3'),
    );
    await new Promise((resolve) => setTimeout(resolve, 2 * hasty.totalMs));
    ask();
    assert.equal(String(await buffer(opened.stream)), 'abcd');
  });

  it('S5.5 that stands nowhere, or may not be read, is no missing one', async (t) => {
    for (const [status, code] of [
      [404, 'NoSuchBucket'],
      [403, 'AccessDenied'],
    ] as const) {
      const [storage] = await openFake(t, (_call, response) =>
        response.writeHead(status).end(`<Error><Code>${code}</Code></Error>`),
      );
      await assert.rejects(storage.open(name), { message: `S3 answers ${status} ${code}` });
    }
  });
});
