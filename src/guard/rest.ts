// What was done counts for longer than it took, where others would notice: who does nothing else leaves the cores to them.
import type { AdmissionOptions } from './admission.ts';
import { limitRate } from './rate.ts';
import { currentScope } from './request.ts';
import { listUsage } from './usage.ts';

/**
 * Work of a network, an account or a name that doesn't rest, in milliseconds: at once, and what of it comes back each second. Twenty
 * people of an office are no flood. Not by runs: one long run a second would be half of a core.
 */
export const spareWork = { atOnceMs: 1000, perSecondMs: 50 };

/**
 * As long again, times this. One network then has a quarter as many of the database's processes at work as there are cores: with half as
 * many, photos of 12 megapixels took twice as long beside it, on two cores.
 */
export const restFactor = 7;

/**
 * For how many milliseconds a run goes on to count in the shares of the present request.
 * @param isBusy whether others would notice
 * @param fromMs shorter runs don't rest
 */
export function makeRest(isBusy: () => boolean, fromMs = 0): NonNullable<AdmissionOptions['restMs']> {
  const spare = limitRate(spareWork.perSecondMs, spareWork.atOnceMs);
  return (ranMs) => {
    if (ranMs < fromMs || !isBusy()) return 0;
    const owners = currentScope()?.owners ?? [];
    const isSpare = owners.every((owner) => spare.left(owner) > 0);
    for (const owner of owners) spare.owe(owner, ranMs);
    return isSpare ? 0 : restFactor * ranMs;
  };
}

/** Whether photos are made small: a second of a core each, which others make many of when they have the cores. */
export const hasPhotos = (): boolean => (listUsage().get('photos')?.running ?? 0) > 0;

/** Statements that take less are no burden. */
export const statementRestFromMs = 10;

/** For statements of requests, while there are photos; of each client of the database one. */
export const makeStatementRest = () => makeRest(hasPhotos, statementRestFromMs);
