// OGC API – Features (O2), Part 1 and Part 2: which addresses there are.
import { type Context, Hono } from 'hono';
import * as v from 'valibot';
import { getExtent } from '../../../db/ausgabe-ogc.ts';
import { getStand } from '../../../db/stand.ts';
import type { Deps, Env } from '../../context.ts';
import { PortalError } from '../../wire/errors.ts';
import { namesAny } from '../../wire/etag.ts';
import * as field from '../../wire/fields.ts';
import { send } from '../../wire/reply.ts';
import { queryReader } from '../query.ts';
import { type Collection, collections } from './collections.ts';
import { answerUnchanged } from './conditional.ts';
import { describeCollection, describeConformance, describeLanding, type Extents } from './describe.ts';
import { makeCollectionPage, makeCollectionsPage, makeConformancePage, makeLandingPage } from './describe-page.ts';
import { answerItem, answerItems } from './items.ts';
import { Addresses, base } from './links.ts';
import { chooseFormat, html, json, openapi } from './negotiate.ts';
import { makeOpenapi } from './openapi.ts';
import { makeOpenapiPage } from './openapi-page.ts';

const readFormat = queryReader({ f: v.optional(field.oneOf(['json', 'html'])) });

export function ogcRoutes(deps: Deps): Hono<Env> {
  const readExtents = keepExtents(deps);

  /** What all pages but those of features do. */
  const answer = async (
    c: Context<Env>,
    make: (addresses: Addresses) => Promise<object> | object,
    makeHtml: (addresses: Addresses) => Promise<Response> | Response,
    formats = [json, html],
  ) => {
    const format = chooseFormat(c, readFormat(c).f, formats);
    const unchanged = await answerUnchanged(c, deps, format);
    if (unchanged) return unchanged;
    const addresses = new Addresses(c, deps);
    if (format === html) return makeHtml(addresses);
    return send(c, { body: JSON.stringify(await make(addresses)), type: format.type, status: 200 });
  };

  const pages = new Hono<Env>()
    .basePath(base)
    .use(async (c, next) => {
      await next();
      if (c.res.status === 200 && namesAny(c.req.header('if-none-match'))) {
        c.res.headers.delete('Content-Type');
        c.res = c.body(null, 304);
      }
      // The version was one server's, and what came after it another's, which may not show yet what the first one did.
      if (deps.isMixed?.()) c.res.headers.delete('ETag');
    })
    .get('/', (c) =>
      answer(
        c,
        (addresses) => describeLanding(addresses, json),
        (addresses) => makeLandingPage(c, addresses),
      ),
    )
    .get('/api', (c) =>
      answer(
        c,
        (addresses) => makeOpenapi(addresses.root),
        (addresses) => makeOpenapiPage(c, addresses),
        [openapi, html],
      ),
    )
    .get('/conformance', (c) =>
      answer(
        c,
        (addresses) => describeConformance(addresses, json),
        (addresses) => makeConformancePage(c, addresses),
      ),
    )
    .get('/collections', (c) =>
      answer(
        c,
        async (addresses) => {
          const extents = await readExtents();
          return {
            links: addresses.own(json, [json, html]),
            crs: describeCollection(addresses, collections[0] as Collection, extents, json).crs,
            collections: collections.map((each) => describeCollection(addresses, each, extents)),
          };
        },
        (addresses) => makeCollectionsPage(c, addresses),
      ),
    )
    .get('/collections/:collection', (c) => {
      const collection = findCollection(c);
      return answer(
        c,
        async (addresses) => describeCollection(addresses, collection, await readExtents(), json),
        async (addresses) => makeCollectionPage(c, addresses, collection, await readExtents()),
      );
    })
    .get('/collections/:collection/items', (c) => answerItems(c, deps, findCollection(c)))
    .get('/collections/:collection/items/:fid', (c) => answerItem(c, deps, findCollection(c), c.req.param('fid')));
  // The root as programs put it together from the document: its server and a slash.
  return new Hono<Env>().route('/', pages).get(`${base}/`, (c) => c.redirect(`${base}${new URL(c.req.url).search}`, 301));
}

function findCollection(c: Context<Env>): Collection {
  const collection = collections.find(({ id }) => id === c.req.param('collection'));
  if (!collection) throw new PortalError('nicht_gefunden');
  return collection;
}

/** Where features lie: computed once for each version of what there is. */
function keepExtents({ reads }: Deps): () => Promise<Extents> {
  let known: { stand: string; extents: Extents } | null = null;
  return async () => {
    const stand = await getStand(reads, 'gezeigt');
    if (known?.stand === stand) return known.extents;
    const extents: Extents = new Map();
    for (const margin of new Set(collections.map((each) => each.margin))) extents.set(margin, await getExtent(reads, margin));
    known = { stand, extents };
    return extents;
  };
}
