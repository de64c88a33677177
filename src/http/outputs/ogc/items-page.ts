// Features as people look at them: a small map and a table.
import type { Context } from 'hono';
import { html } from 'hono/html';
import type { FeaturePage } from '../../../db/ausgabe-ogc.ts';
import type { Env } from '../../context.ts';
import type { Collection } from './collections.ts';
import { type Feature, featuresOf } from './geometry.ts';
import type { Addresses } from './links.ts';
import { drawMap } from './map.ts';
import { itemFormats, itemsFormats } from './negotiate.ts';
import { home, makePage, toCollections } from './ogc-page.ts';

const show = (value: Feature['properties'][string] | undefined) =>
  value === null || value === undefined ? '–' : typeof value === 'boolean' ? (value ? 'ja' : 'nein') : String(value);

const masked = (features: readonly Feature[]) =>
  features.some(({ properties }) => properties.unschaerfe_m === 3536)
    ? html`<p>Quadrate sind Rasterzellen von 5 km: darin liegt irgendwo ein geschützter Fund.</p>`
    : '';

const pathTo = ({ id, title }: Collection) => [home, toCollections, [`/collections/${id}`, title] as const];

const addressOf = ({ root }: Addresses, { id }: Collection, feature: Feature) =>
  `${root}/collections/${id}/items/${encodeURIComponent(feature.id).replaceAll('%2F', '/')}?f=html`;

export function makeItemsPage(
  c: Context<Env>,
  addresses: Addresses,
  collection: Collection,
  page: FeaturePage,
  next: string | null,
) {
  const features = featuresOf(page);
  const names = Object.keys(collection.properties);
  const rows = features.map(
    (feature) =>
      html`<tr>${names.map((name, index) => html`<td>${index === 0 ? html`<a href="${addressOf(addresses, collection, feature)}">${show(feature.properties[name])}</a>` : show(feature.properties[name])}</td>`)}</tr>`,
  );
  const body = html`${drawMap(features)}${masked(features)}
<p>${features.length === 0 ? 'Keine Objekte.' : `${features.length} Objekte auf dieser Seite.`}${next ? html` <a class="weiter" rel="next" href="${next}">Nächste Seite</a>` : ''}</p>
<div class="tabelle"><table>
<thead><tr>${names.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
<tbody>${rows}</tbody>
</table></div>`;
  const title = `${collection.title}: Objekte`;
  return makePage(c, addresses, { title, path: pathTo(collection), formats: itemsFormats, body });
}

export function makeItemPage(c: Context<Env>, addresses: Addresses, collection: Collection, bytes: Buffer) {
  const feature = JSON.parse(bytes.toString()) as Feature;
  const path = [...pathTo(collection), [`/collections/${collection.id}/items`, 'Objekte'] as const];
  const body = html`${drawMap([feature])}${masked([feature])}
<dl>${Object.keys(collection.properties).map((name) => html`<dt>${name}</dt><dd>${show(feature.properties[name])}</dd>`)}</dl>`;
  return makePage(c, addresses, { title: `${collection.title}: ${feature.id}`, path, formats: itemFormats, body });
}
