import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import postgres from 'postgres';
import { EmbeddedBusyError, EmbeddedOpenError, openEmbedded } from '../../src/db/embedded/database.ts';
import { beQuick, makeEmpty, quickFlags } from '../support/engine.ts';

const root = mkdtempSync(join(tmpdir(), 'embedded-lock-'));
let copyEmpty: (copy: string) => void;
before(async () => {
  beQuick();
  copyEmpty = await makeEmpty(join(root, 'empty'));
});
after(() => rmSync(root, { recursive: true, force: true }));

interface Writer {
  child: ChildProcess;
  acknowledged: number[];
  stderr: string[];
  reached(count: number): Promise<void>;
  kill(): Promise<void>;
}

function startWriter(directory: string): Writer {
  const script = fileURLToPath(new URL('./embedded-writer.ts', import.meta.url));
  const child = spawn(process.execPath, [...quickFlags, '--import', 'tsx', script, directory], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const acknowledged: number[] = [];
  const stderr: string[] = [];
  const listeners = new Set<() => void>();
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  child.stderr?.on('data', (chunk) => stderr.push(String(chunk)));
  createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
    acknowledged.push(Number(line.replace('acknowledged ', '')));
    for (const listener of listeners) listener();
  });
  return {
    child,
    acknowledged,
    stderr,
    reached: (count) =>
      Promise.race([
        new Promise<void>((resolve) => listeners.add(() => acknowledged.length >= count && resolve())),
        ended.then(() => Promise.reject(new Error(`the writer ended early: ${stderr.join('')}`))),
      ]),
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

test('S5.11 a directory belongs to one process; after kill -9 the next has it at once, with every acknowledged write', async () => {
  const directory = join(root, 'killed');
  copyEmpty(directory);
  const seen = new Set<number>();
  for (const round of [1, 2, 3]) {
    const writer = startWriter(directory);
    try {
      await writer.reached(200 * round);
      await assert.rejects(openEmbedded({ dataDir: directory }), (error) => {
        assert.ok(error instanceof EmbeddedBusyError, String(error));
        assert.match(error.message, /killed/);
        assert.doesNotMatch(error.message, /\n/);
        return true;
      });
    } finally {
      await writer.kill();
    }
    assert.equal(writer.stderr.join(''), '', 'nothing is printed, no ExperimentalWarning either');
    for (const n of writer.acknowledged) seen.add(n);

    const database = await openEmbedded({ dataDir: directory });
    const sql = postgres({ socket: database.socket, max: 1 } as postgres.Options<Record<string, never>>);
    const rows = await sql<{ n: number }[]>`select n from written`;
    await sql.end({ timeout: 5 });
    await database.close();
    const present = new Set(rows.map((row) => row.n));
    const lost = [...seen].filter((n) => !present.has(n));
    assert.deepEqual(lost, [], `lost of ${seen.size} acknowledged writes in round ${round}`);
  }
});

test('a second open in the same process is refused, and works after the first is closed', async () => {
  const directory = join(root, 'twice');
  copyEmpty(directory);
  const first = await openEmbedded({ dataDir: directory });
  await assert.rejects(openEmbedded({ dataDir: directory }), EmbeddedBusyError);
  await first.close();
  const second = await openEmbedded({ dataDir: directory });
  await second.close();
});

test('S5.8 a first start that was killed half-way is begun anew', async () => {
  const directory = join(root, 'half');
  mkdirSync(join(directory, 'pg'), { recursive: true });
  writeFileSync(join(directory, 'embedded.incomplete'), '');
  writeFileSync(join(directory, 'pg', 'PG_VERSION'), '18\n');
  const database = await openEmbedded({ dataDir: directory });
  await database.close();
  assert.ok(!existsSync(join(directory, 'embedded.incomplete')));
});

test('a directory that cannot be used is explained in one line', async () => {
  const old = join(root, 'old');
  mkdirSync(join(old, 'pg'), { recursive: true });
  writeFileSync(join(old, 'pg', 'PG_VERSION'), '15\n');
  const foreign = join(root, 'foreign');
  mkdirSync(join(foreign, 'pg'), { recursive: true });
  writeFileSync(join(foreign, 'pg', 'notes.txt'), 'precious');
  const file = join(root, 'file');
  writeFileSync(file, '');

  const cases: [directory: string, reason: RegExp][] = [
    [old, /PostgreSQL 15/],
    [foreign, /keine Datenbank/],
    [file, /kann nicht geschrieben werden/],
    [join(file, 'below'), /kann nicht geschrieben werden/],
  ];
  for (const [directory, reason] of cases) {
    await assert.rejects(openEmbedded({ dataDir: directory }), (error) => {
      assert.ok(error instanceof EmbeddedOpenError, String(error));
      assert.match(error.message, reason);
      assert.doesNotMatch(`${error.message}${error.stack}`, /\n/);
      return true;
    });
  }
  assert.deepEqual(readdirSync(join(foreign, 'pg')), ['notes.txt'], "somebody else's files are left alone");
});

test('a damaged directory is refused in one line, and the lock is free again', async () => {
  const directory = join(root, 'damaged');
  copyEmpty(directory);
  writeFileSync(join(directory, 'pg', 'global', 'pg_control'), Buffer.alloc(8192, 7));
  for (const _attempt of [1, 2]) {
    await assert.rejects(openEmbedded({ dataDir: directory }), (error) => {
      assert.ok(error instanceof EmbeddedOpenError, String(error));
      assert.match(error.message, /konnte nicht geöffnet werden/);
      return true;
    });
  }
});
