// The service asks itself before it listens. Code that has not run yet takes several times as long, and so do the first hashes and the first
// photo, for which memory is new: a login beside one network's broken forms, which takes a quarter of a second later, took more than a whole one.
import { type RequestOptions, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { listen, type ServerSettings } from './http/server.ts';

// After these, an answer takes hardly less.
const rounds = 60;
/** However slow the machine or the database is: a start is not longer than that by it. */
const atMostMs = 5000;
// Where a proxy is trusted, an address of documentation (RFC 5737); else it is this machine that asks.
const nobody = '192.0.2.1';

interface Asked extends Pick<RequestOptions, 'method' | 'path'> {
  type?: string;
  body?: string;
}

/** What portals ask most, and what is refused early: nothing that changes a record or counts as an attempt. */
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
 * Runs what is asked most until it is fast, on a port of its own that only this machine reaches and that is closed at the end. Never fails:
 * what was not warmed up is slow once.
 * @param fetch the service, which is not asked by anybody else yet
 * @param host by which a tenant is found; null asks for nothing
 * @param others what else is waited for: hashes, the first thread for photos
 * @returns how many answers of each status there were
 */
export async function warmUp(
  fetch: Parameters<typeof listen>[0],
  settings: ServerSettings,
  host: string | null,
  others: Promise<unknown>,
  longestMs = atMostMs,
): Promise<Record<number, number>> {
  const signal = AbortSignal.timeout(longestMs);
  const late = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
  const answers: Record<number, number> = {};
  await Promise.race([others, late]);
  if (host === null || signal.aborted) return answers;
  // As many connections as it opens.
  const wide = { maxConnections: 100, maxConnectionsPerNetwork: 100, connectionRate: 100_000 };
  const server = await listen(fetch, '127.0.0.1', 0, { ...settings, ...wide }).catch(() => null);
  if (!server) return answers;
  const { port } = server.address() as AddressInfo;
  const ask = ({ method, path, type, body }: Asked) => {
    const headers = {
      host,
      'x-forwarded-for': nobody,
      ...(body !== undefined && { 'content-type': type, 'content-length': Buffer.byteLength(body) }),
    };
    const { promise, resolve } = Promise.withResolvers<void>();
    const asking = request({ host: '127.0.0.1', port, method, path, headers, agent: false, signal });
    asking.on('response', (response) => {
      const { statusCode = 0 } = response.resume();
      answers[statusCode] = (answers[statusCode] ?? 0) + 1;
    });
    asking.on('error', () => {});
    asking.on('close', resolve);
    asking.end(body);
    return promise;
  };
  try {
    for (let round = 1; round <= rounds && !signal.aborted; round++) await Promise.all(listAsked(round).map(ask));
  } catch {
    // The database takes names of hosts that no request may have.
  }
  server.close();
  server.closeAllConnections();
  return answers;
}
