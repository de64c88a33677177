// POST /pruefung/v1/entscheidungen: many decisions of a reviewer, and the same as a table (O6).
import type { Context } from 'hono';
import * as v from 'valibot';
import { type EntscheidungCode, setEntscheidung } from '../../../db/pruefung.ts';
import { isStorable } from '../../../guard/text.ts';
import type { Deps, Env } from '../../context.ts';
import { requireWriteAllowed } from '../../too-often.ts';
import * as field from '../../wire/fields.ts';
import { readJson } from '../../wire/form.ts';
import { PortalError } from '../../wire/portal-error.ts';

export const maxEntscheidungen = 1000;
export const maxBodyBytes = 8 * 1024 * 1024;

const entscheidung = v.object({
  id: v.pipe(v.number(), v.safeInteger(), v.minValue(1)),
  status: v.picklist(['freigegeben', 'hinweis', 'abgelehnt', 'pruefung']),
  bemerkung: v.optional(
    v.nullable(
      v.union([v.pipe(v.string(), v.trim(), v.literal('')), v.pipe(v.string(), v.check(isStorable), field.characters(4000))]),
    ),
  ),
  stand: v.pipe(v.string(), v.regex(/^v[0-9a-f]{15}$/)),
});
const anfrage = v.object({ entscheidungen: v.pipe(v.array(v.unknown()), v.maxLength(maxEntscheidungen)) });

/** What became of one. */
export type Ergebnis = { id: number | null; ok: true } | { id: number | null; ok: false; code: EntscheidungCode | 'ungueltig' };

/** Decides on each in a transaction of its own: one that can't be done leaves the others. */
export async function decideAll(
  c: Context<Env>,
  deps: Deps,
  reader: number,
  entscheidungen: readonly unknown[],
  schluessel: string | null,
  probe = false,
): Promise<Ergebnis[]> {
  const results: Ergebnis[] = [];
  const seen = new Set<number>();
  for (const given of entscheidungen) {
    const { success, output } = v.safeParse(entscheidung, given);
    if (!success || seen.has(output.id)) {
      const id = (given as { id?: unknown } | null)?.id;
      results.push({ id: typeof id === 'number' ? id : null, ok: false, code: 'ungueltig' });
      continue;
    }
    seen.add(output.id);
    if (!probe) requireWriteAllowed(deps, reader);
    const code = await setEntscheidung(deps.sql, reader, c.get('tokenHash') ?? null, output, schluessel, probe);
    results.push(code === null ? { id: output.id, ok: true } : { id: output.id, ok: false, code });
  }
  return results;
}

export async function answerEntscheidungen(c: Context<Env>, deps: Deps, reader: number): Promise<Response> {
  const schluessel = readSchluessel(c);
  const { success, output } = v.safeParse(anfrage, await readJson(c, maxBodyBytes));
  if (!success)
    throw new PortalError('ungueltiger_parameter', {
      entscheidungen: `entscheidungen fehlt oder ist zu lang, erlaubt ist {"entscheidungen":[…]} mit höchstens ${maxEntscheidungen} Einträgen.`,
    });
  const result = await decideAll(c, deps, reader, output.entscheidungen, schluessel);
  return c.json({ result, lauf: null });
}

/** Idempotency-Key, where one was sent. */
export function readSchluessel(c: Context<Env>): string | null {
  const key = c.req.header('idempotency-key');
  if (key !== undefined && !/^[\x21-\x7e]{1,200}$/.test(key))
    throw new PortalError('ungueltiger_parameter', {
      'Idempotency-Key': 'Idempotency-Key ist nicht lesbar, erlaubt sind 1 bis 200 Zeichen ohne Leerzeichen, etwa eine UUID.',
    });
  return key ?? null;
}
