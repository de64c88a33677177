// GET /karte: the map (O4.1). Everything it loads comes from here, but a background that the operator names.
import { type Context, Hono } from 'hono';
import { html } from 'hono/html';
import { type ExportStand, listExport } from '../../db/export.ts';
import { licences } from '../../export/licences.ts';
import type { Deps, Env } from '../context.ts';
import { sendHashed } from '../wire/etag.ts';
import { pageType } from '../wire/reply.ts';
import { queryReader } from './output-query.ts';
import { filesBase, makePolicy } from './page-files.ts';

const readNothing = queryReader({});

export function karteRoutes({ config, reads }: Deps): Hono<Env> {
  const policy = makePolicy(config.karteHintergrund);
  const { url = '', quelle } = config.karteHintergrund ?? {};
  const page = async (c: Context<Env>) => {
    readNothing(c);
    // The page says itself that nothing can be loaded.
    const publishers = await listExport(reads, null).catch(() => []);
    const body = String(await makePage(url, quelle ?? '', publishers));
    c.header('Cache-Control', 'no-cache');
    c.header('Content-Security-Policy', policy);
    return sendHashed(c, body, pageType);
  };
  return new Hono<Env>().get('/karte', page).get('/karte/', (c) => c.redirect('/karte', 301));
}

const makePage = (hintergrund: string, quelle: string, publishers: readonly ExportStand[]) => html`<!doctype html>
<html lang="de">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Karte der Beobachtungen</title>
<link rel="icon" type="image/png" href="/favicon.ico">
<link rel="stylesheet" href="${filesBase}/ol.css">
<link rel="stylesheet" href="${filesBase}/karte/karte.css">
<script src="${filesBase}/ol.js" defer></script>
<script src="${filesBase}/karte/karte.js" type="module"></script>
</head>
<body>
<header class="kopf">
<h1>Karte der Beobachtungen</h1>
<nav aria-label="Dokumentation"><a href="/api/v2">Schnittstelle</a> <a href="/ogc">GIS-Dienste</a></nav>
</header>
<noscript><p class="hinweis">Diese Karte braucht JavaScript. Ohne JavaScript zeigen die <a href="/ogc">GIS-Dienste</a> dieselben Daten.</p></noscript>
<main>
<form id="wahl" aria-label="Auswahl" autocomplete="off">
<div class="feld artfeld">
<label for="art">Art</label>
<input id="art" type="text" role="combobox" aria-expanded="false" aria-controls="artliste" aria-autocomplete="list"
 placeholder="alle – Namen eingeben" maxlength="100" spellcheck="false">
<button id="art-leeren" type="button" aria-label="Alle Arten zeigen" hidden>×</button>
<ul id="artliste" role="listbox" aria-label="Arten" hidden></ul>
</div>
<div class="feld"><label for="von">Jahr von</label><input id="von" type="number" min="1800" max="2999" inputmode="numeric"></div>
<div class="feld"><label for="bis">bis</label><input id="bis" type="number" min="1800" max="2999" inputmode="numeric"></div>
<p id="wahl-fehler" role="alert" hidden></p>
</form>
<section id="rahmen" aria-label="Karte">
<div id="karte" tabindex="0" role="application" aria-label="Karte: Pfeiltasten verschieben, Plus und Minus vergrößern und verkleinern. Was zu sehen ist, steht auch in der Liste." data-hintergrund="${hintergrund}" data-quelle="${quelle}"></div>
<div id="fortschritt" hidden></div>
<div id="fehler" role="alert" hidden><p></p><button type="button">Noch einmal versuchen</button></div>
<section id="auskunft" aria-label="Auskunft" tabindex="-1" hidden></section>
</section>
<div id="seite">
<p id="stand" role="status"></p>
<section aria-labelledby="legende-titel"><h2 id="legende-titel">Legende</h2><div id="legende"></div></section>
<section id="jahreslauf" aria-labelledby="jahreslauf-titel" hidden><h2 id="jahreslauf-titel">Im Jahreslauf</h2>
<img alt="" width="320" height="200"><p><a href="">Zahlen als CSV</a></p></section>
${publishers.map(
  ({ titel, herausgeber, lizenz }) =>
    html`<p>${titel}: ${herausgeber}, <a rel="license" href="${licences[lizenz].url}">${licences[lizenz].title}</a>, <a href="/export/v1/">Dateien</a></p>`,
)}<details id="liste"><summary>Was im Ausschnitt liegt</summary><p id="liste-stand"></p><ul></ul></details>
</div>
</main>
</body>
</html>`;
