// The catalogue as DCAT-AP.de 3.0: JSON-LD and RDF/XML, of the same statements. https://www.dcat-ap.de/def/dcatde/3.0/spec/
import { create } from 'xmlbuilder2';
import type { XMLBuilder } from 'xmlbuilder2/lib/interfaces.js';
import type { Dataset } from './metadata.ts';

const namespaces = {
  rdf: 'http://www.w3.org/1999/02/22-rdf-syntax-ns#',
  dcat: 'http://www.w3.org/ns/dcat#',
  dcatap: 'http://data.europa.eu/r5r/',
  dcatde: 'http://dcat-ap.de/def/dcatde/',
  dct: 'http://purl.org/dc/terms/',
  foaf: 'http://xmlns.com/foaf/0.1/',
  spdx: 'http://spdx.org/rdf/terms#',
  vcard: 'http://www.w3.org/2006/vcard/ns#',
  xsd: 'http://www.w3.org/2001/XMLSchema#',
};

type Value = string | Reference | Literal | Resource;
interface Reference {
  '@id': string;
}
interface Literal {
  '@value': string;
  '@type'?: string;
  '@language'?: string;
}
interface Resource {
  '@id'?: string;
  '@type': string;
  [property: `${string}:${string}`]: Value | Value[];
}

const to = (id: string): Reference => ({ '@id': id });
const german = (text: string): Literal => ({ '@value': text, '@language': 'de' });
const typed = (value: string, type: string): Literal => ({ '@value': value, '@type': `xsd:${type}` });

// EU 2023/138: species distribution is a high-value dataset of its second category, about the earth and the environment.
const hvdRegulation = 'http://data.europa.eu/eli/reg_impl/2023/138/oj';
const hvdEnvironment = 'http://data.europa.eu/bna/c_dd313021';
const authority = 'http://publications.europa.eu/resource/authority';

const fileTypes: Record<string, string> = {
  'dwca.zip': 'ZIP',
  'sichtbeobachtung.csv': 'CSV',
  'sichtbeobachtung.geojson': 'GEOJSON',
  'sichtbeobachtung.gpkg': 'GPKG',
  'cube.csv': 'CSV',
};

function describe(datasets: readonly Dataset[], catalogue: string): Resource {
  return {
    '@id': catalogue,
    '@type': 'dcat:Catalog',
    'dct:title': german('Sichtbeobachtungen von Arten'),
    'dct:description': german('Dateien der Portale dieses Dienstes, je Mandant ein Datensatz'),
    'dct:language': to(`${authority}/language/DEU`),
    ...(datasets[0] && { 'dct:publisher': toAgent(datasets[0]) }),
    'dcat:dataset': datasets.map(describeDataset),
  };
}

const toAgent = ({ stand }: Dataset): Resource => ({
  '@type': 'foaf:Organization',
  'foaf:name': stand.herausgeber,
  'foaf:mbox': to(`mailto:${stand.kontakt}`),
});

function describeDataset(dataset: Dataset): Resource {
  const { stand, address, modified, distributions } = dataset;
  return {
    '@id': address,
    '@type': 'dcat:Dataset',
    'dct:identifier': address,
    'dct:title': german(stand.titel),
    'dct:description': german(stand.beschreibung),
    'dct:publisher': toAgent(dataset),
    'dcat:contactPoint': {
      '@type': 'vcard:Organization',
      'vcard:fn': stand.herausgeber,
      'vcard:hasEmail': to(`mailto:${stand.kontakt}`),
    },
    'dcat:theme': to(`${authority}/data-theme/ENVI`),
    'dcat:keyword': ['Artenvorkommen', 'Sichtbeobachtung', stand.name].map(german),
    'dct:spatial': { '@type': 'dct:Location', 'dct:title': german(stand.name) },
    'dct:accrualPeriodicity': to(`${authority}/frequency/DAILY`),
    'dct:accessRights': to(`${authority}/access-right/PUBLIC`),
    'dcatap:applicableLegislation': to(hvdRegulation),
    'dcatap:hvdCategory': to(hvdEnvironment),
    ...(modified !== null && { 'dct:modified': typed(modified, 'date') }),
    'dcat:distribution': distributions.map((file) => describeDistribution(dataset, file)),
  };
}

function describeDistribution({ stand, licence }: Dataset, file: Dataset['distributions'][number]): Resource {
  return {
    '@id': file.url,
    '@type': 'dcat:Distribution',
    'dct:title': german(file.title),
    'dcat:accessURL': to(file.url),
    'dcat:downloadURL': to(file.url),
    'dct:license': to(licence.dcat),
    'dcatde:licenseAttributionByText': stand.herausgeber,
    'dcat:mediaType': to(`https://www.iana.org/assignments/media-types/${file.mediaType}`),
    'dct:format': to(`${authority}/file-type/${fileTypes[file.datei]}`),
    'dcat:byteSize': typed(String(file.bytes), 'nonNegativeInteger'),
    'dct:modified': typed(file.stand.toISOString(), 'dateTime'),
    'dcatap:applicableLegislation': to(hvdRegulation),
    'dcatap:availability': to('http://publications.europa.eu/resource/authority/planned-availability/STABLE'),
    'spdx:checksum': {
      '@type': 'spdx:Checksum',
      'spdx:algorithm': to('http://spdx.org/rdf/terms#checksumAlgorithm_sha256'),
      'spdx:checksumValue': typed(file.sha256, 'hexBinary'),
    },
  };
}

/** @param catalogue address of the catalogue */
export function toJsonLd(datasets: readonly Dataset[], catalogue: string): string {
  return JSON.stringify({ '@context': namespaces, ...describe(datasets, catalogue) });
}

/** @param catalogue address of the catalogue */
export function toRdfXml(datasets: readonly Dataset[], catalogue: string): string {
  const root = create({ version: '1.0', encoding: 'UTF-8', invalidCharReplacement: '' }).ele('rdf:RDF');
  for (const [prefix, uri] of Object.entries(namespaces)) root.att(`xmlns:${prefix}`, uri);
  appendResource(root, describe(datasets, catalogue));
  return root.end();
}

function appendResource(parent: XMLBuilder, { '@id': id, '@type': type, ...properties }: Resource): void {
  const element = parent.ele(type, id === undefined ? {} : { 'rdf:about': id });
  for (const [name, values] of Object.entries(properties) as [string, Value | Value[]][])
    for (const value of [values].flat()) appendValue(element.ele(name), value);
}

function appendValue(property: XMLBuilder, value: Value): void {
  if (typeof value === 'string') property.txt(escapeXml(value));
  else if ('@value' in value) {
    if (value['@language'] !== undefined) property.att('xml:lang', value['@language']);
    if (value['@type'] !== undefined) property.att('rdf:datatype', value['@type'].replace('xsd:', namespaces.xsd));
    property.txt(escapeXml(value['@value']));
  } else if ('@type' in value) appendResource(property, value as Resource);
  else property.att('rdf:resource', value['@id']);
}

// The library leaves an ampersand alone that looks like the begin of an entity.
const escapeXml = (text: string) => text.replaceAll('&', '&amp;');
