// What is sent to the service: made completely before it is sent, so that it can be shown, and sent once more.
import type { Outcome } from './wire.ts';

/** How a connection is given up by this side: half-closed, closed, or reset. */
export type Giving = 'end' | 'destroy' | 'reset';

/** What goes over one connection. */
export interface Shot {
  bytes: Buffer;
  /** Methods of the requests in `bytes`, one for each answer that must come; null: nobody can say what the service makes of it. */
  methods: readonly string[] | null;
  /** Stops sending before this byte. */
  cut?: { at: number; how: Giving };
  /** Sends this many bytes every so many milliseconds. */
  pace?: { bytes: number; ms: number };
  /** Reads this many bytes of the answer at most; then waits without reading, and gives the connection up. */
  reads?: { bytes: number; waitMs: number; how: Giving };
  /** How long an answer may take. */
  patienceMs?: number;
}

/** A shot, or how it is made from the answers to those before it; null when these give nothing to go on with. */
export type ShotMaker = Shot | ((before: readonly Outcome[]) => Shot | null);

export interface Plan {
  number: number;
  kind: string;
  /** What is special about it, in a few words. */
  note: string;
  shots: ShotMaker[];
  /** All shots side by side instead of one after the other. */
  atOnce?: boolean;
}

/** What a maker of plans leaves to whoever numbers them. */
export type Draft = Omit<Plan, 'number'>;

/**
 * Whether every byte of a well-formed request is sent and its answers are read: then they must come. Node takes a client that
 * half-closes for one that has left: no finding.
 */
export function mustBeAnswered(shot: Shot): boolean {
  return shot.methods !== null && shot.cut === undefined && shot.reads === undefined;
}
