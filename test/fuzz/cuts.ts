// Connections that are given up in the middle.
import type { Dice } from '../support/dice.ts';
import { draftForm, draftOperation } from './operations.ts';
import type { Draft, Giving, Shot } from './plan.ts';
import { draftUpload, type Samples } from './uploads.ts';
import type { World } from './world.ts';

const givings: readonly Giving[] = ['end', 'destroy', 'reset', 'reset'];

/** Any request, of which only a part is sent, or of whose answer only a part is read. */
export function draftCut(dice: Dice, world: World, samples: Samples): Draft {
  const draft = dice.pick([draftOperation, draftForm, draftForm, draftUpload])(dice, world, samples);
  const [shot] = draft.shots as [Shot];
  const how = dice.pick(givings);
  if (dice.chance(0.25)) {
    const reads = { bytes: dice.pick([1, 100, 5000]), waitMs: dice.pick([0, 0, 50]), how };
    return { kind: 'cut answer', note: `${draft.kind}; ${draft.note}; ${how} while reading`, shots: [{ ...shot, reads }] };
  }
  const body = shot.bytes.indexOf('\r\n\r\n') + 4;
  // The end of the head and the end of the body are where most goes wrong.
  const at = dice.pick([
    dice.below(shot.bytes.length + 1),
    dice.below(body + 1),
    body,
    Math.min(body + 1 + dice.below(300), shot.bytes.length),
    Math.max(body, shot.bytes.length - 1 - dice.below(60)),
    shot.bytes.length,
  ]);
  // At once, or when the service has begun to read.
  const pace = dice.chance(0.4) ? { bytes: Math.max(1, Math.ceil(at / 3)), ms: dice.pick([1, 5, 30]) } : undefined;
  return {
    kind: 'cut request',
    note: `${draft.kind}; ${draft.note}; ${how} at byte ${at} of ${shot.bytes.length}`,
    shots: [{ ...shot, cut: { at, how }, ...(pace && { pace }) }],
  };
}
