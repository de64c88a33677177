// npm run fuzz: a seeded stream of requests that no client should send, while a witness must be served.
import { randomInt } from 'node:crypto';
import { loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { closeAll } from '../bench/process.ts';
import { plainDoor } from '../support/proxy.ts';
import { checkOutcome } from './checks.ts';
import { makeMix, type Plan } from './plan.ts';
import { describe, Report } from './report.ts';
import { type Outcome, send } from './send.ts';
import { findLogProblem, startService } from './service.ts';
import { makeSite } from './site.ts';
import { makeSamples } from './uploads.ts';
import { findMemoryProblem, megabytes, memoryLimits, readGauges, watchLoop } from './watch.ts';
import { startWitness } from './witness.ts';
import { exploreWorld } from './world.ts';

const usage = `npm run fuzz -- [options]: sends a running service what no client should send, and watches what that does to it.

  --seconds N    how long the traffic lasts; 60
  --seed S       the same seed makes the same requests; a new one each time
  --only 7,12    sends these requests of the seed alone, one after the other
  --help         this text

On the PostgreSQL of DATABASE_URL in a database of its own, which is dropped afterwards; without it on the embedded database.
All traffic stays on the loopback interface. Exit code: 0 nothing found, 1 something found, 2 the run itself failed.
`;

const atOnce = 12;
const witnessLimitMs = 1000;
const blockedLimit = 0.25;
const progressMs = 10_000;
// Whoever was answered this long ago is no suspect.
const suspectMs = 3000;
// An end of the process is heard of by then, and says more than a request that was cut off by it.
const endIsHeardMs = 400;

/** @returns whether anything was found */
async function run(seconds: number, seed: number, only: readonly number[] | null): Promise<boolean> {
  console.log(`seed ${seed}, ${seconds} s`);
  const site = await makeSite();
  const report = new Report();
  const ending = new AbortController();
  /** Numbers of the plans of these moments → when they were done. */
  const recent = new Map<number, number>();
  const suspects = () => [...recent].flatMap(([number, end]) => (performance.now() - end < suspectMs ? [number] : []));
  const service = await startService(site.env, {
    ended(how) {
      ending.abort();
      report.add('end of the process', `${how}; last lines: ${service.lastLines().join(' | ')}`, suspects());
    },
    line(text) {
      const problem = findLogProblem(text);
      if (problem !== null) report.add('log', problem, suspects());
    },
  });
  const { port } = service;
  const world = await exploreWorld(site, port);
  const make = makeMix(seed, world, await makeSamples());
  const statuses = new Map<string, number>();

  const play = async (plan: Plan) => {
    recent.set(plan.number, Number.POSITIVE_INFINITY);
    const outcomes: Outcome[] = [];
    const one = async (maker: Plan['shots'][number]) => {
      const shot = typeof maker === 'function' ? maker(outcomes) : maker;
      if (shot === null) return;
      const outcome = await send(port, shot);
      outcomes.push(outcome);
      const status = 'status' in outcome ? String(outcome.status) : outcome.code;
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      const problems = checkOutcome(shot, outcome);
      if (problems.length > 0) await sleep(endIsHeardMs);
      if (ending.signal.aborted) return;
      for (const { kind, detail } of problems) report.add(kind, detail, [plan.number], describe(plan, shot));
    };
    if (plan.atOnce) await Promise.all(plan.shots.map(one));
    else for (const maker of plan.shots) await one(maker);
    recent.set(plan.number, performance.now());
  };
  if (only) {
    for (const number of only) {
      const begin = performance.now();
      await play(make(number));
      console.log(`number ${number}: ${[...statuses.keys()].join(', ')} after ${Math.round(performance.now() - begin)} ms`);
      statuses.clear();
    }
    return report.end();
  }

  let next = 1;
  const playUntil = async (until: number) => {
    const lane = async () => {
      while (performance.now() < until && !ending.signal.aborted) await play(make(next++));
    };
    await Promise.all(Array.from({ length: atOnce }, lane));
  };
  const worst = { witness: 0, blocked: 0, starved: 0 };
  let collectedUntil = 0;
  const crowd = () => `load ${loadavg()[0]?.toFixed(1)}, the main thread waited ${Math.round(worst.starved * 100)} % for a core`;
  const witness = startWitness({ door: plainDoor(port), account: world.witness, record: world.frozenRecord }, (testimony) => {
    const { name, status, isExpected, ms, ownLagMs } = testimony;
    const waited = ms - ownLagMs;
    worst.witness = Math.max(worst.witness, waited);
    // Where others computed on the same cores, or its garbage is collected, a slow answer says nothing about this service.
    const isExcused = worst.starved > 0.5 || performance.now() - ms < collectedUntil;
    if (ending.signal.aborted || (isExpected && (waited <= witnessLimitMs || isExcused))) return;
    report.add('witness', `${name}: ${status ?? 'no answer'} after ${Math.round(ms)} ms; ${crowd()}`, suspects());
  });
  const readLoop = watchLoop(port, service.pid);
  const watching = setInterval(async () => {
    const begin = performance.now();
    const reading = await readLoop();
    // The first reading after a collection includes it.
    if (!reading || begin - 1500 < collectedUntil) return;
    worst.blocked = Math.max(worst.blocked, reading.blocked);
    worst.starved = reading.starved;
    if (reading.blocked > blockedLimit)
      report.add('event loop blocked', `for ${Math.round(reading.blocked * 1000)} ms; ${crowd()}`, suspects());
  }, 1000);
  const show = () => {
    const told = [...statuses].sort().map(([status, count]) => `${count} × ${status}`);
    const slowest = `witness ${Math.round(worst.witness)} ms, loop ${Math.round(worst.blocked * 1000)} ms`;
    console.log(`${report.seconds().toFixed(0)} s: ${told.join(', ')}; at most: ${slowest}; ${crowd()}`);
  };
  const progress = setInterval(show, progressMs);
  // What stays of the memory: before and after, with its garbage collected, which holds up the loop for the fuzzer's sake.
  const measureIdle = async () => {
    await sleep(2000);
    collectedUntil = Number.POSITIVE_INFINITY;
    await service.collectGarbage();
    collectedUntil = performance.now();
    return readGauges(port);
  };

  const until = performance.now() + seconds * 1000;
  await playUntil(performance.now() + Math.min(15_000, seconds * 200));
  const warm = await measureIdle();
  await playUntil(until);
  const idle = ending.signal.aborted ? null : await measureIdle();
  clearInterval(progress);
  clearInterval(watching);
  ending.abort();
  await witness.stop();
  show();
  if (warm && idle) {
    const grown = `resident ${megabytes(warm.resident)} -> ${megabytes(idle.resident)}, heap ${megabytes(warm.heap)} -> ${megabytes(idle.heap)}`;
    console.log(`memory: ${grown} (allowed: ${memoryLimits})`);
    const problem = findMemoryProblem(warm, idle);
    if (problem) report.add('memory', problem, []);
  }
  return report.end();
}

function readInteger(name: string, value: string, max: number): number {
  if (/^\d{1,10}$/.test(value) && Number(value) <= max) return Number(value);
  throw new Error(`${name} is ${value}, allowed is a whole number up to ${max}`);
}

try {
  const { values } = parseArgs({
    options: {
      seconds: { type: 'string', default: '60' },
      seed: { type: 'string', default: String(randomInt(2 ** 31)) },
      only: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  const only = values.only?.split(',').map((part) => readInteger('--only', part.trim(), 2 ** 31)) ?? null;
  const [seconds, seed] = [readInteger('--seconds', values.seconds, 86_400), readInteger('--seed', values.seed, 2 ** 31)];
  if (values.help) console.log(usage);
  else process.exitCode = (await run(seconds, seed, only)) ? 1 : 0;
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 2;
}
await closeAll();
process.exit();
