// Whose photos and sounds are being made, and in which order: each takes half a second of a core and more, and who sends few of them is
// not to stand beside who sends them all the time.
import { availableParallelism } from 'node:os';
import { limitRate } from './rate.ts';
import { currentScope, type RequestScope } from './request.ts';

/**
 * What a network or an account may have made of photos and sounds so that others rest for it, in milliseconds: at once, and what of it comes
 * back each second. Who sends them all the time would slow everybody who works much.
 */
export const spareFiles = { atOnceMs: 60_000, perSecondMs: 100 };

/**
 * Where files are made on all cores, whoever had at least `fromMs` of them made lately, and more than so many times what somebody else had,
 * gives way to that one: begins none while one of those is made or waits, except one in so many seconds, and pauses between two steps of a
 * photo while one is made, for `heldMs` of a request at most. Two photos at once and requests besides are more than two cores: a report with
 * four of 12 megapixels took half as long again. Who has sent two such reports, 5 s, gives way to nobody: else whoever sends a photo now and
 * then could have them wait. Of the present request `ownMs` do not count: who sends four photos would have had as many, with the third, as
 * whoever has just begun to send them all the time.
 */
export const giveWay = {
  cores: availableParallelism(),
  fromMs: 5000,
  times: 2,
  oneInSeconds: 30,
  heldMs: 20_000,
  ownMs: 7500,
};

// What a file counts for at least, also one that is refused at once: who sends such by the dozen would be before everybody.
const leastMs = 500;
// Between the files of one request, and whatever keeps the event loop from asking for the next one.
const lingerMs = 200;
// How often it is looked whether what is made should pause, or go on.
const lookMs = 100;

/** What can pause while it is made. */
export interface Pausing {
  /** Has it pause as soon as it can, or go on. */
  hold(isHeld: boolean): void;
  /** For how many milliseconds it has really done nothing. */
  pausedMs(): number;
}

interface Sender {
  owners: readonly string[];
  scope: RequestScope | undefined;
  isMade: boolean;
}

interface MadeFile extends Sender {
  pausing?: Pausing | undefined;
  heldSince: number | null;
  /** Takes what others notice of it, or gives it back. */
  count(sign: 1 | -1): void;
}

const files = limitRate(spareFiles.perSecondMs, spareFiles.atOnceMs);
const exceptions = limitRate(1 / giveWay.oneInSeconds, 1);
/** Files that are being made, without those that pause, for which others rest. */
let counted = 0;
/** Network or account → its files that are being made, without those that pause. */
const filesOf = new Map<string, number>();
/** Whose files wait or are made, until a moment after the end. */
const present = new Set<Sender>();
/** What is made, and was until a moment ago. */
const made = new Set<MadeFile>();
let looksAgain = false;
/** Request → milliseconds of its files, and of their pauses. */
const spentOn = new WeakMap<RequestScope, { madeMs: number; heldMs: number }>();

function currentSender(): Sender {
  const scope = currentScope();
  return { owners: scope?.owners ?? [], scope, isMade: false };
}

const usedUp = (owners: readonly string[]) => Math.max(0, ...owners.map((owner) => spareFiles.atOnceMs - files.left(owner)));

/** Milliseconds of files that these had made lately, whichever of them had most, without the present request. */
const usedBy = ({ owners, scope }: Sender) => usedUp(owners) - Math.min(spentFor(scope).madeMs, giveWay.ownMs);

function spentFor(scope: RequestScope | undefined): { madeMs: number; heldMs: number } {
  const spent = (scope && spentOn.get(scope)) ?? { madeMs: 0, heldMs: 0 };
  if (scope) spentOn.set(scope, spent);
  return spent;
}

function charge({ owners, scope }: Sender, ms: number): void {
  const before = usedUp(owners);
  for (const owner of owners) files.owe(owner, ms);
  // What nobody has left is not owed either.
  spentFor(scope).madeMs += usedUp(owners) - before;
}

/** Those there who had far fewer made. */
function* listLesser(sender: Sender, others: ReadonlySet<Sender>): Generator<Sender> {
  const used = usedBy(sender);
  if (used < giveWay.fromMs) return;
  for (const other of others) {
    const isSame = other.owners.some((owner) => sender.owners.includes(owner));
    if (!isSame && giveWay.times * usedBy(other) < used && !other.scope?.hasLeft()) yield other;
  }
}

const mustGiveWay = (sender: Sender) => !listLesser(sender, present).next().done;

/** Whether all cores have files to make, with this one, or one more. Between the files of a request too: the next is about to begin. */
function fillsCores(one?: MadeFile): boolean {
  let busy = one ? 0 : 1;
  for (const file of made) if (file === one || file.heldSince === null) busy++;
  return busy >= giveWay.cores;
}

/** Waits for its turn with a file, and has it made: meanwhile others may have to give way to it. */
export async function bringFile<T>(waitAndMake: () => Promise<T>): Promise<T> {
  const sender = currentSender();
  const { madeMs } = spentFor(sender.scope);
  present.add(sender);
  try {
    return await waitAndMake();
  } finally {
    charge(sender, Math.max(0, leastMs - (spentFor(sender.scope).madeMs - madeMs)));
    setTimeout(() => present.delete(sender), lingerMs).unref();
  }
}

/** In which order files begin. */
export const fileOrder = {
  /** Whether one of these may be begun now: nobody is there to give way to, or it is time for one all the same. */
  mayBegin(owners: readonly string[]): boolean {
    if (!fillsCores() || owners.every((owner) => exceptions.left(owner) >= 1)) return true;
    return !mustGiveWay([...present].find((one) => one.owners === owners) ?? { owners, scope: undefined, isMade: false });
  },
  /** To be told of each that is begun. */
  begin(owners: readonly string[]): void {
    for (const owner of owners) exceptions.take(owner);
  },
};

/**
 * Makes a photo small, or a sound clean, which takes half a second of a core and more: meanwhile others rest, unless whose it is makes too
 * many.
 * @param pausing what has few steps can't
 */
export async function makeFile<T>(make: () => Promise<T>, pausing?: Pausing): Promise<T> {
  const sender = currentSender();
  const { owners, scope } = sender;
  const counts = owners.every((owner) => files.left(owner) > 0) ? 1 : 0;
  const file: MadeFile = {
    ...sender,
    isMade: true,
    // What begins all the same goes on: it would hold its place for nothing.
    pausing: fillsCores() && mustGiveWay(sender) ? undefined : pausing,
    heldSince: null,
    count(sign) {
      counted += sign * counts;
      for (const owner of owners) {
        const number = (filesOf.get(owner) ?? 0) + sign;
        if (number > 0) filesOf.set(owner, number);
        else filesOf.delete(owner);
      }
    },
  };
  const since = performance.now();
  for (const one of present) if (one.scope === scope) one.isMade = true;
  file.count(1);
  made.add(file);
  try {
    const making = make();
    lookAtFiles();
    return await making;
  } finally {
    settle(file, false);
    file.pausing = undefined;
    file.count(-1);
    charge(file, performance.now() - since - (pausing?.pausedMs() ?? 0));
    setTimeout(() => made.delete(file), lingerMs).unref();
  }
}

/** Has those pause that should, and go on that need not: whoever comes and goes, and with time. */
function lookAtFiles(): void {
  for (const file of made) if (file.pausing) settle(file, shouldPause(file));
  if (looksAgain) return;
  looksAgain = true;
  setTimeout(() => {
    looksAgain = false;
    if (made.size > 0) lookAtFiles();
  }, lookMs).unref();
}

/** Not while one of those waits to whom it gives way: for the place that it holds, perhaps. */
function shouldPause(file: MadeFile): boolean {
  const heldMs = spentFor(file.scope).heldMs + (file.heldSince === null ? 0 : performance.now() - file.heldSince);
  if (heldMs >= giveWay.heldMs || !fillsCores(file)) return false;
  const isMade = !listLesser(file, made).next().done;
  return isMade && [...listLesser(file, present)].every((lesser) => lesser.isMade);
}

function settle(file: MadeFile, isHeld: boolean): void {
  if (isHeld === (file.heldSince !== null)) return;
  const now = performance.now();
  if (file.heldSince !== null) spentFor(file.scope).heldMs += now - file.heldSince;
  file.heldSince = isHeld ? now : null;
  file.count(isHeld ? -1 : 1);
  file.pausing?.hold(isHeld);
}

/** Whether a file of this network or account is being made, and does not pause. */
export const hasFileMade = (owner: string): boolean => filesOf.has(owner);

/** Whether a file is being made for which others rest. */
export const isFileUnderWay = (): boolean => counted > 0;
