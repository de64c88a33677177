// /nutzer
import { Hono } from 'hono';
import * as v from 'valibot';
import type { Sql } from '../../db/client.ts';
import { getNutzer, listNutzer, type NutzerChange, requireNutzerRight, updateNutzer } from '../../db/nutzer.ts';
import { hashPassword } from '../../guard/password.ts';
import { type Deps, type Env, requireReader } from '../context.ts';
import { requireEmailAllowed, runRegexp } from '../limits.ts';
import { overridable } from '../protocol.ts';
import * as field from '../wire/fields.ts';
import { readForm } from '../wire/form.ts';
import { checkInput, restrictFields } from '../wire/input.ts';
import { readPage } from '../wire/page.ts';
import { readPathId, readQuery, replyRows } from '../wire/reply.ts';

export const changeNutzerFields = {
  email: v.optional(field.orEmpty(field.email)),
  passwort: v.optional(field.sha1),
  nachname: v.optional(field.orEmpty(field.name('ein Name'))),
  vorname: v.optional(field.orEmpty(field.name('ein Name'))),
  anonymisiert: v.optional(field.flag),
  status: v.optional(field.flag),
  rollen: v.optional(field.listOf(v.picklist(['expert', 'administrator']), 'expert und administrator, mit Komma dazwischen')),
  artengruppenbeschraenkung: v.optional(field.listOf(field.id, 'ids von Artengruppen, mit Komma dazwischen')),
};

export const nutzerFilters = (deps: Pick<Deps, 'sql' | 'regexpSql'>) => ({
  email: v.optional(field.text('eine E-Mail-Adresse')),
  name_regexp_ci: v.optional(field.regexp(deps.regexpSql !== deps.sql)),
  status: v.optional(field.flag),
});

export function nutzerRoutes(deps: Deps): Hono<Env> {
  const { sql } = deps;
  const filters = nutzerFilters(deps);
  const routes = new Hono<Env>()
    .get('/nutzer', async (c) => {
      const reader = requireReader(c);
      const { input, beforeId, next } = readPage(c, deps, filters);
      const filter = { email: input.email ?? null, nameRegexpCi: input.name_regexp_ci ?? null, status: input.status ?? null };
      const list = (client: Sql) => listNutzer(client, reader, filter, beforeId, input.limit);
      const page = await (filter.nameRegexpCi === null ? list(sql) : runRegexp(deps, list));
      return replyRows(c, { rows: page.rows, next: next(page.lastId), restrict: input.restrict });
    })
    .get('/nutzer/:id', async (c) => {
      const reader = requireReader(c);
      const { restrict } = readQuery(c, restrictFields);
      return replyRows(c, { rows: await getNutzer(sql, reader, readPathId(c)), restrict });
    });
  return overridable(routes, '/nutzer/:id', {
    async put(c) {
      const reader = requireReader(c);
      readQuery(c, {});
      const id = readPathId(c);
      // Before anything is computed: hashing is dear, and somebody else's password is none of the reader's.
      await requireNutzerRight(sql, reader, id);
      const { passwort, artengruppenbeschraenkung, ...input } = checkInput(
        c,
        (await readForm(c, deps)).fields,
        changeNutzerFields,
      );
      // An administrator sees all addresses anyway.
      if (input.email && id === reader) await requireEmailAllowed(deps, reader);
      const change: NutzerChange = {
        ...input,
        passwordHash: passwort === undefined ? undefined : await hashPassword(passwort),
        artengruppen: artengruppenbeschraenkung,
      };
      await updateNutzer(sql, reader, c.get('tokenHash') ?? null, id, change);
      return replyRows(c, { rows: JSON.stringify([{ id }]) });
    },
  });
}
