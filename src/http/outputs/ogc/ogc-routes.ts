// OGC API – Features (O2), Part 1 and Part 2: which addresses there are.
import { type Context, Hono } from 'hono';
import * as v from 'valibot';
import { listExtent } from '../../../db/ausgabe-ogc.ts';
import { listExport } from '../../../db/export.ts';
import { getStand, type Versioned } from '../../../db/page.ts';
import type { Deps, Env } from '../../context.ts';
import { namesAny } from '../../wire/etag.ts';
import * as field from '../../wire/fields.ts';
import { PortalError } from '../../wire/portal-error.ts';
import { send } from '../../wire/reply.ts';
import { queryReader } from '../output-query.ts';
import { type Collection, collections } from './collections.ts';
import { type About, describeCollection, describeCollections, describeConformance, describeLanding } from './describe.ts';
import {
  makeCollectionPage,
  makeCollectionsPage,
  makeConformancePage,
  makeLandingPage,
  makeOpenapiPage,
} from './describe-page.ts';
import { answerItem, answerItems } from './items.ts';
import { Addresses, base } from './links.ts';
import { apiFormats, chooseFormat, html, pageFormats } from './negotiate.ts';
import { makeConditions, noStand } from './ogc-conditions.ts';
import { makeOpenapi } from './openapi.ts';

const readFormat = queryReader({ f: v.optional(field.oneOf(['json', 'html'])) });

export function ogcRoutes(deps: Deps): Hono<Env> {
  const readAbout = keepAbout(deps);
  const conditions = makeConditions(deps);

  /** Answers an address that is no feature's: what is read, as JSON and as a page. */
  const page =
    <T>(
      read: (() => Promise<Versioned<T>>) | null,
      make: (addresses: Addresses, value: T) => object,
      makeHtml: (c: Context<Env>, addresses: Addresses, value: T) => Promise<Response>,
      formats = pageFormats,
    ) =>
    async (c: Context<Env>) => {
      const format = chooseFormat(c, readFormat(c).f, formats);
      const { value, stand } = read === null ? nothing : await read();
      const unchanged = await conditions.answerUnchanged(c, format, async () => stand);
      if (unchanged) return unchanged;
      conditions.setTag(c, format, stand);
      const addresses = new Addresses(c, deps);
      if (format === html) return makeHtml(c, addresses, value as T);
      return send(c, { body: JSON.stringify(make(addresses, value as T)), type: format.type, status: 200 });
    };

  const pages = new Hono<Env>()
    .basePath(base)
    .use(async (c, next) => {
      await next();
      if (c.res.status === 200 && namesAny(c.req.header('if-none-match'))) {
        c.res.headers.delete('Content-Type');
        c.res = c.body(null, 304);
      }
    })
    .get('/', page(null, describeLanding, makeLandingPage))
    .get(
      '/api',
      page(null, ({ root }) => makeOpenapi(root), makeOpenapiPage, apiFormats),
    )
    .get('/conformance', page(null, describeConformance, makeConformancePage))
    .get('/collections', page(readAbout, describeCollections, makeCollectionsPage))
    .get('/collections/:collection', (c) => {
      const collection = findCollection(c);
      return page(
        readAbout,
        (addresses, about) => describeCollection(addresses, collection, about, true),
        (_c, addresses, about) => makeCollectionPage(c, addresses, collection, about),
      )(c);
    })
    .get('/collections/:collection/items', (c) => answerItems(c, conditions, findCollection(c)))
    .get('/collections/:collection/items/:fid{.+}', (c) => answerItem(c, conditions, findCollection(c)));
  // The root as programs put it together from the document: its server and a slash.
  return new Hono<Env>().route('/', pages).get(`${base}/`, (c) => c.redirect(`${base}${new URL(c.req.url).search}`, 301));
}

function findCollection(c: Context<Env>): Collection {
  const collection = collections.find(({ id }) => id === c.req.param('collection'));
  if (!collection) throw new PortalError('nicht_gefunden');
  return collection;
}

const nothing: Versioned<undefined> = { value: undefined, stand: noStand };

/** Where features lie, computed once for each version of what there is; and who publishes files, which has no version. */
function keepAbout({ reads }: Deps): () => Promise<Versioned<About>> {
  const margins = new Set(collections.map(({ margin }) => margin));
  let known: Versioned<About['extents']> | null = null;
  return async () => {
    if (known?.stand !== (await getStand(reads, 'gezeigt'))) known = await listExtent(reads, margins);
    const publishers = await listExport(reads, null);
    return { value: { extents: known.value, publishers }, stand: `${known.stand} ${JSON.stringify(publishers)}` };
  };
}
