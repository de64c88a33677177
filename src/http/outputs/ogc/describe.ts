// What /ogc says of itself: the landing page, the classes that it conforms to, the collections (O2).
import type { ExportStand } from '../../../db/export.ts';
import { licences } from '../../../export/licences.ts';
import { makeDataset } from '../export/catalogue.ts';
import { type Collection, collections } from './collections.ts';
import { crs84, crsNames, storageCrs } from './crs.ts';
import type { Addresses, Link } from './links.ts';
import { itemsFormats, json, openapi, pageFormats } from './negotiate.ts';

export const title = 'Artbeobachtungen';
export const description =
  'Öffentliche freigegebene Artbeobachtungen für GIS-Programme: einzeln, gezählt nach Rastern, und die Grenzen der Portale. Geschützte Funde zeigt der Dienst nur als Rasterzelle von 5 km.';

const part1 = 'http://www.opengis.net/spec/ogcapi-features-1/1.0/conf';
export const conformance = [
  `${part1}/core`,
  `${part1}/oas30`,
  `${part1}/html`,
  `${part1}/geojson`,
  'http://www.opengis.net/spec/ogcapi-features-2/1.0/conf/crs',
];

/** What the database says of the collections. */
export interface About {
  /** West, south, east, north in degrees, by the margin around all sightings; null where there is nothing yet. */
  extents: Map<number, number[] | null>;
  /** Tenants that publish files. */
  publishers: readonly ExportStand[];
}

/** Where the landing page leads. */
export function linksOfLanding(addresses: Addresses): Link[] {
  return [
    ...addresses.below('/api', 'service-desc', 'Beschreibung der Schnittstelle (OpenAPI 3.0)', [openapi]),
    { href: `${addresses.root}/api?f=html`, rel: 'service-doc', type: 'text/html', title: 'Beschreibung der Schnittstelle' },
    ...addresses.below('/conformance', 'conformance', 'Erfüllte Konformitätsklassen', pageFormats),
    ...addresses.below('/collections', 'data', 'Sammlungen', pageFormats),
  ];
}

export const describeLanding = (addresses: Addresses) => ({
  title,
  description,
  links: [...addresses.own(json, pageFormats), ...linksOfLanding(addresses)],
});

export const describeConformance = (addresses: Addresses) => ({
  conformsTo: conformance,
  links: addresses.own(json, pageFormats),
});

export const describeCollections = (addresses: Addresses, about: About) => ({
  links: [...addresses.own(json, pageFormats), ...linksOfLicences(about)],
  crs: crsNames,
  collections: collections.map((each) => describeCollection(addresses, each, about)),
});

/** @param isAlone the document is about this collection alone, and no list of all */
export function describeCollection(addresses: Addresses, collection: Collection, about: About, isAlone = false) {
  const path = `/collections/${collection.id}`;
  const extent = about.extents.get(collection.margin);
  return {
    id: collection.id,
    title: collection.title,
    description: collection.description,
    itemType: 'feature',
    extent: {
      ...(extent && { spatial: { bbox: [outwards(extent)], crs: crs84 } }),
      // The first day that a report may have.
      ...(collection.isTimed && {
        temporal: {
          interval: [['1800-01-01T00:00:00Z', null]],
          trs: 'http://www.opengis.net/def/uom/ISO-8601/0/Gregorian',
        },
      }),
    },
    crs: crsNames,
    storageCrs,
    links: [
      ...(isAlone ? addresses.own(json, pageFormats) : addresses.below(path, 'self', collection.title, [json])),
      ...addresses.below(`${path}/items`, 'items', `${collection.title}: Objekte`, itemsFormats),
      ...(collection.id === 'sichtbeobachtung' ? [...linksOfLicences(about), ...linksOfFiles(addresses, about)] : []),
    ],
  };
}

// Of more tenants the list of files tells.
const maxPublishers = 100;

/** A link for each licence under which tenants publish (O5.7). */
export function linksOfLicences({ publishers }: About): Link[] {
  return [...new Set(publishers.map(({ lizenz }) => lizenz))].map((lizenz) => {
    const names = publishers.filter((each) => each.lizenz === lizenz).slice(0, maxPublishers);
    const { title: licence, url } = licences[lizenz];
    return { href: url, rel: 'license', type: 'text/html', title: `${licence} (${names.map(({ name }) => name).join(', ')})` };
  });
}

/** Records that describe what tenants publish, and their GeoPackages. */
function linksOfFiles({ origin }: Addresses, { publishers }: About): Link[] {
  return publishers.slice(0, maxPublishers).flatMap((stand) => {
    const { titel, metadaten, dateien } = makeDataset(stand, null, origin, origin);
    const record = { href: metadaten, rel: 'describedby', type: 'application/xml', title: `${titel} (ISO 19139)` };
    const packages = dateien
      .filter(({ datei }) => datei === 'sichtbeobachtung.gpkg')
      .map(({ url, type, bytes }) => ({ href: url, rel: 'enclosure', type, title: `${titel} (GeoPackage)`, length: bytes }));
    return [record, ...packages];
  });
}

// Rounded so that nothing lies outside.
function outwards([west = 0, south = 0, east = 0, north = 0]: readonly number[]): number[] {
  const round = (value: number, to: (value: number) => number) => to(value * 100) / 100;
  return [round(west, Math.floor), round(south, Math.floor), round(east, Math.ceil), round(north, Math.ceil)];
}
