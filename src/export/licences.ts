// Licences of tenants and media (O5.1, O5.5): what they are called, where their text is, and which files they allow.
import { type ExportDatei, type ExportMandant, exportDateien } from '../db/export.ts';

export type Lizenz = ExportMandant['lizenz'];

interface Licence {
  title: string;
  /** Where its text is. */
  url: string;
  /** As DCAT-AP.de lists it. */
  dcat: string;
}

const dcat = (name: string) => `http://dcat-ap.de/def/licenses/${name}`;

export const licences: Record<Lizenz, Licence> = {
  'CC0-1.0': {
    title: 'Creative Commons Zero 1.0',
    url: 'http://creativecommons.org/publicdomain/zero/1.0/legalcode',
    dcat: dcat('cc-zero'),
  },
  'CC-BY-4.0': {
    title: 'Creative Commons Namensnennung 4.0',
    url: 'http://creativecommons.org/licenses/by/4.0/legalcode',
    dcat: dcat('cc-by/4.0'),
  },
  'CC-BY-NC-4.0': {
    title: 'Creative Commons Namensnennung, nicht kommerziell 4.0',
    url: 'http://creativecommons.org/licenses/by-nc/4.0/legalcode',
    dcat: dcat('cc-by-nc/4.0'),
  },
  'dl-de/by-2-0': {
    title: 'Datenlizenz Deutschland Namensnennung 2.0',
    url: 'https://www.govdata.de/dl-de/by-2-0',
    dcat: dcat('dl-by-de/2.0'),
  },
  'dl-de/zero-2-0': {
    title: 'Datenlizenz Deutschland Zero 2.0',
    url: 'https://www.govdata.de/dl-de/zero-2-0',
    dcat: dcat('dl-zero-de/2.0'),
  },
  'ODbL-1.0': {
    title: 'Open Data Commons Open Database License 1.0',
    url: 'https://opendatacommons.org/licenses/odbl/1-0/',
    dcat: dcat('odbl'),
  },
};

/** Licences that GBIF takes: of archives, and of media. */
export const gbifLicences = ['CC0-1.0', 'CC-BY-4.0', 'CC-BY-NC-4.0'] as const;

/** Which files a tenant with this licence publishes: no archive where GBIF does not take the licence. */
export function dateienOf(lizenz: Lizenz): ExportDatei[] {
  const isForGbif = gbifLicences.some((each) => each === lizenz);
  return exportDateien.filter((datei) => datei !== 'dwca.zip' || isForGbif);
}

/** Content types of the files. */
export const contentTypes: Record<ExportDatei, string> = {
  'dwca.zip': 'application/zip',
  'sichtbeobachtung.csv': 'text/csv; charset=utf-8; header=present',
  'sichtbeobachtung.geojson': 'application/geo+json',
  'sichtbeobachtung.gpkg': 'application/geopackage+sqlite3',
  'cube.csv': 'text/csv; charset=utf-8; header=present',
};
