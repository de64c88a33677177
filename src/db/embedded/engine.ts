// The main thread's side of the thread that runs PGlite: one batch of messages at a time.

import { Worker } from 'node:worker_threads';
import type { EngineReply, EngineRequest, WorkerInput } from './worker.ts';

/** The embedded engine, running in its thread. */
export interface Engine {
  /** what the engine said to a StartupMessage, up to its ReadyForQuery */
  readonly greeting: Buffer;
  /**
   * Runs one batch of whole messages; never call it while another one runs.
   * `onData` gets the answer in chunks that end anywhere.
   */
  run(bytes: Uint8Array, onData: (chunk: Buffer) => void): Promise<void>;
  /** The data directory as gzip tar; never call it while a batch runs. */
  dump(): Promise<Uint8Array>;
  /** Shuts PGlite down, or ends the thread when that takes longer than `timeoutMs`. */
  close(timeoutMs: number): Promise<void>;
}

/**
 * Starts the thread and waits until the database in it answers.
 * @throws what PGlite says where it can't be started
 */
export async function startEngine(options: {
  dataDir: string;
  loadFrom: Uint8Array | null;
  onCrash: (error: Error) => void;
}): Promise<Engine> {
  const input: WorkerInput = { dataDir: options.dataDir, loadFrom: options.loadFrom };
  const worker = new Worker(new URL('./worker.ts', import.meta.url), {
    workerData: input,
    name: 'embedded-database',
    // Without tsx, which would read through all of PGlite: Node itself leaves out the types of what is loaded there.
    execArgv: [],
  });

  let settle: PromiseWithResolvers<Uint8Array> | null = null;
  let onData: (chunk: Buffer) => void = () => {};
  let dead: Error | null = null;
  let open = false;
  let closing = false;

  function die(error: Error): void {
    if (dead) return;
    dead = error;
    settle?.reject(error);
    settle = null;
    if (open && !closing) options.onCrash(error);
  }
  worker.on('error', (error) => die(error instanceof Error ? error : new Error(String(error))));
  worker.on('exit', (code) => die(new Error(`the embedded database's thread ended (code ${code})`)));
  worker.on('message', (reply: EngineReply) => {
    if (reply.kind === 'data') return onData(toBuffer(reply.bytes));
    const waiting = settle;
    settle = null;
    // an idle engine keeps no process alive: a command that fails ends, although it never came to close()
    worker.unref();
    if (reply.kind === 'failed') waiting?.reject(new Error(reply.message));
    else waiting?.resolve(reply.bytes);
  });

  function send(request: EngineRequest): void {
    const bytes = 'bytes' in request ? request.bytes : null;
    worker.postMessage(request, bytes ? [bytes.buffer as ArrayBuffer] : []);
  }
  async function ask(request: EngineRequest | null): Promise<Uint8Array> {
    if (dead) throw dead;
    if (settle) throw new Error('the embedded database already runs a batch');
    worker.ref();
    settle = Promise.withResolvers();
    const { promise } = settle;
    if (request) send(request);
    return promise;
  }

  let greeting: Uint8Array;
  try {
    greeting = await ask(null);
  } catch (error) {
    await worker.terminate();
    throw error;
  }
  open = true;

  return {
    greeting: toBuffer(greeting),
    async run(bytes, dataListener) {
      onData = dataListener;
      const rest = await ask({ kind: 'run', bytes });
      if (rest.length > 0) dataListener(toBuffer(rest));
    },
    dump: () => ask({ kind: 'dump' }),
    async close(timeoutMs) {
      closing = true;
      // Where a batch still runs, the thread is ended.
      const closed = ask({ kind: 'close' }).catch(() => {});
      await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, timeoutMs).unref())]);
      await worker.terminate();
    },
  };
}

function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
