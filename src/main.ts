// Starts the service: configuration, database, HTTP, signals.
import { join } from 'node:path';
import { createApp, createWorkerApp } from './app.ts';
import { describeSettings, loadConfig } from './config.ts';
import { getInstallation, watchAbgleich } from './db/abgleich.ts';
import { admitCalls } from './db/admitted.ts';
import { callBounds, callMs, openDatabase, poolSize, regexpCallBounds } from './db/client.ts';
import { hasMandant, listMandant, setExpertenNurZustaendig } from './db/mandant.ts';
import { readFrom } from './db/reads.ts';
import { Limit } from './guard/limit.ts';
import { limitPerDay } from './guard/rate.ts';
import { currentScope } from './guard/request.ts';
import { loadSecretKey } from './guard/secret.ts';
import { listen } from './http/server.ts';
import { watchService } from './http/service-metrics.ts';
import { workAbgleich } from './jobs/abgleich.ts';
import { startBoss } from './jobs/boss.ts';
import { workBoundaries } from './jobs/boundaries.ts';
import { workLoeschung } from './jobs/loeschung.ts';
import { workMedia } from './jobs/media.ts';
import { workMitteilung } from './jobs/mitteilung.ts';
import { workPruefung } from './jobs/pruefung.ts';
import { workRaster } from './jobs/raster.ts';
import { workSweep } from './jobs/sweep.ts';
import { openStorage } from './media/open-storage.ts';
import { createMediaThreads } from './media/threads.ts';
import { createUploads } from './media/uploads.ts';
import { readBuild } from './observe/build.ts';
import { describeStartError, surviveDefects } from './observe/fault.ts';
import { createLog } from './observe/log.ts';
import { createMetrics } from './observe/metrics.ts';
import { createProgress } from './observe/progress.ts';
import { watchFaults } from './observe/seldom.ts';
import { prepareDatabase } from './prepare.ts';
import { endOnSignal, stopOnSignal } from './stop.ts';
import { describeFirstSteps, requireDefaultTenant } from './welcome.ts';

async function main(): Promise<void> {
  const leaveSignals = endOnSignal();
  const config = loadConfig(process.env);
  const log = createLog(config.logLevel, () => currentScope()?.id, { requests: config.logRequests });
  const out = process.stderr;
  if (config.databaseUrl === null) out.write('Eingebettete Datenbank wird geöffnet (beim ersten Mal einige Sekunden) …\n');
  const database = await openDatabase({
    ...config,
    onCrash: (error) => {
      log.fatal({ reason: error.message }, 'embedded database stopped');
      process.exit(1);
    },
  });
  const report = (line: string) => out.write(`${line}\n`);
  for (const note of config.notes) report(note);
  const mayChange = await prepareDatabase(database, config, report);
  await setExpertenNurZustaendig(database.sql, config.expertenNurZustaendig);
  const secretKey = await loadSecretKey(config.secretKey, config.dataDir);
  const isNew = database.kind === 'embedded' && !(await hasMandant(database.sql));
  // The tools of the catalogue import are loaded for this once only: 90 MB.
  const logins = isNew ? await (await import('./catalog/demo.ts')).loadDemo(database, createProgress(out)) : [];

  const mandanten = await listMandant(database.sql);
  requireDefaultTenant(config.defaultTenant, mandanten);
  const connections = config.dbPool ?? poolSize;
  const sql = admitCalls(database.sql, new Limit({ name: 'database', ...callBounds(connections, database.kind) }), callMs);
  const reads = database.reads
    ? readFrom(
        admitCalls(database.reads, new Limit(callBounds(connections)), callMs),
        sql,
        watchFaults(log, 'DATABASE_READ_URL is away: the primary is read'),
      )
    : sql;
  const regexpSql = database.regexp
    ? admitCalls(database.regexp, new Limit({ name: 'regexp', ...regexpCallBounds }), callMs)
    : sql;
  const media = {
    uploads: createUploads(join(config.dataDir, 'uploads'), {
      all: config.maxUploads,
      perAccount: config.maxUploadsPerAccount,
    }),
    threads: createMediaThreads({ workers: config.photoWorkers }),
    storage: openStorage(config.media),
  };
  const isWorker = config.role !== 'web';
  const boss = await startBoss(database, watchFaults(log, 'queue'), {
    supervise: isWorker,
    mayChange,
    ...(isWorker && { keepDays: config.keepDays }),
  });
  let endExport: (() => Promise<void>) | undefined;
  let endPruefung: (() => Promise<void>) | undefined;
  if (isWorker) {
    const directory = join(config.dataDir, 'mail');
    await workSweep(boss, database.work, {
      fristen: { tokens: config.tokenTtlDays, ...config.keepDays },
      mails: { directory, days: config.keepDays.mails },
    });
    await workLoeschung(boss, database.work);
    await workMitteilung(boss, database.work, config);
    await workMedia(boss, database.work, media);
    await workAbgleich(boss, database.work);
    endPruefung = await workPruefung(boss, database.work, log, watchFaults(log, 'reasons for the review'));
    if (config.boundary) await workBoundaries(boss, database, { settings: config.boundary, cron: config.boundary.cron, log });
    const { workExport } = await import('./jobs/export.ts');
    endExport = await workExport(boss, database, {
      ...config,
      storage: media.storage,
      cron: config.exportCron,
      log,
      onError: watchFaults(log, 'files to publish'),
    });
    // Its packages are loaded where mails are sent only.
    const { workMail } = await import('./jobs/mail.ts');
    await workMail(boss, database.work, { smtpUrl: config.smtpUrl, from: config.mailFrom, directory, secretKey, log });
  }
  const endRaster = isWorker ? workRaster(database.work, watchFaults(log, 'counts by squares')) : undefined;
  const drain = { active: false };
  const metrics = createMetrics();
  const watch = config.role === 'worker' ? null : watchAbgleich(database, sql, watchFaults(log, 'feed'));
  watchService(metrics, { sql, feed: watch, hasBoundarySource: config.boundary !== null });
  const feed = watch && { installation: await getInstallation(database.sql), watch };
  const deps = feed && {
    sql,
    reads,
    drain,
    regexpSql,
    queue: boss,
    media,
    writes: limitPerDay(config.maxWritesPerAccount),
    config,
    build: readBuild(),
    secretKey,
    log,
    metrics,
    feed,
  };
  const app = deps ? createApp(deps) : createWorkerApp({ sql, drain, config, metrics, log });
  surviveDefects(log, (error) => currentScope()?.fail(error));
  const server = await listen(app.fetch, config.host, config.port, config);
  out.write(describeFirstSteps(config, logins, database.kind, mandanten));

  leaveSignals();
  stopOnSignal({
    log,
    drainMs: config.drainSeconds * 1000,
    startedByNpm: config.startedByNpm,
    announce: () => {
      drain.active = true;
      feed?.watch.release();
    },
    finish: async () => {
      await Promise.all([endExport?.(), boss.finishJobs()]);
    },
    server,
    closers: [
      async () => endRaster?.(),
      async () => endPruefung?.(),
      () => boss.stop(),
      () => media.threads.close(),
      () => database.close(),
    ],
  });
}

if (process.argv.includes('--help')) {
  console.log(`npm start: migriert die Datenbank und startet den Dienst.\n\n${describeSettings()}`);
} else {
  main().catch((error: unknown) => {
    console.error(describeStartError(error));
    process.exit(1);
  });
}
