// GET /karte: the map (O4.1). Everything it loads comes from here, but a background that the operator names.
import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Context, Hono } from 'hono';
import { html } from 'hono/html';
import type { Config } from '../../config.ts';
import { type ExportStand, listExport } from '../../db/export.ts';
import { licences } from '../../export/licences.ts';
import type { Deps, Env } from '../context.ts';
import { sendHashed } from '../wire/etag.ts';
import { pageType, sendForGood } from '../wire/reply.ts';
import { queryReader } from './output-query.ts';

const types = { js: 'text/javascript; charset=utf-8', css: 'text/css; charset=utf-8' } as const;
const packaged = { 'ol.js': 'ol/dist/ol.js', 'ol.css': 'ol/ol.css' };

const require = createRequire(import.meta.url);
const folder = new URL('karte/', import.meta.url);
const own = new Map(
  readdirSync(folder)
    .sort()
    .flatMap((name) => (/\.(js|css)$/.test(name) ? [[name, readFileSync(new URL(name, folder))]] : [])),
);
const { version } = require('ol/package.json') as { version: string };
// Part of each address, so that browsers may keep the files for good: the modules name each other without it.
const mark = hash('sha256', Buffer.concat([Buffer.from(version), ...own.values()]), 'base64url').slice(0, 12);
const base = `/karte/${mark}`;

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
  const routes = new Hono<Env>().get('/karte', page).get('/karte/', (c) => c.redirect('/karte', 301));
  const packed = Object.entries(packaged).map(([name, path]) => [name, readFileSync(require.resolve(path))] as const);
  for (const [name, bytes] of [...own, ...packed])
    routes.get(`${base}/${name}`, (c) => sendForGood(c, bytes, types[name.endsWith('.js') ? 'js' : 'css']));
  return routes;
}

/** No other host, but that of the background. OpenLayers draws icons of its controls from its own style sheet. */
function makePolicy(hintergrund: Config['karteHintergrund']): string {
  const other = hintergrund ? ` ${new URL(hintergrund.url).origin}` : '';
  const sources = `script-src 'self'; style-src 'self'; img-src 'self' data:${other}; connect-src 'self'${other}`;
  return `default-src 'none'; ${sources}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;
}

const makePage = (hintergrund: string, quelle: string, publishers: readonly ExportStand[]) => html`<!doctype html>
<html lang="de">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Karte der Beobachtungen</title>
<link rel="icon" type="image/png" href="/favicon.ico">
<link rel="stylesheet" href="${base}/ol.css">
<link rel="stylesheet" href="${base}/karte.css">
<script src="${base}/ol.js" defer></script>
<script src="${base}/karte.js" type="module"></script>
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
