// What /ogc takes and answers, as an OpenAPI 3.0 document (O2). Apart from that of /api/v2, which is OpenAPI 3.1.
import { type Collection, collections } from './collections.ts';
import { crs84, crsNames } from './crs.ts';
import { description, title } from './describe.ts';
import { defaultFeatures, maxFeatures, maxOffset } from './items.ts';
import { apiFormats, itemFormats, itemsFormats, linkType, type OutputFormat, pageFormats } from './negotiate.ts';

type Node = Record<string, unknown>;

const uri = { type: 'string', format: 'uri' };
const string = { type: 'string' };
const query = (name: string, what: string, schema: Node) => ({ name, in: 'query', description: what, required: false, schema });

const year = { type: 'integer', minimum: 1, maximum: 9999 };
const number = { type: 'integer', minimum: 0, maximum: 2147483647 };
const crsSchema = { ...uri, enum: crsNames, default: crs84 };

/** What parameters mean, and what they take. */
const asked: Record<string, [what: string, schema: Node]> = {
  bbox: [
    'Kasten, den die gezeigte Geometrie berührt: vier Zahlen, oder sechs mit Höhen, in der Achsenfolge von bbox-crs. Von geschützten Funden zählt das Quadrat.',
    { type: 'array', items: { type: 'number' }, minItems: 4, maxItems: 6 },
  ],
  'bbox-crs': ['Koordinatensystem von bbox.', crsSchema],
  crs: ['Koordinatensystem der Geometrien; bei EPSG:4326 und 3035 ist die erste Zahl Breite oder Hochwert.', crsSchema],
  datetime: [
    'Zeitpunkt oder Zeitraum, offen mit „..“; gezählt wird in Tagen (Europe/Berlin), beide eingeschlossen. Von Rastern zählen ganze Jahre.',
    string,
  ],
  limit: [
    `Objekte einer Seite; mehr als ${maxFeatures} zählt wie ${maxFeatures}.`,
    { type: 'integer', minimum: 1, maximum: maxFeatures, default: defaultFeatures },
  ],
  cursor: ['Wo die Seite beginnt: aus dem Verweis next der vorigen.', string],
  offset: [
    'So viele Objekte werden am Anfang ausgelassen. Wer alle lesen will, folgt besser dem Verweis next.',
    { type: 'integer', minimum: 0, maximum: maxOffset, default: 0 },
  ],
  art: ['Nummer der Art.', number],
  artengruppe_id: ['Nummer der Artengruppe.', number],
  jahr: ['Jahr der Beobachtung.', year],
  jahr_von: ['Erstes Jahr, das zählt.', year],
  jahr_bis: ['Letztes Jahr, das zählt.', year],
  mandant: ['Kürzel des Mandanten, in dem der gezeigte Ort liegt.', { type: 'string', maxLength: 500 }],
};
// Those of the standard say how they are written.
const ofStandard = ['bbox', 'bbox-crs', 'crs', 'datetime', 'limit'];
const shared = [...ofStandard, 'cursor', 'offset'];
const parameters = Object.fromEntries(
  Object.entries(asked).map(([name, [what, schema]]) => [
    name,
    { ...query(name, what, schema), ...(ofStandard.includes(name) && { style: 'form', explode: false }) },
  ]),
);

const ref = (kind: string, name: string) => ({ $ref: `#/components/${kind}/${name}` });

/** @param server address of /ogc */
export function makeOpenapi(server: string): Node {
  return {
    openapi: '3.0.3',
    info: { title, description, version: '1.0.0' },
    servers: [{ url: server }],
    tags: [{ name: 'Dienst' }, { name: 'Daten' }],
    paths: {
      '/': page('getLandingPage', 'Startseite', pageFormats, ref('schemas', 'landingPage')),
      '/api': page('getApi', 'Dieses Dokument', apiFormats, { type: 'object' }),
      '/conformance': page('getConformance', 'Erfüllte Konformitätsklassen', pageFormats, ref('schemas', 'confClasses')),
      '/collections': page('getCollections', 'Sammlungen', pageFormats, ref('schemas', 'collections')),
      ...Object.fromEntries(
        collections.flatMap((collection) => {
          const path = `/collections/${collection.id}`;
          return [
            [path, page(`describe_${collection.id}`, collection.title, pageFormats, ref('schemas', 'collection'))],
            [`${path}/items`, itemsPath(collection)],
            [`${path}/items/{fid}`, itemPath(collection)],
          ];
        }),
      ),
    },
    components: { parameters, responses: { Problem: problem }, schemas: makeSchemas() },
  };
}

const failures = Object.fromEntries([400, 404, 406, 500, 503].map((status) => [status, ref('responses', 'Problem')]));
const problem = {
  description: 'Fehler',
  content: { 'application/problem+json': { schema: ref('schemas', 'problem') } },
};

function respond(what: string, formats: readonly OutputFormat[], schema: Node, headers?: Node): Node {
  return {
    200: {
      description: what,
      ...(headers && { headers }),
      content: Object.fromEntries(
        formats.map((format) => [linkType(format), { schema: format.name === 'json' ? schema : string }]),
      ),
    },
    304: { description: 'Unverändert seit If-None-Match' },
    ...failures,
  };
}

const formatsOf = (formats: readonly OutputFormat[]) => {
  const schema = { type: 'string', enum: formats.map(({ name }) => name) };
  return query('f', 'Format der Antwort; ohne Angabe entscheidet Accept.', schema);
};

function page(operationId: string, summary: string, formats: readonly OutputFormat[], schema: Node): Node {
  return {
    get: {
      tags: ['Dienst'],
      operationId,
      summary,
      parameters: [formatsOf(formats)],
      responses: respond(summary, formats, schema),
    },
  };
}

const crsHeader = { 'Content-Crs': { description: 'Koordinatensystem der Geometrien', schema: string } };

function itemsPath({ id, title: name, description: what, filters }: Collection): Node {
  return {
    get: {
      tags: ['Daten'],
      operationId: `list_${id}`,
      summary: `${name}: Objekte`,
      description: what,
      parameters: [...[...shared, ...Object.keys(filters)].map((each) => ref('parameters', each)), formatsOf(itemsFormats)],
      responses: respond('Eine Seite', itemsFormats, ref('schemas', `${id}_seite`), crsHeader),
    },
  };
}

function itemPath({ id, title: name, idDescription }: Collection): Node {
  const fid = { name: 'fid', in: 'path', required: true, description: idDescription, schema: string };
  return {
    get: {
      tags: ['Daten'],
      operationId: `get_${id}`,
      summary: `${name}: ein Objekt`,
      parameters: [fid, ref('parameters', 'crs'), formatsOf(itemFormats)],
      responses: respond('Ein Objekt', itemFormats, ref('schemas', id), crsHeader),
    },
  };
}

const list = (items: Node) => ({ type: 'array', items });
const object = (required: string[], properties: Node) => ({ type: 'object', required, properties });

function makeSchemas(): Node {
  const links = list(ref('schemas', 'link'));
  return {
    link: object(['href', 'rel'], { href: uri, rel: string, type: string, title: string, length: { type: 'integer' } }),
    landingPage: object(['links'], { title: string, description: string, links }),
    confClasses: object(['conformsTo'], { conformsTo: list(string), links }),
    collections: object(['links', 'collections'], { links, crs: list(uri), collections: list(ref('schemas', 'collection')) }),
    collection: object(['id', 'links'], {
      id: string,
      title: string,
      description: string,
      itemType: string,
      extent: { type: 'object' },
      crs: list(uri),
      storageCrs: uri,
      links,
    }),
    problem: object(['type', 'title', 'status', 'detail'], {
      type: string,
      title: string,
      status: { type: 'integer' },
      detail: { type: 'string', description: 'was falsch war, und was erlaubt ist' },
      parameter: { type: 'string', description: 'der Parameter, um den es geht' },
      code: string,
    }),
    geometry: object(['type', 'coordinates'], {
      type: { type: 'string', enum: ['Point', 'Polygon', 'MultiPolygon'] },
      coordinates: list({}),
    }),
    ...Object.fromEntries(collections.flatMap((collection) => schemasOf(collection, links))),
  };
}

function schemasOf({ id, properties, geometry, idType, idDescription }: Collection, links: Node): [string, Node][] {
  return [
    [
      id,
      object(['type', 'id', 'geometry', 'properties'], {
        type: { type: 'string', enum: ['Feature'] },
        id: { description: idDescription, type: idType },
        geometry: { description: geometry, allOf: [ref('schemas', 'geometry')] },
        properties: { type: 'object', properties },
        links,
      }),
    ],
    [
      `${id}_seite`,
      object(['type', 'features'], {
        type: { type: 'string', enum: ['FeatureCollection'] },
        timeStamp: { type: 'string', format: 'date-time' },
        numberReturned: { type: 'integer', minimum: 0 },
        numberMatched: { type: 'integer', minimum: 0 },
        links,
        features: list(ref('schemas', id)),
      }),
    ],
  ];
}
