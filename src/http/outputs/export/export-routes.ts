// GET /export/v1/: what is published. GET /export/v1/{kuerzel}/{datei}: a file (O5).

import { Readable } from 'node:stream';
import { type Context, Hono } from 'hono';
import * as v from 'valibot';
import { exportDateien, isMandant, listExport } from '../../../db/export.ts';
import { contentTypes, dateienOf } from '../../../export/licences.ts';
import { currentScope } from '../../../guard/request.ts';
import { type Deps, type Env, requestOrigin } from '../../context.ts';
import { readRange } from '../../media/serve.ts';
import { matches, namesAny, sendHashed } from '../../wire/etag.ts';
import * as field from '../../wire/fields.ts';
import { PortalError } from '../../wire/portal-error.ts';
import { chooseFormat, html, json, type OutputFormat } from '../ogc/negotiate.ts';
import { queryReader } from '../output-query.ts';
import { toJsonLd, toRdfXml } from './dcat.ts';
import { type Dataset, toDatasets } from './metadata.ts';
import { sendCataloguePage } from './page.ts';

const jsonld: OutputFormat = { name: 'jsonld', type: 'application/ld+json' };
const rdf: OutputFormat = { name: 'rdf', type: 'application/rdf+xml' };
const formats = [json, html, jsonld, rdf];

const readFormat = queryReader({ f: v.optional(field.oneOf(['json', 'html', 'jsonld', 'rdf'])) });
const readNothing = queryReader({});
const maxKuerzelLength = 20;

export function exportRoutes(deps: Deps): Hono<Env> {
  const { sql } = deps;

  const answerCatalogue = async (c: Context<Env>) => {
    const format = chooseFormat(c, readFormat(c).f, formats);
    const origin = requestOrigin(c, deps.config.trustedHops);
    const datasets = toDatasets(await listExport(sql, null), origin);
    c.header('Cache-Control', 'no-cache');
    if (format === html) return sendCataloguePage(c, datasets);
    const catalogue = `${origin}/export/v1/`;
    const render = { json: toJson, jsonld: toJsonLd, rdf: toRdfXml }[format.name as 'json' | 'jsonld' | 'rdf'];
    return sendHashed(c, render(datasets, catalogue), format.type);
  };

  const answerFile = async (c: Context<Env>) => {
    readNothing(c);
    const kuerzel = c.req.param('kuerzel') ?? '';
    const datei = exportDateien.find((each) => each === c.req.param('datei'));
    if (datei === undefined || kuerzel.length > maxKuerzelLength) throw new PortalError('keine_datei');
    // Asked for each time: from the commit on of what hides something, a file that shows it is not served (O5.2).
    const [stand] = await listExport(sql, kuerzel);
    if (!stand) throw new PortalError((await isMandant(sql, kuerzel)) ? 'keine_lizenz' : 'keine_datei');
    if (!dateienOf(stand.lizenz).includes(datei)) throw new PortalError('kein_archiv');
    const file = stand.dateien.find((each) => each.datei === datei);
    if (!file || !stand.gueltig) throw new PortalError('datei_unterwegs');

    const tag = `"${file.sha256}"`;
    // Seconds, as the header has them.
    const modified = new Date(Math.floor(file.stand.getTime() / 1000) * 1000);
    c.header('Cache-Control', 'no-cache');
    c.header('ETag', tag);
    c.header('Last-Modified', modified.toUTCString());
    c.header('Accept-Ranges', 'bytes');
    const known = c.req.header('if-none-match');
    const since = Date.parse(c.req.header('if-modified-since') ?? '');
    if (known === undefined ? since >= modified.getTime() : matches(known, tag) || namesAny(known)) return c.body(null, 304);
    c.header('Content-Type', contentTypes[datei]);
    c.header('Content-Disposition', `attachment; filename="${stand.mandant.toLowerCase()}-${datei}"`);
    const range = readRange(c, tag, file.bytes);
    if (range === 'unsatisfiable') return c.body(null, 416, { 'Content-Range': `bytes */${file.bytes}` });
    const { start, end } = range ?? { start: 0, end: file.bytes };
    const headers = {
      'Content-Length': String(end - start),
      ...(range && { 'Content-Range': `bytes ${start}-${end - 1}/${file.bytes}` }),
    };
    const status = range ? 206 : 200;
    if (c.req.method === 'HEAD') return c.body(null, status, headers);
    const opened = await deps.media.storage.open(file.objekt, range ? { start, end: end - 1 } : undefined);
    // Of a run that ended meanwhile there is another one.
    if (!opened) throw new PortalError('datei_unterwegs');
    const scope = currentScope();
    if (scope) scope.bytes = end - start;
    return c.body(Readable.toWeb(opened.stream) as ReadableStream<Uint8Array>, status, headers);
  };

  return new Hono<Env>()
    .get('/export/v1', answerCatalogue)
    .get('/export/v1/', answerCatalogue)
    .get('/export/v1/:kuerzel/:datei', answerFile);
}

function toJson(datasets: readonly Dataset[]): string {
  const dateien = datasets.flatMap(({ stand, distributions }) =>
    distributions.map(({ datei, url, bytes, anzahl, stand: seit, sha256 }) => ({
      mandant: stand.mandant,
      datei,
      url,
      bytes,
      anzahl,
      stand: seit.toISOString(),
      lizenz: stand.lizenz,
      sha256,
      gueltig: stand.gueltig,
    })),
  );
  const mandanten = datasets.map(({ stand }) => ({
    mandant: stand.mandant,
    titel: stand.titel,
    herausgeber: stand.herausgeber,
    kontakt: stand.kontakt,
    lizenz: stand.lizenz,
    beendet: stand.beendet?.toISOString() ?? null,
    fehler: stand.fehler,
  }));
  return JSON.stringify({ dateien, mandanten });
}
