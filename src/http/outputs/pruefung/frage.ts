// GET and POST /pruefung/v1/beobachtung/{token}: the page behind a link in a mail, on which a recorder sees one of their records and answers a
// reviewer's question (O6). Works without a login and without JavaScript.
import type { Context } from 'hono';
import { html } from 'hono/html';
import { createAntwort, getSichtbeobachtungOfLink, type LinkedSatz } from '../../../db/mitteilung.ts';
import { hasAtMost, hasLongRun, isStorable } from '../../../guard/text.ts';
import { hashToken } from '../../../guard/token.ts';
import type { Deps, Env } from '../../context.ts';
import { addressMedia } from '../../media/address.ts';
import { limits, requireAllowed } from '../../too-often.ts';
import { readForm } from '../../wire/form.ts';
import { replyPage } from '../../wire/link-page.ts';

const maxLength = 4000;
const tokenOf = (c: Context<Env>) => hashToken(c.req.param('token') ?? '');

const replyGone = (c: Context<Env>) =>
  replyPage(
    c,
    404,
    'Dieser Link gilt nicht mehr',
    html`<p>Er ist älter als 30 Tage, oder das Konto oder die Beobachtung hat sich seitdem geändert.</p>`,
  );

export async function answerFragePage(c: Context<Env>, deps: Deps): Promise<Response> {
  await requireAllowed(deps, limits.link);
  return replySatz(c, deps, null);
}

export async function answerAntwort(c: Context<Env>, deps: Deps): Promise<Response> {
  await requireAllowed(deps, limits.link);
  const { fields } = await readForm(c);
  const [sent = ''] = fields.get('antwort') ?? [];
  // A form sends CRLF, of which its own maxlength counts one.
  const text = sent.replaceAll('\r\n', '\n').trim();
  if (text === '' || !hasAtMost(text, maxLength) || !isStorable(text) || hasLongRun(text))
    return replySatz(c, deps, `Nötig ist eine Antwort mit höchstens ${maxLength} Zeichen.`, text);
  const refused = await createAntwort(deps.sql, tokenOf(c), text);
  if (refused === 'link') return replyGone(c);
  if (refused === 'entschieden')
    return replySatz(c, deps, 'Die Frage ist nicht mehr offen: Ihre Antwort wurde nicht gespeichert.');
  return replyPage(c, 200, 'Danke', html`<p>Ihre Antwort ist gespeichert, und die Beobachtung wird wieder geprüft.</p>`);
}

/**
 * @param problem what was wrong with the answer that was sent; null before
 * @param draft that answer
 */
async function replySatz(c: Context<Env>, deps: Deps, problem: string | null, draft = ''): Promise<Response> {
  const linked = await getSichtbeobachtungOfLink(deps.sql, c.get('tenant').id, tokenOf(c));
  if (linked === null) return replyGone(c);
  const form = html`<form method="post">
<label for="antwort">Ihre Antwort (höchstens ${maxLength} Zeichen)</label>
<textarea id="antwort" name="antwort" rows="8" maxlength="${maxLength}" required>${draft}</textarea>
<button type="submit">Antworten</button>
</form>`;
  return replyPage(
    c,
    problem === null ? 200 : linked.offen ? 400 : 409,
    'Ihre Beobachtung',
    html`${problem === null ? '' : html`<p role="alert">${problem}</p>`}
${describeSatz(c, deps, linked)}
${linked.offen ? form : html`<p>Zu dieser Beobachtung ist keine Frage offen.</p>`}`,
  );
}

const photos = { foto: 'Foto', foto_2: 'Zweites Foto', foto_3: 'Drittes Foto', biotopfoto: 'Foto des Lebensraums' };

function describeSatz(c: Context<Env>, deps: Deps, { nutzerId, satz, lat, lon, nachrichten }: LinkedSatz) {
  // Addresses of files are signed for whoever the link was mailed to.
  c.set('reader', nutzerId);
  const shown = JSON.parse(Buffer.concat(addressMedia(c, deps, Buffer.from(satz))).toString()) as {
    [field: string]: string | null;
  };
  const thread = JSON.parse(nachrichten) as { von: 'erfasser' | 'experte'; text: string; zeitpunkt: string }[];
  const day = new Intl.DateTimeFormat('de-DE', { dateStyle: 'medium', timeZone: 'Europe/Berlin' });
  return html`<dl>
<dt>Art</dt><dd>${shown.titel_deutsch ?? shown.titel_wissenschaftlich}</dd>
<dt>Tag</dt><dd>${shown.datum}</dd>
<dt>Anzahl</dt><dd>${shown.anzahl}</dd>
<dt>Ort (Breite, Länge)</dt><dd>${lat.toFixed(5)}, ${lon.toFixed(5)}</dd>
<dt>Status</dt><dd>${shown.status}</dd>
${shown.bemerkung ? html`<dt>Ihre Bemerkung</dt><dd>${shown.bemerkung}</dd>` : ''}
${shown.bemerkung_experte ? html`<dt>Bemerkung der Prüfung</dt><dd>${shown.bemerkung_experte}</dd>` : ''}
</dl>
${Object.entries(photos).map(([field, alt]) => (shown[field] ? html`<p><img src="${shown[field]}" alt="${alt}"></p>` : ''))}
${shown.audio ? html`<p><audio controls src="${shown.audio}"></audio></p>` : ''}
${thread.map(
  ({ von, text, zeitpunkt }) =>
    html`<h2>${von === 'erfasser' ? 'Sie' : 'Prüfung'}, ${day.format(new Date(zeitpunkt))}</h2><blockquote>${text}</blockquote>`,
)}`;
}
