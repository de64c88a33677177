// GET /pruefung: the page of reviewers (O6). It holds nothing itself; what it asks for needs a login.
import { type Context, Hono } from 'hono';
import { html } from 'hono/html';
import { listMandant } from '../../../db/mandant.ts';
import type { Deps, Env } from '../../context.ts';
import { sendHashed } from '../../wire/etag.ts';
import { pageType } from '../../wire/reply.ts';
import { queryReader } from '../output-query.ts';
import { filesBase, makePolicy } from '../page-files.ts';

const readNothing = queryReader({});

/** Codes of reasons, as one chooses among them. */
const gruende = {
  regel: 'gegen eine Regel',
  entfernung: 'weit entfernt',
  jahreszeit: 'falsche Jahreszeit',
  erste_in_zelle: 'erste in der Rasterzelle',
  erste_im_mandant: 'erste im Mandanten',
  anzahl_hoch: 'sehr viele',
  stadium_unmoeglich: 'Stadium oder Aktivität passt nicht',
  verwechslung: 'leicht zu verwechseln',
  zu_wenige_vergleiche: 'zu wenige Vergleiche',
};

export function pruefungSeiteRoutes({ config, reads }: Deps): Hono<Env> {
  const policy = `${makePolicy(config.karteHintergrund)}; media-src 'self'`;
  const page = async (c: Context<Env>) => {
    readNothing(c);
    // The page says itself that nothing can be loaded.
    const mandanten = await listMandant(reads).catch(() => []);
    const tenants = mandanten.map(({ kuerzel, name }) => [kuerzel, name] as const);
    const body = String(await makePage(config.karteHintergrund ?? { url: '', quelle: null }, tenants));
    c.header('Cache-Control', 'no-cache');
    c.header('Content-Security-Policy', policy);
    return sendHashed(c, body, pageType);
  };
  return new Hono<Env>().get('/pruefung', page).get('/pruefung/', (c) => c.redirect('/pruefung', 301));
}

const choice = (id: string, label: string, options: readonly (readonly [value: string, text: string])[]) =>
  html`<div><label for="${id}">${label}</label><select id="${id}" name="${id}">${options.map(
    ([value, text]) => html`<option value="${value}">${text}</option>`,
  )}</select></div>`;
const all = ['', 'alle'] as const;

const makePage = (
  { url, quelle }: { url: string; quelle: string | null },
  tenants: readonly (readonly [kuerzel: string, name: string])[],
) => html`<!doctype html>
<html lang="de">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Prüfung der Beobachtungen</title>
<link rel="icon" type="image/png" href="/favicon.ico">
<link rel="stylesheet" href="${filesBase}/ol.css">
<link rel="stylesheet" href="${filesBase}/pruefung/seite/pruefung.css">
<script src="${filesBase}/ol.js" defer></script>
<script src="${filesBase}/pruefung/seite/pruefung.js" type="module"></script>
</head>
<body>
<header class="kopf">
<h1>Prüfung der Beobachtungen</h1>
<p id="konto" hidden><span></span> <button id="abmelden" type="button">Abmelden</button></p>
</header>
<noscript><p class="hinweis">Diese Seite braucht JavaScript. Ohne JavaScript gibt es die Warteschlange als Tabelle: <code>/pruefung/v1/entscheidungen.csv</code>.</p></noscript>
<main>
<form id="anmeldung" hidden>
<h2>Anmelden</h2>
<p>Für Experten und Administratoren.</p>
<label for="loginname">Anmeldename</label><input id="loginname" autocomplete="username" maxlength="500" required>
<label for="passwort">Passwort</label><input id="passwort" type="password" autocomplete="current-password" maxlength="500" required>
<button class="haupt">Anmelden</button>
<p id="anmeldung-fehler" role="alert"></p>
</form>
<div id="arbeit" hidden>
<section id="warteschlange" aria-labelledby="warteschlange-titel">
<h2 id="warteschlange-titel">Warteschlange</h2>
<details id="filter-klappe"><summary>Auswahl und Reihenfolge</summary>
<form id="filter" autocomplete="off">
${choice('sortierung', 'Reihenfolge', [
  ['alt', 'älteste zuerst'],
  ['auffaellig', 'auffälligste zuerst'],
])}
${choice('grund', 'Grund', [all, ...Object.entries(gruende)])}
${choice('mandant', 'Mandant', [all, ...tenants])}
${choice('gid', 'Artengruppe', [all])}
${choice('mit_foto', 'Foto', [all, ['true', 'mit Foto'], ['false', 'ohne Foto']])}
</form></details>
<p><span id="anzahl" role="status"></span> <button id="neu-laden" type="button">Neu laden</button></p>
<ol id="liste"></ol>
</section>
<section id="datensatz" aria-labelledby="datensatz-titel" tabindex="-1">
<h2 id="datensatz-titel"></h2>
<div id="inhalt">
<p id="fehler-am-datensatz" class="fehler" role="alert" hidden></p>
<div id="angaben"></div>
<div id="bilder"></div>
<section aria-labelledby="ort-titel"><h3 id="ort-titel">Fundort</h3>
<div id="ort" tabindex="0" role="application" aria-label="Karte: Pfeiltasten verschieben, Plus und Minus vergrößern und verkleinern." data-hintergrund="${url}" data-quelle="${quelle ?? ''}"></div>
<p class="leise" id="ort-text"></p></section>
<section aria-labelledby="jahreslauf-titel"><h3 id="jahreslauf-titel">Jahreslauf der Art</h3><div id="jahreslauf"></div></section>
</div>
</section>
<section id="entscheidung" aria-labelledby="entscheidung-titel">
<h2 id="entscheidung-titel" class="verborgen">Entscheidung</h2>
<div id="bemerkung-feld"><label for="bemerkung">Bemerkung oder Frage an den Erfasser</label>
<textarea id="bemerkung" rows="2" maxlength="4000" aria-describedby="bemerkung-hilfe"></textarea>
<small id="bemerkung-hilfe">Strg + Eingabe stellt die Frage, Esc verlässt das Feld.</small></div>
<div id="knoepfe">
<button type="button" class="haupt" data-tun="freigegeben" aria-keyshortcuts="F"><kbd>F</kbd> Freigeben</button>
<button type="button" data-tun="hinweis" aria-keyshortcuts="H"><kbd>H</kbd> Fragen</button>
<button type="button" data-tun="abgelehnt" aria-keyshortcuts="A"><kbd>A</kbd> Ablehnen</button>
<button type="button" data-tun="zurueck" aria-keyshortcuts="ArrowUp"><kbd>↑</kbd> Voriger</button>
<button type="button" data-tun="weiter" aria-keyshortcuts="ArrowDown"><kbd>↓</kbd> Nächster</button>
<button type="button" data-tun="rueckgaengig" aria-keyshortcuts="U"><kbd>U</kbd> Rückgängig</button>
</div>
<p class="zeile"><span id="ergebnis" role="status"></span> <span id="frist" aria-hidden="true"></span></p>
<p class="zeile"><span id="netz" role="status"></span></p>
<p class="leise"><label><input id="tasten" type="checkbox" checked> Tasten</label> F freigeben, H fragen, A ablehnen, ↑ und ↓ blättern, U 10 Sekunden lang rückgängig</p>
</section>
</div>
</main>
<dialog id="gross" aria-label="Foto"><form method="dialog"><button aria-label="Foto schließen">×</button></form><img alt=""></dialog>
</body>
</html>`;
