// What a request's handlers share: who is asked (tenant), who asks (reader), and what the service was started with.

import { isUtf8 } from 'node:buffer';
import type { KeyObject } from 'node:crypto';
import type { HttpBindings } from '@hono/node-server';
import type { Context, MiddlewareHandler } from 'hono';
import type { Config } from '../config.ts';
import type { FeedWatch } from '../db/abgleich.ts';
import type { Sql } from '../db/client.ts';
import { listMandant, type Mandant } from '../db/mandant.ts';
import { getReader } from '../db/nutzer.ts';
import { coalesce } from '../guard/coalesce.ts';
import { networkOf, trustedEntry } from '../guard/network.ts';
import type { Quota } from '../guard/rate.ts';
import { currentScope, type RequestScope, runInScope } from '../guard/request.ts';
import { hasLongRun, isStorable } from '../guard/text.ts';
import { hashToken } from '../guard/token.ts';
import type { Queue } from '../jobs/boss.ts';
import type { Media } from '../media/medium.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import { PortalError } from './wire/portal-error.ts';
import type { Parameters } from './wire/query.ts';

export interface Deps {
  sql: Sql;
  /** Where those read who are not logged in: at DATABASE_READ_URL, where that is set, else the same (P3.3). */
  reads: Sql;
  /** A small pool that cuts a statement off after 500 ms; the same as `sql` where the database can't do that (D1.10). */
  regexpSql: Sql;
  config: Pick<
    Config,
    'publicUrl' | 'defaultTenant' | 'trustedHops' | 'tokenTtlDays' | 'metricsToken' | 'answerCacheBytes' | 'karteHintergrund'
  >;
  metrics: Metrics;
  queue: Queue;
  /** Set when the process is about to end. */
  drain?: { active: boolean };
  /** The feed for mirrors: which installation it is of, and who waits for it. */
  feed: { installation: string; watch: FeedWatch };
  media: Media;
  /** What an account may store in a day. */
  writes: Quota;
  /** Differs with everything that the service is made of. */
  build: string;
  /** Signs cursors and the addresses of files. */
  secretKey: KeyObject;
  log: Log;
}

export interface Env {
  Bindings: Partial<HttpBindings>;
  Variables: {
    /** Not there before it is known whose request it is. */
    scope?: RequestScope;
    tenant: Mandant;
    origin: string;
    reader: number | null;
    tokenHash?: Buffer;
    /** The parameters of the address or, once they are checked, the fields of the form. */
    sent?: Parameters;
  };
}

/** Runs every request in a scope of its own: an error that is thrown where nobody waits for it ends this request. */
export function scopeMiddleware({ config }: { config: Pick<Config, 'trustedHops'> }): MiddlewareHandler<Env> {
  return (c, next) => {
    const answer = async (scope: RequestScope) => {
      c.set('scope', scope);
      c.header('X-Request-Id', scope.id);
      const { outgoing, incoming } = c.env ?? {};
      if (outgoing && incoming) scope.connect(incoming, outgoing, c.req.method === 'GET' || c.req.method === 'HEAD');
      await next();
    };
    return runInScope(networkOf(clientAddress(c, config.trustedHops)), answer, c.req.header('x-request-id'));
  };
}

// Domains change when a catalogue is imported; a look-up of its own would double the statements of every request.
const directoryLifetimeMs = 5000;

/** Finds the tenant that a request is addressed to (D1.15) and the address under which its client reaches it (D1.13). */
export function tenantMiddleware({ reads, config }: Deps): MiddlewareHandler<Env> {
  let mandanten: Mandant[] = [];
  let readAt = Number.NEGATIVE_INFINITY;
  const refresh = coalesce(async () => {
    mandanten = await listMandant(reads);
    readAt = performance.now();
  });
  return async (c, next) => {
    // Without the port; an IPv6 address keeps its brackets.
    const domain = requestHost(c, config.trustedHops).replace(/:\d*$/, '').replace(/\.$/, '');
    const age = performance.now() - readAt;
    if (age > directoryLifetimeMs) {
      const isWaiting = age > 2 * directoryLifetimeMs;
      const reading = refresh().catch((error: unknown) => {
        // An old one is better than none.
        if (isWaiting && mandanten.length === 0) throw error;
      });
      if (isWaiting) await reading;
    }
    const addressed = mandanten.find((mandant) => mandant.domains.includes(domain));
    const tenant =
      addressed ?? mandanten.find((mandant) => mandant.kuerzel.toLowerCase() === config.defaultTenant?.toLowerCase());
    if (!tenant) throw new PortalError('unbekannter_host');
    c.set('tenant', tenant);
    c.set('origin', addressed ? requestOrigin(c, config.trustedHops) : publicOrigin(tenant, config.publicUrl));
    await next();
  };
}

/** A tenant's address for mails and for requests that came under a foreign host. */
export function publicOrigin(tenant: Mandant, publicUrl: string): string {
  return publicUrl.replaceAll('{domain}', tenant.domains[0] ?? 'localhost');
}

/** Finds out who asks. Wrong credentials are refused wherever they are sent, never taken for anonymous (D2.2). */
export function readerMiddleware({ sql, config }: Deps): MiddlewareHandler<Env> {
  return async (c, next) => {
    const loginname = c.req.header('x-auth-user');
    const token = c.req.header('x-auth-token');
    let reader: number | null = null;
    let tokenHash: Buffer | undefined;
    if (loginname !== undefined || token !== undefined) {
      if (countHeader(c, 'x-auth-user') > 1 || countHeader(c, 'x-auth-token') > 1) throw new PortalError('ungueltige_anfrage');
      if (loginname && token && loginname.length <= maxLoginnameBytes && token.length <= maxTokenLength) {
        const name = decodeHeader(loginname);
        tokenHash = hashToken(token);
        if (name !== null) reader = await getReader(sql, name, tokenHash, config.tokenTtlDays);
      }
      if (reader === null) throw new PortalError('nicht_angemeldet');
      c.set('tokenHash', tokenHash);
      currentScope()?.identify(reader);
      c.header('Cache-Control', 'private, no-store');
    }
    c.set('reader', reader);
    await next();
  };
}

/** What X-Auth-User and X-Auth-Token may hold: far more than any login name or access key. */
export const maxLoginnameBytes = 1000;
export const maxTokenLength = 256;

/** D1.16: Node hands header bytes over as latin-1; they are UTF-8, or latin-1 where they are no UTF-8. Null for what is no text. */
function decodeHeader(value: string): string | null {
  const bytes = Buffer.from(value, 'latin1');
  const text = isUtf8(bytes) ? bytes.toString('utf8') : value;
  return isStorable(text) && !hasLongRun(text) ? text.normalize('NFC') : null;
}

/** Address of the client, as far as it can be known. */
function clientAddress(c: Context<Env>, trustedHops: number): string {
  return forwarded(c, 'x-forwarded-for', trustedHops) || c.env?.incoming?.socket.remoteAddress || 'unknown';
}

/** The host that the client asked for, as it wrote it. */
export function requestHost(c: Context<Env>, trustedHops: number): string {
  const host = (forwarded(c, 'x-forwarded-host', trustedHops) || c.req.header('host') || new URL(c.req.url).host).toLowerCase();
  // Addresses are made of it, one for each row of an answer.
  if (host.length > maxHostLength || !isHost.test(host) || !URL.canParse(`http://${host}`))
    throw new PortalError('ungueltige_anfrage');
  return host;
}

/** A name of the Internet, of 253 letters at most, or an address, and a port. */
export const maxHostLength = 253 + ':65535'.length;
const isHost = /^(?:[a-z0-9._-]{1,253}|\[[0-9a-f:.]{2,45}\])(?::\d{0,5})?$/;

/** The address under which this client reaches the service, whether its host is a tenant's or not. */
export function requestOrigin(c: Context<Env>, trustedHops: number): string {
  const given = forwarded(c, 'x-forwarded-proto', trustedHops)?.toLowerCase();
  const protocol = given === 'https' || given === 'http' ? given : c.req.url.slice(0, c.req.url.indexOf(':'));
  return `${protocol}://${requestHost(c, trustedHops)}`;
}

function forwarded(c: Context<Env>, name: string, trustedHops: number): string | undefined {
  return trustedEntry(c.req.header(name), trustedHops);
}

/** How often a header was sent: a repeated one is joined with a comma before it reaches the request. */
export function countHeader(c: Context<Env>, name: string): number {
  const raw = c.env?.incoming?.rawHeaders ?? [];
  return raw.filter((header, index) => index % 2 === 0 && header.toLowerCase() === name).length;
}
