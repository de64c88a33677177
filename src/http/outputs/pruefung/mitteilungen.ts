// GET and PUT /pruefung/v1/mitteilungen: how often an account wants mails (O6); and the page of a mail's link that ends them.
import type { Context } from 'hono';
import { html } from 'hono/html';
import * as v from 'valibot';
import { getHaeufigkeit, haeufigkeiten, setHaeufigkeit } from '../../../db/mitteilung.ts';
import { readAbmeldung } from '../../../guard/abmeldung.ts';
import type { Deps, Env } from '../../context.ts';
import { limits, requireAllowed, requireWriteAllowed } from '../../too-often.ts';
import { readJson } from '../../wire/form.ts';
import { replyPage } from '../../wire/link-page.ts';
import { PortalError } from '../../wire/portal-error.ts';

const einstellung = v.object({ haeufigkeit: v.picklist(haeufigkeiten) });
const maxBodyBytes = 1000;

export async function answerMitteilungen(c: Context<Env>, { sql }: Deps, reader: number): Promise<Response> {
  return c.json({ haeufigkeit: await getHaeufigkeit(sql, reader) });
}

export async function changeMitteilungen(c: Context<Env>, deps: Deps, reader: number): Promise<Response> {
  const { success, output } = v.safeParse(einstellung, await readJson(c, maxBodyBytes));
  if (!success)
    throw new PortalError('ungueltiger_parameter', {
      haeufigkeit: `haeufigkeit fehlt oder ist unbekannt, erlaubt ist {"haeufigkeit":…} mit ${haeufigkeiten.join(', ')}.`,
    });
  requireWriteAllowed(deps, reader);
  await setHaeufigkeit(deps.sql, reader, c.get('tokenHash') ?? null, output.haeufigkeit);
  return c.json(output);
}

const replyGone = (c: Context<Env>) =>
  replyPage(c, 404, 'Dieser Link gilt nicht', html`<p>Er ist unvollständig, oder es gibt das Konto nicht mehr.</p>`);

/** Asks first: programs that look into mails open every address. */
export async function answerAbmeldePage(c: Context<Env>, deps: Deps): Promise<Response> {
  await requireAllowed(deps, limits.link);
  if (readAbmeldung(deps.secretKey, c.req.param('token') ?? '') === null) return replyGone(c);
  const content = html`<p>Möchten Sie keine Mails mehr über Fragen und Entscheidungen zu Ihren Beobachtungen?</p>
<form method="post"><button type="submit">Keine Mails mehr</button></form>`;
  return replyPage(c, 200, 'Mails abbestellen', content);
}

/** With one click of a mail program (RFC 8058), or by the page's button; what is sent with it doesn't matter. */
export async function answerAbmeldung(c: Context<Env>, deps: Deps): Promise<Response> {
  await requireAllowed(deps, limits.link);
  const nutzerId = readAbmeldung(deps.secretKey, c.req.param('token') ?? '');
  if (nutzerId === null || !(await setHaeufigkeit(deps.sql, nutzerId, null, 'nie'))) return replyGone(c);
  return replyPage(c, 200, 'Abbestellt', html`<p>Sie bekommen keine solchen Mails mehr.</p>`);
}
