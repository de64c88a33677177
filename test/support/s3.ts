// A local S3 server, and one that answers as a test wants. The first checks no signatures (of version 4): the second does.
import { createHash, createHmac } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import type { S3Settings } from '../../src/config.ts';
import { listenAnywhere } from './port.ts';

// The package has no types.
const S3rver = createRequire(import.meta.url)('s3rver');

export interface S3Server {
  settings: S3Settings;
  close(): Promise<void>;
}

/** A server with the bucket `media`, on a free port. */
export async function startS3Server(): Promise<S3Server> {
  const directory = await mkdtemp(join(tmpdir(), 'sighting-s3-'));
  const server = new S3rver({ port: 0, address: '127.0.0.1', silent: true, directory, configureBuckets: [{ name: 'media' }] });
  const { port } = await server.run();
  return {
    settings: makeSettings(port, 'S3RVER', 'S3RVER'),
    async close() {
      server.httpServer.closeAllConnections();
      await server.close();
      await rm(directory, { recursive: true });
    },
  };
}

export interface Call {
  method: string;
  url: URL;
  headers: IncomingMessage['headers'];
  body: Buffer;
}

export interface FakeServer extends S3Server {
  calls: Call[];
}

/** A server that answers by this function; without an end of the response it hangs. */
export async function startFakeServer(answer: (call: Call, response: ServerResponse) => void): Promise<FakeServer> {
  const calls: Call[] = [];
  const server = createServer(async (request, response) => {
    const body = await buffer(request);
    const url = new URL(request.url ?? '/', `http://${request.headers.host}`);
    const call = { method: request.method ?? '', url, headers: request.headers, body };
    calls.push(call);
    answer(call, response);
  });
  return {
    calls,
    settings: makeSettings(await listenAnywhere(server), 'THE-ID', 'the-secret'),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function makeSettings(port: number, accessKeyId: string, secretAccessKey: string): S3Settings {
  return { endpoint: `http://127.0.0.1:${port}`, region: 'eu-central-1', accessKeyId, secretAccessKey };
}

/** Whether a call is signed with these settings, and its body the one that was signed. */
export function isSigned({ method, url, headers, body }: Call, settings: S3Settings): boolean {
  const header = (name: string) => [headers[name] ?? ''].flat().join();
  const [, scope = '', names = '', signature = ''] =
    /^AWS4-HMAC-SHA256 Credential=[^/]+\/([^,]+), SignedHeaders=([^,]+), Signature=(\w+)$/.exec(header('authorization')) ?? [];
  const hash = (text: string | Buffer) => createHash('sha256').update(text).digest('hex');
  const sign = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest();
  const query = [...url.searchParams].map((pair) => pair.map(encodeURIComponent).join('=')).sort();
  const request = [
    method,
    url.pathname,
    query.join('&'),
    ...names.split(';').map((name) => `${name}:${header(name)}`),
    '',
    names,
    header('x-amz-content-sha256'),
  ].join('\n');
  const key = scope.split('/').reduce((from: string | Buffer, part) => sign(from, part), `AWS4${settings.secretAccessKey}`);
  const expected = sign(key, ['AWS4-HMAC-SHA256', header('x-amz-date'), scope, hash(request)].join('\n')).toString('hex');
  return signature === expected && header('x-amz-content-sha256') === hash(body) && names.includes('x-amz-content-sha256');
}
