// Canaries: passwords, their SHA-1 and access keys that a service was given are looked for in everything that it wrote.
import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, it } from 'node:test';
import { type Database, openDatabase } from '../../src/db/client.ts';
import { sha1OfPlain } from '../../src/guard/password.ts';
import { onPostgres } from '../support/database.ts';
import { fillSite, makeSite, type RunningService, type Site, startProcess } from '../support/process.ts';
import { type Json, toFormData } from '../support/service.ts';
import { waitFor } from '../support/wait.ts';

const password = 'Kanarienvogel 4711';
const wrong = 'falscher Kanarienvogel 4712';
const next = 'neuer Kanarienvogel 4713';

// Nothing of this depends on which database it is.
const skip = !onPostgres && 'the embedded database is started four times for this, which takes half a minute';

let site: Site;
let service: RunningService;
before(async () => {
  if (skip) return;
  site = await makeSite({ isMigrated: true });
  await fillSite(site, { password, rolle: 'administrator' });
  service = await startProcess(site, { LOG_LEVEL: 'trace' });
});
after(async () => {
  await service?.stop('SIGKILL');
  await site?.remove();
});

/** What a service answered, but for the answers that hand out an access key. */
const answers: string[] = [];
async function ask(path: string, init: RequestInit = {}): Promise<{ status: number; text: string }> {
  const response = await fetch(`${service.url}${path}`, init);
  const text = await response.text();
  if (!text.includes('"token":')) answers.push(JSON.stringify([...response.headers]), text);
  return { status: response.status, text };
}
const api = (path: string, init?: RequestInit) => ask(`/api/v2${path}`, init);
const logIn = (plain: string) => `loginname=anna&password=${sha1OfPlain(plain)}`;

it('S2.2 no password, SHA-1 or access key is in a log, an error, a metric, a job, a table or a file', { skip }, async () => {
  const urlencoded = { 'content-type': 'application/x-www-form-urlencoded' };
  const { token } = JSON.parse((await api(`/login?${logIn(password)}`)).text) as Json;
  const headers = { 'X-Auth-User': 'anna', 'X-Auth-Token': token };
  const sha1 = sha1OfPlain(password);
  const [record] = JSON.parse((await api('/nutzer', { headers })).text).result;

  // Where they belong, and in every place where a client may put them by mistake.
  assert.equal((await api(`/login?${logIn(wrong)}`)).text, '');
  assert.equal((await api('/login', { method: 'POST', body: logIn(wrong), headers: urlencoded })).text, '');
  assert.equal((await api(`/login?${logIn(password)}&password=${sha1}`)).status, 400);
  assert.equal((await api(`/login?loginname=anna&password=${encodeURIComponent(password)}`)).text, '');
  assert.equal((await api('/login', { method: 'POST', body: JSON.stringify({ password: sha1 }) })).status, 415);
  for (const method of ['GET', 'PATCH', 'PUT']) await api(`/gibtesnicht/${token}?password=${sha1}`, { method, headers });
  for (const path of [
    '/sichtbeobachtungen',
    '/arten',
    '/nutzer',
    '/protokoll',
    '/sichtbeobachtungen/1',
    '/medien/x',
    '/konto/x',
  ]) {
    assert.equal((await api(path, { headers: { ...headers, 'X-Auth-User': 'niemand' } })).status, 401, path);
    await api(`${path}?password=${sha1}&token=${token}`, { headers });
  }
  assert.equal((await api('/arten', { headers: { ...headers, 'X-Auth-Token': `${token}x` } })).status, 401);
  const put = (body: FormData) => api(`/nutzer/${record.id}`, { method: 'PUT', headers, body });
  assert.equal((await put(toFormData({ passwort: password }))).status, 400);
  assert.equal((await put(toFormData({ passwort: sha1OfPlain(next), status: 'x' }))).status, 400);
  const register = { loginname: 'berta', email: 'b@example.org', vorname: 'B', nachname: 'B', passwort: sha1, token };
  assert.equal((await api(`/register?${new URLSearchParams(register)}`)).status, 200);
  assert.equal((await api('/passwort', { method: 'POST', body: toFormData({ loginname: 'anna', token }) })).status, 200);
  const sent = toFormData({ art: '100', lat: '5484000', lon: '391000', password: sha1, token });
  assert.equal((await api('/sichtbeobachtungen', { method: 'POST', headers, body: sent })).status, 201);
  await failInside(headers);
  assert.equal((await put(toFormData({ passwort: sha1OfPlain(next) }))).status, 200);
  await ask('/metrics');
  await ask('/health/ready');
  // Files that the service writes.
  const listMails = () => readdir(join(site.env.DATA_DIR ?? '', 'mail')).catch(() => []);
  await waitFor('both mails', async () => (await listMails()).filter((name) => name.endsWith('.eml')).length >= 2);

  assert.equal(await service.stop(), 0);
  const written: Record<string, string> = {
    'standard output and the log': service.output(),
    'an answer or a metric': answers.join('\n'),
    'the database': await dumpDatabase(),
    'a file': await readFiles(),
  };
  for (const [where, text] of Object.entries(written)) {
    assert.ok(text.length > 100, `nothing was written into ${where}`);
    for (const plain of [password, wrong, next]) {
      assert.ok(!text.includes(plain), `a password is in ${where}`);
      assert.ok(!text.toLowerCase().includes(sha1OfPlain(plain)), `a SHA-1 is in ${where}`);
    }
    for (const form of [token, Buffer.from(token).toString('hex'), Buffer.from(token).toString('base64')])
      assert.ok(!text.includes(form), `an access key is in ${where}`);
  }
  assert.match(service.output(), /unexpected error/, 'the faults below were not logged at all');
});

/** Errors that nobody expected: functions of the database that are gone. */
async function failInside(headers: Record<string, string>): Promise<void> {
  const database = await openSiteDatabase();
  for (const signature of [
    'api.get_login(portal.kurztext)',
    'api.create_token(bigint,bytea,portal.kurztext,portal.kurztext)',
    'api.get_reader(portal.kurztext,bytea,integer)',
  ]) {
    const name = signature.replace(/api\.(\w+).*/, '$1');
    await database.sql.unsafe(`alter function ${signature} rename to ${name}_hidden`);
    const statuses = [(await api(`/login?${logIn(password)}`)).status, (await api('/nutzer', { headers })).status];
    assert.ok(statuses.includes(500), `${name}: ${statuses}`);
    await database.sql.unsafe(`alter function ${signature.replace(name, `${name}_hidden`)} rename to ${name}`);
  }
  await database.close();
}

function openSiteDatabase(): Promise<Database> {
  return openDatabase({ databaseUrl: site.env.DATABASE_URL ?? '', dataDir: '' });
}

/** Every row of every table, jobs among them. */
async function dumpDatabase(): Promise<string> {
  const database = await openSiteDatabase();
  try {
    const tables = await database.sql<{ name: string }[]>`
      select c.oid::regclass::text as name from pg_class c
      where c.relkind in ('r', 'p') and c.relnamespace in ('portal'::regnamespace, 'pgboss'::regnamespace)`;
    const dumps = [];
    for (const { name } of tables) {
      const [row] = await database.sql.unsafe(`select coalesce(string_agg(t::text, ' '), '') as text from ${name} t`);
      dumps.push(row?.text);
    }
    const dump = dumps.join('\n');
    assert.match(dump, /registrierung/, 'the jobs are not there');
    return dump;
  } finally {
    await database.close();
  }
}

async function readFiles(): Promise<string> {
  const directory = site.env.DATA_DIR ?? '';
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return (await Promise.all(files.map((file) => readFile(file, 'latin1')))).join('\n');
}
