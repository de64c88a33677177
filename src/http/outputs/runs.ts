// Statements of outputs that may take long: beside them, /api/v2 must always find a connection (O0.6).
import { limitRuns } from '../../guard/admission.ts';

/** Tiles and pages of features that are made at once, and those of one network. */
export const outputRuns = { slots: 3, share: 1, queue: 200, waitMs: 1500 };

/** Gives a run its turn. */
export type InTurn = <T>(run: () => Promise<T>) => Promise<T>;

export const makeTurns = (): InTurn => limitRuns({ name: 'outputs', ...outputRuns });
