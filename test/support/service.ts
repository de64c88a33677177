// The service on a test database, and makers that go through its public interface.

import assert from 'node:assert/strict';
import { createSecretKey } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApp } from '../../src/app.ts';
import { getInstallation, watchAbgleich } from '../../src/db/abgleich.ts';
import { admitCalls } from '../../src/db/admitted.ts';
import { callMs, type Database, poolSize, requestSettings, type Sql } from '../../src/db/client.ts';
import { openClient } from '../../src/db/connection.ts';
import { readFrom } from '../../src/db/reads.ts';
import { Limit } from '../../src/guard/limit.ts';
import { sha1OfPlain } from '../../src/guard/password.ts';
import { limitPerDay } from '../../src/guard/rate.ts';
import { makeToken } from '../../src/guard/token.ts';
import type { Deps } from '../../src/http/context.ts';
import type { MailJob } from '../../src/jobs/boss.ts';
import type { Media } from '../../src/media/medium.ts';
import { openStorage } from '../../src/media/open-storage.ts';
import { createMediaThreads } from '../../src/media/threads.ts';
import { createUploads } from '../../src/media/uploads.ts';
import { createLog } from '../../src/observe/log.ts';
import { createMetrics } from '../../src/observe/metrics.ts';
import { type Account, arten } from './catalogue.ts';
import { closeAtEnd, openTestDatabase, type TestDatabase } from './database.ts';

// biome-ignore lint/suspicious/noExplicitAny: answers are compared field by field
export type Json = any;

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  json: Json;
}

/** Of a form; what is undefined is not sent. */
export type Fields = Record<string, string | Blob | undefined>;

export interface RequestOptions {
  as?: Account | null;
  method?: string;
  /** Host of the request, n.test by default. */
  host?: string;
  /** Sent as multipart/form-data. */
  form?: Fields | FormData;
  body?: NonNullable<RequestInit['body']>;
  headers?: Record<string, string>;
  /** What the path is below; /api/v2 by default. */
  below?: string;
  /** Address of the client. */
  from?: string;
}

export interface TestService {
  database: TestDatabase;
  /** What the service was started with. */
  deps: Deps;
  app: ReturnType<typeof createApp>;
  /** A request to a path below /api/v2. */
  request(path: string, options?: RequestOptions): Promise<Answer>;
  tokenOf(account: Account): Promise<string>;
  /** Logs all accounts in anew when they ask again: a change of an account ended its tokens. */
  forgetTokens(): void;
  media: Media;
  /** Holds the directories `uploads` and `media`. */
  mediaDirectory: string;
  /** Mails that were put into the queue. */
  mails: MailJob[];
  /** What the job of such a mail does, without the mail: the path below /api/v2 of a link to the own data. */
  makeDatenLink(account: Account): Promise<string>;
  /** POST /sichtbeobachtungen by `melder` at N, an Amsel in the middle of N unless said otherwise; returns its id. */
  makeSichtbeobachtung(fields?: Fields, options?: RequestOptions): Promise<number>;
  /** The same, published and released: by SQL, because releasing has a story of its own. */
  makeReleased(fields?: Fields, options?: RequestOptions): Promise<number>;
  /** PUT /sichtbeobachtungen/{id}. */
  put(id: number, form: Fields, as?: Account): Promise<Answer>;
}

/** Settings of a service under test. */
export const testConfig: Deps['config'] = {
  publicUrl: 'http://{domain}:8080',
  defaultTenant: null,
  trustedHops: 0,
  tokenTtlDays: 30,
  answerCacheBytes: 8 * 1024 * 1024,
  metricsToken: null,
  karteHintergrund: null,
};

/** @param shared database of another service of this file; a copy of its own without it */
export async function startTestService(overrides: Partial<Deps> = {}, shared?: TestDatabase): Promise<TestService> {
  const database = shared ?? (await openTestDatabase());
  // Through a pooler as the service does it, which lets no more run than it has connections.
  const sql = process.env.TEST_POOLER_URL
    ? admitCalls(database.served.sql, new Limit({ slots: poolSize, queue: 100_000, waitMs: 60_000 }), callMs)
    : database.served.sql;
  const reads = process.env.TEST_REPLICA_URL ? readReplica(sql, database.served, process.env.TEST_REPLICA_URL) : sql;
  const mails: MailJob[] = [];
  const directory = await mkdtemp(join(tmpdir(), 'sighting-media-'));
  const threads = createMediaThreads();
  closeAtEnd(async () => {
    await threads.close();
    await rm(directory, { recursive: true });
  });
  const watch = watchAbgleich(database.served, sql, (error) => assert.fail(error as Error));
  closeAtEnd(async () => watch.release());
  const media = {
    threads,
    uploads: createUploads(join(directory, 'uploads'), { all: 32, perAccount: 8 }),
    storage: openStorage({ directory: join(directory, 'media') }),
  };
  const deps: Deps = {
    sql,
    reads,
    regexpSql: database.served.regexp ?? sql,
    build: 'test',
    queue: { enqueueMail: async (_tx, job) => void mails.push(job) },
    config: testConfig,
    metrics: createMetrics(),
    media,
    secretKey: createSecretKey(Buffer.alloc(32, 1)),
    log: createLog('silent'),
    feed: { installation: await getInstallation(sql), watch },
    writes: limitPerDay(100_000),
    ...overrides,
  };
  const app = createApp(deps);
  const tokens = new Map<Account, string>();
  const tokenOf = async (account: Account) => {
    const known = tokens.get(account);
    if (known) return known;
    const { json } = await request(`/login?loginname=${encodeURIComponent(account)}&password=${sha1OfPlain(account)}`);
    tokens.set(account, json.token);
    return json.token as string;
  };

  const request = async (path: string, options: RequestOptions = {}): Promise<Answer> => {
    const { as = null, method, host = 'n.test', form, headers = {}, below = '/api/v2', from } = options;
    const init: RequestInit = { method: method ?? (form ? 'POST' : 'GET'), headers: { host, ...headers } };
    if (as) Object.assign(init.headers as object, { 'X-Auth-User': headerOf(as), 'X-Auth-Token': await tokenOf(as) });
    if (form) init.body = form instanceof FormData ? form : toFormData(form);
    else if (options.body !== undefined) init.body = options.body;
    const env = from && { incoming: { socket: { remoteAddress: from }, rawHeaders: [], url: '/' } };
    const response = await app.request(`http://${host}${below}${path}`, init, env as never);
    const text = await response.text();
    const isJson = /[/+]json\b/.test(response.headers.get('content-type') ?? '') && text !== '';
    return { status: response.status, headers: response.headers, text, json: isJson ? JSON.parse(text) : undefined };
  };

  const makeSichtbeobachtung = async (fields: Fields = {}, options: RequestOptions = {}) => {
    const form = { art: String(arten.amsel), lat: '5530000', lon: '420000', datum: '1.9.2026', ...fields };
    const answer = await request('/sichtbeobachtungen', { as: 'melder', form, ...options });
    assert.equal(answer.status, 201, answer.text);
    return answer.json.result[0].id as number;
  };

  return {
    database,
    deps,
    app,
    mediaDirectory: directory,
    media,
    mails,
    request,
    tokenOf,
    forgetTokens: () => tokens.clear(),
    async makeDatenLink(account) {
      const { token, hash } = makeToken();
      const [row] = await database.sql`
        select api.set_nutzer_daten_link(nutzer_id => u.id, hash => ${hash}::bytea, email => u.email) as stored
        from portal.nutzer u where u.loginname = ${account}`;
      assert.equal(row?.stored, true);
      return `/konto/daten/${token}`;
    },
    makeSichtbeobachtung,
    put: (id, form, as = 'melder') => request(`/sichtbeobachtungen/${id}`, { method: 'PUT', form, as }),
    async makeReleased(fields, options) {
      const id = await makeSichtbeobachtung({ bereich: 'oeffentlich', ...fields }, options);
      await database.sql`
        update portal.sichtbeobachtung set status = 'freigegeben',
          experte_id = (select u.id from portal.nutzer u where u.loginname = 'expertin')
        where id = ${id}`;
      return id;
    },
  };
}

// As the service does it.
function readReplica(sql: Sql, served: Database, replicaUrl: string): Sql {
  const { user, pass, database } = served.sql.options as unknown as { user: string; pass: string; database: string };
  const url = new URL(replicaUrl);
  Object.assign(url, { username: user, password: pass, pathname: `/${database}` });
  const client = openClient({ url: url.href }, { max: poolSize, settings: requestSettings });
  closeAtEnd(() => client.end({ timeout: 1 }));
  return readFrom(client, sql, (error) => assert.fail(error as Error));
}

/** Of each row the member of this name; of several names, these members. */
export const pluck = (rows: readonly Json[], ...names: string[]): Json[] =>
  rows.map((row) => (names.length === 1 ? row[names[0] ?? ''] : names.map((name) => row[name])));

/** Ids of the records of a list, as it has them. */
export const idsIn = ({ json }: { json: Json }): number[] => pluck(json.result, 'id');

/** Of an output beside the interface: refused, with the parameter that was wrong. */
export function assertProblem({ status, headers, json, text }: Answer, expected: number, parameter?: string): void {
  assert.deepEqual([status, json.status, headers.get('content-type')], [expected, expected, 'application/problem+json'], text);
  assert.equal(json.parameter, parameter, text);
}

/** All records of a list, page by page, as `next` says. */
export async function walkList(service: TestService, path: string, options: RequestOptions = {}): Promise<Json[]> {
  const records: Json[] = [];
  for (let next = path; next !== ''; ) {
    const { status, json, text } = await service.request(next, options);
    assert.equal(status, 200, text);
    records.push(...json.result);
    next = json.next?.slice(json.next.indexOf('/api/v2') + '/api/v2'.length) ?? '';
  }
  return records;
}

/** How many sightings are stored. */
export async function countRows({ database }: { database: Database }): Promise<number> {
  const [row] = await database.sql`select count(*)::integer as n from portal.sichtbeobachtung`;
  return row?.n;
}

export function toFormData(fields: Fields): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) form.append(name, value);
  return form;
}

/** UTF-8 bytes as a header carries them: one character per byte. */
export function headerOf(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}
