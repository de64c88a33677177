import { setTimeout as sleep } from 'node:timers/promises';

/** Waits until something is there, and returns it. */
export async function waitFor<T>(what: string, read: () => Promise<T | null | undefined | false> | T | null | undefined | false) {
  for (const begin = performance.now(); performance.now() - begin < 30_000; await sleep(50)) {
    const value = await read();
    if (value) return value;
  }
  throw new Error(`${what} did not happen within 30 s`);
}
