// The queue: pg-boss on the service's own database, so that a job is stored in the transaction of what it is about.
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { PgBoss } from 'pg-boss';
import { NIL } from 'uuid';
import type { Database, Sql, Transaction } from '../db/client.ts';
import { grantWarteschlange } from '../db/grants.ts';
import { currentScope } from '../guard/request.ts';

/** Which mail, for whom. Never what stands in it: a link is a secret, and is made when the mail is sent (S2.2). */
export type MailJob = KontoJob | FrageJob | MitteilungJob;

interface AnyMailJob {
  nutzerId: number;
  /** Address of the tenant, for the link: http://rp.localhost:8080 */
  origin: string;
  /** Name of the tenant. */
  portal: string;
}
export interface KontoJob extends AnyMailJob {
  kind: 'registrierung' | 'adresse vergeben' | 'passwort' | 'daten';
}
/** A question about a record, as release 0.32 stored it. */
export interface FrageJob extends AnyMailJob {
  kind: 'frage';
  sichtbeobachtung: number;
}
/** Questions and decisions that are marked with `mail`. */
export interface MitteilungJob extends AnyMailJob {
  kind: 'mitteilung';
  mail: string;
}

export const mailQueue = 'mail';
/** Mails about records: they never hold up those that somebody waits for. */
export const mitteilungQueue = 'mail_mitteilung';
export const mailDeadLetter = 'mail_unzustellbar';
export const mailQueues = [mailQueue, mitteilungQueue] as const;

/** What handlers may do with the queue. */
export interface Queue {
  /** Stores a mail to be sent, in the given transaction. What the network that is answered asks for never takes all workers. */
  enqueueMail(tx: Transaction, job: MailJob): Promise<void>;
}

export interface Boss extends Queue {
  boss: PgBoss;
  /** Forgets all mails to an account: those that wait, those that were given up, and that others were sent. */
  deleteMails(nutzerId: number): Promise<void>;
  /** Takes no more jobs, and waits for those under way, ten seconds at most; mails are still stored. */
  finishJobs(): Promise<void>;
  /** Ends the queue, and what finishJobs did not see the end of. */
  stop(): Promise<void>;
}

const daySeconds = 86_400;
const finishMs = 10_000;

/**
 * Starts pg-boss; creates or migrates its schema.
 * @param onError told about faults between the queue and the database, and in which queue
 * @param options `supervise`: this process maintains the queue; off for one that only enqueues. `mayChange`: its role may make and
 *   change the queue's tables; without, they have to be there. `keepDays`: how long mails stay noted that were sent, and that were given
 *   up; for those that come from then on, and as it was where it is left out
 */
export async function startBoss(
  database: Database,
  onError: (error: unknown, part: { queue?: string }) => void,
  options: { supervise: boolean; mayChange: boolean; keepDays?: { mails: number; deadMails: number } },
): Promise<Boss> {
  // JSON passes through as text: pg-boss serializes its own, and a second time would turn objects into strings.
  const sql = database.connect({ max: 2, jsonAsText: true });
  const boss = new PgBoss({
    schema: 'pgboss',
    db: { executeSql: (text, values) => executeSql(sql, text, values) },
    supervise: options.supervise,
    schedule: options.supervise,
    // PGlite has one session, and a REINDEX CONCURRENTLY would stop everything else in it.
    ...((database.kind === 'embedded' || !options.mayChange) && { reindex: false, monitorVacuum: false }),
    ...(!options.mayChange && { migrate: false, createSchema: false }),
  });
  // Told of its workers' faults by plain objects that have what the error had.
  boss.on('error', (fault: Error & { queue?: string }) => {
    const { queue } = fault;
    onError(fault instanceof Error ? fault : Object.assign(new Error(), fault), queue === undefined ? {} : { queue });
  });
  await boss.start();
  if (options.mayChange) await grantWarteschlange(database.sql);
  await ensureQueue(boss, mailDeadLetter, { retentionSeconds: 30 * daySeconds });
  // A mail server that is down comes back: tried for a day, the first time after half a minute.
  for (const queue of mailQueues)
    await ensureQueue(boss, queue, {
      retryLimit: 12,
      retryDelay: 30,
      retryBackoff: true,
      retryDelayMax: 4 * 3600,
      expireInSeconds: 120,
      deadLetter: mailDeadLetter,
    });
  if (options.keepDays) {
    const { mails, deadMails } = options.keepDays;
    for (const queue of mailQueues) await boss.updateQueue(queue, { deleteAfterSeconds: mails * daySeconds });
    await boss.updateQueue(mailDeadLetter, { retentionSeconds: deadMails * daySeconds });
  }
  // The first call about a queue reads its settings, outside the caller's transaction: on the embedded database, where only
  // one transaction runs at a time, the first mail would wait for itself.
  for (const queue of mailQueues) await boss.getJobById(queue, NIL);
  // One of 4096 groups, which tells nobody's address.
  const groupOf = (network: string | undefined) =>
    network !== undefined && { group: { id: createHash('sha256').update(network).digest('hex').slice(0, 3) } };
  return {
    boss,
    async enqueueMail(tx, job) {
      await boss.send(job.kind === 'mitteilung' ? mitteilungQueue : mailQueue, job, {
        ...groupOf(currentScope()?.network),
        db: { executeSql: (text, values) => executeSql(tx, text, values) },
      });
    },
    async deleteMails(nutzerId) {
      for (const queue of [...mailQueues, mailDeadLetter]) {
        const jobs = await boss.findJobs<MailJob>(queue, { data: { nutzerId } });
        if (jobs.length > 0)
          await boss.deleteJob(
            queue,
            jobs.map(({ id }) => id),
          );
      }
    },
    async finishJobs() {
      const queues = new Set(boss.getWipData().map(({ name }) => name));
      await Promise.race([
        Promise.allSettled([...queues].map((name) => boss.offWork(name))),
        sleep(finishMs, null, { ref: false }),
      ]);
    },
    async stop() {
      await boss.stop({ graceful: true, timeout: 1000 });
      await sql.end({ timeout: 5 });
    },
  };
}

/**
 * Creates a queue that is not there. Only then: pg-boss takes an advisory lock for it, also where there is nothing to do, and
 * whoever holds that lock, which any session may, would keep the service from starting.
 */
export async function ensureQueue(boss: PgBoss, name: string, options: Parameters<PgBoss['createQueue']>[1]): Promise<void> {
  if (!(await boss.getQueue(name))) await boss.createQueue(name, options);
}

async function executeSql(sql: Sql | Transaction, text: string, values: unknown[] = []): Promise<{ rows: unknown[] }> {
  if (values.length > 0) {
    // The driver doesn't ask the server for array types: arrays go as text.
    const parameters = values.map((value) => (Array.isArray(value) ? toArrayLiteral(value) : toParameter(value)));
    return { rows: [...(await sql.unsafe(text, parameters as never[]))] };
  }
  // pg-boss sends whole transactions as one text; the driver has to know where one begins, to keep its connection for it.
  const [, inTransaction] = /^\s*begin;(.*)commit;?\s*$/is.exec(text) ?? [];
  if (inTransaction !== undefined && 'begin' in sql) return sql.begin((tx) => executeSql(tx, inTransaction));
  const result = (await sql.unsafe(text).simple()) as unknown as unknown[];
  // Several statements give a list of results; the last one with rows is what counts.
  const isList = Array.isArray(result[0]);
  return { rows: isList ? ((result as unknown[][]).findLast((rows) => rows.length > 0) ?? []).slice() : [...result] };
}

function toParameter(value: unknown): unknown {
  if (value === undefined) return null;
  return typeof value === 'object' && value !== null && !(value instanceof Date) && !Buffer.isBuffer(value)
    ? JSON.stringify(value)
    : value;
}

function toArrayLiteral(values: unknown[]): string {
  const items = values.map((value) => (value === null || value === undefined ? 'NULL' : JSON.stringify(String(value))));
  return `{${items.join(',')}}`;
}
