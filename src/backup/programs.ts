// pg_dump and pg_restore: found, asked for their version and run. Passwords reach them by their environment only.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { Programs } from '../config.ts';
import { BackupError } from './error.ts';

type Program = 'pg_dump' | 'pg_restore';

// As much as is kept of what a program complains about.
const maxComplaint = 20_000;

/**
 * The version of a program.
 * @param atLeast major version that it must have
 * @throws BackupError when it is missing or older
 */
export async function requireProgram(programs: Programs, program: Program, atLeast: string): Promise<string> {
  const chunks: Buffer[] = [];
  await runProgram(programs, program, ['--version'], {}, async (out) => {
    for await (const chunk of out) chunks.push(chunk as Buffer);
  });
  const [, version] = /\(PostgreSQL\) (\d+[\w.]*)/.exec(Buffer.concat(chunks).toString()) ?? [];
  const major = Number.parseInt(atLeast, 10);
  if (version === undefined) throw new BackupError(`${program} nennt keine Version; PG_BIN nennt das Verzeichnis des richtigen.`);
  if (Number.parseInt(version, 10) < major) {
    throw new BackupError(
      `${program} ist Version ${version}, nötig ist ${major} oder neuer. Unter Debian: apt-get install postgresql-client-${major}; PG_BIN nennt sein Verzeichnis, etwa /usr/lib/postgresql/${major}/bin.`,
    );
  }
  return version;
}

/**
 * Runs a program to its end.
 * @param variables beside those of its environment
 * @param read is handed what it prints
 * @throws BackupError when it is missing or fails
 */
export async function runProgram(
  programs: Programs,
  program: Program,
  args: readonly string[],
  variables: Record<string, string>,
  read?: (out: Readable) => Promise<void>,
): Promise<void> {
  const path = programs.directory === null ? program : join(programs.directory, program);
  const child = spawn(path, args, {
    env: { ...programs.environment, ...variables },
    stdio: ['ignore', read ? 'pipe' : 'ignore', 'pipe'],
  });
  // It is a process of its own, which would go on when this one is ended.
  const stop = () => child.kill();
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.on(signal, stop);
  try {
    let complaint = '';
    child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
      if (complaint.length < maxComplaint) complaint += chunk;
    });
    const ended = new Promise<{ code: number | null; signal: string | null }>((resolve, reject) => {
      child.on('error', reject);
      child.on('close', (code, signal) => resolve({ code, signal }));
    });
    const reading = child.stdout && read ? read(child.stdout) : Promise.resolve();
    // What can't be read any more must not wait for ever to be.
    reading.catch(stop);
    const { code, signal } = await ended.catch((error: NodeJS.ErrnoException) => {
      throw new BackupError(
        `${program} lässt sich nicht starten (${error.code}). Unter Debian: apt-get install postgresql-client; PG_BIN nennt das Verzeichnis, wenn PATH es nicht findet.`,
      );
    });
    await reading;
    if (signal !== null) throw new BackupError(`${program} wurde abgebrochen (${signal}).`);
    if (code !== 0) throw new BackupError(`${program} ist gescheitert: ${describeComplaint(complaint)}`);
  } finally {
    for (const signal of signals) process.off(signal, stop);
  }
}

// Its first line that says what went wrong. The ones behind it repeat statements and rows; a long text in quotes may be a value.
function describeComplaint(complaint: string): string {
  const line = complaint.split('\n').find((text) => /\b(error|fatal):/i.test(text)) ?? '';
  const said = line.replace(/^.*?\b(error|fatal): +/i, '').replace(/"[^"]{64,}"/g, '"…"');
  return said === '' ? 'ohne Angabe von Gründen.' : said.slice(0, 300);
}
