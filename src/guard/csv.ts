/**
 * A cell of CSV (RFC 4180, O2.16). An apostrophe stands before a text that a spreadsheet would compute: what people wrote must not run in whoever's
 * table. Numbers stay as they are.
 */
export function toCsvCell(value: string | number | boolean | null): string {
  if (value === null) return '';
  const text = typeof value === 'string' && /^[=+\-@\t\r\n＝＋－＠]/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
