// What the command line says.
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';

export interface Options {
  seconds: number;
  seed: number;
  /** Sends only these; null: everything. */
  only: number[] | null;
}

export const usage = `npm run fuzz -- [options]: sends a running service what no client should send, and watches what that does to it.

  --seconds N    how long the traffic lasts; 60
  --seed S       the same seed makes the same requests; a new one each time
  --only 7,12    sends these requests of the seed alone, one after the other
  --help         this text

On the PostgreSQL of DATABASE_URL in a database of its own, which is dropped afterwards; without it on the embedded database.
All traffic stays on the loopback interface. Exit code: 0 nothing found, 1 something found, 2 the run itself failed.
`;

/** The command line is wrong; the message says how. */
export class UsageError extends Error {}

/** Null when help is asked for. */
export function readOptions(args: string[]): Options | null {
  const { values } = parseArgs({
    args,
    options: {
      seconds: { type: 'string', default: '60' },
      seed: { type: 'string' },
      only: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return null;
  const seconds = readInteger('--seconds', values.seconds, 1, 86_400);
  const seed = values.seed === undefined ? randomInt(2 ** 31) : readInteger('--seed', values.seed, 0, 2 ** 31 - 1);
  const only = values.only?.split(',').map((part) => readInteger('--only', part.trim(), 1, 2 ** 31 - 1)) ?? null;
  return { seconds, seed, only };
}

function readInteger(name: string, value: string, min: number, max: number): number {
  if (!/^\d{1,10}$/.test(value) || Number(value) < min || Number(value) > max) {
    throw new UsageError(`${name} is ${value}, allowed is a whole number from ${min} to ${max}`);
  }
  return Number(value);
}
