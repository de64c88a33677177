// npm run fuzz: see options.ts.
import { loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { closeAll } from '../bench/process.ts';
import { makeMix } from './mix.ts';
import { type Options, readOptions, UsageError, usage } from './options.ts';
import { renewThrowaways } from './renew.ts';
import { describe, Report } from './report.ts';
import { endIsHeardMs, makeRunner, type Runner } from './runner.ts';
import { findLogProblem, type Service, startService } from './service.ts';
import { makeSite } from './site.ts';
import { makeSamples } from './uploads.ts';
import { blockedLimit, findMemoryProblem, makeWatch, megabytes, memoryLimits, type Reading, type Watch } from './watch.ts';
import { startWitness } from './witness.ts';
import { exploreWorld } from './world.ts';

const blockedKind = 'event loop blocked';
const witnessKind = 'witness';
const witnessLimitMs = 1000;
const idleMs = 6000;
const progressMs = 10_000;
// Passwords that are changed and accounts that are blocked would leave little of the traffic with rights after a while.
const renewMs = 20_000;

/** @returns whether anything was found */
async function run({ seconds, seed, only }: Options): Promise<boolean> {
  console.log(`seed ${seed}, ${seconds} s`);
  const site = await makeSite();
  const report = new Report(seed);
  let runner: Runner | null = null;
  const suspects = (ms: number) => runner?.suspectsSince(performance.now() - ms, null) ?? [];
  const service: Service = await startService(site.env, {
    ended: (how) =>
      report.add('end of the process', `${how}; last lines: ${service.lastLines().join(' | ')}`, { suspects: suspects(1500) }),
    async line(text) {
      const problem = findLogProblem(text);
      if (problem === null) return;
      const [begin, from] = [performance.now(), { suspects: suspects(300) }];
      // The last words of a process are told with its end.
      await sleep(endIsHeardMs);
      if (service.wasUpSince(begin)) report.add('log', problem, from);
    },
  });
  const ending = new AbortController();
  const world = await exploreWorld(site, service.port, ending.signal);
  const mix = makeMix(seed, world, await makeSamples());
  const watch = makeWatch(service);
  if (only) {
    for (const number of only) {
      const plan = mix.make(number);
      console.log(`number ${number}: ${describe(plan)}`);
      await watch.read(ending.signal);
      const outcomes = await makeRunner(mix, service, report).send(plan, ending.signal);
      // The measuring itself may come too late for a reading.
      const readings = [await watch.read(ending.signal), await watch.read(ending.signal)];
      const blocked = Math.max(...readings.map((reading) => reading?.blocked ?? 0));
      const took = outcomes.map(({ begin, end }) => `${Math.round(end - begin)} ms`);
      console.log(`  loop blocked ${Math.round(blocked * 1000)} ms, answers after ${took.join(', ')}`);
      if (blocked > blockedLimit) report.add(blockedKind, `${Math.round(blocked * 1000)} ms`, { plan });
    }
  } else {
    runner = makeRunner(mix, service, report);
    await fuzz(seconds, { runner, service, watch, report, world });
  }
  service.expectEnd();
  report.print();
  return !report.isEmpty();
}

interface Parts {
  runner: Runner;
  service: Service;
  watch: Watch;
  report: Report;
  world: Awaited<ReturnType<typeof exploreWorld>>;
}

async function fuzz(seconds: number, { runner, service, watch, report, world }: Parts): Promise<void> {
  const ending = new AbortController();
  const worst = { witness: 0, lag: 0, blocked: 0, starved: 0 };
  const all = { ...worst, testimonies: 0 };
  let memory: Reading | null = null;
  // The service's garbage is collected for the fuzzer: 180 to 250 ms on its main thread that no request costs.
  const collection = { from: Number.POSITIVE_INFINITY, to: Number.POSITIVE_INFINITY };
  const isCollected = (reading: Reading) => reading.since < collection.to && performance.now() > collection.from;

  const door = { httpPort: service.port, httpsPort: 0, isPlain: true };
  const witness = startWitness({ door, account: world.witness, record: world.frozenRecord }, async (testimony) => {
    const { name, status, isExpected, ms, ownLagMs } = testimony;
    all.testimonies++;
    const begin = performance.now() - ms - 50;
    const waited = Math.max(0, ms - ownLagMs);
    if (isExpected) worst.witness = Math.max(worst.witness, waited);
    if (isExpected && waited <= witnessLimitMs) return;
    // Others computed on the same cores: that says nothing about this service.
    if (isExpected && (memory?.starved ?? 0) > 0.5) {
      all.starved++;
      return;
    }
    const from = { suspects: runner.suspectsSince(begin, ms) };
    await sleep(endIsHeardMs);
    if (!service.wasUpSince(begin)) return;
    // Whether it was this service that took so long, or others on the same machine, is for the reader to judge.
    const crowd = `load ${loadavg()[0]?.toFixed(1)}, main thread waited ${((memory?.starved ?? 0) * 100).toFixed(0)} % of the time for a core`;
    if (!isExpected) report.add(witnessKind, `${name}: ${status ?? 'no answer'} after ${Math.round(ms)} ms; ${crowd}`, from);
    else report.add(witnessKind, `${name}: answered after ${Math.round(ms)} ms; ${crowd}`, from);
  });
  const watching = (async () => {
    while (!ending.signal.aborted) {
      const reading = service.isUp() ? await watch.read(ending.signal) : null;
      if (reading) memory = reading;
      if (reading && !isCollected(reading)) {
        worst.lag = Math.max(worst.lag, reading.lag);
        worst.blocked = Math.max(worst.blocked, reading.blocked);
        if (reading.blocked > blockedLimit) {
          const window = performance.now() - reading.since + reading.lag * 1000 + 1100;
          report.add(
            blockedKind,
            `${Math.round(reading.lag * 1000)} ms, computing ${Math.round(reading.blocked * 1000)} ms of them`,
            {
              suspects: runner.suspectsSince(performance.now() - window, reading.lag * 1000),
            },
          );
        } else if (reading.lag > blockedLimit) worst.starved++;
      }
      await sleep(1000);
    }
  })();
  const show = () => {
    const classes = [...runner.figures.classes].sort().map(([name, count]) => `${name} ${count}`);
    console.log(
      `${report.seconds().toFixed(0)} s: ${runner.figures.requests} requests, ${classes.join(', ')}; witness ${worst.witness.toFixed(0)} ms, loop ${(worst.lag * 1000).toFixed(0)} ms (computing ${(worst.blocked * 1000).toFixed(0)}), memory ${memory ? `${megabytes(memory.resident)}, heap ${megabytes(memory.heap)}` : '?'}; load ${loadavg()[0]?.toFixed(1)}`,
    );
    all.witness = Math.max(all.witness, worst.witness);
    all.lag = Math.max(all.lag, worst.lag);
    all.blocked = Math.max(all.blocked, worst.blocked);
    all.starved += worst.starved;
    Object.assign(worst, { witness: 0, lag: 0, blocked: 0, starved: 0 });
  };
  const progress = setInterval(show, progressMs);
  const renewing = setInterval(() => renewThrowaways(world, service.port, ending.signal).catch(() => {}), renewMs);

  const until = performance.now() + seconds * 1000;
  const warmUpMs = Math.min(15_000, Math.max(2000, seconds * 200));
  await runner.run(performance.now() + warmUpMs, ending.signal);
  const pid = service.pid();
  // What stays: with the witness still asking, before and after.
  const measureIdle = async (ms: number) => {
    await sleep(ms);
    if (!service.isUp()) return null;
    Object.assign(collection, { from: performance.now(), to: Number.POSITIVE_INFINITY });
    await service.collectGarbage();
    collection.to = performance.now();
    await sleep(2200);
    return memory;
  };
  const warm = await measureIdle(2000);
  await runner.run(until, ending.signal);
  const idle = await measureIdle(idleMs);
  clearInterval(progress);
  clearInterval(renewing);
  ending.abort();
  await witness.stop();
  await watching;
  show();

  const statuses = [...runner.figures.statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${status}: ${count}`);
  const kinds = [...runner.figures.kinds].map(
    ([kind, count]) => `${kind} ${count} (${((runner.figures.spent.get(kind) ?? 0) / count).toFixed(0)} ms each)`,
  );
  console.log(`\nsent: ${kinds.join(', ')}\nanswers: ${statuses.join(', ')}`);
  console.log(
    `witness: ${all.testimonies} requests, the slowest ${all.witness.toFixed(0)} ms; loop: ${(all.lag * 1000).toFixed(0)} ms at most, computing ${(all.blocked * 1000).toFixed(0)} ms; ${all.starved} times held up by others that compute`,
  );
  if (pid !== service.pid() || !warm || !idle) {
    console.log('memory: not compared, the process was started again meanwhile');
    return;
  }
  const problem = findMemoryProblem(warm, idle);
  console.log(
    `memory: resident ${megabytes(warm.resident)} -> ${megabytes(idle.resident)}, heap ${megabytes(warm.heap)} -> ${megabytes(idle.heap)} (allowed: ${memoryLimits})`,
  );
  if (problem) report.add('memory', problem);
}

try {
  const options = readOptions(process.argv.slice(2));
  if (options === null) console.log(usage);
  else process.exitCode = (await run(options)) ? 1 : 0;
} catch (error) {
  console.error(error instanceof UsageError ? error.message : error);
  process.exitCode = 2;
}
await closeAll();
process.exit();
