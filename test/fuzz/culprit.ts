// Which of the requests that were under way did it: each is sent once more, alone.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Mix } from './mix.ts';
import type { Plan } from './plan.ts';
import { describe, type Finding } from './report.ts';
import type { Service } from './service.ts';
import { blockedLimit, type Watch } from './watch.ts';
import { fire, type Outcome } from './wire.ts';

const secondsPerFinding = 25;
const mostFindings = 10;
// Alone on an idle service, everything else is answered sooner. Photos take their time, in a thread of their own.
const slowMs = 400;

/** Kinds of findings that don't name the request that did it. */
export const blockedKind = 'event loop blocked';
export const endedKind = 'end of the process';
export const witnessKind = 'witness';

/** What happened when a plan was sent alone. */
export interface Trial {
  blocked: number;
  /** The longest that an answer took. */
  answerMs: number;
  hasEnded: boolean;
}

/** Sends a plan alone and looks what it does. */
export async function tryAlone(plan: Plan, service: Service, watch: Watch, signal: AbortSignal): Promise<Trial> {
  while (!service.isUp() && !signal.aborted) await sleep(50);
  await watch.read(signal);
  const pid = service.pid();
  const outcomes: Outcome[] = [];
  for (const maker of plan.shots) {
    const shot = typeof maker === 'function' ? maker(outcomes) : maker;
    if (shot !== null) outcomes.push(await fire(service.port, shot, signal));
  }
  await sleep(60);
  const reading = await watch.read(signal);
  // The measuring itself may have come too late for the reading.
  const second = await watch.read(signal);
  await sleep(20);
  const answered = outcomes.filter(({ by, shot }) => (by === 'answered' || by === 'closed') && !shot.pace);
  return {
    answerMs: Math.max(0, ...answered.map(({ begin, end }) => end - begin)),
    blocked: Math.max(reading?.blocked ?? 0, second?.blocked ?? 0),
    hasEnded: !service.isUp() || service.pid() !== pid,
  };
}

/** Names in each finding the request that does it also alone, where there is one. */
export async function nameCulprits(
  findings: readonly Finding[],
  { mix, service, watch }: { mix: Mix; service: Service; watch: Watch },
  signal: AbortSignal,
): Promise<void> {
  const known = new Map<number, Trial>();
  for (const finding of findings
    .filter(({ kind }) => [blockedKind, endedKind, witnessKind].includes(kind))
    .slice(0, mostFindings)) {
    const until = performance.now() + secondsPerFinding * 1000;
    const isIt = (trial: Trial | undefined) =>
      trial !== undefined &&
      (finding.kind === endedKind
        ? trial.hasEnded
        : trial.blocked > blockedLimit || (finding.kind === witnessKind && trial.answerMs > slowMs));
    for (const number of finding.suspects) {
      if (performance.now() > until || signal.aborted) break;
      const plan = mix.make(number);
      const trial = known.get(number) ?? (await tryAlone(plan, service, watch, signal));
      known.set(number, trial);
      if (!isIt(trial) || (finding.kind === witnessKind && plan.kind === 'upload')) continue;
      finding.suspects = [number];
      finding.detail += trial.hasEnded
        ? '; also alone'
        : `; alone: loop blocked ${Math.round(trial.blocked * 1000)} ms, answer after ${Math.round(trial.answerMs)} ms`;
      finding.request = describe(plan);
      break;
    }
  }
}
