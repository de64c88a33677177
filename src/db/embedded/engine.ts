// The main thread's side of the thread that runs PGlite: one batch of messages at a time.

import { Worker } from 'node:worker_threads';
import type { EngineReply, EngineRequest, WorkerInput } from './worker.ts';

/** The embedded engine, running in its thread. */
export interface Engine {
  /** what the engine said to a StartupMessage: ParameterStatus messages and more */
  readonly greeting: Buffer;
  /**
   * Runs one batch of whole messages; never call it while another one runs.
   * `onData` gets the answer in chunks that end anywhere; `onHungry` is called when COPY FROM STDIN wants data (answer with `feed`).
   */
  run(bytes: Uint8Array, onData: (chunk: Buffer) => void, onHungry: () => void): Promise<void>;
  /** Data for COPY FROM STDIN; null ends the input as a broken connection would. */
  feed(bytes: Uint8Array | null): void;
  /** The data directory as gzip tar; never call it while a batch runs. */
  dump(): Promise<Uint8Array>;
  /** Shuts PGlite down, or ends the thread when that takes longer than `timeoutMs`. */
  close(timeoutMs: number): Promise<void>;
}

/** PGlite could not be started; the message is PGlite's own. */
export class EngineRefusedError extends Error {
  override name = 'EngineRefusedError';
}

/** Starts the thread and waits until the database in it answers. */
export async function startEngine(options: {
  dataDir: string;
  loadFrom: Uint8Array | null;
  onCrash: (error: Error) => void;
}): Promise<Engine> {
  const signal = new Int32Array(new SharedArrayBuffer(4));
  const input: WorkerInput = { dataDir: options.dataDir, loadFrom: options.loadFrom, signal };
  const worker = new Worker(new URL('./worker.ts', import.meta.url), {
    workerData: input,
    name: 'embedded-database',
    // Without tsx, which would read through all of PGlite: Node itself leaves out the types of what is loaded there.
    execArgv: [],
  });

  let settle: { resolve: (reply: EngineReply) => void; reject: (error: Error) => void } | null = null;
  let onData: (chunk: Buffer) => void = () => {};
  let onHungry: () => void = () => {};
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
    if (reply.kind === 'hungry') return onHungry();
    const waiting = settle;
    settle = null;
    // an idle engine keeps no process alive: a command that fails ends, although it never came to close()
    worker.unref();
    waiting?.resolve(reply);
  });

  function expectReply(): Promise<EngineReply> {
    if (dead) return Promise.reject(dead);
    if (settle) return Promise.reject(new Error('the embedded database already runs a batch'));
    worker.ref();
    return new Promise((resolve, reject) => {
      settle = { resolve, reject };
    });
  }
  function send(request: EngineRequest): void {
    const bytes = 'bytes' in request ? request.bytes : null;
    worker.postMessage(request, bytes ? [bytes.buffer as ArrayBuffer] : []);
    Atomics.add(signal, 0, 1);
    Atomics.notify(signal, 0);
  }

  const first = await expectReply();
  if (first.kind !== 'open') {
    closing = true;
    await worker.terminate();
    throw new EngineRefusedError(first.kind === 'refused' ? first.message : `unexpected reply ${first.kind}`);
  }
  open = true;

  return {
    greeting: toBuffer(first.greeting),
    async run(bytes, dataListener, hungryListener) {
      onData = dataListener;
      onHungry = hungryListener;
      const finished = expectReply();
      if (!dead) send({ kind: 'run', bytes });
      const reply = await finished;
      if (reply.kind !== 'done') throw new Error(`unexpected reply ${reply.kind}`);
      if (reply.bytes.length > 0) dataListener(toBuffer(reply.bytes));
    },
    feed(bytes) {
      if (!dead) send({ kind: 'feed', bytes });
    },
    async dump() {
      const finished = expectReply();
      if (!dead) send({ kind: 'dump' });
      const reply = await finished;
      if (reply.kind === 'failed') throw new Error(reply.message);
      if (reply.kind !== 'dumped') throw new Error(`unexpected reply ${reply.kind}`);
      return reply.bytes;
    },
    async close(timeoutMs) {
      closing = true;
      if (!dead && !settle) {
        const finished = expectReply().then(
          () => {},
          () => {},
        );
        send({ kind: 'close' });
        await Promise.race([finished, new Promise((resolve) => setTimeout(resolve, timeoutMs).unref())]);
      }
      await worker.terminate();
    },
  };
}

function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
