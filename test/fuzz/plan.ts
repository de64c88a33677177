// Which request comes when. Each number of a seed has dice of its own, so that one request can be made again alone.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Dice, makeDice } from '../support/dice.ts';
import { draftAccounts } from './accounts.ts';
import { draftForm, draftOperation } from './operations.ts';
import type { Outcome, Shot } from './send.ts';
import { draftUpload, type Samples } from './uploads.ts';
import type { World } from './world.ts';

/** A request, or how it is made from the answers to those before it; null when these give nothing to go on with. */
export type ShotMaker = Shot | ((before: readonly Outcome[]) => Shot | null);

export interface Draft {
  kind: string;
  /** What is special about it, in a few words. */
  note: string;
  shots: ShotMaker[];
  /** All shots side by side instead of one after the other. */
  atOnce?: boolean;
}

export interface Plan extends Draft {
  number: number;
}

/** @returns makes the plan of a number */
export function makeMix(seed: number, world: World, samples: Samples): (number: number) => Plan {
  const findLinks = makeLinkFinder(join(world.env.DATA_DIR ?? '', 'mail'));
  // Each as often as it stands there.
  const lots: ((dice: Dice) => Draft)[] = [
    ...Array(5).fill((dice: Dice) => draftOperation(dice, world)),
    ...Array(2).fill((dice: Dice) => draftForm(dice, world)),
    ...Array(2).fill((dice: Dice) => draftUpload(dice, world, samples)),
    (dice) => draftAccounts(dice, world, findLinks),
  ];
  return (number) => {
    const dice = makeDice(Math.imul(seed, 0x9e3779b1) ^ Math.imul(number, 0x85ebca6b));
    return { number, ...dice.pick(lots)(dice) };
  };
}

// Mails become files of the service's own: their links are what its users would click.
function makeLinkFinder(directory: string): () => string[] {
  let links: string[] = [];
  let readAt = Number.NEGATIVE_INFINITY;
  return () => {
    if (performance.now() - readAt < 2000) return links;
    readAt = performance.now();
    try {
      const texts = readdirSync(directory)
        .sort()
        .map((name) => readFileSync(join(directory, name), 'utf8'));
      links = texts.flatMap((text) => /\/api\/v2(\/konto\/[\w-]+)/.exec(text)?.[1] ?? []);
    } catch {
      // No mail yet, or one that is just being written.
    }
    return links;
  };
}
