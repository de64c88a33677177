// GET /abgleich/v1/sichtbeobachtungen: the feed for mirrors (O1).
import { hash } from 'node:crypto';
import { type Context, Hono } from 'hono';
import * as v from 'valibot';
import { type FeedPage, type FeedPlace, listAbgleich } from '../../db/abgleich.ts';
import { Limit } from '../../guard/limit.ts';
import { currentScope } from '../../guard/request.ts';
import { type Deps, type Env, tenantMiddleware } from '../context.ts';
import { addressMedia } from '../media/address.ts';
import { matches, namesAny } from '../wire/etag.ts';
import * as field from '../wire/fields.ts';
import { send } from '../wire/reply.ts';
import { feedCursors } from './feed-cursor.ts';
import { queryReader } from './output-query.ts';

export const maxWaitSeconds = 30;
/** Requests that wait at once, in this process and of one network; who comes beyond that is answered without waiting. */
export const maxWaiting = { all: 5000, network: 1500 };

/** A page and the answer that tells it. */
interface Told extends FeedPage {
  body: Buffer<ArrayBuffer>;
  tag: string;
}
const readFeedQuery = queryReader({
  seit: v.optional(v.pipe(v.string(), v.maxLength(200, 'der cursor einer Antwort'))),
  limit: v.optional(field.integer(1, 1000), '500'),
  mandant: v.optional(field.text('das Kürzel eines Mandanten')),
  warten: v.optional(field.integer(0, maxWaitSeconds), '0'),
});

export function abgleichRoutes(deps: Deps): Hono<Env> {
  const { sql, secretKey, feed } = deps;
  const cursors = feedCursors(secretKey, feed.installation);
  const waiting = new Limit({ slots: maxWaiting.all, share: maxWaiting.network, queue: 0, waitMs: 0 });
  const tell = async (c: Context<Env>, page: FeedPage, mandant: string | null): Promise<Told> => {
    const cursor = cursors.make(page.place, c.get('tenant').id, mandant);
    const body = Buffer.concat([
      Buffer.from('{"result":'),
      ...addressMedia(c, deps, page.rows),
      Buffer.from(`,"cursor":${JSON.stringify(cursor)},"weitere":${page.more}}`),
    ]);
    // Of the bytes: a change becomes readable when the transactions before it have ended, which no counter tells.
    return { ...page, body, tag: `"${hash('sha256', body, 'base64url').slice(0, 22)}"` };
  };
  // Those that wait at the same place are woken together, and are told the same. Made once, too: the bytes of hundreds of answers, one
  // after the other in the moment in which their page is there, held up everybody else for seconds.
  const reading = new Map<string, Promise<Told>>();
  const read = (c: Context<Env>, mandant: string | null, place: FeedPlace | null, limit: number): Promise<Told> => {
    const tenant = c.get('tenant').id;
    // Never from a replica: its end of the feed is not the feed's.
    const make = async () => tell(c, await listAbgleich(sql, tenant, mandant, place, limit), mandant);
    // Of one network: whoever waits with another's question waits in its line.
    const key = JSON.stringify([currentScope()?.network, c.get('origin'), tenant, mandant, place, limit]);
    const known = reading.get(key);
    // It fails when its own client has left, or has too much under way: that is no reason for the others.
    if (known) return known.catch(make);
    const told = make().finally(() => reading.delete(key));
    reading.set(key, told);
    return told;
  };

  /** The first change from now on, the end of the time, or that of the connection. */
  const watch = (c: Context<Env>, until: number) => {
    let end = () => {};
    const change = feed.watch.waitForChange(Math.max(0, until - performance.now()), (given) => {
      end = given;
    });
    c.env?.outgoing?.once('close', end);
    const stop = () => {
      end();
      c.env?.outgoing?.off('close', end);
    };
    return { change, stop };
  };
  const isOver = (until: number) => performance.now() >= until || deps.drain?.active || currentScope()?.hasLeft();

  /** Reads, and while there is nothing new waits until the time is over or the client has left. */
  const readOrWait = async (c: Context<Env>, from: FeedPlace | null, mandant: string | null, limit: number, seconds: number) => {
    const until = performance.now() + seconds * 1000;
    const leave = seconds === 0 ? null : await waiting.enter().catch(() => null);
    if (leave === null) return read(c, mandant, from, limit);
    try {
      for (let place = from; ; ) {
        // Before it is read: what changes meanwhile must not be missed.
        const { change, stop } = watch(c, until);
        try {
          const page = await read(c, mandant, place, limit);
          const isEmpty = page.rows.length <= 2;
          if (!isEmpty || isOver(until)) return page;
          // What was filtered away needs not be looked at again.
          place = page.place;
          if (!page.more) await change;
        } finally {
          stop();
        }
      }
    } finally {
      leave();
    }
  };

  return new Hono<Env>().get('/abgleich/v1/sichtbeobachtungen', tenantMiddleware(deps), async (c) => {
    const { seit, limit, mandant = null, warten } = readFeedQuery(c);
    // Whoever sends a key is shown no more than others: mirrors are told what everybody may see.
    c.set('reader', null);
    const from = seit === undefined ? null : cursors.read(seit, c.get('tenant').id, mandant);
    const { body, tag } = await readOrWait(c, from, mandant, limit, warten);
    c.header('Cache-Control', 'no-cache');
    c.header('ETag', tag);
    const known = c.req.header('if-none-match');
    if (matches(known, tag) || namesAny(known)) return c.body(null, 304);
    return send(c, { body, type: 'application/json; charset=utf-8', status: 200 });
  });
}
