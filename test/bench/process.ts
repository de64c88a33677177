// Processes and directories of a run: whatever happens, they end with it.
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Running, root, start } from '../support/child.ts';

const closers: (() => unknown)[] = [];
let closing: Promise<void> | null = null;

/** What must be undone at the end of the run, in reverse order, also after Ctrl-C or an error. */
export function atEnd(close: () => unknown): void {
  closers.push(close);
}

export function closeAll(): Promise<void> {
  closing ??= (async () => {
    for (const close of closers.reverse())
      try {
        await close();
      } catch (error) {
        console.error(String(error));
      }
  })();
  return closing;
}

process.on('SIGINT', () => closeAll().then(() => process.exit(130)));
process.on('SIGTERM', () => closeAll().then(() => process.exit(143)));

/** A directory that is removed at the end. */
export async function makeDir(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'sighting-bench-'));
  atEnd(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

/** Starts Node in a folder; it lives until it is stopped or to the end of the run. */
export function startNode(args: string[], cwd: string, env: NodeJS.ProcessEnv): Running {
  // A group of its own: Ctrl-C reaches this process alone, which ends the others in order.
  const running = start(process.execPath, args, { cwd, env: { ...process.env, ...env }, detached: true });
  atEnd(() => running.stop());
  return running;
}

/**
 * An entry of the project as a process of its own.
 * @param script of package.json, whose flags Node is given
 */
export function startEntry(script: 'start' | 'cli', entry: string, args: string[], env: Record<string, string>): Running {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: Record<string, string> };
  const nodeArgs = scripts[script]?.split(' ').slice(1, -1) ?? [];
  return startNode([...nodeArgs, entry, ...args], root, env);
}
