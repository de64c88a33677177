// The parameter datetime (O2): an instant or an interval, as days in Europe/Berlin.
import * as v from 'valibot';
import { toIsoDate } from '../../../guard/text.ts';

/** YYYY-MM-DD, both included; missing where there is no bound. */
export interface Days {
  from?: string;
  to?: string;
}

const allowed =
  'ein Zeitpunkt (2026-05-01 oder 2026-05-01T12:00:00Z) oder ein Zeitraum (2026-05-01/2026-05-31, offen mit ..), das Ende nicht vor dem Anfang';

export const datetimeField = v.optional(
  v.pipe(
    v.string(),
    v.metadata({ examples: ['2026-05-01/2026-05-31'] }),
    v.check((value) => readDays(value) !== null, allowed),
    v.transform((value) => readDays(value) ?? {}),
  ),
);

interface Moment {
  day: string;
  /** Milliseconds, where it is more than a day. */
  instant: number | null;
}

function readDays(value: string): Days | null {
  const parts = value.split('/', 3);
  const [first = '', last] = parts;
  if (last === undefined) {
    const moment = readMoment(first);
    return moment && { from: moment.day, to: moment.day };
  }
  if (parts.length > 2) return null;
  const [from, to] = [first, last].map((part) => (isOpen(part) ? undefined : readMoment(part)));
  if (from === null || to === null) return null;
  if (from && to && isAfter(from, to)) return null;
  return { ...(from && { from: from.day }), ...(to && { to: to.day }) };
}

const isOpen = (part: string) => part === '' || part === '..';

const isAfter = (from: Moment, to: Moment) =>
  from.instant !== null && to.instant !== null ? from.instant > to.instant : from.day > to.day;

function readMoment(text: string): Moment | null {
  // A plus that nobody escaped has become a blank.
  const parts = /^(\d{4})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d):(\d\d)(?:\.\d{1,9})?(?:Z|([+ -])(\d\d):(\d\d)))?$/i.exec(text);
  if (!parts) return null;
  const [year = 0, month = 0, dayOfMonth = 0] = parts.slice(1, 4).map(Number);
  const day = toIsoDate(year, month, dayOfMonth);
  if (day === null) return null;
  if (parts[4] === undefined) return { day, instant: null };
  const [hour = 0, minute = 0, second = 0] = parts.slice(4, 7).map(Number);
  const [offsetHour, offsetMinute] = [Number(parts[8] ?? 0), Number(parts[9] ?? 0)];
  // A leap second has no instant of its own here.
  if (hour > 23 || minute > 59 || second > 60 || offsetHour > 23 || offsetMinute > 59) return null;
  const offset = (parts[7] === '-' ? -1 : 1) * (60 * offsetHour + offsetMinute);
  const instant = Date.UTC(year, month - 1, dayOfMonth, hour, minute - offset, Math.min(second, 59));
  // Years below 100 are those of the last century to Date.
  if (year < 100) return { day, instant: null };
  return { day: toDayInBerlin(instant), instant };
}

// The last one that can be written with a year of four digits.
const lastDay = '9999-12-31';

/** In Berlin the day after the last one may have begun: nothing was seen on either, and to go on as far as can be said is no mistake. */
function toDayInBerlin(instant: number): string {
  // Years are written without leading zeros.
  const day = dayInBerlin.format(instant).padStart(lastDay.length, '0');
  return day.length > lastDay.length ? lastDay : day;
}

// Swedish writes days as YYYY-MM-DD.
const dayInBerlin = new Intl.DateTimeFormat('sv-SE', {
  timeZone: 'Europe/Berlin',
  year: 'numeric',
  month: '2-digit',
  day: '2-digit',
});
