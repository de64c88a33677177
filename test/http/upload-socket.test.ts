// Uploads over a real connection: too much, broken off, and a disk that is full.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createUploads } from '../../src/media/uploads.ts';
import { serveApp } from '../support/listen.ts';
import { makeJpeg } from '../support/photo.ts';
import { countRows, startTestService, type TestService } from '../support/service.ts';

const mebibyte = 1024 * 1024;
let service: TestService;
let port: number;
before(async () => {
  service = await startTestService();
  port = await serveApp(service.app.fetch);
});

const boundary = 'grenze';
const part = (disposition: string, content: string | Buffer) =>
  Buffer.concat([
    Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n`),
    Buffer.from(content),
    Buffer.from('\r\n'),
  ]);
const end = Buffer.from(`--${boundary}--\r\n`);
let places = 0;
const fields = () =>
  Object.entries({ art: '2', lat: '5530000', lon: String(410_000 + ++places), datum: '1.9.2026' }).map(([name, value]) =>
    part(`name="${name}"`, value),
  );
const file = (name: string, content: Buffer) => part(`name="${name}"; filename="../../x\0.jpg"`, content);

/** Sends these pieces, chunked or with their length, and reads the answer; `breakOff` ends the connection instead. */
async function upload(pieces: Buffer[], { chunked = false, breakOff = false } = {}): Promise<{ status: number; body: string }> {
  const socket = connect(port, '127.0.0.1');
  // `error` is no surprise here: the server may close before everything is sent.
  const closed = new Promise<void>((resolve) => socket.on('error', () => {}).on('close', () => resolve()));
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const head = [
    'POST /api/v2/sichtbeobachtungen HTTP/1.1',
    'Host: n.test',
    'Connection: close',
    'X-Auth-User: melder',
    `X-Auth-Token: ${await service.tokenOf('melder')}`,
    `Content-Type: multipart/form-data; boundary=${boundary}`,
    chunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${breakOff ? length + 1000 : length}`,
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  const answer: Buffer[] = [];
  socket.on('data', (chunk) => answer.push(chunk));
  for (const piece of pieces) {
    if (socket.destroyed) break;
    const wire = chunked ? Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n')]) : piece;
    if (!socket.write(wire)) await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), closed]);
  }
  if (breakOff) {
    await sleep(100);
    socket.destroy();
  } else if (chunked) socket.write('0\r\n\r\n');
  await closed;
  const text = Buffer.concat(answer).toString('utf8');
  return { status: Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1]), body: text.slice(text.indexOf('\r\n\r\n') + 4) };
}

async function listFiles(): Promise<string[]> {
  const entries = await readdir(service.mediaDirectory, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => entry.name);
}

it('S3.6 a photo of 12 MiB arrives, under a name that is not the client’s', async () => {
  const photo = await makeJpeg({ width: 640, height: 480, personal: true, bytes: 12 * mebibyte });
  const { status, body } = await upload([...fields(), file('foto', photo), end]);
  assert.equal(status, 201, body);
  const names = await listFiles();
  assert.equal(names.length, 1);
  assert.match(names[0] as string, /^[0-9a-f]{32}\.jpg$/);
});

for (const chunked of [false, true]) {
  it(`S3.6 a body of 60 MiB ${chunked ? 'in chunks' : 'with its length'} is cut off with 413`, async () => {
    const [rows, files] = [await countRows(service), await listFiles()];
    const pieces = Array.from({ length: 5 }, (_, n) => file(`foto_${n}`, Buffer.alloc(12 * mebibyte)));
    const { status } = await upload([...fields(), ...pieces, end], { chunked });
    assert.equal(status, 413);
    assert.deepEqual([await countRows(service), await listFiles()], [rows, files]);
  });
}

it('S5.1 an upload that breaks off leaves nothing, and its place is free again', async () => {
  const [rows, files] = [await countRows(service), await listFiles()];
  for (let n = 0; n < 10; n++) await upload([...fields(), file('foto', Buffer.alloc(3 * mebibyte, 1))], { breakOff: true });
  for (let attempt = 0; attempt < 50 && (await listFiles()).length > files.length; attempt++) await sleep(100);
  assert.deepEqual([await countRows(service), await listFiles()], [rows, files]);
  const { status, body } = await upload([...fields(), file('foto', await makeJpeg({ width: 16, height: 16 })), end]);
  assert.equal(status, 201, body);
});

it('S5.5 a full disk answers 503, stores nothing, and reads go on', async (t) => {
  const mount = mkdtempSync(join(tmpdir(), 'sighting-full-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', mount], { stdio: 'ignore' });
  } catch {
    rmdirSync(mount);
    t.skip('a file system can not be mounted here');
    return;
  }
  const { begin } = service.media.uploads;
  try {
    const full = createUploads(join(mount, 'uploads'), { all: 8, perAccount: 8 });
    service.media.uploads.begin = () => full.begin();
    const [rows, files] = [await countRows(service), await listFiles()];
    const { status, body } = await upload([...fields(), file('foto', Buffer.alloc(3 * mebibyte, 1)), end]);
    assert.equal(status, 503, body);
    assert.deepEqual([await countRows(service), await listFiles()], [rows, files]);
    assert.deepEqual(await readdir(join(mount, 'uploads')), []);
    assert.equal((await service.request('/sichtbeobachtungen')).status, 200);
  } finally {
    service.media.uploads.begin = begin;
    execFileSync('umount', [mount]);
    rmdirSync(mount);
  }
});
