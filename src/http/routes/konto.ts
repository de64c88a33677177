// GET and POST /konto/{token}: the page behind the one-time link, on which a password is set (D3.18). Works without
// JavaScript, loads nothing from anywhere.
import { type Context, Hono } from 'hono';
import { html } from 'hono/html';
import { consumeNutzerLink, getNutzerLink } from '../../db/nutzer.ts';
import { hashPassword, sha1OfPlain } from '../../guard/password.ts';
import { hasLongRun } from '../../guard/text.ts';
import { hashToken } from '../../guard/token.ts';
import type { Deps, Env } from '../context.ts';
import { limits, networkOfRequest, requireAllowed } from '../too-often.ts';
import { readForm } from '../wire/form.ts';
import { replyPage } from '../wire/link-page.ts';

const minLength = 8;
const maxLength = 200;
const gone = html`<p>Er wurde schon benutzt, ist älter als sieben Tage, oder es gibt einen neueren. Fordern Sie in Ihrem Portal einen neuen an.</p>`;

export function kontoRoutes(deps: Deps): Hono<Env> {
  const { sql } = deps;
  const replyGone = (c: Context<Env>) => replyPage(c, 404, 'Dieser Link gilt nicht mehr', gone);
  const form = (loginname: string, problem: string | null) => html`
${problem === null ? '' : html`<p role="alert" id="problem">${problem}</p>`}
<form method="post">
<label for="loginname">Konto</label>
<input id="loginname" name="loginname" type="text" autocomplete="username" value="${loginname}" readonly>
<label for="passwort">Neues Passwort (mindestens ${minLength} Zeichen)</label>
<input id="passwort" name="passwort" type="password" autocomplete="new-password" minlength="${minLength}" maxlength="${maxLength}" required>
<label for="wiederholung">Noch einmal</label>
<input id="wiederholung" name="wiederholung" type="password" autocomplete="new-password" minlength="${minLength}" maxlength="${maxLength}" required>
<button type="submit">Passwort festlegen</button>
</form>`;

  return new Hono<Env>()
    .get('/konto/:token', async (c) => {
      await requireAllowed(deps, limits.link);
      const loginname = await getNutzerLink(sql, hashToken(c.req.param('token')));
      return loginname === null ? replyGone(c) : replyPage(c, 200, 'Passwort festlegen', form(loginname, null));
    })
    .post('/konto/:token', async (c) => {
      await requireAllowed(deps, limits.link);
      const hash = hashToken(c.req.param('token'));
      const loginname = await getNutzerLink(sql, hash);
      if (loginname === null) return replyGone(c);
      const { fields } = await readForm(c);
      const [passwort = ''] = fields.get('passwort') ?? [];
      const [wiederholung = ''] = fields.get('wiederholung') ?? [];
      const problem =
        passwort.length > maxLength || [...passwort].length < minLength || hasLongRun(passwort) || !passwort.isWellFormed()
          ? `Das Passwort muss ${minLength} bis ${maxLength} Zeichen haben.`
          : passwort !== wiederholung
            ? 'Die beiden Eingaben sind nicht gleich.'
            : null;
      if (problem !== null) return replyPage(c, 400, 'Passwort festlegen', form(loginname, problem));
      const passwordHash = await hashPassword(sha1OfPlain(passwort));
      if (!(await consumeNutzerLink(sql, hash, passwordHash, networkOfRequest()))) return replyGone(c);
      const done = html`<p>Sie können sich jetzt in Ihrem Portal als <strong>${loginname}</strong> anmelden.</p>
<p><a href="${c.get('origin')}/">Zurück zu ${c.get('tenant').name}</a></p>`;
      return replyPage(c, 200, 'Das Passwort ist gesetzt', done);
    });
}
