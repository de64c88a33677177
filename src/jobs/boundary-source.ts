// Fetches what the boundary job reads. The address comes from the operator, the answer from anywhere: it is bounded in time and
// size, stays on its server, and comes from no private address unless that is allowed.
import { lookup as resolveName } from 'node:dns';
import { readFile, stat } from 'node:fs/promises';
import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { basename } from 'node:path';
import { PassThrough } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { createGunzip } from 'node:zlib';
import { codeOf } from '../db/client.ts';

// What may be over in ten minutes, and then what is not.
const passing = ['unerreichbar', 'zeit', 'status', 'unvollstaendig', 'inhalt', 'gesperrt'] as const;
type Lasting = 'adresse' | 'groesse' | 'umleitung' | 'bezugssystem' | 'mandanten' | 'laeuft';

/** What went wrong with a run of the boundary job. */
export type BoundaryFault = (typeof passing)[number] | Lasting;

/** A run that changed nothing; the message is a German sentence for the operator, without secrets. */
export class BoundaryError extends Error {
  readonly fault: BoundaryFault;
  /** Trying again soon may help. */
  readonly passing: boolean;
  constructor(fault: BoundaryFault, message: string) {
    super(message);
    this.fault = fault;
    this.passing = passing.some((each) => each === fault);
  }
}

export interface SourceLimits {
  /** Bytes at most, unpacked. */
  bytes: number;
  /** Milliseconds for everything. */
  totalMs: number;
  /** Milliseconds until the connection is open. */
  connectMs: number;
}

export const defaultLimits: SourceLimits = { bytes: 64 * 1024 * 1024, totalMs: 60_000, connectMs: 10_000 };
const maxRedirects = 5;

/**
 * Reads a source.
 * @param url https, http or file
 * @param allowPrivate also from loopback, private and link-local addresses
 * @throws BoundaryError that says what was wrong
 */
export async function readBoundarySource(
  url: string,
  allowPrivate: boolean,
  limits: SourceLimits = defaultLimits,
): Promise<Buffer> {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (parsed?.protocol === 'file:') return readLocalFile(parsed, limits);
  if (parsed?.protocol !== 'http:' && parsed?.protocol !== 'https:') {
    throw new BoundaryError('adresse', 'Die Quelle ist keine Adresse mit https, http oder file.');
  }
  const signal = AbortSignal.timeout(limits.totalMs);
  try {
    return await readHttp(parsed, { allowPrivate, limits, signal });
  } catch (error) {
    if (signal.aborted) {
      throw new BoundaryError('zeit', `Die Quelle hat in ${limits.totalMs / 1000} Sekunden nicht alles geliefert.`);
    }
    throw error instanceof BoundaryError ? error : describeNetworkError(error);
  }
}

/** A source as it may stand in reports: without account and without values of parameters; of a file only its name. */
export function describeSource(url: string): string {
  if (!URL.canParse(url)) return 'unlesbare Adresse';
  const { protocol, origin, pathname, searchParams } = new URL(url);
  if (protocol === 'file:') return `file: ${basename(pathname)}`;
  const names = [...new Set(searchParams.keys())].map((name) => `${name}=…`);
  return origin + pathname + (names.length > 0 ? `?${names.join('&')}` : '');
}

// Two lists, because one takes ::/3 for all of IPv4 too.
const privateRanges = {
  ipv4: makeRanges(
    'ipv4',
    ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
    ...['192.0.2.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/3'],
  ),
  // Everything outside of 2000::/3, and therein what is for documentation or carries IPv4 addresses.
  ipv6: makeRanges('ipv6', '::/3', '4000::/2', '8000::/1', '2001::/32', '2001:db8::/32', '2002::/16'),
};

function makeRanges(family: 'ipv4' | 'ipv6', ...networks: string[]): BlockList {
  const list = new BlockList();
  for (const [network = '', prefix] of networks.map((each) => each.split('/'))) list.addSubnet(network, Number(prefix), family);
  return list;
}

/** Whether an IP address is loopback, private, link-local or otherwise not in the public network. */
export function isPrivateAddress(address: string): boolean {
  const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
  return privateRanges[family].check(address, family);
}

interface Request {
  allowPrivate: boolean;
  limits: SourceLimits;
  signal: AbortSignal;
}

async function readHttp(start: URL, request: Request): Promise<Buffer> {
  let url = start;
  for (let hop = 0; hop <= maxRedirects; hop++) {
    const response = await open(url, request);
    const status = response.statusCode ?? 0;
    const { location, link } = response.headers;
    const isPart = /;\s*rel="?next\b/i.test(String(link));
    if (status === 200 && !isPart) return readBody(response, request);
    response.destroy();
    if (status === 200)
      throw new BoundaryError('unvollstaendig', 'Die Quelle liefert nur einen Teil: sie nennt eine nächste Seite.');
    if (status < 300 || status > 399 || location === undefined) {
      throw new BoundaryError('status', `Die Quelle antwortet mit Status ${status}.`);
    }
    const target = URL.canParse(location, url.href) ? new URL(location, url) : null;
    if (!target || !isSameServer(url, target)) {
      throw new BoundaryError('umleitung', 'Die Quelle leitet auf einen anderen Server um; das ist nicht erlaubt.');
    }
    target.username = url.username;
    target.password = url.password;
    url = target;
  }
  throw new BoundaryError('umleitung', `Die Quelle leitet mehr als ${maxRedirects}-mal um.`);
}

// From http to https is an upgrade; every other change of the server may lead to one that the operator did not mean.
function isSameServer(from: URL, to: URL): boolean {
  if (from.hostname !== to.hostname) return false;
  return (
    from.origin === to.origin || (from.protocol === 'http:' && from.port === '' && to.protocol === 'https:' && to.port === '')
  );
}

function open(url: URL, { allowPrivate, limits, signal }: Request): Promise<IncomingMessage> {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (!allowPrivate && isIP(host) !== 0 && isPrivateAddress(host)) throw privateAddress(host);
  // The connection goes to the address that was checked: a name that resolves anew for each question gains nothing.
  const lookup: LookupFunction = (name, options, callback) =>
    resolveName(name, { ...options, all: true }, (error, addresses) => {
      const refused = allowPrivate ? undefined : addresses?.find(({ address }) => isPrivateAddress(address));
      const [first] = addresses ?? [];
      if (error || !first) callback(error ?? new Error('no address'), []);
      else if (refused) callback(privateAddress(refused.address), []);
      else if (options.all) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  return new Promise((resolve, reject) => {
    const secure = url.protocol === 'https:';
    const headers = {
      accept: 'application/geo+json, application/json',
      'accept-encoding': 'gzip',
      'user-agent': 'species-sighting-service',
    };
    const request = (secure ? requestHttps : requestHttp)(url, { agent: false, lookup, signal, headers }, resolve);
    const timer = setTimeout(() => {
      const seconds = limits.connectMs / 1000;
      request.destroy(new BoundaryError('unerreichbar', `Zur Quelle kam in ${seconds} Sekunden keine Verbindung zustande.`));
    }, limits.connectMs);
    request.on('socket', (socket) => socket.once(secure ? 'secureConnect' : 'connect', () => clearTimeout(timer)));
    request.on('close', () => clearTimeout(timer));
    request.on('error', reject);
    request.end();
  });
}

function privateAddress(address: string): BoundaryError {
  return new BoundaryError(
    'adresse',
    `Die Quelle hat eine private Adresse (${address}); erlaubt ist das nur mit BOUNDARY_ALLOW_PRIVATE=true.`,
  );
}

async function readBody(response: IncomingMessage, { limits, signal }: Request): Promise<Buffer> {
  const encoding = response.headers['content-encoding']?.trim().toLowerCase() || 'identity';
  const decode = encoding === 'identity' ? new PassThrough() : /^(x-)?gzip$/.test(encoding) ? createGunzip() : null;
  if (!decode) {
    response.destroy();
    throw new BoundaryError('inhalt', 'Die Quelle antwortet in einer unbekannten Kompression.');
  }
  const chunks: Buffer[] = [];
  let size = 0;
  const collect = async (source: AsyncIterable<Buffer>) => {
    for await (const chunk of source) {
      size += chunk.length;
      if (size > limits.bytes) throw tooLarge(limits);
      chunks.push(chunk);
    }
  };
  try {
    await pipeline(response, decode, collect, { signal });
  } catch (error) {
    if (error instanceof BoundaryError || signal.aborted) throw error;
    throw new BoundaryError('unvollstaendig', 'Die Antwort der Quelle ist abgebrochen oder beschädigt.');
  }
  return Buffer.concat(chunks);
}

async function readLocalFile(url: URL, limits: SourceLimits): Promise<Buffer> {
  try {
    const path = fileURLToPath(url);
    const entry = await stat(path);
    if (!entry.isFile()) throw new BoundaryError('unerreichbar', 'Die Quelle ist keine Datei.');
    if (entry.size > limits.bytes) throw tooLarge(limits);
    return await readFile(path);
  } catch (error) {
    if (error instanceof BoundaryError) throw error;
    throw new BoundaryError('unerreichbar', `Die Datei der Quelle ist nicht lesbar (${describeCode(error)}).`);
  }
}

function tooLarge(limits: SourceLimits): BoundaryError {
  return new BoundaryError('groesse', `Die Quelle ist größer als ${Math.floor(limits.bytes / 1024 / 1024)} MiB.`);
}

function describeNetworkError(error: unknown): BoundaryError {
  return new BoundaryError('unerreichbar', `Die Quelle ist nicht erreichbar (${describeCode(error)}).`);
}

const reasons: Record<string, string> = {
  ENOENT: 'es gibt sie nicht',
  EACCES: 'kein Zugriff',
  ECONNREFUSED: 'Verbindung abgelehnt',
  ECONNRESET: 'Verbindung abgebrochen',
  ENOTFOUND: 'Name unbekannt',
  EAI_AGAIN: 'Name nicht auflösbar',
  EHOSTUNREACH: 'kein Weg dorthin',
  ENETUNREACH: 'kein Weg dorthin',
  ETIMEDOUT: 'keine Antwort',
  CERT_HAS_EXPIRED: 'Zertifikat abgelaufen',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'Zertifikat nicht vertrauenswürdig',
  SELF_SIGNED_CERT_IN_CHAIN: 'Zertifikat nicht vertrauenswürdig',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'Zertifikat nicht vertrauenswürdig',
  ERR_TLS_CERT_ALTNAME_INVALID: 'Zertifikat gilt für einen anderen Namen',
};

// The code alone: messages of the network may hold the address with its account.
function describeCode(error: unknown): string {
  const code = codeOf(error) ?? 'unbekannter Fehler';
  return reasons[code] ?? code;
}
