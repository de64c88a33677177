// Whose photos and sounds are being made, and in which order: each takes seconds of a core, and who sends few of them is not to stand
// beside who sends them all the time.
import { limitRate } from './rate.ts';
import { currentScope, type RequestScope } from './request.ts';

/**
 * What a network or an account may have made of photos and sounds so that others rest for it, in milliseconds: at once, and what of it comes
 * back each second. Who sends them all the time would slow everybody who works much.
 */
export const spareFiles = { atOnceMs: 60_000, perSecondMs: 100 };

/**
 * Whoever had at least `fromMs` of files made lately, and more than so many times what somebody else had, gives way to that one: begins none
 * while one of those is made or waits, except one in so many seconds, and pauses between two steps while one is made, for `heldMs` of a file
 * at most. Two photos at once and requests besides are more than two cores: a report with four of 12 megapixels took twice as long.
 */
export const giveWay = { fromMs: 3000, times: 2, oneInSeconds: 30, heldMs: 20_000 };

// Between the files of one request, and whatever keeps the event loop from asking for the next one.
const lingerMs = 200;
// How often it is looked whether what is made should pause, or go on.
const lookMs = 100;

const files = limitRate(spareFiles.perSecondMs, spareFiles.atOnceMs);
const begun = limitRate(1 / giveWay.oneInSeconds, 1);
let counted = 0;
/** Network or account → its files that are being made. */
const filesOf = new Map<string, number>();

interface Sender {
  owners: readonly string[];
  scope: RequestScope | undefined;
}

interface MadeFile extends Sender {
  hold?: ((isHeld: boolean) => void) | undefined;
  heldSince: number | null;
  heldMs: number;
}

/** Whose files wait or are made, until a moment after the end. */
const present = new Set<Sender>();
/** What is made, and was until a moment ago. */
const made = new Set<MadeFile>();
let looksAgain = false;
/** Request → milliseconds of its files. */
const madeFor = new WeakMap<RequestScope, number>();

function currentSender(): Sender {
  const scope = currentScope();
  return { owners: scope?.owners ?? [], scope };
}

/**
 * Milliseconds of files that these had made lately, whichever of them had most, without the present request: else who sends four would have
 * had as many, with the third, as whoever has just begun to send them all the time.
 */
const usedBy = ({ owners, scope }: Sender) =>
  Math.max(0, ...owners.map((owner) => spareFiles.atOnceMs - files.left(owner))) - ((scope && madeFor.get(scope)) ?? 0);

/** Whether one of these others had far fewer made. */
function hasLesser(sender: Sender, others: ReadonlySet<Sender>): boolean {
  const used = usedBy(sender);
  if (used < giveWay.fromMs) return false;
  for (const other of others) {
    const isSame = other.owners.some((owner) => sender.owners.includes(owner));
    if (!isSame && giveWay.times * usedBy(other) < used) return true;
  }
  return false;
}

/** Waits for its turn with a file, and has it made: meanwhile others may have to give way to it. */
export async function bringFile<T>(waitAndMake: () => Promise<T>): Promise<T> {
  const sender = currentSender();
  present.add(sender);
  try {
    return await waitAndMake();
  } finally {
    setTimeout(() => present.delete(sender), lingerMs).unref();
  }
}

/** Whether a file of these may be begun now: nobody is there to give way to, or it is time for one all the same. */
export function mayBeginFile(owners: readonly string[]): boolean {
  if (owners.every((owner) => begun.left(owner) >= 1)) return true;
  const sender = [...present].find((one) => one.owners === owners) ?? { owners, scope: undefined };
  return !hasLesser(sender, present);
}

/**
 * Makes a photo small, or a sound clean, which takes seconds of a core: meanwhile others rest, unless whose it is makes too many.
 * @param hold is told when it should pause as soon as it can, and when it may go on
 */
export async function makeFile<T>(make: () => Promise<T>, hold?: (isHeld: boolean) => void): Promise<T> {
  const { owners, scope } = currentSender();
  const counts = owners.every((owner) => files.left(owner) > 0) ? 1 : 0;
  const since = performance.now();
  const file: MadeFile = { owners, scope, hold, heldSince: null, heldMs: 0 };
  counted += counts;
  for (const owner of owners) {
    filesOf.set(owner, (filesOf.get(owner) ?? 0) + 1);
    begun.owe(owner, 1);
  }
  made.add(file);
  try {
    const making = make();
    lookAtFiles();
    return await making;
  } finally {
    counted -= counts;
    settle(file, false);
    file.hold = undefined;
    const tookMs = performance.now() - since - file.heldMs;
    if (scope) madeFor.set(scope, (madeFor.get(scope) ?? 0) + tookMs);
    for (const owner of owners) {
      files.owe(owner, tookMs);
      const left = (filesOf.get(owner) ?? 0) - 1;
      if (left > 0) filesOf.set(owner, left);
      else filesOf.delete(owner);
    }
    setTimeout(() => made.delete(file), lingerMs).unref();
  }
}

/** Has those pause that should, and go on that need not: whoever comes and goes, and with time. */
function lookAtFiles(): void {
  for (const file of made) if (file.hold) settle(file, hasLesser(file, made));
  if (looksAgain) return;
  looksAgain = true;
  setTimeout(() => {
    looksAgain = false;
    if (made.size > 0) lookAtFiles();
  }, lookMs).unref();
}

function settle(file: MadeFile, shouldPause: boolean): void {
  const now = performance.now();
  const heldMs = file.heldMs + (file.heldSince === null ? 0 : now - file.heldSince);
  const isHeld = shouldPause && heldMs < giveWay.heldMs;
  if (isHeld === (file.heldSince !== null)) return;
  file.heldMs = heldMs;
  file.heldSince = isHeld ? now : null;
  file.hold?.(isHeld);
}

/** Whether a file of this network or account is being made. */
export const hasFileMade = (owner: string): boolean => filesOf.has(owner);

/** Whether a file is being made for which others rest. */
export const isFileUnderWay = (): boolean => counted > 0;
