// GET /abgleich/v1/sichtbeobachtungen: the feed for mirrors (O1).
import { hash } from 'node:crypto';
import { type Context, Hono } from 'hono';
import * as v from 'valibot';
import { type FeedPage, type FeedPlace, listAbgleich } from '../../db/abgleich.ts';
import type { Sql } from '../../db/client.ts';
import { currentScope } from '../../guard/request.ts';
import { type Deps, type Env, tenantMiddleware } from '../context.ts';
import { toPortalError } from '../errors.ts';
import { addressMedia } from '../media/address.ts';
import { matches } from '../wire/etag.ts';
import * as field from '../wire/fields.ts';
import { send } from '../wire/reply.ts';
import { feedCursors } from './cursor.ts';
import { queryReader } from './query.ts';

export const maxWaitSeconds = 30;
/** Requests that wait at once, in this process and of one network; who comes beyond that is answered without waiting. */
export const maxWaiting = { all: 5000, network: 1500 };

type ReadPage = (tenant: number, mandant: string | null, place: FeedPlace | null, limit: number) => Promise<FeedPage>;

const readFeedQuery = queryReader({
  seit: v.optional(v.pipe(v.string(), v.maxLength(200, 'der cursor einer Antwort'))),
  limit: v.optional(field.integer(1, 1000), '500'),
  mandant: v.optional(field.text('das Kürzel eines Mandanten')),
  warten: v.optional(field.integer(0, maxWaitSeconds), '0'),
});

export function abgleichRoutes(deps: Deps): Hono<Env> {
  const { sql, reads, secretKey, feed } = deps;
  const cursors = feedCursors(secretKey, feed.installation);
  const waitingOf = new Map<string, number>();
  // Those that wait at the same place are woken together, and are told the same.
  const share = (client: Sql): ReadPage => {
    const reading = new Map<string, Promise<FeedPage>>();
    return (...place) => {
      // Of one network: whoever waits with another's question waits in its line.
      const key = JSON.stringify([currentScope()?.network, ...place]);
      const known = reading.get(key);
      // It fails when its own client has left, or has too much under way: that is no reason for the others.
      if (known) return known.catch(() => listAbgleich(client, ...place));
      const page = listAbgleich(client, ...place).finally(() => reading.delete(key));
      reading.set(key, page);
      return page;
    };
  };
  const read = share(reads);
  // News come from the primary, as long as it answers: a replica that is asked at once need not have them.
  const readPrimary = share(sql);
  const readNews: ReadPage = (...place) =>
    readPrimary(...place).catch((error: unknown) => {
      if (toPortalError(error)?.code !== 'ueberlastet') throw error;
      return read(...place);
    });

  /** Reads, and while there is nothing new waits until the time is over or the client has left. */
  const readOrWait = async (c: Context<Env>, from: FeedPlace | null, mandant: string | null, limit: number, seconds: number) => {
    const until = performance.now() + seconds * 1000;
    const network = currentScope()?.network ?? '';
    const waiting = waitingOf.get(network) ?? 0;
    const tenant = c.get('tenant').id;
    if (seconds === 0 || waiting >= maxWaiting.network || feed.watch.waiting >= maxWaiting.all)
      return read(tenant, mandant, from, limit);
    waitingOf.set(network, waiting + 1);
    try {
      let mayBeOld = reads !== sql;
      for (let place = from; ; ) {
        let end = () => {};
        // Before it is read: what changes meanwhile must not be missed.
        const change = feed.watch.waitForChange(Math.max(0, until - performance.now()), (given) => {
          end = given;
        });
        c.env?.outgoing?.once('close', end);
        try {
          const page = await (mayBeOld ? read : readNews)(tenant, mandant, place, limit);
          // What was filtered away needs not be looked at again.
          place = page.place;
          const isEmpty = page.rows.length <= 2;
          if (!isEmpty || performance.now() >= until || deps.drain?.active || currentScope()?.hasLeft()) return page;
          if (!page.more && !mayBeOld) await change;
          mayBeOld = false;
        } finally {
          end();
          c.env?.outgoing?.off('close', end);
        }
      }
    } finally {
      const left = (waitingOf.get(network) ?? 1) - 1;
      if (left > 0) waitingOf.set(network, left);
      else waitingOf.delete(network);
    }
  };

  return new Hono<Env>().get('/abgleich/v1/sichtbeobachtungen', tenantMiddleware(deps), async (c) => {
    const { seit, limit, mandant = null, warten } = readFeedQuery(c);
    const tenant = c.get('tenant').id;
    // Whoever sends a key is shown no more than others: mirrors are told what everybody may see.
    c.set('reader', null);
    const from = seit === undefined ? null : cursors.read(seit, tenant, mandant);
    const page = await readOrWait(c, from, mandant, limit, warten);
    const cursor = cursors.make(page.place, tenant, mandant);
    const body = Buffer.concat([
      Buffer.from('{"result":'),
      addressMedia(c, deps, page.rows),
      Buffer.from(`,"cursor":${JSON.stringify(cursor)},"weitere":${page.more}}`),
    ]);
    c.header('Cache-Control', 'no-cache');
    // Of the bytes: a change becomes readable when the transactions before it have ended, which no counter tells.
    const tag = `"${hash('sha256', body, 'base64url').slice(0, 22)}"`;
    c.header('ETag', tag);
    if (matches(c.req.header('if-none-match'), tag)) return c.body(null, 304);
    return send(c, { body, type: 'application/json; charset=utf-8', status: 200 });
  });
}
