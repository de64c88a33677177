// The interface as an OpenAPI 3.1 document, made from what stands beside the routes and the schemas that check requests.

import { formatFields } from '../wire/answer-format.ts';
import { answerError, catalogue, type ErrorCode, PortalError } from '../wire/portal-error.ts';
import { type Example, type Operation, tags } from './operation.ts';
import { describe, describeEntries, isDeprecated, type Part } from './parameters.ts';
import { recordSchemas, resultSchema, type Schema } from './schemas.ts';

/** Anything in the document. */
type Node = { [name: string]: unknown };

const introduction = `Schnittstelle eines Portals für Artbeobachtungen. Welche Arten, Namen und Gebiete gelten, bestimmt der Mandant, und den bestimmt die Domain der Anfrage.

- **Anmelden:** \`/login\` gibt einen Zugangsschlüssel. Er geht mit dem Anmeldenamen in den Köpfen \`X-Auth-User\` und \`X-Auth-Token\` mit; hier trägt man beide unter „Authorize“ ein. Falsche Angaben führen überall zu 401. Passwörter gehen als SHA-1 auf die Reise: \`printf %s 'Passwort' | sha1sum\`.
- **Formate:** JSON; \`format=xml\` für XML; \`callback=name\` für JSONP.
- **Listen** sind seitenweise: \`limit\` Datensätze, \`next\` ist die Adresse der nächsten Seite. \`restrict\` wählt Felder aus.
- **Schreiben:** \`multipart/form-data\`, ohne Dateien auch \`application/x-www-form-urlencoded\`. Wer kein PUT oder DELETE senden kann, sendet POST mit \`X-HTTP-Method-Override\`.
- **Datum:** \`TT.MM.JJJJ\`. **Koordinaten** in Antworten: EPSG:25832 (ETRS89/UTM 32N), \`lat\` ist der Hochwert, \`lon\` der Rechtswert.
- **Geschützte Funde** (sensible Arten, als sensibel gekennzeichnet) haben für andere als ihre Meldenden, Experten und Administratoren nur die Mitte einer Rasterzelle von 5 × 5 km.
- **Zwischenspeichern:** anonyme Antworten tragen ein \`ETag\`; mit \`If-None-Match\` kommt 304, wenn sich nichts geändert hat.`;

// What any request may be answered with.
const everywhere: ErrorCode[] = ['ungueltiger_parameter', 'ungueltige_anfrage', 'nicht_angemeldet', 'unbekannter_host'];
const faults: ErrorCode[] = ['interner_fehler', 'ueberlastet'];

const headers = {
  Location: { description: 'Adresse des neuen Datensatzes', schema: { type: 'string', format: 'uri' } },
  ETag: { description: 'Stand der Daten (nur ohne Anmeldung)', schema: { type: 'string' } },
  'Retry-After': { description: 'Sekunden bis zum nächsten Versuch', schema: { type: 'integer', minimum: 1 } },
  'X-Request-Id': { description: 'Kennung der Anfrage im Protokoll des Dienstes', schema: { type: 'string' } },
  Allow: { description: 'Methoden, die diese Adresse kennt', schema: { type: 'string' } },
};
const headerOf = (name: keyof typeof headers) => ({ [name]: { $ref: `#/components/headers/${name}` } });

/** @param server address of the interface, absolute or relative to the document's own */
export function makeOpenapi(operations: readonly Operation[], server: string): Node {
  const paths: Record<string, Node> = {};
  for (const operation of operations) {
    paths[operation.path] = { ...paths[operation.path], [operation.method]: describeOperation(operation) };
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Sichtbeobachtungen', version: '2.0.40', description: introduction },
    servers: [{ url: server, description: 'Der Mandant dieser Domain' }],
    tags,
    paths,
    components: {
      schemas: recordSchemas,
      headers,
      securitySchemes: {
        XAuthUser: { type: 'apiKey', in: 'header', name: 'X-Auth-User', description: 'Anmeldename (UTF-8)' },
        XAuthToken: { type: 'apiKey', in: 'header', name: 'X-Auth-Token', description: 'Zugangsschlüssel aus /login' },
      },
    },
  };
}

const credentials = { XAuthUser: [], XAuthToken: [] };
const securities = { none: [], optional: [{}, credentials], required: [credentials] };

function describeOperation(operation: Operation): Node {
  const { operationId, tag, summary, description, auth, examples } = operation;
  const body = describeBody(operation);
  return {
    tags: [tag],
    summary,
    description,
    operationId,
    security: securities[auth],
    parameters: describeParameters(operation),
    ...(body && { requestBody: body }),
    responses: describeResponses(operation),
    // Requests that can be sent as they stand, with the status of their answer.
    'x-beispiele': examples,
  };
}

function describeParameters({ path, meanings, query, caching, override }: Operation): Node[] {
  const inQuery = describeEntries({ ...query, ...formatFields }, meanings).map(({ name, required, description, schema }) => ({
    name,
    in: 'query',
    required,
    description,
    ...(isDeprecated(name) && { deprecated: true }),
    schema,
  }));
  const id = { name: 'id', in: 'path', required: true, description: 'Nummer des Datensatzes.' };
  const condition = { name: 'If-None-Match', in: 'header', description: 'ETag einer früheren Antwort (nur ohne Anmeldung).' };
  const method = { name: 'X-HTTP-Method-Override', in: 'header', required: true, description: 'Die gemeinte Methode.' };
  return [
    ...(path.includes('{id}') ? [{ ...id, schema: { type: 'integer', minimum: 0 } }] : []),
    ...(path.includes('{name}') ? [{ ...id, name: 'name', description: 'Name der Datei.', schema: { type: 'string' } }] : []),
    ...(override ? [{ ...method, schema: { type: 'string', enum: override } }] : []),
    ...inQuery,
    ...(caching ? [{ ...condition, schema: { type: 'string' } }] : []),
  ];
}

function describeBody({ meanings, method, form, files = [], override, examples }: Operation): Node | null {
  if (!form) return null;
  const parts = describeEntries(form, meanings);
  const required = parts.filter((part) => part.required).map((part) => part.name);
  const texts = Object.fromEntries(parts.map((part) => [part.name, { ...part.schema, description: part.description }]));
  const isChange = method === 'put' || override !== undefined;
  const fileParts = Object.fromEntries(
    files.map((name) => {
      const description = `${describe(name, meanings)}${isChange ? ' Leer gesendet: die Datei wird entfernt.' : ''}`;
      return [name, { type: 'string', format: 'binary', description }];
    }),
  );
  const content = (properties: Record<string, Schema>) => ({
    schema: { type: 'object', properties, ...(required.length > 0 && { required }) },
    examples: formExamples(examples, parts),
  });
  return {
    required: !override,
    content: {
      'multipart/form-data': content({ ...texts, ...fileParts }),
      'application/x-www-form-urlencoded': content(texts),
    },
  };
}

// Those that succeed: what a reader would start from.
function formExamples(examples: readonly Example[], parts: Part[]): Node {
  const numeric = new Set(
    parts.filter(({ schema }) => schema.type === 'integer' || schema.type === 'number').map(({ name }) => name),
  );
  const typed = (form: Record<string, string>) =>
    Object.fromEntries(Object.entries(form).map(([name, value]) => [name, numeric.has(name) ? Number(value) : value]));
  return Object.fromEntries(
    examples.flatMap(({ summary, form, status }, index) =>
      form && status < 300 ? [[`beispiel${index + 1}`, { summary, value: typed(form) }]] : [],
    ),
  );
}

function describeResponses(operation: Operation): Node {
  const { record, shape, status = 200, caching, auth, errors = [] } = operation;
  const schema = shape === 'bare' ? { $ref: `#/components/schemas/${record}` } : resultSchema(record, shape === 'list');
  const success = {
    description:
      status === 201 ? 'Gespeichert' : record === 'Anmeldung' ? 'Angemeldet; leerer Inhalt bei falschen Angaben' : 'Erfolg',
    headers: { ...headerOf('X-Request-Id'), ...(status === 201 && headerOf('Location')), ...(caching && headerOf('ETag')) },
    content: contentOf(schema),
  };
  const notModified = { description: 'Unverändert seit If-None-Match', headers: headerOf('ETag') };
  const file = { description: 'Inhalt der Datei', headers: headerOf('ETag'), content: fileContent };
  const fileResponses = {
    200: file,
    206: { ...file, description: 'Teil des Inhalts (Range)' },
    304: { description: 'Unverändert seit If-None-Match' },
    416: { description: 'Einen solchen Teil gibt es nicht' },
  };
  const codes = [...everywhere, ...errors, ...faults];
  const byStatus = Map.groupBy(codes, (code) => catalogue[code].status);
  return {
    ...(shape === 'file' ? fileResponses : { [status]: success }),
    ...(caching && auth !== 'required' && { 304: notModified }),
    ...Object.fromEntries([...byStatus].map(([errorStatus, ofStatus]) => [errorStatus, describeError(ofStatus)])),
  };
}

const fileContent = Object.fromEntries(
  ['image/jpeg', 'audio/*'].map((type) => [type, { schema: { type: 'string', format: 'binary' } }]),
);

function describeError(codes: ErrorCode[]): Node {
  const [first = 'interner_fehler'] = codes;
  const answers = codes.map((code) => answerError(new PortalError(code)));
  const examples = Object.fromEntries(answers.map(({ body }) => [body.error.code, { summary: body.error.message, value: body }]));
  return {
    description: codes.map((code) => catalogue[code].message).join(' '),
    headers: {
      ...headerOf('X-Request-Id'),
      ...([429, 503].includes(catalogue[first].status) && headerOf('Retry-After')),
      ...(first === 'methode_nicht_erlaubt' && headerOf('Allow')),
    },
    content: contentOf({ $ref: '#/components/schemas/Fehler' }, examples),
  };
}

function contentOf(schema: Schema, examples?: Node): Node {
  return {
    'application/json': { schema, ...(examples && { examples }) },
    'text/xml': { schema: { $ref: '#/components/schemas/Xml' } },
    'application/javascript': { schema: { $ref: '#/components/schemas/Jsonp' } },
  };
}
