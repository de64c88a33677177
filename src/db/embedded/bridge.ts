// Lets any number of postgres.js connections share the one session that PGlite has.
//
// Rules, each learned from answers that went to the wrong caller:
//   A batch ends at Query, Sync or Flush. A connection has the engine from its first batch until a ReadyForQuery that
//     says idle, so a transaction is never interrupted; the others wait in line, and fail loudly after `lockTimeoutMs`.
//   Of the ReadyForQuery messages of a batch only the last is passed on, none after Flush: PGlite sends a surplus one
//     after an error in the extended protocol (see worker.ts), and postgres.js counts them to match its pipeline.
//   Prepared statements keep the names that postgres.js gives them, random for each connection, and end with it. Portals end
//     with the transaction, and then with the turn. So does, in effect, the unnamed statement: postgres.js always binds it before
//     the Sync that ends the turn.
// What the service never sends is not understood: TLS, cancelling, function calls, COPY; and nobody is sent notifications.

import { Duplex } from 'node:stream';
import type { Engine } from './engine.ts';
import {
  backend,
  buildError,
  buildMessage,
  buildQuery,
  buildReady,
  frontend,
  idle,
  MessageReader,
  readError,
  readRow,
  readString,
} from './messages.ts';
import { readSettings } from './settings.ts';
import { EngineTurn } from './turn.ts';

/** How often the bridge looks whether a checkpoint is due, and after how much write-ahead log it is. */
const checkpointEveryMs = 30_000;
const checkpointBytes = 48 * 1024 * 1024;

/** The shared session and its virtual connections. */
export class Bridge {
  readonly engine: Engine;
  readonly lockTimeoutMs: number;
  readonly turn = new EngineTurn();
  readonly connections = new Set<VirtualConnection>();
  readonly #checkpoints: NodeJS.Timeout;
  /** what put the session's settings in place; null when they may be others' */
  #applied: string | null = null;
  #closed: Error | null = null;
  #checkpointed = 0;
  #usedSinceLook = true;

  constructor(engine: Engine, lockTimeoutMs: number) {
    this.engine = engine;
    this.lockTimeoutMs = lockTimeoutMs;
    // in single-user mode nothing else does it: the write-ahead log would grow, and recovery after a kill with it
    this.#checkpoints = setInterval(() => void this.#checkpointIfDue().catch(() => {}), checkpointEveryMs);
    this.#checkpoints.unref();
  }

  /** A new virtual connection. */
  connect(): VirtualConnection {
    if (this.#closed) throw this.#closed;
    const connection = new VirtualConnection(this);
    this.connections.add(connection);
    return connection;
  }

  /** Runs something while no connection uses the engine. */
  async alone<T>(work: () => Promise<T>, timeoutMs?: number): Promise<T> {
    const who = {};
    if (!(await this.turn.take(who, timeoutMs))) throw new Error('the embedded database is busy');
    try {
      return await work();
    } finally {
      this.turn.give(who);
    }
  }

  /** Sends messages, or SQL, for the bridge itself and reads the answer; only while the caller has the turn. */
  async send(...messages: (Buffer | string)[]): Promise<Answer> {
    const reader = new MessageReader();
    const answer: Answer = { rows: [], error: null };
    await this.engine.run(
      join(messages.map((message) => (typeof message === 'string' ? buildQuery(message) : message))),
      (chunk) => {
        for (const message of reader.read(chunk)) {
          if (message[0] === backend.dataRow) answer.rows.push(readRow(message));
          else if (message[0] === backend.error) answer.error ??= readError(message);
        }
      },
    );
    return answer;
  }

  /** Marks that the engine was used, so that the next look for a checkpoint isn't skipped. */
  touch(): void {
    this.#usedSinceLook = true;
  }

  /** Puts a connection's settings in place; returns what PostgreSQL has against them. */
  async apply(settings: string): Promise<Answer['error']> {
    if (settings === this.#applied) return null;
    this.#applied = null;
    const { error } = await this.send(settings);
    if (!error) this.#applied = settings;
    return error;
  }

  /** A connection changed settings: the next turn gets its own again. */
  forgetSettings(): void {
    this.#applied = null;
  }

  /** A copy of the data directory (gzip tar). */
  async dump(): Promise<Uint8Array> {
    if (this.#closed) throw this.#closed;
    return await this.alone(async () => {
      await this.send('checkpoint');
      return await this.engine.dump();
    });
  }

  /** The engine is gone: every connection learns it at once. */
  fail(error: Error): void {
    this.#closed ??= error;
    clearInterval(this.#checkpoints);
    for (const connection of this.connections) connection.destroy(error);
  }

  /** Ends all connections (open transactions are rolled back) and shuts the engine down. */
  async close(): Promise<void> {
    this.fail(new Error('the embedded database is closed'));
    // a statement that runs longer than this is cut off: as safe as a kill, the log is replayed at the next start
    await this.alone(() => this.send('checkpoint'), 5_000).catch(() => {});
    await this.engine.close(10_000);
  }

  async #checkpointIfDue(): Promise<void> {
    if (!this.#usedSinceLook || this.#closed) return;
    this.#usedSinceLook = false;
    await this.alone(async () => {
      const written = await this.send("select pg_catalog.pg_current_wal_lsn() - '0/0'::pg_catalog.pg_lsn");
      const position = Number(written.rows[0]?.[0] ?? 0);
      if (position - this.#checkpointed < checkpointBytes) return;
      await this.send('checkpoint');
      this.#checkpointed = position;
    });
  }
}

interface Answer {
  rows: (string | null)[][];
  error: { code: string; message: string } | null;
}

interface Batch {
  messages: Buffer[];
  ends: 'query' | 'sync' | 'flush';
}

/** One client's connection: reads what a frontend writes, and answers like a server. */
export class VirtualConnection extends Duplex {
  readonly #bridge: Bridge;
  readonly #reader = new MessageReader();
  /** SQL that puts them in place; empty until the StartupMessage came */
  #settings = '';

  /** names of its prepared statements */
  readonly #statements = new Set<string>();

  #messages: Buffer[] = [];
  #waiting: Batch[] = [];
  #working = false;
  #owner = false;
  /** an error came before a Sync: what follows is thrown away up to that Sync */
  #discarding = false;

  constructor(bridge: Bridge) {
    super({ allowHalfOpen: false });
    this.#bridge = bridge;
  }

  /** postgres.js asks it, as of a net.Socket, before it says good-bye. */
  get readyState(): 'open' | 'closed' {
    return this.destroyed || this.writableEnded ? 'closed' : 'open';
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error) => void): void {
    try {
      if (this.#settings) for (const message of this.#reader.read(chunk)) this.#receive(message);
      else this.#begin(chunk);
    } catch (error) {
      done(error as Error);
      return;
    }
    done();
  }

  override _final(done: () => void): void {
    done();
    this.destroy();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#bridge.connections.delete(this);
    this.#waiting = [];
    this.push(null);
    if (this.#working) this.#bridge.turn.leave(this);
    else void this.#leave();
    done(error);
  }

  /** The driver writes its StartupMessage at once and waits for the answer. */
  #begin(startup: Buffer): void {
    this.#settings = readSettings(startup);
    // Never inside of write(): postgres.js forgets what it wants to send while its own write() is still under way.
    queueMicrotask(() => {
      if (!this.destroyed) this.push(this.#bridge.engine.greeting);
    });
  }

  #receive(message: Buffer): void {
    if (this.destroyed) return;
    switch (message[0]) {
      case frontend.terminate:
        this.destroy();
        return;
      case frontend.query:
        // an error in what came before it would make it one to be ignored
        if (this.#messages.length > 0) this.#endBatch('flush');
        this.#messages.push(message);
        this.#endBatch('query');
        return;
      case frontend.sync:
      case frontend.flush:
        this.#messages.push(message);
        this.#endBatch(message[0] === frontend.sync ? 'sync' : 'flush');
        return;
      case frontend.parse:
        this.#statements.add(readString(message, 5));
        break;
      case frontend.close:
        if (message[5] === 0x53) this.#statements.delete(readString(message, 6));
    }
    this.#messages.push(message);
  }

  #endBatch(ends: Batch['ends']): void {
    this.#waiting.push({ messages: this.#messages, ends });
    this.#messages = [];
    if (!this.#working) void this.#work();
  }

  async #work(): Promise<void> {
    this.#working = true;
    await null; // see #begin
    try {
      for (let batch = this.#waiting.shift(); batch && !this.destroyed; batch = this.#waiting.shift()) await this.#run(batch);
    } catch (error) {
      // only the engine's end throws here
      this.destroy(error as Error);
    }
    this.#working = false;
    if (this.destroyed) void this.#leave();
  }

  async #run(batch: Batch): Promise<void> {
    if (this.#discarding) {
      if (batch.ends !== 'sync') return;
      this.#discarding = false;
      if (!this.#owner) {
        this.push(buildReady(idle));
        return;
      }
      batch.messages.splice(0, batch.messages.length - 1);
    }
    if (!this.#owner && !(await this.#takeTurn(batch))) return;

    let status = idle;
    const reader = new MessageReader();
    const take = (message: Buffer): boolean => {
      if (message[0] === backend.readyForQuery) status = message[5] as number;
      else if (message[0] === backend.error && batch.ends === 'flush') this.#discarding = true;
      else if (message[0] === backend.commandComplete && /^(RE)?SET\0|^DISCARD/.test(message.toString('latin1', 5)))
        this.#bridge.forgetSettings();
      return message[0] !== backend.readyForQuery;
    };
    this.#bridge.touch();
    await this.#bridge.engine.run(join(batch.messages), (chunk) => {
      const messages = reader.read(chunk).filter(take);
      if (messages.length > 0 && !this.destroyed) this.push(Buffer.concat(messages));
    });
    if (batch.ends === 'flush') return;
    if (status === idle) this.#giveTurn();
    if (!this.destroyed) this.push(buildReady(status));
  }

  /** Gets the turn and puts the connection's settings in place; false when the batch was answered with an error. */
  async #takeTurn(batch: Batch): Promise<boolean> {
    const { turn, lockTimeoutMs } = this.#bridge;
    if (!(await turn.take(this, lockTimeoutMs))) {
      const waited = `waited ${lockTimeoutMs} ms for the embedded database, which another connection has in a transaction or long statement`;
      const hint =
        "The embedded database runs one transaction at a time: inside a transaction use only that transaction's handle.";
      if (!this.destroyed) this.#refuse(batch, buildError('55P03', waited, hint));
      return false;
    }
    this.#owner = true;
    if (this.destroyed) return false;
    const objection = await this.#bridge.apply(this.#settings);
    if (!objection) return !this.destroyed;
    this.#giveTurn();
    if (!this.destroyed) this.#refuse(batch, buildError(objection.code, objection.message));
    return false;
  }

  #giveTurn(): void {
    this.#owner = false;
    this.#bridge.turn.give(this);
  }

  #refuse(batch: Batch, error: Buffer): void {
    this.push(error);
    if (batch.ends === 'flush') this.#discarding = true;
    else this.push(buildReady(idle));
  }

  /** Leaves the session as if the connection had never been: no open transaction, no prepared statements. */
  async #leave(): Promise<void> {
    if (!this.#owner && this.#statements.size === 0) return;
    try {
      if (!this.#owner) await this.#bridge.turn.take(this);
      this.#owner = true;
      const statements = [...this.#statements].map((name) => buildMessage(frontend.close, `S${name}`));
      this.#statements.clear();
      const sync = buildMessage(frontend.sync);
      await this.#bridge.send(sync, 'rollback', ...statements, sync);
    } catch {
      // the engine is gone, and with it the session
    } finally {
      this.#giveTurn();
    }
  }
}

/** One array of its own: Buffers share pools, which can be neither transferred nor cheaply cloned to another thread. */
function join(messages: Buffer[]): Uint8Array {
  const bytes = new Uint8Array(messages.reduce((size, message) => size + message.length, 0));
  let at = 0;
  for (const message of messages) {
    bytes.set(message, at);
    at += message.length;
  }
  return bytes;
}
