// The service asks itself before others rely on it. Code that has not run yet takes several times as long, and so do the first hashes, for
// which memory is new: a login beside one network's broken forms, which takes a quarter of a second later, took a whole one.
import { once } from 'node:events';
import { type RequestOptions, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createApp } from './app.ts';
import { warmHashes } from './guard/password.ts';
import type { Deps } from './http/context.ts';
import { listen, type ServerSettings } from './http/server.ts';
import { createLog } from './observe/log.ts';

// After these, an answer takes hardly less.
const rounds = 60;
/** However slow the machine or the database is, it is not waited for longer. */
const longestMs = 5000;
// Where a proxy is trusted, the shares of an address of documentation (RFC 5737); else of this machine.
const nobody = '192.0.2.1';

interface Asked extends Pick<RequestOptions, 'method' | 'path'> {
  type?: string;
  body?: string;
}

/** What portals ask most, and what is refused early: nothing that changes or counts anything. */
function listAsked(round: number): Asked[] {
  const list = '/api/v2/sichtbeobachtungen';
  const urlencoded = 'application/x-www-form-urlencoded';
  const part = '--b\r\nContent-Disposition: form-data; name="loginname"\r\n\r\nx\r\n--b--\r\n';
  return [
    { path: `${list}?limit=20` },
    { path: `${list}?limit=20&bbox=400000,5480000,440000,${5_560_000 + round}` },
    { path: `${list}?limit=20&format=xml&art=${round}` },
    { path: `${list}/${round}` },
    { path: '/api/v2/arten?limit=20' },
    { path: '/health/live' },
    { method: 'POST', path: list, type: urlencoded, body: 'art=1&lat=5480000&lon=410000' },
    { method: 'POST', path: '/api/v2/login', type: urlencoded, body: 'loginname=x' },
    { method: 'POST', path: '/api/v2/login', type: 'multipart/form-data; boundary=b', body: part },
    { method: 'POST', path: '/api/v2/login', type: 'multipart/form-data', body: part },
  ];
}

/**
 * Runs what is asked most until it is fast, on a port of its own that only this machine reaches, with the bounds of the other one. Nothing of
 * it stands in the log or in the figures.
 * @param host by which a tenant is found
 * @returns how many answers of each status there were
 */
export async function warmUp(deps: Deps, settings: ServerSettings, host: string): Promise<Record<number, number>> {
  const signal = AbortSignal.timeout(longestMs);
  const app = createApp({
    ...deps,
    log: createLog('silent'),
    metrics: { contentType: '', collect: async () => '', countRequest() {}, countAnswer() {}, watch() {} },
  });
  await warmHashes();
  const server = await listen(app.fetch, '127.0.0.1', 0, settings);
  const { port } = server.address() as AddressInfo;
  const answers: Record<number, number> = {};
  const ask = async ({ method, path, type, body }: Asked) => {
    const headers = {
      host,
      'x-forwarded-for': nobody,
      ...(body !== undefined && { 'content-type': type, 'content-length': Buffer.byteLength(body) }),
    };
    const asking = request({ host: '127.0.0.1', port, method, path, headers, agent: false, signal });
    asking.on('response', (response) => {
      const { statusCode = 0 } = response.resume();
      answers[statusCode] = (answers[statusCode] ?? 0) + 1;
    });
    asking.on('error', () => {});
    asking.end(body);
    await once(asking, 'close');
  };
  for (let round = 1; round <= rounds && !signal.aborted; round++) await Promise.all(listAsked(round).map(ask));
  server.close();
  server.closeAllConnections();
  return answers;
}
