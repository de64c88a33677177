// Sends the requests of a run, a bounded number at once, and has their answers checked.
import { setTimeout as sleep } from 'node:timers/promises';
import { readAnswers } from './answer.ts';
import { checkOutcome } from './checks.ts';
import type { Mix } from './mix.ts';
import type { Plan } from './plan.ts';
import type { Report } from './report.ts';
import type { Service } from './service.ts';
import { fire, type Outcome } from './wire.ts';

const atOnce = 12;
const remembered = 600;
/** An end of the service is heard of by then. */
export const endIsHeardMs = 400;

export interface Figures {
  requests: number;
  /** Answers by the first digit of their status; `-`: none came, or none was waited for. */
  classes: Map<string, number>;
  statuses: Map<number, number>;
  kinds: Map<string, number>;
  /** Milliseconds of all connections of a kind together. */
  spent: Map<string, number>;
}

/** What is remembered of a plan that was sent. */
interface Sent {
  number: number;
  begin: number;
  end: number;
  isAnswered: boolean;
}

export interface Runner {
  figures: Figures;
  /** Sends until then; returns when all are done. */
  run(until: number, signal: AbortSignal): Promise<void>;
  /** Sends one plan and checks it. */
  send(plan: Plan, signal: AbortSignal): Promise<Outcome[]>;
  /**
   * Numbers of the plans that were under way at some time since then, the likeliest first.
   * @param tookMs how long it took whatever is looked for; null: it got no answer
   */
  suspectsSince(time: number, tookMs: number | null): number[];
}

export function makeRunner(mix: Mix, service: Service, report: Report): Runner {
  const figures: Figures = { requests: 0, classes: new Map(), statuses: new Map(), kinds: new Map(), spent: new Map() };
  const recent: Sent[] = [];
  let next = 1;

  const shoot = async (plan: Plan, signal: AbortSignal): Promise<Outcome[]> => {
    const outcomes: Outcome[] = [];
    const one = async (maker: Plan['shots'][number]) => {
      const shot = typeof maker === 'function' ? maker(outcomes) : maker;
      if (shot === null) return;
      const outcome = await fire(service.port, shot, signal);
      outcomes.push(outcome);
      figures.requests++;
      count(figures, plan, outcome);
      const problems = signal.aborted ? [] : checkOutcome(outcome);
      if (problems.length === 0) return;
      // What was under way when the service ended says nothing about the request, and its end is heard of a little later.
      await sleep(endIsHeardMs);
      if (service.wasUpSince(outcome.begin)) for (const { kind, detail } of problems) report.add(kind, detail, { plan, shot });
    };
    if (plan.atOnce) await Promise.all(plan.shots.map(one));
    else for (const maker of plan.shots) await one(maker);
    return outcomes;
  };
  const send = async (plan: Plan, signal: AbortSignal) => {
    const entry: Sent = { number: plan.number, begin: performance.now(), end: Number.POSITIVE_INFINITY, isAnswered: false };
    recent.push(entry);
    recent.splice(0, recent.length - remembered);
    const outcomes = await shoot(plan, signal);
    entry.end = performance.now();
    entry.isAnswered = outcomes.every(({ by }) => by === 'answered' || by === 'closed');
    // It never reached the service.
    if (outcomes.every(({ by }) => by === 'refused')) recent.splice(recent.indexOf(entry), 1);
    return outcomes;
  };
  return {
    figures,
    send,
    async run(until, signal) {
      const lane = async () => {
        while (performance.now() < until && !signal.aborted) {
          if (service.isUp()) await send(mix.make(next++), signal);
          else await sleep(50);
        }
      };
      await Promise.all(Array.from({ length: atOnce }, lane));
    },
    suspectsSince(time, tookMs) {
      const likeliness = ({ begin, end, isAnswered }: Sent) => {
        const isLike = tookMs === null ? !isAnswered : Math.min(end, performance.now()) - begin >= 0.8 * tookMs;
        return isLike ? 2 : 1;
      };
      return recent
        .filter(({ end }) => end >= time)
        .reverse()
        .sort((a, b) => likeliness(b) - likeliness(a))
        .map(({ number }) => number);
    },
  };
}

function count(figures: Figures, plan: Plan, outcome: Outcome): void {
  const add = <K>(map: Map<K, number>, key: K) => map.set(key, (map.get(key) ?? 0) + 1);
  const kind = plan.kind.split(' ', 1)[0] ?? '';
  add(figures.kinds, kind);
  figures.spent.set(kind, (figures.spent.get(kind) ?? 0) + outcome.end - outcome.begin);
  const { answers } = readAnswers(outcome.received, outcome.shot.methods, true);
  if (answers.length === 0) add(figures.classes, '-');
  for (const { status } of answers) {
    add(figures.classes, `${String(status)[0]}xx`);
    add(figures.statuses, status);
  }
}
