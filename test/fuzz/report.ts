// What was found, and how far the run is.
import type { Plan } from './plan.ts';
import type { Shot } from './send.ts';

const shownPerKind = 10;
const shownLetters = 400;

/** Tells findings: of each kind the first few, and in the end the count of all. */
export class Report {
  readonly #begin = performance.now();
  readonly #counts = new Map<string, number>();

  /** @param numbers of the requests that may have done it */
  add(kind: string, detail: string, numbers: readonly number[], request = ''): void {
    const count = (this.#counts.get(kind) ?? 0) + 1;
    this.#counts.set(kind, count);
    if (count > shownPerKind) return;
    const at = `${this.seconds().toFixed(1)} s, number ${numbers.slice(0, 20).join(',')}`;
    console.log(`found at ${at}: ${kind}: ${visible(detail).slice(0, 2000)}${request && `\n    ${request}`}`);
  }

  seconds(): number {
    return (performance.now() - this.#begin) / 1000;
  }

  /** @returns whether anything was found */
  end(): boolean {
    const kinds = [...this.#counts].map(([kind, count]) => `${kind}: ${count}`);
    console.log(kinds.length > 0 ? `\nFound: ${kinds.join(', ')}` : '\nNothing found.');
    return kinds.length > 0;
  }
}

/** A request in a line or two. */
export function describe({ kind, note }: Plan, { method, target, headers, body }: Shot): string {
  const head = headers
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : value.toString('latin1')}`)
    .join('\n');
  const start = body ? `\n\n${body.toString('latin1', 0, shownLetters)} … ${body.length} bytes` : '';
  return visible(
    `${kind} (${note.slice(0, 200)}): ${method} ${target.slice(0, shownLetters)}\n${head.slice(0, shownLetters)}${start}`,
  );
}

// One line, and nothing that acts on a terminal; repeated letters as a count.
function visible(text: string): string {
  return text
    .replaceAll(/(.{1,12}?)\1{15,}/gs, (run: string, part: string) => `${part}{×${run.length / part.length}}`)
    .replaceAll(/[^\x20-\x7e]/g, (letter) => JSON.stringify(letter).slice(1, -1))
    .replaceAll(/[^\x20-\x7e]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
