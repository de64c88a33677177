// Long values: what takes time that grows faster than its length.
import type { Dice } from '../support/dice.ts';
import { type Chosen, draftOf } from './operations.ts';
import type { Draft } from './plan.ts';
import type { Field, World } from './world.ts';

// Node takes 16 kB for the head of a request.
const headRoom = 14_500;
const bodyRoom = 1_100_000;
const largestText = 60_000;

type Long = [note: string, text: string];

/** A request with one value that is much too long. All names have the same chance, however many operations take them. */
export function draftLong(dice: Dice, world: World): Draft {
  const all = world.operations.flatMap((operation) =>
    [...operation.parameters, ...(operation.form ?? [])]
      .filter((field) => field.in !== 'path' && field.schema.format !== 'binary')
      .map((field) => ({ operation, field })),
  );
  const name = dice.pick(['X-Auth-User', ...new Set(all.map(({ field }) => field.name))]);
  if (name === 'X-Auth-User') {
    const operation = dice.pick(world.operations);
    const [note, text] = makeLong(dice, { name, in: 'header', required: false, schema: {} });
    const draft = draftOf(dice, world, operation, { header: ['X-Auth-User', text] });
    return { ...draft, kind: 'long', note: `X-Auth-User: ${note}; ${draft.note}` };
  }
  const { operation, field } = dice.pick(all.filter((candidate) => candidate.field.name === name));
  const [note, text] = makeLong(dice, field);
  const chosen: Chosen = field.in === 'header' ? { header: [name, text] } : { field, value: { text } };
  const draft = draftOf(dice, world, operation, chosen);
  return { ...draft, kind: 'long', note: `${name}: ${note}; ${draft.note}` };
}

function makeLong(dice: Dice, { name, in: where, schema }: Field): Long {
  const room = where === 'form' ? bodyRoom : headRoom;
  const size = dice.chance(0.5) ? room : Math.min(room, dice.pick([300, 501, 2001, 4001, largestText]));
  const note = (what: string, text: string): Long => [`${text.length} letters of ${what}`, text];
  const digits = '1'.repeat(size - 10);
  const numeric = schema.type === 'integer' || schema.type === 'number' || ['bbox', 'datum', 'lat', 'lon'].includes(name);
  if (numeric && dice.chance(0.6))
    return dice.pick([
      note('digits', `${digits}x`),
      note('digits and spaces', `1${' '.repeat(escapedSize(where, size))}x`),
      note('a box', `${digits}x,1,2,3`),
      note('a box', `1,2,3,${digits}x`),
      note('a date', `1.${digits}.2024`),
    ]);
  // In addresses each byte beyond ASCII takes three.
  const letters = Math.min(
    where === 'query' ? Math.floor(room / 6) : where === 'header' ? Math.floor(room / 2) : largestText,
    size,
  );
  const times = (text: string, share = text.length) => text.repeat(Math.floor(letters / share));
  return dice.pick([
    // Marks that must be put into another order when text is normalised.
    note('combining marks', `a${times('\u0301', 2)}${times('\u0323', 2)}`),
    note('combining marks', `a${times('\u0301\u0323\u0327')}`),
    note('one letter', 'x'.repeat(size)),
    note('spaces', `${' '.repeat(escapedSize(where, size))}x`),
    note('commas', '1,'.repeat(size / 2)),
    note('dots', 'a.'.repeat(size / 2)),
    note('wildcards', times('%_')),
    note('brackets', times('(')),
    note('an address', `${'a'.repeat(size / 2)}@${'b.'.repeat(size / 4)}`),
    note('umlauts', times('ä')),
    note('emoji', times('👩‍👩‍👧')),
    note('ligatures', times('ﷺ', 3)),
    note('Hangul', times('\u1100\u1161\u11a8', 6)),
    note('backslashes', times('\\')),
  ]);
}

function escapedSize(where: Field['in'], size: number): number {
  return where === 'query' ? Math.floor(size / 3) : size;
}
