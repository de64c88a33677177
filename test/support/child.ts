// Programs that run beside a test: started, waited for, ended.
import { type ChildProcess, type SpawnOptions, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));

export interface Running {
  process: ChildProcess;
  /** What it wrote so far, of a long run the end. */
  output(): string;
  /** Sends a signal, unless it has ended, and waits for the end. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

export function start(command: string, args: string[], options: SpawnOptions = {}): Running {
  const child = spawn(command, args, options);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk) => {
      output = (output + chunk).slice(-(2 ** 22));
    });
  }
  const closed = once(child, 'close') as Promise<[number | null]>;
  return {
    process: child,
    output: () => output,
    async stop(signal = 'SIGTERM') {
      child.kill(signal);
      return (await closed)[0];
    },
  };
}

/** Waits until it answers as it should. */
export async function untilReady(running: Running, isReady: () => Promise<boolean>): Promise<void> {
  for (let attempt = 0; !(await isReady().catch(() => false)); attempt++) {
    if (running.process.exitCode !== null || attempt > 3600) {
      await running.stop('SIGKILL');
      throw new Error(`${running.process.spawnargs.join(' ')} did not start: ${running.output()}`);
    }
    await sleep(50);
  }
}

/** Whether somebody takes connections on a port of this machine. */
export async function isOpen(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  const isConnected = await once(socket, 'connect').then(
    () => true,
    () => false,
  );
  socket.destroy();
  return isConnected;
}

/** Whether a program is installed, and runs. */
export const hasProgram = (name: string, ...args: string[]) => spawnSync(name, args, { stdio: 'ignore' }).status === 0;
