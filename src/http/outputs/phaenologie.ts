// GET /atlas/v1/phaenologie: how many records there are in each third of a month (O2.8).
import { type Context, Hono } from 'hono';
import * as v from 'valibot';
import { getPhaenologie, type PhaenologieRow } from '../../db/ausgabe-phaenologie.ts';
import type { Deps, Env } from '../context.ts';
import * as field from '../wire/fields.ts';
import type { Answer } from '../wire/reply.ts';
import type { AnswerOutput } from './answer-output.ts';
import { queryReader, recordFilters } from './output-query.ts';
import { type Drittel, drawPhaenologie } from './phaenologie-svg.ts';

const readQuery = queryReader({
  ...recordFilters,
  mandant: v.optional(field.text('das Kürzel eines Mandanten')),
  format: v.optional(field.oneOf(['json', 'csv', 'svg']), 'json'),
});

export function phaenologieRoutes(deps: Deps, conditionally: AnswerOutput): Hono<Env> {
  const read = (c: Context<Env>) => {
    const query = readQuery(c);
    // The drawing needs nothing from anywhere, wherever it is embedded.
    c.header('Content-Security-Policy', "default-src 'none'");
    return query;
  };
  const answer = async (_c: Context<Env>, asked: ReturnType<typeof read>): Promise<Answer> => {
    const { art = null, artengruppe_id = null, mandant = null, jahr_von = null, jahr_bis = null, format } = asked;
    const query = { art, artengruppeId: artengruppe_id, mandant, jahrVon: jahr_von, jahrBis: jahr_bis };
    // Without a species, all records are counted.
    const { value, stand } = await getPhaenologie(deps.reads, query);
    const drittel = toDrittel(value.rows);
    if (format === 'csv') {
      const lines = drittel.map((third) => `${third.monat},${third.drittel},${third.meldungen}`);
      const body = `${['monat,drittel,meldungen', ...lines].join('\r\n')}\r\n`;
      return { body, type: 'text/csv; charset=utf-8', status: 200, stand };
    }
    if (format === 'svg') {
      const name = value.art && (value.art.name_deutsch ?? value.art.name_wissenschaftlich);
      return { body: drawPhaenologie(drittel, name), type: 'image/svg+xml; charset=utf-8', status: 200, stand };
    }
    return { body: JSON.stringify({ drittel }), type: 'application/json; charset=utf-8', status: 200, stand };
  };
  return new Hono<Env>().get('/atlas/v1/phaenologie', conditionally(read, answer));
}

/** All 36, also those without a record. */
function toDrittel(rows: readonly PhaenologieRow[]): Drittel[] {
  const thirds = Array.from({ length: 36 }, (_, index): Drittel => {
    return { monat: 1 + Math.floor(index / 3), drittel: 1 + (index % 3), meldungen: 0, stadien: {} };
  });
  for (const { monat, drittel, stadium, meldungen } of rows) {
    const third = thirds[3 * (monat - 1) + drittel - 1];
    if (!third) continue;
    third.meldungen += meldungen;
    if (stadium !== null) third.stadien[stadium] = meldungen;
  }
  return thirds;
}
