// What a request's handlers share: who is asked (tenant), who asks (reader), and what the service was started with.

import type { KeyObject } from 'node:crypto';
import type { HttpBindings } from '@hono/node-server';
import type { Context, MiddlewareHandler } from 'hono';
import type { Config } from '../config.ts';
import type { Sql } from '../db/client.ts';
import { listMandant, type Mandant } from '../db/mandant.ts';
import { getReader } from '../db/nutzer.ts';
import { hashToken } from '../guard/token.ts';
import type { Queue } from '../jobs/boss.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import { PortalError } from './errors.ts';
import type { Media } from './media.ts';
import type { Parameters } from './query.ts';

export interface Deps {
  sql: Sql;
  /** A small pool that cuts a statement off after 500 ms; the same as `sql` where the database can't do that (D1.10). */
  regexpSql: Sql;
  config: Pick<Config, 'publicUrl' | 'defaultTenant' | 'trustProxy' | 'tokenTtlDays' | 'metricsToken' | 'answerCacheBytes'>;
  metrics: Metrics;
  queue: Queue;
  /** Set when the process is about to end. */
  drain?: { active: boolean };
  media: Media;
  /** Signs cursors and the addresses of files. */
  secretKey: KeyObject;
  log: Log;
}

/** What the answer to an anonymous read is made known to, so that it is not made again before something changed. */
export interface Conditional {
  /** @param stand the version of what the answer is made from; puts the ETag into the answer */
  tell(stand: string): void;
  /** Keeps the answer; after `tell`. */
  keep(body: Buffer<ArrayBuffer>, type: string): void;
}

export interface Env {
  Bindings: Partial<HttpBindings>;
  Variables: { tenant: Mandant; origin: string; reader: number | null; sent?: Parameters; conditional?: Conditional };
}

// Domains change when a catalogue is imported; a look-up of its own would double the statements of every request.
const directoryLifetimeMs = 5000;

/** Finds the tenant that a request is addressed to (D1.15) and the address under which its client reaches it (D1.13). */
export function tenantMiddleware({ sql, config }: Deps): MiddlewareHandler<Env> {
  let mandanten: Mandant[] = [];
  let readAt = Number.NEGATIVE_INFINITY;
  const read = async () => {
    mandanten = await listMandant(sql);
    readAt = performance.now();
  };
  return async (c, next) => {
    const host = requestHost(c, config.trustProxy);
    const domain = domainOf(host);
    if (performance.now() - readAt > directoryLifetimeMs) await read();
    const addressed = mandanten.find((mandant) => mandant.domains.includes(domain));
    const tenant =
      addressed ?? mandanten.find((mandant) => mandant.kuerzel.toLowerCase() === config.defaultTenant?.toLowerCase());
    if (!tenant) throw new PortalError('unbekannter_host');
    c.set('tenant', tenant);
    c.set('origin', addressed ? `${requestProtocol(c, config.trustProxy)}://${host}` : publicOrigin(tenant, config.publicUrl));
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
    if (loginname !== undefined || token !== undefined) {
      if (countHeader(c, 'x-auth-user') > 1 || countHeader(c, 'x-auth-token') > 1) throw new PortalError('ungueltige_anfrage');
      if (loginname && token && token.length <= 256) {
        const name = decodeHeader(loginname);
        if (!name.includes('\0')) reader = await getReader(sql, name, hashToken(token), config.tokenTtlDays);
      }
      if (reader === null) throw new PortalError('nicht_angemeldet');
      c.header('Cache-Control', 'private, no-store');
    }
    c.set('reader', reader);
    await next();
  };
}

/** The account that asks; 401 for anonymous. */
export function requireReader(c: Context<Env>): number {
  const reader = c.get('reader');
  if (reader === null) throw new PortalError('nicht_angemeldet');
  return reader;
}

/** D1.16: Node hands header bytes over as latin-1; they are UTF-8, or latin-1 where they are no UTF-8. */
export function decodeHeader(value: string): string {
  const bytes = Buffer.from(value, 'latin1');
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes).normalize('NFC');
  } catch {
    return value.normalize('NFC');
  }
}

/** Address of the client, as far as it can be known. */
export function clientAddress(c: Context<Env>, trustProxy: boolean): string {
  // The last entry is the one that our own proxy wrote; those before it are what the client claims.
  const forwarded = trustProxy ? c.req.header('x-forwarded-for')?.split(',').at(-1)?.trim() : undefined;
  return forwarded || c.env?.incoming?.socket.remoteAddress || 'unknown';
}

function requestHost(c: Context<Env>, trustProxy: boolean): string {
  const forwarded = trustProxy ? c.req.header('x-forwarded-host')?.split(',', 1)[0]?.trim() : undefined;
  return (forwarded || c.req.header('host') || new URL(c.req.url).host).toLowerCase();
}

function requestProtocol(c: Context<Env>, trustProxy: boolean): string {
  const forwarded = trustProxy ? c.req.header('x-forwarded-proto')?.split(',', 1)[0]?.trim().toLowerCase() : undefined;
  return forwarded === 'https' || forwarded === 'http' ? forwarded : c.req.url.slice(0, c.req.url.indexOf(':'));
}

// Without the port; an IPv6 address keeps its brackets.
function domainOf(host: string): string {
  return host.replace(/:\d*$/, '').replace(/\.$/, '');
}

/** How often a header was sent: a repeated one is joined with a comma before it reaches the request. */
export function countHeader(c: Context<Env>, name: string): number {
  const raw = c.env?.incoming?.rawHeaders ?? [];
  return raw.filter((header, index) => index % 2 === 0 && header.toLowerCase() === name).length;
}
