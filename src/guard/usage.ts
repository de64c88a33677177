// What the limits of this process have under way, by name, for operators.
/** What is limited, as operators are shown it. */
export const limitNames = [
  'database',
  'replicas',
  'slow',
  'regexp',
  'outputs',
  'lists',
  'pages',
  'short_pages',
  'features',
  'passwords',
  'photos',
] as const;
export type LimitName = (typeof limitNames)[number];

/** Why somebody was not admitted. */
export const refusalReasons = ['queue_full', 'pushed_out', 'waited_too_long', 'no_answer', 'gone'] as const;
export type RefusalReason = (typeof refusalReasons)[number];

/** What a limit has under way at present, and whom it refused since the process began. */
export interface LimitUsage {
  slots: number;
  running: number;
  waiting: number;
  readonly refused: Record<RefusalReason, number>;
}

const makeUsage = (): LimitUsage => ({
  slots: 0,
  running: 0,
  waiting: 0,
  refused: { queue_full: 0, pushed_out: 0, waited_too_long: 0, no_answer: 0, gone: 0 },
});

// Of the process, like the limits that are variables of modules.
const usages = new Map<LimitName, LimitUsage>(limitNames.map((name) => [name, makeUsage()]));

/** The limits of this process by name. */
export function listUsage(): ReadonlyMap<LimitName, Readonly<LimitUsage>> {
  return usages;
}

/**
 * Where a limit keeps what it has under way.
 * @param name none where operators are not shown it
 * @param count limits of this name
 */
export function usageOf({ name, slots, count = 1 }: { name?: LimitName; slots: number; count?: number }): LimitUsage {
  const usage = (name && usages.get(name)) ?? makeUsage();
  usage.slots = slots * count;
  return usage;
}
