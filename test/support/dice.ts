// Choices that look random and are the same in every run, so that a failure can be repeated.

export interface Dice {
  /** A number from 0 up to, not including, 1. */
  roll(): number;
  /** Whole, from 0 up to, not including, `count`. */
  below(count: number): number;
  /** True this often: 0 never, 1 always. */
  chance(share: number): boolean;
  pick<T>(items: readonly T[]): T;
}

/** Dice for one seed (mulberry32). */
export function makeDice(seed: number): Dice {
  let state = seed;
  const roll = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (count: number) => Math.floor(roll() * count);
  return {
    roll,
    below,
    chance: (share) => roll() < share,
    pick: <T>(items: readonly T[]) => items[below(items.length)] as T,
  };
}
