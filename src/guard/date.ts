const daysOfMonth = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** YYYY-MM-DD, or null for a day that there is not (D1.3): the Gregorian calendar, from the year 1 on. */
export function toIsoDate(year: number, month: number, day: number): string | null {
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const days = month === 2 && !isLeap ? 28 : (daysOfMonth[month - 1] ?? 0);
  if (year < 1 || day < 1 || day > days) return null;
  const pad = (value: number, length: number) => String(value).padStart(length, '0');
  return `${pad(year, 4)}-${pad(month, 2)}-${pad(day, 2)}`;
}
