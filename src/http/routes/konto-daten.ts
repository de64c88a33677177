// The own data (D7.3). GET and POST /konto: asking for a link by mail. GET and POST /konto/daten/{token}: the page behind it, from which the
// data are fetched once and the account is erased.
import { once } from 'node:events';
import { type Context, Hono } from 'hono';
import { html, raw } from 'hono/html';
import {
  consumeNutzerDatenLink,
  getNutzerDatenLink,
  getNutzerMedien,
  getZugangsstand,
  type NutzerDatenLink,
  setNutzerMedien,
} from '../../db/auskunft.ts';
import { consumeNutzerLoeschLink, type Saetze } from '../../db/loeschung.ts';
import { getHaeufigkeit, haeufigkeiten, haeufigkeitWorte, setHaeufigkeitOfLink } from '../../db/mitteilung.ts';
import { licences } from '../../export/licences.ts';
import { Limit } from '../../guard/limit.ts';
import { currentScope } from '../../guard/request.ts';
import { hasLongRun, isStorable } from '../../guard/text.ts';
import { hashToken } from '../../guard/token.ts';
import { codeOfFault, describeFault } from '../../observe/fault.ts';
import { medienLizenzen } from '../../sichtbeobachtung-felder.ts';
import type { Deps, Env } from '../context.ts';
import { limits, requireAllowed } from '../too-often.ts';
import { readForm } from '../wire/form.ts';
import { replyPage } from '../wire/link-page.ts';
import { enqueueLink } from './register.ts';

/**
 * Archives that are made at once, and those of one network or one account: each reads all photos of an account, and lasts as long as its
 * reader takes. With two places somebody who reads slowly left one to everybody else.
 */
export const archiveRuns = { slots: 8, share: 1, queue: 20, waitMs: 1500 };

const maxNameLength = 254;
const isName = (text: string) => text.trim() !== '' && text.length <= maxNameLength && isStorable(text) && !hasLongRun(text);

const consequences: Record<Saetze, string> = {
  loeschen: 'Alle Ihre Beobachtungen werden gelöscht.',
  behalten: 'Ihre veröffentlichten Beobachtungen bleiben ohne Ihren Namen, die persönlichen werden gelöscht.',
};
const last = html`<p>Es ist das letzte, das dieses Portal verwalten kann. Erst wenn ein anderes diese Rolle hat, lässt es sich löschen.</p>`;
const lizenzChanged =
  'Die Lizenz ist geändert. Wer eine Datei schon unter einer Lizenz hat, behält sie; neue Dateien zum Veröffentlichen enthalten nur noch, was jetzt erlaubt ist.';
const underWay = html`<p>Wenn es dieses Konto gibt und eine E-Mail-Adresse dazu gespeichert ist, kommt dort in den nächsten Minuten ein Link an. Er gilt einen Tag lang.</p>`;

/** A page with a form, and above it what was wrong with the form that was sent; null where nothing was. */
function replyForm(c: Context<Env>, title: string, form: unknown, problem: string | null) {
  const alert = problem === null ? '' : html`<p role="alert">${problem}</p>`;
  return replyPage(c, problem === null ? 200 : 400, title, html`${alert}${form}`);
}

export function kontoDatenRoutes(deps: Deps): Hono<Env> {
  const { sql, log, media } = deps;
  const archives = new Limit(archiveRuns);

  const replyGone = (c: Context<Env>) => {
    const content = html`<p>Er ist älter als ein Tag, wurde schon benutzt, oder es gibt einen neueren. <a href="${c.get('origin')}/api/v2/konto">Einen neuen anfordern</a></p>`;
    return replyPage(c, 404, 'Dieser Link gilt nicht mehr', content);
  };

  const replyAsk = (c: Context<Env>, problem: string | null) => {
    const content = html`
<p>Sie bekommen einen Link an die E-Mail-Adresse Ihres Kontos. Darüber können Sie herunterladen, was gespeichert ist, und das Konto löschen.</p>
<form method="post">
<label for="konto">Anmeldename oder E-Mail-Adresse</label>
<input id="konto" name="konto" type="text" autocomplete="username" maxlength="${maxNameLength}" required>
<button type="submit">Link anfordern</button>
</form>`;
    return replyForm(c, 'Ihre Daten', content, problem);
  };

  /** @param said what a form that was sent has done; null before */
  const replyChoice = async (c: Context<Env>, { nutzerId, loginname, geholt }: NutzerDatenLink, said: string | null = null) => {
    const { medienLizenz, urheber } = await getNutzerMedien(sql, nutzerId);
    const options = medienLizenzen.map(
      (name) => html`<option value="${name}"${name === medienLizenz ? raw(' selected') : ''}>${licences[name].title}</option>`,
    );
    const haeufigkeit = await getHaeufigkeit(sql, nutzerId);
    const rhythms = haeufigkeiten.map(
      (name) => html`<option value="${name}"${name === haeufigkeit ? raw(' selected') : ''}>${haeufigkeitWorte[name]}</option>`,
    );
    const content = html`<p>Konto: <strong>${loginname}</strong></p>
${said === null ? '' : html`<p role="status">${said}</p>`}
<h2>Herunterladen</h2>
${
  geholt
    ? html`<p>Mit diesem Link wurden die Daten schon heruntergeladen. <a href="${c.get('origin')}/api/v2/konto">Einen neuen anfordern</a></p>`
    : html`<p>Alles, was unter Ihrem Konto gespeichert ist, als ZIP-Archiv, einmal mit diesem Link.</p>
<form method="post">
<input type="hidden" name="aktion" value="herunterladen">
<button type="submit">Herunterladen</button>
</form>`
}
<h2>Fotos und Tonaufnahmen weitergeben</h2>
<p>Mit einer Lizenz gehen Fotos und Töne Ihrer freigegebenen, nicht geschützten Beobachtungen in Dateien zum Veröffentlichen ein, ${
      urheber === null ? 'ohne Ihren Namen' : html`unter dem Namen <strong>${urheber}</strong>`
    }. Was eine einzelne Meldung anders sagt, gilt für sie.</p>
<form method="post">
<input type="hidden" name="aktion" value="lizenz">
<label for="medien_lizenz">Lizenz</label>
<select id="medien_lizenz" name="medien_lizenz">
<option value="">Alle Rechte vorbehalten</option>
${options}
</select>
<button type="submit">Lizenz ändern</button>
</form>
<h2>Mails</h2>
<form method="post">
<input type="hidden" name="aktion" value="mitteilungen">
<label for="haeufigkeit">Fragen und Entscheidungen zu Ihren Beobachtungen</label>
<select id="haeufigkeit" name="haeufigkeit">${rhythms}</select>
<button type="submit">Ändern</button>
</form>
<h2>Konto löschen</h2>
<form method="post">
<input type="hidden" name="aktion" value="loeschen">
<fieldset>
<legend>Was wird aus Ihren Beobachtungen?</legend>
<label><input type="radio" name="saetze" value="behalten" required> Veröffentlichte bleiben, ohne Ihren Namen; persönliche werden gelöscht.</label>
<label><input type="radio" name="saetze" value="loeschen"> Alle werden gelöscht, mit ihren Fotos und Tonaufnahmen.</label>
</fieldset>
<button type="submit" class="loeschen">Weiter</button>
</form>`;
    return replyPage(c, 200, 'Ihre Daten', content);
  };

  const replyConfirm = (c: Context<Env>, saetze: Saetze, problem: string | null) => {
    const content = html`
<p>Das lässt sich nicht rückgängig machen. ${consequences[saetze]}</p>
<form method="post">
<input type="hidden" name="aktion" value="bestaetigen">
<input type="hidden" name="saetze" value="${saetze}">
<label for="loginname">Zur Bestätigung: Ihr Anmeldename</label>
<input id="loginname" name="loginname" type="text" autocomplete="off" required>
<button type="submit" class="loeschen">Konto für immer löschen</button>
</form>`;
    return replyForm(c, 'Konto wirklich löschen?', content, problem);
  };

  /** The archive while it is made; null when the link is not good for it any more. */
  const openArchive = (c: Context<Env>, hash: Buffer, nutzerId: number): Promise<ReadableStream<Uint8Array> | null> =>
    new Promise((resolve, reject) => {
      // The turn lasts until all of it is read, not until its beginning can be sent.
      archives
        .run(async () => {
          // Before the link is asked for, which ends with the keys.
          const zugangsstand = await getZugangsstand(sql, nutzerId);
          if ((await consumeNutzerDatenLink(sql, hash)) === null) return resolve(null);
          const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
          resolve(readable);
          try {
            // With the package that writes zip files, which nothing else needs.
            const { writeAuskunft } = await import('../../auskunft/archive.ts');
            await writeAuskunft({ sql, storage: media.storage }, { nutzerId, zugangsstand }, writable);
          } catch (error) {
            const { incoming, outgoing } = c.env ?? {};
            if (!incoming?.socket.destroyed) log.warn(describeFault(error), 'an archive of own data was broken off');
            // Whoever reads it must see that it is not whole. Where there is a connection, by its end: a stream's error is printed by the adaptor.
            if (outgoing && !outgoing.closed) {
              const closed = once(outgoing, 'close');
              outgoing.destroy();
              await closed;
            }
            await writable.abort(error).catch(() => {});
          }
        })
        .catch(reject);
    });

  const replyArchive = async (c: Context<Env>, hash: Buffer, nutzerId: number) => {
    currentScope()?.identify(nutzerId);
    const archive = await openArchive(c, hash, nutzerId);
    if (archive === null) return replyGone(c);
    return c.body(archive, 200, {
      'Content-Type': 'application/zip',
      'Content-Disposition': 'attachment; filename="meine-daten.zip"',
      'Cache-Control': 'private, no-store',
    });
  };

  const replyErased = (c: Context<Env>, loginname: string) => {
    const content = html`<p>Sie sind als <strong>${loginname}</strong> nicht mehr angemeldet und können sich nicht mehr anmelden. Was noch zu entfernen ist, verschwindet in den nächsten Minuten.</p>
<p><a href="${c.get('origin')}/">Zurück zu ${c.get('tenant').name}</a></p>`;
    return replyPage(c, 200, 'Ihr Konto ist gelöscht', content);
  };

  /** Erases the account of a link, when this is its name. */
  const erase = async (c: Context<Env>, hash: Buffer, link: NutzerDatenLink, saetze: Saetze, loginname: string) => {
    const replyOther = () => replyConfirm(c, saetze, 'Das ist nicht der Anmeldename dieses Kontos.');
    if (!isName(loginname)) return replyOther();
    try {
      const erased = await consumeNutzerLoeschLink(sql, hash, saetze, loginname);
      return erased === null ? replyGone(c) : replyErased(c, link.loginname);
    } catch (error) {
      if (codeOfFault(error) === 'NTZUN') return replyOther();
      if (codeOfFault(error) === 'LADMN') return replyPage(c, 409, 'Dieses Konto bleibt', last);
      throw error;
    }
  };

  return new Hono<Env>()
    .get('/konto', (c) => replyAsk(c, null))
    .post('/konto', async (c) => {
      const { fields } = await readForm(c);
      const [konto = ''] = fields.get('konto') ?? [];
      if (!isName(konto))
        return replyAsk(c, `Nötig ist ein Anmeldename oder eine E-Mail-Adresse, höchstens ${maxNameLength} Zeichen.`);
      await requireAllowed(deps, limits.link);
      await enqueueLink(deps, c.get('tenant'), 'daten', { loginname: konto, email: konto });
      return replyPage(c, 200, 'Der Link ist unterwegs', underWay);
    })
    .get('/konto/daten/:token', async (c) => {
      await requireAllowed(deps, limits.link);
      const link = await getNutzerDatenLink(sql, hashToken(c.req.param('token')));
      return link === null ? replyGone(c) : replyChoice(c, link);
    })
    .post('/konto/daten/:token', async (c) => {
      await requireAllowed(deps, limits.link);
      const hash = hashToken(c.req.param('token'));
      const link = await getNutzerDatenLink(sql, hash);
      if (link === null) return replyGone(c);
      const { fields } = await readForm(c);
      const [aktion = ''] = fields.get('aktion') ?? [];
      const [saetze = ''] = fields.get('saetze') ?? [];
      if (aktion === 'herunterladen') return replyArchive(c, hash, link.nutzerId);
      if (aktion === 'lizenz') {
        const [given = ''] = fields.get('medien_lizenz') ?? [];
        const lizenz = medienLizenzen.find((name) => name === given) ?? null;
        if (lizenz === null && given !== '') return replyChoice(c, link);
        if (!(await setNutzerMedien(sql, hash, lizenz))) return replyGone(c);
        return replyChoice(c, link, lizenzChanged);
      }
      if (aktion === 'mitteilungen') {
        const [given = ''] = fields.get('haeufigkeit') ?? [];
        const haeufigkeit = haeufigkeiten.find((name) => name === given);
        if (haeufigkeit === undefined) return replyChoice(c, link);
        if (!(await setHaeufigkeitOfLink(sql, hash, haeufigkeit))) return replyGone(c);
        return replyChoice(c, link, 'Wie oft Sie Mails bekommen, ist geändert.');
      }
      if (saetze !== 'behalten' && saetze !== 'loeschen') return replyChoice(c, link);
      if (aktion === 'loeschen') return replyConfirm(c, saetze, null);
      if (aktion !== 'bestaetigen') return replyChoice(c, link);
      const [loginname = ''] = fields.get('loginname') ?? [];
      return erase(c, hash, link, saetze, loginname);
    });
}
