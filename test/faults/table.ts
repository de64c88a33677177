// What must hold, and what was seen.

export interface Row {
  what: string;
  must: string;
  seen: string;
  isKept: boolean;
}

/** A figure that must not be larger. */
export function atMost(what: string, seen: number, limit: number, unit: string): Row {
  return { what, must: `at most ${format(limit)} ${unit}`, seen: `${format(seen)} ${unit}`, isKept: seen <= limit };
}

/** A figure that must not be smaller. */
export function atLeast(what: string, seen: number, limit: number, unit: string): Row {
  return { what, must: `at least ${format(limit)} ${unit}`, seen: `${format(seen)} ${unit}`, isKept: seen >= limit };
}

/** What there must be none of; the first few are shown. */
export function none(what: string, found: readonly string[]): Row {
  const shown = [...new Set(found)].slice(0, 4).join(', ');
  return { what, must: 'none', seen: found.length === 0 ? 'none' : `${found.length}: ${shown}`, isKept: found.length === 0 };
}

export function holds(what: string, isKept: boolean, seen = isKept ? 'yes' : 'no'): Row {
  return { what, must: 'yes', seen, isKept };
}

/** Prints a table; whether all of it is kept. */
export function printTable(title: string, rows: readonly Row[]): boolean {
  const widths = (['what', 'must', 'seen'] as const).map((name) => Math.max(name.length, ...rows.map((row) => row[name].length)));
  const line = (cells: readonly string[]) => cells.map((cell, n) => cell.padEnd(widths[n] ?? 0)).join('  ');
  console.log(`\n${title}\n        ${line(['what', 'must', 'seen'])}`);
  for (const { what, must, seen, isKept } of rows) console.log(`${isKept ? 'kept    ' : 'MISSED  '}${line([what, must, seen])}`);
  return rows.every(({ isKept }) => isKept);
}

function format(value: number): string {
  return value >= 100 ? value.toFixed(0) : String(Number(value.toFixed(2)));
}
