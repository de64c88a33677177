// What the log says of a request, and the id by which it is found.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createApp } from '../../src/app.ts';
import { currentScope } from '../../src/guard/request.ts';
import { createLog } from '../../src/observe/log.ts';
import { createMetrics } from '../../src/observe/metrics.ts';
import { arten } from '../support/catalogue.ts';
import { type Json, pluck, startTestService, toFormData } from '../support/service.ts';

const service = await startTestService();
const id = await service.makeReleased();

const made = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;

interface Noted {
  response: Response;
  text: string;
  lines: Json[];
  /** All that was written. */
  written: string;
}

function keepLog(level: string, requests = true) {
  let written = '';
  const write = (line: string) => {
    written += line;
  };
  const output = { write, hold: write };
  return { log: createLog(level, () => currentScope()?.id, { requests, output }), read: () => written };
}

async function ask(
  path: string,
  init: RequestInit & { headers?: Record<string, string> } = {},
  { level = 'trace', broken = false, requests = true } = {},
): Promise<Noted> {
  const { log, read } = keepLog(level, requests);
  const sql = broken
    ? (Object.assign(() => Promise.reject(new Error('geheim')), { begin: () => Promise.reject(new Error('geheim')) }) as never)
    : service.deps.sql;
  const app = createApp({ ...service.deps, metrics: createMetrics(), log, sql, reads: sql });
  const response = await app.request(`http://n.test${path}`, { ...init, headers: { host: 'n.test', ...init.headers } });
  const text = await response.text();
  const written = read();
  const lines = written
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
  return { response, text, lines, written };
}
const isRequest = ({ msg }: Json) => msg === 'request';
const idOf = ({ response }: Noted) => response.headers.get('x-request-id') ?? '';

describe('the line of a request', () => {
  it('says method, template of the path, status, time and bytes, and nothing else', async () => {
    const { text, lines, response } = await ask(`/api/v2/sichtbeobachtungen/${id}?restrict=id`);
    assert.equal(response.status, 200);
    const [{ ms, time, request, ...line }, ...more] = lines;
    assert.deepEqual(more, []);
    assert.ok(typeof ms === 'number' && time && made.test(request));
    assert.deepEqual(line, {
      level: 30,
      method: 'GET',
      route: '/api/v2/sichtbeobachtungen/:id',
      status: 200,
      bytes: Buffer.byteLength(text),
      msg: 'request',
    });
  });

  const rows: [what: string, path: string, route: string, status: number][] = [
    ['a page', '/karte', '/karte', 200],
    ['a file', '/api/v2/docs/page.css', '/api/v2/docs/page.css', 200],
    ['an answer with an umlaut', '/api/v2/arten?limit=x', '/api/v2/arten', 400],
    ['a feature', `/ogc/collections/sichtbeobachtung/items?limit=1`, '', 200],
  ];
  for (const [what, path, route, status] of rows)
    it(`counts the bytes of ${what}`, async () => {
      const { text, lines, response } = await ask(path);
      assert.equal(response.status, status);
      const [line] = lines.filter(isRequest);
      assert.equal(line.bytes, Buffer.byteLength(text));
      assert.equal(line.status, status);
      if (route !== '') assert.equal(line.route, route);
    });

  it('counts none where there is no body', async () => {
    const { response } = await ask('/api/v2/arten');
    const unchanged = await ask('/api/v2/arten', { headers: { 'if-none-match': response.headers.get('etag') ?? '' } });
    assert.equal(unchanged.lines[0].status, 304);
    assert.ok(!('bytes' in unchanged.lines[0]));
    assert.ok(!('bytes' in (await ask('/api/v2/arten', { method: 'HEAD' })).lines[0]));
  });

  it('S2.2 holds nothing of the address, of a header or of a body', async () => {
    const token = await service.tokenOf('melder');
    const headers = {
      'X-Auth-User': 'melder',
      'X-Auth-Token': token,
      'User-Agent': 'geheim',
      Referer: 'http://geheim.test/',
      Cookie: 'geheim=1',
      'X-Forwarded-For': '192.0.2.77',
    };
    const body = toFormData({ art: String(arten.amsel), lat: '5530123', lon: '420123', bemerkung: 'geheim' });
    const paths = [
      '/api/v2/konto/geheim',
      '/geheim',
      '/api/v2/geheim/x',
      '/api/v2/medien/geheim.jpg',
      '/api/v2/arten?geheim=geheim',
    ];
    for (const path of [...paths, '/api/v2/sichtbeobachtungen?bbox=420123,5530123,420124,5530124'])
      for (const method of ['GET', 'POST', 'GEHEIM']) {
        const { written, lines } = await ask(path, { method, headers });
        assert.equal(lines.filter(isRequest).length, 1);
        assert.ok(!/geheim|420123|5530123|192\.0\.2|melder/i.test(written) && !written.includes(token), written);
      }
    const { written, response } = await ask('/api/v2/sichtbeobachtungen', { method: 'POST', headers, body });
    assert.equal(response.status, 201);
    assert.ok(!/geheim|420123|5530123|melder/i.test(written) && !written.includes(token), written);
    const [konto] = (await ask('/api/v2/konto/geheim')).lines;
    assert.equal(konto.route, '/api/v2/konto/:token');
  });

  it('is of level error where the service failed, whatever else is logged, and of debug for supervisors', async () => {
    const failed = await ask('/api/v2/stadien', {}, { level: 'error', broken: true });
    assert.equal(failed.response.status, 500);
    assert.deepEqual(pluck(failed.lines, 'level', 'msg', 'request'), [
      [50, 'unexpected error', idOf(failed)],
      [50, 'request', idOf(failed)],
    ]);
    assert.ok(!failed.written.includes('geheim'));
    assert.deepEqual((await ask('/api/v2/stadien', {}, { level: 'warn' })).lines, []);
    assert.deepEqual((await ask('/api/v2/stadien', {}, { requests: false })).lines, []);
    assert.equal((await ask('/api/v2/stadien', {}, { requests: false, broken: true })).lines.filter(isRequest).length, 1);
    assert.deepEqual((await ask('/nirgends', {}, { level: 'warn' })).lines, []);
    assert.deepEqual((await ask('/health/live', {}, { level: 'info' })).lines, []);
    assert.equal((await ask('/health/live', {}, { level: 'debug' })).lines.length, 1);
    assert.equal((await ask('/health/ready', {}, { level: 'error', broken: true })).lines[0].status, 503);
  });

  it('is there, and the request counted, where an error was thrown that nobody waited for', async () => {
    const { deps } = service;
    const metrics = createMetrics();
    const { log, read } = keepLog('info');
    const sql = new Proxy(deps.sql, {
      apply: (target, self, args) => {
        const scope = currentScope();
        // The list of tenants is everybody's.
        if (!scope) return Reflect.apply(target as never, self, args);
        scope.fail(new Error('x'));
        return new Promise(() => {});
      },
    });
    const app = createApp({ ...deps, log, metrics, sql, reads: sql });
    const response = await app.request('http://n.test/api/v2/stadien', { headers: { host: 'n.test' } });
    assert.equal(response.status, 500);
    assert.match(read(), new RegExp(`"request":"${response.headers.get('x-request-id')}".*"status":500.*"msg":"request"`));
    assert.match(await metrics.collect(), /http_requests_total\{method="GET",route="\/api\/v2\/stadien",status="500"\} 1\n/);
  });
});

describe('X-Request-Id', () => {
  it('is the client’s own, back in every answer and in the log', async () => {
    const headers = { 'X-Request-Id': 'Portal-7.a_B' };
    const paths = ['/api/v2/arten', '/api/v2/nirgends', '/nirgends', '/karte', '/health/live', '/ogc/collections/x', '/tiles/x'];
    for (const path of paths)
      for (const method of ['GET', 'HEAD', 'OPTIONS']) {
        const noted = await ask(path, { method, headers });
        assert.equal(idOf(noted), 'Portal-7.a_B', `${method} ${path}`);
        assert.ok(noted.lines.every(({ request }) => request === 'Portal-7.a_B'));
      }
    const failed = await ask('/api/v2/arten', { headers }, { broken: true });
    assert.deepEqual([failed.response.status, idOf(failed)], [500, 'Portal-7.a_B']);
  });

  const refused = {
    'longer than allowed': 'a'.repeat(65),
    'a line of the log': '"},"msg":"x',
    'a terminal’s escape': '\u001b[31mx',
    'two of them': 'a, b',
    'an address': 'a/b?c=d',
    'beyond ASCII': 'ä',
    empty: '',
  };
  for (const [what, value] of Object.entries(refused))
    it(`is made anew for one that is ${what}`, async () => {
      let headers: Record<string, string> = { 'X-Request-Id': value };
      try {
        new Headers(headers);
      } catch {
        headers = {};
      }
      const noted = await ask('/api/v2/arten', { headers });
      assert.match(idOf(noted), made);
      assert.equal(noted.lines[0].request, idOf(noted));
      assert.ok(value === '' || !noted.written.includes(value));
    });

  it('may have 64 characters, and differs where it is made', async () => {
    assert.equal(idOf(await ask('/api/v2/arten', { headers: { 'X-Request-Id': 'a'.repeat(64) } })), 'a'.repeat(64));
    assert.notEqual(idOf(await ask('/api/v2/arten')), idOf(await ask('/api/v2/arten')));
  });

  it('may be read by pages of other sites', async () => {
    const { response } = await ask('/api/v2/arten');
    assert.match(response.headers.get('access-control-expose-headers') ?? '', /\bX-Request-Id\b/);
  });
});

it('lines of requests wait for each other, never for their turn among the others, nor beyond the end', async () => {
  const log = fileURLToPath(new URL('../../src/observe/log.ts', import.meta.url));
  const cwd = fileURLToPath(new URL('../../', import.meta.url));
  const script = `
    import { createLog } from ${JSON.stringify(log)};
    const log = createLog('info');
    const note = (n) => log.noteRequest('info', { request: 'x', method: 'GET', route: '/"x"', status: n, milliseconds: 1.26, bytes: n });
    note(0);
    if (process.argv[1] === 'one') process.exit();
    for (let n = 1; n < 500; n++) note(n);
    log.warn({ status: 500 }, 'x');
    note(501);
    if (process.argv[1] === 'exit') process.exit(3);`;
  for (const [how, lines] of Object.entries({ '': 502, exit: 502, one: 1 })) {
    const args = ['--import', 'tsx', '--input-type=module', '--eval', script, how];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd }).catch((error: { stdout: string }) => error);
    const numbers = stdout.split('\n').flatMap((line) => (line === '' ? [] : JSON.parse(line).status));
    const all = Array.from({ length: lines }, (_, n) => n);
    assert.deepEqual(numbers, all, how);
  }
});
