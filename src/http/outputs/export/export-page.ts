// The files to publish as people look for them (O5.6).
import type { Context } from 'hono';
import { html, raw } from 'hono/html';
import type { Env } from '../../context.ts';
import type { Addresses } from '../ogc/links.ts';
import { exportFormats } from '../ogc/negotiate.ts';
import { makePage } from '../ogc/ogc-page.ts';
import { type Dataset, toDay } from './catalogue.ts';

const meanings = {
  'dwca.zip': 'Darwin Core Archive, wie GBIF es liest',
  'sichtbeobachtung.csv': 'Tabelle',
  'sichtbeobachtung.geojson': 'GeoJSON',
  'sichtbeobachtung.gpkg': 'GeoPackage, für QGIS und ArcGIS',
  'cube.csv': 'Anzahlen nach EEA-Quadrat von 10 km, Jahr und Art',
};

/** @param origin address that was asked */
export function makeExportPage(c: Context<Env>, addresses: Addresses, datasets: readonly Dataset[], origin: string) {
  const body = html`<p>Öffentliche freigegebene Artbeobachtungen als Dateien, jede Nacht neu gemacht. Geschützte Funde stehen darin nur als Rasterzelle von 5 km.
Einzeln und nach Wahl gibt es sie unter <a href="${origin}/ogc?f=html">/ogc</a>.</p>
${datasets.length > 0 ? datasets.map(makeSection) : html`<p>Zur Zeit veröffentlicht kein Mandant Dateien.</p>`}
<script type="application/ld+json">${raw(toScript(describeSchemaOrg(datasets, origin)))}</script>`;
  return makePage(c, addresses, { title: 'Dateien zum Herunterladen', path: [], formats: exportFormats, body });
}

function makeSection(dataset: Dataset) {
  const { mandant, titel, beschreibung, herausgeber, kontakt, licence, dateien, gueltig, beendet, fehler, metadaten } = dataset;
  return html`<section id="${mandant}">
<h2>${titel}</h2>
<p>${beschreibung}</p>
<dl>
<dt>Mandant</dt><dd>${dataset.name} (${mandant})</dd>
<dt>Herausgeber</dt><dd>${herausgeber}</dd>
<dt>Kontakt</dt><dd><a href="mailto:${kontakt}">${kontakt}</a></dd>
<dt>Lizenz</dt><dd><a rel="license" href="${licence.url}">${licence.title}</a></dd>
<dt>Zitieren als</dt><dd>${dataset.zitat}</dd>
<dt>Metadaten</dt><dd><a href="${metadaten}">ISO 19139</a></dd>
</dl>
${gueltig ? '' : html`<p><strong>Diese Dateien werden gerade neu gemacht und sind bis dahin nicht zu laden.</strong></p>`}
${fehler === null ? '' : html`<p><strong>Der letzte Lauf${beendet ? html` am ${toDay(beendet)}` : ''} ist gescheitert: ${fehler}</strong></p>`}
<div class="tabelle"><table><thead><tr><th>Datei</th><th>Inhalt</th><th>Anzahl</th><th>Größe</th><th>Stand</th></tr></thead>
<tbody>${dateien.map(
    ({ datei, url, anzahl, bytes, stand }) => html`<tr><td><a href="${url}">${datei}</a></td><td>${meanings[datei]}</td>
<td>${anzahl.toLocaleString('de-DE')}</td><td>${toSize(bytes)}</td><td>${toDay(stand)}</td></tr>`,
  )}</tbody></table></div>
</section>`;
}

const toSize = (bytes: number) =>
  bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} kB` : `${(bytes / 1e6).toLocaleString('de-DE', { maximumFractionDigits: 1 })} MB`;

/** As search engines for data read it. */
function describeSchemaOrg(datasets: readonly Dataset[], origin: string) {
  return {
    '@context': 'https://schema.org/',
    '@type': 'DataCatalog',
    name: 'Artbeobachtungen',
    url: `${origin}/export/v1/`,
    dataset: datasets.map((each) => ({
      '@type': 'Dataset',
      '@id': each.url,
      name: each.titel,
      description: each.beschreibung,
      url: each.url,
      license: each.licence.url,
      creditText: each.zitat,
      inLanguage: 'de',
      isAccessibleForFree: true,
      creator: { '@type': 'Organization', name: each.herausgeber, email: each.kontakt },
      ...(each.stand && { dateModified: each.stand }),
      spatialCoverage: {
        '@type': 'Place',
        name: each.name,
        ...(each.box && { geo: { '@type': 'GeoShape', box: toSchemaBox(each.box) } }),
      },
      distribution: each.dateien.map(({ url, type, bytes, stand, sha256 }) => ({
        '@type': 'DataDownload',
        contentUrl: url,
        encodingFormat: type,
        contentSize: `${bytes} B`,
        dateModified: stand,
        sha256,
      })),
    })),
  };
}

// Latitude first.
const toSchemaBox = ([west, south, east, north]: readonly number[]) => `${south} ${west} ${north} ${east}`;

// No text in it can end the script.
const toScript = (value: object) => JSON.stringify(value).replaceAll('<', '\\u003c');
