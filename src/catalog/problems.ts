// What is wrong with a file that an operator gave, by line, and how it is told.
import { shorten } from '../guard/text.ts';

export interface Problem {
  file: string;
  line: number;
  message: string;
}

/** What an operator gave can't be loaded; nothing of it was. */
export class ImportError extends Error {
  readonly problems: Problem[];
  /**
   * @param total how many there are, when `problems` are only the first of them
   * @param outcome what became of it
   */
  constructor(problems: Problem[], total = problems.length, outcome = 'nichts wurde geladen') {
    const shown = total > problems.length ? ` (hier die ersten ${problems.length})` : '';
    super(`${total} Fehler${shown}, ${outcome}.`);
    this.problems = problems;
  }
}

// More than anybody reads on a terminal.
const shownProblems = 100;

/**
 * Problems as lines for a terminal: what several lines have in common is told once, and the first hundred of what differs; where there is
 * more, how many there are of each kind.
 */
export function describeProblems(problems: Problem[]): string[] {
  const causes = new Map<string, { first: Problem; count: number }>();
  for (const problem of problems) {
    const cause = `${problem.file}: ${problem.message}`;
    const { first, count } = causes.get(cause) ?? { first: problem, count: 0 };
    causes.set(cause, { first, count: count + 1 });
  }
  const shown = [...causes.values()].slice(0, shownProblems);
  const lines = shown.map(({ first: { file, line, message }, count }) => {
    const also = count === 1 ? '' : ` (ebenso in ${count - 1} weiteren Zeilen)`;
    return `${file}${line > 0 ? `:${line}` : ''}: ${message}${also}`;
  });
  if (causes.size <= shownProblems) return lines;
  const kinds = new Map<string, number>();
  for (const { file, message } of problems) {
    const kind = `${file}: ${message.replace(/„[^„“]*“/g, '„…“').replace(/\d+/g, '…')}`;
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  }
  const counts = [...kinds].sort(([, a], [, b]) => b - a).slice(0, shownProblems);
  const told = shown.reduce((sum, { count }) => sum + count, 0);
  return [
    ...lines,
    `… und ${problems.length - told} weitere; alle als CSV mit --errors DATEI. Nach Art:`,
    ...counts.map(([kind, count]) => `${String(count).padStart(8)} × ${kind}`),
  ];
}

/** `lat ist „abc“, erlaubt ist eine Zahl`; `lat ist leer, …`. */
export function describeCell(name: string, value: string, allowed: string): string {
  return `${name} ist ${value.trim() === '' ? 'leer' : `„${shorten(value)}“`}, erlaubt ist ${allowed}`;
}

/** A file of millions of wrong lines must not fill the memory. */
export const keptProblems = 10_000;
/** The same for a list that goes into a file. */
export const keptProblemsOfFile = 1_000_000;

/** The first problems of a file, and how many there are. */
export class ProblemList {
  readonly file: string;
  readonly kept: Problem[] = [];
  readonly limit: number;
  total = 0;
  constructor(file: string, limit: number) {
    this.file = file;
    this.limit = limit;
  }

  add(line: number, message: string): void {
    this.total++;
    if (this.kept.length < this.limit) this.kept.push({ file: this.file, line, message });
  }

  /** Adds the first problems that somebody else found, and how many those are. */
  merge(found: { line: number; message: string }[], total: number): void {
    for (const { line, message } of found) this.kept.push({ file: this.file, line, message });
    this.sort();
    this.kept.splice(this.limit);
    this.total += total;
  }

  /** Into the order of the file, when what was done for several lines at once has added some. */
  sort(): void {
    this.kept.sort((a, b) => a.line - b.line);
  }
}
