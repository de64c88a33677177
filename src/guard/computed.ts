// What was computed for whom on the one thread, and who rests for it.
import { isNamed } from './request.ts';
import { restOf } from './rest.ts';

/** Whom what is computed counts for, as those of a request; none: the service itself. */
export type Owners = readonly string[];

/** How long is computed before those that came meanwhile are heard, in milliseconds; as much of one's own and one may have to rest. */
export const turnMs = 4;

/** Network or account → until when it rests. */
const restsUntil = new Map<string, number>();
/** Network or account → milliseconds that were computed for it since it last rested. */
const computed = new Map<string, number>();
// In each of these two; then they are forgotten.
const maxRemembered = 10_000;
/** For whom is computed, and since when. */
let computing: { owners: Owners; since: number } | null = null;

/** What is computed from now on counts for these. */
export function beginComputing(owners: Owners): void {
  endComputing();
  computing = { owners, since: performance.now() };
}

/** What was computed ends where something else is begun, or the turn of the event loop does. */
export function endComputing(): void {
  if (!computing) return;
  const { owners, since } = computing;
  computing = null;
  const now = performance.now();
  for (const owner of owners) {
    // Who is only asked for owes nothing.
    if (isNamed(owner)) continue;
    const ms = (computed.get(owner) ?? 0) + now - since;
    if (ms < turnMs) remember(computed, owner, ms);
    else {
      computed.delete(owner);
      const restMs = restOf(owner, ms);
      if (restMs > restLeft(owner)) remember(restsUntil, owner, now + restMs);
    }
  }
}

/** For how many milliseconds a network or an account still rests. */
export function restLeft(owner: string | undefined): number {
  const until = owner === undefined ? undefined : restsUntil.get(owner);
  if (owner === undefined || until === undefined) return 0;
  const left = until - performance.now();
  if (left > 0) return left;
  restsUntil.delete(owner);
  return 0;
}

function remember(of: Map<string, number>, owner: string, value: number): void {
  if (of.size >= maxRemembered) of.clear();
  of.set(owner, value);
}
