// What is published, as open-data catalogues read it: one description, from which each format is made (O5.6).
import type { ExportStand, StoredExport } from '../../../db/export.ts';
import { contentTypes, dateienOf, licences } from '../../../export/licences.ts';

export interface Dataset {
  stand: ExportStand;
  /** Where the tenant's files are, with a slash at the end. */
  address: string;
  licence: { title: string; url: string; dcat: string };
  /** Day of the last change. */
  modified: string | null;
  distributions: Distribution[];
}

export interface Distribution extends StoredExport {
  url: string;
  /** Without parameters: text/csv */
  mediaType: string;
  title: string;
  stand: Date;
}

const titles: Record<StoredExport['datei'], string> = {
  'dwca.zip': 'Darwin Core Archive',
  'sichtbeobachtung.csv': 'Tabelle (CSV)',
  'sichtbeobachtung.geojson': 'GeoJSON',
  'sichtbeobachtung.gpkg': 'GeoPackage',
  'cube.csv': 'Zahlen je 10-km-Quadrat, Jahr und Art (CSV)',
};

/** What tenants publish. @param origin of the address that was asked */
export function toDatasets(exports: readonly ExportStand[], origin: string): Dataset[] {
  return exports.map((stand) => {
    const address = `${origin}/export/v1/${stand.mandant}/`;
    const allowed = dateienOf(stand.lizenz);
    const distributions = stand.dateien
      .filter(({ datei }) => allowed.includes(datei))
      .map((file) => ({
        ...file,
        url: `${address}${file.datei}`,
        mediaType: contentTypes[file.datei].split(';')[0] ?? '',
        title: titles[file.datei],
      }));
    const latest = Math.max(...distributions.map((file) => file.stand.getTime()));
    return {
      stand,
      address,
      licence: licences[stand.lizenz],
      modified: distributions.length > 0 ? new Date(latest).toISOString().slice(0, 10) : null,
      distributions,
    };
  });
}
