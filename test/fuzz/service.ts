// The service as `npm start` runs it.
import { setTimeout as sleep } from 'node:timers/promises';
import { atEnd } from '../bench/process.ts';
import { startServer } from '../bench/servers.ts';

export interface Service {
  port: number;
  pid: number;
  /** The last lines that it wrote. */
  lastLines(): string[];
  /** Collects the garbage, so that what is left is what is held. */
  collectGarbage(): Promise<void>;
  stop(): Promise<void>;
}

export interface ServiceWatcher {
  /** It ended without being told to. */
  ended(how: string): void;
  /** A line on standard output or standard error, after the start. */
  line(text: string): void;
}

const keptLines = 14;
// More than the service gives itself.
const stopMs = 30_000;

/** Starts the service; it lives until it is stopped, or until the end of the run. */
export async function startService(env: Record<string, string>, watcher: ServiceWatcher): Promise<Service> {
  const { running, url } = await startServer({
    ...env,
    PROCESS_ROLE: 'all',
    SECRET_KEY: 'the same in every run, so that cursors are',
    // Only for collecting garbage; the port is any that is free.
    NODE_OPTIONS: '--inspect=127.0.0.1:0',
  });
  const child = running.process;
  // What it says of its start has arrived.
  await sleep(200);
  const [, inspector = ''] = /^Debugger listening on (ws:\S+)/m.exec(running.output()) ?? [];
  const lines: string[] = [];
  let isStopping = false;
  for (const stream of [child.stdout, child.stderr]) {
    let rest = '';
    stream?.on('data', (chunk) => {
      const whole = `${rest}${chunk}`.split('\n');
      rest = whole.pop() ?? '';
      const told = whole.filter((text) => text.trim() !== '');
      lines.push(...told.map((line) => line.slice(0, 2000)));
      lines.splice(0, lines.length - keptLines);
      for (const line of told.filter((text) => text.startsWith('{"'))) watcher.line(line);
      // What is no entry of the log are lines that belong together.
      const strange = told.filter((text) => !text.startsWith('{"'));
      if (strange.length > 0) watcher.line(strange.join('\n'));
    });
  }
  // Told before the processes are.
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.on(signal, () => {
      isStopping = true;
    });
  const stop = async () => {
    isStopping = true;
    const late = setTimeout(() => child.kill('SIGKILL'), stopMs);
    await running.stop();
    clearTimeout(late);
  };
  atEnd(stop);
  child.once('exit', (code, signal) => {
    if (!isStopping) watcher.ended(`code ${code}, signal ${signal}`);
  });
  return {
    port: Number(new URL(url).port),
    pid: child.pid ?? 0,
    lastLines: () => lines,
    stop,
    collectGarbage: () => collectGarbage(inspector),
  };
}

async function collectGarbage(address: string): Promise<void> {
  const socket = new WebSocket(address);
  const { promise, resolve } = Promise.withResolvers<void>();
  socket.addEventListener('open', () => {
    for (const id of [1, 2]) socket.send(JSON.stringify({ id, method: 'HeapProfiler.collectGarbage' }));
  });
  socket.addEventListener('message', ({ data }) => {
    if (JSON.parse(String(data)).id === 2) resolve();
  });
  socket.addEventListener('error', () => resolve());
  const timer = setTimeout(resolve, 20_000);
  await promise;
  clearTimeout(timer);
  socket.close();
}

/** What is wrong with a line of its log: its own notes of a level below error are fine; what is no note of its own comes from Node or a library. */
export function findLogProblem(line: string): string | null {
  if (/^(Debugger |For help, see: https:\/\/nodejs\.org|Waiting for the debugger)/.test(line)) return null;
  try {
    const { level, msg, status } = JSON.parse(line) as { level?: number; msg?: string; status?: number };
    // The line of a request that was refused for now, which is judged by its answer.
    if (msg === 'request' && status === 503) return null;
    return level === undefined || level >= 50 ? line : null;
  } catch {
    return `not the service's own: ${line}`;
  }
}
