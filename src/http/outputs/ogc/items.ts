// Features of a collection: what may be asked for, and pages and single features in each format (O2).
import type { Context } from 'hono';
import * as v from 'valibot';
import type { FeatureFilter, FeaturePage } from '../../../db/ausgabe-ogc.ts';
import { isStorable } from '../../../guard/text.ts';
import type { Env } from '../../context.ts';
import * as field from '../../wire/fields.ts';
import { PortalError } from '../../wire/portal-error.ts';
import { send } from '../../wire/reply.ts';
import { queryReader } from '../output-query.ts';
import { type Collection, collections } from './collections.ts';
import { bboxField, crs84, crsField, systemOf, toBox } from './crs.ts';
import { datetimeField } from './datetime.ts';
import { makeCsv } from './geometry.ts';
import { makeItemPage, makeItemsPage } from './items-page.ts';
import { Addresses, type Link } from './links.ts';
import { chooseFormat, csv, geojson, html, itemFormats, itemsFormats, linkType } from './negotiate.ts';
import type { Conditions } from './ogc-conditions.ts';

/** Features of a page; more are cut down to it (Requirement 22). */
export const maxFeatures = 10_000;
export const defaultFeatures = 100;
/** The same of a page that people look at. */
export const maxFeaturesOfPage = 500;

const allowedLimit = `eine ganze Zahl ab 1 (mehr als ${maxFeatures} zählt wie ${maxFeatures})`;
const limitField = v.optional(
  v.pipe(
    v.string(),
    v.trim(),
    v.regex(/^\+?0*[1-9]\d{0,30}$/, allowedLimit),
    v.transform((value) => Math.min(Number(value), maxFeatures)),
  ),
  String(defaultFeatures),
);

/** Some programs page that way only; whoever reads on is to follow `next`, which costs the same however far it is. */
export const maxOffset = 10_000;

const pageEntries = {
  f: v.optional(field.oneOf(['json', 'html', 'csv'])),
  bbox: bboxField,
  'bbox-crs': crsField,
  crs: crsField,
  datetime: datetimeField,
  limit: limitField,
  cursor: v.optional(v.string()),
  offset: v.optional(field.integer(0, maxOffset), '0'),
};
type PageInput = v.InferOutput<v.ObjectSchema<typeof pageEntries, undefined>>;

/** What one of the collections may be asked for beside that. */
type FilterInput = Pick<FeatureFilter, 'art' | 'artengruppe_id' | 'jahr_von' | 'jahr_bis' | 'mandant'> & { jahr?: number };

const pageReaders = new Map(collections.map(({ id, filters }) => [id, queryReader({ ...pageEntries, ...filters })]));
const readItemQuery = queryReader({ f: v.optional(field.oneOf(['json', 'html'])), crs: crsField });

/** GET /ogc/collections/{collection}/items */
export async function answerItems(c: Context<Env>, { deps, answerUnchanged, setTag }: Conditions, collection: Collection) {
  const read = pageReaders.get(collection.id);
  if (!read) throw new PortalError('nicht_gefunden');
  const input = read(c) as PageInput & FilterInput;
  const format = chooseFormat(c, input.f, itemsFormats);
  const filter = toFilter(input);
  const hasArea = filter.box !== undefined || filter.mandant !== undefined;
  const { cursor } = input;
  if (cursor !== undefined && !collection.key(hasArea).test(cursor))
    throw new PortalError('ungueltiger_parameter', {
      cursor: 'cursor gehört nicht zu dieser Anfrage; erlaubt ist die Adresse aus dem Verweis next, mit denselben Filtern.',
    });
  const unchanged = await answerUnchanged(c, format);
  if (unchanged) return unchanged;
  // People are shown a map in degrees.
  const crs = format === html ? crs84 : input.crs;
  const limit = format === html ? Math.min(input.limit, maxFeaturesOfPage) : input.limit;
  const range = { filter, after: cursor ?? null, skip: input.offset, limit, system: systemOf(crs) };
  const { value: page, stand } = await collection.list(deps.reads, range);
  setTag(c, format, stand);
  const addresses = new Addresses(c, deps);
  const links = addresses.own(format, itemsFormats);
  const next = page.lastKey === null ? null : addresses.with({ cursor: page.lastKey }, 'offset');
  if (next !== null) links.push({ href: next, rel: 'next', type: linkType(format), title: 'Nächste Seite' });
  links.push(...addresses.below(`/collections/${collection.id}`, 'collection', collection.title, [geojson]).map(asJson));
  c.header('Link', links.map(({ href, rel, type }) => `<${href}>; rel="${rel}"; type="${type}"`).join(', '));
  if (format === html) return makeItemsPage(c, addresses, collection, page, next);
  setCrs(c, crs);
  if (format === csv) return send(c, { body: makeCsv(collection, page), type: csv.type, status: 200 });
  return send(c, {
    body: makeCollection(page, links, cursor === undefined && input.offset === 0),
    type: geojson.type,
    status: 200,
  });
}

/** GET /ogc/collections/{collection}/items/{fid} */
export async function answerItem(c: Context<Env>, { deps, answerUnchanged, setTag }: Conditions, collection: Collection) {
  const id = c.req.param('fid') ?? '';
  const input = readItemQuery(c);
  const format = chooseFormat(c, input.f, itemFormats);
  const unchanged = await answerUnchanged(c, format);
  if (unchanged) return unchanged;
  const crs = format === html ? crs84 : input.crs;
  const found = isStorable(id) ? await collection.get(deps.reads, id, systemOf(crs)) : null;
  const feature = found?.value;
  if (!feature) throw new PortalError('nicht_gefunden');
  setTag(c, format, found.stand);
  const addresses = new Addresses(c, deps);
  const links = [
    ...addresses.own(format, itemFormats),
    ...addresses.below(`/collections/${collection.id}`, 'collection', collection.title, [geojson]).map(asJson),
  ];
  if (format === html) return makeItemPage(c, addresses, collection, feature);
  setCrs(c, crs);
  // Before the brace that ends it.
  const tail = Buffer.from(`,"links":${JSON.stringify(links)}}`);
  return send(c, { body: Buffer.concat([feature.subarray(0, -1), tail]), type: geojson.type, status: 200 });
}

const asJson = (link: Link): Link => ({ ...link, type: 'application/json' });

function setCrs(c: Context<Env>, crs: string): void {
  c.header('Content-Crs', `<${crs}>`);
}

function makeCollection(page: FeaturePage, links: readonly Link[], isFirst: boolean): Buffer<ArrayBuffer> {
  const head = {
    type: 'FeatureCollection',
    timeStamp: new Date().toISOString(),
    numberReturned: page.returned,
    // Counting all is dear; what stands on one page is counted.
    ...(isFirst && page.lastKey === null && { numberMatched: page.returned }),
    links,
  };
  return Buffer.concat([
    Buffer.from(`${JSON.stringify(head).slice(0, -1)},"features":[\n`),
    ...page.features,
    Buffer.from('\n]}\n'),
  ]);
}

/** What the database is asked for; jahr and datetime are days, and days are years where only those are counted. */
function toFilter(input: PageInput & FilterInput): FeatureFilter {
  const { bbox, datetime, art, artengruppe_id, mandant, jahr, jahr_von, jahr_bis } = input;
  const year = (value: number) => String(value).padStart(4, '0');
  const yearOf = (day: string | undefined) => (day === undefined ? undefined : Number(day.slice(0, 4)));
  return {
    art,
    artengruppe_id,
    mandant,
    datum_von: latest([datetime?.from, jahr === undefined ? undefined : `${year(jahr)}-01-01`]),
    datum_bis: earliest([datetime?.to, jahr === undefined ? undefined : `${year(jahr)}-12-31`]),
    jahr_von: latest([jahr_von, yearOf(datetime?.from)]),
    jahr_bis: earliest([jahr_bis, yearOf(datetime?.to)]),
    box: bbox && toBox(bbox, input['bbox-crs'] ?? crs84),
  };
}

const inOrder = <T extends string | number>(values: (T | undefined)[]) =>
  values.filter((value) => value !== undefined).sort((a, b) => (a < b ? -1 : 1));
const latest = <T extends string | number>(values: (T | undefined)[]) => inOrder(values).at(-1);
const earliest = <T extends string | number>(values: (T | undefined)[]) => inOrder(values)[0];
