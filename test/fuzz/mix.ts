// Which request comes when. Each number of a seed has dice of its own, so that one request can be made again alone.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Dice, makeDice } from '../support/dice.ts';
import { draftAccounts } from './accounts.ts';
import { draftCut } from './cuts.ts';
import { draftLong } from './long.ts';
import { draftForm, draftOperation } from './operations.ts';
import type { Draft, Plan } from './plan.ts';
import { draftRaw } from './raw.ts';
import { draftUpload, type Samples } from './uploads.ts';
import type { World } from './world.ts';

export interface Mix {
  make(number: number): Plan;
}

export function makeMix(seed: number, world: World, samples: Samples): Mix {
  const findLinks = makeLinkFinder(join(world.env.DATA_DIR ?? '', 'mail'));
  const kinds: [share: number, draft: (dice: Dice) => Draft][] = [
    [30, (dice) => draftOperation(dice, world)],
    [10, (dice) => draftForm(dice, world)],
    [18, (dice) => draftRaw(dice, world)],
    [20, (dice) => draftCut(dice, world, samples)],
    [12, (dice) => draftLong(dice, world)],
    [11, (dice) => draftUpload(dice, world, samples)],
    [5, (dice) => draftAccounts(dice, world, findLinks)],
  ];
  // Each as often as its share says.
  const lots = kinds.flatMap((kind) => Array<(typeof kinds)[number]>(kind[0]).fill(kind));
  return {
    make(number) {
      const dice = makeDice(Math.imul(seed, 0x9e3779b1) ^ Math.imul(number, 0x85ebca6b));
      const [, draft] = dice.pick(lots);
      return { number, ...draft(dice) };
    },
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
      links = readdirSync(directory)
        .sort()
        .flatMap((name) => {
          const text = readFileSync(join(directory, name), 'utf8');
          return /\/api\/v2(\/konto\/[\w-]+)/.exec(text)?.[1] ?? [];
        });
    } catch {
      // No mail yet, or one that is just being written.
    }
    return links;
  };
}
