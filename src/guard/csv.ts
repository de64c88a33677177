/** A cell of CSV as it is (RFC 4180). */
export function quoteCell(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * A cell of a table for people (O2.16). An apostrophe stands before a text that a spreadsheet would compute: what somebody wrote must not run
 * in whoever's table. Numbers stay as they are.
 */
export function toCsvCell(value: string | number | boolean | null): string {
  if (value === null) return '';
  return quoteCell(typeof value === 'string' && /^[=+\-@\t\r\n＝＋－＠]/.test(value) ? `'${value}` : String(value));
}
