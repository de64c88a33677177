// What was found, and how far the run is.
import type { Plan, Shot } from './plan.ts';

export interface Finding {
  kind: string;
  detail: string;
  /** Seconds since the database was ready. */
  at: number;
  /** Numbers of the requests that did it or may have done it. */
  suspects: number[];
  /** The request, escaped and shortened, where one alone is known to have done it. */
  request: string | null;
}

const shownPerKind = 10;
const shownBytes = 400;

/** Keeps findings: of each kind the first few, and the count of all. */
export class Report {
  readonly #seed: number;
  readonly #begin = performance.now();
  readonly #counts = new Map<string, number>();
  readonly #kept: Finding[] = [];
  constructor(seed: number) {
    this.#seed = seed;
  }

  add(kind: string, detail: string, from: { plan?: Plan; shot?: Shot; suspects?: number[] } = {}): void {
    const count = (this.#counts.get(kind) ?? 0) + 1;
    this.#counts.set(kind, count);
    if (count > shownPerKind) return;
    const { plan, shot, suspects = plan ? [plan.number] : [] } = from;
    const finding = { kind, detail, at: this.seconds(), suspects, request: plan ? describe(plan, shot) : null };
    this.#kept.push(finding);
    console.log(
      `  found at ${finding.at.toFixed(1)} s: ${kind}: ${visible(detail).slice(0, 160)}${plan ? ` (number ${plan.number})` : ''}`,
    );
  }

  seconds(): number {
    return (performance.now() - this.#begin) / 1000;
  }

  /** Everything found, for the end of the run. */
  print(): void {
    if (this.#counts.size === 0) {
      console.log('\nNothing found.');
      return;
    }
    for (const [kind, count] of this.#counts) {
      console.log(`\n${kind}: ${count}${count > shownPerKind ? `, the first ${shownPerKind}` : ''}`);
      for (const finding of this.#kept.filter((kept) => kept.kind === kind)) {
        const numbers = finding.suspects.slice(0, 12).join(',');
        console.log(
          `  at ${finding.at.toFixed(1)} s, seed ${this.#seed}${numbers ? `, number ${numbers}` : ''}: ${visible(finding.detail)}`,
        );
        if (finding.request) console.log(`    ${finding.request}`);
      }
    }
  }

  isEmpty(): boolean {
    return this.#counts.size === 0;
  }
}

/** A request in a line or two. */
export function describe(plan: Plan, shot?: Shot): string {
  const known = shot ?? plan.shots.find((candidate) => typeof candidate !== 'function');
  const bytes = known?.bytes ?? Buffer.alloc(0);
  const rest = bytes.length > shownBytes ? ` … ${bytes.length} bytes` : '';
  const cut = known?.cut ? `, ${known.cut.how} at byte ${known.cut.at}` : '';
  return `${plan.kind} (${visible(plan.note).slice(0, 200)})${cut}: ${visible(bytes.toString('latin1', 0, shownBytes))}${rest}`;
}

// One line, and nothing that acts on a terminal; repeated letters as a count.
function visible(text: string): string {
  return text
    .replaceAll(/(.{1,12}?)\1{15,}/gs, (run: string, part: string) => `${part}{×${run.length / part.length}}`)
    .replaceAll(/[^\x20-\x7e]/g, (letter) => {
      const short = { '\r': '\\r', '\n': '\\n', '\t': '\\t' }[letter];
      return short ?? `\\x${letter.charCodeAt(0).toString(16).padStart(2, '0')}`;
    });
}
