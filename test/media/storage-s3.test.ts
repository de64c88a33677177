// S3 as it should not be: broken, slow, gone, with many pages (S5.5). And what is sent to it.
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, it, type TestContext } from 'node:test';
import { makeMediumName } from '../../src/media/name.ts';
import { S3Storage } from '../../src/media/s3.ts';
import type { Storage } from '../../src/media/storage.ts';
import { StorageError } from '../../src/media/storage-error.ts';
import { codeOfFault } from '../../src/observe/fault.ts';
import { type Call, type FakeServer, isSigned, startFakeServer, startS3Server } from '../support/s3.ts';
import { collectMedia } from '../support/storage.ts';

const limits = { tries: 3, tryMs: 150, totalMs: 5_000, pauseMs: 1 };
const name = makeMediumName('jpg');

async function openFake(t: TestContext, answer: (call: Call, response: ServerResponse) => void): Promise<[Storage, FakeServer]> {
  const server = await startFakeServer(answer);
  t.after(() => server.close());
  return [new S3Storage({ bucket: 'media', prefix: 'portal', settings: server.settings, limits }), server];
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

describe('calls', () => {
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
      const [silent] = await openFake(t, () => {});
      await assert.rejects(run(silent), isFault);
      const [halting] = await openFake(t, (_call, response) => response.writeHead(200, { 'content-length': 100 }).write('half'));
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

describe('lists', () => {
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
    assert.deepEqual(
      media.map((medium) => medium.name),
      names,
    );
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
    assert.deepEqual(
      (await collectMedia(storage)).map((medium) => medium.name),
      [name],
    );
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
