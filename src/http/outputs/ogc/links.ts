// Links of /ogc: absolute, on the host that was asked (O2).
import type { Context } from 'hono';
import { type Deps, type Env, requestOrigin } from '../../context.ts';
import { queryOf } from '../../wire/query.ts';
import { type FormatName, linkType, type OutputFormat } from './negotiate.ts';

export const base = '/ogc';

export interface Link {
  href: string;
  rel: string;
  type: string;
  title: string;
  /** Bytes, of what is downloaded. */
  length?: number;
}

const titles: Record<FormatName, string> = {
  json: 'als JSON',
  html: 'als Seite',
  csv: 'als Tabelle (CSV)',
  jsonld: 'als DCAT-AP.de (JSON-LD)',
  rdf: 'als DCAT-AP.de (RDF/XML)',
};

/** The addresses that belong to a request. */
export class Addresses {
  /** Under which the service was asked. */
  readonly origin: string;
  readonly root: string;
  readonly #path: string;
  readonly #query: string;

  constructor(c: Context<Env>, { config }: Deps) {
    const origin = requestOrigin(c, config.trustedHops);
    this.origin = origin;
    this.root = `${origin}${base}`;
    const url = c.req.url;
    const end = url.indexOf('?');
    // As it was asked for, with its escapes.
    const full = end < 0 ? url : url.slice(0, end);
    this.#path = `${origin}${full.slice(full.indexOf('/', full.indexOf('//') + 2))}`;
    this.#query = queryOf(url);
  }

  /** This address, with other values of some parameters. */
  with(changes: Record<string, string>, without = ''): string {
    const nameOf = (pair: string) => pair.split('=', 1)[0] ?? '';
    const kept = this.#query
      .split('&')
      .filter((pair) => pair !== '' && nameOf(pair) !== without && !Object.hasOwn(changes, nameOf(pair)));
    const pairs = [...kept, ...Object.entries(changes).map(([name, value]) => `${name}=${encodeURIComponent(value)}`)];
    return pairs.length > 0 ? `${this.#path}?${pairs.join('&')}` : this.#path;
  }

  /** This address itself, and the same in the other formats. */
  own(format: OutputFormat, formats: readonly OutputFormat[]): Link[] {
    return [
      { href: this.with({}), rel: 'self', type: linkType(format), title: 'Diese Seite' },
      ...formats
        .filter(({ name }) => name !== format.name)
        .map((other) => ({
          href: this.with({ f: other.name }),
          rel: 'alternate',
          type: linkType(other),
          title: `Dasselbe ${titles[other.name]}`,
        })),
    ];
  }

  /** An address below the root in each of these formats, the first one without saying so. */
  below(path: string, rel: string, title: string, formats: readonly OutputFormat[]): Link[] {
    return formats.map((format, index) => ({
      href: `${this.root}${path}${index === 0 ? '' : `?f=${format.name}`}`,
      rel,
      type: linkType(format),
      title: index === 0 ? title : `${title} ${titles[format.name]}`,
    }));
  }
}
