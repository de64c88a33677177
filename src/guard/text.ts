// What a text from outside may be, before anything is done with it that takes longer with its length.

/** Whether the database can store it as text: no U+0000, no halves of surrogate pairs. */
export function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}

/** Combining marks that a text may have in a row. */
export const maxMarks = 30;
// With what names are stored without: marks beside it come together.
const runs = /[\p{M}\u00ad\u200b-\u200f\u2060\ufeff]+/gu;

/**
 * Whether a text has more combining marks in a row than any writing needs. Putting them in order (Unicode's normal forms) takes
 * the square of their number: 60 000 of them took three seconds.
 */
export function hasLongRun(text: string): boolean {
  if (text.length <= maxMarks) return false;
  // Run by run: looking for one of a certain length began anew at each mark of those that are a little shorter.
  for (const [run] of text.matchAll(runs)) if (run.length > maxMarks && [...run].length > maxMarks) return true;
  return false;
}

/** Blanks of any kind and number as one, without what nobody sees: soft hyphens, and what has no width. */
export const foldBlanks = (text: string) =>
  text
    .replace(/[\u00ad\u200b-\u200f\u2060\ufeff]/g, '')
    .replace(/[\t\p{Zs}]+/gu, ' ')
    .normalize('NFC');

/** The one form of a name (D1.24): as it is stored, and as it is looked for. */
export const toName = (text: string) => foldBlanks(text).trim();

/** Whether a text is short enough (D6.1); an emoji is one character, though two units of JavaScript's. */
export function hasAtMost(text: string, characters: number): boolean {
  return text.length <= characters || (text.length <= 2 * characters && [...text].length <= characters);
}

/** A value as a sentence repeats it: sixty letters at most, and nothing that could act on a terminal or a page. */
export function shorten(value: string): string {
  // No letter takes more than two units.
  const letters = [...value.slice(0, 240).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '·')];
  return letters.length > 60 ? `${letters.slice(0, 60).join('')}…` : letters.join('');
}

const daysOfMonth = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** YYYY-MM-DD, or null for a day that there is not (D1.3): the Gregorian calendar, from the year 1 on. */
export function toIsoDate(year: number, month: number, day: number): string | null {
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const days = month === 2 && !isLeap ? 28 : (daysOfMonth[month - 1] ?? 0);
  if (year < 1 || day < 1 || day > days) return null;
  const pad = (value: number, length: number) => String(value).padStart(length, '0');
  return `${pad(year, 4)}-${pad(month, 2)}-${pad(day, 2)}`;
}
