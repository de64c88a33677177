// GET /export/v1/{kuerzel}/{datei}: a file to publish, or a part of it (O5.2). What may be sent is asked of the database each time.
import { Readable } from 'node:stream';
import type { Context } from 'hono';
import { type ExportDatei, type ExportStand, exportDateien, isMandant, listExport } from '../../../db/export.ts';
import { contentTypes, dateienOf, gbifLicences } from '../../../export/licences.ts';
import { currentScope } from '../../../guard/request.ts';
import { isStorable, shorten } from '../../../guard/text.ts';
import type { Deps, Env } from '../../context.ts';
import { readRange } from '../../media/serve.ts';
import { matches, namesAny } from '../../wire/etag.ts';
import { PortalError } from '../../wire/portal-error.ts';

/** The record that describes a tenant's files. */
export const metadatenDatei = 'metadaten.xml';

/** @throws PortalError `nicht_gefunden` with the reason where this tenant publishes nothing */
export async function requireExport(deps: Deps, kuerzel: string): Promise<ExportStand> {
  // Longer ones are refused by the catalogue.
  const isName = kuerzel.length <= 100 && isStorable(kuerzel);
  const [stand] = isName ? await listExport(deps.sql, kuerzel) : [];
  if (stand) return stand;
  if (!(isName && (await isMandant(deps.sql, kuerzel))))
    throw notFound('kuerzel', `Einen Mandanten „${shorten(kuerzel)}“ gibt es nicht.`);
  throw notFound('kuerzel', 'Dieser Mandant veröffentlicht keine Dateien: Er hat keine Lizenz festgelegt.');
}

/** @throws PortalError `nicht_gefunden` with the reason, `datei_in_arbeit` while there is none that may be shown */
export async function answerFile(c: Context<Env>, { media, log }: Deps, stand: ExportStand, name: string): Promise<Response> {
  const datei = requireDatei(stand, name);
  const file = stand.dateien.find((each) => each.datei === datei);
  if (!file || !stand.gueltig) throw new PortalError('datei_in_arbeit');
  const { bytes: size, objekt, sha256 } = file;
  const tag = `"${sha256}"`;
  const modified = file.stand.toUTCString();
  const about = { 'Cache-Control': 'no-cache', ETag: tag, 'Last-Modified': modified, 'Accept-Ranges': 'bytes' };
  if (isUnchanged(c, tag, modified)) return c.body(null, 304, about);
  const isHead = c.req.method === 'HEAD';
  const range = isHead ? null : readRange(c, [tag, modified], size);
  if (range === 'unsatisfiable') return c.body(null, 416, { ...about, 'Content-Range': `bytes */${size}` });
  const opened = await media.storage.open(objekt, range ? { start: range.start, end: range.end - 1 } : undefined);
  if (isHead || opened?.size !== size) opened?.stream.destroy();
  if (opened?.size !== size) {
    log.error({ mandant: stand.mandant, datei }, 'a stored file is missing');
    throw new PortalError('datei_in_arbeit');
  }
  const length = range ? range.end - range.start : size;
  const scope = currentScope();
  if (scope) scope.bytes = length;
  // The same, but HEAD has no body.
  const body = (isHead ? null : Readable.toWeb(opened.stream)) as ReadableStream;
  return c.body(body, range ? 206 : 200, {
    ...about,
    'Content-Type': contentTypes[datei],
    'Content-Length': String(length),
    'Content-Disposition': `attachment; filename="${datei}"; filename*=UTF-8''${encodeURIComponent(`${stand.mandant}-${datei}`)}`,
    ...(range && { 'Content-Range': `bytes ${range.start}-${range.end - 1}/${size}` }),
  });
}

function requireDatei({ lizenz }: ExportStand, name: string): ExportDatei {
  const allowed = dateienOf(lizenz);
  const datei = allowed.find((each) => each === name);
  if (datei) return datei;
  if (exportDateien.some((each) => each === name))
    throw notFound(
      'datei',
      `Unter der Lizenz ${lizenz} gibt es keine ${name}: GBIF nimmt nur ${gbifLicences.join(', ')}. Es gibt ${allowed.join(', ')}.`,
    );
  throw notFound('datei', `Eine Datei „${shorten(name)}“ gibt es nicht; es gibt ${[...allowed, metadatenDatei].join(', ')}.`);
}

function isUnchanged({ req }: Context<Env>, tag: string, modified: string): boolean {
  const known = req.header('if-none-match');
  if (known !== undefined) return matches(known, tag) || namesAny(known);
  return Date.parse(req.header('if-modified-since') ?? '') >= Date.parse(modified);
}

const notFound = (parameter: string, sentence: string) => new PortalError('nicht_gefunden', { [parameter]: sentence });
