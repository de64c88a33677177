// Features as people look at them: a small map and a table.
import type { Context } from 'hono';
import { html } from 'hono/html';
import type { FeaturePage } from '../../../db/ausgabe-ogc.ts';
import type { Env } from '../../context.ts';
import type { Collection } from './collections.ts';
import { type Feature, featuresOf } from './geometry.ts';
import type { Addresses, Link } from './links.ts';
import { drawMap } from './map.ts';
import { makePage } from './ogc-page.ts';

interface Shown {
  collection: Collection;
  links: readonly Link[];
  addresses: Addresses;
}

const show = (value: Feature['properties'][string] | undefined) =>
  value === null || value === undefined ? '–' : typeof value === 'boolean' ? (value ? 'ja' : 'nein') : String(value);

const masked = (features: readonly Feature[]) =>
  features.some(({ properties }) => properties.unschaerfe_m === 3536)
    ? html`<p>Quadrate sind Rasterzellen von 5 km: darin liegt irgendwo ein geschützter Fund.</p>`
    : '';

const pathTo = ({ root }: Addresses, { id, title }: Collection) => [
  { href: `${root}?f=html`, title: 'Daten' },
  { href: `${root}/collections?f=html`, title: 'Sammlungen' },
  { href: `${root}/collections/${id}?f=html`, title },
];

const addressOf = ({ root }: Addresses, { id }: Collection, feature: Feature) =>
  `${root}/collections/${id}/items/${encodeURIComponent(feature.id)}?f=html`;

export function makeItemsPage(c: Context<Env>, { collection, page, links, addresses }: Shown & { page: FeaturePage }) {
  const features = featuresOf(page);
  const names = Object.keys(collection.properties);
  const rows = features.map(
    (feature) =>
      html`<tr>${names.map((name, index) => html`<td>${index === 0 ? html`<a href="${addressOf(addresses, collection, feature)}">${show(feature.properties[name])}</a>` : show(feature.properties[name])}</td>`)}</tr>`,
  );
  const next = links.find(({ rel }) => rel === 'next');
  return makePage(c, {
    title: `${collection.title}: Objekte`,
    path: pathTo(addresses, collection),
    links,
    body: html`${drawMap(features)}${masked(features)}
<p>${features.length === 0 ? 'Keine Objekte.' : `${features.length} Objekte auf dieser Seite.`}${next ? html` <a class="weiter" rel="next" href="${next.href}">Nächste Seite</a>` : ''}</p>
<div class="tabelle"><table>
<thead><tr>${names.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
<tbody>${rows}</tbody>
</table></div>`,
  });
}

export function makeItemPage(c: Context<Env>, { collection, feature: bytes, links, addresses }: Shown & { feature: Buffer }) {
  const feature = JSON.parse(bytes.toString()) as Feature;
  return makePage(c, {
    title: `${collection.title}: ${feature.id}`,
    path: [
      ...pathTo(addresses, collection),
      { href: `${addresses.root}/collections/${collection.id}/items?f=html`, title: 'Objekte' },
    ],
    links,
    body: html`${drawMap([feature])}${masked([feature])}
<dl>${Object.keys(collection.properties).map((name) => html`<dt>${name}</dt><dd>${show(feature.properties[name])}</dd>`)}</dl>`,
  });
}
