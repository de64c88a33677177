// What a text from outside may be, before anything is done with it that takes longer with its length.

/** Whether the database can store it as text: no U+0000, no halves of surrogate pairs. */
export function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}

/** Combining marks that a text may have in a row. */
export const maxMarks = 30;
const longRun = new RegExp(`\\p{M}{${maxMarks + 1}}`, 'u');

/**
 * Whether a text has more combining marks in a row than any writing needs. Putting them in order (Unicode's normal forms) takes
 * the square of their number: 60 000 of them took three seconds.
 */
export function hasLongRun(text: string): boolean {
  return text.length > maxMarks && longRun.test(text);
}

/** Characters of a remark (D6.1), whatever each of them is made of. */
export const maxRemarkLength = 4000;

/** Whether a remark is short enough; an emoji is one character, though two units of JavaScript's. */
export function isRemark(text: string): boolean {
  return text.length <= maxRemarkLength || (text.length <= 2 * maxRemarkLength && [...text].length <= maxRemarkLength);
}
