// The service as `npm start` runs it, started again when it ends.
import { setTimeout as sleep } from 'node:timers/promises';
import { atEnd, type Running, startEntry } from '../bench/process.ts';
import { freePort } from '../support/port.ts';

export interface Service {
  port: number;
  pid(): number;
  /** The last lines that it wrote. */
  lastLines(): string[];
  /** Collects the garbage, so that what is left is what is held. */
  collectGarbage(): Promise<void>;
  isUp(): boolean;
  /** Whether it was up all the time since then. */
  wasUpSince(time: number): boolean;
  /** From now on its end is no finding. */
  expectEnd(): void;
  stop(): Promise<void>;
}

export interface ServiceWatcher {
  /** It ended without being told to. */
  ended(how: string): void;
  /** A line on standard output or standard error, after the start. */
  line(text: string): void;
}

const keptLines = 30;
// More than the service gives itself.
const stopMs = 20_000;

/** Starts the service; it lives until the end of the run. */
export async function startService(env: Record<string, string>, watcher: ServiceWatcher): Promise<Service> {
  const port = await freePort();
  const lines: string[] = [];
  let inspector = '';
  let running: Running | null = null;
  let isStopping = false;
  let isReady = false;
  let readyAt = 0;

  const start = async () => {
    isReady = false;
    const started = startEntry('start', 'src/main.ts', [], {
      ...env,
      PORT: String(port),
      HOST: '127.0.0.1',
      PROCESS_ROLE: 'all',
      SECRET_KEY: 'the same in every run, so that cursors are',
      // Only for collecting garbage; the port is any that is free.
      NODE_OPTIONS: '--inspect=127.0.0.1:0',
    });
    running = started;
    for (const stream of [started.process.stdout, started.process.stderr]) {
      let rest = '';
      stream?.on('data', (chunk) => {
        const whole = `${rest}${chunk}`.split('\n');
        rest = whole.pop() ?? '';
        const strange: string[] = [];
        for (const line of whole.filter((text) => text.trim() !== '')) {
          lines.push(line.slice(0, 2000));
          lines.splice(0, lines.length - keptLines);
          const [, address] = /^Debugger listening on (ws:\S+)/.exec(line) ?? [];
          if (address) inspector = address;
          else if (isReady && line.startsWith('{"')) watcher.line(line);
          else if (isReady) strange.push(line);
        }
        // What is no entry of the log are lines that belong together.
        if (strange.length > 0) watcher.line(strange.join('\n'));
      });
    }
    started.process.once('exit', (code, signal) => {
      isReady = false;
      // An end before the start is told by whoever waits for it.
      if (isStopping || readyAt === 0) return;
      watcher.ended(`code ${code}, signal ${signal}`);
    });
    await waitUntilReady(port, started);
    // What it says of its start has arrived.
    await sleep(200);
    isReady = true;
    readyAt = performance.now();
  };
  // Told before the processes are: none that ends now is to be started again.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      isStopping = true;
    });
  }
  const stop = async () => {
    isStopping = true;
    const child = running?.process;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const closed = new Promise((resolve) => child.once('close', resolve));
    child.kill('SIGTERM');
    const late = AbortSignal.timeout(stopMs);
    await Promise.race([closed, new Promise((resolve) => late.addEventListener('abort', resolve))]);
    child.kill('SIGKILL');
  };
  atEnd(stop);
  await start();
  const restart = async () => {
    // A service that does not come up again leaves the rest of the run without answers, which the witness reports.
    while (!isStopping) {
      await sleep(200);
      const child = running?.process;
      if (child && (child.exitCode !== null || child.signalCode !== null)) await start().catch(() => {});
    }
  };
  void restart();
  return {
    port,
    pid: () => running?.process.pid ?? 0,
    lastLines: () => lines.slice(-14),
    isUp: () => isReady,
    wasUpSince: (time) => isReady && readyAt <= time,
    expectEnd() {
      isStopping = true;
    },
    stop,
    collectGarbage: () => collectGarbage(inspector),
  };
}

async function waitUntilReady(port: number, running: Running): Promise<void> {
  for (let attempt = 0; attempt < 600; attempt++) {
    if (running.process.exitCode !== null) throw new Error(`the service did not start: ${running.output()}`);
    const ready = await fetch(`http://127.0.0.1:${port}/health/ready`).then(
      async (response) => (await response.text()) === 'ok',
      () => false,
    );
    if (ready) return;
    await sleep(100);
  }
  throw new Error(`the service did not start: ${running.output()}`);
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
