// GET and POST /konto/{token}: the page behind the one-time link, on which a password is set (D3.18). Works without
// JavaScript, loads nothing from anywhere.
import { createHash } from 'node:crypto';
import { type Context, Hono } from 'hono';
import { html, raw } from 'hono/html';
import { consumeNutzerLink, getNutzerLink } from '../../db/nutzer.ts';
import { hashPassword, sha1OfPlain } from '../../guard/password.ts';
import { hasLongRun } from '../../guard/text.ts';
import { hashToken } from '../../guard/token.ts';
import type { Deps, Env } from '../context.ts';
import { networkOfRequest, requireLinkAllowed } from '../limits.ts';
import { readForm } from '../wire/form.ts';

const minLength = 8;
const maxLength = 200;

const style = `
body { font: 1.05rem/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff; max-width: 32rem; margin: 3rem auto; padding: 0 1rem }
header { border-bottom: 1px solid #ccc; padding-bottom: .5rem; color: #1b5e20; font-weight: 600 }
h1 { font-size: 1.5rem; overflow-wrap: break-word }
a { color: #1b5e20 }
label { display: block; margin-top: 1rem; font-weight: 600 }
input { font: inherit; width: 100%; box-sizing: border-box; padding: .5rem; border: 1px solid #555; border-radius: .25rem }
button { font: inherit; margin-top: 1.5rem; padding: .6rem 1.2rem; border: 0; border-radius: .25rem; color: #fff; background: #1b5e20 }
input[readonly] { border-color: transparent; background: #f2f2f2 }
[role=alert] { border-left: .3rem solid #b00020; padding-left: .8rem }
`;
const policy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

export function kontoRoutes(deps: Deps): Hono<Env> {
  const { sql } = deps;
  const reply = (c: Context<Env>, status: 200 | 400 | 404, title: string, content: unknown) => {
    c.header('Content-Security-Policy', policy);
    c.header('Cache-Control', 'private, no-store');
    const { name } = c.get('tenant');
    return c.html(
      html`<!doctype html>
<html lang="de">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title} – ${name}</title><style>${raw(style)}</style></head>
<body><header>${name}</header><main><h1>${title}</h1>${content}</main></body>
</html>`,
      status,
    );
  };
  const replyGone = (c: Context<Env>) =>
    reply(
      c,
      404,
      'Dieser Link gilt nicht mehr',
      html`<p>Er wurde schon benutzt, ist älter als sieben Tage, oder es gibt einen neueren. Fordern Sie in Ihrem Portal einen neuen an.</p>`,
    );
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
      await requireLinkAllowed(deps);
      const loginname = await getNutzerLink(sql, hashToken(c.req.param('token')));
      return loginname === null ? replyGone(c) : reply(c, 200, 'Passwort festlegen', form(loginname, null));
    })
    .post('/konto/:token', async (c) => {
      await requireLinkAllowed(deps);
      const hash = hashToken(c.req.param('token'));
      const loginname = await getNutzerLink(sql, hash);
      if (loginname === null) return replyGone(c);
      const { fields } = await readForm(c, deps);
      const [passwort = ''] = fields.get('passwort') ?? [];
      const [wiederholung = ''] = fields.get('wiederholung') ?? [];
      const problem =
        passwort.length > maxLength || [...passwort].length < minLength || hasLongRun(passwort) || !passwort.isWellFormed()
          ? `Das Passwort muss ${minLength} bis ${maxLength} Zeichen haben.`
          : passwort !== wiederholung
            ? 'Die beiden Eingaben sind nicht gleich.'
            : null;
      if (problem !== null) return reply(c, 400, 'Passwort festlegen', form(loginname, problem));
      const passwordHash = await hashPassword(sha1OfPlain(passwort));
      if (!(await consumeNutzerLink(sql, hash, passwordHash, networkOfRequest()))) return replyGone(c);
      return reply(
        c,
        200,
        'Das Passwort ist gesetzt',
        html`<p>Sie können sich jetzt in Ihrem Portal als <strong>${loginname}</strong> anmelden.</p>
<p><a href="${c.get('origin')}/">Zurück zu ${c.get('tenant').name}</a></p>`,
      );
    });
}
