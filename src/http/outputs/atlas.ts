// GET /atlas/v1/arten and /atlas/v1/sichtbeobachtungen: what the map asks for beside its tiles (O4.1).
import { Hono } from 'hono';
import * as v from 'valibot';
import { listOutputArt, listOutputSichtbeobachtung } from '../../db/ausgabe-karte.ts';
import type { Versioned } from '../../db/page.ts';
import { toName } from '../../guard/text.ts';
import type { Deps, Env } from '../context.ts';
import * as field from '../wire/fields.ts';
import type { Answer } from '../wire/reply.ts';
import type { AnswerOutput } from './answer-output.ts';
import { queryReader } from './output-query.ts';

/** Records that can be asked for at once. */
export const maxRecords = 50;
const maxSpecies = 20;

const readArtenQuery = queryReader({
  suche: v.optional(v.pipe(field.characters(100), v.transform(toName))),
  art: v.optional(field.id),
});
const recordId = field.integer(0, 10 ** 15 - 1);
const allowedIds = `bis zu ${maxRecords} Nummern von Meldungen, mit Kommas dazwischen`;
const readRecordsQuery = queryReader({
  id: v.pipe(field.listOf(recordId, allowedIds), v.minLength(1, allowedIds), v.maxLength(maxRecords, allowedIds)),
});

export function atlasRoutes(deps: Deps, conditionally: AnswerOutput): Hono<Env> {
  const { reads } = deps;
  return new Hono<Env>()
    .get(
      '/atlas/v1/arten',
      conditionally(readArtenQuery, async (_c, { suche = null, art = null }) =>
        toJson('arten', await listOutputArt(reads, suche, art, maxSpecies)),
      ),
    )
    .get(
      '/atlas/v1/sichtbeobachtungen',
      conditionally(readRecordsQuery, async (_c, { id }) =>
        toJson('sichtbeobachtungen', await listOutputSichtbeobachtung(reads, id)),
      ),
    );
}

const toJson = (name: string, { value, stand }: Versioned<unknown>): Answer => ({
  body: JSON.stringify({ [name]: value }),
  stand,
  type: 'application/json; charset=utf-8',
  status: 200,
});
