// /export/v1: files to publish, and what they are (O5).
import { hash } from 'node:crypto';
import { type Context, Hono } from 'hono';
import * as v from 'valibot';
import { listMandantBox } from '../../../db/ausgabe-ogc.ts';
import { type Deps, type Env, requestOrigin } from '../../context.ts';
import { matches, namesAny, sendHashed } from '../../wire/etag.ts';
import * as field from '../../wire/fields.ts';
import { send } from '../../wire/reply.ts';
import { toXmlDocument } from '../../wire/xml.ts';
import { Addresses } from '../ogc/links.ts';
import { chooseFormat, exportFormats, type FormatName } from '../ogc/negotiate.ts';
import { queryReader } from '../output-query.ts';
import { describeCatalogue, listDataset, makeDataset } from './catalogue.ts';
import { describeDcat, toRdf } from './dcat.ts';
import { makeExportPage } from './export-page.ts';
import { answerFile, metadatenDatei, requireExport } from './file.ts';
import { describeIso } from './iso.ts';

const readFormat = queryReader({ f: v.optional(field.oneOf(['json', 'html', 'jsonld', 'rdf'])) });
const readNothing = queryReader({});

export function exportRoutes(deps: Deps): Hono<Env> {
  const { sql, config, build } = deps;

  const catalogue = async (c: Context<Env>) => {
    const format = chooseFormat(c, readFormat(c).f, exportFormats);
    const origin = requestOrigin(c, config.trustedHops);
    const datasets = await listDataset(sql, origin, config.publicUrl);
    const tag = `"${hash('sha256', [build, format.name, c.req.url, JSON.stringify(datasets)].join(' '), 'base64url').slice(0, 22)}"`;
    c.header('Cache-Control', 'no-cache');
    c.header('ETag', tag);
    const known = c.req.header('if-none-match');
    if (matches(known, tag) || namesAny(known)) return c.body(null, 304);
    if (format.name === 'html') return makeExportPage(c, new Addresses(c, deps), datasets, origin);
    const makers: { [name in FormatName]?: () => string } = {
      json: () => JSON.stringify(describeCatalogue(datasets)),
      jsonld: () => JSON.stringify(describeDcat(datasets, origin)),
      rdf: () => toXmlDocument(toRdf(describeDcat(datasets, origin))),
    };
    return send(c, { body: makers[format.name]?.() ?? '', type: format.type, status: 200 });
  };

  return new Hono<Env>()
    .get('/export/v1', catalogue)
    .get('/export/v1/', catalogue)
    .get('/export/v1/:kuerzel/:datei', async (c) => {
      readNothing(c);
      const stand = await requireExport(deps, c.req.param('kuerzel'));
      const datei = c.req.param('datei');
      if (datei !== metadatenDatei) return answerFile(c, deps, stand, datei);
      const box = (await listMandantBox(sql)).get(stand.mandant) ?? null;
      const dataset = makeDataset(stand, box, requestOrigin(c, config.trustedHops), config.publicUrl);
      c.header('Cache-Control', 'no-cache');
      return sendHashed(c, toXmlDocument(describeIso(dataset)), 'application/xml');
    });
}
