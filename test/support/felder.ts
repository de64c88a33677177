// Values for the fields of src/sichtbeobachtung-felder.ts, so that tests reach those too that they have never heard of.
import { type Feld, felder } from '../../src/sichtbeobachtung-felder.ts';

/** One value as it is sent, and as it comes back where answers show it as it was sent. */
type Value = [sent: string, shown: unknown];

export interface Sent {
  report: Value;
  change: Value;
  /** The member that shows it, when that has another name. */
  shownAs?: string;
}

/** Two values that a field may have, none of which it has when it is not sent, as far as there are so many. */
export function twoOf(feld: Feld): Sent {
  const asSent = (report: unknown, change: unknown): Sent => ({ report: [`${report}`, report], change: [`${change}`, change] });
  if (feld.kind === 'id') return asSent(1, 2);
  if (feld.kind === 'boolean') return asSent(false, true);
  if (feld.kind === 'integer') return asSent(feld.min, feld.max);
  if (feld.kind === 'number') return asSent(1.5, -2);
  if (feld.kind === 'word') return asSent(feld.words[0], feld.words[1]);
  if (feld.kind === 'date') return { report: ['2.9.2025', '02.09.2025'], change: ['3.9.2025', '03.09.2025'] };
  return asSent('ä', 'ß'.repeat(feld.kind === 'text' ? feld.maxLength : 1));
}

/**
 * What may describe a place and is therefore kept back where a tenant says so (D6.5): columns, and what tests write there, into a protected
 * record and into one that nobody protects. Nothing else knows whether a new field is one of them.
 */
export const keptBack: Record<string, { hidden: string; open: string }> = {
  bemerkung: { hidden: 'Horst in der Kiefer am Bach', open: 'im Garten' },
  biotopfoto: { hidden: `${'a'.repeat(32)}.jpg`, open: `${'b'.repeat(32)}.jpg` },
};

/** Whether lists show a column, too. */
export const isInLists = (column: string) => {
  const feld: Feld | undefined = (felder as Record<string, Feld>)[column];
  return feld?.shown?.inLists ?? true;
};
