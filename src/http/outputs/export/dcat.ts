// What is published as DCAT-AP.de has it (O5.6): https://www.dcat-ap.de/def/dcatde/3.0/spec/. One graph, as JSON-LD and as RDF/XML.
import type { XmlTree } from '../../wire/xml.ts';
import type { CatalogueFile, Dataset } from './catalogue.ts';

const prefixes = {
  dcat: 'http://www.w3.org/ns/dcat#',
  dcatap: 'http://data.europa.eu/r5r/',
  dcatde: 'http://dcat-ap.de/def/dcatde/',
  dct: 'http://purl.org/dc/terms/',
  foaf: 'http://xmlns.com/foaf/0.1/',
  rdf: 'http://www.w3.org/1999/02/22-rdf-syntax-ns#',
  skos: 'http://www.w3.org/2004/02/skos/core#',
  spdx: 'http://spdx.org/rdf/terms#',
  vcard: 'http://www.w3.org/2006/vcard/ns#',
  xsd: 'http://www.w3.org/2001/XMLSchema#',
};

interface Literal {
  '@value': string;
  '@language'?: string;
  '@type'?: string;
}
/** Something with an address of its own or without; only `@id`: named here, told elsewhere. */
interface Resource {
  '@id'?: string;
  '@type'?: string;
  [property: string]: Value | undefined;
}
type Value = string | Literal | Resource | Value[];

const german = (text: string): Literal => ({ '@value': text, '@language': 'de' });
const instant = (date: Date): Literal => ({ '@value': date.toISOString(), '@type': 'xsd:dateTime' });
const at = (address: string): Resource => ({ '@id': address });
const authority = (name: string) => at(`http://publications.europa.eu/resource/authority/${name}`);
const publisher = (name: string): Resource => ({ '@type': 'foaf:Agent', 'foaf:name': german(name) });

// Of the high-value datasets (annex 2: environment, INSPIRE theme species distribution). Their licences allow at least what CC BY does.
const law = at('http://data.europa.eu/eli/reg_impl/2023/138/oj');
const category = at('http://data.europa.eu/bna/c_dd313021');
const openLicences = ['CC0-1.0', 'CC-BY-4.0', 'dl-de/by-2-0', 'dl-de/zero-2-0'];
const namingLicences = ['CC-BY-4.0', 'CC-BY-NC-4.0', 'dl-de/by-2-0', 'ODbL-1.0'];

const fileTypes: Record<CatalogueFile['datei'], string> = {
  'dwca.zip': 'ZIP',
  'sichtbeobachtung.csv': 'CSV',
  'sichtbeobachtung.geojson': 'GEOJSON',
  'sichtbeobachtung.gpkg': 'GPKG',
  'cube.csv': 'CSV',
};

/** A catalogue as JSON-LD. */
export function describeDcat(datasets: readonly Dataset[], origin: string): Resource {
  const publishers = [...new Set(datasets.map(({ herausgeber }) => herausgeber))];
  return {
    '@context': prefixes as unknown as Resource,
    '@id': `${origin}/export/v1/`,
    '@type': 'dcat:Catalog',
    'dct:title': german('Artbeobachtungen'),
    'dct:description': german('Öffentliche freigegebene Artbeobachtungen als Dateien, jede Nacht neu gemacht.'),
    'dct:publisher': publisher(publishers.join(', ') || 'Artbeobachtungen'),
    'dct:language': authority('language/DEU'),
    'foaf:homepage': at(`${origin}/export/v1/`),
    'dcat:dataset': datasets.map(describeDataset),
  };
}

function describeDataset(dataset: Dataset): Resource {
  const { url, mandant, name, titel, beschreibung, herausgeber, kontakt, stand, metadaten, dateien, box } = dataset;
  return {
    '@id': url,
    '@type': 'dcat:Dataset',
    'dct:identifier': url,
    'dct:title': german(titel),
    'dct:description': german(beschreibung),
    'dct:publisher': publisher(herausgeber),
    'dcat:contactPoint': {
      '@type': 'vcard:Organization',
      'vcard:fn': german(herausgeber),
      'vcard:hasEmail': at(`mailto:${encodeURI(kontakt)}`),
    },
    'dct:spatial': {
      '@type': 'dct:Location',
      'skos:prefLabel': german(name),
      ...(box && { 'dcat:bbox': { '@value': toWkt(box), '@type': 'http://www.opengis.net/ont/geosparql#wktLiteral' } }),
    },
    'dcat:theme': authority('data-theme/ENVI'),
    'dcat:keyword': ['Artbeobachtungen', 'Verteilung der Arten', mandant].map(german),
    'dct:accrualPeriodicity': authority('frequency/DAILY'),
    'dct:accessRights': authority('access-right/PUBLIC'),
    'dct:language': authority('language/DEU'),
    ...(stand && { 'dct:modified': instant(stand) }),
    'dcat:landingPage': at(url),
    'foaf:page': at(metadaten),
    ...lawOf(dataset),
    ...(isHighValue(dataset) && { 'dcatap:hvdCategory': category }),
    'dcat:distribution': dateien.map((file) => describeDistribution(dataset, file)),
  };
}

function describeDistribution(dataset: Dataset, { datei, url, type, bytes, stand, sha256 }: CatalogueFile): Resource {
  return {
    '@id': url,
    '@type': 'dcat:Distribution',
    'dct:title': german(`${dataset.titel}: ${datei}`),
    'dcat:accessURL': at(url),
    'dcat:downloadURL': at(url),
    'dcat:mediaType': at(`https://www.iana.org/assignments/media-types/${type}`),
    'dct:format': authority(`file-type/${fileTypes[datei]}`),
    'dcat:byteSize': { '@value': String(bytes), '@type': 'xsd:nonNegativeInteger' },
    'spdx:checksum': {
      '@type': 'spdx:Checksum',
      'spdx:algorithm': at(`${prefixes.spdx}checksumAlgorithm_sha256`),
      'spdx:checksumValue': { '@value': sha256, '@type': 'xsd:hexBinary' },
    },
    'dct:license': at(dataset.licence.dcat),
    ...(namingLicences.includes(dataset.lizenz) && { 'dcatde:licenseAttributionByText': german(dataset.zitat) }),
    'dct:modified': instant(stand),
    ...lawOf(dataset),
  };
}

const isHighValue = ({ lizenz }: Dataset) => openLicences.includes(lizenz);
const lawOf = (dataset: Dataset) => (isHighValue(dataset) ? { 'dcatap:applicableLegislation': law } : {});

const toWkt = ([west, south, east, north]: readonly number[]) =>
  `POLYGON((${west} ${south},${east} ${south},${east} ${north},${west} ${north},${west} ${south}))`;

/** The same graph as RDF/XML. */
export function toRdf({ '@context': _, ...root }: Resource): { [name: string]: XmlTree } {
  const namespaces = Object.entries(prefixes).map(([prefix, address]) => [`@xmlns:${prefix}`, address]);
  return { 'rdf:RDF': { ...Object.fromEntries(namespaces), ...toElement(root) } };
}

function toElement({ '@id': id, '@type': type = 'rdf:Description', ...properties }: Resource): { [name: string]: XmlTree } {
  const members = Object.entries(properties).map(([name, value]) => [
    name,
    [value].flat().map((each) => toProperty(each as Value)),
  ]);
  return { [type]: { ...(id !== undefined && { '@rdf:about': id }), ...Object.fromEntries(members) } };
}

function toProperty(value: Value): XmlTree {
  if (typeof value === 'string' || Array.isArray(value)) return String(value);
  if ('@value' in value) {
    const { '@value': text, '@language': language, '@type': type } = value as Literal;
    return {
      ...(language !== undefined && { '@xml:lang': language }),
      ...(type !== undefined && { '@rdf:datatype': type.replace(/^xsd:/, prefixes.xsd) }),
      '#': text,
    };
  }
  if (value['@type'] === undefined) return { '@rdf:resource': value['@id'] ?? '' };
  return toElement(value);
}
