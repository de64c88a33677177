// The thread that runs PGlite. It blocks while a query runs, so nothing else may live here.
//
// What was found out about @electric-sql/pglite 0.5.8 with @electric-sql/pglite-postgis 0.2.8:
//   PostgreSQL 18.3 (wasm32), PostGIS 3.6.2, GEOS 3.14, PROJ 9.7 with proj.db; btree_gist, uuid-ossp, pgcrypto load.
//   Database: UTF8, ctype C.UTF-8, so lower('Ä') = 'ä', 'Ä' ilike 'ä' and normalize() work; no ICU locales.
//   Time zones: complete ('Europe/Berlin' works); the session starts in Etc/GMT0.
//   statement_timeout can be set and does nothing (no timers): a query runs until it ends.
//   Single-user mode: no autovacuum, no checkpointer (the bridge checkpoints), fsync off, search_path is 'public'.
//   After an error in the extended protocol it sends a ReadyForQuery at once and another one at Sync
//   (P(error) D B E S -> E Z Z, P(error) D H -> E Z); otherwise messages are skipped until Sync as they should be.
//
// The loop below stands in for PGlite's own execProtocolRaw, and drives the same exported functions, because that one
//   gathers a whole result before it hands on the first byte, goes on for ever after a trap, and leaves on the stack what an
//   error was raised in.

import { parentPort, workerData } from 'node:worker_threads';
import { PGlite } from '@electric-sql/pglite';
import { btree_gist } from '@electric-sql/pglite/contrib/btree_gist';
import { pgcrypto } from '@electric-sql/pglite/contrib/pgcrypto';
import { uuid_ossp } from '@electric-sql/pglite/contrib/uuid_ossp';
import { postgis } from '@electric-sql/pglite-postgis';
import { trimExtension } from './bundle.ts';

/** What the thread is started with. */
export interface WorkerInput {
  dataDir: string;
  loadFrom: Uint8Array | null;
}

/** Main thread to engine. */
export type EngineRequest = { kind: 'run'; bytes: Uint8Array } | { kind: 'dump' } | { kind: 'close' };

/** Engine to main thread. */
export type EngineReply =
  | { kind: 'data'; bytes: Uint8Array }
  /** the end of an answer, the greeting or a dump */
  | { kind: 'done'; bytes: Uint8Array }
  | { kind: 'failed'; message: string };

interface Wasm {
  HEAPU8: Uint8Array;
  addFunction(callback: (pointer: number, length: number) => number, signature: string): number;
  pg_extensions: object;
  ___stack_pointer: { value: number };
  _pgl_set_rw_cbs(read: number, write: number): void;
  _pgl_pq_flush(): void;
  _pgl_setPGliteExitStatus(status: number): number;
  _pq_buffer_remaining_data(): number;
  _PostgresMainLoopOnce(): void;
  _PostgresMainLongJmp(): void;
  _PostgresSendReadyForQueryIfNecessary(): void;
}

const raisedError = 100; // POSTGRES_MAIN_LONGJMP: the exit status by which PGlite marks an ordinary error

if (!parentPort) throw new Error('this file runs as a worker thread');
const port = parentPort;
const { dataDir, loadFrom } = workerData as WorkerInput;

function reply(message: EngineReply): void {
  port.postMessage(message, 'bytes' in message ? [message.bytes.buffer as ArrayBuffer] : []);
}

function fail(error: unknown): void {
  reply({ kind: 'failed', message: error instanceof Error ? error.message : String(error) });
}

const outputSize = 256 * 1024;
const output = new Uint8Array(outputSize);
let outputLength = 0;
let input: Uint8Array = new Uint8Array(0);
let inputOffset = 0;

function takeOutput(): Uint8Array {
  const bytes = output.slice(0, outputLength);
  outputLength = 0;
  return bytes;
}

function write(wasm: Wasm, pointer: number, length: number): number {
  // HEAPU8 is read anew each time: it is replaced when the memory grows
  for (let done = 0; done < length; ) {
    if (outputLength === outputSize) reply({ kind: 'data', bytes: takeOutput() });
    const part = Math.min(length - done, outputSize - outputLength);
    output.set(wasm.HEAPU8.subarray(pointer + done, pointer + done + part), outputLength);
    outputLength += part;
    done += part;
  }
  return length;
}

// CopyFail, without a reason: only COPY FROM STDIN asks for more than came, and nobody sends it any.
const noMore = Buffer.from('f\0\0\0\x05\0', 'latin1');

function read(wasm: Wasm, pointer: number, space: number): number {
  if (inputOffset === input.length) {
    input = noMore;
    inputOffset = 0;
  }
  const length = Math.min(space, input.length - inputOffset);
  wasm.HEAPU8.set(input.subarray(inputOffset, inputOffset + length), pointer);
  inputOffset += length;
  return length;
}

function run(wasm: Wasm, bytes: Uint8Array): void {
  input = bytes;
  inputOffset = 0;
  const stack = wasm.___stack_pointer.value;
  while (inputOffset < input.length || wasm._pq_buffer_remaining_data() > 0) {
    try {
      wasm._PostgresMainLoopOnce();
    } catch (error) {
      // a trap (out of memory, stack exhausted) leaves the memory in an unknown state: the thread dies, and the
      // next start recovers from the write-ahead log
      if (wasm._pgl_setPGliteExitStatus(-2) !== raisedError) throw error;
      // What was called when it was raised has left its part of the stack: a kilobyte at least, and after 12 000 errors there was none left
      wasm.___stack_pointer.value = stack;
      wasm._PostgresMainLongJmp();
    }
  }
  wasm._PostgresSendReadyForQueryIfNecessary();
  wasm._pgl_pq_flush();
}

function buildStartup(): Uint8Array {
  const body = Buffer.from('\0\0\0\0\0\x03\0\0user\0postgres\0database\0postgres\0client_encoding\0UTF8\0\0', 'latin1');
  body.writeInt32BE(body.length, 0);
  return body;
}

try {
  const database = await PGlite.create({
    dataDir: `file://${dataDir}`,
    ...(loadFrom && { loadDataDir: new Blob([loadFrom as Uint8Array<ArrayBuffer>], { type: 'application/gzip' }) }),
    extensions: { postgis: trimExtension(postgis), btree_gist, uuid_ossp, pgcrypto },
  });
  const wasm = database.Module as unknown as Wasm;
  const greeting = new Uint8Array(await database.execProtocolRaw(buildStartup()));
  // the unpacked bundles (about 100 MB) are kept alive by this field alone
  wasm.pg_extensions = {};
  wasm._pgl_set_rw_cbs(
    wasm.addFunction((pointer, length) => read(wasm, pointer, length), 'iii'),
    wasm.addFunction((pointer, length) => write(wasm, pointer, length), 'iii'),
  );
  port.on('message', async (request: EngineRequest) => {
    switch (request.kind) {
      case 'run':
        run(wasm, request.bytes);
        reply({ kind: 'done', bytes: takeOutput() });
        break;
      case 'dump':
        try {
          const dump = await database.dumpDataDir('gzip');
          reply({ kind: 'done', bytes: new Uint8Array(await dump.arrayBuffer()) });
        } catch (error) {
          fail(error);
        }
        break;
      case 'close':
        await database.close();
        reply({ kind: 'done', bytes: new Uint8Array(0) });
        port.close();
        break;
    }
  });
  reply({ kind: 'done', bytes: greeting });
} catch (error) {
  fail(error);
  port.close();
}
