// Lets any number of postgres.js connections share the one session that PGlite has.
//
// Rules, each learned from answers that went to the wrong caller:
//   A batch ends at Query, Sync or Flush. A connection has the engine from its first batch until a ReadyForQuery that
//     says idle, so a transaction is never interrupted; the others wait in line, and fail loudly after `lockTimeoutMs`.
//   Of the ReadyForQuery messages of a batch only the last is passed on, none after Flush: PGlite sends a surplus one
//     after an error in the extended protocol (see worker.ts), and postgres.js counts them to match its pipeline.
//   Prepared statements get a name of the bridge's own. postgres.js' names are random per connection, but nothing
//     promises that, and a longer name than 63 bytes would be cut off and might meet another.
//   Portals keep their names: they end with the transaction, and then with the turn. So does, in effect, the unnamed
//     statement: postgres.js always binds it before the Sync that ends the turn.
//   Notifications go to everybody, as the session can't tell who listens; clients know their channels.

import { randomInt } from 'node:crypto';
import { Duplex } from 'node:stream';
import type { Engine } from './engine.ts';
import { EngineTurn, EngineTurnCancelledError, EngineTurnTimeoutError } from './engine-turn.ts';
import {
  backend,
  buildError,
  buildGreeting,
  buildMessage,
  buildNothing,
  buildQuery,
  buildReady,
  endOfString,
  frontend,
  idle,
  MessageReader,
  readError,
  readRow,
  readString,
  startupCode,
} from './protocol.ts';
import {
  applySettings,
  listSettings,
  readStartupSettings,
  readTraits,
  type Settings,
  settingsKey,
  type Traits,
} from './settings.ts';

/** Data of COPY FROM STDIN that may wait in memory before the writer is told to pause. */
const copyBuffer = 1024 * 1024;
/** How often the bridge looks whether a checkpoint is due, and after how much write-ahead log it is. */
const checkpointEveryMs = 30_000;
const checkpointBytes = 48 * 1024 * 1024;

/** The shared session and its virtual connections. */
export class Bridge {
  readonly engine: Engine;
  readonly lockTimeoutMs: number;
  readonly turn = new EngineTurn();
  readonly connections = new Set<VirtualConnection>();
  readonly #parameters: Map<string, string>;
  readonly #checkpoints: NodeJS.Timeout;
  #applied: string | null = settingsKey(new Map());
  #lastConnection = 0;
  #closed: Error | null = null;
  #checkpointed = 0;
  #usedSinceLook = true;

  constructor(engine: Engine, lockTimeoutMs: number) {
    this.engine = engine;
    this.lockTimeoutMs = lockTimeoutMs;
    this.#parameters = new Map(
      new MessageReader()
        .read(engine.greeting)
        .filter((message) => message[0] === backend.parameterStatus)
        .map((message) => [readString(message, 5), readString(message, endOfString(message, 5))]),
    );
    // in single-user mode nothing else does it: the write-ahead log would grow, and recovery after a kill with it
    this.#checkpoints = setInterval(() => void this.#checkpointIfDue().catch(() => {}), checkpointEveryMs);
    this.#checkpoints.unref();
  }

  /** A new virtual connection. */
  connect(): VirtualConnection {
    if (this.#closed) throw this.#closed;
    this.#lastConnection += 1;
    const connection = new VirtualConnection(this, this.#lastConnection);
    this.connections.add(connection);
    return connection;
  }

  /** Runs something while no connection uses the engine. */
  async alone<T>(work: () => Promise<T>, timeoutMs?: number): Promise<T> {
    const who = {};
    await this.turn.take(who, timeoutMs);
    try {
      return await work();
    } finally {
      this.turn.give(who);
    }
  }

  /** Runs SQL for the bridge itself; only while the caller has the turn. */
  async query(sql: string): Promise<{ rows: (string | null)[][]; error: { code: string; message: string } | null }> {
    return await this.send([buildQuery(sql)]);
  }

  /** Sends messages for the bridge itself and reads the answer. */
  async send(messages: Buffer[]): Promise<{ rows: (string | null)[][]; error: { code: string; message: string } | null }> {
    const reader = new MessageReader();
    const rows: (string | null)[][] = [];
    let error: { code: string; message: string } | null = null;
    await this.engine.run(
      join(messages),
      (chunk) => {
        for (const message of reader.read(chunk)) {
          if (message[0] === backend.dataRow) rows.push(readRow(message));
          else if (message[0] === backend.error) error ??= readError(message);
          else if (message[0] === backend.notification) this.notify(message);
        }
      },
      () => this.engine.feed(null),
    );
    return { rows, error };
  }

  /** Marks that the engine was used, so that the next look for a checkpoint isn't skipped. */
  touch(): void {
    this.#usedSinceLook = true;
  }

  notify(message: Buffer): void {
    for (const connection of this.connections) connection.deliver(message);
  }

  /** What a connection with these settings is told about its session at its start. */
  greet(settings: Settings, pid: number, secret: number): Buffer {
    const told = Array.from(this.#parameters, ([name, value]): [string, string] => [
      name,
      settings.get(name.toLowerCase()) ?? value,
    ]);
    return buildGreeting(told, pid, secret);
  }

  /** Puts a connection's settings in place; returns what PostgreSQL has against them. */
  async apply(settings: Settings): Promise<{ code: string; message: string } | null> {
    const key = settingsKey(settings);
    if (key === this.#applied) return null;
    this.#applied = null;
    const { error } = await this.query(applySettings(settings));
    if (!error) this.#applied = key;
    return error;
  }

  /** Reads the session's settings after a connection changed them. */
  async capture(custom: Iterable<string>): Promise<Settings> {
    const { rows, error } = await this.query(listSettings(custom));
    // a role that may not look: the next connection gets a clean session all the same
    if (error) {
      this.#applied = null;
      return new Map();
    }
    const settings = new Map(rows.map(([name, value]) => [name ?? '', value ?? '']));
    this.#applied = settingsKey(settings);
    return settings;
  }

  /** UNLISTEN of one connection ended the session's listening: goes on for the others that asked for it. */
  async listenAgain(): Promise<void> {
    const channels = new Set([...this.connections].flatMap((connection) => [...connection.channels]));
    if (channels.size > 0) await this.query([...channels].map((name) => `listen ${name}`).join('; '));
  }

  /** Withdraws the waiting statement of the connection with this key. One that runs can't be stopped: PGlite blocks its thread. */
  cancel(pid: number, secret: number): void {
    for (const connection of this.connections) {
      if (connection.pid === pid && connection.secret === secret) this.turn.cancel(connection);
    }
  }

  /** A copy of the data directory (gzip tar). */
  async dump(): Promise<Uint8Array> {
    if (this.#closed) throw this.#closed;
    return await this.alone(async () => {
      await this.query('checkpoint');
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
    await this.alone(() => this.query('checkpoint'), 5_000).catch(() => {});
    await this.engine.close(10_000);
  }

  async #checkpointIfDue(): Promise<void> {
    if (!this.#usedSinceLook || this.#closed) return;
    this.#usedSinceLook = false;
    await this.alone(async () => {
      const written = await this.query("select pg_catalog.pg_current_wal_lsn() - '0/0'::pg_catalog.pg_lsn");
      const position = Number(written.rows[0]?.[0] ?? 0);
      if (position - this.#checkpointed < checkpointBytes) return;
      await this.query('checkpoint');
      this.#checkpointed = position;
    });
  }
}

interface Batch {
  messages: Buffer[];
  ends: 'query' | 'sync' | 'flush';
  traits: Traits[];
  /** postgres.js' own look at pg_type when a connection begins */
  asksForTypes: boolean;
}

/** One client's connection: reads what a frontend writes, and answers like a server. */
export class VirtualConnection extends Duplex {
  readonly pid: number;
  readonly secret = randomInt(1, 2 ** 31 - 1);
  readonly channels = new Set<string>();
  readonly #bridge: Bridge;
  readonly #reader = new MessageReader();
  #startup: Buffer | null = Buffer.alloc(0);
  #startupSettings: Settings = new Map();
  #settings: Settings = new Map();
  readonly #customSettings = new Set<string>();

  /** the client's name of a statement -> ours */
  readonly #statements = new Map<string, { name: string; traits: Traits }>();
  #lastStatement = 0;

  #batch: Batch = emptyBatch();
  #waiting: Batch[] = [];
  #working = false;
  #owner = false;
  /** an error came before a Sync: what follows is thrown away up to that Sync */
  #discarding = false;
  #changedSettings = false;
  #unlistened = false;

  #copying = false;
  #hungry = false;
  #copyData: Buffer[] = [];
  #copySize = 0;
  #resumeWriter: (() => void) | null = null;

  constructor(bridge: Bridge, id: number) {
    super({ allowHalfOpen: false });
    this.#bridge = bridge;
    this.pid = id;
  }

  /** postgres.js asks it, as of a net.Socket, before it says good-bye. */
  get readyState(): 'open' | 'closed' {
    return this.destroyed || this.writableEnded ? 'closed' : 'open';
  }

  /** Does nothing: the answer is in memory already, and postgres.js, having paused in COPY TO STDOUT, doesn't always go on. */
  override pause(): this {
    return this;
  }

  /** Hands over a message that belongs to no query. */
  deliver(message: Buffer): void {
    if (!this.#startup && !this.destroyed) this.push(message);
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error) => void): void {
    try {
      const bytes = this.#startup ? this.#receiveStartup(chunk) : chunk;
      if (bytes && bytes.length > 0) for (const message of this.#reader.read(bytes)) this.#receive(message);
    } catch (error) {
      done(error as Error);
      return;
    }
    if (this.#copySize > copyBuffer) this.#resumeWriter = done;
    else done();
  }

  override _final(done: () => void): void {
    done();
    this.destroy();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#bridge.connections.delete(this);
    this.channels.clear();
    this.#waiting = [];
    if (!this.#startup) this.push(null);
    if (this.#working) {
      this.#bridge.turn.cancel(this);
      if (this.#copying && this.#hungry) this.#feed();
    } else {
      void this.#leave();
    }
    done(error);
  }

  #receiveStartup(chunk: Buffer): Buffer | null {
    let bytes = Buffer.concat([this.#startup as Buffer, chunk]);
    while (bytes.length >= 8 && bytes.length >= bytes.readInt32BE(0)) {
      const length = bytes.readInt32BE(0);
      const code = bytes.readInt32BE(4);
      if (length < 8) throw new Error('startup message with an impossible length');
      const message = bytes.subarray(0, length);
      bytes = bytes.subarray(length);
      if (code === startupCode.ssl || code === startupCode.gss) {
        this.#answerLater(() => Buffer.from('N'));
        continue;
      }
      if (code === startupCode.cancel) {
        this.#bridge.cancel(message.readInt32BE(8), message.readInt32BE(12));
        this.destroy();
        return null;
      }
      this.#startup = null;
      this.#startupSettings = readStartupSettings(readFields(message));
      this.#settings = this.#startupSettings;
      this.#answerLater(() => this.#bridge.greet(this.#startupSettings, this.pid, this.secret));
      return bytes;
    }
    this.#startup = bytes;
    return null;
  }

  /** Never answer inside of write(): postgres.js forgets what it wants to send while its own write() is still under way. */
  #answerLater(answer: () => Buffer): void {
    queueMicrotask(() => {
      if (!this.destroyed) this.push(answer());
    });
  }

  #receive(message: Buffer): void {
    if (this.destroyed) return;
    switch (message[0]) {
      case frontend.copyData:
      case frontend.copyDone:
      case frontend.copyFail:
        // after an error in COPY the rest of its data still arrives; a server throws it away too
        if (!this.#working) return;
        this.#copyData.push(message);
        this.#copySize += message.length;
        if (this.#hungry) this.#feed();
        return;
      case frontend.terminate:
        this.destroy();
        return;
      case frontend.query:
      case frontend.functionCall:
        // an error in what came before it would make it one to be ignored
        if (this.#batch.messages.length > 0) this.#endBatch('flush');
        if (message[0] === frontend.query) this.#batch.traits.push(readTraits(readString(message, 5)));
        this.#batch.messages.push(message);
        this.#endBatch('query');
        return;
      case frontend.sync:
        this.#batch.messages.push(message);
        this.#endBatch('sync');
        return;
      case frontend.flush:
        this.#batch.messages.push(message);
        this.#endBatch('flush');
        return;
      case frontend.parse: {
        const nameEnd = endOfString(message, 5);
        const sql = readString(message, nameEnd);
        const traits = readTraits(sql);
        const name = readString(message, 5);
        this.#batch.traits.push(traits);
        this.#batch.asksForTypes ||= sql.includes('left join pg_catalog.pg_type b on b.oid = a.typelem');
        if (name === '') this.#batch.messages.push(message);
        else
          this.#batch.messages.push(buildMessage(frontend.parse, this.#nameStatement(name, traits), message.subarray(nameEnd)));
        return;
      }
      case frontend.bind: {
        const portalEnd = endOfString(message, 5);
        const nameEnd = endOfString(message, portalEnd);
        const name = message.toString('utf8', portalEnd, nameEnd - 1);
        const statement = this.#statements.get(name);
        if (statement) this.#batch.traits.push(statement.traits);
        if (name === '') this.#batch.messages.push(message);
        else {
          const parts = [message.subarray(5, portalEnd), this.#ourName(name), message.subarray(nameEnd)];
          this.#batch.messages.push(buildMessage(frontend.bind, ...parts));
        }
        return;
      }
      case frontend.describe:
      case frontend.close: {
        const name = readString(message, 6);
        const isStatement = message[5] === 0x53;
        if (!isStatement || name === '') this.#batch.messages.push(message);
        else this.#batch.messages.push(buildMessage(message[0], message.subarray(5, 6), this.#ourName(name)));
        if (isStatement && message[0] === frontend.close) this.#statements.delete(name);
        return;
      }
      default:
        this.#batch.messages.push(message);
    }
  }

  #nameStatement(name: string, traits: Traits): string {
    // a second Parse of a name must meet the first one, so that PostgreSQL can object
    const known = this.#statements.get(name);
    if (known) return known.name;
    this.#lastStatement += 1;
    const ours = `v${this.pid}.${this.#lastStatement}`;
    this.#statements.set(name, { name: ours, traits });
    return ours;
  }

  #ourName(name: string): string {
    return this.#statements.get(name)?.name ?? `v${this.pid}.unknown`;
  }

  #endBatch(ends: Batch['ends']): void {
    this.#batch.ends = ends;
    this.#waiting.push(this.#batch);
    this.#batch = emptyBatch();
    if (!this.#working) void this.#work();
  }

  async #work(): Promise<void> {
    this.#working = true;
    await null; // see #answerLater
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
    if (!this.#owner && !(await this.#begin(batch))) return;

    let status = idle;
    const filter = new AnswerFilter({
      pass: (bytes) => {
        if (!this.destroyed) this.push(bytes);
      },
      ready: (value) => {
        status = value;
      },
      error: () => {
        if (batch.ends === 'flush') this.#discarding = true;
      },
      notification: (message) => this.#bridge.notify(message),
      complete: (tag) => this.#complete(tag, batch),
      copyIn: () => {
        this.#copying = true;
      },
    });
    this.#bridge.touch();
    await this.#bridge.engine.run(
      join(batch.messages),
      (chunk) => filter.take(chunk),
      () => {
        this.#hungry = true;
        // the engine asks although no COPY began: can't happen as far as is known, and must not hang if it does
        if (!this.#copying) this.#bridge.engine.feed(null);
        else if (this.#copyData.length > 0 || this.destroyed) this.#feed();
      },
    );
    this.#endCopy();
    if (batch.ends === 'flush') return;
    if (status === idle) await this.#finish();
    if (!this.destroyed) this.push(buildReady(status));
  }

  /** Gets the turn and puts the connection's settings in place; false when the batch was answered with an error. */
  async #begin(batch: Batch): Promise<boolean> {
    try {
      await this.#bridge.turn.take(this, this.#bridge.lockTimeoutMs);
    } catch (error) {
      if (this.destroyed) return false;
      if (error instanceof EngineTurnCancelledError) {
        this.#refuse(batch, buildError('57014', 'canceling statement due to user request'));
      } else if (error instanceof EngineTurnTimeoutError) {
        // postgres.js doesn't catch an error of its own first query, and the process would end:
        // let it find no types, so that the caller's query is the one that fails
        if (batch.asksForTypes && batch.ends === 'sync') this.push(buildNothing());
        else {
          const waited = `waited ${this.#bridge.lockTimeoutMs} ms for the embedded database, which another connection has in a transaction or long statement`;
          const hint =
            "The embedded database runs one transaction at a time: inside a transaction use only that transaction's handle.";
          this.#refuse(batch, buildError('55P03', waited, hint));
        }
      } else throw error;
      return false;
    }
    this.#owner = true;
    if (this.destroyed) return false;
    const objection = await this.#bridge.apply(this.#settings);
    if (!objection) return !this.destroyed;
    this.#owner = false;
    this.#bridge.turn.give(this);
    if (!this.destroyed) this.#refuse(batch, buildError(objection.code, objection.message));
    return false;
  }

  #refuse(batch: Batch, error: Buffer): void {
    this.push(error);
    if (batch.ends === 'flush') this.#discarding = true;
    else this.push(buildReady(idle));
  }

  #complete(tag: string, batch: Batch): void {
    if (
      tag === 'SET' ||
      tag === 'RESET' ||
      tag.startsWith('DISCARD') ||
      tag.startsWith('SELECT') ||
      tag === 'DO' ||
      tag === 'CALL'
    ) {
      for (const traits of batch.traits) {
        if (!traits.settings) continue;
        this.#changedSettings = true;
        for (const name of traits.custom) this.#customSettings.add(name);
      }
    } else if (tag === 'LISTEN' || tag === 'UNLISTEN') {
      for (const { listen, unlisten } of batch.traits) {
        if (listen) this.channels.add(listen);
        if (unlisten === '*') this.channels.clear();
        else if (unlisten) this.channels.delete(unlisten);
      }
      this.#unlistened ||= tag === 'UNLISTEN';
    }
  }

  /** The session is idle: keeps what the connection changed, and lets the next one in. */
  async #finish(): Promise<void> {
    if (this.#unlistened) {
      this.#unlistened = false;
      await this.#bridge.listenAgain();
    }
    if (this.#changedSettings) {
      this.#changedSettings = false;
      const now = new Map(await this.#bridge.capture(this.#customSettings));
      // `reset` goes back to what the StartupMessage asked for
      for (const [name, value] of this.#startupSettings) if (!now.has(name)) now.set(name, value);
      this.#settings = now;
    }
    this.#owner = false;
    this.#bridge.turn.give(this);
  }

  #feed(): void {
    this.#hungry = false;
    const bytes = this.destroyed ? buildMessage(frontend.copyFail, 'the connection was closed') : Buffer.concat(this.#copyData);
    this.#copyData = [];
    this.#copySize = 0;
    this.#bridge.engine.feed(join([bytes]));
    this.#resume();
  }

  #endCopy(): void {
    this.#copying = false;
    this.#hungry = false;
    this.#copyData = [];
    this.#copySize = 0;
    this.#resume();
  }

  #resume(): void {
    const resume = this.#resumeWriter;
    this.#resumeWriter = null;
    resume?.();
  }

  /** Leaves the session as if the connection had never been: no open transaction, no prepared statements. */
  async #leave(): Promise<void> {
    if (!this.#owner && this.#statements.size === 0) return;
    try {
      if (!this.#owner) await this.#bridge.turn.take(this);
      this.#owner = true;
      const statements = [...this.#statements.values()].map(({ name }) => buildMessage(frontend.close, `S${name}`));
      this.#statements.clear();
      const sync = buildMessage(frontend.sync);
      await this.#bridge.send([sync, buildQuery('rollback'), ...statements, sync]);
      if (this.#changedSettings) await this.#bridge.capture(this.#customSettings);
    } catch {
      // the engine is gone, and with it the session
    } finally {
      this.#owner = false;
      this.#bridge.turn.give(this);
    }
  }
}

interface AnswerListener {
  pass: (bytes: Buffer) => void;
  ready: (status: number) => void;
  error: () => void;
  notification: (message: Buffer) => void;
  complete: (tag: string) => void;
  copyIn: () => void;
}

/** Cuts out of the engine's answer what the client must not see, or not yet. */
class AnswerFilter {
  readonly #on: AnswerListener;
  #rest: Buffer | null = null;
  /** bytes of a message that began in an earlier chunk and is passed on in parts */
  #open = 0;

  constructor(on: AnswerListener) {
    this.#on = on;
  }

  take(chunk: Buffer): void {
    let bytes = chunk;
    if (this.#rest) {
      bytes = Buffer.concat([this.#rest, chunk]);
      this.#rest = null;
    }
    let start = 0;
    let at = Math.min(this.#open, bytes.length);
    this.#open -= at;
    while (this.#open === 0 && at < bytes.length) {
      const type = bytes[at];
      const end = bytes.length - at >= 5 ? at + 1 + bytes.readInt32BE(at + 1) : Number.POSITIVE_INFINITY;
      if (end > bytes.length) {
        if (type === backend.dataRow && end !== Number.POSITIVE_INFINITY) {
          this.#open = end - bytes.length;
          at = bytes.length;
        }
        break;
      }
      if (type === backend.readyForQuery || type === backend.notification) {
        if (at > start) this.#on.pass(bytes.subarray(start, at));
        if (type === backend.readyForQuery) this.#on.ready(bytes[at + 5] as number);
        else this.#on.notification(bytes.subarray(at, end));
        start = end;
      } else if (type === backend.commandComplete) {
        this.#on.complete(bytes.toString('latin1', at + 5, end - 1));
      } else if (type === backend.error) {
        this.#on.error();
      } else if (type === backend.copyInResponse) {
        this.#on.copyIn();
      }
      at = end;
    }
    if (at > start) this.#on.pass(bytes.subarray(start, at));
    if (at < bytes.length) this.#rest = bytes.subarray(at);
  }
}

function emptyBatch(): Batch {
  return { messages: [], ends: 'query', traits: [], asksForTypes: false };
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

function* readFields(startup: Buffer): Iterable<[string, string]> {
  for (let at = 8; startup[at]; ) {
    const name = readString(startup, at);
    at = endOfString(startup, at);
    const value = readString(startup, at);
    at = endOfString(startup, at);
    yield [name, value];
  }
}
