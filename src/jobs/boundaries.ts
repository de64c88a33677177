// The boundary job: every tenant's boundary from one source, all or nothing. Runs by schedule, and by command.
import { setTimeout as sleep } from 'node:timers/promises';
import { codeOf, type Database, type Sql } from '../db/client.ts';
import {
  createGrenzlauf,
  createGrenzlaufGebiet,
  createMandantEntwurf,
  getGrenzlaufStand,
  getProtokollStand,
  listGrenzlaufMangel,
  type Mangel,
  runningState,
  setGrenzlaufGrenze,
  setMandantEntwurf,
  updateGrenzlauf,
} from '../db/grenzlauf.ts';
import type { Log } from '../observe/log.ts';
import { type Boss, ensureQueue } from './boss.ts';
import { type FeatureFilter, readFeatures } from './boundary-features.ts';
import { BoundaryError, describeSource, readBoundarySource, type SourceLimits } from './boundary-source.ts';

export const boundaryQueue = 'grenzen';
const timeZone = 'Europe/Berlin';
/** Longest statement of a run: what a source can make it compute. All 16 states over ten million sightings take 20 seconds. */
export const statementMs = 10 * 60_000;

export interface BoundarySettings {
  /** https, http or file. */
  url: string;
  /** Property of a feature that names the tenant. */
  key: string;
  filter: FeatureFilter | null;
  /** Private network addresses are allowed. */
  allowPrivate: boolean;
}

export interface RefreshOptions {
  /** Accept changes of area above 5 %, and boundaries that lie elsewhere. */
  force?: boolean;
  report?: (label: string, done: number, total: number) => void;
  limits?: SourceLimits;
}

export interface BoundaryOutcome {
  /** Tenants whose boundary changed. */
  mandanten: number;
  /** Sightings whose tenants changed, and those of them that are shown elsewhere now. */
  zugeordnet: number;
  maskiert: number;
  /** Features of the source that name no tenant. */
  uebergangen: number;
}

/**
 * Brings all boundaries in line with the source, and records the run.
 * @throws BoundaryError when everything stays as it was; its message is the reason, which stands in the record too
 */
export async function refreshBoundaries(
  database: Database,
  settings: BoundarySettings,
  options: RefreshOptions = {},
): Promise<BoundaryOutcome> {
  // One connection for the whole run, because others see by it that the run is going on. A writer that queues behind a lock which is being
  // waited for gives up after 1.5 seconds: the wait is shorter.
  const sql = database.connect({ settings: { lock_timeout: 1000, statement_timeout: statementMs } });
  try {
    const id = await createGrenzlauf(sql, describeSource(settings.url), options.force ?? false);
    try {
      return await refresh(sql, id, settings, options);
    } catch (error) {
      const known = toBoundaryError(error);
      const code = codeOf(error);
      const reason = known?.message ?? `Im Dienst ist ein Fehler aufgetreten${code ? ` (${code})` : ''}.`;
      // When the database is gone, the next run finds this one unfinished.
      await updateGrenzlauf(sql, id, 0, reason).catch(() => {});
      throw known ?? error;
    }
  } catch (error) {
    throw toBoundaryError(error) ?? error;
  } finally {
    await sql.end({ timeout: 5 });
  }
}

async function refresh(sql: Sql, id: number, settings: BoundarySettings, options: RefreshOptions): Promise<BoundaryOutcome> {
  const { report = () => {} } = options;
  report('Quelle', 0, 1);
  const bytes = await readBoundarySource(settings.url, settings.allowPrivate, options.limits);
  const gebiete = readFeatures(bytes, settings.key, settings.filter);

  let uebergangen = 0;
  for (const [index, gebiet] of gebiete.entries()) {
    report('Gebiete', index, gebiete.length);
    const known = await createGrenzlaufGebiet(sql, id, gebiet).catch((error) => {
      throw describeGebiet(error, gebiet.wert);
    });
    if (!known) uebergangen++;
  }
  const mandantIds = await createMandantEntwurf(sql, id);
  const maengel = await listGrenzlaufMangel(sql, id);
  if (maengel.length > 0) throw new BoundaryError('mandanten', describeMaengel(maengel));
  if (mandantIds.length === 0) {
    await updateGrenzlauf(sql, id, uebergangen, null);
    return { mandanten: 0, zugeordnet: 0, maskiert: 0, uebergangen };
  }

  const protokollId = await waitForLock(() => getProtokollStand(sql));
  for (const [index, mandantId] of mandantIds.entries()) {
    report('Grenzen', index, mandantIds.length);
    await setMandantEntwurf(sql, mandantId, protokollId);
  }
  report('Sichtbeobachtungen', 0, 1);
  const changed = await waitForLock(() => setGrenzlaufGrenze(sql, id, mandantIds, uebergangen));
  return { mandanten: mandantIds.length, ...changed, uebergangen };
}

// The lock comes free between two writers; only an import by SQL holds it for long.
async function waitForLock<T>(call: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call();
    } catch (error) {
      if (codeOf(error) !== '55P03' || attempt === 40) throw error;
      await sleep(2000);
    }
  }
}

function toBoundaryError(error: unknown): BoundaryError | null {
  if (error instanceof BoundaryError) return error;
  switch (codeOf(error)) {
    case runningState:
      return new BoundaryError('laeuft', 'Es läuft schon ein anderer Lauf.');
    case 'GRAEN':
      return new BoundaryError('gesperrt', 'Mandanten oder Grenzen wurden während des Laufs von anderer Seite geändert.');
    case '57014':
      return new BoundaryError('inhalt', 'Die Berechnung mit diesen Grenzen dauerte zu lange.');
    case '55P03':
    case '40P01':
      return new BoundaryError('gesperrt', 'Die Datenbank war zu lange von anderen gesperrt.');
    default:
      return null;
  }
}

function describeGebiet(error: unknown, wert: string): unknown {
  const name = `Das Gebiet „${wert.slice(0, 40)}“`;
  switch (codeOf(error)) {
    case 'GRENZ':
      return new BoundaryError('inhalt', `${name} ist keine Fläche, oder seine Linien kreuzen sich zu oft.`);
    case 'PROJK':
      return new BoundaryError('bezugssystem', `${name} hat Koordinaten, die nicht zum Bezugssystem der Quelle passen.`);
    case 'GBIET':
      return new BoundaryError('bezugssystem', `${name} liegt außerhalb des Gebiets dieses Dienstes.`);
    default:
      return error;
  }
}

const shownMaengel = 5;

function describeMaengel(maengel: Mangel[]): string {
  const number = (wert: number | null) => (wert ?? 0).toLocaleString('de-DE', { maximumFractionDigits: 1 });
  const sentences: Record<Mangel['mangel'], (mangel: Mangel) => string> = {
    fehlt: ({ kuerzel }) => `Mandant ${kuerzel} fehlt in der Quelle.`,
    lage: ({ kuerzel }) => `Die Grenze von ${kuerzel} liegt nicht ganz im Gebiet dieses Dienstes.`,
    vertauscht: ({ kuerzel }) =>
      `Die Grenze von ${kuerzel} liegt außerhalb des Gebiets dieses Dienstes; sind Länge und Breite in der Quelle vertauscht?`,
    gleich: ({ kuerzel }) => `Die Grenze von ${kuerzel} ist dieselbe wie die eines anderen Mandanten.`,
    klein: ({ kuerzel, wert }) => `Die Fläche von ${kuerzel} wäre ${number(wert)} km², mindestens sind es 100 km².`,
    flaeche: ({ kuerzel, wert }) =>
      `Die Fläche von ${kuerzel} änderte sich um ${number(wert)} %, ohne --force sind höchstens 5 % erlaubt.`,
    ort: ({ kuerzel, wert }) =>
      `Die Grenze von ${kuerzel} deckte nur ${number(wert)} % der bisherigen Fläche, ohne --force sind mindestens 50 % nötig.`,
  };
  const shown = maengel.slice(0, shownMaengel).map((mangel) => sentences[mangel.mangel](mangel));
  if (maengel.length > shownMaengel) shown.push(`Das sind ${shownMaengel} von ${maengel.length} Mängeln.`);
  return shown.join(' ');
}

export interface BoundaryWork {
  settings: BoundarySettings;
  /** Five fields, in Europe/Berlin. */
  cron: string;
  log: Log;
}

/** Refreshes the boundaries by schedule; at once when a slot was missed, or there was no run yet. */
export async function workBoundaries({ boss }: Boss, database: Database, { settings, cron, log }: BoundaryWork): Promise<void> {
  // One run at a time, on however many instances; what may pass is tried again. A worker that was killed is noticed by its
  // missing heartbeat.
  await ensureQueue(boss, boundaryQueue, {
    policy: 'exclusive',
    retryLimit: 3,
    retryDelay: 600,
    heartbeatSeconds: 60,
    expireInSeconds: 3600,
  });
  const isDue = async () => {
    const { begonnen, jetzt } = await getGrenzlaufStand(database.work);
    if (begonnen === null) return true;
    const [next] = boss.previewSchedule(cron, { tz: timeZone, from: begonnen, count: 1 });
    return next !== undefined && next <= jetzt;
  };
  await boss.work(boundaryQueue, async ([job]) => {
    // However often a slot was put into the queue: by the schedule, after downtime, by two instances.
    if (job?.retryCount === 0 && !(await isDue())) return;
    try {
      log.info(await refreshBoundaries(database, settings), 'boundaries refreshed');
    } catch (error) {
      if (!(error instanceof BoundaryError)) throw error;
      log.warn({ fault: error.fault, reason: error.message }, 'boundaries stay as they are');
      if (error.passing) throw error;
    }
  });
  await boss.schedule(boundaryQueue, cron, null, { tz: timeZone, missed: 'once' });
  if (await isDue()) await boss.send(boundaryQueue, {});
}
