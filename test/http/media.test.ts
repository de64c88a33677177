// Photos and sound files on their way in: what is taken, what is refused, and that nothing is left of what is refused.
import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { OverloadError } from '../../src/guard/limit.ts';
import { StorageError } from '../../src/media/storage-error.ts';
import { MediaUnavailableError } from '../../src/media/threads.ts';
import { makeAudio } from '../support/audio.ts';
import { makeJpeg, strangers } from '../support/photo.ts';
import { type Answer, countRows, startTestService, type TestService, toFormData } from '../support/service.ts';

const mebibyte = 1024 * 1024;
let service: TestService;
let jpeg: Buffer<ArrayBuffer>;
before(async () => {
  service = await startTestService();
  jpeg = Buffer.from(await makeJpeg({ width: 64, height: 48, personal: true, orientation: 6 }));
});

let places = 0;
const fields = () => ({ art: '2', lat: '5530000', lon: String(410_000 + ++places), datum: '1.9.2026' });
const post = (files: Record<string, Blob | string>, on = service): Promise<Answer> =>
  on.request('/sichtbeobachtungen', { as: 'melder', form: { ...fields(), ...files } });

async function listFiles(on = service): Promise<string[]> {
  const entries = await readdir(on.mediaDirectory, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}
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
    const blob = new Blob([jpeg]);
    const audio = makeAudio('mp3', { tags: true });
    const answer = await post({ foto: blob, foto_2: blob, foto_3: blob, biotopfoto: blob, audio: new Blob([audio]) });
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
    assert.equal((await listFiles()).length, 5, 'the files as they came are gone');
  });

  it('an empty part as no file', async () => {
    const answer = await post({ foto: new Blob([]), audio: '' });
    assert.equal(answer.status, 201, answer.text);
    assert.equal((await read(answer.json.result[0].id)).foto, null);
  });
});

describe('a change', () => {
  const put = (id: number, form: Record<string, Blob | string>, as: 'melder' | 'nachbarin' = 'melder') =>
    service.request(`/sichtbeobachtungen/${id}`, { as, method: 'PUT', form });

  it('replaces, keeps and clears files; the old ones are gone from the storage', async () => {
    const created = await post({ foto: new Blob([jpeg]), foto_2: new Blob([jpeg]) });
    const id = created.json.result[0].id as number;
    const first = await read(id);
    const files = await listFiles();
    assert.equal((await put(id, { foto: new Blob([await makeJpeg({ width: 20, height: 10 })]), bemerkung: 'neu' })).status, 200);
    const second = await read(id);
    assert.notEqual(second.foto.split('?')[0], first.foto.split('?')[0]);
    assert.equal(second.foto_2.split('?')[0], first.foto_2.split('?')[0]);
    assert.equal((await listFiles()).length, files.length);
    assert.equal((await service.app.request(first.foto, { headers: { host: 'n.test' } })).status, 404);

    assert.equal((await put(id, { foto: '', foto_2: new Blob([]) })).status, 200);
    const third = await read(id);
    assert.deepEqual([third.foto, third.foto_2, third.bemerkung], [null, null, 'neu']);
    assert.equal((await listFiles()).length, files.length - 2);
  });

  it('of someone else’s record leaves nothing behind', async () => {
    const created = await post({ foto: new Blob([jpeg]) });
    const id = created.json.result[0].id as number;
    const files = (await listFiles()).sort();
    assert.equal((await put(id, { foto: new Blob([jpeg]) }, 'nachbarin')).status, 403);
    assert.equal((await put(999_999_999, { foto: new Blob([jpeg]) })).status, 404);
    assert.deepEqual((await listFiles()).sort(), files);
  });

  it('S1.9 deleting removes all files', async () => {
    const files = (await listFiles()).sort();
    const created = await post({ foto: new Blob([jpeg]), audio: new Blob([makeAudio('wav', { tags: true })]) });
    assert.equal((await listFiles()).length, files.length + 2);
    const id = created.json.result[0].id as number;
    assert.equal((await service.request(`/sichtbeobachtungen/${id}`, { as: 'melder', method: 'DELETE' })).status, 200);
    assert.deepEqual((await listFiles()).sort(), files);
  });
});

describe('what is refused leaves neither row nor file', () => {
  const text = (value: string) => new Blob([value]);
  const rows: [name: string, files: () => Record<string, Blob | string>, status: number, field: string, sentence: RegExp][] = [
    [
      'a text as a photo',
      () => ({ foto: text('hallo') }),
      400,
      'foto',
      /foto ist kein JPEG, erlaubt sind JPEG-Fotos bis 60 Megapixel/,
    ],
    ['a page as a photo', () => ({ foto: text('<html><script>alert(1)</script>') }), 400, 'foto', /kein JPEG/],
    [
      'a photo cut in two',
      () => ({ foto_2: new Blob([jpeg.subarray(0, jpeg.length / 2)]) }),
      400,
      'foto_2',
      /unvollständig|beschädigt/,
    ],
    ['a photo as a sound', () => ({ audio: new Blob([jpeg]) }), 400, 'audio', /erlaubt sind mp3, wav/],
    ['a sound as a photo', () => ({ biotopfoto: new Blob([makeAudio('flac', { tags: true })]) }), 400, 'biotopfoto', /kein JPEG/],
    [
      'a photo of an iPhone that does not make JPEG',
      () => ({ foto: new Blob([new Uint8Array(strangers.HEIC ?? [])]) }),
      400,
      'foto',
      /^foto ist HEIC .*„Maximale Kompatibilität“\), erlaubt sind JPEG-Fotos/,
    ],
    ['a good photo and a bad one', () => ({ foto: new Blob([jpeg]), foto_2: text('x') }), 400, 'foto_2', /kein JPEG/],
    ['a photo as a text', () => ({ foto: 'hallo' }), 400, 'foto', /muss eine Datei sein/],
    [
      'a file as a text',
      () => ({ bemerkung: text('hallo') }),
      400,
      'bemerkung',
      /^bemerkung nimmt keine Datei; Dateien gehören in foto, .*audio\.$/,
    ],
    [
      'a file in a field that there is not',
      () => ({ bild: new Blob([jpeg]) }),
      400,
      'bild',
      /^bild nimmt keine Datei; Dateien gehören in foto, /,
    ],
    ['a bad field beside a photo', () => ({ foto: new Blob([jpeg]), anzahl: '0' }), 400, 'anzahl', /1 bis 20000/],
    ['a photo of one byte too many', () => ({ foto: new Blob([new Uint8Array(12 * mebibyte + 1)]) }), 413, 'foto', /12 MB/],
    ['a sound of one byte too many', () => ({ audio: new Blob([new Uint8Array(mebibyte + 1)]) }), 413, 'audio', /1 MB/],
  ];
  for (const [name, files, status, field, sentence] of rows) {
    it(name, async () => {
      const before = [await countRows(service), (await listFiles()).length];
      const answer = await post(files());
      assert.equal(answer.status, status, answer.text);
      assert.match(answer.json.error.fields[field], sentence);
      assert.match(answer.json.error.message, sentence);
      assert.deepEqual([await countRows(service), (await listFiles()).length], before);
    });
  }

  it('S3.6 a photo of exactly 12 MiB that is none is read to its end, and refused for what it is', async () => {
    const answer = await post({ foto: new Blob([new Uint8Array(12 * mebibyte)]) });
    assert.deepEqual([answer.status, answer.json.error.fields.foto.includes('kein JPEG')], [400, true]);
  });

  it('a field that comes twice', async () => {
    const form = toFormData({ ...fields(), foto: new Blob([jpeg]) });
    form.append('foto', new Blob([jpeg]));
    const answer = await service.request('/sichtbeobachtungen', { as: 'melder', form });
    assert.equal(answer.status, 400);
    assert.match(answer.json.error.fields.foto, /mehrfach/);
  });

  it('a sighting that is stored already', async () => {
    const form = { ...fields(), foto: new Blob([jpeg]) };
    assert.equal((await service.request('/sichtbeobachtungen', { as: 'melder', form })).status, 201);
    const files = (await listFiles()).sort();
    assert.equal((await service.request('/sichtbeobachtungen', { as: 'melder', form })).status, 409);
    assert.deepEqual((await listFiles()).sort(), files);
  });

  it('S3.5 more than 200 parts, files without a login', async () => {
    const large = new Blob([new Uint8Array(12 * mebibyte)]);
    const parts = toFormData(fields());
    for (let n = 0; n < 200; n++) parts.append(`teil${n}`, 'x');
    assert.equal((await service.request('/sichtbeobachtungen', { as: 'melder', form: parts })).status, 400);
    assert.equal((await service.request('/sichtbeobachtungen', { form: { ...fields(), foto: large } })).status, 401);
    assert.ok((await listFiles()).every((path) => !path.includes('uploads')));
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
      const before = await countRows(broken);
      const answer = await post({ foto: new Blob([jpeg]) }, broken);
      assert.equal(answer.status, 503, answer.text);
      assert.ok(answer.headers.get('retry-after'));
      const reason = name === 'a storage that fails' ? ['away'] : [];
      const found = lines.flatMap((line) => ('reason' in line ? [line.reason] : []));
      assert.deepEqual(found, reason);
      assert.equal(await countRows(broken), before);
      assert.deepEqual(await listFiles(broken), []);
      assert.equal((await broken.request('/sichtbeobachtungen')).status, 200);
      assert.equal((await post({}, broken)).status, 201, 'without files it goes on');
    });
  }
});
