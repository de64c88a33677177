// Photos and sound files on their way in: what is taken, what is refused, and that nothing is left of what is refused; over a real
// connection too much, broken off, and a disk that is full.
import assert from 'node:assert/strict';
import { mkdtemp, readdir, rmdir } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { OverloadError } from '../../src/guard/limit.ts';
import { runInScope } from '../../src/guard/request.ts';
import { StorageError } from '../../src/media/storage.ts';
import { MediaUnavailableError } from '../../src/media/threads.ts';
import { createUploads } from '../../src/media/uploads.ts';
import { makeAudio, makeWav } from '../support/audio.ts';
import { makeMp4, sampleEntry } from '../support/audio-mp4.ts';
import { makeOgg } from '../support/audio-ogg.ts';
import { planted } from '../support/audio-tags.ts';
import { serveApp } from '../support/listen.ts';
import { makeJpeg, readColor, strangers } from '../support/photo.ts';
import { makeProfile, primaries } from '../support/photo-metadata.ts';
import { type Answer, countRows, startTestService, type TestService, toFormData } from '../support/service.ts';
import { listFiles, mountSmall } from '../support/storage.ts';

const mebibyte = 1024 * 1024;
const service = await startTestService();
const port = await serveApp(service.app.fetch);
const jpeg = Buffer.from(await makeJpeg({ width: 64, height: 48, personal: true, orientation: 6 }));
const photo = new Blob([jpeg]);
const [small, big] = [
  await makeJpeg({ width: 64, height: 48, bytes: 32 * 1024 }),
  await makeJpeg({ width: 640, height: 480, bytes: 3 * mebibyte }),
];

let places = 0;
const fields = () => ({ art: '2', lat: '5530000', lon: String(410_000 + ++places), datum: '1.9.2026' });
const post = (files: Record<string, Blob | string>, on = service): Promise<Answer> =>
  on.request('/sichtbeobachtungen', { as: 'melder', form: { ...fields(), ...files } });

// Written by hand: FormData gives every file a name.
const part = (disposition: string, content: string | Buffer, type?: string) =>
  Buffer.concat([
    Buffer.from(`--grenze\r\nContent-Disposition: form-data; ${disposition}\r\n${type ? `Content-Type: ${type}\r\n` : ''}\r\n`),
    Buffer.from(content),
    Buffer.from('\r\n'),
  ]);
const end = Buffer.from('--grenze--\r\n');
const formType = 'multipart/form-data; boundary=grenze';
const postParts = (parts: Buffer[], path = '/sichtbeobachtungen', method = 'POST') =>
  service.request(path, { as: 'melder', method, body: Buffer.concat([...parts, end]), headers: { 'content-type': formType } });

const listStored = async (on = service) => (await listFiles(on.mediaDirectory)).sort();
/** What must be the same after a refusal. */
const countAll = async (on = service) => ({ rows: await countRows(on), files: await listStored(on) });
async function read(id: number, on = service) {
  return (await on.request(`/sichtbeobachtungen/${id}`, { as: 'melder' })).json.result[0];
}
async function load(url: string, on = service): Promise<Buffer> {
  const answer = await on.app.request(url, { headers: { host: 'n.test' } });
  assert.equal(answer.status, 200);
  return Buffer.from(await answer.arrayBuffer());
}

describe('a sighting takes', () => {
  it('S1.8 four photos and a sound file, makes them its own, and gives their addresses', async () => {
    const audio = makeAudio('mp3', { tags: true });
    const answer = await post({ foto: photo, foto_2: photo, foto_3: photo, biotopfoto: photo, audio: new Blob([audio]) });
    assert.equal(answer.status, 201, answer.text);
    const record = await read(answer.json.result[0].id);
    const urls = ['foto', 'foto_2', 'foto_3', 'biotopfoto'].map((name) => record[name] as string);
    assert.equal(new Set(urls.map((url) => url.split('?')[0])).size, 4, 'a name for each');
    for (const url of urls) {
      const stored = await load(url);
      assert.deepEqual([...stored.subarray(0, 3)], [0xff, 0xd8, 0xff]);
      assert.ok(!stored.includes('Exif') && !stored.includes('GEHEIM'), 'metadata is left');
    }
    const sound = await load(record.audio);
    assert.ok(sound.length < audio.length && !sound.includes('TAG'), 'tags are left');
    assert.equal((await listStored()).length, 5, 'the files as they came are gone');
  });

  const sounds = {
    'in AAC, with a second track in space': makeMp4({
      ...{ tags: true, brand: 'qt  ', secondTrack: 'soun', secondEntry: sampleEntry('apac') },
    }),
    'with something behind its end': Buffer.concat([makeMp4({ tags: true }), Buffer.from([0, 0, 0, 4])]),
    'whose sizes were never written': makeWav({ tags: true }).fill(0, 4, 8),
    'without an end': makeOgg({ tags: true, endFlag: 99 }),
  };
  for (const [what, sound] of Object.entries(sounds))
    it(`a sound ${what}`, async () => {
      const answer = await post({ audio: new Blob([new Uint8Array(sound)]) });
      assert.equal(answer.status, 201, answer.text);
      const stored = await load((await read(answer.json.result[0].id)).audio);
      assert.ok(!planted.some((text) => stored.includes(text)));
    });

  it('a phone’s photo of DisplayP3 without its end marker and with a film behind, in the colours of a screen', async () => {
    const profile = makeProfile(primaries.displayP3);
    const whole = await makeJpeg({ width: 64, height: 48, quality: 95, color: [200, 80, 60], profile });
    const foto = new Blob([new Uint8Array(whole.subarray(0, -2)), '\0\0\0\x18ftypmp42GEHEIM', new Uint8Array(2 * mebibyte)]);
    const answer = await post({ foto });
    assert.equal(answer.status, 201, answer.text);
    const stored = await load((await read(answer.json.result[0].id)).foto);
    const seen = await readColor(stored);
    assert.ok(
      [216, 69, 50].every((value, channel) => Math.abs(value - (seen[channel] ?? 0)) <= 4),
      `${seen}`,
    );
    assert.ok(!stored.includes('GEHEIM'));
  });

  it('an empty part without the name of a file as no file', async () => {
    const answer = await post({ foto: new File([], ''), audio: '' });
    assert.equal(answer.status, 201, answer.text);
    assert.equal((await read(answer.json.result[0].id)).foto, null);
  });

  for (const [field, type, content] of [
    ['foto', 'image/jpeg', small],
    ['foto', 'image/jpeg', big],
    ['biotopfoto', 'image/jpeg; charset=binary', big],
    ['foto_2', 'application/octet-stream', big],
    ['audio', 'audio/x-wav', makeAudio('wav', { tags: true })],
    ['audio', 'video/mp4', makeAudio('m4a', { tags: true })],
    ['audio', 'application/ogg', makeAudio('oga', { tags: true })],
  ] as const) {
    it(`a part of ${content.length} bytes without the name of a file, of type ${type}`, async () => {
      const texts = Object.entries(fields()).map(([name, value]) => part(`name=${name}`, value, 'text/plain; charset=utf-8'));
      const answer = await postParts([...texts, part(`name=${field}`, content, type)]);
      assert.equal(answer.status, 201, answer.text);
      assert.ok((await load((await read(answer.json.result[0].id))[field])).length > 0);
    });
  }
});

describe('a change', () => {
  it('replaces, keeps and clears files; the old ones are gone from the storage', async () => {
    const id = await service.makeSichtbeobachtung({ ...fields(), foto: photo, foto_2: photo });
    const first = await read(id);
    const files = await listStored();
    assert.equal(
      (await service.put(id, { foto: new Blob([await makeJpeg({ width: 20, height: 10 })]), bemerkung: 'neu' })).status,
      200,
    );
    const second = await read(id);
    assert.notEqual(second.foto.split('?')[0], first.foto.split('?')[0]);
    assert.equal(second.foto_2.split('?')[0], first.foto_2.split('?')[0]);
    assert.equal((await listStored()).length, files.length);
    assert.equal((await service.app.request(first.foto, { headers: { host: 'n.test' } })).status, 404);

    assert.equal((await service.put(id, { foto: '', foto_2: new File([], '') })).status, 200);
    const third = await read(id);
    assert.deepEqual([third.foto, third.foto_2, third.bemerkung], [null, null, 'neu']);
    assert.equal((await listStored()).length, files.length - 2);
  });

  it('with an empty file that has a name is refused, and the old one stays; so is a report', async () => {
    const id = await service.makeSichtbeobachtung({ ...fields(), foto: photo, audio: new Blob([makeAudio('mp3')]) });
    const before = [await read(id), await countAll()];
    const texts = Object.entries(fields()).map(([name, value]) => part(`name="${name}"`, value));
    for (const [field, name] of [
      ['foto', 'filename="IMG_0001.jpg"'],
      ['audio', `filename*=UTF-8''M%C3%B6we.mp3`],
    ]) {
      const empty = part(`name="${field}"; ${name}`, '', 'image/jpeg');
      for (const answer of [await postParts([empty], `/sichtbeobachtungen/${id}`, 'PUT'), await postParts([...texts, empty])]) {
        assert.equal(answer.status, 400, answer.text);
        assert.equal(
          answer.json.error.fields[field as string],
          `${field} ist leer: Die Datei hat keinen Inhalt. Soll ${field} leer sein, wird das Feld ohne Datei gesendet.`,
        );
      }
    }
    assert.deepEqual(
      [{ ...(await read(id)), foto: '', audio: '' }, await countAll()],
      [{ ...before[0], foto: '', audio: '' }, before[1]],
    );
    for (const unnamed of ['name="foto"; filename=""', 'name="foto"'])
      assert.equal((await postParts([part(unnamed, '', 'image/jpeg')], `/sichtbeobachtungen/${id}`, 'PUT')).status, 200);
    assert.equal((await read(id)).foto, null);
  });

  it('of someone else’s record leaves nothing behind', async () => {
    const id = await service.makeSichtbeobachtung({ ...fields(), foto: photo });
    const files = await listStored();
    assert.equal((await service.put(id, { foto: photo }, 'nachbarin')).status, 403);
    assert.equal((await service.put(999_999_999, { foto: photo })).status, 404);
    assert.deepEqual(await listStored(), files);
  });

  it('S1.9 deleting removes all files', async () => {
    const files = await listStored();
    const created = await post({ foto: photo, audio: new Blob([makeAudio('wav', { tags: true })]) });
    assert.equal((await listStored()).length, files.length + 2);
    const id = created.json.result[0].id as number;
    assert.equal((await service.request(`/sichtbeobachtungen/${id}`, { as: 'melder', method: 'DELETE' })).status, 200);
    assert.deepEqual(await listStored(), files);
  });
});

describe('what is refused leaves neither row nor file', () => {
  const text = (value: string) => new Blob([value]);
  const rows: [name: string, files: Record<string, Blob | string>, sentence: RegExp, field?: string, status?: number][] = [
    ['a text as a photo', { foto: text('hallo') }, /foto ist kein JPEG, erlaubt sind JPEG-Fotos bis 250 Megapixel/],
    ['a page as a photo', { foto: text('<html><script>alert(1)</script>') }, /kein JPEG/],
    ['a photo cut in two', { foto_2: new Blob([jpeg.subarray(0, jpeg.length / 2)]) }, /unvollständig|beschädigt/, 'foto_2'],
    ['a photo as a sound', { audio: photo }, /erlaubt sind mp3, wav/, 'audio'],
    ['a film as a sound', { audio: new Blob([makeMp4({ secondTrack: 'vide' })]) }, /ist ein Film \(.*nur den Ton/, 'audio'],
    [
      'a sound of an unknown codec',
      { audio: new Blob([makeMp4({ brand: 'qt  ', entry: sampleEntry('apac') })]) },
      /^audio ist in einer Form, aus der sich Ort und Namen nicht entfernen lassen \(.* neu als mp3 oder m4a .*\), erlaubt sind mp3,/,
      'audio',
    ],
    ['a sound as a photo', { biotopfoto: new Blob([makeAudio('flac', { tags: true })]) }, /kein JPEG/, 'biotopfoto'],
    [
      'a photo of an iPhone that does not make JPEG',
      { foto: new Blob([new Uint8Array(strangers.HEIC ?? [])]) },
      /^foto ist HEIC .*„Maximale Kompatibilität“\), erlaubt sind JPEG-Fotos/,
    ],
    ['a good photo and a bad one', { foto: photo, foto_2: text('x') }, /kein JPEG/, 'foto_2'],
    ['a photo as a text', { foto: 'hallo' }, /muss eine Datei sein/],
    [
      'a file as a text',
      { bemerkung: text('hallo') },
      /^bemerkung nimmt keine Datei; Dateien gehören in foto, .*audio\.$/,
      'bemerkung',
    ],
    ['a file in a field that there is not', { bild: photo }, /^bild nimmt keine Datei; Dateien gehören in foto, /, 'bild'],
    ['a bad field beside a photo', { foto: photo, anzahl: '0' }, /1 bis 20000/, 'anzahl'],
    ['a photo of one byte too many', { foto: new Blob([new Uint8Array(12 * mebibyte + 1)]) }, /12 MB/, 'foto', 413],
    ['a sound of one byte too many', { audio: new Blob([new Uint8Array(mebibyte + 1)]) }, /1 MB/, 'audio', 413],
  ];
  for (const [name, files, sentence, field = 'foto', status = 400] of rows) {
    it(name, async () => {
      const before = await countAll();
      const answer = await post(files);
      assert.equal(answer.status, status, answer.text);
      assert.match(answer.json.error.fields[field], sentence);
      assert.match(answer.json.error.message, sentence);
      assert.deepEqual(await countAll(), before);
    });
  }

  it('S3.6 a photo of exactly 12 MiB that is none is read to its end, and refused for what it is', async () => {
    const answer = await post({ foto: new Blob([new Uint8Array(12 * mebibyte)]) });
    assert.deepEqual([answer.status, answer.json.error.fields.foto.includes('kein JPEG')], [400, true]);
  });

  it('a field that comes twice', async () => {
    const form = toFormData({ ...fields(), foto: photo });
    form.append('foto', photo);
    const answer = await service.request('/sichtbeobachtungen', { as: 'melder', form });
    assert.equal(answer.status, 400);
    assert.match(answer.json.error.fields.foto, /mehrfach/);
  });

  it('a sighting that is stored already', async () => {
    const form = { ...fields(), foto: photo };
    assert.equal((await service.request('/sichtbeobachtungen', { as: 'melder', form })).status, 201);
    const files = await listStored();
    assert.equal((await service.request('/sichtbeobachtungen', { as: 'melder', form })).status, 409);
    assert.deepEqual(await listStored(), files);
  });

  it('S3.5 more than 200 parts, files without a login', async () => {
    const large = new Blob([new Uint8Array(12 * mebibyte)]);
    const files = await listStored();
    const parts = toFormData(fields());
    for (let n = 0; n < 200; n++) parts.append(`teil${n}`, 'x');
    assert.equal((await service.request('/sichtbeobachtungen', { as: 'melder', form: parts })).status, 400);
    assert.equal((await service.request('/sichtbeobachtungen', { form: { ...fields(), foto: large } })).status, 401);
    assert.deepEqual(await listStored(), files);
  });
});

describe('what can not be taken now answers 503, without row or file', () => {
  const outages: [name: string, change: (on: TestService) => void][] = [
    ['more uploads than allowed', (on) => (on.media.uploads.begin = async () => Promise.reject(new OverloadError('queue_full')))],
    ['a storage that fails', (on) => (on.media.storage.put = async () => Promise.reject(new StorageError('away')))],
    ['a thread that died', (on) => (on.media.threads.run = async () => Promise.reject(new MediaUnavailableError('gone')))],
  ];
  for (const [name, change] of outages) {
    it(name, async () => {
      const broken = await startTestService({}, service.database);
      const lines: object[] = [];
      Object.assign(broken.deps.log, { warn: (about: object) => void lines.push(about) });
      change(broken);
      const before = { rows: await countRows(service), files: [] };
      const answer = await post({ foto: photo }, broken);
      assert.equal(answer.status, 503, answer.text);
      assert.ok(answer.headers.get('retry-after'));
      const reason = name === 'a storage that fails' ? ['away'] : [];
      const found = lines.flatMap((line) => ('reason' in line ? [line.reason] : []));
      assert.deepEqual(found, reason);
      assert.deepEqual(await countAll(broken), before);
      assert.equal((await broken.request('/sichtbeobachtungen')).status, 200);
      assert.equal((await post({}, broken)).status, 201, 'without files it goes on');
    });
  }
});

describe('over a connection', () => {
  const fieldParts = () => Object.entries(fields()).map(([name, value]) => part(`name="${name}"`, value));
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
      `Content-Type: ${formType}`,
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

  it('S3.6 a photo of 12 MiB arrives, under a name that is not the client’s', async () => {
    const files = await listStored();
    const photo = await makeJpeg({ width: 640, height: 480, personal: true, bytes: 12 * mebibyte });
    const { status, body } = await upload([...fieldParts(), file('foto', photo), end]);
    assert.equal(status, 201, body);
    const names = (await listStored()).filter((name) => !files.includes(name));
    assert.equal(names.length, 1);
    assert.match(names[0] as string, /^[0-9a-f]{32}\.jpg$/);
  });

  for (const chunked of [false, true]) {
    it(`S3.6 a body of 60 MiB ${chunked ? 'in chunks' : 'with its length'} is cut off with 413`, async () => {
      const before = await countAll();
      const pieces = Array.from({ length: 5 }, (_, n) => file(`foto_${n}`, Buffer.alloc(12 * mebibyte)));
      const { status } = await upload([...fieldParts(), ...pieces, end], { chunked });
      assert.equal(status, 413);
      assert.deepEqual(await countAll(), before);
    });
  }

  it('S5.1 an upload that breaks off leaves nothing, and its place is free again', async () => {
    const before = await countAll();
    for (let n = 0; n < 10; n++) await upload([...fieldParts(), file('foto', Buffer.alloc(3 * mebibyte, 1))], { breakOff: true });
    for (let attempt = 0; attempt < 50 && (await listStored()).length > before.files.length; attempt++) await sleep(100);
    assert.deepEqual(await countAll(), before);
    const { status, body } = await upload([...fieldParts(), file('foto', await makeJpeg({ width: 16, height: 16 })), end]);
    assert.equal(status, 201, body);
  });

  it('S5.5 a full disk answers 503, stores nothing, and reads go on', async (t) => {
    const mount = await mkdtemp(join(tmpdir(), 'sighting-full-'));
    const isMounted = mountSmall(t, mount);
    t.after(() => rmdir(mount));
    if (!isMounted) return;
    const full = createUploads(join(mount, 'uploads'), { all: 8, perAccount: 8 });
    t.mock.method(service.media.uploads, 'begin', () => full.begin());
    const before = await countAll();
    const { status, body } = await upload([...fieldParts(), file('foto', Buffer.alloc(3 * mebibyte, 1)), end]);
    assert.equal(status, 503, body);
    assert.deepEqual(await countAll(), before);
    assert.deepEqual(await readdir(join(mount, 'uploads')), []);
    assert.equal((await service.request('/sichtbeobachtungen')).status, 200);
  });
});

it('uploads of one account are two at once, of one network a quarter of all, and each place comes back', async () => {
  const uploads = createUploads('/nowhere', { all: 16, perAccount: 2 });
  const begin = (account: number, network: string) =>
    runInScope(network, (scope) => {
      scope.identify(account);
      return uploads.begin();
    });
  const isRefused = { code: 'OVERLOADED' };
  const first = await begin(1, 'a');
  await begin(1, 'a');
  await assert.rejects(begin(1, 'b'), isRefused);
  await begin(2, 'a');
  await begin(2, 'a');
  await assert.rejects(begin(3, 'a'), isRefused, 'the network has its quarter');
  await begin(3, 'b');
  await first.end();
  await begin(1, 'c');
  await assert.rejects(begin(1, 'c'), isRefused);
});
