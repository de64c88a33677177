// The scope of a request: whose it is, and how much of what was made for its network nobody has read yet.
import type { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex, Readable, Writable } from 'node:stream';
import type { MiddlewareHandler } from 'hono';
import { networkOf } from '../guard/network.ts';
import { type RequestScope, runInScope } from '../guard/request.ts';
import { clientAddress, type Deps, type Env } from './context.ts';
import { waitOf } from './server.ts';
import { whenSent } from './unreadable.ts';
import { PortalError } from './wire/errors.ts';
import { maxBodyBytes } from './wire/form.ts';

const isRead = (method: string) => method === 'GET' || method === 'HEAD';

/** Bytes of answers to one network that were made and not read. */
export const maxUnreadBytes = 64 * 1024 * 1024;

/**
 * Runs every request in a scope of its own. An error that is thrown where nobody waits for it ends this request; a client that
 * doesn't read what it asks for gets no more.
 */
export function scopeMiddleware({ config }: { config: Pick<Deps['config'], 'trustedHops'> }): MiddlewareHandler<Env> {
  const hold = countUnread();
  return (c, next) => {
    const network = networkOf(clientAddress(c, config.trustedHops));
    const answer = async (scope: RequestScope) => {
      c.set('scope', scope);
      c.header('X-Request-Id', scope.id);
      const { outgoing, incoming } = c.env ?? {};
      if (!outgoing || !incoming) return next();
      scope.startEarlier(waitOf(incoming));
      scope.hold = hold(network, outgoing, incoming.socket);
      scope.hasLeft = goneFrom(incoming.socket, outgoing);
      if (isRead(c.req.method)) scope.isGone = scope.hasLeft;
      await next();
      // Whoever is answered before the end of what they send can't send another request on that connection, and may be told so while
      // they still write: then they see no answer, but a broken connection, and those behind a proxy its 502.
      if (!incoming.complete && !(await readRest(incoming, Number(c.req.header('content-length'))))) {
        c.res.headers.set('Connection', 'close');
        linger(incoming);
      }
    };
    return runInScope(network, answer, c.req.header('x-request-id'));
  };
}

/**
 * A body that is not longer is waited for when it is of no use any more, for so long, in milliseconds: one that a proxy has at hand is there
 * by then. After the answer the connection stays open as long again for whoever goes on sending.
 */
export const idleBody = { bytes: maxBodyBytes, ms: 1500 };

/** Reads what is left of a body, whatever it is; whether it came. */
async function readRest(body: Pick<Readable, 'on' | 'off' | 'resume' | 'destroyed'>, length: number): Promise<boolean> {
  if (!(length <= idleBody.bytes) || body.destroyed) return false;
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(resolve, idleBody.ms, false);
  const [ended, broken] = [() => resolve(true), () => resolve(false)];
  body.on('end', ended).on('close', broken).on('error', broken).resume();
  const isThere = await promise;
  clearTimeout(timer);
  body.off('end', ended).off('close', broken).off('error', broken);
  return isThere;
}

// With bytes that nobody has read, closing it at once would throw away the answer that is on its way.
function linger(incoming: Pick<IncomingMessage, 'socket' | 'readableFlowing' | 'resume'>): void {
  const { socket } = incoming;
  // Else node:http throws the rest away before its chunks are counted.
  if (incoming.readableFlowing === null) incoming.resume();
  let timer: NodeJS.Timeout | undefined;
  socket.destroySoon = () => {
    timer ??= setTimeout(() => socket.destroy(), idleBody.ms);
    socket.end();
  };
  socket.once('close', () => clearTimeout(timer));
}

const goneFrom = (socket: Pick<Socket, 'destroyed'>, outgoing: Pick<Writable, 'writableFinished'>) => () =>
  socket.destroyed && !outgoing.writableFinished;

// Apart from the middleware, whose variables hold the request and its answer: a listener beside them kept both in memory until the
// next full collection of garbage, which made a page of 60 kB a tenth slower.
function countUnread() {
  const unread = new Map<string, number>();
  const add = (network: string, bytes: number) => {
    const sum = (unread.get(network) ?? 0) + bytes;
    if (sum > 0) unread.set(network, sum);
    else unread.delete(network);
  };
  return (network: string, outgoing: Pick<EventEmitter, 'on'>, connection: Duplex) => {
    let held = 0;
    let isClosed = false;
    outgoing.on('close', () => {
      isClosed = true;
      whenSent(connection, () => add(network, -held));
    });
    return (bytes: number) => {
      if (isClosed) return;
      if (bytes > 0 && (unread.get(network) ?? 0) + bytes > maxUnreadBytes) throw new PortalError('ueberlastet');
      held += bytes;
      add(network, bytes);
    };
  };
}
