// What was done counts for longer than it took, where others would notice: who does nothing else leaves the cores to them.
import { setTimeout as sleep } from 'node:timers/promises';
import { hasFileMade, isFileUnderWay } from './files.ts';
import { limitRate } from './rate.ts';
import { currentScope } from './request.ts';

/**
 * Work of a network, an account or a name that doesn't rest, in milliseconds: at once, and what of it comes back each second. Twenty
 * people of an office are no flood. Not by runs: one long run a second would be half of a core. Of all kinds together, and counted
 * always: a flood before the first photo would have its spare second beside it.
 */
export const spareWork = { atOnceMs: 1000, perSecondMs: 50 };

/**
 * As long again, times this, while photos are made small: of what is short a network keeps an eighth of what it would have. With three for
 * statements and hashes, who logs in and reads long lists all the time took 2.6 s of somebody else's four large photos, instead of 1.
 * Twenty people who read them without a pause get half as many beside photos, and none is refused.
 */
export const restFactor = 7;

const work = limitRate(spareWork.perSecondMs, spareWork.atOnceMs);

const ownersOf = () => currentScope()?.owners ?? [];

/**
 * Of the places that a network or an account has beside others, as many as it may have now: half of them while a file of its own is made,
 * which is a core's work already. One that had done nothing before began all at the same moment, with its photo, and somebody else's of 12
 * megapixels took 5 s.
 */
export const placesOf = (owner: string, places: number): number => (hasFileMade(owner) ? Math.ceil(places / 2) : places);

/** Whether a network or an account does more than is spare, and does not rest for it. */
export const goesOnWorking = (owner: string): boolean => work.left(owner) <= 0 && !isFileUnderWay();

/**
 * Longest rest for a statement or a hash: so many times as long as it took, and so much more, in milliseconds. With seven times the second
 * that some take, all places of one person rested who asked for one after the other, and a report that came then was refused.
 */
export const longestRest = { factor: 3, plusMs: 1000 };

/** For how many milliseconds a statement or a hash of this length goes on to count in the shares of the present request. */
export const restAfter = (ranMs: number): number =>
  Math.min(restOfOwners(ownersOf(), ranMs), longestRest.factor * ranMs + longestRest.plusMs);

/**
 * Statements of the embedded database that rest without photos too, in milliseconds; and no longer than that, with photos neither: the next one
 * of the same request waits for it.
 */
export const embeddedRest = { fromMs: 50, atMostMs: 500 };

/**
 * The same of the embedded database, which answers one after the other as it was asked: a statement's own time begins with the answer before.
 * Of a network that does more than is spare, what takes long rests for as long again without photos too: each of the three statements of a login
 * stood behind another one of whoever asks for long lists all the time.
 */
export function makeEmbeddedRests(): (ranMs: number) => number {
  let answeredAt = 0;
  return (ranMs) => {
    const now = performance.now();
    const ownMs = Math.min(ranMs, now - answeredAt);
    answeredAt = now;
    const mayRest = ownMs >= embeddedRest.fromMs && !isSpare(ownersOf());
    return Math.min(Math.max(restAfter(ownMs), mayRest ? ownMs : 0), embeddedRest.atMostMs);
  };
}

/** For how many milliseconds nothing new is begun for a network or an account that so much was computed for. */
export const restOf = (owner: string, ranMs: number): number => restOfOwners([owner], ranMs);

/**
 * Shorter parts are not worth a timer. What one took may be its reader's slowness: no longer than this, or who reads slowly never ends. What a
 * network or an account may have of them without a rest, at once, and what of it comes back each second: one archive of 6 000 records is 4 s
 * of work, and took 20 beside somebody's photos.
 */
export const partRest = { fromMs: 50, atMostMs: 2000, spareMs: 15_000, perSecondMs: 50 };

const parts = limitRate(partRest.perSecondMs, partRest.spareMs);

/**
 * For what goes on for long, as an archive: its parts are no statements of others, its compressing is nobody's turn, and it is in nobody's
 * way when it pauses.
 * @returns to be called after each part: rests for it, once there was more of them than is spare
 */
export function makePartRests(): () => Promise<void> | null {
  let since = performance.now();
  return () => {
    const ranMs = performance.now() - since;
    if (ranMs < partRest.fromMs) return null;
    const owners = ownersOf();
    const isLittle = owners.every((owner) => parts.left(owner) > 0);
    for (const owner of owners) parts.owe(owner, ranMs);
    const restMs = Math.min(restOfOwners(owners, ranMs), partRest.atMostMs);
    since = performance.now();
    if (isLittle || restMs === 0) return null;
    since += restMs;
    return sleep(restMs);
  };
}

/** For how many milliseconds the service itself does nothing more of what may be done later. */
export const restOfService = (ranMs: number): number => besidePhotos(ranMs);

function restOfOwners(owners: readonly string[], ranMs: number): number {
  const mayGoOn = isSpare(owners);
  for (const owner of owners) work.owe(owner, ranMs);
  return mayGoOn ? 0 : besidePhotos(ranMs);
}

// Who has a file made has used up more than a second by its end, which is known too late.
const isSpare = (owners: readonly string[]) => owners.every((owner) => work.left(owner) > 0 && !hasFileMade(owner));

const besidePhotos = (ranMs: number) => (isFileUnderWay() ? restFactor * ranMs : 0);
