// In which format an address of /ogc answers: `f` says it, else the Accept header (O2).
import type { Context } from 'hono';
import type { Env } from '../../context.ts';
import { PortalError } from '../../wire/portal-error.ts';

export type FormatName = 'json' | 'html' | 'csv' | 'jsonld' | 'rdf';

export interface OutputFormat {
  name: FormatName;
  /** As it is sent and named in links. */
  type: string;
  /** What else an Accept header may call it. */
  also?: readonly string[];
}

export const html: OutputFormat = { name: 'html', type: 'text/html; charset=utf-8' };
export const json: OutputFormat = { name: 'json', type: 'application/json' };
export const geojson: OutputFormat = { name: 'json', type: 'application/geo+json', also: ['application/json'] };
export const csv: OutputFormat = { name: 'csv', type: 'text/csv; charset=utf-8; header=present' };
export const openapi: OutputFormat = {
  name: 'json',
  type: 'application/vnd.oai.openapi+json;version=3.0',
  also: ['application/json', 'application/openapi+json'],
};

export const jsonld: OutputFormat = { name: 'jsonld', type: 'application/ld+json' };
export const rdf: OutputFormat = { name: 'rdf', type: 'application/rdf+xml' };

// What there is of each kind of address, the usual one first.
export const pageFormats = [json, html];
export const apiFormats = [openapi, html];
export const itemsFormats = [geojson, html, csv];
export const itemFormats = [geojson, html];
export const exportFormats = [json, html, jsonld, rdf];

/** The type without what belongs to its text only: how links name it. */
export const linkType = ({ type }: OutputFormat) => type.split('; ', 1)[0] ?? type;

// More than any client lists.
const maxRanges = 50;

/**
 * @param f as it was asked for, checked already
 * @param formats what there is, the usual one first
 * @throws PortalError `nicht_annehmbar` where the client takes none of them
 */
export function chooseFormat(c: Context<Env>, f: FormatName | undefined, formats: readonly OutputFormat[]): OutputFormat {
  c.header('Vary', 'Accept', { append: true });
  const named = formats.find(({ name }) => name === f);
  if (named) return named;
  const ranges = readAccept(c.req.header('accept') ?? '*/*');
  let best: OutputFormat | null = null;
  let bestQuality = 0;
  for (const format of formats) {
    const quality = Math.max(...[format.type, ...(format.also ?? [])].map((type) => qualityOf(type, ranges)));
    if (quality > bestQuality) [best, bestQuality] = [format, quality];
  }
  if (!best) throw new PortalError('nicht_annehmbar');
  return best;
}

interface Range {
  type: string;
  quality: number;
}

function readAccept(header: string): Range[] {
  return header
    .split(',', maxRanges)
    .map((part) => {
      const [type = '', ...parameters] = part.split(';').map((each) => each.trim().toLowerCase());
      const given = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
      const quality = given === undefined ? 1 : Number(given);
      return { type, quality: quality >= 0 && quality <= 1 ? quality : 0 };
    })
    .filter(({ type }) => type !== '');
}

// What names a type itself says more than what names all of its kind.
function qualityOf(type: string, ranges: readonly Range[]): number {
  const [plain = ''] = type.split(';');
  const [kind] = plain.split('/');
  for (const range of [plain, `${kind}/*`, '*/*']) {
    const found = ranges.find((each) => each.type === range);
    if (found) return found.quality;
  }
  return 0;
}
