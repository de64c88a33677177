// What was done counts for longer than it took, where others would notice: who does nothing else leaves the cores to them.
import type { AdmissionOptions } from './admission.ts';
import { limitRate } from './rate.ts';
import { currentScope } from './request.ts';
import { listUsage } from './usage.ts';

/** How many runs of a network, an account or a name don't rest; after them one a second. Twenty people of an office are no flood. */
export const spareRuns = { atOnce: 20, perSecond: 1 };

/** As long again, times this. One network then has half as many of the database's processes at work as there are cores. */
export const restFactor = 3;

/**
 * For how many milliseconds a run goes on to count in the shares of the present request.
 * @param isBusy whether others would notice
 * @param fromMs shorter runs don't rest
 */
export function makeRest(isBusy: () => boolean, fromMs = 0): NonNullable<AdmissionOptions['restMs']> {
  const spare = limitRate(spareRuns.perSecond, spareRuns.atOnce);
  return (ranMs) => {
    if (ranMs < fromMs || !isBusy()) return 0;
    const isSpare = (currentScope()?.owners ?? []).every((owner) => spare.take(owner));
    return isSpare ? 0 : restFactor * ranMs;
  };
}

/** Whether photos are made small: a second of a core each, which others make many of when they have the cores. */
export const hasPhotos = (): boolean => (listUsage().get('photos')?.running ?? 0) > 0;

/** Statements that take less are no burden. */
export const statementRestFromMs = 10;

/** For statements of requests, while there are photos; of each client of the database one. */
export const makeStatementRest = () => makeRest(hasPhotos, statementRestFromMs);
