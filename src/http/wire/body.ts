// The body of a request as it comes.
import type { Readable } from 'node:stream';
import { watchPace } from '../../guard/pace.ts';
import { currentScope, patienceMs } from '../../guard/request.ts';
import { waitForTurnAtMost } from '../../guard/turns.ts';
import { PortalError } from './errors.ts';

/** So much is decoded and taken apart without letting others go first: less than a millisecond. */
export const bytesAtOnce = 16 * 1024;

// Of a body that is under way, which is little more than passed on. As much is taken in and passed on in one piece: by pieces of 64 KB,
// each read and written after one round of all sockets, 11 MB took three seconds beside a flood of small requests.
const passedAtOnce = 1024 * 1024;
// A piece counts as so much at least.
const leastPiece = 16 * 1024;
// Pieces may be a byte each.
const maxPieces = 1024;

/**
 * Waits until the current request may compute for some milliseconds.
 * @throws PortalError 503 as soon as it is too old to wait: nothing was done for it yet
 */
export async function waitForTurnInTime(): Promise<void> {
  const isInTime = await waitForTurnAtMost(patienceMs - (currentScope()?.age() ?? 0));
  if (isInTime === false) throw new PortalError('ueberlastet');
}

// What is under way waits for each turn anew: it would be refused in the middle for coming in many pieces.
async function waitForNextTurn(): Promise<void> {
  const since = performance.now();
  const isInTime = await waitForTurnAtMost(patienceMs);
  currentScope()?.leaveOut(performance.now() - since);
  if (isInTime === false) throw new PortalError('ueberlastet');
}

const events = ['end', 'error', 'close'] as const;

/**
 * Reads a body, and leaves to the server what it doesn't read of it: a client can be told what was wrong before it has sent all.
 * @param minRate bytes a second, counted from the end of a grace
 * @throws PortalError 413 when it has more than `maxBytes`, 408 when it comes too slowly, 400 when it breaks off; and as
 *   waitForTurnInTime, later when one turn takes as long
 */
export async function* readBody(body: Readable, maxBytes: number, minRate: number): AsyncGenerator<Buffer> {
  let wake = () => {};
  let isSlow = false;
  const proceed = () => wake();
  const pace = watchPace(minRate, () => {
    isSlow = true;
    wake();
  });
  // For good: a client may break off after its answer, which is no fault.
  body.on('error', () => {});
  for (const event of events) body.on(event, proceed);
  let taken: Buffer[] = [];
  let held = 0;
  const take = (chunk: Buffer) => {
    taken.push(chunk);
    held += chunk.length;
    if (held >= passedAtOnce || taken.length >= maxPieces) body.pause();
    wake();
  };
  body.on('data', take);
  let bytes = 0;
  let passed = 0;
  const scope = currentScope();
  try {
    for (;;) {
      if (isSlow) throw new PortalError('zu_langsam');
      if (taken.length > 0) {
        const chunk = taken.length === 1 ? (taken[0] as Buffer) : Buffer.concat(taken);
        taken = [];
        held = 0;
        if (body.isPaused()) body.resume();
        bytes += chunk.length;
        pace.count(chunk.length);
        if (bytes > maxBytes) throw new PortalError('zu_gross');
        // Of a large body, much may be there already; and what is in it may take long to decode. A small one is read at once: waiting
        // behind what only comes in, it would be refused after others have worked for it.
        if (bytes === chunk.length) {
          if (bytes > bytesAtOnce) await waitForTurnInTime();
        } else {
          passed += Math.max(chunk.length, leastPiece);
          if (passed > passedAtOnce) {
            passed = 0;
            await waitForNextTurn();
          }
        }
        yield chunk;
      } else if (body.readableEnded) return;
      else if (body.destroyed) throw new PortalError('ungueltige_anfrage');
      else {
        const { promise, resolve } = Promise.withResolvers<void>();
        wake = resolve;
        const since = performance.now();
        await promise;
        scope?.leaveOut(performance.now() - since);
      }
    }
  } finally {
    pace.stop();
    for (const event of events) body.off(event, proceed);
    body.off('data', take);
    body.pause();
  }
}
