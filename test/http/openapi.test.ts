// The interface's document against the service: nothing missing, nothing made up, every example replayed.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { sha1OfPlain } from '../../src/guard/password.ts';
import type { Example } from '../../src/http/openapi/operation.ts';
import { listRoutes } from '../../src/http/routes/routes.ts';
import { formatFields } from '../../src/http/wire/answer-format.ts';
import { type Json, pluck, startTestService, toFormData } from '../support/service.ts';

interface Documented {
  method: string;
  path: string;
  operation: Json;
}

const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false });
const service = await startTestService();
// So that no list is empty, nor the log of status changes.
await service.makeReleased({ lon: '424000' });
const own = await service.makeSichtbeobachtung({ lon: '424001', bereich: 'oeffentlich' });
const released = await service.put(own, { status: 'freigegeben' }, 'expertin');
assert.equal(released.status, 200, released.text);
const document = (await service.request('/openapi.json')).json;
ajv.addSchema(document, 'openapi');
const operations = Object.entries<Json>(document.paths).flatMap(([path, item]) =>
  Object.entries<Json>(item).map(([method, operation]) => ({ method, path, operation })),
);

describe('the OpenAPI document', () => {
  it('is valid OpenAPI 3.1', async () => {
    const result = await new Validator().validate(structuredClone(document));
    assert.deepEqual(result.errors ?? [], []);
    assert.ok(result.valid);
  });

  it('is served to everyone, with the address that it was asked under', async () => {
    const answer = await service.request('/openapi.json', { host: 's.test:8443' });
    assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8');
    assert.equal(answer.headers.get('access-control-allow-origin'), '*');
    assert.deepEqual(pluck(answer.json.servers, 'url'), ['http://s.test:8443/api/v2']);
  });

  it('holds every route of the service and no other', () => {
    const served = service.app.routes
      .filter(({ method, path }) => method !== 'ALL' && path.startsWith('/api/v2/'))
      .map(({ method, path }) => `${method} ${path.slice('/api/v2'.length).replace(/:(\w+)/g, '{$1}')}`)
      .filter((route) => !/ \/(konto(\/.*)?|docs\/.*|openapi\.json|)$/.test(route));
    const documented = operations.map(({ method, path }) => `${method.toUpperCase()} ${path}`);
    assert.deepEqual(documented.sort(), [...new Set(served)].sort());
  });

  it('names exactly the parameters and form parts that the service reads', () => {
    const routes = new Map(listRoutes(service.deps).map((route) => [`${route.method} ${route.path}`, route]));
    assert.equal(routes.size, operations.length);
    for (const { method, path, operation } of operations) {
      const { query, form, files = [] } = routes.get(`${method} ${path}`) ?? {};
      const inQuery = operation.parameters.filter((p: Json) => p.in === 'query').map((p: Json) => p.name);
      assert.deepEqual(inQuery.sort(), Object.keys({ ...query, ...formatFields }).sort(), `${method} ${path}`);
      const inForm = Object.keys(operation.requestBody?.content['multipart/form-data'].schema.properties ?? {});
      assert.deepEqual(inForm.sort(), [...Object.keys(form ?? {}), ...files].sort(), `${method} ${path}`);
    }
  });

  it('shows the types of values, not the strings that carry them', () => {
    const schemaOf = (path: string, name: string) =>
      document.paths[path].get.parameters.find((p: Json) => p.name === name).schema;
    assert.deepEqual(schemaOf('/arten', 'limit'), { type: 'integer', minimum: 1, maximum: 1000, default: 100 });
    assert.deepEqual(schemaOf('/arten', 'is_animal'), { type: 'boolean' });
    assert.equal(schemaOf('/sichtbeobachtungen', 'bereich').default, 'oeffentlich');
    const form = document.paths['/sichtbeobachtungen'].post.requestBody.content['multipart/form-data'].schema;
    assert.deepEqual(form.required, ['art', 'lat', 'lon']);
    const { anzahl, srid } = form.properties;
    assert.deepEqual([anzahl.type, anzahl.minimum, anzahl.maximum, anzahl.default], ['integer', 1, 20000, 1]);
    assert.equal(srid.default, 'EPSG:25832');
  });

  it('tells every operation in German, under a name of its own', () => {
    const ids = operations.map(({ operation }) => operation.operationId);
    assert.equal(new Set(ids).size, ids.length);
    for (const { path, operation } of operations) {
      assert.ok(operation.summary && operation.description && operation['x-beispiele'].length > 0, path);
      assert.ok(pluck(document.tags, 'name').includes(operation.tags[0]), path);
    }
  });
});

describe('every example of the document', () => {
  it('is answered as documented', async (t) => {
    for (const documented of operations) {
      for (const example of documented.operation['x-beispiele'] as Example[]) {
        await t.test(`${documented.method} ${documented.path}: ${example.summary}`, () => replay(documented, example));
      }
    }
  });

  it('is valid against its own schema where the document shows an answer', () => {
    const validate = validatorOf(['components', 'schemas', 'Fehler']);
    for (const { path, operation } of operations) {
      for (const [status, { content }] of Object.entries<Json>(operation.responses)) {
        for (const { value } of Object.values(content?.['application/json']?.examples ?? {}) as Json[]) {
          assert.ok(validate(value), `${path} ${status}: ${ajv.errorsText(validate.errors)}`);
          assert.equal(String(value.error.status), status, path);
        }
      }
    }
  });
});

const accounts = { nutzer: 'melder', expert: 'expertin', administrator: 'admin' } as const;
let places = 0;

async function replay({ method, path, operation }: Documented, example: Example): Promise<void> {
  const as = example.as ? accounts[example.as] : null;
  const named = { id: '', name: '', ...example.path };
  const id = named.id === '1' ? await makeRecord(path, example) : named.id;
  const query = new URLSearchParams(example.query);
  const target = `${path.replace('{id}', String(id)).replace('{name}', named.name)}${query.size > 0 ? `?${query}` : ''}`;
  const { form, headers } = example;
  // Not as the account whose token the other examples go on using.
  const actor = path === '/logout' && as ? 'nachbarin' : as;
  const answer = await service.request(target, {
    as: actor,
    method: method.toUpperCase(),
    ...(form ? { body: toFormData(form) } : method !== 'get' && !isBare(operation, example) && { body: new FormData() }),
    ...(headers && { headers }),
  });
  assert.equal(answer.status, example.status, answer.text);
  // A change of an account ends its keys.
  if (method !== 'get' && path.startsWith('/nutzer/')) service.forgetTokens();
  const response = operation.responses[answer.status];
  assert.ok(response, `${answer.status} is not documented`);
  for (const name of Object.keys(response.headers ?? {})) {
    const expected = name !== 'ETag' || as === null;
    assert.equal(answer.headers.has(name), expected, `header ${name}`);
  }
  if (answer.text === '') {
    assert.match(response.description, /leerer Inhalt/);
    return;
  }
  const validate = validatorOf(['paths', path, method, 'responses', `${answer.status}`, 'content', 'application/json', 'schema']);
  assert.ok(validate(answer.json), `${ajv.errorsText(validate.errors)}\n${answer.text}`);
  const code = answer.json.error?.code;
  if (code) assert.ok(code in response.content['application/json'].examples, `${code} is not documented for ${answer.status}`);
  assertOrder(operation, answer.json, as);
}

// The members of a record stand in the order of the document (D2.18), and there are no others.
function assertOrder(operation: Json, json: Json, as: string | null): void {
  const schema = Object.values<Json>(operation.responses)[0].content['application/json']?.schema;
  const name = schema?.properties?.result?.items.$ref.split('/').at(-1);
  if (!name || !json.result) return;
  const [record] = json.result;
  assert.ok(record || name === 'Leer', 'the list is empty');
  if (!record) return;
  const { properties, required } = document.components.schemas[name];
  const undocumented = Object.keys(record).filter((member) => !(member in properties));
  assert.deepEqual(undocumented, [], `${name} has members that src/http/openapi/schemas.ts does not describe`);
  // Members that only some readers get: of an account administrators, of anything else who is logged in.
  const isTold = name === 'NutzerDetail' ? as === 'admin' : as !== null;
  const expected = Object.keys(properties).filter((member) => isTold || required.includes(member));
  assert.deepEqual(Object.keys(record), expected);
}

// A request that is about having no form at all.
function isBare(operation: Json, { headers }: Example): boolean {
  return !operation.requestBody || headers?.['content-type'] !== undefined || headers?.['X-HTTP-Method-Override'] === 'DELETE';
}

/** A record that the example can be about: `path.id` 1 in the document. */
async function makeRecord(path: string, { as, form, status }: Example): Promise<number> {
  const { database, makeReleased, makeSichtbeobachtung } = service;
  if (path.startsWith('/nutzer')) {
    const [row] = await database.sql`select u.id from portal.nutzer u where u.loginname = ${accounts[as ?? 'nutzer']}`;
    return row?.id as number;
  }
  const lon = String(425000 + ++places);
  const isRead = !form && status === 200 && as !== 'nutzer';
  if (isRead || status === 403) return makeReleased({ lon });
  return makeSichtbeobachtung({ lon, bereich: as === 'expert' ? 'oeffentlich' : 'privat' });
}

const validators = new Map<string, ValidateFunction<Json>>();
function validatorOf(keys: string[]): ValidateFunction<Json> {
  const pointer = keys.map((key) => encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/');
  const known = validators.get(pointer) ?? ajv.compile<Json>({ $ref: `openapi#/${pointer}` });
  validators.set(pointer, known);
  return known;
}

it('a login that succeeds answers as documented', async () => {
  const answer = await service.request(`/login?loginname=melder&password=${sha1OfPlain('melder')}`);
  const validate = validatorOf(['components', 'schemas', 'Anmeldung']);
  assert.ok(validate(answer.json), ajv.errorsText(validate.errors));
  assert.deepEqual(Object.keys(answer.json), Object.keys(document.components.schemas.Anmeldung.properties));
});

describe('the page of the documentation', () => {
  it('is served at every tenant, without a login, and loads files of this service only', async () => {
    for (const [host, name] of [
      ['n.test', 'Nordland'],
      ['s2.test', 'Südland'],
    ] as const) {
      const answer = await service.request('', { host });
      assert.equal(answer.status, 200);
      assert.equal(answer.headers.get('content-type'), 'text/html; charset=UTF-8');
      assert.match(answer.headers.get('content-security-policy') ?? '', /^default-src 'self'; img-src 'self' data:;/);
      assert.ok(answer.text.includes(`Schnittstelle – ${name}`));
      assert.doesNotMatch(answer.text, /<script(?![^>]* src=)/);
      const files = [...answer.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address = '']) => address);
      assert.equal(files.length, 6);
      for (const file of files) {
        assert.ok(file.startsWith('/api/v2/'), file);
        const served = await service.request(file.slice('/api/v2'.length), { host });
        assert.equal(served.status, 200, file);
        if (file.includes('/docs/')) assert.match(served.headers.get('cache-control') ?? '', /max-age=31536000/);
      }
    }
    const slash = await service.request('/');
    assert.deepEqual([slash.status, slash.headers.get('location')], [301, '/api/v2']);
  });

  it('serves nothing else of the package', async () => {
    const names = ['index.html', 'package.json', 'swagger-initializer.js', 'swagger-ui-bundle.js.map', '..%2fpackage.json', ''];
    for (const name of names) {
      assert.equal((await service.request(`/docs/${name}`)).status, 404, name);
    }
  });
});
