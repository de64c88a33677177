// The catalogue as a page, with what search engines read of it (schema.org).
import { hash } from 'node:crypto';
import type { Context } from 'hono';
import { html, raw } from 'hono/html';
import type { Env } from '../../context.ts';
import { sendPage } from '../../wire/reply.ts';
import type { Dataset } from './metadata.ts';

const style = `body{font:1rem/1.5 system-ui,sans-serif;max-width:62rem;margin:0 auto;padding:0 1rem 3rem;color:#1d1d1d;background:#fff}
a{color:#1b5e20}h1{font-size:1.5rem}h2{font-size:1.2rem;margin-top:2rem}
.tabelle{overflow-x:auto}table{border-collapse:collapse}th,td{text-align:left;padding:.25rem .8rem .25rem 0;border-bottom:1px solid #ddd}
td.zahl{text-align:right}.hinweis{background:#fff3e0;padding:.5rem .8rem}`;
const policy = `default-src 'none'; style-src 'sha256-${hash('sha256', style, 'base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

const toTime = (time: Date) =>
  time.toLocaleString('de-DE', { timeZone: 'Europe/Berlin', dateStyle: 'medium', timeStyle: 'short' });

export function sendCataloguePage(c: Context<Env>, datasets: readonly Dataset[]) {
  return sendPage(
    c,
    html`<!doctype html>
<html lang="de">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Dateien zum Herunterladen</title>
<link rel="alternate" type="application/json" href="?f=json">
<link rel="alternate" type="application/ld+json" href="?f=jsonld">
<link rel="alternate" type="application/rdf+xml" href="?f=rdf">
<style>${raw(style)}</style>
${datasets.map((dataset) => html`<script type="application/ld+json">${raw(toSchemaOrg(dataset))}</script>`)}
</head>
<body>
<main>
<h1>Dateien zum Herunterladen</h1>
${datasets.length === 0 ? html`<p>Zurzeit wird nichts veröffentlicht: Für keinen Mandanten ist eine Lizenz eingestellt.</p>` : ''}
${datasets.map(renderDataset)}
</main>
<footer><p>Derselbe Katalog als <a href="?f=json">JSON</a>, <a href="?f=jsonld">DCAT-AP.de (JSON-LD)</a>, <a href="?f=rdf">DCAT-AP.de (RDF/XML)</a></p></footer>
</body>
</html>`,
    policy,
  );
}

function renderDataset({ stand, licence, distributions }: Dataset) {
  return html`<section>
<h2>${stand.titel}</h2>
<p>${stand.beschreibung}</p>
<p>Herausgeber: ${stand.herausgeber}, <a href="mailto:${stand.kontakt}">${stand.kontakt}</a>. Lizenz: <a href="${licence.url}">${licence.title}</a>.</p>
${stand.fehler === null ? '' : html`<p class="hinweis">Der letzte Versuch, die Dateien neu zu machen, ist gescheitert: ${stand.fehler}</p>`}
${
  distributions.length === 0
    ? html`<p>Die Dateien werden gerade zum ersten Mal gemacht.</p>`
    : html`${stand.gueltig ? '' : html`<p class="hinweis">Die Dateien werden gerade neu gemacht und sind in einigen Minuten wieder da.</p>`}
<div class="tabelle"><table>
<tr><th>Datei</th><th>Inhalt</th><th>Größe</th><th>Zeilen</th><th>Stand</th></tr>
${distributions.map(
  (file) => html`<tr><td><a href="${file.url}">${file.datei}</a></td><td>${file.title}</td>
<td class="zahl">${Math.ceil(file.bytes / 1000).toLocaleString('de-DE')} kB</td><td class="zahl">${file.anzahl.toLocaleString('de-DE')}</td><td>${toTime(file.stand)}</td></tr>`,
)}
</table></div>`
}
<p>Zitieren: ${stand.herausgeber}: ${stand.titel}, ${licence.title}, Stand und Adresse der Datei.</p>
</section>`;
}

function toSchemaOrg({ stand, address, licence, modified, distributions }: Dataset): string {
  const dataset = {
    '@context': 'https://schema.org/',
    '@type': 'Dataset',
    '@id': address,
    name: stand.titel,
    description: stand.beschreibung,
    license: licence.url,
    creator: { '@type': 'Organization', name: stand.herausgeber, email: stand.kontakt },
    spatialCoverage: stand.name,
    isAccessibleForFree: true,
    ...(modified !== null && { dateModified: modified }),
    distribution: distributions.map(({ url, mediaType, bytes }) => ({
      '@type': 'DataDownload',
      contentUrl: url,
      encodingFormat: mediaType,
      contentSize: `${bytes} B`,
    })),
  };
  // A text must not end the element it stands in.
  return JSON.stringify(dataset).replaceAll('<', '\\u003c');
}
