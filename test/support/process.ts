// The service and its commands as an operator runs them: processes of their own.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sha1OfPlain } from '../../src/guard/password.ts';
import { type Running, root, start, untilReady } from './child.ts';
import { createDatabase, onPostgres } from './database.ts';
import { makeDirectory } from './end.ts';
import { quickFlags } from './engine.ts';
import { freePort } from './port.ts';
import { copyDirectory, migratedOf } from './template.ts';

const flags = [...(onPostgres ? [] : quickFlags), '--disable-warning=ExperimentalWarning'];
// What an earlier state mends of its packages, those of today have otherwise.
const argsOf = (entry: string, cwd?: string) => [
  ...flags,
  ...(cwd ? [] : ['--import', './src/preflight.js']),
  '--import',
  'tsx',
  entry,
];

export interface Outcome {
  code: number | null;
  out: string;
  err: string;
}

/** A place of its own for commands: an empty database and a data directory. */
export interface Site {
  env: Record<string, string>;
  /** Whose code runs there; that of this checkout without it. */
  cwd?: string;
  remove(): Promise<void>;
}

let sites = 0;

/** @param isMigrated so that `npm run migrate` has nothing to do, which takes seconds */
export async function makeSite({ isMigrated = false } = {}): Promise<Site> {
  const migrated = migratedOf(process.env.TEST_TEMPLATE ?? '');
  const dataDir = isMigrated && !onPostgres ? copyDirectory(migrated) : await mkdtemp(join(tmpdir(), 'sighting-site-'));
  const env: Record<string, string> = { DATA_DIR: dataDir, DATABASE_URL: '' };
  if (!onPostgres) return { env, remove: () => rm(dataDir, { recursive: true }) };
  const name = `${process.env.TEST_TEMPLATE}_site_${process.pid}_${++sites}`;
  const { url, drop } = await createDatabase(name, isMigrated ? `template ${migrated}` : '');
  return {
    env: { ...env, DATABASE_URL: url },
    async remove() {
      await drop();
      await rm(dataDir, { recursive: true });
    },
  };
}

/** The same on a database that is somebody else's. */
export async function makeSiteOn(databaseUrl: string, env: Record<string, string> = {}): Promise<Site> {
  return { env: { DATA_DIR: await makeDirectory(), DATABASE_URL: databaseUrl, ...env }, remove: async () => {} };
}

export const katalog = join(root, 'test/support/katalog');
const usualPassword = 'geheim und lang';

/** Gives a migrated site the catalogue of test/support/katalog, and an account. */
export async function fillSite(
  site: Site,
  { loginname = 'anna', password = usualPassword, rolle = '' }: { loginname?: string; password?: string; rolle?: string } = {},
): Promise<void> {
  assert.equal((await runCli(site, ['catalog', 'import', katalog])).code, 0);
  const person = ['--loginname', loginname, '--email', `${loginname}@example.org`, '--vorname', 'Anna', '--nachname', 'A'];
  const create = ['nutzer', 'create', ...person, ...(rolle ? ['--rolle', rolle] : []), '--password-stdin'];
  assert.equal((await runCli(site, create, password)).code, 0);
}

/** What requests of an account carry. */
export async function logIn({ url }: RunningService, loginname = 'anna', password = usualPassword) {
  const answer = await fetch(`${url}/api/v2/login?${new URLSearchParams({ loginname, password: sha1OfPlain(password) })}`);
  const { token } = (await answer.json()) as { token: string };
  return { 'X-Auth-User': Buffer.from(loginname).toString('latin1'), 'X-Auth-Token': token };
}

function spawnEntry(entry: string, args: string[], env: Record<string, string>, cwd?: string): ChildProcess {
  return spawn(process.execPath, [...argsOf(entry, cwd), ...args], { cwd: cwd ?? root, env: { ...process.env, ...env } });
}

/** Runs a command of src/cli.ts to its end. */
export async function runCli(site: Site, args: string[], input = ''): Promise<Outcome> {
  return finish(startCli(site, args), input);
}

/** Starts a command of src/cli.ts without waiting for its end. */
export function startCli({ env, cwd }: Site, args: string[]): ChildProcess {
  return spawnEntry('src/cli.ts', args, env, cwd);
}

/** Runs src/main.ts expecting it to end by itself. */
export async function runMain(env: Record<string, string>, args: string[] = []): Promise<Outcome> {
  return finish(spawnEntry('src/main.ts', args, env), '');
}

async function finish(child: ChildProcess, input: string): Promise<Outcome> {
  let out = '';
  let err = '';
  child.stdout?.on('data', (chunk) => {
    out += chunk;
  });
  child.stderr?.on('data', (chunk) => {
    err += chunk;
  });
  child.stdin?.end(input);
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, out, err };
}

export interface RunningService extends Running {
  url: string;
}

/**
 * Starts src/main.ts and waits until it answers.
 * @param program what is started, where it is not the usual one
 */
export async function startProcess(
  site: Site,
  env: NodeJS.ProcessEnv = {},
  program = [process.execPath, ...argsOf('src/main.ts', site.cwd)],
): Promise<RunningService> {
  const port = String(await freePort());
  const [command = '', ...args] = program;
  const settings = { ...process.env, ...site.env, PORT: port, ...env };
  const running = start(command, args, { cwd: site.cwd ?? root, env: settings });
  const url = `http://127.0.0.1:${port}`;
  await untilReady(running, async () => (await fetch(`${url}/health/ready`)).ok);
  return { ...running, url };
}
