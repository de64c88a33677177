import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createApp, createWorkerApp } from '../../src/app.ts';
import { admitCalls } from '../../src/db/admitted.ts';
import type { Sql } from '../../src/db/client.ts';
import { Limit, listLimits } from '../../src/guard/limit.ts';
import type { Deps, Env } from '../../src/http/context.ts';
import { watchService } from '../../src/http/service-metrics.ts';
import { mailDeadLetter, mailQueue, startBoss } from '../../src/jobs/boss.ts';
import { createMetrics, keepFresh, type Metrics } from '../../src/observe/metrics.ts';
import { closeAtEnd, onPostgres } from '../support/database.ts';
import { type Family, needsPromtool, readExposition, runPromtool } from '../support/exposition.ts';
import { startTestService } from '../support/service.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

const service = await startTestService();
const { sql } = service.database;
const boss = await startBoss(service.database, () => {}, { supervise: false, mayChange: true });
closeAtEnd(() => boss.stop());
const job = { kind: 'passwort', nutzerId: 1, origin: 'http://geheim.test', portal: 'geheim' } as const;
for (let n = 0; n < 3; n++) await boss.boss.send(mailQueue, job);
await boss.boss.send(mailQueue, job, { startAfter: 3600 });
await boss.boss.send(mailDeadLetter, job);
// Long ago, as runs of the boundaries are.
await sql`
  update pgboss.job set created_on = now() - interval '2 hours', start_after = now() - interval '90 minutes'
  where id = (select id from pgboss.job where name = ${mailQueue} and start_after <= now() limit 1)`;
await sql`
  insert into portal.grenzlauf (quelle, erzwungen, verbindung, verbunden, begonnen, beendet, ergebnis, grund)
  values ('x', false, 1, now(), now() - interval '50 hours', now() - interval '49 hours', 'erfolgreich', null),
    ('x', false, 1, now(), now() - interval '26 hours', now() - interval '25 hours', 'unveraendert', null),
    ('x', false, 1, now(), now() - interval '2 hours', now() - interval '1 hour', 'fehlgeschlagen', 'x')`;
await sql`
  update portal.mandant set lizenz = 'CC0-1.0', herausgeber = 'x', kontakt = 'x@example.org', titel = 'x', beschreibung = 'x'
  where kuerzel in ('N', 'S')`;
await sql`
  insert into portal.export_lauf (mandant_id, beendet, fehler)
  select m.id, now() - interval '3 hours', case when m.kuerzel = 'S' then 'x' end from portal.mandant m where m.lizenz is not null`;

function watched(from: Sql = sql): Metrics {
  const metrics = createMetrics();
  watchService(metrics, { sql: from, feed: { waiting: 2 }, hasBoundarySource: true });
  return metrics;
}

interface From {
  address?: string;
  authorization?: string;
  path?: string;
}

function ask(
  app: ReturnType<typeof createApp>,
  { address = '127.0.0.1', authorization = '', path = '/metrics' }: From = {},
): Promise<Response> {
  const env = { incoming: { socket: { remoteAddress: address }, rawHeaders: [], url: path } } as unknown as Env['Bindings'];
  return Promise.resolve(app.request(`http://n.test${path}`, { headers: authorization ? { authorization } : {} }, env));
}

async function read(config: Partial<Deps['config']>, from: From = {}, metrics = watched()): Promise<Response> {
  const { deps } = service;
  const app = createApp({ ...deps, metrics, config: { ...deps.config, ...config } });
  const headers = { host: 'n.test' };
  await app.request('http://n.test/api/v2/sichtbeobachtungen?titel_deutsch=geheim', { headers });
  await app.request('http://n.test/api/v2/sichtbeobachtungen/99', { headers });
  for (const path of ['/geheim', '/api/v2/geheim', '/api/v2/geheim/9/x', '/ogc/geheim'])
    await app.request(`http://n.test${path}`, { headers });
  await app.request('http://n.test/api/v2/arten', { headers: { host: 'geheim.test' } });
  await app.request('http://n.test/api/v2/arten', { headers, method: 'GEHEIM' });
  for (let n = 0; n < 3; n++) await app.request('http://n.test/api/v2/arten', { headers });
  return ask(app, from);
}

const families = async (metrics?: Metrics) => readExposition(await (await read({}, {}, metrics)).text());
const figureOf = (all: Map<string, Family>, name: string, labels: Record<string, string> = {}) =>
  all
    .get(name)
    ?.samples.find(
      (sample) => sample.name === name && Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
    )?.value;

describe('/metrics answers', () => {
  const rows: [config: Partial<Deps['config']>, from: From, status: number][] = [
    [{}, { address: '127.0.0.1' }, 200],
    [{}, { address: '::1' }, 200],
    [{}, { address: '::ffff:127.0.0.1' }, 200],
    [{}, { address: '192.0.2.1' }, 403],
    [{}, { address: '1127.0.0.1' }, 403],
    [{ trustedHops: 1 }, { address: '127.0.0.1' }, 403],
    [{ metricsToken: 'geheim' }, { address: '127.0.0.1' }, 401],
    [{ metricsToken: 'geheim' }, { authorization: 'Bearer falsch' }, 401],
    [{ metricsToken: 'geheim' }, { authorization: 'Bearer geheim', address: '192.0.2.1' }, 200],
    [{ metricsToken: 'geheim', trustedHops: 1 }, { authorization: 'Bearer geheim' }, 200],
  ];
  for (const [config, from, status] of rows) {
    it(`${JSON.stringify(config)} ${JSON.stringify(from)}: ${status}`, async () => {
      assert.equal((await read(config, from)).status, status);
      const { deps } = service;
      const worker = createWorkerApp({ ...deps, metrics: watched(), config: { ...deps.config, ...config } });
      assert.equal((await ask(worker, from)).status, status, 'a worker');
    });
  }

  it('with counts by route, and nothing that a client sent', async () => {
    const text = await (await read({})).text();
    assert.match(text, /http_requests_total\{method="GET",route="\/api\/v2\/sichtbeobachtungen",status="200"\} 1/);
    assert.match(text, /http_requests_total\{method="GET",route="\/api\/v2\/sichtbeobachtungen\/:id",status="404"\} 1/);
    assert.match(text, /^process_resident_memory_bytes /m);
    assert.ok(!/geheim/i.test(text));
  });

  it('paths and methods that there are not are one', async () => {
    const requests = (await families()).get('http_requests_total')?.samples ?? [];
    const unknown = requests.filter(({ labels }) => labels.route === 'other');
    const found = unknown.map(({ labels, value }) => [labels.method, labels.status, value].join());
    assert.deepEqual(found, ['GET,404,4', 'other,405,1']);
    assert.ok(!requests.some(({ labels }) => labels.route?.includes('*')));
  });

  it('what Prometheus can read, as a worker too', async () => {
    assert.ok((await families()).size > 40);
    const worker = createWorkerApp({ ...service.deps, metrics: watched() });
    assert.equal((await ask(worker, { path: '/health/live' })).status, 200);
    const all = readExposition(await (await ask(worker)).text());
    assert.equal(figureOf(all, 'http_requests_total', { route: '/health/live' }), 1);
    assert.equal(figureOf(all, 'database_up'), 1);
    assert.equal((await ask(worker, { path: '/api/v2/arten' })).status, 404);
  });

  it('what promtool finds nothing wrong with, but for names of the library', { skip: needsPromtool }, async () => {
    const { said } = runPromtool(['check', 'metrics'], await (await read({})).text());
    const found = said.split('\n').filter((line) => line !== '' && !line.startsWith('nodejs_'));
    assert.deepEqual(found, []);
    assert.match(runPromtool(['check', 'metrics'], '# TYPE x counter\nx 1\n').said, /x .*total/, 'it looks');
  });
});

describe('/metrics tells', () => {
  it('of the queue: how many wait, since when, and how late a worker is', async () => {
    const all = await families();
    const queue = { queue: mailQueue };
    assert.equal(figureOf(all, 'queue_jobs', queue), 4);
    assert.equal(Math.round((figureOf(all, 'queue_oldest_job_age_seconds', queue) ?? 0) / 3600), 2);
    assert.equal(Math.round((figureOf(all, 'queue_overdue_seconds', queue) ?? 0) / 1800), 3);
    assert.equal(figureOf(all, 'mails_dead'), 1);
    assert.equal(figureOf(all, 'queue_jobs', { queue: mailDeadLetter }), undefined, 'nobody is late with those');
  });

  it('of the boundaries: when they were looked at last, and when that failed', async () => {
    const all = await families();
    const hours = (outcome: string) => Math.round((figureOf(all, 'boundary_run_age_seconds', { outcome }) ?? 0) / 3600);
    assert.deepEqual([hours('success'), hours('failure')], [25, 1]);
  });

  it('of the files to publish: how the last run for each tenant ended, and when', async () => {
    const all = await families();
    const hours = (labels: Record<string, string>) =>
      Math.round((figureOf(all, 'export_run_age_seconds', labels) ?? Number.NaN) / 3600);
    assert.deepEqual([hours({ mandant: 'N', outcome: 'success' }), hours({ mandant: 'S', outcome: 'failure' })], [3, 3]);
    assert.equal(all.get('export_run_age_seconds')?.samples.length, 2);
  });

  it('of the database, the feed and the release', async () => {
    const all = await families();
    assert.equal(figureOf(all, 'database_up'), 1);
    assert.equal(figureOf(all, 'database_read_only'), 0);
    assert.equal(figureOf(all, 'feed_waiting_clients'), 2);
    assert.ok((figureOf(all, 'feed_lag_seconds') ?? -1) >= 0);
    assert.ok((figureOf(all, 'database_oldest_transaction_seconds') ?? -1) >= 0);
    assert.ok((figureOf(all, 'database_transaction_numbers_used') ?? -1) > 0);
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
    assert.equal(figureOf(all, 'build_info', { version }), 1);
  });

  it('of an open transaction, since when it keeps the database from tidying up', {
    skip: !onPostgres && 'the embedded database runs one transaction at a time',
  }, async () => {
    const other = service.database.connect();
    await other.begin('isolation level repeatable read', async (tx) => {
      await tx`select id from portal.nutzer limit 1`;
      await sleep(1000);
      assert.ok((figureOf(await families(), 'database_oldest_transaction_seconds') ?? 0) >= 1);
    });
    const getAge = async () =>
      (await sql<{ seconds: number }[]>`select aelteste_s as seconds from api.get_transaktionen()`)[0]?.seconds ?? 0;
    // Also one that wrote and has no statement under way.
    await other.begin(async (tx) => {
      await tx`update portal.nutzer set vorname = vorname`;
      await sleep(1000);
      assert.ok((await getAge()) >= 1);
    });
  });

  it('of answers that were kept', async () => {
    const all = await families();
    // Made to find out that it stays the same, made and kept, sent.
    assert.equal(figureOf(all, 'kept_answers_hits_total'), 1);
    // Those two, the list, and the record that there is not.
    assert.equal(figureOf(all, 'kept_answers_misses_total'), 4);
  });

  it('of each limit, whom it has and whom it refused', async () => {
    const all = await families();
    for (const [limit, { slots }] of listLimits()) assert.equal(figureOf(all, 'admission_slots', { limit }), slots, limit);
    const photos = async () => {
      const now = await families();
      const refused = (reason: string) => figureOf(now, 'admission_refusals_total', { limit: 'photos', reason });
      const of = (name: string) => figureOf(now, name, { limit: 'photos' });
      return {
        slots: of('admission_slots'),
        running: of('admission_running'),
        waiting: of('admission_waiting'),
        refused: ['queue_full', 'waited_too_long', 'no_answer'].map(refused),
      };
    };
    const client = Object.assign(() => new Promise((resolve) => (end = resolve)), { begin: () => null });
    let end: (value?: unknown) => void = () => {};
    const admit = (waitMs: number, callMs: number) => {
      const limit = new Limit({ name: 'photos', slots: 1, queue: 1, waitMs });
      return admitCalls(client as never, limit, callMs) as never as () => Promise<unknown>;
    };
    const admitted = admit(10_000, 10_000);
    const first = admitted();
    const second = admitted();
    await assert.rejects(Promise.resolve(admitted()), { reason: 'queue_full' });
    assert.deepEqual(await photos(), { slots: 1, running: 1, waiting: 1, refused: [1, 0, 0] });
    end();
    await first;
    await new Promise(setImmediate);
    end();
    await second;
    const hurried = admit(1, 50);
    const late = Promise.allSettled([hurried(), hurried()]);
    const found = (await late).map((outcome) => outcome.status === 'rejected' && outcome.reason.reason);
    assert.deepEqual(found, ['no_answer', 'waited_too_long']);
    assert.deepEqual(await photos(), { slots: 1, running: 0, waiting: 0, refused: [0, 1, 1] });
  });
});

describe('while the database is away', () => {
  const failing = Object.assign(() => Promise.reject(new Error('away')), {}) as unknown as Sql;
  const hanging = Object.assign(() => new Promise(() => {}), {}) as unknown as Sql;

  for (const [what, sql] of Object.entries({ refuses: failing, hangs: hanging })) {
    it(`/metrics answers without its figures when it ${what}`, async () => {
      const all = await families(watched(sql));
      assert.equal(figureOf(all, 'database_up'), 0);
      const ofDatabase = ['database_read_only', 'database_oldest_transaction_seconds', 'database_transaction_numbers_used'];
      for (const name of [...ofDatabase, 'mails_dead', 'feed_lag_seconds']) assert.ok(Number.isNaN(figureOf(all, name)), name);
      assert.deepEqual(all.get('queue_jobs')?.samples, []);
      assert.deepEqual(all.get('boundary_run_age_seconds')?.samples, []);
      assert.ok((figureOf(all, 'process_resident_memory_bytes') ?? 0) > 0);
    });
  }

  it('it is asked once, however many read, and not again before it is back', async () => {
    let asked = 0;
    const { promise, resolve } = Promise.withResolvers<number>();
    const hours = 3_600_000;
    const read = keepFresh(() => [promise, Promise.resolve(8)][asked++] ?? Promise.reject(new Error('x')), { fresh: 0, wait: 1 });
    assert.deepEqual(await Promise.all([read(), read(), read()]), [null, null, null]);
    assert.equal(await read(), null);
    assert.equal(asked, 1);
    resolve(7);
    await new Promise(setImmediate);
    assert.deepEqual([await read(), await read(), asked], [8, null, 3]);
    const once = keepFresh(async () => ++asked, { fresh: hours, wait: hours });
    assert.deepEqual([await once(), await once(), asked], [4, 4, 4]);
  });
});

/** Names of metrics in a query, each with the labels that are asked of it. */
function listNames(query: string): [name: string, labels: string[]][] {
  const plain = query.replace(/"(?:[^"\\]|\\.)*"/g, '""');
  const words = /\b(?:by|without|on|ignoring)\s*\([^)]*\)|\[[^\]]*\]|\b(?:and|or|unless|offset|bool)\b/g;
  const bare = plain.replace(words, ' ');
  return [...bare.matchAll(/(?<![\w:.$])([a-zA-Z_:][\w:]*)\s*(\{[^}]*\})?(?!\s*\(|[\w:])/g)].map(
    ([, name = '', selector = '']) => [name, [...selector.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label = '']) => label)],
  );
}

describe('docs/monitoring', () => {
  const rules = readFileSync(join(root, 'docs/monitoring/alerts.yml'), 'utf8');
  const dashboard = JSON.parse(readFileSync(join(root, 'docs/monitoring/dashboard.json'), 'utf8')) as {
    panels: { targets?: { expr: string }[] }[];
  };
  const ruleQueries = [...rules.matchAll(/^ +expr: (?:\|\n((?: {10}.*\n)+)|(.*)\n)/gm)].map(
    ([, long, short]) => long ?? short ?? '',
  );
  const panelQueries = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));

  it('names nothing that /metrics does not have', async () => {
    assert.equal(ruleQueries.length, rules.match(/- alert:/g)?.length);
    assert.ok(panelQueries.length > 25);
    const all = await families();
    const wrong = [...ruleQueries, ...panelQueries].flatMap((query) =>
      listNames(query).flatMap(([name, labels]) => {
        // Of Prometheus itself.
        if (name === 'up') return [];
        const family = all.get(name) ?? all.get(name.replace(/_bucket$/, ''));
        if (!family) return [`${name} in ${query}`];
        const known = new Set(['job', 'instance', ...family.samples.flatMap((sample) => Object.keys(sample.labels))]);
        return labels.filter((label) => !known.has(label)).map((label) => `${name} has no ${label}: ${query}`);
      }),
    );
    assert.deepEqual(wrong, []);
    const query = 'sum by (a, b) (rate(x_total{job="y", c!~"z(d)"}[5m])) > 2 * max(y_bytes offset 1h) or 3e9';
    assert.deepEqual(listNames(query), [
      ['x_total', ['job', 'c']],
      ['y_bytes', []],
    ]);
  });

  it('has rules that docs/operations/monitoring.md explains, and no others', () => {
    const page = readFileSync(join(root, 'docs/operations/monitoring.md'), 'utf8');
    const [, chapter = ''] = page.split(/^## Alerts$/m);
    const explained = [...(chapter.split(/^#/m)[0] ?? '').matchAll(/^\| `(\w+)`/gm)].map(([, name]) => name);
    const named = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name]) => name);
    assert.deepEqual(explained, named);
  });

  it('has rules that Prometheus takes', { skip: needsPromtool }, () => {
    const { code, said } = runPromtool(['check', 'rules', join(root, 'docs/monitoring/alerts.yml')]);
    assert.equal(code, 0, said);
  });

  it('has rules that fire when they should', { skip: needsPromtool }, () => {
    const { code, said } = runPromtool(['test', 'rules', join(root, 'test/observe/alerts.yml')]);
    assert.equal(code, 0, said);
  });
});
