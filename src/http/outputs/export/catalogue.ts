// What is published, as every form of /export/v1/ tells it (O5.6): one object, of which pages, DCAT and ISO records are made.
import { listMandantBox } from '../../../db/ausgabe-ogc.ts';
import type { Sql } from '../../../db/client.ts';
import { type ExportDatei, type ExportStand, listExport } from '../../../db/export.ts';
import { contentTypes, dateienOf, licences } from '../../../export/licences.ts';
import { metadatenDatei } from './file.ts';

/** A file as others are told of it. */
export interface CatalogueFile {
  datei: ExportDatei;
  url: string;
  bytes: number;
  anzahl: number;
  stand: Date;
  sha256: string;
  /** Content type, without what belongs to its text only. */
  type: string;
}

/** What a tenant publishes. */
export interface Dataset extends Omit<ExportStand, 'dateien' | 'domain'> {
  dateien: CatalogueFile[];
  /** Since when the newest of its files is as it is; null before there is one. */
  stand: Date | null;
  /** Names it wherever it is told of, and leads to its part of the page. */
  url: string;
  /** Of the ISO record. */
  metadaten: string;
  /** Names that record wherever it is told of. */
  kennung: string;
  licence: (typeof licences)[keyof typeof licences];
  /** Who is to be named, and how. */
  zitat: string;
  /** west, south, east, north in degrees. */
  box: readonly number[] | null;
}

/**
 * @param origin address that was asked, of which addresses of files are made
 * @param publicUrl of a tenant, with {domain}: its own host names what it publishes, whichever was asked
 */
export async function listDataset(sql: Sql, origin: string, publicUrl: string): Promise<Dataset[]> {
  const stands = await listExport(sql, null);
  const boxes = stands.length > 0 ? await listMandantBox(sql) : new Map<string, number[]>();
  return stands.map((stand) => makeDataset(stand, boxes.get(stand.mandant) ?? null, origin, publicUrl));
}

/** What is told of a tenant that publishes. */
export function makeDataset(
  { domain, ...about }: ExportStand,
  box: readonly number[] | null,
  origin: string,
  publicUrl: string,
): Dataset {
  const own = `${publicUrl.replaceAll('{domain}', domain)}/export/v1/`;
  const base = `${origin}/export/v1/`;
  const kuerzel = encodeURIComponent(about.mandant);
  const allowed = dateienOf(about.lizenz);
  const dateien = about.dateien
    .filter(({ datei }) => allowed.includes(datei))
    .map(({ objekt: _name, ...file }) => ({
      ...file,
      url: `${base}${kuerzel}/${file.datei}`,
      type: contentTypes[file.datei].split(';', 1)[0] ?? '',
    }));
  const stand = dateien.reduce<Date | null>((newest, file) => (newest && newest > file.stand ? newest : file.stand), null);
  const licence = licences[about.lizenz];
  const url = `${own}#${kuerzel}`;
  const day = stand ? `, Stand ${toDay(stand)}` : '';
  const zitat = `${about.herausgeber}: ${about.titel}${day}. ${licence.title}. ${url}`;
  const metadaten = `${kuerzel}/${metadatenDatei}`;
  return { ...about, dateien, stand, url, metadaten: base + metadaten, kennung: own + metadaten, licence, zitat, box };
}

/** The day of an instant in Germany: 30.11.2026. */
export const toDay = (instant: Date) => instant.toLocaleDateString('de-DE', { timeZone: 'Europe/Berlin', dateStyle: 'medium' });

/** As programs read it. */
export const describeCatalogue = (datasets: readonly Dataset[]) => ({
  result: datasets.flatMap(({ mandant, lizenz, dateien }) =>
    dateien.map(({ datei, url, bytes, anzahl, stand, sha256 }) => ({
      mandant,
      datei,
      url,
      bytes,
      anzahl,
      stand,
      lizenz,
      sha256,
    })),
  ),
  mandanten: datasets.map(
    ({ mandant, name, titel, beschreibung, herausgeber, kontakt, lizenz, licence, metadaten, gueltig, beendet, fehler }) => ({
      ...{ mandant, name, titel, beschreibung, herausgeber, kontakt, lizenz, lizenz_url: licence.url, metadaten },
      ...{ gueltig, beendet, fehler },
    }),
  ),
});
