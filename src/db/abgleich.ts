// The feed for mirrors (O1).
import { codeOf, type Database, type Sql } from './client.ts';
import { oneValue } from './row.ts';

/** A place in the feed: behind it a page begins. See api.list_abgleich. */
export interface FeedPlace {
  verlauf: number;
  stelle: number;
  teil: number;
  id: number;
  /** Where the first copy began, while it goes on. */
  ab: number | null;
}

export interface FeedPage {
  /** JSON array, with the marks of files in it. */
  rows: Buffer;
  place: FeedPlace;
  /** There is more already. */
  more: boolean;
}

/**
 * One page of what an anonymous reader at this tenant's host sees, in the order of the last change.
 * Fails with MANUN and NEUBE.
 * @param place where it begins; null for the beginning
 */
export async function listAbgleich(
  sql: Sql,
  tenant: number,
  mandant: string | null,
  place: FeedPlace | null,
  limit: number,
): Promise<FeedPage> {
  const read = () =>
    sql`
    select f.result, f.next_verlauf, f.next_stelle, f.next_teil, f.next_id, f.next_ab, f.more::integer
    from api.list_abgleich(
      tenant => ${tenant}::integer, mandant => ${mandant}::text, verlauf => ${place?.verlauf ?? null}::integer,
      stelle => ${place?.stelle ?? null}::bigint, teil => ${place?.teil ?? null}::integer, id => ${place?.id ?? null}::bigint,
      ab => ${place?.ab ?? null}::bigint, row_limit => ${limit}::integer) f`.raw();
  const [row] = await afterRestart(sql, read);
  const [rows, ...numbers] = row ?? [];
  if (!rows) throw new Error('api.list_abgleich returned no row');
  const [verlauf = 0, stelle = 0, teil = 0, id = 0, ab, more] = numbers.map((value) => (value ? Number(value.toString()) : null));
  return {
    rows,
    place: { verlauf: verlauf ?? 0, stelle: stelle ?? 0, teil: teil ?? 0, id: id ?? 0, ab: ab ?? null },
    more: more === 1,
  };
}

/** The last place that may be read; null for an empty feed. */
async function getAbgleichKopf(sql: Sql): Promise<number | null> {
  return oneValue<number | null>(afterRestart(sql, () => sql`select k.stelle from api.get_abgleich_kopf() k`));
}

// Reads write nothing: that the database was started or restored is noted by a statement of its own.
async function afterRestart<T>(sql: Sql, read: () => PromiseLike<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (codeOf(error) !== 'VERLF') throw error;
    await sql`select api.set_abgleich_verlauf()`;
    return read();
  }
}

/** Seconds that the oldest writing transaction goes on, which the feed waits for. */
export async function getAbgleichLag(sql: Sql): Promise<number> {
  return oneValue<number>(sql`select api.get_abgleich_lag()`);
}

/** Notes up to where the feed is complete, for cursors after a restore. */
export async function setAbgleichKomplett(sql: Sql): Promise<void> {
  await sql`select api.set_abgleich_komplett()`;
}

/** Ends the cursors of the time after a backup, in a database that was made of it. */
export async function createAbgleichTeil(sql: Sql): Promise<void> {
  await sql`select api.create_abgleich_teil()`;
}

/** Ends all cursors: every mirror is told to begin anew. */
export async function createAbgleichVerlauf(sql: Sql): Promise<void> {
  await sql`select api.create_abgleich_verlauf()`;
}

/** Names this installation, whatever server it is on. */
export async function getInstallation(sql: Sql): Promise<string> {
  return oneValue<string>(sql`select api.get_installation()`);
}

/** Who waits for something new in the feed. */
export interface FeedWatch {
  /**
   * Waits for the first change that can be read, at most so long. Costs no connection: one look at the database is everybody's.
   * @param onWait is handed what ends the waiting at once
   */
  waitForChange(milliseconds: number, onWait: (end: () => void) => void): Promise<void>;
  /** How many wait. */
  readonly waiting: number;
  /** Ends all waiting, now and from now on: the process is about to end. */
  release(): void;
}

// While somebody waits, it is looked so often: a tenth of a millisecond each time. Not by NOTIFY: whoever has a login of the database
// fills the queue of its messages, or commits many of them at once, and every write that notifies fails or waits meanwhile.
const lookMs = { postgres: 40, embedded: 100 };
const afterErrorMs = 1000;

/**
 * Watches the feed of a database.
 * @param sql by which it is looked
 * @param onError is told what went wrong; those that wait go on waiting
 */
export function watchAbgleich({ kind }: Pick<Database, 'kind'>, sql: Sql, onError: (error: unknown) => void): FeedWatch {
  const waiters = new Set<() => void>();
  let isReleased = false;
  let isLooking = false;
  let lookAt = 0;
  // Undefined while nobody looks.
  let known: number | null | undefined;
  const look = async () => {
    if (waiters.size === 0) known = undefined;
    if (waiters.size === 0 || isLooking || performance.now() < lookAt) return;
    isLooking = true;
    try {
      const stelle = await getAbgleichKopf(sql);
      if (stelle !== known) for (const wake of [...waiters]) wake();
      known = stelle;
    } catch (error) {
      onError(error);
      lookAt = performance.now() + afterErrorMs;
    } finally {
      isLooking = false;
    }
  };
  // Begun here, and not with the first that waits: all looks would be that request's, and wait with its network.
  const timer = setInterval(look, lookMs[kind]).unref();
  return {
    get waiting() {
      return waiters.size;
    },
    waitForChange(milliseconds, onWait) {
      if (isReleased) return Promise.resolve();
      return new Promise((resolve) => {
        const end = () => {
          clearTimeout(timeout);
          waiters.delete(end);
          resolve();
        };
        const timeout = setTimeout(end, milliseconds);
        waiters.add(end);
        onWait(end);
      });
    },
    release() {
      isReleased = true;
      clearInterval(timer);
      for (const end of [...waiters]) end();
    },
  };
}
